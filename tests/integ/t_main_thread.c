/* SPDX-License-Identifier: MIT */
/* t_main_thread.c: weft_config.main_thread: goroutine 1 on the thread that calls weft_run. fence-mode */
#define _GNU_SOURCE 1
#include "integ/helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <sys/prctl.h>

static int caller;

static void
configure(int main_thread)
{
	EXPECT_EQ(weft_configure(&(struct weft_config){.main_thread = main_thread}), 0);
	caller = gettid();
}

TEST(only_0_and_1_are_known)
{
	EXPECT_EQ(weft_configure(&(struct weft_config){.main_thread = 2}), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.reserved_ = {1}}), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.main_thread = -1}), -EINVAL);
}

struct echo {
	weft_chan(int) in, out;
};

static int
echo(struct echo *a)
{
	int v;

	while (weft_recv(a->in, &v) > 0) {
		EXPECT(gettid() != caller);
		EXPECT_EQ(weft_send(a->out, v), 0);
	}
	return 0;
}

struct app {
	int rounds;
};

static int
app(struct app *a)
{
	struct weft_wg wg = {0};
	weft_chan(int) there = weft_make(int, 0), back = weft_make(int, 0);
	int v;

	EXPECT_EQ(weft_id(), 1);
	EXPECT_EQ(gettid(), caller);
	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&wg, echo, there, back) > 1);
	for (int i = 0; i < a->rounds; i++) {
		EXPECT_EQ(weft_send(there, i), 0);
		EXPECT_EQ(gettid(), caller);
		EXPECT_EQ(weft_recv(back, &v), 1);
		EXPECT_EQ(gettid(), caller);
		EXPECT_EQ(v, i);
		weft_yield();
		EXPECT_EQ(gettid(), caller);
	}
	weft_close(there);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(gettid(), caller);
	weft_free(there);
	weft_free(back);
	return 11;
}

TEST(goroutine_1_runs_on_the_caller_s_thread)
{
	configure(1);
	EXPECT_EQ(caller, getpid());
	for (int procs = 1; procs <= 4; procs++) {
		use_procs(procs);
		EXPECT_EQ(weft_run(app, scaled(300)), 11);
		EXPECT_EQ(gettid(), caller);
	}
}

static int
asks_elsewhere(void)
{
	EXPECT(gettid() != caller);
	return 5;
}

TEST(runs_with_and_without_take_turns)
{
	for (int i = 0; i < scaled(50); i++) {
		configure(1);
		EXPECT_EQ(weft_run(app, 3), 11);
		configure(0);
		EXPECT_EQ(weft_run(asks_elsewhere), 5);
	}
}

static void *
runs_from_a_thread(void *arg)
{
	(void)arg;
	configure(1);
	EXPECT(caller != getpid());
	EXPECT_EQ(weft_run(app, 20), 11);
	EXPECT_EQ(weft_run(app, 20), 11);
	return NULL;
}

TEST(any_thread_may_be_the_caller)
{
	join_thread(start_thread(runs_from_a_thread, NULL));
	join_thread(start_thread(runs_from_a_thread, NULL));
}

static int
nests(void)
{
	EXPECT_EQ(weft_unlock_thread(), -EPERM); /* for the whole run */
	EXPECT_EQ(weft_lock_thread(), 0);
	EXPECT_EQ(weft_unlock_thread(), 0);
	EXPECT_EQ(weft_unlock_thread(), -EPERM);
	weft_yield();
	EXPECT_EQ(gettid(), caller);
	EXPECT_EQ(weft_run(asks_elsewhere), -EBUSY);
	EXPECT_EQ(weft_configure(&(struct weft_config){0}), -EBUSY);
	return 0;
}

TEST(goroutine_1_cannot_be_unlocked)
{
	configure(1);
	EXPECT_EQ(weft_run(nests), 0);
}

/* ---- the thread is the program's, and is given back as it was */

static char own_stack[65536];

static int
changes_the_thread(void)
{
	stack_t own = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};

	EXPECT_EQ(fegetround(), FE_TONEAREST); /* as in every goroutine */
	fesetround(FE_DOWNWARD);
	for (int i = 0; i < 20; i++)
		weft_yield();
	EXPECT_EQ(fegetround(), FE_DOWNWARD);
	EXPECT_EQ(sigaltstack(&own, NULL), 0);
	return 0;
}

static int
nothing(void)
{
	return 0;
}

