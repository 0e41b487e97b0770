/* SPDX-License-Identifier: MIT */
/*
 * waiter.h: a sleeper's place in one wait queue, and the queue: first come, first served.
 *
 * The record lives on the stack of the one that waits; stacks do not move, so none is allocated.
 * Which lock guards a queue, and what elem means, is for the owner of the queue to say.
 *
 * WAIT-1: a waiter is reachable only through its queue, whose lock its owner takes (and unlinks
 *         itself, or sees itself unlinked) before it returns. A waiter that got its result was
 *         unlinked by who gave it, and needs no further look.
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
	uint16_t linked;
	uint16_t order; /* select.c: the place of this case in the order of the locks */
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
	w->linked = 1;
	if (l->last)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
}

static inline void
wf_waiter_remove(struct wf_waitlist *l, struct wf_waiter *w)
{
	ASSERT(w->linked);
	if (w->prev)
		w->prev->next = w->next;
	else
		l->first = w->next;
	if (w->next)
		w->next->prev = w->prev;
	else
		l->last = w->prev;
	w->linked = 0;
}

/* The caller has unlinked w: may it give w a result? No: another waker was first. */
WF_INLINE bool
wf_waiter_won(struct wf_waiter *w)
{
	return w->number == 0 || wf_claim(w->g, w->number);
}

/* The first waiter that is still to be had, unlinked; those that others have woken go too. */
static inline struct wf_waiter *
wf_waiter_pop(struct wf_waitlist *l)
{
	struct wf_waiter *w;

	while ((w = l->first)) {
		wf_waiter_remove(l, w);
		if (likely(wf_waiter_won(w)))
			break;
	}
	return w;
}

#endif
