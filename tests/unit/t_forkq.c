/* SPDX-License-Identifier: MIT */
/* t_forkq.c: the deque of children, alone and against thieves. qemu */
#include "test.h"

#include "core/forkq.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { SIZE = WF_FORKQ_SIZE };

static struct wf_forkq q;
static struct wf_g gs[SIZE + 1];

static void
start_at(uint32_t index)
{
	memset(&q, 0, sizeof(q));
	wf_door_init(&q.door, os_membarrier_register() < 0);
	at_store_rlx(&q.top, index);
	at_store_rlx(&q.bottom, index);
}

TEST(owner_takes_the_newest_and_thieves_the_oldest)
{
	for (uint32_t back = 0; back <= SIZE; back++) {
		int lo = 0, hi = SIZE;

		start_at(UINT32_MAX - back + 1);
		EXPECT(wf_forkq_empty(&q));
		EXPECT(wf_forkq_peek(&q) == NULL);
		EXPECT(wf_forkq_pop(&q) == NULL);
		EXPECT(wf_forkq_steal(&q) == NULL);
		for (int i = 0; i < SIZE; i++)
			EXPECT(wf_forkq_push(&q, &gs[i]));
		EXPECT(!wf_forkq_push(&q, &gs[SIZE]));
		while (lo < hi) {
			EXPECT(!wf_forkq_empty(&q));
			EXPECT_EQ(wf_forkq_peek(&q), &gs[hi - 1]);
			if ((lo + hi) % 3)
				EXPECT_EQ(wf_forkq_pop(&q), &gs[--hi]);
			else
				EXPECT_EQ(wf_forkq_steal(&q), &gs[lo++]);
		}
		EXPECT(wf_forkq_empty(&q));
		EXPECT(wf_forkq_pop(&q) == NULL);
	}
}

static int stop;
static int taken[SIZE];
static uint32_t consumed;

static void
take(struct wf_g *g)
{
	__atomic_fetch_add(&taken[g - gs], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&consumed, 1, __ATOMIC_RELEASE);
}

static void *
steals(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		struct wf_g *g = wf_forkq_steal(&q);

		if (g)
			take(g);
		else
			sched_yield();
	}
	return NULL;
}

/* FQ-2 */
TEST(owner_and_thieves_take_each_once)
{
	pthread_t t[2];
	uint64_t r = test_seed();
	int rounds = test_full() ? 8000 : 2000;

#ifdef WF_CHAOS
	rounds /= 10;
#endif
	start_at(UINT32_MAX - 1000);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(pthread_create(&t[i], NULL, steals, NULL), 0);
	for (int k = 0; k < rounds; k++) {
		uint32_t n = 1 + (uint32_t)(test_rand(&r) % SIZE);

		__atomic_store_n(&consumed, 0, __ATOMIC_RELEASE);
		memset(taken, 0, sizeof(taken));
		for (uint32_t i = 0; i < n; i++) {
			struct wf_g *g;

			EXPECT(wf_forkq_push(&q, &gs[i]));
			if (test_rand(&r) % 2 && (g = wf_forkq_pop(&q)))
				take(g);
		}
		while (__atomic_load_n(&consumed, __ATOMIC_ACQUIRE) < n) {
			struct wf_g *g = test_rand(&r) % 4 ? NULL : wf_forkq_pop(&q);

			if (g)
				take(g);
			else
				sched_yield();
		}
		for (uint32_t i = 0; i < n; i++)
			EXPECT_EQ(taken[i], 1);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EXPECT(wf_forkq_empty(&q));
}