TEST(the_thread_is_given_back_as_it_was)
{
	char before[16], after[16];
	stack_t was, is;
	sigset_t mask, now;

	configure(1);
	EXPECT_EQ(prctl(PR_SET_NAME, "mine"), 0);
	prctl(PR_GET_NAME, before);
	fesetround(FE_UPWARD);
	EXPECT_EQ(sigaltstack(NULL, &was), 0);
	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	EXPECT_EQ(weft_run(nothing), 0);
	prctl(PR_GET_NAME, after);
	EXPECT_EQ(strcmp(before, after), 0);
	EXPECT_EQ(fegetround(), FE_UPWARD);
	EXPECT_EQ(sigaltstack(NULL, &is), 0);
	EXPECT_EQ(is.ss_flags, was.ss_flags);
	EXPECT(is.ss_sp == was.ss_sp);
	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	for (int sig = 1; sig < NSIG; sig++)
		EXPECT_EQ(sigismember(&now, sig), sigismember(&mask, sig));

	EXPECT_EQ(weft_run(changes_the_thread), 0);
	EXPECT_EQ(fegetround(), FE_UPWARD);
	EXPECT_EQ(sigaltstack(NULL, &is), 0);
	EXPECT(is.ss_sp == own_stack); /* not ours to take away */
	EXPECT_EQ(is.ss_flags & SS_DISABLE, 0);
	fesetround(FE_TONEAREST);
}

/* ---- ends */

static int
exits(void)
{
	weft_yield();
	weft_exit(9);
}

TEST(weft_exit_of_goroutine_1_ends_the_run_here)
{
	configure(1);
	EXPECT_EQ(weft_run(exits), 9);
	EXPECT_EQ(gettid(), caller);
}

static struct weft_wg never;

static int
waits_for_ever(void)
{
	if (weft_id() % 2)
		weft_lock_thread();
	weft_wg_wait(&never);
	return 0;
}

static int
yields_on(void)
{
	for (;;)
		weft_yield();
	return 0;
}

static int
leaves_others_behind(void)
{
	never = (struct weft_wg){0};
	weft_wg_add(&never, 1);
	for (int i = 0; i < 4; i++)
		weft_go(waits_for_ever);
	weft_go(yields_on);
	for (int i = 0; i < 10; i++)
		weft_yield();
	return 0;
}

TEST(others_are_dropped_at_the_end)
{
	configure(1);
	for (int i = 0; i < scaled(50); i++)
		EXPECT_EQ(weft_run(leaves_others_behind), 0);
}

static int
sleeps_for_ever(void)
{
	weft_wg_add(&never, 1);
	weft_go(waits_for_ever);
	return weft_wg_wait(&never);
}

static void
child_deadlock(void)
{
	configure(1);
	weft_run(sleeps_for_ever);
}

TEST(deadlock_is_seen)
{
	EXPECT_HAS(expect_deadlock(child_deadlock), "goroutine 1 [wait group, locked to thread]");
}

/* One more thread in the process, which could wake somebody, is counted once. */
TEST(no_deadlock_beside_a_thread_of_the_program)
{
	configure(1);
	EXPECT_EQ(weft_run(waits_for_thread), 0);
}

/* ---- it loses its P like any other */

static int fds[2];

static int
writes(void)
{
	EXPECT_EQ(write(fds[1], "x", 1), 1);
	return 0;
}

static int
blocks(void)
{
	char byte;

	EXPECT_EQ(pipe(fds), 0);
	for (int i = 0; i < 3; i++) {
		EXPECT(weft_go(writes) > 0);
		EXPECT_EQ(read(fds[0], &byte, 1), 1);
		weft_yield();
		EXPECT_EQ(gettid(), caller);
	}
	return 0;
}

TEST(the_main_thread_asleep_in_the_kernel_stops_nobody)
{
	configure(1);
	use_procs(1);
	EXPECT_EQ(weft_run(blocks), 0);
}

TEST(one_more_thread_is_enough)
{
	configure(1);
	setenv("WEFT_MAX_THREADS", "1", 1);
	EXPECT_EQ(weft_run(app, 50), 11);
}

/* What the program did to its own thread before the run is the default; after, its own affair. */
static int
looks_at_mask(void)
{
	sigset_t set;

	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	EXPECT_EQ(sigismember(&set, SIGUSR1), 1);
	EXPECT_EQ(sigismember(&set, SIGUSR2), 0);
	return 0;
}

static int
blocks_a_signal(void)
{
	struct weft_wg wg = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < 5; i++)
		weft_wg_go(&wg, looks_at_mask);
	return weft_wg_wait(&wg);
}

TEST(other_threads_are_as_the_caller_was_at_the_start)
{
	sigset_t set;

	configure(1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	EXPECT_EQ(weft_run(blocks_a_signal), 0);
}
