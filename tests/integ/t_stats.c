/* SPDX-License-Identifier: MIT */
/* t_stats.c: the counters, and what they say about waste. */
#include "integ/helpers.h"

static void
read_stats(struct weft_stats *s)
{
	*s = (struct weft_stats){.size = sizeof(*s)};
	EXPECT_EQ(weft_stats(s), 0);
}

static int
nothing(void)
{
	return 0;
}

struct parks {
	struct weft_wg *gate;
};

static int
parks(struct parks *a)
{
	return weft_wg_wait(a->gate);
}

static int
counters(void)
{
	struct weft_stats a, b;
	struct weft_wg all = {0}, gate = {0};

	read_stats(&a);
	EXPECT_EQ(a.procs, weft_procs());
	EXPECT_EQ(a.goroutines, 1);
	EXPECT(a.threads >= 1);
	for (int i = 0; i < 100; i++)
		EXPECT(weft_wg_go(&all, nothing) > 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	expect_alone();
	weft_wg_add(&gate, 1);
	for (int i = 0; i < 30; i++)
		EXPECT(weft_wg_go(&all, parks, &gate) > 1);
	do {
		weft_yield();
		read_stats(&b);
	} while (b.stacks_in_use < 31);
	EXPECT_EQ(b.goroutines, 31);
	EXPECT(b.total.parks > a.total.parks);
	weft_wg_done(&gate);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	expect_alone();
	read_stats(&b);
	EXPECT_EQ(b.total.spawned - a.total.spawned, 130);
	EXPECT_EQ(b.total.exited - a.total.exited, 130);
	EXPECT(b.total.readies > a.total.readies);
	EXPECT(b.total.switches - a.total.switches >= 130);
	EXPECT(b.stacks_cached >= 1);
	EXPECT_EQ(b.goroutines, 1);
	return 0;
}

TEST(counters_count)
{
	EXPECT_EQ(weft_run(counters), 0);
}

static int
per_proc(void)
{
	struct weft_proc_stats each[64];
	struct weft_stats s = {.size = sizeof(s), .per_proc = each, .per_proc_max = 64};
	struct weft_wg all = {0};
	uint64_t spawned = 0;

	EXPECT(weft_set_procs(3) > 0);
	for (int i = 0; i < 100; i++)
		EXPECT(weft_wg_go(&all, nothing) > 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	expect_alone();
	memset(each, 0xee, sizeof(each));
	EXPECT_EQ(weft_stats(&s), 0);
	for (int i = 0; i < s.procs; i++)
		spawned += each[i].spawned;
	EXPECT(spawned <= s.total.spawned);
#ifndef WF_TORTURE /* where the P may be gone at any call */
	EXPECT(spawned >= 100);
#endif
	return 0;
}

TEST(per_proc_adds_up)
{
	use_procs(3);
	EXPECT_EQ(weft_run(per_proc), 0);
}

static int64_t yields_done;

struct yields_n {
	int n;
};

static int
yields_n(struct yields_n *a)
{
	for (int i = 0; i < a->n; i++)
		weft_yield();
	__atomic_fetch_add(&yields_done, a->n, __ATOMIC_RELAXED);
	return 0;
}

struct measure {
	struct weft_stats *a, *b;
	int goroutines, each;
};

static int
measure(struct measure *m)
{
	struct weft_wg all = {0};

	read_stats(m->a);
	for (int i = 0; i < m->goroutines; i++)
		EXPECT(weft_wg_go(&all, yields_n, m->each) > 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	read_stats(m->b);
	return 0;
}

TEST(yield_on_one_proc_makes_no_futex_call)
{
	struct weft_stats a, b;
	int each = scaled(20000);

#ifdef WF_TORTURE
	SKIP("the P is taken all the time");
#endif
	use_procs(1);
	EXPECT_EQ(weft_run(measure, &a, &b, 10, each), 0);
	EXPECT(b.total.switches - a.total.switches >= 10u * (unsigned)each);
	/* the monitor may retake a P that the machine has stopped for a while */
	EXPECT(b.total.futexes - a.total.futexes <= 100);
	EXPECT(b.total.steals - a.total.steals == 0);
}

/* Two goroutines on two Ps: each stays where it is. Naive stealing would move them all the time. */
TEST(steals_do_not_ping_pong)
{
	struct weft_stats a, b;
	int each = scaled(200000);
	uint64_t total = 2ull * (unsigned)each;

#ifdef WF_TORTURE
	SKIP("everything moves");
#endif
	use_procs(2);
	EXPECT_EQ(weft_run(measure, &a, &b, 2, each), 0);
	EXPECT((b.total.steals - a.total.steals) * 100 <= total);
	EXPECT((b.total.futexes - a.total.futexes) * 100 <= total);
}

TEST(many_yielders_are_rarely_stolen)
{
	struct weft_stats a, b;
	int each = scaled(5000);
	uint64_t total = 100ull * (unsigned)each;

#ifdef WF_TORTURE
	SKIP("everything moves");
#endif
	use_procs(2);
	EXPECT_EQ(weft_run(measure, &a, &b, 100, each), 0);
	EXPECT((b.total.stolen - a.total.stolen) * 20 <= total);
}
