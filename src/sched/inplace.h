/* SPDX-License-Identifier: MIT */
/*
 * inplace.h: park and ready with their common cases in the caller; the rules are in park.h. For the
 * few callers that do little else: a frame less between a call and its switch is a return less that
 * the processor predicts by the calls of whoever ran before.
 */
#ifndef WF_SCHED_INPLACE_H
#define WF_SCHED_INPLACE_H

#include "sched/park.h"
#include "sched/switch.h"

/* A goroutine has come back to its own stack: the thread may be another one. Nothing but m, which
   came with the switch, is needed: what is kept across it is written to memory first. SELF-1 */
WF_INLINE struct wf_m *
wf_resumed(struct wf_m *m)
{
	struct wf_g *g = m->g;

	wf_asan_arrive(g->san, NULL, NULL);
	wf_arrived(m);
	wf_tsan_acquire(g); /* what the waker did; pairs with wf_ready */
	*m->errno_address = g->errno_saved;
	return m;
}

WF_INLINE struct wf_m *
wf_leave_for(struct wf_m *m, struct wf_g *g, struct wf_g *next)
{
	return next ? wf_switch_to_g(m, &g->sp, &g->san, next)
		    : wf_switch_to_g0(m, &g->sp, &g->san);
}

/* The same for a goroutine that takes thread state along. */
struct wf_m *wf_leave_saving(struct wf_m *m, struct wf_g *g, struct wf_g *next);

/* Leave the running goroutine for the next one or g0; returns when it runs again. */
WF_INLINE struct wf_m *
wf_switch_away(struct wf_m *m, struct wf_p *p, enum wf_pending how, bool direct)
{
	struct wf_g *g = m->g, *next = direct ? wf_pick_direct(m, p) : NULL;

	ASSERT(m->pending == WF_PEND_NONE);
	m->pending = how;
	m->pending_g = g;
	g->errno_saved = (int16_t)*m->errno_address;
	wf_tsan_release(g); /* for who drops it at the end of the run: wf_g_drop */
	m->g = next;
	if (next) {
		wf_g_runs(next);
		at_bump(&p->n_switches, 1); /* rlx: a counter */
	}
	if (unlikely(g->save))
		return wf_leave_saving(m, g, next);
	return wf_resumed(wf_leave_for(m, g, next));
}

/* By the holder of p. */
WF_INLINE struct wf_m *
wf_park_how(struct wf_m *m, struct wf_p *p, enum wf_pending how, enum wf_reason why,
	    const void *object)
{
	struct wf_g *g = m->g;

	g->reason = (uint8_t)why;
	g->wait_on = object;
	g->since_ns = (int64_t)at_load_rlx(&wf_sched.coarse_ns); /* rlx: only shown to people */
	at_bump(&p->n_parks, 1);                                 /* rlx: a counter */
	m = wf_switch_away(m, p, how, true);
	m->g->reason = WF_WAIT_NONE;
	return m;
}

/* As wf_park, by a goroutine. Where it matters how many frames lie between a call and its switch. */
WF_INLINE struct wf_m *
wf_park_here(struct wf_m *m, wf_commit_fn *commit, void *arg, enum wf_reason why,
	     const void *object)
{
	struct wf_p *p = wf_m_p(m);

	if (WF_MUTANT(MUT_PARK_COMMIT_EARLY)) {
		wf_g_waits(m->g); /* a mutant: reachable before its context is saved */
		commit(m->g, arg);
		return wf_park_how(m, p, WF_PEND_NONE, why, object);
	}
	m->commit = commit;
	m->commit_arg = arg;
	return wf_park_how(m, p, WF_PEND_PARK, why, object);
}

/* The same without a commit: who wakes the goroutine can find it already. PARK-4 */
WF_INLINE struct wf_m *
wf_park_parking(struct wf_m *m, struct wf_p *p, enum wf_reason why, const void *object)
{
	ASSERT(wf_g_state(m->g) == WF_PARKING || WF_MUTANT(MUT_PARK_UNSAID));
	if (WF_MUTANT(MUT_PARK_UNSAID))
		wf_g_parks(m->g); /* a mutant: others may have found it RUNNING */
	return wf_park_how(m, p, WF_PEND_PARKING, why, object);
}

void wf_await_left(const struct wf_g *g);

/* By the one who has claimed g: it may not have left its stack yet. PARK-4 */
WF_INLINE void
wf_let_leave(const struct wf_g *g)
{
	if (unlikely(wf_g_state(g) == WF_PARKING) && !WF_MUTANT(MUT_PARK_READY_EARLY))
		wf_await_left(g);
}

