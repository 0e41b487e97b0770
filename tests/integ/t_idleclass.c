/* SPDX-License-Identifier: MIT */
/* t_idleclass.c: goroutines that run only when nobody else wants to, or when they have aged. */
#include "integ/helpers.h"

#include "sched/sched.h"

static int normal_left, idle_ran, too_early;

static int
idle_work(void)
{
	if (load(&normal_left) > 0)
		add(&too_early, 1);
	add(&idle_ran, 1);
	return 0;
}

static int
normal_work(void)
{
	for (int i = 0; i < 20; i++)
		weft_yield();
	add(&normal_left, -1);
	return 0;
}

static struct weft_wg idle_gate;

static int
idle_counted(void)
{
	idle_work();
	weft_wg_done(&idle_gate);
	return 0;
}

static uint64_t
retakes(void)
{
	struct weft_stats st = {.size = sizeof(st)};

	EXPECT_EQ(weft_stats(&st), 0);
	return st.total.retakes;
}

/* Beside a goroutine that lost its P while it ran, a P does idle. */
static int
idle_comes_last(void)
{
	uint64_t aged, before;

	do {
		struct weft_wg all = {0};

		before = retakes();
		aged = at_load_rlx(&wf_n_aged); /* rlx: a counter */
		store(&normal_left, 50);
		store(&idle_ran, 0);
		store(&too_early, 0);
		weft_wg_add(&idle_gate, 10);
		for (int i = 0; i < 10; i++)
			EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_counted) > 1);
		for (int i = 0; i < 50; i++)
			EXPECT(weft_wg_go(&all, normal_work) > 1);
		EXPECT_EQ(weft_wg_wait(&all), 0);
		EXPECT_EQ(weft_wg_wait(&idle_gate), 0);
		EXPECT_EQ(idle_ran, 10);
#ifdef WF_TORTURE
		return 0;
#endif
	} while (retakes() != before);
	/* rlx: as above. Whoever ran before the others had waited its time: PRIO-3 */
	EXPECT((uint64_t)too_early <= at_load_rlx(&wf_n_aged) - aged);
	return 0;
}

TEST(idle_work_waits_for_the_rest_on_one_proc)
{
	use_procs(1);
	EXPECT_EQ(weft_run(idle_comes_last), 0);
}

static int
idle_yields(void)
{
	for (int i = 0; i < 50; i++)
		weft_yield();
	weft_wg_done(&idle_gate);
	return 0;
}

static int
idle_runs_alone(void)
{
	int n = scaled(200);

	weft_wg_add(&idle_gate, n);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_yields) > 1);
	EXPECT_EQ(weft_wg_wait(&idle_gate), 0);
	return 0;
}

TEST(idle_work_runs_when_nothing_else_does)
{
	EXPECT_EQ(weft_run(idle_runs_alone), 0);
}

static int
idle_parks(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, normal_work) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_wg_done(&idle_gate);
	return 0;
}

static int
idle_waits(void)
{
	weft_wg_add(&idle_gate, 50);
	for (int i = 0; i < 50; i++)
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_parks) > 1);
	EXPECT_EQ(weft_wg_wait(&idle_gate), 0);
	return 0;
}

TEST(idle_goroutines_may_park)
{
	EXPECT_EQ(weft_run(idle_waits), 0);
}
