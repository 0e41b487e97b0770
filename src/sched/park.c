/* SPDX-License-Identifier: MIT */
/*
 * park.c: park, ready, yield: the one blocking protocol; its rules are in park.h.
 *
 * A goroutine that stops running looks for the next one itself, in the local queue, and
 * switches to it directly; only if there is none, or something else is due (a stopped world, the
 * fairness tick), does g0 run. The price is m->pending: what must happen to the goroutine that
 * was left, done by the one that arrives (PARK-2).
 */
#include "sched/inplace.h"
#include "sched/pin.h"
#include "sched/save.h"

/* The cases of wf_arrived that are not worth inlining. */
void
wf_arrived_rare(struct wf_m *m, enum wf_pending what)
{
	struct wf_g *g = m->pending_g;

	switch (what) {
	case WF_PEND_GLOBAL:
		wf_g_yielded(g);
		wf_submit(m, NULL, g, false);
		break;
	case WF_PEND_DEAD:
		wf_g_bury(m, g);
		break;
	case WF_PEND_OVER:
		wf_g_drop(m, g);
		break;
	default: /* NONE: g0 has nothing to do */
		break;
	}
}

/* wf_requeue where the ring is full, or another queue is meant. */
void
wf_requeue_rare(struct wf_m *m, struct wf_p *p, struct wf_g *g)
{
	struct wf_glist over = {0};

	if (g->flags & (WF_G_IDLE | WF_G_PINNED)) {
		wf_submit(m, p, g, false);
		return;
	}
	wf_runq_put(&p->runq, g, &over);
	if (over.size > 0 ? !wf_overflow(p, &over) : wf_gather_keeps(p))
		return;
	wf_submitted(m);
}

/* The same for a goroutine that takes thread state along. */
WF_NOINLINE struct wf_m *
wf_leave_saving(struct wf_m *m, struct wf_g *g, struct wf_g *next)
{
	struct wf_saved state;

	wf_save(g, &state);
	m->blocking = false; /* its section goes on when it is back, wherever that is */
	m = wf_resumed(wf_leave_for(m, g, next));
	m->blocking = g->blocking > 0;
	wf_restore(g, &state);
	return m;
}

static uint64_t
wake_at(const struct wf_g *g)
{
	return at_load_rlx(&g->wake_at); /* rlx: the caller's own */
}

/* A plain thread sleeps on its own note. */
static WF_NOINLINE struct wf_m *
park_thread(struct wf_m *m, wf_commit_fn *commit, void *arg, enum wf_reason why, const void *object)
{
	struct wf_g *g = &m->thread_g;

	g->flags = WF_G_THREAD;
	g->reason = (uint8_t)why;
	g->wait_on = object;
	g->since_ns = (int64_t)at_load_rlx(&wf_sched.coarse_ns); /* rlx: only shown to people */
	wf_tsan_release(g);
	wf_g_waits(g); /* PARK-1: there is no context to save */
	commit(g, arg);
	if (wake_at(g) != 0) /* it does not come by find_runnable, as a goroutine's M does */
		wf_timers_armed(m, (int64_t)wake_at(g));
	wf_rest(m);
	wf_note_sleep(&m->note, -1, &m->futexes);
	wf_note_clear(&m->note);
	wf_rest_over(m);
	wf_g_runs(g);
	wf_tsan_acquire(g);
	g->reason = WF_WAIT_NONE;
	at_store_rlx(&g->wake_at, 0); /* rlx: our own; the next wait may have none */
	return m;
}

struct wf_m *
wf_park(struct wf_m *m, wf_commit_fn *commit, void *arg, enum wf_reason why, const void *object)
{
	if (unlikely(!m->g))
		return park_thread(m, commit, arg, why, object);
	return wf_park_here(m, commit, arg, why, object);
}

/* The running goroutine lets others go first. */
struct wf_m *
wf_yield(struct wf_m *m, enum wf_pending how)
{
	return wf_switch_away(m, wf_m_p(m), how, how == WF_PEND_YIELD);
}

/* Of a P that keeps its work: those that have not begun go to its fork queue, as far as there is room. */
static void
keep_fresh(struct wf_p *p, struct wf_glist *over)
{
	struct wf_glist rest = {0};
	struct wf_g *g;

	while ((g = wf_glist_pop(over)))
		if (g->stack || !wf_forkq_push(&p->forkq, g))
			wf_glist_push(&rest, g);
	*over = rest;
}

/* The ring was full. True: some are in the global queue. */
bool
wf_overflow(struct wf_p *p, struct wf_glist *over)
{
	at_bump(&p->n_overflows, 1); /* rlx: a counter */
	if (wf_gather_keeps(p))
		keep_fresh(p, over);
	if (over->size == 0)
		return false;
	at_store_rlx(&wf_sched.overflowed, p); /* rlx: a hint for gather.c */
	wf_globq_put_batch(&wf_globq, over);
	return true;
}

/* The same, for a G that does not belong in the local queue. */
WF_COLD static void
submit_apart(struct wf_m *m, struct wf_p *p, struct wf_g *g, bool next)
{
	if ((g->flags & WF_G_PINNED) && !WF_MUTANT(MUT_PIN_QUEUED)) {
		wf_pin_submit(m, p, g, next);
		return;
	}
	if (g->flags & WF_G_CLASSES) {
		wf_class_submit(m, g);
		return;
	}
	wf_globq_put(&wf_globq, g); /* a mutant only */
	wf_submitted(m);
}

