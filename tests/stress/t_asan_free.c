/* SPDX-License-Identifier: MIT */
/* t_asan_free.c: a wait group freed at the first moment the API allows. */
#include "integ/helpers.h"

static int
nothing(void)
{
	return 0;
}

struct done {
	struct weft_wg *wg;
};

static int
done(struct done *a)
{
	weft_wg_done(a->wg);
	return 0;
}

static struct weft_wg *
fresh(void)
{
	struct weft_wg *wg = malloc(sizeof(*wg));

	EXPECT(wg != NULL);
	*wg = (struct weft_wg){0};
	return wg;
}

static void
spoil(struct weft_wg *wg)
{
	memset(wg, 0x7f, sizeof(*wg)); /* a late access finds nonsense even without a sanitizer */
	free(wg);
}

struct waits {
	struct weft_wg *wg, *all;
	int *left;
};

static int
waits(struct waits *a)
{
	EXPECT_EQ(weft_wg_wait(a->wg), 0);
	if (add(a->left, -1) == 0)
		spoil(a->wg);
	return 0;
}

static int
frees(void)
{
	int times = test_full() ? 1000000 / TEST_SLOW : 100000 / TEST_SLOW;

	for (int i = 0; i < times; i++) {
		struct weft_wg *wg = fresh();

		if (i % 2) {
			EXPECT(weft_wg_go(wg, nothing) > 1);
		} else {
			weft_wg_add(wg, 1);
			EXPECT(weft_go(done, wg) > 1);
		}
		if (i % 3 == 0)
			weft_yield();
		EXPECT_EQ(weft_wg_wait(wg), 0);
		spoil(wg);
	}
	return 0;
}

TEST(waiter_frees_the_group)
{
	use_procs(2);
	EXPECT_EQ(weft_run(frees), 0);
}

static int
several(void)
{
	int times = test_full() ? 200000 / TEST_SLOW : 10000 / TEST_SLOW;
	struct weft_wg all = {0};

	for (int i = 0; i < times; i++) {
		struct weft_wg *wg = fresh();
		int left = 2;

		weft_wg_add(wg, 1);
		EXPECT(weft_wg_go(&all, waits, wg, &all, &left) > 1);
		EXPECT(weft_wg_go(&all, done, wg) > 1);
		EXPECT_EQ(weft_wg_wait(wg), 0);
		if (add(&left, -1) == 0)
			spoil(wg);
		EXPECT_EQ(weft_wg_wait(&all), 0);
	}
	return 0;
}

TEST(last_waiter_frees_the_group)
{
	use_procs(2);
	EXPECT_EQ(weft_run(several), 0);
}

static void *
thread_done(void *arg)
{
	weft_wg_done(arg);
	return NULL;
}

static int
with_threads(void)
{
	for (int i = 0; i < scaled(2000); i++) {
		struct weft_wg *wg = fresh();
		pthread_t t;

		weft_wg_add(wg, 1);
		t = start_thread(thread_done, wg);
		EXPECT_EQ(weft_wg_wait(wg), 0);
		spoil(wg);
		join_thread(t);
	}
	return 0;
}

TEST(group_counted_down_by_a_thread_is_freed)
{
	use_procs(2);
	EXPECT_EQ(weft_run(with_threads), 0);
}
