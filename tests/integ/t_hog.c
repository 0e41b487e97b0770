/* SPDX-License-Identifier: MIT */
/* t_hog.c: goroutines that never give way: the others go on. fence-mode */
#include "integ/helpers.h"

static int stop, up;

static int
hog(void)
{
	add(&up, 1);
	while (!load(&stop))
		;
	return 0;
}

static int
hog_with_checkpoint(void)
{
	add(&up, 1);
	while (!load(&stop))
		weft_checkpoint();
	return 0;
}

static int
yielder(void)
{
	for (int i = 0; i < 100; i++)
		weft_yield();
	return 0;
}

static void
others_go_on(int hogs)
{
	struct weft_wg all = {0}, others = {0};

	for (int i = 0; i < hogs; i++)
		EXPECT(weft_wg_go(&all, hog) > 0);
	while (load(&up) < hogs)
		weft_yield();
	for (int i = 0; i < 10; i++)
		EXPECT(weft_wg_go(&others, yielder) > 0);
	EXPECT_EQ(weft_wg_wait(&others), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
}

struct with_hogs {
	int n;
};

static int
with_hogs(struct with_hogs *a)
{
	others_go_on(a->n);
	return 0;
}

TEST(one_proc_and_one_hog)
{
	use_procs(1);
	EXPECT_EQ(weft_run(with_hogs, 1), 0);
}

TEST(one_proc_and_five_hogs)
{
	use_procs(1);
	EXPECT_EQ(weft_run(with_hogs, 5), 0);
}

TEST(two_procs_and_six_hogs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(with_hogs, 6), 0);
}

static int
checkpoints(void)
{
	struct weft_wg all = {0}, others = {0};

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&all, hog_with_checkpoint) > 0);
	while (load(&up) < 4)
		weft_yield();
	for (int i = 0; i < 5; i++)
		EXPECT(weft_wg_go(&others, yielder) > 0);
	EXPECT_EQ(weft_wg_wait(&others), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

TEST(checkpoint_gives_way_on_one_proc)
{
	use_procs(1);
	EXPECT_EQ(weft_run(checkpoints), 0);
}

TEST(checkpoint_gives_way_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(checkpoints), 0);
}

static int
preempt_word_is_clear(void)
{
	EXPECT_EQ(checkpoints(), 0);
	expect_alone();
	for (int i = 0; i < 100; i++)
		weft_yield();
	return 0;
}

/* Outside a run it is 1. */
TEST(preempt_word_is_as_before_after_the_run)
{
	for (int i = 0; i < 3; i++) {
		store(&stop, 0);
		store(&up, 0);
		EXPECT_EQ(weft_run(preempt_word_is_clear), 0);
		EXPECT_EQ(load(&weft_preempt_word), 1);
		EXPECT_EQ(load(&weft_detour_word), 1);
	}
}

static int
leave_hogs_behind(void)
{
	for (int i = 0; i < 4; i++)
		EXPECT(weft_go(hog) > 0);
	while (load(&up) < 4)
		weft_yield();
	return 0;
}

TEST(preempt_word_is_as_before_after_hogs_were_left_behind)
{
	for (int i = 0; i < 3; i++) {
		store(&stop, 0);
		store(&up, 0);
		EXPECT_EQ(weft_run(leave_hogs_behind), 0);
		store(&stop, 1);
		EXPECT_EQ(load(&weft_preempt_word), 1);
		EXPECT_EQ(load(&weft_detour_word), 1);
	}
}

/* A pair hands a turn back and forth by readying each other, which inherits the slice. */
struct pair {
	struct weft_wg gate[2];
	int64_t steps;
};

struct ping {
	struct pair *p;
	int side;
};

static struct pair fast, slow;

static int
spin(int n)
{
	volatile int sink = 0;

	for (int i = 0; i < n; i++)
		sink += i;
	return sink;
}

static int
ping(struct ping *a)
{
	struct pair *p = a->p;

	while (!load(&stop)) {
		if (weft_wg_wait(&p->gate[a->side]))
			return 0;
		weft_wg_add(&p->gate[a->side], 1);
		__atomic_fetch_add(&p->steps, 1, __ATOMIC_RELAXED);
		if (p == &slow)
			spin(2000);
		weft_wg_done(&p->gate[!a->side]);
	}
	return 0;
}

static int
two_pairs(void)
{
	int64_t want = scaled(2000);

	for (int s = 0; s < 2; s++) {
		weft_wg_add(&fast.gate[s], 1);
		weft_wg_add(&slow.gate[s], 1);
		EXPECT(weft_go(ping, &fast, s) > 0);
		EXPECT(weft_go(ping, &slow, s) > 0);
	}
	weft_wg_done(&fast.gate[0]);
	weft_wg_done(&slow.gate[0]);
	while (load(&fast.steps) < want || load(&slow.steps) < want)
		weft_yield();
	store(&stop, 1);
	return 0;
}

TEST(pairs_that_ready_each_other_do_not_starve_others)
{
	use_procs(1);
	EXPECT_EQ(weft_run(two_pairs), 0);
}

static int
spawns_without_end(void)
{
	add(&up, 1);
	while (!load(&stop))
		if (weft_count() < 100)
			weft_go(yielder);
	return 0;
}

static int
spawning_hog(void)
{
	struct weft_wg all = {0}, others = {0};

	EXPECT(weft_wg_go(&all, spawns_without_end) > 0);
	while (load(&up) < 1)
		weft_yield();
	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&others, yielder) > 0);
	EXPECT_EQ(weft_wg_wait(&others), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

/* A call that may not switch gives the P away and goes on. */
TEST(hog_that_only_spawns_gives_way)
{
	use_procs(1);
	EXPECT_EQ(weft_run(spawning_hog), 0);
}

static int
retakes(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, hog) > 0);
	while (load(&up) < 1)
		weft_yield();
	EXPECT_EQ(weft_stats(&s), 0);
	EXPECT(s.total.retakes >= 1);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

TEST(retake_is_counted)
{
	use_procs(1);
	EXPECT_EQ(weft_run(retakes), 0);
}
