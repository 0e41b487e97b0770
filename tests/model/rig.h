/* SPDX-License-Identifier: MIT */
/*
 * rig.h: what scenarios on the scheduler's files need when init.c is not linked (nor thread.c, as a rule):
 * the scheduler's state, who runs on which simulated thread, and Ms made by hand.
 */
#ifndef WF_TESTS_RIG_H
#define WF_TESTS_RIG_H

#include "explore.h"
#include "os_sim.h"

#include "sched/netpoll.h"
#include "sched/sched.h"
#include "sched/steal.h"

#include <string.h>

enum { RIG_MS = 7, RIG_PS = 3, RIG_GS = 10 };

struct wf_sched wf_sched;
wf_trace_fn *wf_trace_hook;
#ifndef RIG_THREAD_C /* thread.c has it */
struct wf_m wf_m_unknown;
#endif

#ifndef RIG_TIMERS_C /* timers.c has them */
bool
wf_timers_run_due(struct wf_m *m)
{
	(void)m;
	return false;
}

int64_t
wf_timers_unattended(void)
{
	return WF_NEVER;
}

bool
wf_timers_live(void)
{
	return false;
}

bool
wf_attend_begin(struct wf_m *m)
{
	(void)m;
	return false;
}

void
wf_attend_recheck(void)
{
}

void
wf_attend_break(int64_t when)
{
	(void)when;
}

struct wf_m *
wf_attend_take(void)
{
	return NULL;
}
#endif

#ifndef RIG_NETPOLL_C /* netpoll.c has them, and poll.c */
struct wf_poll wf_poll;

bool
wf_netpoll_unattended(void)
{
	return false;
}

bool
wf_netpoll(struct wf_m *m)
{
	(void)m;
	return false;
}

void
wf_netpoll_tick(struct wf_m *m)
{
	(void)m;
}

void
wf_netpoll_begin(void)
{
}

void
wf_netpoll_end(struct wf_m *m, const struct wf_events *events)
{
	(void)m, (void)events;
}

void
wf_poll_break(void)
{
}
#endif

static struct {
	struct wf_m m[RIG_MS];
	struct wf_p p[RIG_PS];
	struct wf_g g[RIG_GS];
	struct wf_m *spare[RIG_MS];
	unsigned spares; /* Ms that have no thread yet */
} rig;

struct wf_m *
wf_m(void)
{
	struct wf_m *m = *sim_local();
	return m ? m : &wf_m_unknown;
}

void
wf_m_set(struct wf_m *m)
{
	*sim_local() = m;
}

static WF_UNUSED uint32_t *
rig_held_ranks(void)
{
	return sim_self() < 0 || !*sim_local() ? NULL : &wf_m()->held_ranks;
}

/* In setup: m has been in many sections, and nobody came by its door; if one does it shuts it again. */
static WF_UNUSED void
rig_shut(struct wf_m *m)
{
	m->door.state.v = WF_DOOR_SHUT;
	m->door.patience = 1;
	m->said_p = wf_m_p(m);
	for (uint32_t i = 0; i < RIG_PS; i++)
		wf_sched.offer_mask[0].v |= UINT64_C(1) << i;
}

