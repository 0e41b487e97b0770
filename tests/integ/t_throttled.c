/* SPDX-License-Identifier: MIT */
/*
 * t_throttled.c: hogs in a cgroup that may use half a CPU: all threads, the monitor's too, stand still
 * again and again. Others go on, and nobody is taken to be asleep for it.
 * procs-2-only. not-torture: there Ps are taken without a reason
 */
#include "integ/cgroups.h"

#include "sched/sched.h"

#include <time.h>

enum { HOGS = 3, STEPPERS = 4, THROTTLED = 6, SLICE_NS = 10000000 };

static struct test_cgroup half;
static int stop, up;
static int64_t steps[STEPPERS];
static int asleep; /* Ps taken from who was said to sleep; goroutine 1 may, when it reads a file */

static void
retaken(struct wf_m *m)
{
	const struct wf_g *g = m->g;

	if (at_load_acq(&m->lease) == WF_ASLEEP && g && g->id != 1)
		add(&asleep, 1);
}

static int
hog(void)
{
	add(&up, 1);
	while (!load(&stop))
		;
	return 0;
}

/* Each step is short, but long enough to be looked at. */
struct stepper {
	int i;
};

static int
stepper(struct stepper *a)
{
	while (!load(&stop)) {
		for (int n = 0; n < 200000 && !load(&stop); n++)
			;
		add(&steps[a->i], 1);
		weft_yield();
	}
	return 0;
}

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long
throttled(void)
{
	return cgroup_number(half.path, "cpu.stat", "nr_throttled");
}

static int
beside_hogs(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	struct weft_wg all = {0};
	int64_t began = now_ns(), slices, least = 0;
	long from;

	wf_retaken_hook = retaken;
	for (int i = 0; i < STEPPERS; i++)
		EXPECT(weft_wg_go(&all, stepper, i) > 0);
	for (int i = 0; i < HOGS; i++)
		EXPECT(weft_wg_go(&all, hog) > 0);
	while (load(&up) < HOGS)
		weft_yield();
	from = throttled();
	while (throttled() < from + THROTTLED || least < 100 / TEST_SLOW) {
		least = INT64_MAX;
		for (int i = 0; i < STEPPERS; i++)
			least = load(&steps[i]) < least ? load(&steps[i]) : least;
		weft_yield();
	}
	EXPECT_EQ(weft_stats(&s), 0);
	/* Who computes, and who is kept from its CPU, may lose the P once in a slice. */
	slices = (now_ns() - began) / SLICE_NS + 1;
	EXPECT(s.total.retakes > 0);
	EXPECT((int64_t)s.total.retakes <= s.procs * slices);
	EXPECT(load(&asleep) <= HOGS + STEPPERS); /* a page fault each */
	store(&stop, 1);
	return weft_wg_wait(&all);
}

static void
in_half_a_cpu(void)
{
	bool set = half.version == 1 ? cgroup_put(half.path, "cpu.cfs_quota_us", "50000")
				     : cgroup_put(half.path, "cpu.max", "50000 100000");

	EXPECT(set);
	EXPECT(cgroup_put_self(half.path));
	EXPECT_EQ(weft_run(beside_hogs), 0);
	_exit(0);
}

TEST(hogs_under_a_quota_neither_stop_the_others_nor_storm)
{
	static char out[65536];
	int status;

	half = cgroup_make("cpu", "cpu.cfs_quota_us");
	if (!half.version)
		half = cgroup_make("cpu", "cpu.max");
	if (!half.version)
		SKIP("no cgroup with a CPU quota may be made here");
	status = test_child(in_half_a_cpu, out, sizeof(out));
	cgroup_remove(half.path);
	if (status != 0)
		test_fail(__FILE__, __LINE__, "status %x\n%s", status, out);
}
