/* SPDX-License-Identifier: MIT */
/* t_timer.c: timers that start goroutines, send once, and tick; what stop and reset say is true.
   (TIME-1 to TIME-3) fence-mode */
#include "integ/timerhelp.h"

#include <errno.h>

TEST(timers_need_a_runtime)
{
	EXPECT(weft_after(1) == NULL);
	EXPECT(weft_ticker(1) == NULL);
	EXPECT(weft_timer_func(1, counted) == NULL);
	weft_timer_free(NULL);
}

/* ---- after */

static int
main_after(void)
{
	static const int64_t spans[] = {INT64_MIN, -1, 0, 1, WEFT_US, WEFT_MS};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		int64_t before = weft_now(), due = 0;
		weft_chan(int64_t) ch = weft_after(spans[i]);
		int64_t after = weft_now();

		EXPECT_EQ(weft_recv(ch, &due), 1);
		EXPECT(due <= weft_now());
		if (spans[i] <= 0) /* the time when it was due, not when it was read */
			EXPECT(due >= before && due <= after);
		else
			EXPECT(due >= before + spans[i] && due <= after + spans[i]);
		EXPECT_EQ(weft_try_recv(ch, &due), -EAGAIN);
		weft_free(ch);
	}
	return 0;
}

TEST(after_sends_the_time_when_it_was_due)
{
	EXPECT_EQ(weft_run(main_after), 0);
}

static int
main_after_freed(void)
{
	for (int i = 0; i < scaled(20000); i++) {
		weft_chan(int64_t) ch = weft_after(i % 3 ? 3600 * WEFT_SEC : i % 50 * WEFT_US);

		if (i % 7 == 0)
			weft_yield();
		weft_free(ch);
	}
	EXPECT(weft_after(INT64_MAX) != NULL); /* never fires; the run ends with it */
	return 0;
}

TEST(after_may_be_freed_before_and_after_it_fires)
{
	EXPECT_EQ(weft_run(main_after_freed), 0);
}

/* The program keeps the channel of a run that is over. */
static weft_chan(int64_t) kept;
static struct weft_timer *kept_timer, *kept_func;

static int
main_keeps(void)
{
	kept = weft_after(WEFT_SEC * 3600);
	kept_timer = weft_ticker(WEFT_US);
	kept_func = weft_timer_func(3600 * WEFT_SEC, counted);
	return 0;
}

static int
main_resets_kept(void)
{
	EXPECT_EQ(weft_timer_stop(kept_func), 0);
	EXPECT_EQ(weft_timer_reset(kept_func, 1), 0);
	await_runs(1);
	return 0;
}

TEST(timers_outlive_their_run)
{
	EXPECT_EQ(weft_run(main_keeps), 0);
	EXPECT_EQ(weft_timer_stop(kept_timer), -ENOTSUP);
	EXPECT_EQ(weft_timer_reset(kept_timer, 1), -ENOTSUP);
	EXPECT_EQ(weft_run(main_resets_kept), 0);
	weft_free(kept);
	weft_timer_free(kept_timer);
	weft_timer_free(kept_func);
}

/* ---- functions */

struct chain {
	int left;
};

static int chain(struct chain *a);
static struct weft_timer *links[11];

static int
chain(struct chain *a)
{
	EXPECT_EQ(weft_sleep(WEFT_US), 0); /* it is a goroutine of its own */
	add(&runs, 1);
	if (a->left > 0)
		store(&links[a->left], weft_timer_func(0, chain, a->left - 1));
	return 0;
}

static int
main_chain(void)
{
	links[0] = weft_timer_func(0, chain, 10);
	await_runs(11);
	for (int i = 0; i < 11; i++)
		weft_timer_free(load(&links[i]));
	return 0;
}

TEST(a_chain_of_functions)
{
	EXPECT_EQ(weft_run(main_chain), 0);
}