/* A G has been queued at p, the caller's; lone: there is no other. Is wf_submitted to be called? A lone
   G that this P keeps running itself is not worth a thread: waking one takes longer. If it does stay,
   the monitor or a spinner finds it, and the bit is cleared. */
WF_INLINE bool
wf_worth_waking(const struct wf_p *p, bool lone)
{
	return !((lone && at_load_rlx(&p->lone_local)) || wf_is_quiet(p)); /* rlx: a heuristic */
}

WF_INLINE void
wf_queued(struct wf_m *m, const struct wf_p *p, bool lone)
{
	if (wf_worth_waking(p, lone))
		wf_submitted(m);
}

/* What a publication leaves to do. */
enum wf_put {
	WF_PUT_FULL, /* all: there is no room */
	WF_PUT_TELL, /* wf_submitted is to be called */
	WF_PUT_DONE,
};

/* By the holder of p. A new G whose parent, which runs there, is going to wait for it. */
WF_INLINE enum wf_put
wf_put_fork(struct wf_p *p, struct wf_g *g)
{
	bool beside = true;

	if (wf_is_quiet(p) ? !wf_forkq_push(&p->forkq, g)
			   : !wf_forkq_push_beside(&p->forkq, g, &beside))
		return WF_PUT_FULL;
	return beside ? WF_PUT_DONE : WF_PUT_TELL; /* IDLE-5 */
}

/* By the holder of p. Any other new G, unless it is of a class. */
WF_INLINE enum wf_put
wf_put_new(struct wf_p *p, struct wf_g *g)
{
	uint32_t n = wf_runq_fill(&p->runq);
	bool told = true;

	if (unlikely(n >= WF_RUNQ_SIZE))
		return WF_PUT_FULL;
	p->chain = 0;
	if (wf_is_quiet(p)) {
		wf_runq_put_room(&p->runq, g);
	} else if (n < WF_BESIDE) {
		wf_runq_put_room(&p->runq, g);
		/* rlx: only thieves change it */
		told = !wf_worth_waking(p, n == 0 && at_load_rlx(&p->runq.next) == NULL);
	} else {
		told = wf_runq_put_beside(&p->runq, g); /* IDLE-5 */
	}
	return told ? WF_PUT_DONE : WF_PUT_TELL;
}

/* Is the order of the queues to be random, here? */
WF_INLINE bool
wf_randomizes(struct wf_m *m)
{
#ifdef WF_TORTURE
	return wf_sched.randomize && (wf_rand64(&m->rand) & 1); /* both ways are tried */
#else
	(void)m;
	return wf_sched.randomize;
#endif
}

/* Does g go to p's runnext, and is there room for the one that is there? Then wf_submit has nothing to
   decide. */
WF_INLINE bool
wf_is_plain_next(struct wf_m *m, const struct wf_p *p, const struct wf_g *g)
{
	return likely(p && !(g->flags & (WF_G_THREAD | WF_G_CLASSES | WF_G_PINNED)) && !m->pinned &&
		      p->chain < WF_CHAIN_MAX && wf_runq_fill(&p->runq) < WF_RUNQ_SIZE &&
		      !wf_randomizes(m));
}

/* That, of a goroutine that the caller has claimed, and let leave. True: wf_submitted is to be called. */
WF_INLINE bool
wf_ready_untraced(struct wf_p *p, struct wf_g *g)
{
	bool lone = wf_runq_len(&p->runq) == 0;
	struct wf_g *old;

	wf_tsan_release(g);
	/* PARK-3, CLAIM-2, GST-2: its CHECK finds a second waker */
	wf_g_change_untraced(g, WF_WAITING, WF_RUNNABLE);
	at_bump(&p->n_readies, 1); /* rlx: a counter */
	old = wf_runq_swap_next(&p->runq, g);
	if (old)
		wf_runq_put_room(&p->runq, old);
	return wf_worth_waking(p, lone && !old);
}

WF_INLINE void
wf_ready_next(struct wf_m *m, struct wf_p *p, struct wf_g *g)
{
	wf_let_leave(g);
	wf_trace(WF_TR_G, WF_RUNNABLE, g);
	if (wf_ready_untraced(p, g))
		wf_submitted(m);
}

/* As wf_ready, with its common case in the caller. */
WF_INLINE void
wf_ready_here(struct wf_m *m, struct wf_g *g)
{
	struct wf_p *p = wf_m_p(m);

	if (wf_is_plain_next(m, p, g))
		wf_ready_next(m, p, g);
	else
		wf_ready(m, g);
}

#endif
