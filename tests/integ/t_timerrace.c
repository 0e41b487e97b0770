/* SPDX-License-Identifier: MIT */
/* t_timerrace.c: timers in order, moved and stopped by many at once, at the ends of the range of time.
   (TIME-1 to TIME-3, TIMER-3) fence-mode */
#include "integ/timerhelp.h"

#include <errno.h>

/* ---- in the order of their times, with doubles and zero */

struct nth {
	int64_t until, slot;
	weft_chan(int64_t) out;
};

static int
nth(struct nth *a)
{
	EXPECT_EQ(weft_sleep(a->until - weft_now()), 0);
	EXPECT_EQ(weft_send(a->out, a->slot), 0);
	return 0;
}

static bool
in_order(int64_t gap_ns)
{
	static const int64_t slots[] = {5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
	enum { N = sizeof(slots) / sizeof(slots[0]) };
	weft_chan(int64_t) out = weft_make(int64_t, N);
	int64_t base = weft_now() + gap_ns, last = -1, v;
	int back = 0;

	for (int i = 0; i < N; i++)
		EXPECT(weft_go(nth, base + slots[i] * gap_ns, slots[i], out) > 0);
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(weft_recv(out, &v), 1);
		back += v < last;
		last = v;
	}
	weft_free(out);
	return back == 0;
}

/* Who is woken may lose its P before it can say so: then with more time between them. */
static int
main_order(void)
{
	int64_t gap_ns = WEFT_MS;

	while (!in_order(gap_ns)) {
		gap_ns *= 2;
		EXPECT(gap_ns < WEFT_SEC);
	}
	return 0;
}

TEST(the_earlier_one_first)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_order), 0);
}

/* ---- what reset says is true: 1, and it has not run; 0, and it has, or will */

struct resets {
	uint64_t seed;
	int *fired;
};

static int
resets(struct resets *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < 5; i++) {
		struct weft_timer *t =
		    weft_timer_func((int64_t)(test_rand(&seed) % (30 * WEFT_US)), counted);
		int was;

		if (test_rand(&seed) & 1)
			weft_yield();
		else
			EXPECT_EQ(weft_sleep((int64_t)(test_rand(&seed) % (30 * WEFT_US))), 0);
		was = weft_timer_reset(t, 3600 * WEFT_SEC);
		EXPECT(was == 0 || was == 1);
		add(a->fired, !was);
		EXPECT_EQ(weft_timer_stop(t), 1);
		weft_timer_free(t);
	}
	return 0;
}

static int
main_resets(void)
{
	uint64_t seed = test_seed();
	struct weft_wg wg = {0};
	int fired = 0;

	for (int i = 0; i < scaled(1000); i++)
		EXPECT(weft_wg_go(&wg, resets, test_rand(&seed), &fired) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	await_runs(fired);
	expect_alone();
	EXPECT_EQ(load(&runs), fired);
	return 0;
}

TEST(a_function_has_run_if_and_only_if_reset_says_so)
{
	EXPECT_EQ(weft_run(main_resets), 0);
}

/* ---- many on one timer */

struct takes_ticks {
	weft_chan(int64_t) ch;
	int n;
};

static int
takes_ticks(struct takes_ticks *a)
{
	int64_t last = 0, v;

	for (int i = 0; i < a->n; i++) {
		EXPECT_EQ(weft_recv(a->ch, &v), 1);
		EXPECT(v > last); /* each tick goes to one of them, in order */
		last = v;
	}
	return 0;
}

static int
main_many_readers(void)
{
	struct weft_timer *t = weft_ticker(1);
	struct weft_wg wg = {0};

	for (int i = 0; i < 10; i++)
		EXPECT(weft_wg_go(&wg, takes_ticks, weft_timer_chan(t), scaled(200)) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_timer_stop(t), 1);
	EXPECT_EQ(weft_len(weft_timer_chan(t)), 0);
	weft_timer_free(t);
	return 0;
}

TEST(many_read_one_ticker)
{
	EXPECT_EQ(weft_run(main_many_readers), 0);
}

struct moves {
	struct weft_timer *t;
	uint64_t seed;
	int *armed, *ended;
};

static int
moves(struct moves *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < scaled(2000); i++) {
		bool stops = test_rand(&seed) % 8 == 0;
		int was = stops ? weft_timer_stop(a->t)
				: weft_timer_reset(a->t, (int64_t)(test_rand(&seed) % 5000));

		EXPECT(was == 0 || was == 1);
		add(a->armed, !stops);
		add(a->ended, was);
		if (i % 64 == 0)
			weft_yield();
	}
	return 0;
}

