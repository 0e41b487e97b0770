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
#include "sched/timers.h"

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

/* Before a wait of g, the caller: can its scopes end it? If so g is in the tree. No lock held, or
   one of a rank before SCOPE. */
bool wf_scope_enlist(struct wf_g *g);
/* The same, and the wait ends at `until` at the latest, or before by a deadline: its timer is armed.
   True: the wait can end before it is served, and needs a claim for scopes. */
bool wf_wait_by(struct wf_g *g, int64_t until);
/* 0, -ECANCELED or -ETIMEDOUT: what the scopes of g say; -ENOTSUP: its run is over. */
int wf_scope_verdict(const struct wf_g *g);
/* Is a group cancelled that g is in? */
bool wf_scope_cancelled(const struct wf_g *g);
/* When the nearest deadline of g is; WF_NEVER: it has none. */
int64_t wf_scope_deadline(const struct wf_g *g);

/* The same for a wait without a time of its own. */
WF_INLINE bool
wf_scoped(struct wf_g *g)
{
	return unlikely(g->scope != NULL) && wf_wait_by(g, WF_NEVER);
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

/* By the commit, when the claim is open: a group was cancelled, or the timer is not armed; then it
   has just fired, or its time was past before (TIMER-4). Without the clock. */
WF_INLINE bool
wf_wait_over(const struct wf_g *g)
{
	/* rlx: our own, stored before the park */
	if (wf_timer_when(&g->timer) > wf_or_never(at_load_rlx(&g->wake_at)))
		return true;
	return g->scope && wf_scope_cancelled(g);
}

/* True: the wait must end at once. */
WF_INLINE bool
wf_wait_open(struct wf_g *g, uint32_t number)
{
	if (likely(number == 0))
		return false;
	if (WF_MUTANT(MUT_CHAN_FLAG_EARLY)) { /* a mutant: the flags before the claim */
		bool ends = wf_wait_over(g);
		wf_claim_open(g, number);
		return ends;
	}
	wf_claim_open(g, number); /* WAIT-4: before the flags are read */
	return (number & WF_CLAIM_SCOPED) && wf_wait_over(g);
}

/* g may be gone already: only its claim is touched. */
WF_INLINE void
wf_wait_end(struct wf_g *g, uint32_t number)
{
	if (wf_claim(g, number))
		wf_ready(wf_m(), g);
}

/* sleep.c: 0 when it is that late, or what the scopes say, or -ENOTSUP. */
int wf_sleep_until(struct wf_m **m, int64_t until);

/* group.c: what birth and death of a child call */
int wf_member_call(struct wf_g *g);                          /* its function, inside its group */
void wf_member_done(struct wf_m *m, struct wf_g *g, int rc); /* it is over */
void wf_scope_exit(struct wf_g *g);                          /* weft_exit: all scopes are left */
void wf_group_cancel(struct wf_m *m, struct weft_group *gr);

#endif
