/* SPDX-License-Identifier: MIT */
/*
 * t_park.c: going to sleep and being woken, on real stacks: the real park.c, switch.h, loop.c,
 * gclaim.h, the first-run trampoline of spawn.c and the context switch.
 *
 * A goroutine parks; as soon as its commit has made it reachable three wakers claim it, and the
 * winner readies it, while Ms without work look for some: it may go on elsewhere before its old
 * M has looked up. It must resume once, on a context that was saved, with all its former self
 * did in view (PARK-1 to PARK-3, GST-1, GST-2, CLAIM-1, CLAIM-2).
 * sources: src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "rig.h"

#include "core/gclaim.h"
#include "core/stack.h"

static struct {
	uint32_t claim;
	wf_a32 reachable;
	unsigned woken, claims, started;
} s;

static char stacks[RIG_GS][WF_STACK_MIN] WF_ALIGNED(64);

/* ---- what the linked files call; what no scenario comes to stays undefined */

void *
wf_stack_take_slow(struct wf_p *p, int class)
{
	(void)class;
	return stacks[((struct wf_m *)p->m.v)->g - rig.g];
}

bool
wf_stop_take(struct wf_p *p)
{
	(void)p;
	return false;
}

/* ---- goroutines */

static void
commit_for_ever(struct wf_g *g, void *arg)
{
	(void)g, (void)arg;
}

/* The last act of every goroutine here: nobody wakes it any more. */
static WF_NORETURN void
sleep_for_ever(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	wf_park(m, commit_for_ever, NULL, WF_WAIT_TEST, NULL);
	sim_fail("a goroutine goes on that nobody has woken");
	for (;;)
		sim_block(&s);
}

static void
commit_reachable(struct wf_g *g, void *arg)
{
	SIM_CHECK(wf_g_state(g) == WF_WAITING); /* PARK-1 */
	(void)arg;
	at_store_rel(&s.reachable, 1); /* rel: as the unlock of a wait queue */
	sim_wake(&s.reachable, SIM_THREADS);
}

static int
parks(void *arg)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_g *g = m->g;
	int mine = 1;

	(void)arg;
	s.started++;
	sim_quiet(false);
	s.claim = wf_claim_next(g, false);
	wf_claim_open(g, s.claim);
	sim_plain_write(&mine);
	m = wf_park(m, commit_reachable, NULL, WF_WAIT_TEST, &s);
	SIM_CHECK(m == wf_m() && m->g == g && wf_m_p(m));
	sim_plain_write(&mine);
	SIM_CHECK(mine == 1);
	SIM_CHECK(s.woken++ == 0);
	sim_quiet(true);
	wf_leave(m);
	sleep_for_ever();
}

static int
idles(void *arg)
{
	(void)arg;
	s.started++;
	sleep_for_ever();
}

/* ---- wakers: threads of the program */

static void
claim_and_ready(struct wf_m *m, struct wf_g *g)
{
	if (!wf_claim(g, s.claim))
		return;
	s.claims++;
	wf_ready(m, g);
}

static void
waker(void *arg)
{
	struct wf_m *m;

	wf_m_set(arg);
	while (!at_load_acq(&s.reachable)) /* acq: as the lock of a wait queue */
		sim_futex_wait(&s.reachable, 0, false);
	m = wf_enter(WF_CALL_N);
	claim_and_ready(m, &rig.g[0]);
	wf_leave(m);
}

/* A goroutine wakes the other, both on one P: by runnext, and a direct switch. */
static int
wakes_g0(void *arg)
{
	struct wf_m *m = wf_enter(WF_CALL_N);

	(void)arg;
	s.started++;
	if (at_load_acq(&s.reachable)) /* acq: as above */
		claim_and_ready(m, &rig.g[0]);
	wf_leave(m);
	sleep_for_ever();
}

/* ---- the rule */

static struct weft_site sites[RIG_GS];

static void
add(int i, struct wf_p *p, int (*fn)(void *))
{
	struct wf_glist over = {0};
	struct wf_g *g = &rig.g[i];

	sites[i] = (struct weft_site){.fn = fn, .name = "a goroutine"};
	g->site = &sites[i];
	g->id = i + 1;
	g->status.v = WF_RUNNABLE;
	wf_runq_put(&p->runq, g, &over);
}

