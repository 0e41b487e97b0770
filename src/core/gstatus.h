/* SPDX-License-Identifier: MIT */
/*
 * gstatus.h: the states of a goroutine. The only writer of g->status.
 *
 *   state     who owns the G and its stack                     on a queue
 *   FREE      the pool                                         free list
 *   RUNNABLE  whoever holds the queue; no M uses the stack     yes
 *   RUNNING   the M whose m->g it is                           no
 *   PARKING   the same; its waker waits until it has left      only a wait queue
 *   WAITING   whoever claims it; no M uses the stack           only wait queues
 *   DEAD      the M that still stands on its stack             no
 *
 *   from -> to           function            by
 *   FREE -> RUNNABLE     wf_g_born           the spawner
 *   RUNNABLE -> RUNNING  wf_g_runs           the M that took it from a queue
 *   RUNNING -> RUNNABLE  wf_g_yielded        the arriving side, context saved      (GST-1)
 *   RUNNING -> WAITING   wf_g_waits          the arriving side, context saved      (GST-1)
 *   RUNNING -> PARKING   wf_g_parks          the G itself, before wakers can find it
 *   PARKING -> WAITING   wf_g_left           the arriving side, context saved      (GST-1)
 *   WAITING -> RUNNABLE  wf_g_readied        the one waker that claimed it         (GST-2)
 *   WAITING -> RUNNING   wf_g_resumes        the same, which runs it at once: both steps in one
 *   RUNNING -> DEAD      wf_g_dies           the G itself
 *   any -> FREE          wf_g_freed          the M that left its stack, or the end of the run
 *
 * GST-1: RUNNABLE and WAITING are stored only after the context is saved, so whoever sees them
 *        may run the G.
 * GST-2: exactly one waker stores RUNNABLE for each wait.
 * GST-3: each change has one owner, so a plain load and store do; the old state is checked.
 * GST-4: between PARKING and WAITING the next goroutine is picked, may get its stack, and is
 *        switched to. That waits for no goroutine, and for no lock that is held when one is readied:
 *        so a waker may wait for its end.
 */
#ifndef WF_CORE_GSTATUS_H
#define WF_CORE_GSTATUS_H

#include "base/check.h"
#include "core/g.h"
#include "core/tracepoint.h"

#define WF_GSTATES(X)                                                                              \
	X(WF_FREE, "free")                                                                         \
	X(WF_RUNNABLE, "runnable")                                                                 \
	X(WF_RUNNING, "running")                                                                   \
	X(WF_PARKING, "parking")                                                                   \
	X(WF_WAITING, "waiting")                                                                   \
	X(WF_DEAD, "dead")

enum wf_gstate {
#define X(id, text) id,
	WF_GSTATES(X)
#undef X
};

WF_INLINE enum wf_gstate
wf_g_state(const struct wf_g *g)
{
	/* acq: what the owner wrote before the change (context, result) */
	return (enum wf_gstate)at_load_acq(&g->status);
}

/* To be told to people: who is PARKING is still on its stack. */
WF_INLINE enum wf_gstate
wf_g_state_told(const struct wf_g *g)
{
	enum wf_gstate state = wf_g_state(g);

	return state == WF_PARKING ? WF_RUNNING : state;
}

/* Where nobody traces. */
WF_INLINE void
wf_g_change_untraced(struct wf_g *g, enum wf_gstate from, enum wf_gstate to)
{
	CHECK(at_load_rlx(&g->status) == (uint32_t)from); /* rlx: GST-3, we own the change */
	at_store_rel(&g->status, (uint32_t)to); /* rel: the context; pairs with wf_g_state */
}

WF_INLINE void
wf_g_change(struct wf_g *g, enum wf_gstate from, enum wf_gstate to)
{
	wf_trace(WF_TR_G, (int)to, g);
	wf_g_change_untraced(g, from, to);
}

#define wf_g_born(g)    wf_g_change(g, WF_FREE, WF_RUNNABLE)
#define wf_g_runs(g)    wf_g_change(g, WF_RUNNABLE, WF_RUNNING)
#define wf_g_yielded(g) wf_g_change(g, WF_RUNNING, WF_RUNNABLE)
#define wf_g_waits(g)   wf_g_change(g, WF_RUNNING, WF_WAITING)
#define wf_g_left(g)    wf_g_change(g, WF_PARKING, WF_WAITING)
#define wf_g_readied(g) wf_g_change(g, WF_WAITING, WF_RUNNABLE)
#define wf_g_dies(g)    wf_g_change(g, WF_RUNNING, WF_DEAD)

/* By the waker that runs it at once: nobody could see what is between. */
WF_INLINE void
wf_g_resumes(struct wf_g *g)
{
	wf_trace(WF_TR_G, WF_RUNNABLE, g);
	wf_trace(WF_TR_G, WF_RUNNING, g);
	wf_g_change_untraced(g, WF_WAITING, WF_RUNNING);
}

/* By the running goroutine, on its way to wait; not traced: to wait begins with WAITING. */
WF_INLINE void
wf_g_parks(struct wf_g *g)
{
	ASSERT(at_load_rlx(&g->status) == WF_RUNNING); /* rlx: GST-3 */
	at_store_rel(&g->status, WF_PARKING);          /* rel: before wakers can find it */
}

WF_INLINE void
wf_g_freed(struct wf_g *g)
{
	wf_trace(WF_TR_G, WF_FREE, g);
	at_store_rel(&g->status, WF_FREE); /* rel: nobody else looks, but dumps read it */
}

#endif
