/* SPDX-License-Identifier: MIT */
/*
 * t_lease.c: the P on lease: the real handoff.h, handoff.c, stw.c, proc.c and idle.c.
 *
 * Owners enter and leave the runtime while a monitor and a stopper of the world ask for their
 * Ps; a P that was taken becomes idle, and others take it. Whoever holds a P uses it: two users
 * at once, or two that nothing orders, are a violation (GMP-1, LEASE-2 to LEASE-5). At the end
 * the preempt word counts the Ms that are urged or without their P, and nothing else.
 * A switch to g0 and back is a loop here: give the P to a stopper, wait for an idle one.
 * sources: src/sched/handoff.c src/sched/stw.c src/sched/proc.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/core/globq.c src/base/lock.c tests/model/os_sim.c -no-pie -Wl,--unresolved-symbols=ignore-all
 */
#include "rig.h"

#include "core/stack.h"

static struct {
	int users[RIG_PS];
} s;

/* ---- what the linked files call; what no scenario comes to stays undefined */

struct wf_m *
wf_m_attach(void)
{
	sim_fail("no thread is unknown here");
	return NULL;
}

void
wf_say(const char *fmt, ...)
{
	sim_note("says %s", fmt);
}

/* Nothing is queued here: the M that is started finds a function to run at most. */
int
wf_m_start(struct wf_m *m, struct wf_p *p, bool spinning)
{
	(void)m, (void)spinning;
	wf_safepoint_run(p);
	wf_idle_put(p);
	return 0;
}

/* The goroutine leaves its M; here it comes back on the same one, when that has a P again. */
struct wf_m *
wf_yield(struct wf_m *m, enum wf_pending how)
{
	struct wf_p *p;

	SIM_CHECK(how == WF_PEND_YIELD || how == WF_PEND_GLOBAL);
	SIM_CHECK(how == WF_PEND_GLOBAL || wf_m_p(m) != NULL); /* the local queue is a P's */
	if (wf_m_p(m) && at_load_acq(&wf_sched.stopping))
		wf_stop_here(m);
	while (!wf_m_p(m)) {
		if ((p = wf_idle_take()))
			wf_p_acquire(m, p);
		else
			cpu_relax();
	}
	at_bump(&wf_m_p(m)->tick, 1);
	return m;
}

/* ---- owners */

static void
use(struct wf_p *p)
{
	SIM_CHECK(s.users[p->id]++ == 0);
	sim_plain_write(p);
	light_barrier(); /* a choice point */
	sim_plain_write(p);
	s.users[p->id]--;
}

static void
call_n(void)
{
	struct wf_m *m = wf_enter(WF_CALL_N);

	if (WF_MUTANT(MUT_LEASE_NESTED))
		wf_leave(wf_enter(WF_CALL_N)); /* a library function that calls a public one */
	if (wf_m_p(m))
		use(wf_m_p(m));
	wf_leave(m);
}

static void
call_b(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	SIM_CHECK(wf_m_p(m));
	use(wf_m_p(m));
	wf_leave(m);
}

/* By the short way in, or else by the long one. */
static void
call_at_once(void)
{
	struct wf_m *m = wf_m();

	if (!wf_enter_at_once(m)) {
		call_n();
		return;
	}
	use(wf_m_p(m));
	wf_leave(m);
}

static void
owner_at_once(void *arg)
{
	wf_m_set(arg);
	call_at_once();
	call_at_once();
}

static void
owner_nn(void *arg)
{
	wf_m_set(arg);
	call_n();
	call_n();
}

static void
owner_nb(void *arg)
{
	wf_m_set(arg);
	call_n();
	call_b();
}

static void
owner_bn(void *arg)
{
	wf_m_set(arg);
	call_b();
	call_n();
}

/* On g0, without a P: takes one that is idle, uses it, and leaves with it to user code. */
static void
worker(void *arg)
{
	struct wf_m *m = arg;
	struct wf_p *p;

	wf_m_set(m);
	if (!(p = wf_idle_take()))
		return;
	wf_p_acquire(m, p);
	use(p);
	use(p);
	wf_leave(m);
}

/* On g0 with a P; goes to user code with another P than it came with. */
static void
owner_changes_p(void *arg)
{
	struct wf_m *m = arg;
	struct wf_p *p;

	wf_m_set(m);
	p = wf_p_release(m);
	wf_idle_put(p);
	wf_p_acquire(m, &rig.p[1]);
	wf_leave(m);
	call_n();
}

