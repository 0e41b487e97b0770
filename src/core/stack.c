/* SPDX-License-Identifier: MIT */
/* stack.c: arenas, depot, guards; see stack.h for the invariants. Nothing here parks. */
#include "core/stack.h"
#include "base/sanitizer.h"

#include <errno.h>

enum {
	CHUNKS_MAX = 4096,       /* mappings per class; adjacent ones merge in the kernel */
	CHUNK_SLOTS_MIN = 64,    /* slots of the first mapping; each next one doubles ... */
	CHUNK_SLOTS_MAX = 16384, /* ... up to this */
	DEPOT_MAX = 1 << 24,     /* slots of a class the depot can hold: address space only */
	/* Free slots that keep their pages until they are trimmed: all of them were in use at once, and
	   the next burst may be as large; a gigabyte, if each has one. */
	DEPOT_WARM = 1 << 18,
	FRESH_MAX = WF_STACK_CACHE / 2, /* slots cut at once: one call for all guards ... */
	FRESH_SHARE = 8,                /* ... but no more than an eighth of what there was */
	KEEP_BYTES = 16384,             /* pages below this depth go back before a slot is pooled */
	TRIM_KEEP = 64,                 /* free slots that keep their pages when trimmed */
};
static const uint64_t CANARY = UINT64_C(0x7765667463616e79);

struct chunk {
	char *base;
	uint8_t *canaries; /* a byte per slot: guarded by a canary only */
	uint32_t slots, cut;
};

struct stack_class {
	struct wf_lock lock;
	/* under lock */
	uint64_t total;    /* slots that exist or can be cut */
	uint64_t cut;      /* those that exist */
	uint64_t promised; /* to goroutines, and in the hands of Ps */
	void **depot;      /* free slots; index 0 is the coldest */
	uint32_t depot_count;
	uint32_t cool;   /* the lowest of them have no pages */
	uint32_t low;    /* the fewest there were since the last mark ... */
	uint32_t unused; /* ... and between the two before: so many were not needed */
	uint32_t nchunks, cut_chunk;
	struct chunk *chunks;
};

static struct stack_class classes[WF_STACK_CLASSES];
static enum wf_guard guard_kind;
wf_a32 wf_stack_canaries;
static wf_a32 guard_said;
static size_t page;

int
wf_stack_class(size_t bytes)
{
	for (int c = 0; c < WF_STACK_CLASSES; c++)
		if (bytes <= wf_stack_bytes(c) && wf_stack_bytes(c) >= 2 * os_page_bytes())
			return c; /* at least one page beside the guard */
	return -EINVAL;
}

void
wf_stack_init(void)
{
	page = os_page_bytes();
	for (int c = 0; c < WF_STACK_CLASSES; c++)
		classes[c].lock.rank = WF_RANK_POOL;
}

enum wf_guard
wf_stack_guard_kind(void)
{
	return guard_kind;
}

void
wf_stack_force_guard(enum wf_guard kind)
{
	guard_kind = kind;
}

size_t
wf_stack_guard_bytes(int class)
{
	size_t n = wf_stack_bytes(class) / 16;

	return n < page ? page : n > 16 * page ? 16 * page : n / page * page;
}

/* From one slot to the next: its bytes and a page that nobody touches. Slots a power of two apart
   would share a few sets of the TLB, and it would hold some fifty stacks instead of thousands. */
static size_t
stride_bytes(int class)
{
	return wf_stack_bytes(class) + page;
}

/* The byte that tells how the slot at this address is guarded; NULL: there is no slot. */
static uint8_t *
find_mark(const void *at, int class)
{
	struct stack_class *k = &classes[class];
	uint8_t *mark = NULL;

	wf_lock(&k->lock);
	for (uint32_t i = 0; i < k->nchunks && !mark; i++) {
		struct chunk *ch = &k->chunks[i];
		size_t off = (size_t)((const char *)at - ch->base);

		if ((const char *)at >= ch->base && off < ch->slots * stride_bytes(class))
			mark = &ch->canaries[off / stride_bytes(class)];
	}
	wf_unlock(&k->lock);
	return mark;
}

static uint8_t *
canary_mark(void *slot, int class)
{
	uint8_t *mark = find_mark(slot, class);

	CHECK(mark != NULL);
	return mark;
}

bool
wf_stack_has(const void *at)
{
	for (int c = 0; c < WF_STACK_CLASSES; c++)
		if (find_mark(at, c))
			return true;
	return false;
}

/* True: this slot has a guard that faults. Threads may find out at the same time that the better
   kind cannot be had: what counts for a slot is what was done to it. */
static bool
guard_faults(void *slot, size_t bytes)
{
	if (guard_kind == WF_GUARD_MADVISE) {
		if (os_guard(slot, bytes) == 0)
			return true;
		guard_kind = WF_GUARD_MPROTECT;
	}
	return guard_kind == WF_GUARD_MPROTECT && os_protect_none(slot, bytes) == 0;
}

