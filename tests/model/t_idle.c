/* SPDX-License-Identifier: MIT */
/*
 * t_idle.c: no work is forgotten: the real loop.c, idle.c, steal.c, globq.c, proc.c and the
 * submitting half of park.c; Ms start and sleep as in thread.c, made short.
 *
 * Submitters, with a P or without one, race with Ms that find nothing and go to sleep. At the
 * end everybody sleeps: every G must have run exactly once, and nothing may be queued (IDLE-1).
 * A submitter with a P never looks at its own queue again, as if it computed for ever, and some
 * Gs never return: so somebody else must have been woken for what is left.
 * sources: src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/prio.c src/sched/proc.c src/sched/park.c src/sched/save.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "rig.h"

#include "arch/ctx.h"
#include "core/stack.h"
#include "sched/gather.h"
#include "sched/inplace.h"

static struct {
	unsigned ran[RIG_GS];
	unsigned place[RIG_GS], turns; /* the order in which they ran */
	bool hog[RIG_GS];              /* never returns */
	unsigned made;                 /* Gs */
} s;

static char stacks[RIG_GS][WF_STACK_MIN] WF_ALIGNED(64);

/* ---- what the linked files call; what no scenario comes to stays undefined */

bool
wf_stop_take(struct wf_p *p)
{
	(void)p;
	return false;
}

void
wf_monitor_hurry(void)
{
}

/* ---- goroutines: they are counted, and return to g0 or compute for ever */

static int
number(const struct wf_g *g)
{
	return (int)(g - rig.g);
}

void *
wf_stack_take_slow(struct wf_p *p, int class)
{
	(void)class;
	return stacks[number(((struct wf_m *)p->m.v)->g)];
}

void
wf_g_main(void *arg)
{
	struct wf_m *m = arg;
	struct wf_g *g = m->g;

	sim_note("g%d runs", number(g));
	SIM_CHECK(s.ran[number(g)]++ == 0);
	s.place[number(g)] = s.turns++;
	sim_plain_write(g);
	if (s.hog[number(g)])
		sim_block(g);
	m->g = NULL;
	wf_ctx_switch(&g->sp, m->g0_sp, m);
}

static struct wf_g *
make(bool hog)
{
	struct wf_g *g = &rig.g[s.made];

	s.hog[s.made++] = hog;
	sim_plain_write(g);
	at_store_rel(&g->status, WF_RUNNABLE);
	return g;
}

static struct wf_g *
make_of(enum wf_gflag class, bool hog)
{
	struct wf_g *g = make(hog);

	g->flags = (uint8_t) class;
	return g;
}

/* ---- the rule */

/* The monitor is not here, but what is left to it is allowed. */
static bool
lone_local(void)
{
	for (uint32_t i = 0; i < wf_sched.procs.v; i++)
		if (rig.p[i].lone_local.v && rig.p[i].runq.next.v)
			return true;
	return false;
}

static bool
on_offer(void)
{
	for (int i = 0; i < RIG_MS; i++)
		if ((rig.m[i].lease.v & ((1u << WF_LEASE_BITS) - 1)) == WF_OFFERED)
			return true;
	return false;
}

static void
check_end(void)
{
	SIM_CHECK(wf_sched.nmspinning.v == 0);          /* IDLE-3 */
	SIM_CHECK(wf_sched.due.v == wf_urgentq.size.v); /* PRIO-1 */
	SIM_CHECK(wf_sched.npidle.v == (uint32_t)__builtin_popcountll(wf_sched.idle_mask[0].v));
	for (unsigned i = 0; i < s.made; i++)
		if (s.ran[i] == 0 && wf_sched.idle_mask[0].v != 0 && !lone_local()) /* IDLE-1 */
			sim_fail("g%u was not run, everybody sleeps, idle Ps: 0x%llx", i,
				 (unsigned long long)wf_sched.idle_mask[0].v);
	for (unsigned i = 0; i < s.made; i++)
		if (s.ran[i] == 0 && on_offer()) /* LEASE-7 */
			sim_fail("g%u was not run, and a P is on offer", i);
}

static void
reset(uint32_t procs)
{
	rig_reset(procs);
	memset(&s, 0, sizeof(s));
	wf_steal_order_init(procs);
	for (uint32_t i = 0; i < procs; i++)
		rig.p[i].fair = 4; /* the fairness tick is not the subject */
}