static void
setup(uint32_t procs)
{
	rig_reset(procs);
	memset(&s, 0, sizeof(s));
	sim_quiet(true); /* until it parks, and when it is back: not the subject */
	wf_steal_order_init(procs);
	rig_hold(&rig.m[0], &rig.p[0]);
	if (procs > 1)
		rig_idle(&rig.p[1]);
	rig.p[0].fair = rig.p[1].fair = 4; /* the fairness tick is not the subject */
	rig.spare[rig.spares++] = &rig.m[1];
	rig.spare[rig.spares++] = &rig.m[2];
	rig.spare[rig.spares++] = &rig.m[6]; /* for the time another one is on its way to sleep */
	for (int i = 3; i < 6; i++) {        /* threads of the program, outside */
		rig.m[i].plain = true;
		rig.m[i].in_rt.v = 0;
	}
	sim_name(&rig.g[0].claim, "g0.claim");
	sim_name(&s.reachable, "reachable");
}

static void
check_once(void)
{
	SIM_CHECK(s.woken == 1);  /* no wake lost */
	SIM_CHECK(s.claims == 1); /* CLAIM-1, PARK-3 */
}

#define M0                                                                                         \
	{                                                                                          \
		rig_m_main, &rig.m[0], false                                                       \
	}
#define WAKER(i)                                                                                   \
	{                                                                                          \
		waker, &rig.m[i], false                                                            \
	}

/* ---- to g0, because nothing else is queued */

static void
setup_alone(void)
{
	setup(2);
	add(0, &rig.p[0], parks);
}

SCENARIO(park_three_wakers) = {
    .setup = setup_alone,
    .threads = {M0, WAKER(3), WAKER(4), WAKER(5)},
    .check_end = check_once,
    .mutants = {SIM_MUTANT(MUT_PARK_COMMIT_EARLY), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .max_bound = 1, /* it explodes: two wakers below go further */
    .random = 50000,
    .blocked_ok = true,
};

SCENARIO(park_two_wakers) = {
    .setup = setup_alone,
    .threads = {M0, WAKER(3), WAKER(4)},
    .check_end = check_once,
    .mutants = {SIM_MUTANT(MUT_PARK_COMMIT_EARLY), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .blocked_ok = true,
};

SCENARIO(park_two_wakers_arm) = {
    .setup = setup_alone,
    .threads = {M0, WAKER(3), WAKER(4)},
    .check_end = check_once,
    .mutants = {SIM_MUTANT(MUT_PARK_COMMIT_EARLY), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .model = SIM_ARM,
    .max_bound = 1,
    .blocked_ok = true,
};

/* ---- directly to a goroutine that starts */

static void
setup_fresh_next(void)
{
	setup(2);
	add(0, &rig.p[0], parks);
	add(1, &rig.p[0], idles);
}

static void
check_fresh_next(void)
{
	check_once();
	SIM_CHECK(s.started == 2);
}

/* PARK-1, PARK-2 */
SCENARIO(park_then_fresh) = {
    .setup = setup_fresh_next,
    .threads = {M0, WAKER(3), WAKER(4)},
    .check_end = check_fresh_next,
    .mutants = {SIM_MUTANT(MUT_PARK_TRAMPOLINE), SIM_MUTANT(MUT_PARK_COMMIT_EARLY),
		SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .blocked_ok = true,
};

/* ---- directly to a goroutine that goes on: its first act is the commit */

static int
yields(void *arg)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	(void)arg;
	s.started++;
	m = wf_yield(m, WF_PEND_YIELD);
	wf_leave(m);
	sleep_for_ever();
}

static void
setup_resumed_next(void)
{
	setup(2);
	add(1, &rig.p[0], yields);
	add(0, &rig.p[0], parks);
}

SCENARIO(park_then_resumed) = {
    .setup = setup_resumed_next,
    .threads = {M0, WAKER(3)},
    .check_end = check_fresh_next,
    .mutants = {SIM_MUTANT(MUT_PARK_COMMIT_EARLY)},
    .blocked_ok = true,
};

/* ---- woken by the goroutine that runs next on the same M, and by a thread */

static void
setup_woken_by_next(void)
{
	setup(2);
	add(0, &rig.p[0], parks);
	add(1, &rig.p[0], wakes_g0);
}

SCENARIO(park_woken_by_next) = {
    .setup = setup_woken_by_next,
    .threads = {M0, WAKER(3)},
    .check_end = check_fresh_next,
    .mutants = {SIM_MUTANT(MUT_PARK_TRAMPOLINE), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .blocked_ok = true,
};