static void
install_guard(void *slot, int class)
{
	if (guard_faults(slot, wf_stack_guard_bytes(class)))
		return;
	guard_kind = WF_GUARD_CANARY; /* out of mappings: vm.max_map_count */
	/* acqrel: only uniqueness matters */
	if (at_xchg_acqrel(&guard_said, 1) == 0 && wf_sched.debug)
		wf_say("no more guard pages can be had; further stacks are checked by a canary "
		       "when their goroutine ends (raise vm.max_map_count)");
	*(uint64_t *)slot = CANARY;
	*canary_mark(slot, class) = 1;
	at_store_rlx(&wf_stack_canaries, 1); /* rlx: before the slot is used */
}

bool
wf_stack_canary_intact(void *slot, int class)
{
	return *canary_mark(slot, class) == 0 || *(uint64_t *)slot == CANARY;
}

/* What a class needs beside its first chunk. 0 or -ENOMEM. */
static int
first_time(struct stack_class *k)
{
	void *depot, *chunks;

	if (os_reserve(DEPOT_MAX * sizeof(void *), page, &depot) < 0)
		return -ENOMEM;
	if (os_reserve(CHUNKS_MAX * sizeof(struct chunk), page, &chunks) < 0) {
		os_release(depot, DEPOT_MAX * sizeof(void *));
		return -ENOMEM;
	}
	wf_lock(&k->lock);
	if (!k->depot) {
		k->depot = depot;
		k->chunks = chunks;
		depot = NULL;
	}
	wf_unlock(&k->lock);
	if (depot) { /* another thread was first */
		os_release(depot, DEPOT_MAX * sizeof(void *));
		os_release(chunks, CHUNKS_MAX * sizeof(struct chunk));
	}
	return 0;
}

/* Maps one more chunk, of at least `want` slots; the class must not be locked. 0 or -ENOMEM. */
static int
grow(struct stack_class *k, int class, uint64_t want)
{
	uint64_t slots = k->total < CHUNK_SLOTS_MIN ? CHUNK_SLOTS_MIN : k->total;
	size_t bytes = stride_bytes(class);
	void *base, *marks;

	if (slots > CHUNK_SLOTS_MAX)
		slots = CHUNK_SLOTS_MAX;
	if (slots < want)
		slots = want;
	if (!k->depot && first_time(k) < 0)
		return -ENOMEM;
	while (os_reserve(slots * bytes, page, &base) < 0) {
		if (slots <= want)
			return -ENOMEM;
		slots = slots / 2 < want ? want : slots / 2;
	}
	if (os_reserve((slots + page - 1) / page * page, page, &marks) < 0) {
		os_release(base, slots * bytes);
		return -ENOMEM;
	}
	os_hint_hugepage(base, slots * bytes, false);
	os_name_memory(base, slots * bytes, "weft: stacks");
	wf_lock(&k->lock);
	CHECK(k->nchunks < CHUNKS_MAX);
	k->chunks[k->nchunks++] = (struct chunk){base, marks, (uint32_t)slots, 0};
	k->total += slots;
	wf_unlock(&k->lock);
	return 0;
}

/* What STK-1 sets aside for the caches of n Ps. */
static uint64_t
cache_slack(uint32_t n)
{
	return (uint64_t)(n + 1) * WF_STACK_CACHE;
}

int
wf_stack_provide(uint32_t n)
{
	for (int class = 0; class < WF_STACK_CLASSES; class ++) {
		struct stack_class *k = &classes[class];
		uint64_t have, need;

		wf_lock(&k->lock);
		have = k->total;
		need = k->promised + cache_slack(n);
		wf_unlock(&k->lock);
		if (have > 0 && have < need && grow(k, class, need - have) < 0)
			return -ENOMEM;
	}
	return 0;
}

int
wf_stack_reserve_slow(struct wf_cache *c, int class)
{
	struct stack_class *k = &classes[class];
	uint32_t n = WF_CREDIT_BATCH;
	uint64_t slack = cache_slack(at_load_rlx(&wf_sched.procs)); /* rlx: changes while stopped */

	for (;;) {
		bool ok;

		wf_lock(&k->lock);
		ok = k->promised + n + slack <= k->total;
		if (ok)
			k->promised += n;
		wf_unlock(&k->lock);
		if (ok)
			break;
		if (grow(k, class, n + slack) < 0) {
			if (n == 1)
				return -ENOMEM;
			n = 1;
		}
	}
	c->credit[class] += n - 1;
	return 0;
}

static void
take_back(int class, uint32_t n)
{
	struct stack_class *k = &classes[class];

	wf_lock(&k->lock);
	CHECK(k->promised >= n);
	k->promised -= n;
	wf_unlock(&k->lock);
}

