/* SPDX-License-Identifier: MIT */
/* t_monitor.c: the monitor wakes up whenever a P leaves idleness. procs-2-only not-torture not-asan not-tsan */
#include "test.h"

#include <stdlib.h>
#include <time.h>
#include <weft.h>

static int child_ran;

static int
child(void)
{
	__atomic_store_n(&child_ran, 1, __ATOMIC_RELEASE);
	return 0;
}

static void
compute_ms(long ms)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static int
other(void)
{
	return 0;
}

/* Loses its P, computes until the monitor sleeps, comes back by a yield, and then depends on the
   monitor: only that can take the P again for the child. MON-1 */
static int
comes_back(void)
{
	weft_go(other);
	compute_ms(4000);
	weft_yield();
	weft_go(child);
	while (!__atomic_load_n(&child_ran, __ATOMIC_ACQUIRE))
		;
	return 0;
}

TEST(goroutine_that_returns_to_an_idle_world_is_watched)
{
	setenv("WEFT_PROCS", "1", 1);
	EXPECT_EQ(weft_run(comes_back), 0);
}