/* In setup: nothing runs, procs Ps exist and are in hand. */
static WF_UNUSED void
rig_reset(uint32_t procs)
{
	os_sim_reset();
	memset(&rig, 0, sizeof(rig));
	memset(&wf_sched, 0, offsetof(struct wf_sched, allp));
	memset(&wf_m_unknown, 0, sizeof(wf_m_unknown));
	memset(&wf_globq.list, 0, sizeof(wf_globq.list));
	memset(&wf_globq.fresh, 0, sizeof(wf_globq.fresh));
	wf_globq.fresh_turn = false;
	memset(&wf_idleq.list, 0, sizeof(wf_idleq.list));
	memset(&wf_urgentq.list, 0, sizeof(wf_urgentq.list));
	wf_globq.size.v = wf_idleq.size.v = wf_urgentq.size.v = 0;
	wf_globq.lock.word.v = wf_idleq.lock.word.v = wf_urgentq.lock.word.v = 0;
	wf_sched.lock.rank = WF_RANK_SCHED;
	wf_sched.held = WF_HELD;
	wf_sched.fenced = false;
	wf_sched.reap_ns = INT64_C(5000000000); /* it never comes here: see os_sim.c */
	wf_sched.phase.v = WF_UP;
	wf_sched.procs.v = procs;
	wf_held_ranks_hook = rig_held_ranks;
	sim_name(&wf_sched.nmspinning, "nmspinning");
	sim_name(&wf_sched.need_spinning, "need_spinning");
	sim_name(&wf_sched.idle_mask[0], "idle_mask");
	sim_name(&wf_sched.npidle, "npidle");
	sim_name(&wf_sched.stopping, "stopping");
	sim_name(&wf_sched.lock.word, "sched.lock");
	sim_name(&wf_globq.lock.word, "globq.lock");
	sim_name(&wf_globq.size, "globq.size");
	sim_name(&wf_idleq.size, "idleq.size");
	sim_name(&wf_urgentq.size, "urgentq.size");
	sim_name(&wf_sched.due, "due");
	for (uint32_t i = 0; i < RIG_PS; i++) {
		struct wf_p *p = &rig.p[i];

		p->id = i;
		p->state.v = WF_P_STOPPED;
		wf_sched.allp[i] = p;
		sim_name(&p->runq.head, "p%u.head", i);
		sim_name(&p->runq.tail, "p%u.tail", i);
		sim_name(&p->runq.next, "p%u.next", i);
		sim_name(&p->tick, "p%u.tick", i);
		sim_name(&p->state, "p%u.state", i);
		sim_name(&p->m, "p%u.m", i);
	}
	wf_sched.np_made = procs;
	for (uint32_t i = 0; i < RIG_MS; i++) {
		struct wf_m *m = &rig.m[i];

		m->id = i;
		m->in_rt.v = 1;
		m->rand.s = i;
		m->errno_address = os_errno_address();
		m->door.state.v = WF_DOOR_OPEN; /* and is not shut: see rig_shut */
		m->door.patience = UINT32_MAX;
		sim_name(&m->door.state, "m%u.door", i);
		sim_name(&m->door.busy, "m%u.busy", i);
		sim_name(&m->in_rt, "m%u.in_rt", i);
		sim_name(&m->lease, "m%u.lease", i);
		sim_name(&m->urged_tick, "m%u.urged_tick", i);
		sim_name(&m->p, "m%u.p", i);
		sim_name(&m->note.word, "m%u.note", i);
	}
	for (int i = 0; i < RIG_GS; i++)
		sim_name(&rig.g[i].status, "g%d.status", i);
}

/* In setup: m holds p. */
static WF_UNUSED void
rig_hold(struct wf_m *m, struct wf_p *p)
{
	m->lease.v = wf_sched.held;
	m->p.v = m->old_p = p;
	p->m.v = m;
	p->state.v = WF_P_RUNNING;
}

/* In setup: p is idle. */
static WF_UNUSED void
rig_idle(struct wf_p *p)
{
	p->state.v = WF_P_IDLE;
	wf_sched.idle_mask[0].v |= UINT64_C(1) << p->id;
	wf_sched.npidle.v++;
}

#ifdef RIG_STARTS_MS

/* ---- Ms: thread.c's order of events, without its books */

static void
rig_m_main(void *arg)
{
	struct wf_m *m = arg;

	wf_m_set(m);
	if (m->nextp) {
		wf_p_acquire(m, m->nextp);
		m->nextp = NULL;
	}
	wf_m_loop(m);
}

int
wf_m_start(struct wf_m *m, struct wf_p *p, bool spinning)
{
	struct wf_m *t;

	(void)m;
	wf_lock(&wf_sched.lock);
	t = wf_sched.idle_ms;
	if (t) {
		wf_sched.idle_ms = t->idle_next;
		t->nextp = p;
		t->spinning = spinning;
		wf_unlock(&wf_sched.lock);
		wf_note_wake(&t->note);
		return 0;
	}
	SIM_CHECK(rig.spares > 0);
	t = rig.spare[--rig.spares];
	wf_unlock(&wf_sched.lock);
	t->nextp = p;
	t->spinning = spinning;
	sim_thread(rig_m_main, t);
	return 0;
}

bool
wf_m_stop(struct wf_m *m)
{
	uint64_t futexes = 0;

	SIM_CHECK(!m->spinning && wf_m_p(m) == NULL);
	wf_lock(&wf_sched.lock);
#ifdef RIG_TIMERS_C
	while (wf_attend_begin(m)) {
		wf_unlock(&wf_sched.lock);
		if (wf_attend(m))
			return true;
		wf_lock(&wf_sched.lock);
	}
#endif
	m->idle_next = wf_sched.idle_ms;
	wf_sched.idle_ms = m;
	wf_unlock(&wf_sched.lock);
	wf_note_sleep(&m->note, -1, &futexes);
	wf_note_clear(&m->note);
	wf_p_acquire(m, m->nextp);
	m->nextp = NULL;
	return true;
}

#endif

#endif
