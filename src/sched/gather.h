/* SPDX-License-Identifier: MIT */
/* gather.h: goroutines that are faster together on one P; see gather.c. */
#ifndef WF_SCHED_GATHER_H
#define WF_SCHED_GATHER_H

#include "core/gmp.h"

enum {
#if defined(WF_TINY) || defined(WF_TORTURE)
	WF_GATHER_FEW = 1,
	WF_GATHER_MANY = 1,
	WF_GATHER_FRESH = 1,
#else
	WF_GATHER_FRESH =
	    8, /* goroutines that another has started are worth one bounce: half a us each */
	/* bounces that are no accident: so many are looked at when the P is out of work, ... */
	WF_GATHER_FEW = 16,
	WF_GATHER_MANY = 64, /* ... and so many while it has more */
#endif
};

enum { WF_PARTED, WF_TRIAL, WF_KEPT }; /* keep.state */

void wf_gather_apart(struct wf_p *p, struct wf_p *home);    /* p took goroutines of home's */
bool wf_gather_is_stale(const struct wf_p *p, int64_t now); /* its holder has long not looked */
bool wf_gather_here(struct wf_m *m, struct wf_p *p);
void wf_gather_tick(struct wf_m *m, struct wf_p *p);
void wf_gather_missed(struct wf_p *p, bool first, bool enough); /* by a spinner */

/* Any M: what is queued at p is for p alone, for now. GATH-1 */
WF_INLINE bool
wf_gather_keeps(const struct wf_p *p)
{
	return at_load_rlx(&p->keep.state) != WF_PARTED; /* rlx: a heuristic */
}

/* Holder: nobody need be told of what is queued at p. */
WF_INLINE bool
wf_is_quiet(const struct wf_p *p)
{
	/* rlx: heuristics; with one P, and that one ours, nobody can be idle */
	return at_load_rlx(&wf_sched.procs) == 1 || wf_gather_keeps(p);
}

/* Holder: and that has been found to be for the better. */
WF_INLINE bool
wf_gather_kept(const struct wf_p *p)
{
	return at_load_rlx(&p->keep.state) == WF_KEPT; /* rlx: a heuristic */
}

/* Holder, or p is NULL: it has used an object that another P had used last. */
WF_INLINE void
wf_gather_bounced(struct wf_p *p, uint32_t weight)
{
	if (!p)
		return;
	p->bounces += weight;
	if (p->bounces % WF_GATHER_MANY < weight)
		p->fair = 0; /* g0 has a look */
}

/* Holder: so many goroutines that it has from the global queue have not begun. */
WF_INLINE void
wf_gather_took(struct wf_p *p, uint32_t n)
{
	struct wf_p *home = at_load_rlx(&wf_sched.overflowed); /* rlx: a hint */

	if (n < WF_GATHER_FRESH || !home || home == p)
		return;
	wf_gather_apart(p, home);
	wf_gather_bounced(p, n / WF_GATHER_FRESH);
}

/* Holder, on g0. True: the P is gone, look again. */
WF_INLINE bool
wf_gather(struct wf_m *m, struct wf_p *p)
{
	return p->apart.home && p->bounces - p->apart.bounces >= WF_GATHER_FEW &&
	       wf_gather_here(m, p);
}

#endif
