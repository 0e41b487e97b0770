/* SPDX-License-Identifier: MIT */
/*
 * globq.h: queues that every P can reach, each under its own lock.
 *
 * Goroutines that have not begun yet, of which a program may start a million at once, stand in a line of
 * their own, and the two lines are served in turn: who was woken does not wait for all of them.
 *
 * GLOBQ-1: size is written under the lock and may be read without it, as a hint and, after a
 * full fence, as the re-check of the idle protocol.
 * GLOBQ-2: a batch is unlinked under the lock and taken into the local ring after it; for who looks
 * meanwhile it is nowhere, so it is told of once it is there.
 * GLOBQ-3: while Gs move from one queue to another, one of the two sizes covers them: who reads the
 * first with acquire and then the second misses none.
 */
#ifndef WF_CORE_GLOBQ_H
#define WF_CORE_GLOBQ_H

#include "base/lock.h"
#include "core/glist.h"

enum { WF_GLOBQ_BATCH = 128 }; /* Gs taken at once at most: half a local ring, as Go */

struct wf_globq {
	struct wf_lock lock;
	/* under lock */
	struct wf_glist list;
	struct wf_glist fresh; /* those that have not begun, if parts */
	bool fresh_turn;
	bool parts;  /* const */
	wf_a32 size; /* of both; written under lock */
};

WF_EXTERN struct wf_globq wf_globq;   /* runnable Gs */
WF_EXTERN struct wf_globq wf_idleq;   /* of the idle class, by age */
WF_EXTERN struct wf_globq wf_urgentq; /* of the urgent class; through prio.c only, PRIO-1 */
WF_EXTERN struct wf_globq wf_pinq;    /* runnable Gs that are pinned: see pin.c */

void wf_globq_put(struct wf_globq *q, struct wf_g *g);           /* tail */
void wf_globq_put_head(struct wf_globq *q, struct wf_glist *l);  /* all of l, in order */
void wf_globq_put_batch(struct wf_globq *q, struct wf_glist *l); /* all of l, at the tail */
/* One G, or NULL. */
struct wf_g *wf_globq_get(struct wf_globq *q);
/* A fair share for one of procs Ps: min(size / procs + 1, max), into l. Returns how many of them have
   not begun. */
uint32_t wf_globq_get_batch(struct wf_globq *q, uint32_t procs, uint32_t max, struct wf_glist *l);

/* Up to n Gs that are queued since before since_ns go from the head of `from` to the tail of `to`,
   which has the higher rank. Returns how many. */
uint32_t wf_globq_move(struct wf_globq *from, struct wf_globq *to, uint32_t n, int64_t since_ns);

/* Any thread; a hint unless a full fence stands before it. */
WF_INLINE uint32_t
wf_globq_size(const struct wf_globq *q)
{
	return at_load_rlx(&q->size); /* rlx: GLOBQ-1 */
}

#endif