/* It runs once for each time that it was armed and not ended before. */
static int
main_many_move(void)
{
	struct weft_timer *t = weft_timer_func(3600 * WEFT_SEC, counted);
	uint64_t seed = test_seed();
	struct weft_wg wg = {0};
	int armed = 1, ended = 0;

	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, moves, t, test_rand(&seed), &armed, &ended) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	ended += weft_timer_stop(t);
	EXPECT_EQ(weft_timer_reset(t, 1), 0); /* as new after all that */
	await_runs(armed + 1 - ended);
	EXPECT_EQ(weft_sleep(WEFT_MS), 0);
	expect_alone();
	EXPECT_EQ(load(&runs), armed + 1 - ended);
	weft_timer_free(t);
	return 0;
}

TEST(many_move_one_timer)
{
	EXPECT_EQ(weft_run(main_many_move), 0);
}

/* ---- stopped, and started again in the past */

static int
main_past(void)
{
	static const int64_t past[] = {INT64_MIN, -WEFT_SEC, -1, 0};

	for (int i = 0; i < 40; i++) {
		struct weft_timer *t = weft_timer_func(3600 * WEFT_SEC, counted);

		EXPECT_EQ(weft_timer_stop(t), 1);
		EXPECT_EQ(weft_timer_reset(t, past[i % 4]), 0);
		await_runs(i + 1);
		weft_timer_free(t);
	}
	return 0;
}

TEST(a_timer_is_moved_into_the_past)
{
	EXPECT_EQ(weft_run(main_past), 0);
}

static int
main_zero(void)
{
	int n = scaled(100000);

	for (int i = 0; i < n; i++) {
		weft_chan(int64_t) ch = weft_after(0);

		EXPECT_EQ(weft_recv(ch, NULL), 1);
		weft_free(ch);
		if (i % 10 == 0)
			EXPECT_EQ(weft_select(WEFT_AFTER(0)), 0);
	}
	return 0;
}

TEST(very_many_timers_of_no_time)
{
	EXPECT_EQ(weft_run(main_zero), 0);
}

/* ---- at the ends of the range */

static int
main_ends(void)
{
	struct weft_timer *t = weft_ticker(INT64_MAX), *f;
	int64_t v;

	EXPECT_EQ(weft_try_recv(weft_timer_chan(t), &v), -EAGAIN);
	EXPECT_EQ(weft_timer_reset(t, INT64_MAX - 1), 1);
	EXPECT_EQ(weft_timer_reset(t, WEFT_US), 1);
	EXPECT_EQ(weft_recv(weft_timer_chan(t), &v), 1);
	EXPECT_EQ(weft_timer_reset(t, INT64_MAX), 1); /* the next one is never */
	EXPECT_EQ(weft_timer_stop(t), 1);
	weft_timer_free(t);
	f = weft_timer_func(INT64_MAX, counted);
	weft_timeout(INT64_MAX) {
		weft_deadline(INT64_MAX)
			EXPECT_EQ(weft_sleep(WEFT_US), 0);
		weft_timeout(INT64_MIN)
			EXPECT_EQ(weft_sleep(WEFT_US), -ETIMEDOUT);
		weft_deadline(INT64_MIN)
			EXPECT_EQ(weft_sleep(WEFT_US), -ETIMEDOUT);
		EXPECT_EQ(weft_sleep(WEFT_US), 0);
	}
	EXPECT_EQ(weft_select(WEFT_AFTER(INT64_MAX), WEFT_AFTER(INT64_MIN)), 1);
	EXPECT_EQ(load(&runs), 0);
	EXPECT_EQ(weft_timer_stop(f), 1);
	weft_timer_free(f);
	return 0;
}

