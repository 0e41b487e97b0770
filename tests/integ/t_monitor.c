/* SPDX-License-Identifier: MIT */
/* t_monitor.c: the monitor wakes up whenever a P leaves idleness. procs-2-only
   not-torture not-asan not-tsan: seconds go by, and once is enough for a protocol that a model checks */
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

/* ---- a thread that sleeps in the kernel */

static uint64_t
retakes(void)
{
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_stats(&s), 0);
	return s.total.retakes;
}

static int waits_its_turn;

static int
takes_its_turn(void)
{
	__atomic_fetch_sub(&waits_its_turn, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Shorter than the slice: only who is seen asleep loses its P. */
static int
naps(void)
{
	const struct timespec nap = {.tv_nsec = 3000000};

	while (retakes() == 0) {
		__atomic_fetch_add(&waits_its_turn, 1, __ATOMIC_RELEASE);
		weft_go(takes_its_turn);
		nanosleep(&nap, NULL);
		while (__atomic_load_n(&waits_its_turn, __ATOMIC_ACQUIRE) > 0)
			weft_yield();
	}
	return 0;
}

TEST(thread_that_sleeps_loses_its_p_before_the_slice_is_over)
{
	setenv("WEFT_PROCS", "1", 1);
	EXPECT_EQ(weft_run(naps), 0);
}
