/* SPDX-License-Identifier: MIT */
/* t_threads.c: no more threads can be had: by our limit, by the kernel's. fence-mode
   not-tsan: it needs a thread of its own, which is one too many */
#define _GNU_SOURCE 1 /* setresuid */
#include "integ/cgroups.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

static int64_t finished, turns;
static int stop;
static long nap_ms = 2;

static int
naps(void)
{
	const struct timespec nap = {0, nap_ms * 1000000};

	nanosleep(&nap, NULL);
	add(&finished, 1);
	nanosleep(&nap, NULL);
	weft_yield();
	add(&finished, 1);
	return 0;
}

static int
turns_around(void)
{
	while (!load(&stop)) {
		add(&turns, 1);
		weft_yield();
	}
	return 0;
}

struct hundred {
	int n, max;
};

static int
hundred(struct hundred *a)
{
	struct weft_wg wg = {0}, other = {0};
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT(weft_wg_go(&other, turns_around) > 0);
	for (int i = 0; i < a->n; i++)
		EXPECT(weft_wg_go(&wg, naps) > 0);
	while (load(&finished) < 2 * a->n || load(&turns) == 0) { /* everybody has a turn */
		EXPECT_EQ(weft_stats(&s), 0);
		EXPECT(s.threads <= a->max);
		weft_yield();
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&other), 0);
	store(&turns, 0);
	return 0;
}

static void
limited_to_3(void)
{
	setenv("WEFT_MAX_THREADS", "3", 1);
	nap_ms = 20; /* long enough to be seen at any load */
	EXPECT_EQ(weft_run(hundred, 100, 3), 0);
}

static void
limited_to_1(void)
{
	setenv("WEFT_MAX_THREADS", "1", 1);
	nap_ms = 20;
	EXPECT_EQ(weft_run(hundred, 20, 1), 0);
}

static void
expect_limit(void (*fn)(void), const char *limit)
{
	static char out[65536];

	EXPECT_EQ(test_child(fn, out, sizeof(out)), 0);
	EXPECT_EQ(count_of(out, "weft: "), 1); /* once */
	EXPECT_HAS(out, limit);
	EXPECT_HAS(out, "WEFT_MAX_THREADS");
}

TEST(three_threads_serve_a_hundred_that_block)
{
	expect_limit(limited_to_3, "limit of 3 threads");
}

TEST(three_threads_and_one_proc_serve_a_hundred_that_block)
{
	use_procs(1);
	expect_limit(limited_to_3, "limit of 3 threads");
}

TEST(one_thread_serves_those_that_block_in_turn)
{
	expect_limit(limited_to_1, "limit of 1 thread");
}

/* Beyond the limit hogs keep everybody: until they end, nothing is lost. */
static int
hogs_a_while(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 30);
	add(&finished, 1);
	return 0;
}

static int
hogs(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 12; i++)
		EXPECT(weft_wg_go(&wg, hogs_a_while) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&finished), 12);
	return 0;
}

static void
hogs_with_2_threads(void)
{
	setenv("WEFT_MAX_THREADS", "2", 1);
	EXPECT_EQ(weft_run(hogs), 0);
}

TEST(two_threads_serve_a_dozen_hogs)
{
	static char out[65536];

	EXPECT_EQ(test_child(hogs_with_2_threads, out, sizeof(out)), 0);
}

/* While threads are lacking the monitor looks for them now and then; it does not spin. */
static int
blocks_all(void)
{
	struct timespec nap = {0, 300000000}, before, after;
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, naps) > 0); /* cannot run: the only thread sleeps */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return (int)((after.tv_sec - before.tv_sec) * 1000 +
		     (after.tv_nsec - before.tv_nsec) / 1000000);
}

static void
starved(void)
{
	setenv("WEFT_MAX_THREADS", "1", 1);
	exit(weft_run(blocks_all));
}

TEST(monitor_does_not_spin_while_threads_are_lacking)
{
	static char out[4096];
	int status;

#if defined(WF_TORTURE) || defined(WF_ASAN)
	SKIP("a build that is slow on purpose");
#endif
	status = test_child(starved, out, sizeof(out));
	EXPECT(WIFEXITED(status));
	EXPECT(WEXITSTATUS(status) < 30); /* of 300 ms: by CPU time, not by the clock */
}

