/* SPDX-License-Identifier: MIT */
/* t_shrink.c: what a burst needed goes back by itself: threads, the memory of stacks and of freed
   channels. procs-2-only */
#define _GNU_SOURCE 1
#include "integ/helpers.h"

#include <sched.h>
#include <time.h>

static void
nap(void)
{
	const struct timespec ts = {.tv_nsec = 5000000};

	nanosleep(&ts, NULL);
}

/* ---- threads */

enum { BLOCKERS = 200 };

static int gate[2];

static int
blocks_in_read(void)
{
	char c;

	EXPECT_EQ(read(gate[0], &c, 1), 1);
	return 0;
}

static int
threads(void)
{
	return count_entries("task") - 2;
}

/* Every one of them blocks its thread; then all go on. The limits are the test's: a wait in vain
   ends with it. */
static int
burst_of_blockers(void)
{
	for (int round = 0; round < 2; round++) {
		struct weft_wg wg = {0};
		char c[BLOCKERS] = {0};

		for (int i = 0; i < BLOCKERS; i++)
			EXPECT(weft_wg_go(&wg, blocks_in_read) > 0);
		while (threads() < BLOCKERS)
			weft_yield();
		EXPECT_EQ(write(gate[1], c, sizeof(c)), (int)sizeof(c));
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		/* procs + 2, the monitor, the caller of weft_run, and one of a sanitizer */
		while (threads() > 2 + 2 + 2 + 1)
			nap();
	}
	return 0;
}

/* M-1: those that end leave the list of the idle ones; the rest still works. */
TEST(threads_of_a_burst_end_by_themselves)
{
	use_procs(2);
	setenv("WEFT_DEBUG", "reap_ms=50", 1);
	EXPECT_EQ(pipe(gate), 0);
	EXPECT_EQ(weft_run(burst_of_blockers), 0);
}

enum { FEW_BLOCKERS = 12 };

/* Not too many for the Ps there are: they sleep without a limit, until the Ps are fewer. */
static int
fewer_ps(void)
{
	struct weft_wg wg = {0};
	char c[FEW_BLOCKERS] = {0};

	EXPECT_EQ(weft_set_procs(16), 2);
	for (int i = 0; i < FEW_BLOCKERS; i++)
		EXPECT(weft_wg_go(&wg, blocks_in_read) > 0);
	while (threads() < FEW_BLOCKERS)
		weft_yield();
	EXPECT_EQ(write(gate[1], c, sizeof(c)), (int)sizeof(c));
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_set_procs(1), 16);
	while (threads() > 1 + 2 + 2 + 1) /* as above */
		nap();
	return 0;
}

TEST(threads_end_when_the_ps_are_fewer)
{
	use_procs(2);
	EXPECT_EQ(pipe(gate), 0);
	EXPECT_EQ(weft_run(fewer_ps), 0);
}

/* ---- memory; the sanitizers keep it on purpose */

#if !defined(WF_ASAN) && !defined(WF_TSAN)

static struct weft_wg open_gate;
static int parked;

struct touches {
	size_t bytes;
};

static int
touches(struct touches *a)
{
	volatile char deep[a->bytes];

	for (size_t i = 0; i < a->bytes; i += 512)
		deep[i] = 1;
	add(&parked, 1);
	return weft_wg_wait(&open_gate) + (deep[0] - 1);
}

/* Pages that n goroutines, parked at the same time, add. */
static long
peak(int n, size_t bytes)
{
	struct weft_attr attr = {.stack_bytes = 64 << 10};
	long before = resident_pages(), growth;

	store(&parked, 0);
	weft_wg_add(&open_gate, 1);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go_with(&attr, touches, bytes) > 0);
	while (load(&parked) < n)
		weft_yield();
	growth = resident_pages() - before;
	EXPECT(growth > (long)((size_t)n * bytes / 4096));
	weft_wg_done(&open_gate);
	expect_alone();
	return growth;
}

/* A tenth of what the peak added remains, or less. */
static void
wait_for_fall(long before, long growth)
{
	while (resident_pages() > before + growth / 10)
		nap();
}

static int
peak_and_fall(void)
{
	long before = resident_pages();

	wait_for_fall(before, peak(scaled(100000), 8000));
	return 0;
}

TEST(memory_of_a_peak_goes_back)
{
	use_procs(2);
	EXPECT_EQ(weft_run(peak_and_fall), 0);
}

/* The monitor has already seen a quiet time, and nothing it had to do since. */
static int
peaks_and_falls(void)
{
	long before = resident_pages();

	for (int i = 0; i < 2; i++)
		wait_for_fall(before, peak(scaled(10000), 8000));
	return 0;
}

TEST(memory_of_every_peak_goes_back)
{
	use_procs(2);
	EXPECT_EQ(weft_run(peaks_and_falls), 0);
}

/* Somebody always computes past a slice while others wait: the monitor is never idle. */
static int stop;

/* Longer than a slice, while others wait: each time the P is taken. */
static int
hog(void)
{
	while (!load(&stop)) {
		struct timespec from, now;

		clock_gettime(CLOCK_MONOTONIC, &from);
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec <
		       30000000);
		weft_yield();
	}
	return 0;
}

static int
falls_while_busy(void)
{
	struct weft_wg wg = {0};
	long before = resident_pages(), growth = peak(scaled(10000), 8000);

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, hog) > 0);
	wait_for_fall(before, growth);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(memory_goes_back_while_others_are_busy)
{
	use_procs(2);
	EXPECT_EQ(weft_run(falls_while_busy), 0);
}

#endif

/* ---- freed channels do not wait for threads that look for work and get no CPU: LIMBO-1 */

static int hogs_stop;

static void *
computes(void *arg)
{
	(void)arg;
	while (!load(&hogs_stop))
		;
	return NULL;
}

static int
nothing(void)
{
	return 0;
}

/* All threads of the process but the caller's run only where a CPU would idle. */
static void
starve_others(void)
{
	const struct sched_param param = {0};
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");

	EXPECT(d != NULL);
	while ((e = readdir(d))) {
		int tid = atoi(e->d_name);

		if (tid > 0 && tid != gettid())
			EXPECT_EQ(sched_setscheduler(tid, SCHED_IDLE, &param), 0);
	}
	closedir(d);
}

/* Only N calls: it stays on its thread. */
static int
frees_channels(void)
{
	enum { HOGS = 8, CHANNELS = 200000 };
	pthread_t hog[HOGS];
	long before = 0;

	for (int i = 0; i < 100; i++)
		EXPECT(weft_go(nothing) > 0);
	weft_sleep(10 * WEFT_MS);
	starve_others();
	for (int i = 0; i < HOGS; i++)
		hog[i] = start_thread(computes, NULL);
	for (int i = 0; i < CHANNELS; i++) {
		if (i % 1000 == 0)
			EXPECT(weft_go(nothing) > 0);
		weft_free(weft_make(int64_t, 16));
		if (i == CHANNELS / 10)
			before = resident_pages();
	}
	expect_no_growth(before, 1000); /* 4 MiB, a tenth of what was freed */
	store(&hogs_stop, 1);
	for (int i = 0; i < HOGS; i++)
		pthread_join(hog[i], NULL);
	return 0;
}

TEST(freed_channels_do_not_wait_for_threads_without_a_cpu)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
	SKIP("the sanitizer keeps freed memory");
#elif defined(WF_TORTURE)
	SKIP("Ps taken at random bring starved threads into the middle of calls");
#endif
	use_procs(16);
	EXPECT_EQ(weft_run(frees_channels), 0);
}
