/* SPDX-License-Identifier: MIT */
/*
 * t_end.c: the end of a run against a thread that computes without a P: the real thread.c
 * (wf_ms_end) and handoff.c.
 *
 * The world is stopped. The thread calls: either the end waits until it has left the runtime,
 * or it finds OVER and touches nothing. (M-3, LEASE-3)
 * sources: src/sched/handoff.c src/sched/thread.c src/sched/pin.c src/sched/proc.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/core/globq.c src/base/lock.c tests/model/os_sim.c -no-pie -Wl,--unresolved-symbols=ignore-all
 */
#define RIG_THREAD_C
#include "rig.h"

#include "core/stack.h"

static struct {
	bool ended;
	int shared; /* what the run owns */
} s;

/* ---- what the linked files call; what no scenario comes to stays undefined */

bool
wf_stop_take(struct wf_p *p)
{
	(void)p;
	return false;
}

void
wf_monitor_wake(void)
{
}

bool
wf_deadlock_suspected(void)
{
	return false;
}

void
wf_deadlock_report(uint64_t idle_seq)
{
	(void)idle_seq;
}

void
wf_m_loop(struct wf_m *m)
{
	(void)m;
}

/* The thread ends; as m_main does, it says so if the end still waits for it. */
struct wf_m *
wf_yield(struct wf_m *m, enum wf_pending how)
{
	if (how == WF_PEND_GLOBAL) {
		SIM_CHECK(!s.ended);
		sim_plain_write(&s.shared); /* it queues itself */
		SIM_CHECK(!wf_m_stop(m));
	}
	wf_lock(&wf_sched.lock);
	if (at_load_rlx(&m->lease) != WF_OVER)
		wf_sched.nm--;
	m->in_use = false;
	wf_unlock(&wf_sched.lock);
	sim_exit();
}

/* ---- the two sides */

static void
call(enum wf_kind kind)
{
	struct wf_m *m = wf_enter(kind);

	SIM_CHECK(!s.ended);
	sim_plain_write(&s.shared);
	light_barrier(); /* a choice point */
	SIM_CHECK(!s.ended);
	wf_leave(m);
}

static void
calls_n(void *arg)
{
	wf_m_set(arg);
	call(WF_CALL_N);
}

static void
calls_nb(void *arg)
{
	wf_m_set(arg);
	call(WF_CALL_N);
	call(WF_CALL_B);
}

static void
ender(void *arg)
{
	(void)arg;
	wf_ms_end();
	s.ended = true;
	sim_plain_write(&s.shared);
}

static void
setup(bool fenced)
{
	struct wf_m *m = &rig.m[0];

	rig_reset(1);
	memset(&s, 0, sizeof(s));
	wf_sched.fenced = fenced;
	wf_sched.held = fenced ? WF_FENCED : WF_HELD;
	wf_sched.stopping.v = 1;
	wf_sched.phase.v = WF_ENDING;
	wf_lease_lock.word.v = 0;
	m->lease.v = WF_TAKEN;
	m->in_rt.v = 0;
	m->g = &rig.g[0];
	m->in_use = true;
	wf_sched.all_ms = m;
	wf_sched.nm = 1;
	wf_sched.computing.v = 1;
	weft_preempt_word = weft_detour_word = 1;
	sim_name(&s.shared, "shared");
}

static void
setup_membarrier(void)
{
	setup(false);
}

static void
setup_fence(void)
{
	setup(true);
}

static void
check_end(void)
{
	SIM_CHECK(s.ended);
	SIM_CHECK(weft_preempt_word == 0 && weft_detour_word == 0 && wf_sched.computing.v == 0 &&
		  wf_sched.nm == 0);
}

SCENARIO(end_beside_n_call) = {
    .setup = setup_membarrier,
    .threads = {{calls_n, &rig.m[0], false}, {ender, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_END_NO_FENCE)},
};

SCENARIO(end_beside_n_call_fenced) = {
    .setup = setup_fence,
    .threads = {{calls_n, &rig.m[0], false}, {ender, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_END_NO_FENCE)},
};

SCENARIO(end_beside_b_call) = {
    .setup = setup_membarrier,
    .threads = {{calls_nb, &rig.m[0], false}, {ender, NULL, false}},
    .check_end = check_end,
};

SCENARIO(end_beside_b_call_fenced) = {
    .setup = setup_fence,
    .threads = {{calls_nb, &rig.m[0], false}, {ender, NULL, false}},
    .check_end = check_end,
};
