/* SPDX-License-Identifier: MIT */
/* t_claim.c: of several wakers one wins. qemu */
#include "test.h"

#include "core/gclaim.h"

#include <pthread.h>
#include <sched.h>

static struct wf_g g;

static uint32_t
opened(struct wf_g *who)
{
	uint32_t n = wf_claim_next(who, false);

	wf_claim_open(who, n);
	return n;
}

/* CLAIM-2, GST-2, PARK-3 */
TEST(each_wait_is_claimed_once)
{
	for (int i = 0; i < 100; i++) {
		uint32_t n = opened(&g);

		EXPECT(wf_claim(&g, n));
		EXPECT(!wf_claim(&g, n));
	}
}

TEST(late_waker_of_an_earlier_wait_fails)
{
	uint32_t old = opened(&g), now;

	EXPECT(wf_claim(&g, old));
	now = opened(&g);
	EXPECT(now != old);
	EXPECT(!wf_claim(&g, old));
	EXPECT(wf_claim(&g, now));
}

TEST(numbers_wrap)
{
	uint32_t n;

	at_store_rlx(&g.claim, UINT32_MAX - 2);
	for (int i = 0; i < 5; i++) {
		n = opened(&g);
		EXPECT(wf_claim(&g, n));
		EXPECT(!wf_claim(&g, n));
	}
}

enum { WAKERS = 3 };
static uint32_t number, turn, wins, asked;

static void *
wakes(void *arg)
{
	uint32_t seen = 0;

	(void)arg;
	for (;;) {
		uint32_t t = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);

		if (t == UINT32_MAX)
			return NULL;
		if (t == seen) {
			sched_yield();
			continue;
		}
		seen = t;
		if (wf_claim(&g, __atomic_load_n(&number, __ATOMIC_ACQUIRE)))
			__atomic_fetch_add(&wins, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&asked, 1, __ATOMIC_RELEASE);
	}
}

/* CLAIM-1 */
TEST(one_of_three_threads_wins_each_time)
{
	pthread_t t[WAKERS];
	uint32_t waits = test_full() ? 20000 : 2000;

	for (int i = 0; i < WAKERS; i++)
		EXPECT_EQ(pthread_create(&t[i], NULL, wakes, NULL), 0);
	for (uint32_t i = 1; i <= waits; i++) {
		__atomic_store_n(&number, opened(&g), __ATOMIC_RELEASE);
		__atomic_store_n(&turn, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) < i * WAKERS)
			sched_yield();
		EXPECT_EQ(wins, i);
	}
	__atomic_store_n(&turn, UINT32_MAX, __ATOMIC_RELEASE);
	for (int i = 0; i < WAKERS; i++)
		pthread_join(t[i], NULL);
}