/* ---- the kernel refuses */

/* Another user, who has no process yet, and may have so many threads. */
static void
may_have_threads(rlim_t n)
{
	struct rlimit r = {n, n};
	uid_t nobody = 0x4000000 + (uid_t)getpid();

	if (getuid() == 0 && setresuid(nobody, nobody, nobody) != 0)
		_exit(77);
	if (getuid() == 0 || setrlimit(RLIMIT_NPROC, &r) != 0)
		_exit(77);
}

static void
no_thread_at_all(void)
{
	may_have_threads(1);
	EXPECT_EQ(weft_run(hundred, 10, 10), -EAGAIN);
	EXPECT_EQ(weft_run(hundred, 10, 10), -EAGAIN);
	_exit(0);
}

/* The monitor, and not one M. */
static void
no_m(void)
{
	may_have_threads(2);
	EXPECT_EQ(weft_run(hundred, 10, 10), -EAGAIN);
	EXPECT_EQ(weft_run(hundred, 10, 10), -EAGAIN);
	_exit(0);
}

static void
few_threads(void)
{
	may_have_threads(5); /* the first, the monitor, three Ms */
	nap_ms = 200;        /* all threads are seen asleep at once, at any load */
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(weft_run(hundred, 6, 1000), 0);
		store(&finished, 0);
		store(&stop, 0);
	}
	_exit(0); /* a sanitizer would want a thread */
}

/* The threads of one run still count when the next begins. */
static void
just_enough(void)
{
	may_have_threads(3);
	for (int i = 0; i < 50; i++) {
		EXPECT_EQ(weft_run(hundred, 1, 1000), 0);
		store(&finished, 0);
		store(&stop, 0);
	}
	_exit(0);
}

static void
expect_by_kernel(void (*fn)(void), int said, bool certain)
{
	static char out[65536];
	int status = test_child(fn, out, sizeof(out));

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("needs to become another user");
	if (status != 0)
		test_fail(__FILE__, __LINE__, "status %x\n%s", status, out);
	EXPECT(count_of(out, "weft: ") <= said); /* once in a run */
	if (certain)
		EXPECT_HAS(out, "RLIMIT_NPROC");
}

TEST(run_says_eagain_without_any_thread)
{
	if (getuid() != 0)
		SKIP("the limit counts all processes of a user: needs to become another one");
	expect_by_kernel(no_thread_at_all, 0, false);
}

TEST(run_says_eagain_without_an_m)
{
	if (getuid() != 0)
		SKIP("the limit counts all processes of a user: needs to become another one");
	expect_by_kernel(no_m, 2, true);
}

/* Also right after the end of a run, whose threads still count for a moment. */
TEST(runs_with_the_few_threads_the_kernel_gives)
{
	if (getuid() != 0)
		SKIP("the limit counts all processes of a user: needs to become another one");
	expect_by_kernel(few_threads, 2, true);
}

TEST(run_after_run_with_just_enough_threads)
{
	if (getuid() != 0)
		SKIP("the limit counts all processes of a user: needs to become another one");
	expect_by_kernel(just_enough, 50, false);
}

/* ---- the cgroup has no room */

static struct test_cgroup room;

static void
in_a_small_cgroup(void)
{
	EXPECT(cgroup_put_self(room.path));
	EXPECT(cgroup_put(room.path, "pids.max", "5")); /* the first, the monitor, three Ms */
	nap_ms = 200;                                   /* as in few_threads */
	EXPECT_EQ(weft_run(hundred, 6, 1000), 0);
	EXPECT(cgroup_number(room.path, "pids.events", "max") > 0); /* it has refused some */
	EXPECT(cgroup_put(room.path, "pids.max", "max"));
	_exit(0);
}

TEST(runs_with_the_few_threads_the_cgroup_has_room_for)
{
	static char out[65536];
	int status;

	room = cgroup_make("pids", "pids.max");
	if (!room.version)
		SKIP("no cgroup with a limit of threads may be made here");
	status = test_child(in_a_small_cgroup, out, sizeof(out));
	cgroup_remove(room.path);
	if (status != 0)
		test_fail(__FILE__, __LINE__, "status %x\n%s", status, out);
	EXPECT_EQ(count_of(out, "weft: "), 1);
	EXPECT_HAS(out, "pids.max of the cgroup");
}
