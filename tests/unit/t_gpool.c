/* SPDX-License-Identifier: MIT */
/* t_gpool.c: birth and reuse of Gs. qemu, not-tsan: it does not see the lock */
#include "test.h"

#include "core/gpool.h"

#include <pthread.h>
#include <string.h>

enum { MANY = 20000 };
static struct wf_cache c[3];
static struct wf_g *got[MANY];

static void
expect_distinct(int n)
{
	/* type-stable memory: use a field that the pool leaves alone */
	for (int i = 0; i < n; i++)
		got[i]->parent = -1;
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(got[i]->parent, -1);
		got[i]->parent = i;
	}
	for (int i = 0; i < n; i++)
		EXPECT_EQ(got[i]->parent, i);
}

TEST(gs_are_distinct_and_aligned)
{
	for (int i = 0; i < MANY; i++) {
		got[i] = wf_gpool_get(&c[i % 3]);
		EXPECT(got[i] != NULL);
		EXPECT_EQ((uintptr_t)got[i] % 64, 0);
	}
	expect_distinct(MANY);
}

static int walked;

static void
walk(struct wf_g *g, void *arg)
{
	EXPECT(g != NULL);
	(void)arg;
	walked++;
}

TEST(freed_gs_are_used_again)
{
	int first = 0;

	for (int round = 0; round < 20; round++) {
		struct wf_cache *from = &c[round % 2], *to = &c[(round + round % 3) % 2];

		for (int i = 0; i < 1000; i++)
			got[i] = wf_gpool_get(from);
		expect_distinct(1000);
		for (int i = 0; i < 1000; i++)
			wf_gpool_put(to, got[i]);
		if (round == 3) {
			wf_gpool_each(walk, NULL);
			first = walked;
		}
	}
	walked = 0;
	wf_gpool_each(walk, NULL);
	EXPECT(walked <= first + 8 * WF_MAGAZINE);
}

/* GPOOL-1 */
TEST(flush_gives_everything_to_others)
{
	int before;

	for (int i = 0; i < 500; i++)
		got[i] = wf_gpool_get(&c[0]);
	for (int i = 0; i < 500; i++)
		wf_gpool_put(&c[0], got[i]);
	wf_gpool_flush(&c[0]);
	EXPECT(c[0].gfree == NULL);
	EXPECT(c[0].gspare == NULL);
	EXPECT_EQ(c[0].gfree_count, 0);
	wf_gpool_each(walk, NULL);
	before = walked;
	for (int i = 0; i < 500; i++)
		got[i] = wf_gpool_get(&c[1]);
	expect_distinct(500);
	walked = 0;
	wf_gpool_each(walk, NULL);
	EXPECT(walked <= before + WF_MAGAZINE);
}

TEST(each_finds_every_g)
{
	for (int i = 0; i < MANY; i++)
		EXPECT((got[i] = wf_gpool_get(&c[0])) != NULL);
	wf_gpool_each(walk, NULL);
	EXPECT(walked >= MANY);
	EXPECT(walked <= MANY + 2 * WF_MAGAZINE);
}

static void *
get_and_put(void *arg)
{
	struct wf_cache *mine = arg;
	struct wf_g *own[200];

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 200; i++) {
			own[i] = wf_gpool_get(mine);
			own[i]->parent = (int64_t)(intptr_t)&own[i];
		}
		for (int i = 0; i < 200; i++) {
			EXPECT_EQ(own[i]->parent, (int64_t)(intptr_t)&own[i]);
			wf_gpool_put(mine, own[i]);
		}
		if (round % 10 == 0)
			wf_gpool_flush(mine);
	}
	return NULL;
}

TEST(threads_never_share_a_g)
{
	static struct wf_cache own[3];
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		EXPECT_EQ(pthread_create(&t[i], NULL, get_and_put, &own[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}
