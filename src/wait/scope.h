/* SPDX-License-Identifier: MIT */
/*
 * scope.h: the scopes a goroutine, or plain thread, is in, and how they end its waits.
 *
 * Scopes are records on the stack of the one that opened them, linked from g->scope outwards. A
 * group's child has one at the base of its stack (MEMBER), which leads to the group and from
 * there, through `up`, to the groups around it. A shield hides all that is further out.
 *
 * Who cancels a group must find those that sleep in it. Groups and their members form a tree,
 * under one lock for the whole tree; a goroutine enters it when it first waits, so that children
 * that never wait, and groups nobody waits in, cost nothing.
 *
 * SCOPE-1: g->scope and the chain are touched by their goroutine only; what others may read of a
 *          chain are the groups above it, which outlive it.
 * SCOPE-2: a member is linked, and its group and those above it, before it waits; the canceller
 *          sets the flags and walks under the same lock. So either the walk finds it, or it finds
 *          the flag (WAIT-4).
 * SCOPE-3: a cancel readies whom it has claimed, after the lock is dropped.
 */
#ifndef WF_WAIT_SCOPE_H
#define WF_WAIT_SCOPE_H

#include "core/waiter.h"
#include "sched/park.h"

struct wf_member {
	struct weft_scope scope; /* first: MEMBER */
	struct weft_group *group;
	struct wf_g *g;
	struct wf_member *next, *prev; /* under the tree's lock */
	bool linked;                   /* written under it, by its own goroutine */
};

/* What struct weft_group hides in its private words. */
struct __attribute__((may_alias)) wf_group {
	/* const while open */
	struct weft_group *up; /* the nearest group around it that its cancellation comes from */
	struct wf_lock *lock;  /* of the whole tree */
	struct wf_g *owner;    /* runs the body, and waits at its end; NULL: no run was up */
	uint64_t run;
	/* atomic */
	wf_a32 cancelled;
	wf_a32 rc;    /* the first error, as an int */
	wf_a64 slots; /* limited: children alive * 2, + 1 if somebody waits for one to end */
	wf_a32 limit; /* 0: none */
	/* under lock */
	bool linked;
	struct weft_group *subs, *next, *prev;
	struct wf_member *members;
};
_Static_assert(sizeof(struct wf_group) <= sizeof(((struct weft_group *)0)->private_), "fits");

WF_INLINE struct wf_group *
wf_group_of(struct weft_group *gr)
{
	return (struct wf_group *)gr->private_;
}

/* Before a wait of g: can its scopes end it? If so g is in the tree. No lock held, or one of a
   rank before SCOPE. */
bool wf_scope_enlist(struct wf_g *g);
/* 0, -ECANCELED or -ETIMEDOUT: what the scopes of g say; -ENOTSUP: its run is over. */
int wf_scope_verdict(const struct wf_g *g);

bool wf_scope_has_deadline(const struct wf_g *g);

WF_INLINE bool
wf_scoped(struct wf_g *g)
{
	return unlikely(g->scope != NULL) && wf_scope_enlist(g);
}

WF_INLINE void
wf_waiter_init(struct wf_waiter *w, struct wf_g *g, uint32_t number)
{
	w->g = g;
	w->number = number;
	at_store_rlx(&w->linked, 0); /* rlx: nobody knows it */
	w->result = WF_PENDING;
}

/*
 * A plain thread has slept and may not sleep again if the run has ended: the end of the run saw it
 * at rest and will not come back for it. Goroutines do not outlive the run.
 */
WF_INLINE bool
wf_run_over(const struct wf_m *m)
{
	if (likely(!m->plain))
		return false;
	fence_seq(); /* at_rest, before the look at phase; pairs with the end of the run */
	return at_load_acq(&wf_sched.phase) != WF_UP; /* acq: as in enter_plain */
}

/* ---- the two ends of a commit that opens a claim; the queue's unlock stands between them */

/* True: the wait must end at once. */
WF_INLINE bool
wf_wait_open(struct wf_g *g, uint32_t number)
{
	if (likely(number == 0))
		return false;
	if (WF_MUTANT(MUT_CHAN_FLAG_EARLY)) { /* a mutant: the flags before the claim */
		bool ends = wf_scope_verdict(g) != 0;
		wf_claim_open(g, number);
		return ends;
	}
	wf_claim_open(g, number); /* WAIT-4: before the flags are read */
	return (number & WF_CLAIM_SCOPED) && wf_scope_verdict(g) != 0;
}

/* g may be gone already: only its claim is touched. */
WF_INLINE void
wf_wait_end(struct wf_g *g, uint32_t number)
{
	if (wf_claim(g, number))
		wf_ready(wf_m(), g);
}

/* group.c: what birth and death of a child call */
int wf_member_call(struct wf_g *g);                          /* its function, inside its group */
void wf_member_done(struct wf_m *m, struct wf_g *g, int rc); /* it is over */
void wf_scope_exit(struct wf_g *g);                          /* weft_exit: all scopes are left */
void wf_group_cancel(struct wf_m *m, struct weft_group *gr);

#endif
