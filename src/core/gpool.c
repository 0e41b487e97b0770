/* SPDX-License-Identifier: MIT */
/* gpool.c: slabs of Gs and the depot of free ones. Nothing here parks. */
#include "core/gpool.h"

enum {
	SLAB_BYTES = 2 << 20, /* one huge page: a storm of spawns then costs no page faults */
	SLABS_MAX = 1 << 14,  /* 128 million goroutines */
};

static struct {
	struct wf_lock lock;
	/* under lock */
	struct wf_g *free;
	struct wf_g *slab[SLABS_MAX];
	uint32_t nslabs;
	uint32_t cut; /* Gs in use of the newest slab */
} depot = {.lock = WF_LOCK_INIT(WF_RANK_POOL)};

enum { SLAB_GS = SLAB_BYTES / sizeof(struct wf_g) };

/* A chain of up to n Gs; *got tells how many. */
static struct wf_g *
depot_take(uint32_t n, uint32_t *got)
{
	struct wf_g *chain = NULL;

	*got = 0;
	wf_lock(&depot.lock);
	while (*got < n) {
		struct wf_g *g = depot.free;

		if (g)
			depot.free = g->link;
		else if (depot.nslabs > 0 && depot.cut < SLAB_GS)
			g = &depot.slab[depot.nslabs - 1][depot.cut++];
		else
			break;
		g->link = chain;
		chain = g;
		++*got;
	}
	wf_unlock(&depot.lock);
	return chain;
}

static bool
add_slab(void)
{
	void *mem;
	bool used = false;

	if (os_reserve(SLAB_BYTES, SLAB_BYTES, &mem) < 0)
		return false;
	os_hint_hugepage(mem, SLAB_BYTES, true);
	os_name_memory(mem, SLAB_BYTES, "weft: goroutines");
	wf_lock(&depot.lock);
	/* another thread may have added one since we looked; then ours would strand its rest */
	if (depot.nslabs == 0 || depot.cut == SLAB_GS) {
		CHECK(depot.nslabs < SLABS_MAX);
		depot.slab[depot.nslabs++] = mem;
		depot.cut = 0;
		used = true;
	}
	wf_unlock(&depot.lock);
	if (!used)
		os_release(mem, SLAB_BYTES);
	return true;
}

struct wf_g *
wf_gpool_get_slow(struct wf_p *p)
{
	struct wf_g *g;
	uint32_t got;

	while (!(g = depot_take(p ? WF_GPOOL_BATCH : 1, &got)))
		if (!add_slab())
			return NULL;
	if (p) {
		p->gfree = g->link;
		p->gfree_count = got - 1;
	}
	return g;
}

void
wf_gpool_put_depot(struct wf_g *g)
{
	wf_lock(&depot.lock);
	g->link = depot.free;
	depot.free = g;
	wf_unlock(&depot.lock);
}

void
wf_gpool_spill(struct wf_p *p, uint32_t keep)
{
	struct wf_g *first = p->gfree, *last = NULL;

	while (p->gfree_count > keep) {
		last = p->gfree;
		p->gfree = last->link;
		p->gfree_count--;
	}
	if (!last)
		return;
	wf_lock(&depot.lock);
	last->link = depot.free;
	depot.free = first;
	wf_unlock(&depot.lock);
}

void
wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg)
{
	for (uint32_t s = 0; s < depot.nslabs; s++) {
		uint32_t n = s + 1 == depot.nslabs ? depot.cut : SLAB_GS;

		for (uint32_t i = 0; i < n; i++)
			fn(&depot.slab[s][i], arg);
	}
}
