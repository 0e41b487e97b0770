/* SPDX-License-Identifier: MIT */
/*
 * runq.h: the run queue of one P: a lock-free ring and the runnext slot.
 *
 * One producer, the owner (the M that holds the P), many consumers: the owner and thieves. The
 * indices run freely modulo 2^32; tail - head is the fill. Header-only, so that the explorer
 * compiles it unchanged. While its door (door.h) is shut there are no thieves, and the owner takes
 * by plain stores.
 *
 * RQ-1: slots [head, tail) hold Gs; only the owner writes slots and tail.
 * RQ-2: a slot is written before the tail that covers it is released; a thief acquires tail.
 * RQ-3: what a consumer copied is his only if his CAS of head succeeds, or if he is the owner and
 *       alone (DOOR-1).
 * RQ-4: runnext is set by the owner; owner and thieves take it by CAS to NULL, the owner by a store
 *       if it is alone. Thieves take from inside the door.
 * RQ-5: the ring never reports empty while a G is moving between runnext and the ring.
 *
 * Not here: the global queue (globq.h), victims and their order (steal.c).
 */
#ifndef WF_CORE_RUNQ_H
#define WF_CORE_RUNQ_H

#include "base/mutant.h"
#include "core/door.h"
#include "core/glist.h"

#ifdef WF_TINY
enum { WF_RUNQ_SIZE = 4, WF_RUNQ_FEW = 1 };
#else
enum { WF_RUNQ_FEW = 15 };   /* Gs not worth a theft unless the victim is stuck */
enum { WF_RUNQ_SIZE = 256 }; /* slots; Go's value: half of it is one batch to the global queue */
#endif
/* In a list of those that have not begun each knows the one so far behind it, to be fetched in time: who
   follows the links alone waits for the memory at each. */
enum { WF_RUNQ_AHEAD = 16 };
_Static_assert((WF_RUNQ_SIZE & (WF_RUNQ_SIZE - 1)) == 0, "indices wrap by mask");

struct wf_runq {
	/* atomic: written by all consumers */
	wf_a32 head WF_ALIGNED(WF_CACHE_LINE);
	struct wf_door door;
	/* atomic: written by the owner, read by thieves */
	wf_a32 tail WF_ALIGNED(WF_CACHE_LINE);
	wf_aptr next; /* runnext */
	wf_a32 taken; /* how often the owner took it: two goroutines may take turns in it */
	wf_aptr slot[WF_RUNQ_SIZE];
};

#define RUNQ_SLOT(q, i) (&(q)->slot[(i) & (WF_RUNQ_SIZE - 1)])

/* Any M. May be out of date when it returns, but never true while the queue held a G all along. */
static inline bool
wf_runq_empty(const struct wf_runq *q)
{
	for (;;) {
		uint32_t h = at_load_acq(&q->head); /* acq: order of the three loads, RQ-5 */
		uint32_t t = at_load_acq(&q->tail); /* acq: as above */
		void *next = at_load_acq(&q->next); /* acq: as above */

		/* The owner kicks runnext into the ring in two steps; an unchanged tail says that
		   the three values belong together. */
		if (t == at_load_acq(&q->tail)) /* acq: after the load of next */
			return h == t && next == NULL;
	}
}

/* Any M; after a full fence: a ring that is not empty all the while is not taken for empty (IDLE-5). */
static inline bool
wf_runq_ring_empty(const struct wf_runq *q)
{
	uint32_t h = at_load_acq(&q->head); /* acq: head before tail, which only grows; RQ-5 */

	return (int32_t)(at_load_acq(&q->tail) - h) <= 0; /* acq: as above */
}

/* Any M; a hint. Gs in the ring, runnext not counted. */
static inline uint32_t
wf_runq_len(const struct wf_runq *q)
{
	/* rlx: a hint */
	return at_load_rlx(&q->tail) - at_load_rlx(&q->head);
}

/* Owner. Half of the full ring and g go to *over, for the global queue, in one batch. False if
   thieves made room meanwhile: try again. */
