/* SPDX-License-Identifier: MIT */
/*
 * gpool.h: birth and reuse of Gs. They live in slabs that are never unmapped, so that a stale
 * pointer always finds a G, and can all be walked.
 *
 * Free Gs travel in magazines: chains of WF_MAGAZINE through g->link, which change hands as one.
 * A cache has one it works on and one spare; the depot has the rest.
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

/* Owner of the cache. A FREE G with claim and id left from its last life, or NULL. */
struct wf_g *wf_gpool_get_slow(struct wf_cache *c);
void wf_gpool_put_slow(struct wf_cache *c);
void wf_gpool_flush(struct wf_cache *c); /* all that it has */

WF_INLINE struct wf_g *
wf_gpool_get(struct wf_cache *c)
{
	struct wf_g *g = c->gfree;

	if (unlikely(!g))
		return wf_gpool_get_slow(c);
	c->gfree = g->link;
	c->gfree_count--;
	__builtin_prefetch(c->gfree, 1); /* the next birth writes its first two lines */
	__builtin_prefetch((void *)((uintptr_t)c->gfree + WF_CACHE_LINE), 1); /* NULL: no harm */
	return g;
}

WF_INLINE void
wf_gpool_put(struct wf_cache *c, struct wf_g *g)
{
	if (unlikely(c->gfree_count == WF_MAGAZINE))
		wf_gpool_put_slow(c);
	g->link = c->gfree;
	c->gfree = g;
	c->gfree_count++;
}

/* Calls fn for every G that was ever used, FREE ones too. The world is stopped or down; else what fn
   sees is a blur, and new ones may be missed. */
void wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg);

#endif
