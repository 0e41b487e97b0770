/* SPDX-License-Identifier: MIT */
/*
 * waiter.h: a sleeper's place in one wait queue, and the queue: first come, first served.
 *
 * The record lives on the stack of the one that waits; stacks do not move, so none is allocated.
 * Which lock guards a queue, and what elem means, is for the owner of the queue to say.
 *
 * WAIT-1: a waiter is reachable only through its queue; its owner returns when it has unlinked
 *         itself, under the queue's lock, or has seen itself unlinked: who did that stores linked
 *         last, and touches the waiter after it only if the owner is its to wake.
 * WAIT-2: who is not in the queue's lock (a cancel, a deadline) holds the G and claims it, never
 *         the waiter.
 */
#ifndef WF_CORE_WAITER_H
#define WF_CORE_WAITER_H

#include "base/check.h"
#include "core/gclaim.h"

enum { WF_PENDING = INT32_MIN }; /* no result yet */

struct wf_waiter {
	/* const while linked */
	struct wf_g *g;
	void *elem;
	uint32_t number; /* of the claim; 0: who finds it in the queue is its only waker */
	/* under the queue's lock */
	wf_a8 linked; /* atomic */
	struct wf_waiter *next, *prev;
	/* written by who took it from the queue */
	int result;
};

struct wf_waitlist {
	struct wf_waiter *first, *last;
};

static inline void
wf_waiter_push(struct wf_waitlist *l, struct wf_waiter *w)
{
	w->next = NULL;
	w->prev = l->last;
	at_store_rlx(&w->linked, 1); /* rlx: its owner's */
	if (l->last)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
}

static inline void
wf_waiter_remove(struct wf_waitlist *l, struct wf_waiter *w)
{
	ASSERT(at_load_rlx(&w->linked)); /* rlx: under the lock */
	if (w->prev)
		w->prev->next = w->next;
	else
		l->first = w->next;
	if (w->next)
		w->next->prev = w->prev;
	else
		l->last = w->prev;
	at_store_rel(&w->linked, 0); /* rel: WAIT-1, the last access */
}

/* The same of the first, w. */
WF_INLINE void
wf_waiter_remove_first(struct wf_waitlist *l, struct wf_waiter *w)
{
	ASSERT(at_load_rlx(&w->linked) && w == l->first && !w->prev); /* rlx: under the lock */
	l->first = w->next;
	if (w->next)
		w->next->prev = NULL;
	else
		l->last = NULL;
	at_store_rel(&w->linked, 0); /* rel: WAIT-1, the last access */
}

/* May the caller, who has unlinked a waiter of g with this number, give it a result? No: another
   waker was first, and the waiter may be gone. */
WF_INLINE bool
wf_waiter_won(struct wf_g *g, uint32_t number)
{
	return number == 0 || wf_claim(g, number);
}

/* The first waiter that is still to be had, unlinked; those that others have woken go too. */
static inline struct wf_waiter *
wf_waiter_pop(struct wf_waitlist *l)
{
	struct wf_waiter *w;

	while ((w = l->first)) {
		struct wf_g *g = w->g;
		uint32_t number = w->number;

		wf_waiter_remove_first(l, w);
		if (WF_MUTANT(MUT_WAITER_READ_LATE)) {
			light_barrier(); /* a choice point */
			g = w->g;
			number = w->number;
		}
		if (likely(wf_waiter_won(g, number)))
			break;
	}
	return w;
}

/* Those that others have woken, and that have not yet been here to leave. True: nobody is left. */
static inline bool
wf_waiters_prune(struct wf_waitlist *l)
{
	for (struct wf_waiter *w = l->first, *next; w; w = next) {
		next = w->next;
		/* acq: its wait is over */
		if (w->number != 0 && at_load_acq(&w->g->claim) != w->number)
			wf_waiter_remove(l, w);
		if (WF_MUTANT(MUT_WAITER_NEXT_LATE)) {
			light_barrier(); /* a choice point */
			next = w->next;
		}
	}
	return l->first == NULL;
}

#endif