static WF_NOINLINE WF_UNUSED bool
wf_runq_put_slow(struct wf_runq *q, struct wf_g *g, uint32_t h, uint32_t t, struct wf_glist *over)
{
	struct wf_glist half = {.head = g, .tail = g, .size = (t - h) / 2 + 1};
	uint32_t end = h + (t - h) / 2;

	CHECK(t - h == WF_RUNQ_SIZE);
	/* acqrel: RQ-3; thieves may race for the same Gs */
	if (!at_cas_acqrel(&q->head, &h, end))
		return false;
	g->link = NULL;
	for (uint32_t i = end; i != h;) {
		struct wf_g *one =
		    at_load_rlx(RUNQ_SLOT(q, --i)); /* rlx: RQ-1, still as we wrote it */

		one->link = half.head;
		half.head = one;
		if (!one->stack) /* no context yet, and room to say who comes later. rlx: as above */
			one->sp = at_load_rlx(RUNQ_SLOT(q, i + WF_RUNQ_AHEAD));
	}
	wf_glist_join(over, &half);
	return true;
}

/* Owner. Gs in the ring: whoever puts one into what is left has acquired it, consumers are done with
   the slots. */
WF_INLINE uint32_t
wf_runq_fill(const struct wf_runq *q)
{
	/* rlx: only we write it; acq: as said */
	return at_load_rlx(&q->tail) - at_load_acq(&q->head);
}

/* Owner, who has seen by wf_runq_fill that there is room: thieves only make more. g goes to the tail. */
WF_INLINE void
wf_runq_put_room(struct wf_runq *q, struct wf_g *g)
{
	uint32_t t = at_load_rlx(&q->tail); /* rlx: only we write it */

	at_store_rlx(RUNQ_SLOT(q, t), g); /* rlx: RQ-1; published by tail */
	if (WF_MUTANT(MUT_RUNQ_TAIL_RELAXED))
		at_store_rlx(&q->tail, t + 1); /* a mutant */
	else
		at_store_rel(&q->tail, t + 1); /* rel: RQ-2 */
}

/* The same. True: it stands beside others, who cannot have been taken meanwhile (DOOR-1): the ring was not
   empty at any time since they were put. */
WF_INLINE bool
wf_runq_put_beside(struct wf_runq *q, struct wf_g *g)
{
	bool alone = wf_door_alone(&q->door);
	bool beside = alone && wf_runq_fill(q) >= WF_BESIDE;

	wf_runq_put_room(q, g);
	if (alone)
		wf_door_done(&q->door);
	return beside || WF_MUTANT(MUT_IDLE_BESIDE_NOBODY);
}

/* Owner. g goes to the tail; if the ring is full, half of it and g end up in *over. */
static inline void
wf_runq_put(struct wf_runq *q, struct wf_g *g, struct wf_glist *over)
{
	for (;;) {
		uint32_t n = wf_runq_fill(q), t;

		if (likely(n < WF_RUNQ_SIZE)) {
			wf_runq_put_room(q, g);
			return;
		}
		t = at_load_rlx(&q->tail); /* rlx: only we write it */
		if (wf_runq_put_slow(q, g, t - n, t, over))
			return;
	}
}

/* Owner. g becomes runnext, which is empty: thieves do not change that. */
static inline void
wf_runq_fill_next(struct wf_runq *q, struct wf_g *g)
{
	at_store_rel(&q->next, (void *)g); /* rel: RQ-4, publishes g to a thief */
}

/* Owner. g becomes runnext; the one it kicks out, or NULL, is the caller's to put. */
WF_INLINE struct wf_g *
wf_runq_swap_next(struct wf_runq *q, struct wf_g *g)
{
	struct wf_g *old = at_load_rlx(&q->next); /* rlx: thieves only make it NULL */

	if (!old) {
		wf_runq_fill_next(q, g);
	} else if (likely(wf_door_alone(&q->door))) {
		wf_runq_fill_next(q, g);
		wf_door_done(&q->door);
	} else {
		/* acqrel: RQ-4; rmw because a thief may take the old one */
		old = at_xchg_acqrel(&q->next, (void *)g);
	}
	return old;
}

/* Owner. g becomes runnext; the one it kicks out goes to the tail. True if runnext was empty. */
static inline bool
wf_runq_put_next(struct wf_runq *q, struct wf_g *g, struct wf_glist *over)
{
	struct wf_g *old = wf_runq_swap_next(q, g);

	if (old)
		wf_runq_put(q, old, over);
	return !old;
}