static int
main_stop_func(void)
{
	struct weft_timer *t[100];

	for (int i = 0; i < 100; i++)
		t[i] = weft_timer_func(50 * WEFT_MS * (i + 1), counted);
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_timer_stop(t[i]), 1);
		EXPECT_EQ(weft_timer_stop(t[i]), 0);
	}
	EXPECT_EQ(weft_timer_reset(t[0], WEFT_US), 0);
	await_runs(1);
	EXPECT_EQ(weft_timer_stop(t[0]), 0);
	EXPECT_EQ(weft_timer_reset(t[0], 3600 * WEFT_SEC), 0);
	EXPECT_EQ(weft_timer_reset(t[0], WEFT_US), 1);
	await_runs(2);
	for (int i = 0; i < 100; i++)
		weft_timer_free(t[i]);
	weft_sleep(WEFT_MS);
	EXPECT_EQ(load(&runs), 2);
	return 0;
}

TEST(stopped_functions_do_not_run)
{
	EXPECT_EQ(weft_run(main_stop_func), 0);
}

/* What a stop says and what happens agree, however they meet. */
static int
main_stop_meets_fire(void)
{
	int expected = 0;

	for (int i = 0; i < scaled(4000); i++) {
		struct weft_timer *t = weft_timer_func(i % 40 * WEFT_US, counted);

		for (int spin = 0; spin < i % 7; spin++)
			weft_yield();
		expected += !weft_timer_stop(t);
		weft_timer_free(t);
	}
	await_runs(expected);
	weft_sleep(WEFT_MS);
	EXPECT_EQ(load(&runs), expected);
	return 0;
}

TEST(a_function_runs_if_and_only_if_stop_says_so)
{
	EXPECT_EQ(weft_run(main_stop_meets_fire), 0);
}

/* From inside its own goroutine. */
static struct weft_timer *self;

static int
stops_itself(void)
{
	while (!load(&self))
		weft_yield();
	EXPECT_EQ(weft_timer_stop(self), 0);
	if (add(&runs, 1) < 5)
		EXPECT_EQ(weft_timer_reset(self, WEFT_US), 0);
	else
		weft_timer_free(self);
	return 0;
}

static int
main_self(void)
{
	store(&self, weft_timer_func(WEFT_US, stops_itself));
	await_runs(5);
	expect_alone();
	return 0;
}

TEST(a_function_may_stop_reset_and_free_its_timer)
{
	EXPECT_EQ(weft_run(main_self), 0);
}

/* ---- channels: nothing stale */

static int
main_stop_chan(void)
{
	for (int i = 0; i < scaled(4000); i++) {
		struct weft_timer *t = weft_ticker(1 + i % 30 * WEFT_US);
		weft_chan(int64_t) ch = weft_timer_chan(t);
		int64_t v;

		for (int spin = 0; spin < i % 5; spin++)
			weft_yield();
		EXPECT_EQ(weft_timer_stop(t), 1); /* a ticker always is pending */
		EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
		EXPECT_EQ(weft_timer_stop(t), 0);
		weft_yield();
		EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
		weft_timer_free(t);
	}
	return 0;
}

TEST(no_tick_after_stop)
{
	EXPECT_EQ(weft_run(main_stop_chan), 0);
}

static int
main_reset_chan(void)
{
	struct weft_timer *t = weft_ticker(WEFT_US);
	weft_chan(int64_t) ch = weft_timer_chan(t);

	for (int i = 0; i < scaled(2000); i++) {
		int64_t before = weft_now(), due;

		EXPECT_EQ(weft_timer_reset(t, 20 * WEFT_US), 1);
		EXPECT_EQ(weft_recv(ch, &due), 1);
		EXPECT(due >= before + 20 * WEFT_US); /* none of before the reset */
		if (i % 10 == 0)
			weft_sleep(25 * WEFT_US);
	}
	EXPECT_EQ(weft_timer_reset(t, 0), -EINVAL);
	EXPECT_EQ(weft_timer_reset(t, -5), -EINVAL);
	EXPECT(weft_ticker(0) == NULL && weft_ticker(-1) == NULL);
	weft_timer_free(t);
	return 0;
}

