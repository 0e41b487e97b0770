/* SPDX-License-Identifier: MIT */
/* t_time.c: the clock and sleep: never short, in order, ended by cancel, with and without a P.
   fence-mode */
#include "integ/timerhelp.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static int64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * WEFT_SEC + ts.tv_nsec;
}

/* SLEEP-1 */
static void
sleep_and_check(int64_t ns)
{
	int64_t before = weft_now();

	EXPECT_EQ(weft_sleep(ns), 0);
	EXPECT(weft_now() - before >= ns);
}

TEST(now_is_the_monotonic_clock)
{
	int64_t a = clock_ns(), b = weft_now(), c = clock_ns();

	EXPECT(a <= b && b <= c);
}

TEST(sleep_needs_a_runtime)
{
	EXPECT_EQ(weft_sleep(1), -ENOTSUP);
	EXPECT_EQ(weft_sleep(0), -ENOTSUP);
}

static int
main_sleeps(void)
{
	sleep_and_check(1);
	sleep_and_check(WEFT_US);
	sleep_and_check(50 * WEFT_US);
	sleep_and_check(WEFT_MS);
	sleep_and_check(20 * WEFT_MS);
	return 0;
}

/* A program in which everybody sleeps is no deadlock. */
TEST(sleep_is_never_short)
{
	EXPECT_EQ(weft_run(main_sleeps), 0);
}

/* ---- zero and less: yields */

static int turns;

static int
counts_turns(void)
{
	add(&turns, 1);
	return 0;
}

static int
main_yields(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, counts_turns) > 0);
	while (load(&turns) == 0)
		EXPECT_EQ(weft_sleep(0), 0);
	EXPECT_EQ(weft_sleep(-1), 0);
	EXPECT_EQ(weft_sleep(INT64_MIN), 0);
	return weft_wg_wait(&wg);
}

TEST(sleep_of_nothing_yields)
{
	EXPECT_EQ(weft_run(main_yields), 0);
}

/* ---- many, of random length */

struct random_sleeper {
	uint64_t seed;
	int *left;
};

static int
random_sleeper(struct random_sleeper *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < 10; i++)
		sleep_and_check((int64_t)(test_rand(&seed) % (3 * WEFT_MS)));
	add(a->left, -1);
	return 0;
}

static int
main_many(void)
{
	int n = scaled(4000), left = n;
	uint64_t seed = test_seed();

	for (int i = 0; i < n; i++)
		EXPECT(weft_go(random_sleeper, test_rand(&seed), &left) > 0);
	while (load(&left) > 0)
		sleep_and_check(WEFT_MS);
	expect_alone();
	return 0;
}

TEST(many_sleep_for_random_times)
{
	EXPECT_EQ(weft_run(main_many), 0);
}

/* ---- those whose time has come while nobody looked wake once each */

static int woken[64];

struct nth_sleeper {
	int i;
	int64_t until;
};

static int
nth_sleeper(struct nth_sleeper *a)
{
	EXPECT_EQ(weft_sleep(a->until - weft_now()), 0);
	add(&woken[a->i], 1);
	return 0;
}

/* True: all slept before the first had to wake. */
static bool
all_overdue(int64_t span)
{
	int64_t base = weft_now() + span;
	struct weft_wg wg = {0};
	bool all;

	for (int i = 0; i < 64; i++) {
		int k = i * 37 % 64;

		store(&woken[k], 0);
		EXPECT(weft_wg_go(&wg, nth_sleeper, k, base + k * WEFT_US) > 0);
	}
	while (waiting(WF_WAIT_SLEEP) < 64 && weft_now() < base)
		weft_yield();
	all = waiting(WF_WAIT_SLEEP) == 64;
	while (weft_now() < base + 100 * WEFT_US) /* as if the process had been frozen */
		;
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 64; i++)
		EXPECT_EQ(woken[i], 1);
	return all;
}

static int
main_overdue(void)
{
	for (int64_t span = 20 * WEFT_MS; !all_overdue(span);)
		span *= 4; /* this machine is slow now */
	return 0;
}

TEST(overdue_sleepers_wake_once)
{
	EXPECT_EQ(weft_run(main_overdue), 0);
}

/* ---- while others compute */

static int stop;

static int
computes(void)
{
	while (!load(&stop))
		;
	return 0;
}

static int
main_beside_hogs(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < weft_procs() + 1; i++)
		EXPECT(weft_wg_go(&wg, computes) > 0);
	for (int i = 0; i < 5; i++)
		sleep_and_check(WEFT_MS);
	store(&stop, 1);
	return weft_wg_wait(&wg);
}

TEST(sleepers_wake_while_every_p_computes)
{
	EXPECT_EQ(weft_run(main_beside_hogs), 0);
}

static int
yields(void)
{
	while (!load(&stop))
		weft_yield();
	return 0;
}

static int
main_beside_yielders(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, yields) > 0);
	EXPECT(weft_wg_go(&wg, yields) > 0);
	sleep_and_check(WEFT_MS);
	store(&stop, 1);
	return weft_wg_wait(&wg);
}

TEST(sleepers_wake_while_others_yield)
{
	EXPECT_EQ(weft_run(main_beside_yielders), 0);
}

/* They do not keep the timers of their P from others. */
static int
main_beside_pingpong(void)
{
	start_pingpong();
	for (int i = 0; i < 10; i++)
		sleep_and_check(20 * WEFT_US);
	return 0;
}

TEST(sleepers_wake_while_a_pair_takes_turns)
{
	EXPECT_EQ(weft_run(main_beside_pingpong), 0);
}