/* Owner. As many of l as fit, in order; the rest stays in l. One release for all of them. */
static inline void
wf_runq_put_batch(struct wf_runq *q, struct wf_glist *l)
{
	uint32_t h = at_load_acq(&q->head); /* acq: as in wf_runq_put */
	uint32_t t = at_load_rlx(&q->tail); /* rlx: only we write it */
	uint32_t room = WF_RUNQ_SIZE - (t - h), n = l->size < room ? l->size : room;
	struct wf_g *g = l->head;

	for (uint32_t end = t + n; t != end; t++, g = g->link)
		at_store_rlx(RUNQ_SLOT(q, t), g); /* rlx: published by tail */
	l->size -= n;
	l->head = g;
	if (!g)
		l->tail = NULL;
	at_store_rel(&q->tail, t); /* rel: RQ-2 */
}

/* Owner and thieves: take runnext if it is still g. */
static inline bool
wf_runq_take_next(struct wf_runq *q, struct wf_g *g)
{
	void *want = g;

	if (WF_MUTANT(MUT_RUNQ_NEXT_NO_CAS)) {
		at_store_rlx(&q->next, NULL); /* a mutant */
		return true;
	}
	/* acqrel: RQ-4; acquires what the owner wrote into g */
	return at_cas_acqrel(&q->next, &want, NULL);
}

/* Owner, alone. */
static inline void
wf_runq_take_alone(struct wf_runq *q)
{
	if (WF_MUTANT(MUT_RUNQ_NEXT_RELAXED))
		at_store_rlx(&q->next, NULL); /* a mutant */
	else
		at_store_rel(&q->next, NULL); /* rel: RQ-5, after what was put in the ring */
}

/* Owner: runnext only. */
static inline struct wf_g *
wf_runq_get_next(struct wf_runq *q)
{
	/* rlx: a non-NULL value is confirmed by the CAS. No retry: only we could set it again */
	struct wf_g *g = at_load_rlx(&q->next);

	if (!g)
		return NULL;
	if (likely(wf_door_alone(&q->door))) { /* and was, since before that load: DOOR-2 */
		wf_runq_take_alone(q);
		wf_door_done(&q->door);
	} else if (!wf_runq_take_next(q, g)) {
		return NULL;
	}
	at_bump(&q->taken, 1); /* rlx: a hint for thieves */
	return g;
}

/* Owner, with a few in the ring from h on. A goroutine that has waited its turn is out of the nearest
   cache: the record of one is fetched, and the context of the one before it. If a thief has it by
   then it was for nothing. */
WF_INLINE void
wf_runq_foresee(const struct wf_runq *q, uint32_t h)
{
	const struct wf_g *soon = at_load_rlx(RUNQ_SLOT(q, h + 1));    /* rlx: we wrote it */
	const struct wf_g *later = at_load_rlx(RUNQ_SLOT(q, h + 3));   /* rlx: as above */
	const char *context = at_load_rlx((const wf_aptr *)&soon->sp); /* rlx: a thief may run it */

	__builtin_prefetch(later);
	__builtin_prefetch(context);
	__builtin_prefetch((const char *)((uintptr_t)context + WF_CACHE_LINE)); /* it may be NULL */
}

/* Owner: the head of the ring. */
static inline struct wf_g *
wf_runq_get_ring(struct wf_runq *q)
{
	for (;;) {
		uint32_t h = at_load_acq(&q->head); /* acq: synchronises with other consumers */
		uint32_t t = at_load_rlx(&q->tail); /* rlx: only we write it */
		struct wf_g *g;

		if (t == h)
			return NULL;
		g = at_load_rlx(RUNQ_SLOT(q, h)); /* rlx: we wrote it */
		if (t - h > 3)
			wf_runq_foresee(q, h);
		if (likely(wf_door_alone(&q->door))) {
			at_store_rel(&q->head, h + 1); /* rel: RQ-3; RQ-5, after what was put */
			wf_door_done(&q->door);
			return g;
		}
		if (WF_MUTANT(MUT_RUNQ_GET_NO_CAS)) {
			at_store_rel(&q->head, h + 1); /* a mutant */
			return g;
		}
		if (likely(at_cas_acqrel(&q->head, &h, h + 1))) /* acqrel: RQ-3 */
			return g;
	}
}

/* Owner. All Gs, runnext first, go to the end of l. Thieves may take some meanwhile. */
static inline void
wf_runq_drain(struct wf_runq *q, struct wf_glist *l)
{
	struct wf_g *g = wf_runq_get_next(q);

	if (g)
		wf_glist_push(l, g);
	while ((g = wf_runq_get_ring(q)))
		wf_glist_push(l, g);
}