TEST(no_stale_tick_after_reset)
{
	EXPECT_EQ(weft_run(main_reset_chan), 0);
}

struct blocked {
	weft_chan(int64_t) ch;
};

static int
blocked(struct blocked *a)
{
	int64_t v;

	EXPECT_EQ(weft_recv(a->ch, &v), 1);
	add(&runs, 1);
	return 0;
}

/* Two wait on a timer that is moved, near and far, stopped, and started. */
static int
main_blocked(void)
{
	struct weft_timer *t = weft_ticker(3600 * WEFT_SEC);
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, blocked, weft_timer_chan(t)) > 0);
	EXPECT(weft_wg_go(&wg, blocked, weft_timer_chan(t)) > 0);
	await_waiting(WF_WAIT_RECV, 2);
	EXPECT_EQ(weft_timer_stop(t), 1);
	EXPECT_EQ(weft_timer_reset(t, 7200 * WEFT_SEC), 0);
	EXPECT_EQ(weft_timer_reset(t, 100 * WEFT_US), 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_timer_free(t);
	return 0;
}

TEST(a_timer_is_moved_while_others_wait_for_it)
{
	EXPECT_EQ(weft_run(main_blocked), 0);
}

/* ---- tickers */

static int
main_ticks(void)
{
	struct weft_timer *t = weft_ticker(200 * WEFT_US);
	int64_t first, v;

	EXPECT_EQ(weft_recv(weft_timer_chan(t), &first), 1);
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(weft_recv(weft_timer_chan(t), &v), 1);
		EXPECT((v - first) % (200 * WEFT_US) == 0 && v > first);
	}
	weft_timer_free(t);
	return 0;
}

TEST(ticks_are_whole_periods_apart)
{
	EXPECT_EQ(weft_run(main_ticks), 0);
}

/* A period of a nanosecond: whoever is slow misses ticks, and everybody else goes on. */
static int
main_fast_ticker(void)
{
	struct weft_timer *t = weft_ticker(1);
	int64_t last = 0, v;

	for (int i = 0; i < scaled(2000); i++) {
		EXPECT_EQ(weft_recv(weft_timer_chan(t), &v), 1);
		EXPECT(v > last);
		last = v;
	}
	EXPECT(weft_len(weft_timer_chan(t)) <= 1);
	weft_timer_free(t);
	return 0;
}

TEST(a_ticker_of_one_nanosecond)
{
	EXPECT_EQ(weft_run(main_fast_ticker), 0);
}

/* ---- many at once */

struct walker {
	uint64_t seed;
	struct weft_timer **t;
	int n;
};

static int
walker(struct walker *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < 1000; i++) {
		struct weft_timer *t = a->t[test_rand(&seed) % (unsigned)a->n];
		int64_t ns = (int64_t)(test_rand(&seed) % (200 * WEFT_US));

		switch (test_rand(&seed) % 4) {
		case 0:
			weft_timer_stop(t);
			break;
		case 1:
			weft_timer_reset(t, ns + 1);
			break;
		case 2:
			weft_timer_reset(t, 3600 * WEFT_SEC + ns);
			break;
		default:
			if (weft_timer_chan(t))
				weft_try_recv(weft_timer_chan(t), NULL);
			else
				weft_yield();
		}
	}
	return 0;
}

static int
main_walk(void)
{
	enum { N = 100 };
	struct weft_timer *t[N];
	uint64_t seed = test_seed();
	struct weft_wg wg = {0};

	for (int i = 0; i < N; i++)
		t[i] = i % 2 ? weft_ticker(WEFT_MS) : weft_timer_func(WEFT_MS, counted);
	for (int i = 0; i < scaled(40); i++)
		EXPECT(weft_wg_go(&wg, walker, test_rand(&seed), t, N) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < N; i++) {
		weft_timer_stop(t[i]);
		EXPECT_EQ(weft_timer_stop(t[i]), 0);
		weft_timer_free(t[i]);
	}
	return 0;
}

