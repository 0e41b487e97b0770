/* SPDX-License-Identifier: MIT */
/* t_runq.c: the run queue of a P, alone and against thieves. fence-mode qemu */
#include "test.h"

#include "core/runq.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = WF_RUNQ_SIZE, HALF = WF_RUNQ_SIZE / 2 };

static struct wf_runq q, thief;
static struct wf_g gs[4 * SIZE];
static struct wf_glist over;

static void
start_at(struct wf_runq *r, uint32_t index)
{
	memset(r, 0, sizeof(*r));
	wf_door_init(&r->door, os_membarrier_register() < 0);
	at_store_rlx(&r->head, index);
	at_store_rlx(&r->tail, index);
}

static void
fill(int from, int n)
{
	for (int i = from; i < from + n; i++)
		wf_runq_put(&q, &gs[i], &over);
}

static int
number(const struct wf_g *g)
{
	return (int)(g - gs);
}

TEST(first_in_first_out_for_each_fill)
{
	for (int n = 0; n <= SIZE; n++) {
		EXPECT(wf_runq_empty(&q));
		fill(0, n);
		EXPECT_EQ(wf_runq_len(&q), n);
		EXPECT_EQ(wf_runq_empty(&q), n == 0);
		for (int i = 0; i < n; i++)
			EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
		EXPECT(wf_runq_get_ring(&q) == NULL);
		EXPECT(wf_runq_empty(&q));
	}
	EXPECT_EQ(over.size, 0);
}

TEST(order_survives_the_wrap_of_the_indices)
{
	for (uint32_t back = 0; back <= SIZE; back++) {
		start_at(&q, UINT32_MAX - back + 1);
		fill(0, SIZE);
		EXPECT_EQ(wf_runq_len(&q), SIZE);
		EXPECT(!wf_runq_empty(&q));
		for (int i = 0; i < SIZE; i++)
			EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
		EXPECT(wf_runq_empty(&q));
	}
}

TEST(steal_works_across_the_wrap)
{
	for (uint32_t back = 0; back <= SIZE; back++) {
		uint32_t n;
		int seen = 0;

		start_at(&q, UINT32_MAX - back + 1);
		start_at(&thief, UINT32_MAX - back / 2 + 1);
		fill(0, SIZE);
		EXPECT_EQ(wf_runq_steal(&thief, &q, false, 0, &n), &gs[HALF - 1]);
		EXPECT_EQ(n, HALF);
		for (int i = 0; i < HALF - 1; i++, seen++)
			EXPECT_EQ(wf_runq_get_ring(&thief), &gs[i]);
		EXPECT(wf_runq_empty(&thief));
		for (int i = HALF; i < SIZE; i++, seen++)
			EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
		EXPECT_EQ(seen, SIZE - 1);
	}
}

TEST(overflow_moves_the_older_half_and_the_new_one)
{
	fill(0, SIZE + 1);
	EXPECT_EQ(over.size, HALF + 1);
	EXPECT_EQ(wf_runq_len(&q), HALF);
	for (int i = 0; i < HALF; i++)
		EXPECT_EQ(wf_glist_pop(&over), &gs[i]);
	EXPECT_EQ(wf_glist_pop(&over), &gs[SIZE]);
	EXPECT(wf_glist_pop(&over) == NULL);
	for (int i = HALF; i < SIZE; i++)
		EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
}

TEST(overflow_across_the_wrap)
{
	start_at(&q, UINT32_MAX - HALF / 2);
	fill(0, SIZE + 1);
	EXPECT_EQ(over.size, HALF + 1);
	for (int i = 0; i < HALF; i++)
		EXPECT_EQ(wf_glist_pop(&over), &gs[i]);
	for (int i = HALF; i < SIZE; i++)
		EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
}

TEST(runnext_kicks_the_old_one_to_the_tail)
{
	EXPECT(wf_runq_put_next(&q, &gs[0], &over));
	EXPECT(!wf_runq_empty(&q));
	EXPECT_EQ(wf_runq_len(&q), 0);
	fill(1, 1);
	EXPECT(!wf_runq_put_next(&q, &gs[2], &over));
	EXPECT_EQ(wf_runq_get_next(&q), &gs[2]);
	EXPECT(wf_runq_get_next(&q) == NULL);
	EXPECT_EQ(wf_runq_get_ring(&q), &gs[1]);
	EXPECT_EQ(wf_runq_get_ring(&q), &gs[0]);
	EXPECT(wf_runq_empty(&q));
}