void
wf_stack_unreserve_slow(struct wf_cache *c, int class)
{
	c->credit[class] -= WF_CREDIT_BATCH;
	take_back(class, WF_CREDIT_BATCH);
}

void
wf_stack_flush_credit(struct wf_cache *c)
{
	for (int class = 0; class < WF_STACK_CLASSES; class ++)
		if (c->credit[class] > 0) {
			take_back(class, c->credit[class]);
			c->credit[class] = 0;
		}
}

/* The next slot never used so far. */
static void *
cut_slot(struct stack_class *k, int class)
{
	wf_assert_held(&k->lock);
	for (;;) {
		struct chunk *ch = &k->chunks[k->cut_chunk];

		CHECK(k->cut_chunk < k->nchunks); /* STK-1 */
		if (ch->cut < ch->slots) {
			k->cut++;
			return ch->base + (size_t)ch->cut++ * stride_bytes(class);
		}
		k->cut_chunk++;
	}
}

/* One slot never used so far, and some more if they can go to a cache. */
static uint32_t
cut_slots(struct stack_class *k, int class, void **slots, bool cached)
{
	uint64_t share = cached ? k->cut / FRESH_SHARE : 0;
	uint32_t n = 1 + (uint32_t)(share < FRESH_MAX ? share : FRESH_MAX - 1);

	for (uint32_t i = 0; i < n; i++)
		slots[i] = cut_slot(k, class);
	return n;
}

/* They are the caller's alone. */
static void
prepare(void **slots, uint32_t n, int class)
{
	size_t guard = wf_stack_guard_bytes(class);
	bool best = guard_kind == WF_GUARD_MADVISE;
	bool guarded = best && os_guard_each(slots, n, guard);

	for (uint32_t i = 0; i < n; i++) {
		/* STK-3; some have one already, where no canary could be written */
		if (!guarded && !(best && os_guard(slots[i], guard) == 0))
			install_guard(slots[i], class);
		wf_valgrind_stack(slots[i], (char *)slots[i] + wf_stack_bytes(class));
		wf_lsan_root((char *)slots[i] + guard, wf_stack_bytes(class) - guard);
	}
}

static void *
depot_pop(struct stack_class *k)
{
	void *slot = k->depot[--k->depot_count];

	if (k->cool > k->depot_count)
		k->cool = k->depot_count;
	if (k->low > k->depot_count)
		k->low = k->depot_count;
	if (k->unused > k->depot_count)
		k->unused = k->depot_count;
	return slot;
}

void *
wf_stack_take_slow(struct wf_p *p, int class)
{
	struct stack_class *k = &classes[class];
	struct wf_stack_cache *c = p ? &p->stacks[class] : NULL; /* empty */
	void *slot = NULL, *fresh[FRESH_MAX];
	uint32_t n = 0;

	wf_lock(&k->lock);
	if (k->depot_count > 0)
		slot = depot_pop(k);
	else
		n = cut_slots(k, class, fresh, c != NULL);
	/* Refill half the cache from the depot while the lock is held. */
	while (c && k->depot_count > 0 && c->count < WF_STACK_CACHE / 2)
		c->slot[c->count++] = depot_pop(k);
	wf_unlock(&k->lock);
	if (n == 0)
		return slot;
	prepare(fresh, n, class);
	while (n > 1)
		c->slot[c->count++] = fresh[--n];
	return fresh[0];
}

size_t
wf_stack_used(void *slot, int class)
{
	unsigned char vec[256];
	size_t pages = wf_stack_bytes(class) / page, guard = wf_stack_guard_bytes(class) / page;

	for (size_t i = guard_kind == WF_GUARD_CANARY ? 1 : guard; i < pages;) {
		size_t n = pages - i < sizeof(vec) ? pages - i : sizeof(vec);

		if (os_resident((char *)slot + i * page, n, vec) < 0)
			return 0;
		for (size_t j = 0; j < n; j++)
			if (vec[j] & 1)
				return (pages - i - j) * page;
		i += n;
	}
	return 0;
}

/* Was it used deeper than we keep? One page tells, unless a large frame has stepped over it. */
static bool
is_deep(void *slot, int class)
{
	unsigned char in;
	char *below = (char *)slot + wf_stack_bytes(class) - KEEP_BYTES - page;

	return os_resident(below, 1, &in) == 0 && (in & 1);
}

/* Pages of pooled slots: mostly those deep down go back, all of them if the depot is well filled. */
static void
cool(void **slots, uint32_t n, int class, bool all)
{
	size_t bytes = wf_stack_bytes(class), guard = wf_stack_guard_bytes(class);

	if (all) {
		os_discard_each(slots, n, guard, bytes - guard);
		return;
	}
	/* Those that end together are mostly alike: one, by chance, tells whether to look at the others.
	   What is missed goes when it is trimmed. */
	if (n == 0 || bytes - guard <= KEEP_BYTES ||
	    !is_deep(slots[(uintptr_t)slots[0] / bytes % n], class))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (is_deep(slots[i], class))
			os_discard((char *)slots[i] + guard, bytes - guard - KEEP_BYTES);
}

