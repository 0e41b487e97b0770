/* SPDX-License-Identifier: MIT */
/* t_exit.c: the process ends while goroutines run, in every way; runs begin and end. */
#include "integ/helpers.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static int up, stop;
static int64_t turns;
static weft_chan(int) ch;

static int
nothing(void)
{
	return 0;
}

static int
hog(void)
{
	add(&up, 1);
	while (!load(&stop))
		;
	return 0;
}

static int
churns(void)
{
	add(&up, 1);
	for (;;) {
		struct weft_wg wg = {0};
		char *p = malloc(100);

		if (weft_wg_go(&wg, nothing) > 0)
			weft_wg_wait(&wg);
		free(p);
		add(&turns, 1);
	}
	return 0;
}

static int
waits(void)
{
	int v;

	add(&up, 1);
	weft_recv(ch, &v);
	return 0;
}

static int
sleeps(void)
{
	add(&up, 1);
	sleep(100);
	return 0;
}

static void
start_all(void)
{
	ch = weft_make(int, 0);
	for (int i = 0; i < 2; i++) {
		EXPECT(weft_go(churns) > 0);
		EXPECT(weft_go(waits) > 0);
	}
	EXPECT(weft_go(hog) > 0);
	EXPECT(weft_go(sleeps) > 0);
	while (load(&up) < 6)
		weft_yield();
}

/* ---- ways to end */

static void
says_and_calls(void)
{
	struct weft_wg wg = {0};
	int64_t before = load(&turns);
	int v;

	EXPECT_EQ(weft_run(nothing), -EBUSY);
	EXPECT(weft_wg_go(&wg, nothing) > 0); /* goroutines run beside handlers */
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
	while (load(&turns) < before + 5)
		weft_yield();
	if (write(1, "handler ran\n", 12) != 12)
		_exit(40);
}

static int
calls_exit(void)
{
	start_all();
	exit(7);
}

static void
exit_in_goroutine(void)
{
	EXPECT_EQ(atexit(says_and_calls), 0);
	weft_run(calls_exit);
}

static void *
exits_on_thread(void *arg)
{
	(void)arg;
	exit(7);
}

static int
thread_exits(void)
{
	start_all();
	start_thread(exits_on_thread, NULL);
	for (;;)
		weft_yield();
	return 0;
}

static void
exit_on_thread(void)
{
	EXPECT_EQ(atexit(says_and_calls), 0);
	weft_run(thread_exits);
}

static int
calls_quick_exit(void)
{
	start_all();
	quick_exit(7);
}

static void
quick_exit_in_goroutine(void)
{
	EXPECT_EQ(at_quick_exit(says_and_calls), 0);
	weft_run(calls_quick_exit);
}

static int
calls__exit(void)
{
	start_all();
	_exit(7);
}

static void
_exit_in_goroutine(void)
{
	EXPECT_EQ(atexit(says_and_calls), 0);
	weft_run(calls__exit);
}

static int
calls_abort(void)
{
	start_all();
	abort();
}

static void
abort_in_goroutine(void)
{
	weft_run(calls_abort);
}

static int
starts_and_returns(void)
{
	start_all();
	return 7;
}

static void
after_the_run(void)
{
	EXPECT_EQ(weft_go(nothing), -ENOTSUP);
	EXPECT_EQ(weft_run(nothing), 0); /* there is no run: one may begin */
	if (write(1, "handler ran\n", 12) != 12)
		_exit(40);
}

static void
return_from_main(void)
{
	EXPECT_EQ(atexit(after_the_run), 0);
	exit(weft_run(starts_and_returns)); /* as return from main does */
}

static void
expect_end(void (*fn)(void), int status_wanted, bool handler)
{
	static char out[65536];

	for (int i = 0; i < scaled(8); i++) {
		int status = test_child(fn, out, sizeof(out));

		EXPECT(!test_has(out, "AddressSanitizer"));
		EXPECT(!test_has(out, "fatal"));
		EXPECT_EQ(status, status_wanted);
		EXPECT_EQ(test_has(out, "handler ran"), handler);
	}
}