TEST(runnext_kicked_out_of_a_full_ring_overflows)
{
	wf_runq_put_next(&q, &gs[SIZE], &over);
	fill(0, SIZE);
	EXPECT(!wf_runq_put_next(&q, &gs[SIZE + 1], &over));
	EXPECT_EQ(over.size, HALF + 1);
	EXPECT_EQ(over.tail, &gs[SIZE]);
	EXPECT_EQ(wf_runq_get_next(&q), &gs[SIZE + 1]);
}

TEST(steal_takes_half_rounded_up)
{
	for (int n = 2; n <= SIZE; n++) {
		unsigned char seen[SIZE] = {0};
		struct wf_g *g;
		uint32_t took;

		start_at(&q, 0);
		fill(0, n);
		g = wf_runq_steal(&thief, &q, true, 0, &took);
		EXPECT_EQ(took, n - n / 2);
		EXPECT_EQ(wf_runq_len(&q), n / 2);
		EXPECT_EQ(wf_runq_len(&thief), took - 1);
		for (; g; g = wf_runq_get_ring(&thief))
			EXPECT_EQ(seen[number(g)]++, 0);
		while ((g = wf_runq_get_ring(&q)))
			EXPECT_EQ(seen[number(g)]++, 0);
		for (int i = 0; i < n; i++)
			EXPECT_EQ(seen[i], 1);
	}
}

/* STEAL-2 */
TEST(a_few_stay_unless_asked_for)
{
	uint32_t n;

	start_at(&q, 0);
	fill(0, WF_RUNQ_FEW);
	EXPECT(wf_runq_steal(&thief, &q, false, 0, &n) == NULL);
	EXPECT_EQ(wf_runq_len(&q), WF_RUNQ_FEW);
	fill(WF_RUNQ_FEW, 1);
	EXPECT(wf_runq_steal(&thief, &q, false, 0, &n) != NULL);
	EXPECT_EQ(n, (WF_RUNQ_FEW + 1) / 2);
}

/* STEAL-2 */
TEST(lone_goroutine_stays_unless_asked_for)
{
	uint32_t n;

	start_at(&q, 0);
	fill(0, 1);
	EXPECT(wf_runq_steal(&thief, &q, false, 0, &n) == NULL);
	EXPECT_EQ(n, 0);
	EXPECT_EQ(wf_runq_steal(&thief, &q, true, 3, &n), &gs[0]);
	EXPECT_EQ(n, 1);
	wf_runq_put_next(&q, &gs[1], &over);
	EXPECT(wf_runq_steal(&thief, &q, false, 0, &n) == NULL);
	EXPECT_EQ(wf_runq_steal(&thief, &q, true, 3, &n), &gs[1]);
	EXPECT(wf_runq_empty(&q));
	EXPECT(wf_runq_steal(&thief, &q, true, 0, &n) == NULL);
	EXPECT_EQ(n, 0);
}

TEST(steal_leaves_runnext_while_the_ring_has_more)
{
	uint32_t n;

	start_at(&q, 0);
	fill(0, 4);
	wf_runq_put_next(&q, &gs[9], &over);
	EXPECT(wf_runq_steal(&thief, &q, true, 0, &n) != NULL);
	EXPECT_EQ(n, 2);
	EXPECT_EQ(wf_runq_get_next(&q), &gs[9]);
}

TEST(batch_takes_what_fits_and_leaves_the_rest)
{
	struct wf_glist l = {0};

	fill(0, HALF);
	for (int i = HALF; i < 2 * SIZE; i++)
		wf_glist_push(&l, &gs[i]);
	wf_runq_put_batch(&q, &l);
	EXPECT_EQ(l.size, SIZE - HALF + HALF);
	EXPECT_EQ(wf_runq_len(&q), SIZE);
	for (int i = 0; i < SIZE; i++)
		EXPECT_EQ(wf_runq_get_ring(&q), &gs[i]);
	EXPECT_EQ(l.head, &gs[SIZE]);
	wf_runq_put_batch(&q, &(struct wf_glist){0});
	EXPECT(wf_runq_empty(&q));
}

TEST(drain_takes_runnext_first)
{
	struct wf_glist l = {0};

	fill(0, 3);
	wf_runq_put_next(&q, &gs[7], &over);
	wf_runq_drain(&q, &l);
	EXPECT_EQ(l.size, 4);
	EXPECT_EQ(wf_glist_pop(&l), &gs[7]);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(wf_glist_pop(&l), &gs[i]);
	EXPECT(wf_runq_empty(&q));
}

/* ---- with threads */

static int stop;

static int
rounds(int n)
{
#ifdef WF_CHAOS
	n /= 20;
#endif
	return test_full() ? 4 * n : n;
}

struct watcher {
	int was_empty;
};

static void *
watch_empty(void *arg)
{
	struct watcher *w = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		if (wf_runq_empty(&q))
			w->was_empty++;
	return NULL;
}

