/* SPDX-License-Identifier: MIT */
/* t_lint.c: goroutines that hold up others are named, and those that do not are not. fence-mode */
#include "integ/capture.h"

#include "sched/handoff.h"

#include <signal.h>
#include <time.h>

enum { LINT_MS = 4 };
static const char words[] = "lint=1,lint_ms=4";
/* Where nobody is to be named: on a virtual machine the CPU clock of a thread may jump by some ms
   while it does not run. */
enum { LONG_MS = 10 };
static const char long_words[] = "lint=1,lint_ms=10";

static int stop;

/* CPU time that this thread has used: what the lint counts, whatever else the machine does. */
static int64_t
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t
cpu_ms(void)
{
	return cpu_us() / 1000;
}

static int
run_captured_with(const char *with, int (*run)(void))
{
	int rc;

	setenv("WEFT_DEBUG", with, 1);
	capture_begin();
	rc = run();
	capture_end();
	return rc;
}

static int
run_captured(int (*run)(void))
{
	return run_captured_with(words, run);
}

static void
expect_nobody_named(int (*run)(void))
{
	EXPECT_EQ(run_captured_with(long_words, run), 0);
	if (strstr(said, "has computed"))
		test_fail(__FILE__, __LINE__, "%s", said);
}

/* ---- computes */

__attribute__((noinline)) static void
grinds(int *until)
{
	while (!load(until))
		;
	__asm__ volatile(""); /* no tail call: the frame below it must be seen */
}

static int
hog_one(void)
{
	grinds(&stop);
	__asm__ volatile("");
	return 0;
}

static int
hog_two(void)
{
	grinds(&stop);
	__asm__ volatile("");
	return 0;
}

static int
hog_three(void)
{
	grinds(&stop);
	__asm__ volatile("");
	return 0;
}

static int hogs_line;

static int
three_hogs(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, hog_one) > 0);
	hogs_line = __LINE__ - 1;
	EXPECT(weft_wg_go(&all, hog_two) > 0);
	EXPECT(weft_wg_go(&all, hog_three) > 0);
	while (count_of(capture_read(), "has computed for ") < 3)
		weft_yield();
	store(&stop, 1);
	return weft_wg_wait(&all);
}

static int
run_three_hogs(void)
{
	return weft_run(three_hogs);
}

/* Each report is about one goroutine: its stack fits its start function. LINT-1 */
TEST(goroutines_that_compute_are_named_with_their_stacks)
{
	static const char *const names[] = {"hog_one", "hog_two", "hog_three"};
	char text[64], *next;

	EXPECT_EQ(run_captured(run_three_hogs), 0);
	snprintf(text, sizeof(text), "hog_one(), created by goroutine 1 at ");
	EXPECT_HAS(said, text);
	snprintf(text, sizeof(text), "t_lint.c:%d\n", hogs_line);
	EXPECT_HAS(said, text);
	for (int i = 0; i < 3; i++) {
		char *report = strstr(said, "weft: lint: ");

		snprintf(text, sizeof(text), "%s(), created by", names[i]);
		while (report && (next = strstr(report + 1, "weft: lint: "))) {
			char *birth = strstr(report, text);

			if (birth && birth < next)
				break;
			report = next;
		}
		EXPECT(report != NULL);
		if ((next = strstr(report + 1, "weft: lint: ")))
			*next = 0;
		EXPECT_HAS(report, text);
		EXPECT_HAS(report, "weft_checkpoint()");
#ifndef WF_TSAN /* whose own functions have no frames; and it delivers signals when it likes */
		snprintf(text, sizeof(text), "\t%s+0x", names[i]);
		EXPECT_HAS(report, text);
#endif
		if (next)
			*next = 'w';
	}
}

static int
computes_for(int ms)
{
	int64_t until = cpu_ms() + ms;

	while (cpu_ms() < until)
		;
	return 0;
}

struct twice {
	int ms;
};

static int
twice(struct twice *a)
{
	return computes_for(a->ms);
}

static void
one_more(int ms)
{
	struct weft_wg one = {0};

	EXPECT(weft_wg_go(&one, twice, ms) > 0);
	EXPECT_EQ(weft_wg_wait(&one), 0);
}

static int
same_place_again(void)
{
	do
		one_more(10 * LINT_MS);
	while (count_of(capture_read(), "has computed for ") == 0);
	one_more(20 * LINT_MS);
	return 0;
}

static int
run_same_place_again(void)
{
	return weft_run(same_place_again);
}

TEST(a_place_is_named_once)
{
	EXPECT_EQ(run_captured(run_same_place_again), 0);
	EXPECT_EQ(count_of(said, "twice(), created by"), 1);
}

/* ---- gives way, or does not compute */

static int
checkpoints(void)
{
	int64_t until = cpu_ms() + 10 * LONG_MS;

	do
		weft_checkpoint();
	while (cpu_ms() < until);
	return 0;
}

static int
naps(void)
{
	const struct timespec nap = {.tv_nsec = 2 * LONG_MS * 1000000};

	for (int i = 0; i < 4; i++) {
		nanosleep(&nap, NULL);
		weft_yield();
	}
	return 0;
}

static int
computes_in_a_section(void)
{
	weft_blocking computes_for(10 * LONG_MS);
	return 0;
}

