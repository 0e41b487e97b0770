/* SPDX-License-Identifier: MIT */
/* faulthelp.h: a child process in which a system call fails. */
#ifndef WEFT_TEST_FAULTHELP_H
#define WEFT_TEST_FAULTHELP_H

#include "integ/helpers.h"

static char fault_order[64];   /* of the last child: what was to fail, */
static char fault_said[65536]; /* and what it said */

/* fn in a child where this call fails at its n-th use, and with for_ever at each one after; the
   status of the child. */
__attribute__((unused)) static int
child_with_fault(void (*fn)(void), const char *call, int n, bool for_ever)
{
	int status;

	snprintf(fault_order, sizeof(fault_order), "%s:%d%s", call, n, for_ever ? "+" : "");
	setenv("WEFT_FAULT", fault_order, 1);
	status = test_child(fn, fault_said, sizeof(fault_said));
	unsetenv("WEFT_FAULT");
	return status;
}

#endif