/* RQ-5: a G is always there, in runnext, in the ring, or twice in both. */
TEST(never_empty_while_goroutines_move)
{
	struct watcher w = {0};
	pthread_t t;

	wf_runq_put(&q, &gs[0], &over);
	EXPECT_EQ(pthread_create(&t, NULL, watch_empty, &w), 0);
	for (int i = 0; i < rounds(400000); i++) {
		/* put, then get: at least one stays */
		switch (i & 3) {
		case 0:
			wf_runq_put(&q, &gs[1], &over);
			break;
		case 1:
			wf_runq_put_next(&q, &gs[2], &over);
			break;
		case 2:
			wf_runq_put_next(&q, &gs[3], &over);
			break; /* kicks gs[2] out */
		default:
			wf_runq_put(&q, &gs[4], &over);
			EXPECT(wf_runq_get_next(&q) != NULL);
			while (wf_runq_len(&q) > 1)
				EXPECT(wf_runq_get_ring(&q) != NULL);
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	EXPECT_EQ(w.was_empty, 0);
}

static struct {
	int count;
	int pad[15];
} taken[4 * SIZE];
static uint32_t produced, consumed;

static void
take(struct wf_g *g)
{
	__atomic_fetch_add(&taken[number(g)].count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&consumed, 1, __ATOMIC_RELEASE);
}

static void *
steal_all_the_time(void *arg)
{
	struct wf_runq *mine = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		uint32_t n;
		struct wf_g *g = wf_runq_steal(mine, &q, true, 0, &n);

		if (!g)
			sched_yield();
		for (; g; g = wf_runq_get_ring(mine))
			take(g);
	}
	return NULL;
}

static void
take_list(struct wf_glist *l)
{
	for (struct wf_g *g; (g = wf_glist_pop(l));)
		take(g);
}

enum { THIEVES = 2 };

/* Each G is produced again only when all of the last round were consumed exactly once. */
static void
run_against_thieves(void (*round)(uint64_t *r, int n))
{
	static struct wf_runq mine[THIEVES];
	pthread_t t[THIEVES];
	uint64_t r = test_seed();
	int times = rounds(1000);

	start_at(&q, UINT32_MAX - 100000);
	for (int i = 0; i < THIEVES; i++)
		EXPECT_EQ(pthread_create(&t[i], NULL, steal_all_the_time, &mine[i]), 0);
	for (int k = 1; k <= times; k++) {
		int n = 1 + (int)(test_rand(&r) % (2 * SIZE));

		produced = (uint32_t)n;
		__atomic_store_n(&consumed, 0, __ATOMIC_RELEASE);
		for (int i = 0; i < n; i++)
			taken[i].count = 0;
		round(&r, n);
		while (__atomic_load_n(&consumed, __ATOMIC_ACQUIRE) < produced)
			sched_yield();
		for (int i = 0; i < n; i++)
			EXPECT_EQ(taken[i].count, 1);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THIEVES; i++)
		pthread_join(t[i], NULL);
	EXPECT(wf_runq_empty(&q));
}

static void
put_and_get(uint64_t *r, int n)
{
	for (int i = 0; i < n; i++) {
		struct wf_g *g = NULL;

		if (test_rand(r) % 3)
			wf_runq_put(&q, &gs[i], &over);
		else
			wf_runq_put_next(&q, &gs[i], &over);
		take_list(&over);
		if (test_rand(r) % 2)
			g = test_rand(r) % 2 ? wf_runq_get_next(&q) : wf_runq_get_ring(&q);
		if (g)
			take(g);
	}
}

TEST(owner_and_thieves_take_each_once)
{
	run_against_thieves(put_and_get);
}

static void
put_and_drain(uint64_t *r, int n)
{
	struct wf_glist l = {0};

	for (int i = 0; i < n; i++) {
		if (test_rand(r) % 4)
			wf_runq_put(&q, &gs[i], &over);
		else
			wf_runq_put_next(&q, &gs[i], &over);
	}
	wf_runq_drain(&q, &l);
	take_list(&over);
	take_list(&l);
}

TEST(drain_against_thieves_loses_nothing)
{
	run_against_thieves(put_and_drain);
}

static void
batches(uint64_t *r, int n)
{
	struct wf_glist l = {0};

	for (int i = 0; i < n; i++)
		wf_glist_push(&l, &gs[i]);
	while (l.size > 0) {
		struct wf_g *g;

		wf_runq_put_batch(&q, &l);
		if (test_rand(r) % 2 && (g = wf_runq_get_ring(&q)))
			take(g);
	}
}

TEST(batches_against_thieves_lose_nothing)
{
	run_against_thieves(batches);
}
