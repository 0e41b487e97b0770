/* SPDX-License-Identifier: MIT */
/*
 * switch.h: leave one context, arrive in another, and tell the sanitizers. Only inplace.h, park.c,
 * spawn.c and loop.c switch.
 */
#ifndef WF_SCHED_SWITCH_H
#define WF_SCHED_SWITCH_H

#include "arch/ctx.h"
#include "base/sanitizer.h"
#include "core/stack.h"
#include "sched/gather.h"
#include "sched/sched.h"

/* Holder of the P. The G gets its stack now that it first runs. */
WF_INLINE void
wf_bind_stack(struct wf_p *p, struct wf_g *g)
{
	g->stack = wf_stack_take(p, g->stack_class);
#ifdef WF_TSAN
	g->san = wf_tsan_create();
#endif
}

/* Holder of p. Runnext, which inherits the slice, or the head of the ring. */
WF_INLINE struct wf_g *
wf_pick_local(struct wf_p *p, bool *inherit)
{
	struct wf_g *g = wf_runq_get_next(&p->runq);

	if (g) {
		*inherit = true;
		p->chain++;
	} else {
		g = wf_runq_get_ring(&p->runq);
		if (!g && !wf_forkq_empty(&p->forkq))
			g = wf_forkq_pop(&p->forkq); /* the newest: depth first */
		if (!g)
			return NULL;
		p->chain = 0;
	}
	if (!at_load_rlx(&p->lone_local)) /* rlx: a heuristic */
		at_store_rlx(&p->lone_local, 1);
	return g;
}

/* What may run next without asking g0: NULL sends the caller there. */
WF_INLINE struct wf_g *
wf_pick_direct(struct wf_m *m, struct wf_p *p)
{
	bool inherit = false;
	struct wf_g *next;

	/* rlx: a request that is seen late is repeated by the stopper; PRIO-1 */
	if (unlikely(p->fair == 0 || at_load_rlx(&m->lease) > WF_FENCED ||
		     (m->pinned && !WF_MUTANT(MUT_PIN_DIRECT)) || /* PIN-1 */
		     at_load_rlx(&wf_sched.due)))
		return NULL;
	next = wf_pick_local(p, &inherit);
	if (!next)
		return NULL;
	if (!inherit) {
		at_bump(&p->tick, 1); /* rlx: the monitor only compares */
		p->fair--;
	}
	return next;
}

/* A goroutine that gave way goes to the tail of the local queue. */
WF_INLINE void
wf_requeue(struct wf_m *m, struct wf_p *p, struct wf_g *g)
{
	if (unlikely((g->flags & (WF_G_IDLE | WF_G_PINNED)) ||
		     wf_runq_fill(&p->runq) >= WF_RUNQ_SIZE)) {
		wf_requeue_rare(m, p, g);
		return;
	}
	if (wf_is_quiet(p))
		wf_runq_put_room(&p->runq, g);
	else if (!wf_runq_put_beside(&p->runq, g)) /* IDLE-5 */
		wf_submitted(m);
}

/* The first act of whoever arrives on m: what m->pending says is done (PARK-2). */
WF_INLINE void
wf_arrived(struct wf_m *m)
{
	enum wf_pending what = m->pending;

	m->pending = WF_PEND_NONE;
	if (likely(what == WF_PEND_PARKING)) {
		wf_g_left(m->pending_g); /* PARK-4 */
	} else if (what == WF_PEND_YIELD) {
		wf_g_yielded(m->pending_g); /* GST-1 */
		wf_requeue(m, wf_m_p(m), m->pending_g);
	} else if (what == WF_PEND_PARK) {
		struct wf_g *g = m->pending_g;

		wf_g_waits(g); /* PARK-1 */
		m->commit(g, m->commit_arg);
	} else {
		wf_arrived_rare(m, what);
	}
}

/* From the goroutine whose context goes to *save (from NULL: from g0) to goroutine `to`, which
   is RUNNING and m->g already. asan_save NULL: the context left is never entered again. */
WF_INLINE struct wf_m *
wf_switch_to_g(struct wf_m *m, void **save, void **asan_save, struct wf_g *to)
{
	bool fresh = to->stack == NULL;

	if (fresh)
		wf_bind_stack(wf_m_p(m), to);
	wf_asan_leave(asan_save, to->stack, wf_stack_bytes(to->stack_class));
	wf_tsan_switch(to->san);
	(void)asan_save;
	if (fresh)
		return wf_ctx_start(save, wf_stack_top(to->stack, to->stack_class), wf_g_main, m);
	return wf_ctx_switch(save, to->sp, m);
}

WF_INLINE struct wf_m *
wf_switch_to_g0(struct wf_m *m, void **save, void **asan_save)
{
	wf_asan_leave(asan_save, m->g0_lo, m->g0_bytes);
	wf_tsan_switch(m->tsan_fiber);
	(void)asan_save;
	return wf_ctx_switch(save, m->g0_sp, m);
}

#endif
