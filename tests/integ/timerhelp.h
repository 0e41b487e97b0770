/* SPDX-License-Identifier: MIT */
/* timerhelp.h: a goroutine that a timer starts, and counts itself. */
#ifndef WEFT_TEST_TIMERHELP_H
#define WEFT_TEST_TIMERHELP_H

#include "integ/waiting.h"

static int runs;

static int
counted(void)
{
	add(&runs, 1);
	return 0;
}

static void
await_runs(int n)
{
	while (load(&runs) < n)
		EXPECT_EQ(weft_sleep(50 * WEFT_US), 0);
}

#endif
