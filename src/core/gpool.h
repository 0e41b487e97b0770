/* SPDX-License-Identifier: MIT */
/*
 * gpool.h: birth and reuse of Gs. They live in slabs that are never unmapped, so that a stale
 * pointer always finds a G, and can all be walked.
 */
#ifndef WF_CORE_GPOOL_H
#define WF_CORE_GPOOL_H

#include "core/gmp.h"

#ifdef WF_TINY
enum { WF_GPOOL_BATCH = 2 };
#else
enum { WF_GPOOL_BATCH = 64 }; /* Gs moved between a P and the depot at once */
#endif

/* Holder of p, or p NULL. A FREE G with claim and id left from its last life, or NULL. */
struct wf_g *wf_gpool_get_slow(struct wf_p *p);
void wf_gpool_spill(struct wf_p *p, uint32_t keep);
void wf_gpool_put_depot(struct wf_g *g);

WF_INLINE struct wf_g *
wf_gpool_get(struct wf_p *p)
{
	struct wf_g *g;

	if (unlikely(!p || !(g = p->gfree)))
		return wf_gpool_get_slow(p);
	p->gfree = g->link;
	p->gfree_count--;
	return g;
}

WF_INLINE void
wf_gpool_put(struct wf_p *p, struct wf_g *g)
{
	if (unlikely(!p)) {
		wf_gpool_put_depot(g);
		return;
	}
	g->link = p->gfree;
	p->gfree = g;
	if (unlikely(++p->gfree_count > 4 * WF_GPOOL_BATCH))
		wf_gpool_spill(p, 2 * WF_GPOOL_BATCH);
}

/* Calls fn for every G that was ever used, FREE ones too. The world is stopped or down. */
void wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg);

#endif
