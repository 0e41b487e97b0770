/* SPDX-License-Identifier: MIT */
/*
 * gpool.h: birth and reuse of Gs. They live in slabs that are never unmapped, so that a stale
 * pointer always finds a G, and can all be walked.
 *
 * Free Gs travel in magazines: chains of WF_MAGAZINE through g->link, which change hands as one.
 * A P has one it works on and one spare; the depot has the rest.
 *
 * GPOOL-1: the spare and the depot hold full magazines, linked through the first G's sp.
 */
#ifndef WF_CORE_GPOOL_H
#define WF_CORE_GPOOL_H

#include "core/gmp.h"

#ifdef WF_TINY
enum { WF_MAGAZINE = 2 };
#else
enum { WF_MAGAZINE = 64 };
#endif

/* Holder of p, or p NULL. A FREE G with claim and id left from its last life, or NULL. */
struct wf_g *wf_gpool_get_slow(struct wf_p *p);
void wf_gpool_put_slow(struct wf_p *p);
void wf_gpool_put_depot(struct wf_g *g);
void wf_gpool_flush(struct wf_p *p); /* all that p has */

WF_INLINE struct wf_g *
wf_gpool_get(struct wf_p *p)
{
	struct wf_g *g;

	if (unlikely(!p || !(g = p->gfree)))
		return wf_gpool_get_slow(p);
	p->gfree = g->link;
	p->gfree_count--;
	__builtin_prefetch(p->gfree, 1); /* the next birth writes its first two lines */
	__builtin_prefetch((char *)p->gfree + WF_CACHE_LINE, 1);
	return g;
}

WF_INLINE void
wf_gpool_put(struct wf_p *p, struct wf_g *g)
{
	if (unlikely(!p)) {
		wf_gpool_put_depot(g);
		return;
	}
	if (unlikely(p->gfree_count == WF_MAGAZINE))
		wf_gpool_put_slow(p);
	g->link = p->gfree;
	p->gfree = g;
	p->gfree_count++;
}

/* Calls fn for every G that was ever used, FREE ones too. The world is stopped or down. */
void wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg);

#endif
