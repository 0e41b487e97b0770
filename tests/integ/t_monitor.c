/* SPDX-License-Identifier: MIT */
/* t_monitor.c: the monitor wakes up whenever a P leaves idleness. procs-2-only
   not-torture not-asan not-tsan: seconds go by, and once is enough for a protocol that a model checks */
#define _GNU_SOURCE
#include "integ/helpers.h"

#include <dirent.h>
#include <time.h>

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

static int busy;

static int
is_busy(void)
{
	while (__atomic_load_n(&busy, __ATOMIC_RELAXED))
		weft_yield();
	return 0;
}

/* The looks are 10 ms apart by then: each nap has a tick that the monitor has not seen before. */
static int
naps_later(void)
{
	int64_t from = weft_now();

	__atomic_store_n(&busy, 1, __ATOMIC_RELAXED);
	weft_go(is_busy);
	while (weft_now() - from < 200 * WEFT_MS)
		weft_yield();
	__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
	return naps();
}

TEST(thread_that_naps_loses_its_p_also_when_the_monitor_looks_seldom)
{
	setenv("WEFT_PROCS", "1", 1);
	EXPECT_EQ(weft_run(naps_later), 0);
}

/* ---- a program that idles */

/* How often threads other than the caller have gone to sleep so far. */
static long
sleeps_of_others(void)
{
	DIR *tasks = opendir("/proc/self/task");
	long total = 0, n;
	char path[300], line[200];

	EXPECT(tasks != NULL);
	for (struct dirent *e; (e = readdir(tasks));) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		if (atoi(e->d_name) == gettid() || !(f = fopen(path, "r")))
			continue;
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
				total += n;
		fclose(f);
	}
	closedir(tasks);
	return total;
}

static long
sleeps_within(int ms)
{
	long before = sleeps_of_others();

	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
	return sleeps_of_others() - before;
}

static long woken_while_idle = -1;

static void *
watches(void *gate)
{
	while (sleeps_within(1000) > 0) /* what is still awake goes to sleep */
		;
	woken_while_idle = sleeps_within(3000);
	weft_close(gate);
	return NULL;
}

struct parked {
	weft_chan(int) gate;
};

static int
parked(struct parked *a)
{
	return weft_recv(a->gate, NULL);
}

static int
idles(void)
{
	weft_chan(int) gate = weft_make(int, 0);
	struct weft_wg wg = {0};
	pthread_t t;

	for (int i = 0; i < 1000; i++)
		EXPECT(weft_wg_go(&wg, parked, gate) > 0);
	t = start_thread(watches, gate);
	weft_wg_wait(&wg);
	join_thread(t);
	weft_free(gate);
	return 0;
}

TEST(program_that_idles_has_no_thread_that_wakes_up)
{
	setenv("WEFT_PROCS", "2", 1);
	EXPECT_EQ(weft_run(idles), 0);
	EXPECT_EQ(woken_while_idle, 0);
}
