/* SPDX-License-Identifier: MIT */
/*
 * t_oversleep.c: the monitor itself gets no CPU for a while: what it saw before counts for nothing, and
 * it takes no P at its first look after that.
 * procs-2-only. not-torture: there it takes whatever it can
 */
#include "integ/helpers.h"

#include "sched/sched.h"

#include <time.h>

enum { WATCHES, IS_HELD_UP, HAS_LOOKED };

/* The monitor's, but for stage and armed. */
static int stage, armed, ran;
static uint64_t before, after;
static uint32_t looked_asleep;
static int64_t steps, goal; /* of the others, before it goes on */
static bool wait_for_sleep;

static uint64_t
retakes(const struct wf_p *p)
{
	return at_load_rlx(&p->n_retakes);
}

static void
nap(long ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Called before each sleep between two looks. It is held up when it has a sample of the P that
   would soon cost it: its tick, or that its thread was seen asleep once. */
static int64_t
hold_up(int64_t pause)
{
	struct wf_p *p = wf_sched.allp[0];
	bool sampled = goal > 0 || (p->seen_tick == at_load_rlx(&p->tick) &&
				    (!wait_for_sleep || p->seen_blocked == 1));

	switch (load(&stage)) {
	case WATCHES:
		if (!load(&armed) || !sampled)
			break;
		before = retakes(p);
		store(&stage, IS_HELD_UP);
		nap(test_full() ? 3000 : 300);
		while (load(&steps) < goal)
			nap(1);
		break;
	case IS_HELD_UP: /* one look later */
		after = retakes(p);
		looked_asleep = p->seen_blocked;
		store(&stage, HAS_LOOKED);
		break;
	}
	return pause;
}

static int
other(void)
{
	store(&ran, 1);
	return 0;
}

/* With work in its queue; true if it had the P all the time until the monitor had looked. */
static bool
keeps_the_p(void (*passes_time)(void))
{
	store(&ran, 0);
	store(&stage, WATCHES);
	EXPECT(weft_go(other) > 0);
	store(&armed, 1);
	while (load(&stage) != HAS_LOOKED && !(load(&stage) == WATCHES && load(&ran)))
		passes_time();
	store(&armed, 0);
	if (load(&stage) != HAS_LOOKED)
		return false; /* it was taken before the monitor could be held up */
	while (!load(&ran))   /* it is taken for good reason by and by */
		passes_time();
	return true;
}

static void
computes(void)
{
}

static void
sleeps(void)
{
	nap(2);
}

static int
held_up(void (*passes_time)(void))
{
	int rounds = 0;

	wf_watch_hook = hold_up;
	while (rounds < 3) {
		if (keeps_the_p(passes_time)) {
			EXPECT_EQ(after, before);
			EXPECT(looked_asleep <= 1);
			rounds++;
		}
		weft_yield();
	}
	return 0;
}

static int
main_computes(void)
{
	return held_up(computes);
}

static int
main_sleeps(void)
{
	return held_up(sleeps);
}

TEST(who_computed_while_the_monitor_was_held_up_keeps_its_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_computes), 0);
}

TEST(who_was_seen_asleep_before_the_monitor_was_held_up_keeps_its_p)
{
	use_procs(1);
	wait_for_sleep = true;
	EXPECT_EQ(weft_run(main_sleeps), 0);
}

/* Who gives way needs no monitor: it is let go by them, after so many steps beside it. */
static int
steps_on(void)
{
	while (load(&stage) != HAS_LOOKED) {
		add(&steps, 1);
		weft_yield();
	}
	return 0;
}

static int
main_goes_on(void)
{
	struct weft_wg all = {0};

	wf_watch_hook = hold_up;
	store(&armed, 1);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&all, steps_on) > 0);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	EXPECT(load(&steps) >= goal);
	return 0;
}

TEST(who_gives_way_goes_on_while_the_monitor_is_held_up)
{
	goal = 100000 / TEST_SLOW;
	EXPECT_EQ(weft_run(main_goes_on), 0);
}
