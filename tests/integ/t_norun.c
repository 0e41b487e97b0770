/* SPDX-License-Identifier: MIT */
/* t_norun.c: calls while nothing runs. */
#include "integ/helpers.h"

#include <errno.h>

static int
nothing(void)
{
	return 0;
}

static void
expect_refusals(void)
{
	struct weft_wg wg = {0};
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_go(nothing), -ENOTSUP);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.name = "x"), nothing), -ENOTSUP);
	EXPECT_EQ(weft_wg_go(&wg, nothing), -ENOTSUP);
	EXPECT_EQ(wg.word_, 0);
	EXPECT_EQ(weft_wg_wait(&wg), -ENOTSUP);
	EXPECT_EQ(weft_procs(), -ENOTSUP);
	EXPECT_EQ(weft_set_procs(2), -ENOTSUP);
	EXPECT_EQ(weft_count(), -ENOTSUP);
	EXPECT_EQ(weft_stats(&s), -ENOTSUP);
	EXPECT_EQ(weft_id(), 0);
	weft_yield();
	weft_checkpoint();
	weft_checkpoint_slow();
	EXPECT(strcmp(weft_version(), WEFT_VERSION) == 0);
}

TEST(calls_before_the_first_run_say_so)
{
	expect_refusals();
}

static struct weft_wg outside;

static int
waits_for_ever(void)
{
	return weft_wg_wait(&outside);
}

static int
leaves_a_waiter(void)
{
	weft_go(waits_for_ever);
	for (int i = 0; i < 10; i++)
		weft_yield();
	return 0;
}

static int
counts_down_and_waits(void)
{
	weft_wg_done(&outside);
	return weft_wg_wait(&outside);
}

/* Counted up before, down inside; a waiter that was dropped leaves nothing behind. */
TEST(wait_group_counts_outside_a_run)
{
	weft_wg_add(&outside, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	weft_wg_done(&outside);
	EXPECT_EQ(outside.word_, 0);
	weft_wg_add(&outside, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	EXPECT_EQ(weft_run(counts_down_and_waits), 0);
	EXPECT_EQ(outside.word_, 0);
}

static void *
on_thread(void *arg)
{
	expect_refusals();
	return arg;
}

TEST(calls_after_a_run_say_so)
{
	EXPECT_EQ(weft_run(nothing), 0);
	expect_refusals();
	join_thread(start_thread(on_thread, NULL));
	EXPECT_EQ(weft_run(nothing), 0);
	expect_refusals();
}

TEST(dump_without_a_run_says_so)
{
	char text[256] = {0};
	int ends[2];

	EXPECT_EQ(pipe(ends), 0);
	weft_dump(ends[1]);
	EXPECT(read(ends[0], text, sizeof(text) - 1) > 0);
	EXPECT_HAS(text, "not running");
}

static int
bad_stats(void)
{
	struct weft_stats s = {.size = 8};

	EXPECT_EQ(weft_stats(&s), -EINVAL);
	EXPECT_EQ(weft_stats(NULL), -EINVAL);
	return 0;
}

TEST(stats_check_their_size)
{
	EXPECT_EQ(weft_run(bad_stats), 0);
}