TEST(timers_at_the_ends_of_time)
{
	EXPECT_EQ(weft_run(main_ends), 0);
}

/* ---- tickers */

static int
main_period(void)
{
	struct weft_timer *t = weft_ticker(100 * WEFT_US);
	weft_chan(int64_t) ch = weft_timer_chan(t);
	int64_t first, v;

	EXPECT_EQ(weft_recv(ch, &first), 1);
	EXPECT_EQ(weft_timer_reset(t, 300 * WEFT_US), 1);
	EXPECT_EQ(weft_recv(ch, &first), 1);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT(v > first && (v - first) % (300 * WEFT_US) == 0);
	}
	EXPECT_EQ(weft_timer_stop(t), 1);
	weft_timeout(2 * WEFT_MS) /* who waits for a stopped one waits */
		EXPECT_EQ(weft_recv(ch, &v), -ETIMEDOUT);
	weft_timer_free(t);
	return 0;
}

TEST(a_ticker_with_another_period)
{
	EXPECT_EQ(weft_run(main_period), 0);
}

/* ---- beside others */

static int
main_starved(void)
{
	start_pingpong();
	for (int i = 0; i < 20; i++) {
		struct weft_timer *t = weft_timer_func(WEFT_US, counted);

		await_runs(i + 1);
		weft_timer_free(t);
	}
	return 0;
}

TEST(functions_run_beside_a_pair_that_takes_turns)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_starved), 0);
}

/* Thousands of far timers, and much traffic of near ones: it stays quick. */
struct traffic {
	int n;
	uint64_t seed;
	weft_chan(int) never;
};

static int
traffic(struct traffic *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < a->n; i++)
		EXPECT_EQ(weft_select(WEFT_RECV(a->never, NULL),
				      WEFT_AFTER((int64_t)(test_rand(&seed) % (20 * WEFT_US)))),
			  1);
	return 0;
}

static int
main_traffic(void)
{
	enum { FAR = 5000 };
	static struct weft_timer *far[FAR];
	weft_chan(int) never = weft_make(int, 0);
	uint64_t seed = test_seed();
	int rc = 0;

	for (int i = 0; i < FAR; i++)
		far[i] = weft_timer_func(3600 * WEFT_SEC + i, counted);
	weft_group(g, &rc) {
		for (int i = 0; i < 20; i++)
			EXPECT(weft_go_in(g, traffic, scaled(1000), test_rand(&seed), never) > 0);
		for (int i = 0; i < FAR; i++) /* moved meanwhile */
			EXPECT_EQ(weft_timer_reset(far[i], 7200 * WEFT_SEC - i), 1);
	}
	for (int i = 0; i < FAR; i++) {
		EXPECT_EQ(weft_timer_stop(far[i]), 1);
		weft_timer_free(far[i]);
	}
	weft_free(never);
	return rc;
}

TEST(much_traffic_beside_far_timers)
{
	EXPECT_EQ(weft_run(main_traffic), 0);
}

static int stop;

static int
sleeps_zero(void)
{
	while (!load(&stop)) {
		EXPECT_EQ(weft_sleep(0), 0);
		EXPECT_EQ(weft_sleep(1), 0);
	}
	return 0;
}

/* The world is stopped again and again. */
static int
main_stopped(void)
{
	int old = weft_procs(), rc = 0;

	weft_group(g, &rc) {
		for (int i = 0; i < 4; i++)
			EXPECT(weft_go_in(g, sleeps_zero) > 0);
		for (int i = 0; i < scaled(200); i++) {
			EXPECT(weft_set_procs(1 + i % 4) > 0);
			EXPECT_EQ(weft_sleep(20 * WEFT_US), 0);
		}
		store(&stop, 1);
	}
	EXPECT(weft_set_procs(old) > 0);
	return rc;
}

TEST(sleeps_while_the_world_is_stopped)
{
	EXPECT_EQ(weft_run(main_stopped), 0);
}