TEST(exit_in_a_goroutine)
{
	expect_end(exit_in_goroutine, 7 << 8, true);
}

TEST(exit_on_a_plain_thread)
{
	expect_end(exit_on_thread, 7 << 8, true);
}

TEST(quick_exit_in_a_goroutine)
{
	expect_end(quick_exit_in_goroutine, 7 << 8, true);
}

TEST(_exit_in_a_goroutine)
{
	expect_end(_exit_in_goroutine, 7 << 8, false);
}

TEST(abort_in_a_goroutine)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
	SKIP("the sanitizer handles it");
#endif
	expect_end(abort_in_goroutine, SIGABRT, false);
}

TEST(return_from_main_while_threads_are_left_behind)
{
	expect_end(return_from_main, 7 << 8, true);
}

/* ---- constructors and destructors */

static bool say_late;
static int early_go = 1, early_run = 1, early_local = 1;

weft_local(int, mine);

/* Linked statically this comes before the library's own constructor, were it not for priorities. */
__attribute__((constructor)) static void
calls_early(void)
{
	early_go = (int)weft_go(nothing);
	early_local = (*mine())++;
	early_run = weft_run(nothing);
	before_fork();
}

__attribute__((destructor)) static void
calls_late(void)
{
	if (weft_procs() != -ENOTSUP)
		return; /* exit was called inside a run */
	EXPECT_EQ(weft_go(nothing), -ENOTSUP);
	EXPECT_EQ(weft_run(nothing), 0);
	if (say_late && write(1, "destructor ran\n", 15) != 15)
		_exit(40);
}

static void
runs_and_ends(void)
{
	EXPECT_EQ(weft_run(nothing), 0);
	say_late = true;
	exit(3);
}

TEST(constructors_and_destructors_may_call)
{
	static char out[4096];

	EXPECT_EQ(early_go, -ENOTSUP);
	EXPECT_EQ(early_local, 0);
	EXPECT_EQ(early_run, 0);
	EXPECT_EQ(*mine(), 1);
	EXPECT_EQ(test_child(runs_and_ends, out, sizeof(out)), 3 << 8);
	EXPECT_HAS(out, "destructor ran");
	EXPECT_EQ(weft_run(nothing), 0);
}

/* ---- again and again */

/* Dropped, parked or on its way there: then it still reads what it was given, and nothing else. */
struct waits_for {
	weft_chan(int) ch;
};

static int
waits_for(struct waits_for *a)
{
	int v;

	add(&up, 1);
	weft_recv(a->ch, &v);
	return 0;
}

static int
short_run(void)
{
	struct weft_wg wg = {0};
	const struct timespec nap = {0, 300000};

	ch = weft_make(int, 0);
	EXPECT(weft_go(waits_for, ch) > 0);
	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, nothing) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	if (load(&up) % 50 == 0) { /* seen asleep: the monitor opens a descriptor */
		EXPECT(weft_wg_go(&wg, nothing) > 0);
		nanosleep(&nap, NULL);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	weft_yield();
	return 0;
}

static void
settle(int threads)
{
	while (count_entries("task") > threads) /* the last ones are on their way out */
		usleep(100);
}

static void
run_often(int n)
{
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(weft_run(short_run), 0);
		weft_free(ch);
	}
}

TEST(thousand_runs_leave_no_thread_no_descriptor_and_no_memory)
{
	int threads = count_entries("task"), fds;
	long pages;

#ifdef WF_TSAN
	threads++; /* its own, started late */
#endif
	run_often(scaled(100));
	settle(threads);
	fds = count_entries("fd");
	pages = resident_pages();
	run_often(scaled(1000));
	settle(threads);
	EXPECT_EQ(count_entries("fd"), fds);
	expect_no_growth(pages, 256);
}

static void *
runs_on_thread(void *arg)
{
	run_often(20);
	return arg;
}

TEST(run_from_threads_that_are_not_the_first)
{
	for (int i = 0; i < 5; i++) {
		join_thread(start_thread(runs_on_thread, NULL));
		run_often(1);
	}
}