/* ---- an M submits to its own queue and computes on; the other drops its P, or runs a G first */

static void
submit_local(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, wf_m_p(m), make(false), false);
}

static void
submit_local_two(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, wf_m_p(m), make(true), false);
	wf_submit(m, wf_m_p(m), make(true), false);
}

/* What comes out of the ring gives way at once. */
static void
submit_and_yield(struct wf_m *m, int n)
{
	struct wf_p *p = wf_m_p(m);

	wf_m_set(m);
	for (int i = 0; i < n; i++)
		wf_submit(m, p, make(true), false);
	at_store_rlx(&p->lone_local, 1); /* rlx: a heuristic, and no lone one is here */
	for (int i = 0; i < n; i++) {
		struct wf_g *g = wf_runq_get_ring(&p->runq);

		if (g)
			wf_requeue(m, p, g);
	}
}

static void
yield_alone(void *arg)
{
	submit_and_yield(arg, 1);
}

/* IDLE-5 */
static void
yield_in_turn(void *arg)
{
	submit_and_yield(arg, 3);
}

static void
fork_children(struct wf_m *m, int n)
{
	wf_m_set(m);
	for (int i = 0; i < n; i++) {
		enum wf_put put = wf_put_fork(wf_m_p(m), make(true));

		SIM_CHECK(put != WF_PUT_FULL);
		if (put == WF_PUT_TELL)
			wf_submitted(m);
	}
}

static void
fork_one_child(void *arg)
{
	fork_children(arg, 1);
}

/* IDLE-5 */
static void
fork_three(void *arg)
{
	fork_children(arg, 3);
}

/* A thread without a P. */
static void
submit_global(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, NULL, make(true), false);
}

static void
setup_one_loop(void)
{
	reset(2);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_hold(&rig.m[1], &rig.p[1]);
	rig.spare[rig.spares++] = &rig.m[2];
}

SCENARIO(local_submit_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{submit_local, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE), SIM_MUTANT(MUT_IDLE_PARK_NO_FENCE),
		SIM_MUTANT(MUT_IDLE_NO_RECHECK), SIM_MUTANT(MUT_IDLE_NO_NEED_SPINNING)},
    .blocked_ok = true,
};

SCENARIO(local_submit_one_drops_arm) = {
    .setup = setup_one_loop,
    .threads = {{submit_local, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE), SIM_MUTANT(MUT_IDLE_PARK_NO_FENCE),
		SIM_MUTANT(MUT_IDLE_NO_RECHECK), SIM_MUTANT(MUT_IDLE_NO_NEED_SPINNING)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

SCENARIO(yield_alone_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{yield_alone, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_BESIDE_NOBODY), SIM_MUTANT(MUT_IDLE_NO_RECHECK)},
    .blocked_ok = true,
};

SCENARIO(yield_in_turn_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{yield_in_turn, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_NO_RECHECK)},
    .blocked_ok = true,
};

SCENARIO(yield_alone_one_drops_arm) = {
    .setup = setup_one_loop,
    .threads = {{yield_alone, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_BESIDE_NOBODY), SIM_MUTANT(MUT_IDLE_NO_RECHECK)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

SCENARIO(fork_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{fork_one_child, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_BESIDE_NOBODY), SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE)},
    .blocked_ok = true,
};

SCENARIO(fork_three_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{fork_three, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_BESIDE_NOBODY)},
    .blocked_ok = true,
};

/* ---- two threads without a P submit Gs that never return, two Ms look for work */

static void
setup_two_loops(void)
{
	reset(2);
	rig_hold(&rig.m[1], &rig.p[0]);
	rig_hold(&rig.m[2], &rig.p[1]);
	rig.spare[rig.spares++] = &rig.m[3];
	rig.spare[rig.spares++] = &rig.m[4];
}

/* IDLE-2 */
SCENARIO(plain_submit_two_drop) = {
    .setup = setup_two_loops,
    .threads = {{submit_global, &rig.m[0], false},
		{rig_m_main, &rig.m[1], false},
		{rig_m_main, &rig.m[2], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_NO_RECHECK)},
    .blocked_ok = true,
};

/* ---- the same, all Ps idle: the Ms must be started */