/* ---- requesters */

static void
lease_lock(void)
{
	if (!WF_MUTANT(MUT_LEASE_UNSERIALISED))
		wf_lock(&wf_lease_lock);
}

static void
lease_unlock(void)
{
	if (!WF_MUTANT(MUT_LEASE_UNSERIALISED))
		wf_unlock(&wf_lease_lock);
}

/* What the monitor and a proxy at a safe point do: P 0 is wanted. */
static void
request(struct wf_m *self, bool tick_matters)
{
	struct wf_p *p = &rig.p[0], *got = NULL;
	uint32_t tick = at_load_rlx(&p->tick);
	struct wf_m *m = at_load_acq(&p->m);

	wf_m_set(self);
	if (!m)
		return;
	lease_lock();
	if (wf_lease_ask(m)) {
		wf_lease_barrier();
		got = wf_lease_decide(m, p, tick, tick_matters, WF_TAKEN);
	}
	lease_unlock();
	if (!got)
		return;
	use(got);
	wf_handoff(self, got);
	if (WF_MUTANT(MUT_LEASE_CLEARS_TAKEN))
		at_store_rel(&m->lease, WF_HELD);
}

static void
requester(void *arg)
{
	request(arg, true);
}

/* As the stopper: whatever slice it is. */
static void
requester_any(void *arg)
{
	request(arg, false);
}

/* The lint: M 0 is to come by. */
static void
urger(void *arg)
{
	wf_m_set(arg);
	lease_lock();
	wf_lease_urge(&rig.m[0]);
	lease_unlock();
}

/* Stops the world, twice with arg. */
static void
stopper(void *arg)
{
	for (int i = 0; i < (arg ? 2 : 1); i++) {
		wf_world_stop(NULL);
		for (uint32_t k = 0; k < wf_sched.procs.v; k++)
			use(wf_sched.allp[k]);
		wf_world_start(NULL);
		cpu_relax();
	}
}

static void
each_p(void *arg)
{
	(void)arg;
	wf_each_p(&rig.m[RIG_MS - 1], use);
}

/* ---- the rule */

static void
check_end(void)
{
	uint32_t urged = 0, taken = 0, asleep = 0;

	for (int i = 0; i < RIG_MS; i++) {
		uint32_t lease = rig.m[i].lease.v;

		SIM_CHECK(lease != WF_ASKED);
		urged += lease == WF_URGED;
		taken += lease == WF_TAKEN;
		asleep += lease == WF_ASLEEP;
	}
	SIM_CHECK(weft_preempt_word == urged + taken + asleep);
	SIM_CHECK(weft_detour_word == urged + taken);
	SIM_CHECK(wf_sched.computing.v == taken);
}

static void
reset(uint32_t procs, bool fenced)
{
	rig_reset(procs);
	memset(&s, 0, sizeof(s));
	wf_steal_order_init(procs);
	weft_preempt_word = weft_detour_word = 0;
	wf_lease_lock.word.v = 0;
	wf_sched.fenced = fenced;
	wf_sched.held = fenced ? WF_FENCED : WF_HELD;
	if (WF_MUTANT(MUT_LEASE_UNSERIALISED))
		wf_held_ranks_hook = NULL; /* not the check is to find it */
	sim_name(&wf_lease_lock.word, "lease_lock");
	sim_name(&weft_preempt_word, "preempt_word");
	for (uint32_t i = 0; i < procs; i++)
		sim_name(&rig.p[i], "p%u", i);
}

/* M 0 is in user code, by lease. */
static void
in_user_code(struct wf_m *m, struct wf_p *p)
{
	rig_hold(m, p);
	m->in_rt.v = 0;
}

static void
setup_held(void)
{
	reset(1, false);
	in_user_code(&rig.m[0], &rig.p[0]);
}

static void
setup_fenced(void)
{
	reset(1, true);
	in_user_code(&rig.m[0], &rig.p[0]);
}

#define LAST_M (&rig.m[RIG_MS - 1])

/* ---- one requester, and somebody who takes what it took */

