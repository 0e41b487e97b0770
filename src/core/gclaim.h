/* SPDX-License-Identifier: MIT */
/*
 * gclaim.h: several may wake one sleeper, one wins.
 *
 * g->claim holds the number of the wait and whether it is open. The commit of the sleeper's park
 * opens it, when its context is saved and its status published (PARK-1), so that a waker
 * needs no lock to claim, each waker (a value, a deadline, a cancel) tries to close it, and only the
 * one that does may write results and ready the G. A waker that comes late, even after the G
 * was reused, holds an old number and fails.
 *
 * CLAIM-1: open -> closed once per wait, by CAS.
 * CLAIM-2: only the winner readies (GST-2).
 */
#ifndef WF_CORE_GCLAIM_H
#define WF_CORE_GCLAIM_H

#include "base/mutant.h"
#include "core/g.h"

enum { WF_CLAIM_OPEN = 1u, WF_CLAIM_STEP = 2u };

/* By the commit; returns the number to hand to the wakers. A commit that refuses to wait must win
   the claim itself: if a waker was first, the goroutine waits for it. */
static inline uint32_t
wf_claim_open(struct wf_g *g)
{
	/* rlx: only its own commit opens; a stale waker's CAS fails on the number */
	uint32_t n = (at_load_rlx(&g->claim) + WF_CLAIM_STEP) | WF_CLAIM_OPEN;

	/* rmw: ordered before the reads of cancelled and expired flags that follow */
	at_xchg_acqrel(&g->claim, n);
	return n;
}

/* By a waker: true for exactly one of them. */
static inline bool
wf_claim(struct wf_g *g, uint32_t n)
{
	uint32_t want = n;

	if (WF_MUTANT(MUT_PARK_CLAIM_NO_CAS)) {
		if (at_load_acq(&g->claim) != n) /* a mutant */
			return false;
		at_store_rel(&g->claim, n & ~WF_CLAIM_OPEN);
		return true;
	}
	/* acqrel: CLAIM-1; the losers must see that the wait is over */
	return at_cas_acqrel(&g->claim, &want, n & ~WF_CLAIM_OPEN);
}

#endif