TEST(random_walk_over_timers)
{
	EXPECT_EQ(weft_run(main_walk), 0);
}

static int
main_million(void)
{
	int n = scaled(1000000);
	struct weft_timer **t = malloc((size_t)n * sizeof(*t));
	uint64_t seed = test_seed();
	int expected = 0;

	for (int i = 0; i < n; i++) {
		t[i] = weft_timer_func(WEFT_SEC * 3600 + (int64_t)(test_rand(&seed) % WEFT_SEC),
				       counted);
		EXPECT(t[i] != NULL);
	}
	for (int i = 0; i < n; i++)
		if (i % 100 == 0) {
			EXPECT_EQ(weft_timer_reset(t[i], (int64_t)(test_rand(&seed) % WEFT_MS)), 1);
			expected++;
		} else {
			EXPECT_EQ(weft_timer_stop(t[i]), 1);
		}
	await_runs(expected);
	for (int i = 0; i < n; i++)
		weft_timer_free(t[i]);
	free(t);
	EXPECT_EQ(load(&runs), expected);
	return 0;
}

TEST(a_million_timers)
{
	EXPECT_EQ(weft_run(main_million), 0);
}

/* Memory does not grow with the number of timers that have been. */
static int
main_churn(void)
{
	long before = 0;

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < scaled(20000); i++) {
			struct weft_timer *t = weft_timer_func(3600 * WEFT_SEC, counted);

			weft_timer_stop(t);
			weft_timer_free(t);
			weft_free(weft_after(WEFT_SEC));
		}
		if (round == 3)
			before = resident_pages();
	}
	expect_no_growth(before, 1000);
	return 0;
}

TEST(started_and_stopped_timers_leave_nothing)
{
	EXPECT_EQ(weft_run(main_churn), 0);
}

/* ---- without a P, and under a lock of the program's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *
thread_uses_timers(void *arg)
{
	int64_t v;

	(void)arg;
	for (int i = 0; i < 50; i++) {
		struct weft_timer *t;
		weft_chan(int64_t) ch;

		pthread_mutex_lock(&lock);
		t = weft_timer_func(10 * WEFT_US, counted);
		ch = weft_after(10 * WEFT_US);
		pthread_mutex_unlock(&lock);
		EXPECT_EQ(weft_recv(ch, &v), 1);
		weft_free(ch);
		EXPECT(weft_timer_stop(t) >= 0);
		weft_timer_free(t);
	}
	return NULL;
}

static int
main_thread_timers(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		t[i] = start_thread(thread_uses_timers, NULL);
	for (int i = 0; i < 20; i++)
		weft_sleep(100 * WEFT_US);
	for (int i = 0; i < 2; i++)
		join_thread(t[i]);
	return 0;
}

TEST(plain_threads_use_timers)
{
	EXPECT_EQ(weft_run(main_thread_timers), 0);
}

/* A goroutine that computes has lost its P and starts a timer. */
static int
main_hog_timers(void)
{
	struct weft_timer *t = weft_timer_func(WEFT_US, counted);

	while (load(&runs) < 1) /* somebody else must run it */
		;
	EXPECT_EQ(weft_timer_reset(t, WEFT_US), 0);
	while (load(&runs) < 2)
		;
	weft_timer_free(t);
	return 0;
}

TEST(timers_fire_while_their_owner_computes)
{
	EXPECT_EQ(weft_run(main_hog_timers), 0);
}

/* ---- misuse */

static int
main_frees_ticker_chan(void)
{
	weft_free(weft_timer_chan(weft_ticker(WEFT_SEC)));
	return 0;
}

static void
child_frees_ticker_chan(void)
{
	weft_run(main_frees_ticker_chan);
}

TEST(the_channel_of_a_ticker_is_not_freed)
{
	char out[8192];

	EXPECT_EQ(WEXITSTATUS(test_child(child_frees_ticker_chan, out, sizeof(out))), 2);
	EXPECT_HAS(out, "weft_timer_free");
}