/* So few are not worth a theft: the more patient the thief, the more it leaves. */
static inline uint32_t
wf_runq_few(uint32_t grace)
{
	uint32_t few = WF_RUNQ_FEW + grace / 8;

	return few < WF_RUNQ_SIZE / 2 ? few : WF_RUNQ_SIZE / 2 - 1;
}

/*
 * Thief. Is it worth opening the door? A few Gs, or a lone runnext, are only with `lone`, and only if
 * the victim has not begun with them after `grace` pauses: it is likely to run them in the time that
 * a move to another core takes, and a thief that nibbles slows its victim down. The pauses look at
 * nothing, so as not to pull the victim's cache lines away.
 */
static inline bool
wf_runq_worth(const struct wf_runq *victim, bool lone, uint32_t grace)
{
	const uint32_t few = wf_runq_few(grace);
	uint32_t h = at_load_rlx(&victim->head);        /* rlx: hints, all of them */
	uint32_t n = at_load_rlx(&victim->tail) - h;    /* rlx: as above */
	uint32_t taken = at_load_rlx(&victim->taken);   /* rlx: as above */
	struct wf_g *next = at_load_rlx(&victim->next); /* rlx: as above */

	if (n > few)
		return true;
	if (!lone || (n == 0 && !next))
		return false;
	if (grace == 0)
		return true;
	for (; grace > 0; grace--)
		cpu_relax();
	/* rlx: as above. Consumed, not stuck: leave it to the victim */
	if (n == 0)
		return at_load_rlx(&victim->next) == next && at_load_rlx(&victim->taken) == taken;
	return at_load_rlx(&victim->head) == h || wf_runq_len(victim) > few; /* rlx: as above */
}

/* Thief, inside the door. Copies half of the victim's ring (rounded up) to the thief's own slots from
   `at` on, and commits by moving head; if the ring is empty, with lone, runnext. Returns how many. */
static inline uint32_t
wf_runq_grab(struct wf_runq *victim, struct wf_runq *thief, uint32_t at, bool lone)
{
	for (;;) {
		uint32_t h =
		    at_load_acq(&victim->head); /* acq: synchronises with other consumers */
		uint32_t t = at_load_acq(&victim->tail); /* acq: RQ-2, the slots are written */
		uint32_t n = t - h;

		if (n == 0) {
			struct wf_g *next = at_load_rlx(&victim->next); /* rlx: confirmed by CAS */

			if (!lone || !next)
				return 0;
			if (!wf_runq_take_next(victim, next))
				continue;
			at_store_rlx(RUNQ_SLOT(thief, at), next); /* rlx: our own slot */
			return 1;
		}
		n -= n / 2;
		if (n > WF_RUNQ_SIZE / 2) /* h and t do not belong together */
			continue;
		for (uint32_t i = 0; i < n; i++) {
			void *g = at_load_rlx(RUNQ_SLOT(victim, h + i)); /* rlx: RQ-2 by tail */

			at_store_rlx(RUNQ_SLOT(thief, at + i), g); /* rlx: our own slot */
		}
		if (WF_MUTANT(MUT_RUNQ_STEAL_NO_CAS)) {
			at_store_rel(&victim->head, h + n); /* a mutant */
			return n;
		}
		if (at_cas_acqrel(&victim->head, &h, h + n)) /* acqrel: RQ-3 */
			return n;
	}
}

/* Thief, owner of an empty-enough queue: steals half of victim, returns one of them, the rest is
   in the thief's ring. *count tells how many were taken. */
static inline struct wf_g *
wf_runq_steal(struct wf_runq *thief, struct wf_runq *victim, bool lone, uint32_t grace,
	      uint32_t *count)
{
	uint32_t t = at_load_rlx(&thief->tail); /* rlx: we are the owner */
	uint32_t n = 0;
	struct wf_g *g;

	if (wf_runq_worth(victim, lone, grace) && wf_door_enter(&victim->door)) {
		n = wf_runq_grab(victim, thief, t, lone);
		wf_door_leave(&victim->door);
	}
	*count = n;
	if (n == 0)
		return NULL;
	n--;
	g = at_load_rlx(RUNQ_SLOT(thief, t + n)); /* rlx: we wrote it */
	if (n == 0)
		return g;
	CHECK(t - at_load_acq(&thief->head) + n < WF_RUNQ_SIZE); /* acq: as in wf_runq_put */
	at_store_rel(&thief->tail, t + n);                       /* rel: RQ-2 */
	return g;
}

#endif
