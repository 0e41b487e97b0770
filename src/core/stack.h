/* SPDX-License-Identifier: MIT */
/*
 * stack.h: stacks that do not move. Slots of one size class are cut from large mappings whose
 * pages cost nothing until touched; the lowest pages of a slot are its guard.
 *
 * STK-1: the slots of a class that exist outnumber the goroutines that were promised one plus
 *        all that may lie in the caches of the Ps; so binding cannot fail.
 * STK-2: a slot is in one place: bound to a G, in one P's cache, in the depot, or not yet cut.
 * STK-3: a slot has its guard before its first use, and keeps it for ever.
 */
#ifndef WF_CORE_STACK_H
#define WF_CORE_STACK_H

#include "core/gmp.h"

enum { WF_STACK_MIN = 16384 }; /* bytes of class 0: the library itself needs a few KiB */

/* How overflow is caught, best first; chosen at start, and downgraded as limits are met. */
enum wf_guard { WF_GUARD_MADVISE, WF_GUARD_MPROTECT, WF_GUARD_CANARY };

int wf_stack_class(size_t bytes); /* the class that holds bytes, or -EINVAL */
static inline size_t
wf_stack_bytes(int class)
{
	return (size_t)WF_STACK_MIN << class;
}

void wf_stack_init(void); /* once per process */
enum wf_guard wf_stack_guard_kind(void);
void wf_stack_force_guard(enum wf_guard kind); /* WEFT_DEBUG=guard=..., before the first slot */

/* Before procs grows to n: STK-1 for the caches of n Ps. 0 or -ENOMEM. */
int wf_stack_provide(uint32_t n);

/* Owner of the cache. Promise a slot to a goroutine about to be made: 0 or -ENOMEM. */
int wf_stack_reserve_slow(struct wf_cache *c, int class);
void wf_stack_unreserve_slow(struct wf_cache *c, int class);
void wf_stack_flush_credit(struct wf_cache *c);

WF_INLINE int
wf_stack_reserve(struct wf_cache *c, int class)
{
	if (unlikely(c->credit[class] == 0))
		return wf_stack_reserve_slow(c, class);
	c->credit[class]--;
	return 0;
}

enum { WF_CREDIT_BATCH = 64 }; /* promises a P fetches at once, and gives back */

WF_INLINE void
wf_stack_unreserve(struct wf_cache *c, int class)
{
	if (unlikely(++c->credit[class] > 2 * WF_CREDIT_BATCH))
		wf_stack_unreserve_slow(c, class);
}

/* Holder of p, or p NULL. Bind a slot to g, which was promised one; take it away again. */
void *wf_stack_take_slow(struct wf_p *p, int class);
void wf_stack_give_slow(struct wf_p *p, int class, void *slot);

WF_INLINE void *
wf_stack_take(struct wf_p *p, int class)
{
	struct wf_stack_cache *c = &p->stacks[class];

	return likely(c->count > 0) ? c->slot[--c->count] : wf_stack_take_slow(p, class);
}

WF_INLINE void
wf_stack_give(struct wf_p *p, int class, void *slot)
{
	struct wf_stack_cache *c = p ? &p->stacks[class] : NULL;

	if (likely(c && c->count < WF_STACK_CACHE))
		c->slot[c->count++] = slot; /* STK-2 */
	else
		wf_stack_give_slow(p, class, slot);
}

/* First byte above the usable stack. Tops are coloured: slots are equally aligned, and without
   an offset all hot frames would compete for the same few cache sets. */
WF_INLINE void *
wf_stack_top(void *slot, int class)
{
	uint32_t hash = (uint32_t)((uintptr_t)slot >> 12) * 0x9e3779b1u; /* of its page */

	return (char *)slot + wf_stack_bytes(class) - (hash >> 28) * 64;
}

size_t wf_stack_guard_bytes(int class);
WF_EXTERN wf_a32 wf_stack_canaries; /* some slots are guarded by a canary only */
bool wf_stack_canary_intact(void *slot, int class);

WF_INLINE bool
wf_stack_intact(void *slot, int class)
{
	/* rlx: set before the first of them was used */
	return likely(!at_load_rlx(&wf_stack_canaries)) || wf_stack_canary_intact(slot, class);
}

/* Bytes of the slot that have been touched, by asking the kernel. */
size_t wf_stack_used(void *slot, int class);
bool wf_stack_has(const void *at); /* an address on the stack of a goroutine, now or once */
/* Holder of p, or the world stopped: everything that p has cached goes to the depot. */
void wf_stack_flush(struct wf_p *p);
/* Any thread. Between two marks some free slots were not needed: up to most of these give their
   pages back; how many did. The newest few of each class never do. */
void wf_stack_mark(void);
uint32_t wf_stack_trim(uint32_t most);
bool wf_stack_warm(void); /* some have still to */
void wf_stack_count(uint64_t *in_use,
		    uint64_t *cached); /* over all classes; Ps' caches not included */

#endif
