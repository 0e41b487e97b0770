/* SPDX-License-Identifier: MIT */
/*
 * forkq.h: children that their parent is going to wait for: a work-stealing deque, one per P.
 *
 * In a fork-join program first-in first-out is the wrong order: every level of the tree would
 * be open at once. So a child whose parent is known to join it soon (spawn.c learns that) goes
 * here instead of the ring: the parent takes it back last in, first out, from the bottom, and
 * runs it while it waits; thieves take the oldest, the largest subtree, from the top. The
 * algorithm is Chase and Lev's with a fixed ring.
 *
 * While its door (door.h) is shut there are no thieves, and the owner needs neither fence nor CAS.
 *
 * FQ-1: slots [top, bottom) hold Gs; only the owner writes slots and bottom.
 * FQ-2: the owner lowers bottom before it looks at top, with a full fence in between, and a
 *       thief reads top before bottom likewise: both see it if only one G is left, and then the
 *       CAS of top decides. If the owner is alone (DOOR-1) there is nothing to decide.
 * FQ-3: a slot is written before the bottom that covers it is released.
 */
#ifndef WF_CORE_FORKQ_H
#define WF_CORE_FORKQ_H

#include "base/mutant.h"
#include "core/door.h"
#include "core/g.h"

#ifdef WF_TINY
enum { WF_FORKQ_SIZE = 4 };
#else
enum { WF_FORKQ_SIZE = 1024 };
#endif
_Static_assert((WF_FORKQ_SIZE & (WF_FORKQ_SIZE - 1)) == 0, "indices wrap by mask");

struct wf_forkq {
	wf_a32 top WF_ALIGNED(WF_CACHE_LINE); /* atomic: written by thieves and the owner */
	struct wf_door door;
	wf_a32 bottom WF_ALIGNED(WF_CACHE_LINE); /* atomic: written by the owner */
	wf_aptr slot[WF_FORKQ_SIZE];
};

#define FORKQ_SLOT(q, i) (&(q)->slot[(i) & (WF_FORKQ_SIZE - 1)])

/* Any M; exact for the owner, and for others after a full fence. */
WF_INLINE bool
wf_forkq_empty(const struct wf_forkq *q)
{
	uint32_t t =
	    at_load_acq(&q->top); /* acq: top before bottom, so that a steal hides nothing */

	return (int32_t)(at_load_acq(&q->bottom) - t) <= 0; /* acq: as above */
}

/* Any M; a hint. */
WF_INLINE uint32_t
wf_forkq_len(const struct wf_forkq *q)
{
	int32_t n = (int32_t)(at_load_rlx(&q->bottom) - at_load_rlx(&q->top)); /* rlx: a hint */

	return n > 0 ? (uint32_t)n : 0;
}

/* Owner. False: full. */
WF_INLINE bool
wf_forkq_push(struct wf_forkq *q, struct wf_g *g)
{
	uint32_t b = at_load_rlx(&q->bottom); /* rlx: only we write it */

	if (b - at_load_acq(&q->top) >= WF_FORKQ_SIZE) /* acq: thieves are done with the slot */
		return false;
	at_store_rlx(FORKQ_SLOT(q, b), (void *)g); /* rlx: FQ-1; published by bottom */
	at_store_rel(&q->bottom, b + 1);           /* rel: FQ-3 */
	return true;
}

/* The same. *beside: as in wf_runq_put_beside. */
WF_INLINE bool
wf_forkq_push_beside(struct wf_forkq *q, struct wf_g *g, bool *beside)
{
	bool alone = wf_door_alone(&q->door), pushed;

	*beside = (alone && wf_forkq_len(q) >= WF_BESIDE) || WF_MUTANT(MUT_IDLE_BESIDE_NOBODY);
	pushed = wf_forkq_push(q, g);
	if (alone)
		wf_door_done(&q->door);
	return pushed;
}

/* Owner: what pop would return, if no thief is faster. It may be stolen, run and over already:
   only its memory is sure to be a G. */
