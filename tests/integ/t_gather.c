/* SPDX-License-Identifier: MIT */
/* t_gather.c: a P that keeps its goroutines does so only while it looks at what that is worth.
   procs-2-only not-tsan: it writes the library's own words, whose order TSan is not told */
#include "integ/helpers.h"

#include "core/gmp.h"
#include "core/self.h"
#include "sched/gather.h"
#include "sched/sched.h"

static struct wf_p *home;
static int elsewhere;

/* The caller's P. In its own code it may have none. */
static struct wf_p *
my_p(void)
{
	struct wf_p *p;

	while (!(p = wf_m_p(wf_m())))
		weft_yield();
	return p;
}

/* As after a trial that nothing can shake: each look of the holder's finds it better so. */
static void
keep(struct wf_p *p)
{
	p->keep.before_ns.v = 1;
	p->keep.before.v = 0;
	p->keep.until.v = INT64_MAX;
	p->keep.since.v = (uint64_t)weft_now();
	store(&p->keep.state.v, 2);
}

/* A millisecond of work, then the next: fewer switches than it takes until the holder looks. */
static int
computes(void)
{
	int64_t until = weft_now() + WEFT_MS;

	if (wf_m_p(wf_m()) != home)
		store(&elsewhere, 1);
	while (weft_now() < until)
		;
	if (!load(&elsewhere))
		EXPECT(weft_go(computes) > 1);
	return 0;
}

/* Until the monitor looks so rarely that it sees every P move. */
static void
be_dull(void)
{
	int64_t until = weft_now() + 100 * WEFT_MS;

	while (weft_now() < until)
		weft_yield();
}

static int
main_computes(void)
{
	be_dull();
	home = my_p();
	keep(home);
	for (int i = 0; i < 8; i++)
		EXPECT(weft_go(computes) > 1);
	while (!load(&elsewhere)) /* the limit is the test's */
		weft_yield();
	while (weft_count() > 1)
		weft_yield();
	return 0;
}

/* GATH-1 */
TEST(who_computes_keeps_nothing_for_long)
{
	use_procs(2);
	EXPECT_EQ(weft_run(main_computes), 0);
}

static int ended;

static int
ends(void)
{
	add(&ended, 1);
	return 0;
}

/* The P that kept its work all the while, or NULL. */
static struct wf_p *
start_many(int n)
{
	struct wf_p *p = my_p();

	keep(p);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go(ends) > 1);
	return load(&p->keep.state.v) && wf_m_p(wf_m()) == p ? p : NULL;
}

enum { FRESH = WF_RUNQ_SIZE + WF_FORKQ_SIZE / 2 }; /* what the ring and the fork queue hold */

static int
main_starts_many(void)
{
	/* until it is seen: the monitor may end it at any time, and a thief may have been at it before */
	for (bool seen = false; !seen;) {
		const struct wf_p *p;

		store(&ended, 0);
		p = start_many(FRESH);
		if (p) {
			seen = wf_forkq_len(&p->forkq) > 0;
			EXPECT_EQ(wf_globq_size(&wf_globq), 0);
		}
		while (weft_count() > 1)
			weft_yield();
		EXPECT_EQ(load(&ended), FRESH);
	}
	return 0;
}

/* GATH-1 */
TEST(what_has_not_begun_stays_where_it_is_kept)
{
	use_procs(2);
	EXPECT_EQ(weft_run(main_starts_many), 0);
}

struct passes {
	weft_chan(int) from, to;
};

static int
passes(struct passes *a)
{
	int v;

	while (weft_recv(a->from, &v) > 0)
		weft_send(a->to, v);
	return 0;
}

/* Two that take turns in runnext, for ever if need be; keeping is begun again whenever it has ended. */
static int
main_takes_turns(void)
{
	enum { TURNS = 2000000 };
	weft_chan(int) there = weft_make(int, 0), back = weft_make(int, 0);
	int v;

	EXPECT(weft_go(passes, there, back) > 1);
	store(&ended, 0);
	start_many(FRESH);
	for (int i = 0; i < TURNS && load(&ended) < FRESH; i++) {
		EXPECT_EQ(weft_send(there, i), 0);
		EXPECT_EQ(weft_recv(back, &v), 1);
		if (i % 1024 == 0)
			keep(my_p());
	}
	EXPECT_EQ(load(&ended), FRESH);
	weft_close(there);
	while (weft_count() > 1)
		weft_yield();
	weft_free(there);
	weft_free(back);
	return 0;
}

TEST(those_who_take_turns_do_not_hide_what_has_not_begun)
{
	use_procs(2);
	EXPECT_EQ(weft_run(main_takes_turns), 0);
}

/* As a spinner at the other P does that has seen work and could not take it; uses of a channel
   meanwhile. Is what is queued here now kept? */
static bool
is_kept_after_misses(int uses)
{
	weft_chan(int) ch = weft_make(int, 1);
	struct wf_p *p = my_p(), *other = wf_sched.allp[p->id == 0];
	bool kept;
	int v;

	store(&p->keep.state.v, 0);
	p->keep.until.v = 0;
	EXPECT(weft_go(ends) > 1);
	wf_gather_missed(other, true, false);
	for (int i = 0; i < uses; i++) {
		EXPECT_EQ(weft_send(ch, i), 0);
		EXPECT_EQ(weft_recv(ch, &v), 1);
	}
	wf_gather_missed(other, false, true);
	kept = load(&p->keep.state.v) != 0;
	weft_free(ch);
	while (weft_count() > 1)
		weft_yield();
	return kept;
}

static int
main_is_looked_at(void)
{
	EXPECT(!is_kept_after_misses(0));   /* there is nothing to measure it by */
	while (!is_kept_after_misses(1000)) /* the other may have been faster, and taken it */
		;
	return 0;
}

TEST(what_nobody_can_take_is_left_alone)
{
#ifdef WF_TORTURE
	SKIP("the P is taken all the time");
#endif
	use_procs(2);
	EXPECT_EQ(weft_run(main_is_looked_at), 0);
}