SCENARIO(owner_nn_monitor) = {
    .setup = setup_held,
    .threads = {{owner_nn, &rig.m[0], false},
		{requester, LAST_M, false},
		{worker, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER), SIM_MUTANT(MUT_LEASE_CLEARS_TAKEN),
		SIM_MUTANT(MUT_LEASE_NESTED)},
};

/* LEASE-6, GMP-2 */
SCENARIO(owner_nb_monitor) = {
    .setup = setup_held,
    .threads = {{owner_nb, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(owner_nb_monitor_arm) = {
    .setup = setup_held,
    .threads = {{owner_nb, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
    .model = SIM_ARM,
};

SCENARIO(owner_at_once_monitor) = {
    .setup = setup_held,
    .threads = {{owner_at_once, &rig.m[0], false},
		{requester, LAST_M, false},
		{worker, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER), SIM_MUTANT(MUT_LEASE_AT_ONCE),
		SIM_MUTANT(MUT_LEASE_STAYS_IN)},
};

SCENARIO(owner_at_once_monitor_arm) = {
    .setup = setup_held,
    .threads = {{owner_at_once, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER), SIM_MUTANT(MUT_LEASE_STAYS_IN)},
    .model = SIM_ARM,
};

SCENARIO(fenced_owner_at_once_monitor) = {
    .setup = setup_fenced,
    .threads = {{owner_at_once, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_STAYS_IN)},
};

SCENARIO(fenced_owner_nb_monitor) = {
    .setup = setup_fenced,
    .threads = {{owner_nb, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
};

SCENARIO(fenced_owner_nb_monitor_arm) = {
    .setup = setup_fenced,
    .threads = {{owner_nb, &rig.m[0], false}, {requester, LAST_M, false}},
    .check_end = check_end,
    .model = SIM_ARM,
};

/* ---- asked to give way, with nothing taken */

SCENARIO(owner_nn_urged) = {
    .setup = setup_held,
    .threads = {{owner_nn, &rig.m[0], false}, {urger, LAST_M, false}, {worker, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_URGED_TWICE)},
};

SCENARIO(owner_bn_urged_and_asked) = {
    .setup = setup_held,
    .threads = {{owner_bn, &rig.m[0], false},
		{urger, &rig.m[2], false},
		{requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(fenced_owner_nb_urged_arm) = {
    .setup = setup_fenced,
    .threads = {{owner_nb, &rig.m[0], false}, {urger, LAST_M, false}},
    .check_end = check_end,
    .model = SIM_ARM,
};

/* ---- two requesters */

SCENARIO(two_requesters) = {
    .setup = setup_held,
    .threads = {{owner_bn, &rig.m[0], false},
		{requester_any, &rig.m[2], false},
		{requester_any, &rig.m[3], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_UNSERIALISED), SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(monitor_and_stopper) = {
    .setup = setup_held,
    .threads = {{owner_nb, &rig.m[0], false}, {requester, LAST_M, false}, {stopper, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(fenced_monitor_and_stopper) = {
    .setup = setup_fenced,
    .threads = {{owner_bn, &rig.m[0], false}, {requester, LAST_M, false}, {stopper, NULL, false}},
    .check_end = check_end,
};

/* STW-2, STW-3 */
SCENARIO(stopper_twice) = {
    .setup = setup_held,
    .threads = {{owner_bn, &rig.m[0], false}, {stopper, &s, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

/* The P is taken, got back and taken again: the second request may come at any moment after the first,
   also before the owner has noticed it. */
static void
requester_twice(void *arg)
{
	request(arg, true);
	request(arg, false);
}

static void
owner_bb(void *arg)
{
	wf_m_set(arg);
	call_b();
	call_b();
}

SCENARIO(taken_twice_in_a_row) = {
    .setup = setup_held,
    .threads = {{owner_bb, &rig.m[0], false}, {requester_twice, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER), SIM_MUTANT(MUT_LEASE_CLEARS_TAKEN)},
};

/* ---- the M changes its P under the requester */

static void
setup_two_ps(void)
{
	reset(2, false);
	rig_hold(&rig.m[0], &rig.p[0]);
}

SCENARIO(owner_changes_p) = {
    .setup = setup_two_ps,
    .threads = {{owner_changes_p, &rig.m[0], false},
		{requester, LAST_M, false},
		{worker, &rig.m[1], false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_P_BEFORE_ASK)},
};

/* ---- two owners, all Ps stopped, and a function run on all */

static void
setup_two_owners(void)
{
	reset(2, false);
	in_user_code(&rig.m[0], &rig.p[0]);
	in_user_code(&rig.m[1], &rig.p[1]);
}

SCENARIO(two_owners_stopper) = {
    .setup = setup_two_owners,
    .threads = {{owner_bn, &rig.m[0], false}, {owner_nb, &rig.m[1], false}, {stopper, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(two_owners_each_p) = {
    .setup = setup_two_owners,
    .threads = {{owner_bn, &rig.m[0], false}, {owner_nb, &rig.m[1], false}, {each_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

/* ---- Ms on g0 bring their Ps, to one stop after the other */

static void
brings_once(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	while (!at_load_acq(&wf_sched.stopping))
		cpu_relax();
	wf_stop_here(m);
}

static void
brings_twice(void *arg)
{
	struct wf_m *m = arg;

	brings_once(m);
	wf_yield(m, wf_m_p(m) ? WF_PEND_YIELD : WF_PEND_GLOBAL);
	brings_once(m);
}

static void
setup_two_on_g0(void)
{
	reset(2, false);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_hold(&rig.m[1], &rig.p[1]);
}

SCENARIO(two_on_g0_stopper_twice) = {
    .setup = setup_two_on_g0,
    .threads = {{brings_once, &rig.m[0], true},
		{brings_twice, &rig.m[1], true},
		{stopper, &s, false}},
    .check_end = check_end,
    .delays = 1,
};

/* ---- a goroutine entered on M 0 and goes on, and leaves, on M 1; M 0 is on g0 */

static void
g0_of_m0(void *arg)
{
	wf_m_set(arg);
	use(wf_m_p(arg));
	use(wf_m_p(arg));
}

static void
leaves_on_m1(void *arg)
{
	wf_m_set(arg);
	use(wf_m_p(arg));
	wf_leave(WF_MUTANT(MUT_LEASE_STALE_M) ? &rig.m[0] : wf_m());
}

static void
setup_moved(void)
{
	reset(2, false);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig_hold(&rig.m[1], &rig.p[1]);
}

SCENARIO(leave_after_a_move) = {
    .setup = setup_moved,
    .threads = {{g0_of_m0, &rig.m[0], false},
		{leaves_on_m1, &rig.m[1], false},
		{requester, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_STALE_M)},
};

/* ---- blocking sections: the P is on offer, and comes back, or is taken by whoever needs one */

static void
needs_p(void *arg)
{
	struct wf_p *p = wf_idle_take();

	(void)arg;
	if (!p)
		return;
	use(p);
	wf_idle_put(p);
}

static void
blocks(void *arg)
{
	wf_m_set(arg);
	weft_blocking_enter();
	weft_blocking_leave();
	call_b();
}

/* Calls inside a section, and a section inside a section. */
static void
blocks_and_calls(void *arg)
{
	wf_m_set(arg);
	weft_blocking_enter();
	call_n();
	weft_blocking_enter();
	call_b();
	weft_blocking_leave();
	weft_blocking_leave();
	SIM_CHECK(!wf_m()->blocking && wf_m()->g->blocking == 0);
}

static void
setup_blocks(void)
{
	setup_held();
	rig.m[0].g = &rig.g[0];
}

static void
setup_blocks_fenced(void)
{
	setup_fenced();
	rig.m[0].g = &rig.g[0];
}

/* OFFER-1 */
SCENARIO(blocks_two_takers) = {
    .setup = setup_blocks,
    .threads = {{blocks, &rig.m[0], false}, {needs_p, NULL, false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_BACK_BLIND)},
};

SCENARIO(blocks_two_takers_arm) = {
    .setup = setup_blocks,
    .threads = {{blocks, &rig.m[0], false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_BACK_BLIND)},
    .model = SIM_ARM,
};

SCENARIO(blocks_and_calls_taker) = {
    .setup = setup_blocks,
    .threads = {{blocks_and_calls, &rig.m[0], false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_BACK_BLIND)},
};

SCENARIO(blocks_monitor_stopper) = {
    .setup = setup_blocks,
    .threads = {{blocks, &rig.m[0], false}, {requester_any, LAST_M, false}, {stopper, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_MEMBARRIER)},
};

SCENARIO(fenced_blocks_monitor_taker) = {
    .setup = setup_blocks_fenced,
    .threads = {{blocks, &rig.m[0], false}, {requester, LAST_M, false}, {needs_p, NULL, false}},
    .check_end = check_end,
};

SCENARIO(blocks_each_p) = {
    .setup = setup_blocks,
    .threads = {{blocks_and_calls, &rig.m[0], false}, {each_p, NULL, false}},
    .check_end = check_end,
};

/* ---- the same behind a shut door: the offer is a plain store, and so is its end (OFFER-3) */

static void
setup_blocks_shut(void)
{
	setup_blocks();
	rig_shut(&rig.m[0]);
}

SCENARIO(shut_blocks_two_takers) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks, &rig.m[0], false}, {needs_p, NULL, false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

SCENARIO(shut_blocks_taker_arm) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks, &rig.m[0], false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
    .model = SIM_ARM,
};

/* The door is opened, and shut again in the second section. */
static void
blocks_thrice(void *arg)
{
	wf_m_set(arg);
	for (int i = 0; i < 3; i++) {
		weft_blocking_enter();
		weft_blocking_leave();
	}
	call_b();
}

SCENARIO(shut_again_taker) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks_thrice, &rig.m[0], false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_TAKE_OUTSIDE), SIM_MUTANT(MUT_DOOR_SHUT_IN)},
};

SCENARIO(shut_blocks_monitor) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks, &rig.m[0], false}, {requester_any, LAST_M, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_DOOR)},
};

SCENARIO(shut_blocks_stopper) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks_and_calls, &rig.m[0], false}, {stopper, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

SCENARIO(shut_blocks_urged_taker) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks, &rig.m[0], false}, {urger, LAST_M, false}, {needs_p, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_LEASE_NO_DOOR)},
};

/* The owner offers one P, and later another: a taker that has the first in mind gets that or none. */
static void
offers_another_p(void *arg)
{
	struct wf_m *m = arg;
	struct wf_p *p;

	wf_m_set(m);
	weft_blocking_enter();
	weft_blocking_leave();
	m = wf_enter(WF_CALL_B);
	p = wf_p_release(m);
	wf_idle_put(p);
	wf_p_acquire(m, &rig.p[1]);
	wf_leave(m);
	weft_blocking_enter();
}

static void
takes_p0(void *arg)
{
	(void)arg;
	if (!wf_offer_take_this(&rig.p[0]))
		return;
	use(&rig.p[0]);
	wf_idle_put(&rig.p[0]);
}

/* OFFER-3; as the monitor does, which looks at no hint */
SCENARIO(shut_blocks_takes_p0) = {
    .setup = setup_blocks_shut,
    .threads = {{blocks, &rig.m[0], false}, {takes_p0, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_TAKE_OUTSIDE)},
};

static void
takes_idle_p0(void *arg)
{
	(void)arg;
	if (!wf_idle_take_this(&rig.p[0]))
		return;
	use(&rig.p[0]);
	wf_idle_put(&rig.p[0]);
}

static void
setup_another_p(void)
{
	reset(2, false);
	in_user_code(&rig.m[0], &rig.p[0]);
	rig.m[0].g = &rig.g[0];
}

/* LEASE-7 */
SCENARIO(offers_another_p) = {
    .setup = setup_another_p,
    .threads = {{offers_another_p, &rig.m[0], false},
		{takes_p0, NULL, false},
		{takes_idle_p0, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_OFFER_NO_ID)},
};

/* ---- fork: in the child there is only this thread, and the words are as the others left them */

static void
forks(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	call_n();
	weft_blocking_enter();
	sim_quiet(true); /* from here on nobody else runs before this one has ended */
	at_store_rlx(&wf_sched.phase, WF_ENDING);
	wf_sched.forked = true;
	wf_lease_fork(m);
	SIM_CHECK(!wf_enter(WF_CALL_N));
	SIM_CHECK(!wf_enter(WF_CALL_B));
	weft_blocking_leave();
	SIM_CHECK(at_load_rlx(&m->in_rt) == 0);
}

SCENARIO(owner_forks) = {
    .setup = setup_blocks,
    .threads = {{forks, &rig.m[0], false}, {requester, LAST_M, false}, {needs_p, NULL, false}},
    .mutants = {SIM_MUTANT(MUT_LEASE_FORK), SIM_MUTANT(MUT_FORK_OFFERS)},
    .blocked_ok = true,
};