WF_INLINE struct wf_g *
wf_forkq_peek(const struct wf_forkq *q)
{
	uint32_t b = at_load_rlx(&q->bottom); /* rlx: only we write it */

	if ((int32_t)(b - at_load_rlx(&q->top)) <= 0) /* rlx: a hint */
		return NULL;
	return at_load_rlx(FORKQ_SLOT(q, b - 1)); /* rlx: we wrote it */
}

/* Owner, alone: the newest or the oldest. */
WF_INLINE struct wf_g *
wf_forkq_take_alone(struct wf_forkq *q, bool oldest)
{
	/* rlx: nobody else is there; published by the door */
	uint32_t b = at_load_rlx(&q->bottom), t = at_load_rlx(&q->top);

	if (b == t)
		return NULL;
	if (oldest) {
		at_store_rel(&q->top, t + 1); /* rel: as a thief's CAS, for wf_forkq_empty */
		return at_load_rlx(FORKQ_SLOT(q, t)); /* rlx: we wrote it */
	}
	at_store_rel(&q->bottom, b - 1);          /* rel: FQ-3 */
	return at_load_rlx(FORKQ_SLOT(q, b - 1)); /* rlx: we wrote it */
}

/* Owner: the newest. */
WF_INLINE struct wf_g *
wf_forkq_pop(struct wf_forkq *q)
{
	uint32_t b = at_load_rlx(&q->bottom) - 1, t; /* rlx: only we write it */
	struct wf_g *g;

	if (likely(wf_door_alone(&q->door))) {
		g = wf_forkq_take_alone(q, false);
		wf_door_done(&q->door);
		return g;
	}
	/* rel: FQ-3, for a thief that reads this value; the fence orders it */
	at_store_rel(&q->bottom, b);
	if (!WF_MUTANT(MUT_FORKQ_POP_NO_FENCE))
		fence_seq();      /* FQ-2 */
	t = at_load_rlx(&q->top); /* rlx: fenced */
	if ((int32_t)(b - t) < 0) {
		at_store_rel(&q->bottom, b + 1); /* rel: it was empty, and is; FQ-3 */
		return NULL;
	}
	g = at_load_rlx(FORKQ_SLOT(q, b)); /* rlx: we wrote it */
	if (b != t)
		return g;
	if (!at_cas_acqrel(&q->top, &t, t + 1)) /* acqrel: the last one; FQ-2 */
		g = NULL;
	at_store_rel(&q->bottom, b + 1); /* rel: empty either way; FQ-3 */
	return g;
}

/* Owner, or a thief inside the door: the oldest, or NULL if there is none or another one was faster. */
WF_INLINE struct wf_g *
wf_forkq_grab(struct wf_forkq *q)
{
	uint32_t t = at_load_acq(&q->top); /* acq: before bottom */
	struct wf_g *g;

	fence_seq();                                     /* FQ-2 */
	if ((int32_t)(at_load_acq(&q->bottom) - t) <= 0) /* acq: FQ-3 */
		return NULL;
	g = at_load_rlx(FORKQ_SLOT(q, t)); /* rlx: FQ-3 */
	if (WF_MUTANT(MUT_FORKQ_STEAL_NO_CAS)) {
		at_store_rel(&q->top, t + 1); /* a mutant */
		return g;
	}
	return at_cas_acqrel(&q->top, &t, t + 1) ? g : NULL; /* acqrel: it is ours */
}

/* Owner: the same. */
WF_INLINE struct wf_g *
wf_forkq_oldest(struct wf_forkq *q)
{
	struct wf_g *g;

	if (unlikely(!wf_door_alone(&q->door)))
		return wf_forkq_grab(q);
	g = wf_forkq_take_alone(q, true);
	wf_door_done(&q->door);
	return g;
}

/* Thief: the same. */
WF_INLINE struct wf_g *
wf_forkq_steal(struct wf_forkq *q)
{
	struct wf_g *g;

	if (wf_forkq_empty(q) || !wf_door_enter(&q->door))
		return NULL;
	g = wf_forkq_grab(q);
	wf_door_leave(&q->door);
	return g;
}

#endif
