/* SPDX-License-Identifier: MIT */
/* t_yield.c: yielding lets the others run, in order. fence-mode */
#include "integ/waiting.h"

static int flag;

static int
sets_flag(void)
{
	store(&flag, 1);
	return 0;
}

static int
polls_flag(void)
{
	EXPECT(weft_go(sets_flag) > 1);
	while (!load(&flag))
		weft_yield();
	return 0;
}

TEST(polling_by_yield_sees_its_signal)
{
	use_procs(1);
	EXPECT_EQ(weft_run(polls_flag), 0);
}

enum { N = 8, ROUNDS = 200 };
static int order[N * ROUNDS], at;

struct marks {
	int i;
};

static int
marks(struct marks *a)
{
	for (int r = 0; r < ROUNDS; r++) {
		__atomic_store_n(&order[add(&at, 1) - 1], a->i, __ATOMIC_RELEASE);
		weft_yield();
	}
	return 0;
}

static int
round_robin(void)
{
	int count[N] = {0}, most = 0;

	for (int i = 0; i < N; i++)
		EXPECT(weft_go(marks, i) > 1);
	while (weft_count() > 1)
		weft_yield();
	EXPECT_EQ(load(&at), N * ROUNDS);
	for (int k = 0; k < N * ROUNDS; k++) {
		int lead = 0, lag = ROUNDS;

		count[load(&order[k])]++;
		for (int i = 0; i < N; i++) {
			lead = count[i] > lead ? count[i] : lead;
			lag = count[i] < lag ? count[i] : lag;
		}
		most = lead - lag > most ? lead - lag : most;
	}
	/* On one P the queue is first in, first out; retakes and the global queue shift it a bit */
	EXPECT(most <= ROUNDS / 4);
	return 0;
}

TEST(yield_is_fair_on_one_proc)
{
#ifdef WF_TORTURE
	SKIP("the order is shuffled on purpose");
#endif
	use_procs(1);
	EXPECT_EQ(weft_run(round_robin), 0);
}

static int more_than_fit;

static int
yields_some(void)
{
	for (int i = 0; i < 20; i++)
		weft_yield();
	__atomic_fetch_add(&more_than_fit, 1, __ATOMIC_RELAXED);
	return 0;
}

static int
overflow_the_ring(void)
{
	struct weft_wg wg = {0};
	int n = scaled(2000);

	for (int i = 0; i < n; i++)
		EXPECT(weft_wg_go(&wg, yields_some) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(more_than_fit, n);
	return 0;
}

TEST(more_yielders_than_the_ring_holds)
{
	EXPECT_EQ(weft_run(overflow_the_ring), 0);
}

static int stop_yielding;
static int64_t turns;

static int
yields_until_stopped(void)
{
	while (!load(&stop_yielding)) {
		__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
	return 0;
}

static void *
spawns_from_outside(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct weft_wg wg = {0};

		EXPECT(weft_wg_go(&wg, sets_flag) > 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	store((int *)arg, 1);
	return NULL;
}

/* The local queue never runs dry; work in the global queue must get its turn all the same. */
static int
global_queue_beside_busy_ring(void)
{
	struct weft_wg wg = {0};
	pthread_t t;
	int done = 0;

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, yields_until_stopped) > 1);
	t = start_thread(spawns_from_outside, &done);
	while (!load(&done))
		weft_yield();
	join_thread(t);
	store(&stop_yielding, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(global_queue_is_not_starved_by_the_local_one)
{
	use_procs(1);
	EXPECT_EQ(weft_run(global_queue_beside_busy_ring), 0);
}

enum { CROWD = 1000 };

static int came;

struct comes {
	weft_chan(int) gate;
};

static int
comes(struct comes *a)
{
	int v;

	EXPECT_EQ(weft_recv(a->gate, &v), 0);
	add(&came, 1);
	return 0;
}

/* More than the ring holds wake up at once: most of them are in the global queue. */
static int
crowd_beside_busy_ring(void)
{
	struct weft_wg busy = {0};
	weft_chan(int) gate = weft_make(int, 0);

	for (int i = 0; i < CROWD; i++)
		EXPECT(weft_go(comes, gate) > 1);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&busy, yields_until_stopped) > 1);
	await_waiting(WF_WAIT_RECV, CROWD);
	EXPECT_EQ(weft_close(gate), 0);
	turns = 0;
	while (load(&came) < CROWD)
		weft_yield();
	store(&stop_yielding, 1);
	EXPECT_EQ(weft_wg_wait(&busy), 0);
	weft_free(gate);
	return 0;
}

/* A share of the global queue at a time, not one: that took sixty turns of the others for each. */
TEST(crowd_in_the_global_queue_does_not_come_one_by_one)
{
	use_procs(1);
	EXPECT_EQ(weft_run(crowd_beside_busy_ring), 0);
#ifndef WF_TORTURE /* it changes the order of queues */
	EXPECT(turns < 4 * CROWD);
#endif
}

static int
alone(void)
{
	struct weft_stats a = {.size = sizeof(a)}, b = {.size = sizeof(b)};

	EXPECT_EQ(weft_stats(&a), 0);
	for (int i = 0; i < 1000; i++)
		weft_yield();
	EXPECT_EQ(weft_stats(&b), 0);
	EXPECT(b.total.switches >= a.total.switches);
	return 0;
}

TEST(yield_alone_returns)
{
	EXPECT_EQ(weft_run(alone), 0);
	weft_yield(); /* outside a run it does nothing */
}

/* After each yield a goroutine may stand on another thread; what it keeps must be its own. */
struct keeps {
	int i;
};

static int
keeps(struct keeps *a)
{
	volatile double d = a->i * 0.5;
	volatile long r[8];

	for (int k = 0; k < 8; k++)
		r[k] = a->i * 8 + k;
	for (int n = 0; n < 50; n++) {
		weft_yield();
		EXPECT(d == a->i * 0.5);
		for (int k = 0; k < 8; k++)
			EXPECT_EQ(r[k], a->i * 8 + k);
	}
	return 0;
}

static int
keep_all(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 200; i++)
		EXPECT(weft_wg_go(&wg, keeps, i) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* SPAWN-2 */
TEST(registers_and_stack_survive_switches)
{
	EXPECT_EQ(weft_run(keep_all), 0);
}