static void
setup_all_idle(void)
{
	reset(2);
	rig_idle(&rig.p[0]);
	rig_idle(&rig.p[1]);
	for (int i = 3; i < RIG_MS; i++)
		rig.spare[rig.spares++] = &rig.m[i];
}

SCENARIO(two_plain_submitters) = {
    .setup = setup_all_idle,
    .threads = {{submit_global, &rig.m[0], false}, {submit_global, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_LAST_NO_WAKE)},
    .blocked_ok = true,
};

/* ---- two Gs in one queue, each needs a P of its own: the last spinner wakes the next one */

static void
setup_three_ps(void)
{
	reset(3);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_idle(&rig.p[1]);
	rig_idle(&rig.p[2]);
	for (int i = 1; i < RIG_MS; i++)
		rig.spare[rig.spares++] = &rig.m[i];
}

/* A share of the global queue is on its way to a ring, whose P then computes, while another looks. */
static void
setup_batch(void)
{
	setup_two_loops();
	wf_globq_put(&wf_globq, make(true));
	wf_globq_put(&wf_globq, make(false));
	wf_globq_put(&wf_globq, make(false));
}

SCENARIO(batch_on_its_way) = {
    .setup = setup_batch,
    .threads = {{rig_m_main, &rig.m[1], false}, {rig_m_main, &rig.m[2], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_BATCH_MUTE)},
    .blocked_ok = true,
};

/* Two idle Ps, woken by those who take turns at the third. */
SCENARIO(yield_in_turn_wakes_two) = {
    .setup = setup_three_ps,
    .threads = {{yield_in_turn, &rig.m[0], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_LAST_NO_WAKE)},
    .blocked_ok = true,
};

SCENARIO(fork_three_wakes_two) = {
    .setup = setup_three_ps,
    .threads = {{fork_three, &rig.m[0], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_LAST_NO_WAKE)},
    .blocked_ok = true,
};

/* ---- a P that keeps running its lone Gs: the others may sleep beside it, but nobody forgets the
   rest of its queue */

static void
submit_next_then_ring(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, wf_m_p(m), make(false), true);
	wf_submit(m, wf_m_p(m), make(false), false);
}

static void
setup_keeps_lone_ones(void)
{
	setup_one_loop();
	rig.p[0].lone_local.v = 1;
	rig.spare[rig.spares++] = &rig.m[3];
}

static void
check_ring(void)
{
	SIM_CHECK(wf_sched.nmspinning.v == 0);
	if (s.ran[1] == 0 && wf_sched.idle_mask[0].v != 0)
		sim_fail("g1 was not run, and a P idles");
}