/* ---- cancel */

static int
sleeps_long(void)
{
	EXPECT_EQ(weft_sleep(INT64_MAX), -ECANCELED);
	EXPECT_EQ(weft_sleep(3600 * WEFT_SEC), -ECANCELED);
	weft_shield sleep_and_check(WEFT_US);
	EXPECT_EQ(weft_sleep(1), -ECANCELED);
	return 0;
}

static int
main_cancel(void)
{
	for (int round = 0; round < scaled(200); round++)
		weft_group(g, NULL) {
			for (int i = 0; i < 8; i++)
				EXPECT(weft_go_in(g, sleeps_long) > 0);
			if (round % 2)
				await_waiting(WF_WAIT_SLEEP, 8);
			weft_cancel(g);
		}
	return 0;
}

TEST(cancel_ends_sleep)
{
	EXPECT_EQ(weft_run(main_cancel), 0);
}

/* Cancels and the end of the sleep meet. */
static int
sleeps_a_little(void)
{
	int64_t before = weft_now();
	int rc = weft_sleep(30 * WEFT_US);

	EXPECT(rc == -ECANCELED || (rc == 0 && weft_now() - before >= 30 * WEFT_US));
	return 0;
}

static int
main_cancel_meets_end(void)
{
	for (int round = 0; round < scaled(1000); round++)
		weft_group(g, NULL) {
			for (int i = 0; i < 4; i++)
				EXPECT(weft_go_in(g, sleeps_a_little) > 0);
			weft_shield weft_sleep(round % 60 * WEFT_US);
			weft_cancel(g);
		}
	return 0;
}

TEST(cancel_meets_the_end_of_sleep)
{
	EXPECT_EQ(weft_run(main_cancel_meets_end), 0);
}

/* ---- plain threads */

static void *
thread_sleeps(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		sleep_and_check(i * 10 * WEFT_US);
	return NULL;
}

static void *
thread_oversleeps(void *arg)
{
	(void)arg;
	EXPECT_EQ(weft_sleep(3600 * WEFT_SEC), -ENOTSUP);
	return NULL;
}

static int
main_threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		t[i] = start_thread(thread_sleeps, NULL);
	sleep_and_check(WEFT_MS);
	for (int i = 0; i < 4; i++)
		join_thread(t[i]);
	return 0;
}

TEST(plain_threads_sleep)
{
	EXPECT_EQ(weft_run(main_threads), 0);
}

static pthread_t oversleeper;

static int
main_ends(void)
{
	oversleeper = start_thread(thread_oversleeps, NULL);
	await_waiting(WF_WAIT_SLEEP, 1);
	return 0;
}

TEST(the_end_of_the_run_ends_a_threads_sleep)
{
	EXPECT_EQ(weft_run(main_ends), 0);
	join_thread(oversleeper);
}

/* ---- the end of the run */

static int
sleeps_for_ever(void)
{
	weft_sleep(INT64_MAX);
	weft_sleep(3600 * WEFT_SEC);
	return 0;
}

static int
main_leaves_sleepers(void)
{
	for (int i = 0; i < 1000; i++)
		EXPECT(weft_go(sleeps_for_ever) > 0);
	sleep_and_check(WEFT_MS);
	return 7;
}

TEST(sleepers_are_dropped_at_the_end)
{
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(weft_run(main_leaves_sleepers), 7);
		EXPECT_EQ(weft_run(main_sleeps), 0);
	}
}

/* ---- a resize: heaps of Ps that leave service are served all the same */

static int
main_resize(void)
{
	struct weft_wg wg = {0};
	int left = 0, n = scaled(200), old = weft_procs();

	for (int round = 0; round < 20; round++) {
		uint64_t seed = test_seed() + (uint64_t)round;

		add(&left, n);
		for (int i = 0; i < n; i++)
			EXPECT(weft_wg_go(&wg, random_sleeper, test_rand(&seed), &left) > 0);
		EXPECT(weft_set_procs(1 + round % 5) > 0);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT(weft_set_procs(old) > 0);
	return 0;
}

TEST(sleepers_survive_a_resize)
{
	EXPECT_EQ(weft_run(main_resize), 0);
}

/* ---- one thread for everything: the one that attends must do other work too (ATT-1 to ATT-3) */

static void *
thread_sends(void *arg)
{
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(weft_send((weft_chan(int))arg, i), 0);
	return NULL;
}

static int
main_one_thread(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	pthread_t t = start_thread(thread_sends, ch);
	int v;

	weft_go(sleeps_for_ever);
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(v, i);
		if (i % 10 == 0)
			sleep_and_check(100 * WEFT_US);
	}
	join_thread(t);
	weft_free(ch);
	return 0;
}

TEST(one_thread_attends_and_works)
{
	setenv("WEFT_MAX_THREADS", "1", 1);
	use_procs(1);
	EXPECT_EQ(weft_run(main_one_thread), 0);
}

/* ---- interrupted sleeps are not short, and the process may be stopped */

static void
on_signal(int sig)
{
	(void)sig;
}

static void *
interrupts(void *arg)
{
	(void)arg;
	while (!load(&stop)) {
		kill(getpid(), SIGUSR1);
		usleep(200);
	}
	return NULL;
}

TEST(signals_do_not_shorten_sleep)
{
	struct sigaction sa = {.sa_handler = on_signal};
	pthread_t t;

	EXPECT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	t = start_thread(interrupts, NULL);
	EXPECT_EQ(weft_run(main_sleeps), 0);
	store(&stop, 1);
	join_thread(t);
}
