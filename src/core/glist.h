/* SPDX-License-Identifier: MIT */
/*
 * glist.h: a queue of Gs through g->link, with its size; the currency between files.
 *
 * GLIST-1: a G is on at most one list or in one queue slot at a time. Whoever removed it owns
 * it until he puts it somewhere else. Not thread-safe: the list's owner or lock protects it.
 */
#ifndef WF_CORE_GLIST_H
#define WF_CORE_GLIST_H

#include "base/check.h"
#include "core/g.h"

struct wf_glist {
	struct wf_g *head, *tail;
	uint32_t size;
};

static inline void
wf_glist_push(struct wf_glist *l, struct wf_g *g)
{
	g->link = NULL;
	if (l->tail)
		l->tail->link = g;
	else
		l->head = g;
	l->tail = g;
	l->size++;
}

static inline void
wf_glist_push_head(struct wf_glist *l, struct wf_g *g)
{
	g->link = l->head;
	l->head = g;
	if (!l->tail)
		l->tail = g;
	l->size++;
}

static inline struct wf_g *
wf_glist_pop(struct wf_glist *l)
{
	struct wf_g *g = l->head;

	if (!g)
		return NULL;
	l->head = g->link;
	if (!l->head)
		l->tail = NULL;
	g->link = NULL;
	l->size--;
	return g;
}

/* Move all of src to the end of dst. */
static inline void
wf_glist_join(struct wf_glist *dst, struct wf_glist *src)
{
	if (!src->head)
		return;
	if (dst->tail)
		dst->tail->link = src->head;
	else
		dst->head = src->head;
	dst->tail = src->tail;
	dst->size += src->size;
	*src = (struct wf_glist){0};
}

#endif
