/* SPDX-License-Identifier: MIT */
/*
 * gclaim.h: several may wake one sleeper, one wins.
 *
 * g->claim holds the number of the wait and whether it is open. The commit of the sleeper's park
 * opens it, when its context is saved and its status published (PARK-1), so that a waker needs no
 * lock to claim. Each waker (a value, a deadline, a cancel) tries to close it, and only the one
 * that does may write results and ready the G. A waker that comes late, even after the G was
 * reused, holds an old number and fails.
 *
 * CLAIM-1: open -> closed once per wait, by CAS.
 * CLAIM-2: only the winner readies (GST-2).
 * WAIT-4: a wait that its scopes can end is opened by a read-modify-write before the cancelled and
 *         expired flags are read; who sets a flag looks at the claim after that. One of the two sees
 *         the other.
 */
#ifndef WF_CORE_GCLAIM_H
#define WF_CORE_GCLAIM_H

#include "base/mutant.h"
#include "core/g.h"

enum {
	WF_CLAIM_OPEN = 1u,
	WF_CLAIM_SCOPED = 2u, /* the wait ends with its scopes */
	WF_CLAIM_STEP = 4u,
};

/* By the sleeper, before it parks: the number to hand to the wakers. Never 0. */
WF_INLINE uint32_t
wf_claim_next(struct wf_g *g, bool scoped)
{
	/* rlx: only the sleeper's own commit opens; a stale waker's CAS fails on the number */
	uint32_t n = (at_load_rlx(&g->claim) & ~(uint32_t)(WF_CLAIM_STEP - 1)) + WF_CLAIM_STEP;

	return n | WF_CLAIM_OPEN | (scoped ? (uint32_t)WF_CLAIM_SCOPED : 0);
}

/* By the commit. */
WF_INLINE void
wf_claim_open(struct wf_g *g, uint32_t n)
{
	if (n & WF_CLAIM_SCOPED)
		at_xchg_acqrel(&g->claim, n); /* acqrel: WAIT-4 */
	else
		at_store_rel(&g->claim, n); /* rel: its wakers come by a queue that is locked yet */
}

/* By a waker: true for exactly one of them. */
WF_INLINE bool
wf_claim(struct wf_g *g, uint32_t n)
{
	uint32_t want = n;

	if (WF_MUTANT(MUT_PARK_CLAIM_NO_CAS)) {
		if (at_load_acq(&g->claim) != n) /* a mutant */
			return false;
		at_store_rel(&g->claim, n & ~(uint32_t)WF_CLAIM_OPEN);
		return true;
	}
	/* acqrel: CLAIM-1; the losers must see that the wait is over */
	return at_cas_acqrel(&g->claim, &want, n & ~(uint32_t)WF_CLAIM_OPEN);
}

/* The wait is over without a waker: the G was dropped, or its run has ended. Nobody else runs. */
WF_INLINE void
wf_claim_void(struct wf_g *g)
{
	/* rlx: as said */
	at_store_rlx(&g->claim, at_load_rlx(&g->claim) & ~(uint32_t)WF_CLAIM_OPEN);
}

/* By who has set a flag of a scope that g is in: whatever wait it is in, if that obeys scopes. */
WF_INLINE bool
wf_claim_scoped(struct wf_g *g)
{
	/* acqrel: a load could be older than the flag we have set; WAIT-4 */
	uint32_t n = at_or_acqrel(&g->claim, 0);

	return (n & WF_CLAIM_OPEN) && (n & WF_CLAIM_SCOPED) && wf_claim(g, n);
}

#endif