static void
depot_put(int class, void **slots, uint32_t n)
{
	struct stack_class *k = &classes[class];
	/* rlx by lock: a hint of how full it is */
	bool all = k->depot_count >= DEPOT_WARM;

	cool(slots, n, class, all);
	wf_lock(&k->lock);
	CHECK(k->depot_count + n <= DEPOT_MAX);
	for (uint32_t i = 0; i < n; i++)
		k->depot[k->depot_count++] = slots[i];
	wf_unlock(&k->lock);
}

void
wf_stack_give_slow(struct wf_p *p, int class, void *slot)
{
	enum { HALF = WF_STACK_CACHE / 2 };
	struct wf_stack_cache *c;
	void *cold[HALF];

	if (!p) {
		depot_put(class, &slot, 1);
		return;
	}
	c = &p->stacks[class];
	/* the lower half was not used for longest */
	for (int i = 0; i < HALF; i++)
		cold[i] = c->slot[i];
	for (int i = 0; i < WF_STACK_CACHE - HALF; i++)
		c->slot[i] = c->slot[i + HALF];
	c->count -= HALF;
	depot_put(class, cold, HALF);
	c->slot[c->count++] = slot; /* STK-2 */
}

void
wf_stack_flush(struct wf_p *p)
{
	wf_stack_flush_credit(&p->cache);
	for (int class = 0; class < WF_STACK_CLASSES; class ++) {
		struct wf_stack_cache *c = &p->stacks[class];

		if (c->count > 0)
			depot_put(class, c->slot, c->count);
		c->count = 0;
	}
}

/* Slots with pages that the class can do without. */
static uint32_t
spare(const struct stack_class *k, uint32_t unused)
{
	uint32_t end = k->depot_count < TRIM_KEEP ? 0 : k->depot_count - TRIM_KEEP;

	wf_assert_held(&k->lock);
	end = end < unused ? end : unused;
	return k->cool < end ? end - k->cool : 0;
}

/* A range of the depot is taken out, so that the system calls happen without the lock. It is what
   one P's cache may hold, which STK-1 allows for. */
static uint32_t
trim_class(struct stack_class *k, int class, uint32_t most)
{
	enum { BATCH = WF_STACK_CACHE };
	void *slots[BATCH];
	uint32_t done = 0, n;

	do {
		wf_lock(&k->lock);
		n = spare(k, k->unused);
		n = n < BATCH ? n : BATCH;
		n = n < most - done ? n : most - done;
		/* index 0 is the coldest; below k->cool all have given their pages back */
		for (uint32_t i = 0; i < n; i++) {
			slots[i] = k->depot[k->cool];
			k->depot[k->cool] = k->depot[--k->depot_count];
		}
		wf_unlock(&k->lock);
		cool(slots, n, class, true);
		wf_lock(&k->lock);
		for (uint32_t i = 0; i < n; i++) { /* back in at the cold end */
			k->depot[k->depot_count++] = k->depot[k->cool];
			k->depot[k->cool++] = slots[i];
		}
		wf_unlock(&k->lock);
		done += n;
	} while (n > 0);
	return done;
}

void
wf_stack_mark(void)
{
	for (int class = 0; class < WF_STACK_CLASSES; class ++) {
		struct stack_class *k = &classes[class];

		wf_lock(&k->lock);
		k->unused = k->low;
		k->low = k->depot_count;
		wf_unlock(&k->lock);
	}
}

uint32_t
wf_stack_trim(uint32_t most)
{
	uint32_t done = 0;

	for (int class = 0; class < WF_STACK_CLASSES; class ++)
		done += trim_class(&classes[class], class, most - done);
	return done;
}

bool
wf_stack_warm(void)
{
	bool warm = false;

	for (int class = 0; class < WF_STACK_CLASSES && !warm; class ++) {
		struct stack_class *k = &classes[class];

		wf_lock(&k->lock);
		warm = spare(k, UINT32_MAX) > 0;
		wf_unlock(&k->lock);
	}
	return warm;
}

void
wf_stack_count(uint64_t *in_use, uint64_t *cached)
{
	uint64_t cut = 0, free_slots = 0;

	for (int class = 0; class < WF_STACK_CLASSES; class ++) {
		struct stack_class *k = &classes[class];

		wf_lock(&k->lock);
		cut += k->cut;
		free_slots += k->depot_count;
		wf_unlock(&k->lock);
	}
	*in_use = cut - free_slots;
	*cached = free_slots;
}
