/* SPDX-License-Identifier: MIT */
/* t_globq.c: the queues that every P can reach. qemu, not-tsan: it does not see the lock */
#include "test.h"

#include "core/globq.h"

#include <pthread.h>
#include <sched.h>

enum { N = 1000 };
static struct wf_g gs[N];
static struct wf_globq q = {.lock = WF_LOCK_INIT(WF_RANK_GLOBQ)};

/* GLOBQ-1, GLOBQ-2 */
TEST(first_in_first_out)
{
	EXPECT(wf_globq_get(&q) == NULL);
	for (int i = 0; i < N; i++) {
		wf_globq_put(&q, &gs[i]);
		EXPECT_EQ(wf_globq_size(&q), i + 1);
	}
	for (int i = 0; i < N; i++)
		EXPECT_EQ(wf_globq_get(&q), &gs[i]);
	EXPECT_EQ(wf_globq_size(&q), 0);
	EXPECT(wf_globq_get(&q) == NULL);
}

TEST(a_share_is_fair_and_bounded)
{
	static const struct {
		uint32_t size, procs, max, want;
	} c[] = {{0, 4, 128, 0}, {1, 4, 128, 1}, {8, 4, 128, 3},  {8, 1, 128, 8},
		 {8, 1, 4, 4},   {3, 4, 128, 1}, {1000, 2, 7, 7}, {10, 1, UINT32_MAX, 10}};

	for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); k++) {
		struct wf_glist l = {0}, rest = {0};

		for (uint32_t i = 0; i < c[k].size; i++)
			wf_globq_put(&q, &gs[i]);
		wf_globq_get_batch(&q, c[k].procs, c[k].max, &l);
		EXPECT_EQ(l.size, c[k].want);
		EXPECT_EQ(wf_globq_size(&q), c[k].size - c[k].want);
		for (uint32_t i = 0; i < c[k].want; i++)
			EXPECT_EQ(wf_glist_pop(&l), &gs[i]);
		wf_globq_get_batch(&q, 1, UINT32_MAX, &rest);
		EXPECT_EQ(wf_globq_size(&q), 0);
	}
}

TEST(batches_go_to_either_end)
{
	struct wf_glist head = {0}, tail = {0};

	wf_globq_put(&q, &gs[5]);
	wf_glist_push(&tail, &gs[6]);
	wf_glist_push(&tail, &gs[7]);
	wf_globq_put_batch(&q, &tail);
	EXPECT_EQ(tail.size, 0);
	wf_glist_push(&head, &gs[3]);
	wf_glist_push(&head, &gs[4]);
	wf_globq_put_head(&q, &head);
	EXPECT_EQ(head.size, 0);
	EXPECT_EQ(wf_globq_size(&q), 5);
	for (int i = 3; i < 8; i++)
		EXPECT_EQ(wf_globq_get(&q), &gs[i]);
}

static int taken[N], total;

static void *
consume(void *arg)
{
	uint64_t r = *(uint64_t *)arg;

	while (__atomic_load_n(&total, __ATOMIC_ACQUIRE) < N) {
		struct wf_glist l = {0};
		struct wf_g *g = NULL;

		if (test_rand(&r) % 2)
			g = wf_globq_get(&q);
		else
			wf_globq_get_batch(&q, 3, 5, &l);
		for (; g || (g = wf_glist_pop(&l)); g = NULL) {
			__atomic_fetch_add(&taken[g - gs], 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&total, 1, __ATOMIC_RELEASE);
		}
		sched_yield();
	}
	return NULL;
}

TEST(threads_take_each_once)
{
	uint64_t seeds[4];
	pthread_t t[4];

	for (int i = 0; i < 4; i++) {
		seeds[i] = test_seed() + (uint64_t)i;
		EXPECT_EQ(pthread_create(&t[i], NULL, consume, &seeds[i]), 0);
	}
	for (int i = 0; i < N;) {
		struct wf_glist l = {0};

		if (i % 3 == 0) {
			wf_globq_put(&q, &gs[i++]);
			continue;
		}
		for (int k = 0; k < 5 && i < N; k++)
			wf_glist_push(&l, &gs[i++]);
		if (i % 2)
			wf_globq_put_batch(&q, &l);
		else
			wf_globq_put_head(&q, &l);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < N; i++)
		EXPECT_EQ(taken[i], 1);
}

/* Who has begun does not wait for all who have not, nor they for it. */
TEST(those_that_have_begun_take_turns_with_those_that_have_not)
{
	struct wf_glist l = {0};

	for (int i = 0; i < 6; i++) {
		gs[i].stack = i < 4 ? NULL : &gs[i];
		wf_globq_put(&wf_globq, &gs[i]);
	}
	EXPECT_EQ(wf_globq_size(&wf_globq), 6);
	EXPECT_EQ(wf_globq_get_batch(&wf_globq, 1, 4, &l), 2); /* have not */
	for (int begun = 0, fresh = 0; l.size > 0;) {
		struct wf_g *g = wf_glist_pop(&l);

		EXPECT_EQ(g, g->stack ? &gs[4 + begun++] : &gs[fresh++]);
		EXPECT(l.size > 0 || (begun == 2 && fresh == 2));
	}
	EXPECT_EQ(wf_globq_get(&wf_globq), &gs[2]);
	EXPECT_EQ(wf_globq_get(&wf_globq), &gs[3]);
	EXPECT(wf_globq_get(&wf_globq) == NULL);
	gs[4].stack = gs[5].stack = NULL;
}