static int
well_behaved(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, checkpoints) > 0);
	EXPECT(weft_wg_go(&all, naps) > 0);
	EXPECT(weft_wg_go(&all, computes_in_a_section) > 0);
	return weft_wg_wait(&all);
}

static int
run_well_behaved(void)
{
	return weft_run(well_behaved);
}

TEST(who_gives_way_or_sleeps_is_not_called_a_hog)
{
	expect_nobody_named(run_well_behaved);
}

/* The monitor is held up between its look at the clock and its request, as a busy machine does to it:
   what the goroutine used before it was asked counts for nothing (LINT-3), nor does what the clock
   jumps on a shared processor (LINT-4). */
static void *
delays_requests(void *arg)
{
	for (int i = 0; i < 20; i++) {
		wf_lock(&wf_lease_lock);
		usleep(3000 * LONG_MS);
		wf_unlock(&wf_lease_lock);
		usleep(500 * LONG_MS);
	}
	store(&stop, 1);
	return arg;
}

static int
gives_way_often(void)
{
	while (!load(&stop)) {
		int64_t until;

		weft_checkpoint();
		until = cpu_us() + 150 * LONG_MS; /* of the thread it is on by now */
		while (cpu_us() < until)
			;
	}
	return 0;
}

static int
asked_late(void)
{
	struct weft_wg all = {0};
	pthread_t t;

	EXPECT(weft_wg_go(&all, gives_way_often) > 0);
	t = start_thread(delays_requests, NULL);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	join_thread(t);
	return 0;
}

static int
run_asked_late(void)
{
	return weft_run(asked_late);
}

TEST(who_is_asked_late_is_not_called_a_hog)
{
	expect_nobody_named(run_asked_late);
}

/* ---- sleeps in a call */

struct reader {
	int fd;
};

static int
reader(struct reader *a)
{
	char c;

	while (read(a->fd, &c, 1) == 1)
		weft_yield(); /* a P again, to be lost in the next read */
	return 0;
}

static int
one_reader(void)
{
	struct weft_wg all = {0};
	int ends[2];

	EXPECT_EQ(pipe(ends), 0);
	EXPECT(weft_wg_go(&all, reader, ends[0]) > 0);
	while (!strstr(capture_read(), "lost its P in read()")) {
		for (int i = 0; i < 100; i++)
			weft_yield();
		EXPECT_EQ(write(ends[1], "x", 1), 1);
	}
	for (int i = 0; i < 100; i++) { /* not again */
		weft_yield();
		EXPECT_EQ(write(ends[1], "x", 1), 1);
	}
	close(ends[1]);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	close(ends[0]);
	return 0;
}

static int
run_one_reader(void)
{
	return weft_run(one_reader);
}

TEST(a_call_that_cost_the_p_is_named_once)
{
	use_procs(1);
	EXPECT_EQ(run_captured(run_one_reader), 0);
	EXPECT_EQ(count_of(said, "lost its P in read()"), 1);
	EXPECT_HAS(said, "reader(), created by goroutine 1 at ");
	EXPECT_HAS(said, "weft_read()");
	EXPECT_HAS(said, "weft_blocking");
}

/* ---- off */

static bool
handler_is_there(void)
{
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
		struct sigaction a;

		if (sigaction(sig, NULL, &a) == 0 && (a.sa_flags & SA_SIGINFO))
			return true;
	}
	return false;
}

static int
computes_a_little(void)
{
	return computes_for(5 * LINT_MS);
}

TEST(without_lint_no_signal_is_used_and_nothing_is_said)
{
	capture_begin();
	EXPECT_EQ(weft_run(computes_a_little), 0);
	EXPECT_EQ(strlen(capture_end()), 0);
	EXPECT(!handler_is_there());
	setenv("WEFT_DEBUG", words, 1);
	EXPECT_EQ(weft_run(well_behaved), 0);
	EXPECT(handler_is_there());
}

/* All real-time signals are the program's: the report comes without a stack. */
static void
other_handler(int sig)
{
	(void)sig;
}

static int
one_hog(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, hog_one) > 0);
	while (!strstr(capture_read(), "has computed for "))
		weft_yield();
	store(&stop, 1);
	return weft_wg_wait(&all);
}

static int
run_one_hog(void)
{
	return weft_run(one_hog);
}

TEST(without_a_free_signal_the_stack_is_missing)
{
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		signal(sig, other_handler);
	EXPECT_EQ(run_captured(run_one_hog), 0);
	EXPECT_HAS(said, "uses every real-time signal");
	EXPECT_HAS(said, "its stack is not known");
	EXPECT_HAS(said, "hog_one(), created by goroutine 1 at ");
}

/* A thread that blocks the signal does not answer. */
static int
hog_deaf(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	grinds(&stop);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	return 0;
}

static int
one_deaf_hog(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, hog_deaf) > 0);
	while (!strstr(capture_read(), "has computed for "))
		weft_yield();
	store(&stop, 1);
	return weft_wg_wait(&all);
}

static int
run_one_deaf_hog(void)
{
	return weft_run(one_deaf_hog);
}

TEST(a_thread_that_blocks_signals_is_named_without_its_stack)
{
	EXPECT_EQ(run_captured(run_one_deaf_hog), 0);
	EXPECT_HAS(said, "its stack is not known");
	EXPECT_HAS(said, "hog_deaf(), created by goroutine 1 at ");
}