/* A G that is RUNNABLE and in hand becomes findable; then somebody is woken if need be. */
void
wf_submit(struct wf_m *m, struct wf_p *p, struct wf_g *g, bool next)
{
	struct wf_glist over = {0};
	bool lone;

	if (unlikely(g->flags & (WF_G_CLASSES | WF_G_PINNED))) {
		submit_apart(m, p, g, next);
		return;
	}
	if (unlikely(!p || m->pinned)) { /* a pinned M's P leaves it before anybody runs there */
		if (p)
			p->fair = 0; /* who gets it looks there first */
		wf_globq_put(&wf_globq, g);
		wf_submitted(m);
		return;
	}
	if (unlikely(wf_sched.randomize) && next)
		next = wf_rand64(&m->rand) & 1;
	lone = wf_runq_len(&p->runq) == 0;
	if (next && p->chain < WF_CHAIN_MAX) {
		lone &= wf_runq_put_next(&p->runq, g, &over);
	} else {
		p->chain = 0;
		lone = lone && at_load_rlx(&p->runq.next) == NULL; /* rlx: only thieves change it */
		wf_runq_put(&p->runq, g, &over);
	}
	if (unlikely(over.size > 0)) {
		if (wf_overflow(p, &over) && !WF_MUTANT(MUT_GATHER_OVER_MUTE))
			wf_submitted(m); /* GATH-1 */
	} else {
		wf_queued(m, p, lone);
	}
}

/* The same for many, normal ones, behind all others. Those that find no room at p follow in the global
   queue: what is queued here already does not go behind them. */
void
wf_submit_all(struct wf_m *m, struct wf_p *p, struct wf_glist *l)
{
	bool lone;

	if (l->size == 0)
		return;
	if (likely(p && !m->pinned)) {
		p->chain = 0;
		/* rlx: only thieves change it */
		lone = l->size == 1 && wf_runq_len(&p->runq) == 0 &&
		       at_load_rlx(&p->runq.next) == NULL;
		wf_runq_put_batch(&p->runq, l);
		if (likely(l->size == 0)) {
			wf_queued(m, p, lone);
			return;
		}
	} else if (p) {
		p->fair = 0; /* as in wf_submit */
	}
	wf_globq_put_batch(&wf_globq, l);
	wf_submitted(m);
}

/* It is about to (GST-4), unless its thread has lost its CPU. */
WF_NOINLINE void
wf_await_left(const struct wf_g *g)
{
	for (unsigned tries = 0; wf_g_state(g) == WF_PARKING; tries++)
		wf_back_off(tries);
}

void
wf_ready(struct wf_m *m, struct wf_g *g)
{
	struct wf_p *p = wf_m_p(m);

	if (wf_is_plain_next(m, p, g)) {
		wf_ready_next(m, p, g);
		return;
	}
	wf_let_leave(g);
	wf_tsan_release(g);
	wf_g_readied(g); /* as in wf_ready_next */
	wf_count(p, n_readies, 1);
	if (g->flags & WF_G_THREAD)
		wf_note_wake(&container_of(g, struct wf_m, thread_g)->note);
	else
		wf_submit(m, p, g, true);
}

/* Nobody else could run here: then a yield need not leave its stack. */
WF_INLINE bool
alone(struct wf_m *m)
{
	struct wf_p *p = wf_m_p(m);

	/* rlx: work that comes meanwhile is seen at the next yield */
	return wf_runq_len(&p->runq) == 0 && at_load_rlx(&p->runq.next) == NULL &&
	       wf_forkq_empty(&p->forkq) && wf_globq_size(&wf_globq) == 0 &&
	       at_load_rlx(&m->lease) <= WF_FENCED && !at_load_rlx(&wf_sched.due) &&
	       wf_globq_size(&wf_pinq) == 0 && !(m->g->flags & WF_G_IDLE) && !wf_timers_due(p);
}

struct wf_m *
wf_give_way(struct wf_m *m)
{
	if (m->plain)
		os_yield();
	else if (!alone(m))
		m = wf_yield(m, WF_PEND_YIELD);
	return m;
}

static WF_NOINLINE void
yield_to_next(struct wf_m *m)
{
	wf_leave(wf_switch_away(m, wf_m_p(m), WF_PEND_YIELD, true));
}

static WF_NOINLINE void
yield(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	if (m)
		wf_leave(wf_give_way(m));
}

WF_EXPORT void
weft_yield(void)
{
	struct wf_m *m = wf_m();

	if (unlikely(!wf_enter_at_once(m)))
		yield();
	else if (likely(wf_runq_len(&wf_m_p(m)->runq) > 0))
		yield_to_next(m); /* somebody waits here */
	else
		wf_leave(wf_give_way(m));
}

WF_EXPORT void
weft_checkpoint_slow(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B); /* gives way, or gets a P again, on the slow path */

	if (!m)
		return;
	if (m->g && wf_urgent_wants(m))
		m = wf_yield(m, WF_PEND_YIELD);
	wf_leave(m);
}
