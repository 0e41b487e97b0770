/* SPDX-License-Identifier: MIT */
/* t_procs.c: the number of Ps, changed while everything runs. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

static int
resize_and_look(void)
{
	static const int sizes[] = {1, 2, 3, 7, 64, 65, 128, 1024, 1, 5};
	int old = weft_procs();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		EXPECT_EQ(weft_set_procs(sizes[i]), old);
		EXPECT_EQ(weft_procs(), sizes[i]);
		old = sizes[i];
	}
	EXPECT_EQ(weft_set_procs(0), -EINVAL);
	EXPECT_EQ(weft_set_procs(-1), -EINVAL);
	EXPECT_EQ(weft_set_procs(1025), -EINVAL);
	EXPECT_EQ(weft_procs(), old);
	return 0;
}

TEST(set_procs_returns_the_old_number)
{
	EXPECT_EQ(weft_run(resize_and_look), 0);
}

static int stop;

struct tree {
	struct weft_wg *wg;
	int depth;
	int *leaves;
};

static int
tree(struct tree *a)
{
	if (a->depth == 0) {
		add(a->leaves, 1);
		return 0;
	}
	weft_yield();
	EXPECT(weft_wg_go(a->wg, tree, a->wg, a->depth - 1, a->leaves) > 0);
	EXPECT(weft_wg_go(a->wg, tree, a->wg, a->depth - 1, a->leaves) > 0);
	return 0;
}

static int
resize_under_load(void)
{
	uint64_t r = test_seed();
	int rounds = scaled(100);

	for (int i = 0; i < rounds; i++) {
		struct weft_wg wg = {0};
		int leaves = 0;

		EXPECT(weft_wg_go(&wg, tree, &wg, 6, &leaves) > 0);
		for (int k = 0; k < 3; k++) {
			static const int most[] = {2, 4, 16, 200, 1024};
			int n = 1 + (int)(test_rand(&r) %
					  (uint64_t)most[test_rand(&r) % (TEST_SLOW > 1 ? 3 : 5)]);

			EXPECT(weft_set_procs(n) >= 1);
			EXPECT_EQ(weft_procs(), n);
			weft_yield();
		}
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(leaves, 64);
	}
	expect_alone();
	return 0;
}

TEST(nothing_is_lost_while_procs_changes)
{
	EXPECT_EQ(weft_run(resize_under_load), 0);
}

TEST(runs_with_1024_procs)
{
	use_procs(1024);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_run(resize_under_load), 0);
}

static int respawned;

static int
respawns(void)
{
	if (load(&stop))
		return 0;
	add(&respawned, 1);
	EXPECT(weft_go(respawns) > 0);
	return 0;
}

struct resizes {
	int n, times;
};

static int
resizes(struct resizes *a)
{
	for (int i = 0; i < a->times; i++)
		EXPECT(weft_set_procs(a->n) > 0);
	return 0;
}

static int
dumps(void)
{
	FILE *f = fopen("/dev/null", "w");

	for (int i = 0; i < scaled(300); i++)
		weft_dump(fileno(f));
	fclose(f);
	return 0;
}

/* Several stoppers, a respawning goroutine, and dumps: all of it ends. */
static int
stop_the_world_often(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_go(respawns) > 0);
	EXPECT(weft_wg_go(&wg, resizes, 3, scaled(1000)) > 0);
	EXPECT(weft_wg_go(&wg, resizes, 2, scaled(1000)) > 0);
	EXPECT(weft_wg_go(&wg, dumps) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	store(&stop, 1);
	return 0;
}

/* STW-1 */
TEST(stop_the_world_does_not_deadlock)
{
	EXPECT_EQ(weft_run(stop_the_world_often), 0);
	EXPECT(load(&respawned) > 0);
}

static int hogs_up;

static int
hog(void)
{
	add(&hogs_up, 1);
	while (!load(&stop))
		;
	return 0;
}

static int
resize_beside_hogs(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&wg, hog) > 0);
	while (load(&hogs_up) < 3)
		weft_yield();
	for (int i = 0; i < scaled(200); i++)
		EXPECT(weft_set_procs(1 + i % 4) > 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(resize_needs_no_help_from_hogs)
{
	EXPECT_EQ(weft_run(resize_beside_hogs), 0);
}

static void *
resize_from_thread(void *arg)
{
	for (int i = 0; i < scaled(200); i++)
		EXPECT(weft_set_procs(1 + (i + *(int *)arg) % 5) > 0);
	return NULL;
}

static int
resize_from_threads(void)
{
	int which[3] = {0, 1, 2};
	struct weft_wg wg = {0};
	pthread_t t[3];
	int leaves = 0;

	for (int i = 0; i < 3; i++)
		t[i] = start_thread(resize_from_thread, &which[i]);
	EXPECT(weft_wg_go(&wg, tree, &wg, 7, &leaves) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(leaves, 128);
	for (int i = 0; i < 3; i++)
		join_thread(t[i]);
	return 0;
}

TEST(plain_threads_may_resize)
{
	EXPECT_EQ(weft_run(resize_from_threads), 0);
}
