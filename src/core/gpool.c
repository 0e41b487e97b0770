/* SPDX-License-Identifier: MIT */
/* gpool.c: slabs of Gs and the depot of free ones. Nothing here parks. */
#include "core/gpool.h"
#include "base/sanitizer.h"

enum {
	SLAB_BYTES = 2 << 20, /* one huge page: a storm of spawns then costs no page faults */
	SLABS_MAX = 1 << 14,  /* 128 million goroutines */
};

static struct {
	struct wf_lock lock;
	/* under lock */
	struct wf_g *full;  /* magazines: GPOOL-1 */
	struct wf_g *loose; /* single Gs, from magazines that were not full */
	struct wf_g *slab[SLABS_MAX];
	uint32_t nslabs;
	uint32_t cut; /* Gs in use of the newest slab */
} depot = {.lock = WF_LOCK_INIT(WF_RANK_POOL)};

enum { SLAB_GS = SLAB_BYTES / sizeof(struct wf_g) };

/* Gs never used so far: a chain of up to n, in address order. */
static struct wf_g *
cut_chain(uint32_t n, uint32_t *got)
{
	struct wf_g *first = NULL, **end = &first;

	wf_assert_held(&depot.lock);
	for (*got = 0; *got < n && depot.nslabs > 0 && depot.cut < SLAB_GS; ++*got) {
		*end = &depot.slab[depot.nslabs - 1][depot.cut++];
		end = &(*end)->link;
	}
	*end = NULL;
	return first;
}

/* A chain; NULL: a slab is needed. */
static struct wf_g *
depot_take(uint32_t *got)
{
	struct wf_g *g;

	wf_lock(&depot.lock);
	if ((g = depot.full)) {
		depot.full = g->sp;
		*got = WF_MAGAZINE;
	} else if ((g = depot.loose)) {
		depot.loose = g->link;
		g->link = NULL;
		*got = 1;
	} else {
		g = cut_chain(WF_MAGAZINE, got);
	}
	wf_unlock(&depot.lock);
	return g;
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
	if (used)
		wf_lsan_root(mem, SLAB_BYTES);
	else
		os_release(mem, SLAB_BYTES);
	return true;
}

struct wf_g *
wf_gpool_get_slow(struct wf_cache *c)
{
	struct wf_g *g;
	uint32_t got = WF_MAGAZINE;

	if ((g = c->gspare))
		c->gspare = NULL;
	else
		while (!(g = depot_take(&got)))
			if (!add_slab())
				return NULL;
	c->gfree = g->link;
	c->gfree_count = got - 1;
	return g;
}

static void
depot_put_full(struct wf_g *magazine)
{
	wf_lock(&depot.lock);
	magazine->sp = depot.full;
	depot.full = magazine;
	wf_unlock(&depot.lock);
}

/* The magazine in hand is full: it becomes the spare, and the spare goes to the depot. */
void
wf_gpool_put_slow(struct wf_cache *c)
{
	if (c->gspare)
		depot_put_full(c->gspare);
	c->gspare = c->gfree;
	c->gfree = NULL;
	c->gfree_count = 0;
}

void
wf_gpool_flush(struct wf_cache *c)
{
	struct wf_g *g;

	if (c->gspare)
		depot_put_full(c->gspare);
	c->gspare = NULL;
	wf_lock(&depot.lock);
	while ((g = c->gfree)) {
		c->gfree = g->link;
		g->link = depot.loose;
		depot.loose = g;
	}
	wf_unlock(&depot.lock);
	c->gfree_count = 0;
}

void
wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg)
{
	for (uint32_t s = 0; s < depot.nslabs; s++) {
		uint32_t n = s + 1 == depot.nslabs ? depot.cut : SLAB_GS;

		if (!depot.slab[s])
			break; /* read while it is being added */
		for (uint32_t i = 0; i < n; i++)
			fn(&depot.slab[s][i], arg);
	}
}