SCENARIO(lone_one_and_another) = {
    .setup = setup_keeps_lone_ones,
    .threads = {{submit_next_then_ring, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_ring,
    .mutants = {SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE), SIM_MUTANT(MUT_IDLE_NO_RECHECK)},
    .blocked_ok = true,
};

static void
blocks(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_leave_blocking(m);
}

/* ---- a P lays its goroutines down for another, which runs out of work at the same time */

static void
setup_apart(void)
{
	setup_one_loop();
	rig.spare[rig.spares++] = &rig.m[3];
	rig.p[1].fair = 0;
	rig.p[1].bounces = 1;
	rig.p[1].apart =
	    (struct wf_apart){.home = &rig.p[0], .settled = true, .since = os_now_ns() - 8};
}

static void
queue_one(struct wf_p *p)
{
	struct wf_glist over = {0};

	wf_runq_put(&p->runq, make(false), &over);
}

static void
setup_lays_down(void)
{
	setup_apart();
	queue_one(&rig.p[1]);
}

/* Home has run out of work and, as others spin, may not: it looks once and drops its P. */
static void
drops_unspun(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	if (wf_globq_size(&wf_globq) > 0 || !wf_idle_drop(m))
		rig_m_main(m);
}

/* GATH-2 */
SCENARIO(lays_down_home_drops) = {
    .setup = setup_lays_down,
    .threads = {{drops_unspun, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_GATHER_SILENT)},
    .blocked_ok = true,
};

static void
setup_spinner_gathers(void)
{
	setup_apart();
	rig.p[1].fair = 4;
	rig.m[1].spinning = true;
	wf_sched.nmspinning.v = 1;
}

/* It counted as one who looks: who submits meanwhile wakes nobody else. */
SCENARIO(spinner_gathers) = {
    .setup = setup_spinner_gathers,
    .threads = {{submit_global, &rig.m[4], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_GATHER_BLIND)},
    .blocked_ok = true,
};

/* ---- who keeps its work submits more, and its time is over: somebody is told. GATH-1 */

static void
submit_and_tick(void *arg)
{
	struct wf_m *m = arg;
	struct wf_p *p = wf_m_p(m);

	wf_m_set(m);
	wf_submit(m, p, make(false), false);
	wf_gather_tick(m, p);
}

static void
setup_keeps(void)
{
	setup_one_loop();
	rig.spare[rig.spares++] = &rig.m[3];
	rig.p[0].keep.state.v = 1;
	rig.p[0].keep.since.v = (uint64_t)(os_now_ns() - 8);
	rig.p[0].keep.before.v = 1000;
	rig.p[0].keep.before_ns.v = 1;
}

SCENARIO(keeps_and_parts) = {
    .setup = setup_keeps,
    .threads = {{submit_and_tick, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE), SIM_MUTANT(MUT_GATHER_PARTS_MUTE)},
    .blocked_ok = true,
};

/* ---- who keeps its work has more than its ring holds: the rest is for everybody */

static void
submit_until_over(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	for (int i = 0; i < WF_RUNQ_SIZE + WF_FORKQ_SIZE + 1; i++) /* its fork queue is full too */
		wf_submit(m, wf_m_p(m), make(false), false);
}

static void
submit_fresh_until_over(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	for (int i = 0; i < WF_RUNQ_SIZE + 1; i++)
		wf_submit(m, wf_m_p(m), make(false), false);
	SIM_CHECK(wf_globq_size(&wf_globq) == 0);
}

static void
check_over(void)
{
	SIM_CHECK(wf_sched.nmspinning.v == 0);
	SIM_CHECK(wf_globq.size.v == 0 || wf_sched.idle_mask[0].v == 0);
}

SCENARIO(keeps_fresh_and_overflows) = {
    .setup = setup_keeps,
    .threads = {{submit_fresh_until_over, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_over,
    .blocked_ok = true,
};

SCENARIO(keeps_and_overflows) = {
    .setup = setup_keeps,
    .threads = {{submit_until_over, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_over,
    .mutants = {SIM_MUTANT(MUT_GATHER_OVER_MUTE)},
    .blocked_ok = true,
};

/* ---- a P lays its goroutines down for another whose holder has gone to block. GATH-2 */

SCENARIO(lays_down_home_blocks) = {
    .setup = setup_lays_down,
    .threads = {{blocks, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_GATHER_ON_OFFER)},
    .blocked_ok = true,
};

/* ---- what was taken was not gathered here: others may take it again. GATH-1 */

static void
setup_thief_keeps(void)
{
	reset(2);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_hold(&rig.m[1], &rig.p[1]);
	for (int i = 0; i < WF_RUNQ_SIZE; i++)
		queue_one(&rig.p[0]);
	rig.p[1].keep.state.v = 1;
}

static void
takes(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	if (wf_steal(m, wf_m_p(m)))
		SIM_CHECK(!wf_gather_keeps(wf_m_p(m)));
}

SCENARIO(thief_keeps_nothing) = {
    .setup = setup_thief_keeps,
    .threads = {{takes, &rig.m[1], false}},
    .mutants = {SIM_MUTANT(MUT_GATHER_THIEF_KEEPS)},
};

/* IDLE-4 */
SCENARIO(last_spinner_wakes_next) = {
    .setup = setup_three_ps,
    .threads = {{submit_local_two, &rig.m[0], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_LAST_NO_WAKE)},
    .blocked_ok = true,
};

/* ---- a submitter with a P and one without, an M that drops */

SCENARIO(both_submitters_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{submit_local, &rig.m[0], false},
		{rig_m_main, &rig.m[1], false},
		{submit_global, &rig.m[3], false}},
    .check_end = check_end,
    .blocked_ok = true,
};

/* ---- a spinner drops its P, which another one takes to compute; what it finds then is left to
   an M that was not allowed to spin */

static void
takes_idle(void *arg)
{
	struct wf_p *p = wf_idle_take();

	wf_m_set(arg);
	if (p)
		wf_p_acquire(arg, p);
}

static void
submit_short(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, NULL, make(false), false);
}

SCENARIO(found_but_no_p) = {
    .setup = setup_two_loops,
    .threads = {{submit_short, &rig.m[0], false},
		{rig_m_main, &rig.m[1], false},
		{rig_m_main, &rig.m[2], false},
		{takes_idle, &rig.m[5], false}},
    .check_end = check_end,
    .delays = 1,
    .blocked_ok = true,
};

/* ---- a goroutine blocks, its P on offer or passed on, while another submits and computes on */

/* The section ends and begins anew. */
static void
blocks_twice(void *arg)
{
	struct wf_m *m = arg;
	uint32_t lease;

	wf_m_set(m);
	wf_leave_blocking(m);
	at_store_rlx(&m->in_rt, 1);
	lease = at_load_rlx(&m->lease);
	if (lease != WF_ASLEEP && wf_offer_back(m, lease))
		wf_leave_blocking(m);
}

static void
setup_hinted(void)
{
	setup_one_loop();
	wf_sched.offer_mask[0].v = 2; /* P 1 was on offer before */
}

SCENARIO(local_submit_one_blocks) = {
    .setup = setup_one_loop,
    .threads = {{submit_local, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK)},
    .blocked_ok = true,
};

/* OFFER-2 */
SCENARIO(submit_and_stale_hint) = {
    .setup = setup_hinted,
    .threads = {{submit_local, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK), SIM_MUTANT(MUT_OFFER_HINT_LOST)},
    .blocked_ok = true,
};

SCENARIO(submit_and_stale_hint_arm) = {
    .setup = setup_hinted,
    .threads = {{submit_local, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK), SIM_MUTANT(MUT_OFFER_HINT_LOST)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

/* The offer is a plain store, and the one who submits opens the door: OFFER-3 */
static void
setup_shut(void)
{
	setup_one_loop();
	rig_shut(&rig.m[1]);
}

SCENARIO(submit_one_blocks_shut) = {
    .setup = setup_shut,
    .threads = {{submit_local, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK), SIM_MUTANT(MUT_OFFER_NO_DOOR),
		SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
    .blocked_ok = true,
};

SCENARIO(submit_one_blocks_shut_arm) = {
    .setup = setup_shut,
    .threads = {{submit_local, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK), SIM_MUTANT(MUT_OFFER_NO_DOOR),
		SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

/* The P was another's before, and its hint is still set. */
static void
takes_over_and_blocks(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_p_acquire(m, &rig.p[1]);
	m->blocking = true;
	wf_leave_blocking(m);
}

static void
setup_taken_over(void)
{
	reset(2);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_shut(&rig.m[1]);
	rig.spare[rig.spares++] = &rig.m[2];
}

SCENARIO(submit_one_takes_over_and_blocks) = {
    .setup = setup_taken_over,
    .threads = {{submit_local, &rig.m[0], false}, {takes_over_and_blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_UNSAID)},
    .blocked_ok = true,
};

static void
setup_three_to_start(void)
{
	setup_one_loop();
	rig.spare[rig.spares++] = &rig.m[4];
	rig.spare[rig.spares++] = &rig.m[5];
}

/* need_spinning was left set; a third M drops its P while the second blocks. */
static void
setup_needed(void)
{
	reset(3);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_hold(&rig.m[1], &rig.p[1]);
	rig_hold(&rig.m[2], &rig.p[2]);
	for (int i = 3; i < RIG_MS; i++)
		rig.spare[rig.spares++] = &rig.m[i];
	wf_sched.need_spinning.v = 1;
}

SCENARIO(submit_one_blocks_one_drops) = {
    .setup = setup_needed,
    .threads = {{submit_local, &rig.m[0], false},
		{blocks, &rig.m[1], false},
		{rig_m_main, &rig.m[2], false}},
    .check_end = check_end,
    .delays = 1,
    .blocked_ok = true,
};

SCENARIO(two_submitters_blocks_twice) = {
    .setup = setup_three_to_start,
    .threads = {{submit_local, &rig.m[0], false},
		{blocks_twice, &rig.m[1], false},
		{submit_global, &rig.m[3], false}},
    .check_end = check_end,
    .delays = 1,
    .blocked_ok = true,
};

/* ---- the urgent class has a queue of its own, which the second look must not forget */

static void
submit_urgent(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, wf_m_p(m), make_of(WF_G_URGENT, false), true);
}

SCENARIO(urgent_submit_one_drops) = {
    .setup = setup_one_loop,
    .threads = {{submit_urgent, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_NO_URGENT), SIM_MUTANT(MUT_IDLE_PARK_NO_FENCE),
		SIM_MUTANT(MUT_IDLE_NO_RECHECK), SIM_MUTANT(MUT_IDLE_NO_NEED_SPINNING)},
    .blocked_ok = true,
};

/* The queue's unlock is a fence on x86, not here. */
SCENARIO(urgent_submit_one_drops_arm) = {
    .setup = setup_one_loop,
    .threads = {{submit_urgent, &rig.m[0], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_NO_URGENT), SIM_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

/* From a thread without a P, while two look. */
SCENARIO(plain_urgent_two_drop) = {
    .setup = setup_two_loops,
    .threads = {{submit_urgent, &rig.m[0], false},
		{rig_m_main, &rig.m[1], false},
		{rig_m_main, &rig.m[2], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_IDLE_NO_URGENT)},
    .blocked_ok = true,
};

/* Beside a P that is put on offer. */
SCENARIO(urgent_submit_one_blocks) = {
    .setup = setup_three_to_start,
    .threads = {{submit_urgent, &rig.m[0], false}, {blocks, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_RECHECK)},
    .blocked_ok = true,
};

/* ---- urgent turns in a row: the others have theirs (PRIO-2) */

static void
run_in_a_row(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	wf_submit(m, wf_m_p(m), make(false), false);
	for (int i = 0; i < 4; i++)
		wf_submit(m, wf_m_p(m), make_of(WF_G_URGENT, false), true);
	wf_m_loop(m);
}

static void
setup_alone(void)
{
	reset(1);
	rig_hold(&rig.m[0], &rig.p[0]);
}

static void
check_row(void)
{
	check_end();
	for (int i = 0; i < 5; i++)
		SIM_CHECK(s.ran[i] == 1);
	SIM_CHECK(s.place[0] == 2); /* two is the limit in tiny builds */
}

SCENARIO(urgent_in_a_row) = {
    .setup = setup_alone,
    .threads = {{run_in_a_row, &rig.m[0], false}},
    .check_end = check_row,
    .blocked_ok = true,
};

/* ---- ageing moves a G of the idle class: whoever looks sees it all the time (GLOBQ-3) */

static void
ages(void *arg)
{
	wf_m_set(arg);
	SIM_CHECK(wf_globq_move(&wf_idleq, &wf_globq, 1, 1) == 1);
}

static void
looks(void *arg)
{
	wf_m_set(arg);
	SIM_CHECK(wf_any_queued());
}

static void
setup_aged(void)
{
	reset(2);
	wf_glist_push(&wf_idleq.list, make_of(WF_G_IDLE, false));
	wf_idleq.size.v = 1;
}

static void
check_aged(void)
{
	SIM_CHECK(wf_idleq.size.v == 0 && wf_globq.size.v == 1);
}

SCENARIO(aged_is_always_seen) = {
    .setup = setup_aged,
    .threads = {{ages, &rig.m[0], false}, {looks, &rig.m[1], false}},
    .check_end = check_aged,
    .mutants = {SIM_MUTANT(MUT_GLOBQ_MOVE_EARLY)},
};

SCENARIO(aged_is_always_seen_arm) = {
    .setup = setup_aged,
    .threads = {{ages, &rig.m[0], false}, {looks, &rig.m[1], false}},
    .check_end = check_aged,
    .mutants = {SIM_MUTANT(MUT_GLOBQ_MOVE_EARLY)},
    .model = SIM_ARM,
};

/* The real monitor's step beside an M that drops its P: the G is run. */
static void
ages_and_submits(void *arg)
{
	wf_m_set(arg);
	wf_idle_age(arg, INT64_C(1000000000)); /* PRIO-3; or the other one was faster */
}

static void
setup_aged_one_drops(void)
{
	setup_one_loop();
	wf_idle_age_later(0);
	wf_glist_push(&wf_idleq.list, make_of(WF_G_IDLE, false));
	wf_idleq.size.v = 1;
}

SCENARIO(aged_one_drops) = {
    .setup = setup_aged_one_drops,
    .threads = {{ages_and_submits, &rig.m[3], false}, {rig_m_main, &rig.m[1], false}},
    .check_end = check_end,
    .blocked_ok = true,
};
