/* SPDX-License-Identifier: MIT */
/* bareos.h: what the queues need of os.h, for models that link nothing of the library. */
#ifndef WF_TESTS_BAREOS_H
#define WF_TESTS_BAREOS_H

#include "explore.h"

#include "base/os.h"

void
os_membarrier(void)
{
	sim_membarrier();
}

void
os_yield(void)
{
	cpu_relax();
}

#endif
