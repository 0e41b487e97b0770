/* SPDX-License-Identifier: MIT */
/* t_local.c: goroutine-locals. */
#include "integ/helpers.h"

weft_local(int, number);
struct wide {
	long v[20];
};
weft_local(struct wide, wide);
weft_local(char, small);
weft_local(char[16], text);
weft_local(int (*)(void), hook);

struct own {
	int i;
};

static int
own(struct own *a)
{
	*number() = a->i;
	wide()->v[19] = a->i * 2L;
	for (int k = 0; k < 20; k++) {
		weft_yield();
		EXPECT_EQ(*number(), a->i);
		EXPECT_EQ(wide()->v[19], a->i * 2L);
		EXPECT_EQ(wide()->v[0], 0);
	}
	return 0;
}

static int
each_its_own(void)
{
	struct weft_wg wg = {0};

	EXPECT_EQ(*number(), 0);
	EXPECT_EQ(sizeof(*text()), 16);
	EXPECT_EQ((*text())[15], 0);
	EXPECT(*hook() == NULL);
	for (int i = 1; i <= 100; i++)
		EXPECT(weft_wg_go(&wg, own, i) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(*number(), 0);
	return 0;
}

/* LOCAL-1 */
TEST(each_goroutine_has_its_own)
{
	EXPECT_EQ(weft_run(each_its_own), 0);
	EXPECT_EQ(weft_run(each_its_own), 0);
}

static int
child(void)
{
	EXPECT_EQ(*number(), 5);
	EXPECT_EQ(wide()->v[3], 6);
	EXPECT_EQ(*small(), 0);
	*number() = 50;
	*small() = 'x';
	return 0;
}

static int
inherits(void)
{
	struct weft_wg wg = {0};

	*number() = 5;
	wide()->v[3] = 6;
	for (int i = 0; i < 50; i++)
		EXPECT(weft_wg_go(&wg, child) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(*number(), 5);
	EXPECT_EQ(*small(), 0);
	return 0;
}

TEST(children_get_a_copy)
{
	EXPECT_EQ(weft_run(inherits), 0);
}

static int
expect_zero(void)
{
	EXPECT_EQ(*number(), 0);
	EXPECT_EQ(wide()->v[3], 0);
	return 0;
}

static int
sets_and_ends(void)
{
	*number() = 3;
	wide()->v[3] = 3;
	return 0;
}

static int
ended_ones_leave_nothing(void)
{
	for (int i = 0; i < 200; i++) {
		struct weft_wg wg = {0};

		EXPECT(weft_wg_go(&wg, sets_and_ends) > 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT(weft_wg_go(&wg, expect_zero) > 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	return 0;
}

TEST(reused_goroutines_start_at_zero)
{
	EXPECT_EQ(weft_run(ended_ones_leave_nothing), 0);
}

static void *
thread_own(void *arg)
{
	EXPECT_EQ(*number(), 0);
	*number() = *(int *)arg;
	weft_count();
	EXPECT_EQ(*number(), *(int *)arg);
	return NULL;
}

static int
threads_have_theirs(void)
{
	int n[4] = {1, 2, 3, 4};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		t[i] = start_thread(thread_own, &n[i]);
	for (int i = 0; i < 4; i++)
		join_thread(t[i]);
	return 0;
}

TEST(plain_threads_have_their_own)
{
	EXPECT_EQ(weft_run(threads_have_theirs), 0);
	*number() = 9;
	EXPECT_EQ(weft_run(threads_have_theirs), 0);
	EXPECT_EQ(*number(), 9);
}

TEST(works_before_the_first_run_without_touching_keys_of_others)
{
	pthread_key_t key;

	EXPECT_EQ(pthread_key_create(&key, NULL), 0);
	EXPECT(pthread_getspecific(key) == NULL);
	*number() = 4;
	EXPECT(pthread_getspecific(key) == NULL);
	EXPECT_EQ(weft_run(threads_have_theirs), 0);
	EXPECT(pthread_getspecific(key) == NULL);
	EXPECT_EQ(*number(), 4);
}

static struct weft_wg never;

static int
parks_with_locals(void)
{
	*number() = 1;
	wide()->v[1] = 1;
	weft_wg_wait(&never);
	return 0;
}

static int
leaves_locals_behind(void)
{
	weft_wg_add(&never, 1);
	for (int i = 0; i < 10; i++)
		weft_go(parks_with_locals);
	for (int i = 0; i < 20; i++)
		weft_yield();
	return 0;
}

TEST(locals_of_dropped_goroutines_are_freed)
{
	for (int i = 0; i < 10; i++) {
		never = (struct weft_wg){0};
		EXPECT_EQ(weft_run(leaves_locals_behind), 0);
	}
}
