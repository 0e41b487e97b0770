/* SPDX-License-Identifier: MIT */
/*
 * locks.h: what the locks have in common, and what of the mutex others need.
 *
 * Each lock is a word or two that say who has it, and a flag "somebody may wait"; who waits is in
 * the address table alone. So a waiter that is cancelled, or dropped at the end of a run, leaves
 * at most a flag behind, which the next unlock takes away.
 */
#ifndef WF_WAIT_LOCKS_H
#define WF_WAIT_LOCKS_H

#include "base/sanitizer.h"
#include "core/calm.h"
#include "wait/waitq.h"

/* How a waiter is woken. 0 is left to wf_wait_at: look again. */
enum {
	WF_GIVEN = 1,  /* it has what it waited for */
	WF_COMPETE = 2 /* it may try to get it; nobody else is woken until it has tried */
};

/*
 * The M of a goroutine that has its P and is not asked for it: it may take a fast path, which is
 * a few instructions on the object alone, without entering. NULL: enter.
 */
WF_INLINE struct wf_m *
wf_fast(void)
{
	struct wf_m *m = wf_m();

	/* rlx: should it change meanwhile, we are as any code that runs outside */
	if (unlikely(at_load_rlx(&m->lease) - WF_HELD > WF_FENCED - WF_HELD))
		return NULL;
#ifdef WF_TORTURE
	if (wf_rand_below(&m->rand, 2) == 0)
		return NULL;
#endif
	return m;
}

/* The caller as a number above flag bits: a goroutine's id, or minus a thread's. Never 0. */
WF_INLINE uint64_t
wf_tag(const struct wf_g *g, unsigned shift)
{
	return (uint64_t)g->id << shift;
}

/* ---- the mutex; see mutex.c */
enum {
	WF_MTX_WAITED = 1,   /* somebody may be in line */
	WF_MTX_WOKEN = 2,    /* somebody is awake to compete for it: nobody need be woken */
	WF_MTX_STARVING = 4, /* it is handed over, first come first served */
	WF_MTX_FLAGS = 7,    /* the holder stands above */
};

WF_INLINE wf_a64 *
wf_mutex_word(struct weft_mutex *mx)
{
	return (wf_a64 *)&mx->word_;
}

/* Where its waiters are: no line of another kind of object at that address. MTX-6 */
WF_INLINE const void *
wf_mutex_line(const void *mx)
{
	return (const char *)mx + (WF_MUTANT(MUT_MTX_LATE_LINE) ? 0 : 2);
}

/* Who has it, by its word: an address on the holder's stack; NULL: it is free. */
WF_INLINE const void *
wf_mutex_holder(uint64_t word)
{
	return (const void *)(uintptr_t)(word & ~(uint64_t)WF_MTX_FLAGS);
}

/* The owner of this object, which lies on its stack, as the holder in a word. */
WF_INLINE uint64_t
wf_mutex_tag(const void *on_stack)
{
	return (uint64_t)(uintptr_t)on_stack & ~(uint64_t)WF_MTX_FLAGS;
}

/* The same for a rwmutex that is locked for writing. */
enum {
	WF_RW_WAITED = 1, /* somebody may be in line: nobody gets in but by the line */
	WF_RW_WRITER =
	    2, /* locked for writing; the holder stands above, else the number of readers */
	WF_RW_SHIFT = 2,
	WF_RW_READER = 4,
};

WF_INLINE int64_t
wf_rwmutex_writer(uint64_t word)
{
	return word & WF_RW_WRITER ? (int64_t)word >> WF_RW_SHIFT : 0;
}

/* Must an unlock wake somebody, or hand the mutex over? */
WF_INLINE bool
wf_mutex_wakes(uint64_t w)
{
	return (w & WF_MTX_STARVING) || (w & WF_MTX_FLAGS) == WF_MTX_WAITED;
}

/* True: it is unlocked, and nobody was to be woken. Any thread, any lock held. */
WF_INLINE bool
wf_mutex_unlock_fast(struct weft_mutex *mx)
{
	uint64_t w = at_load_rlx(wf_mutex_word(mx)); /* rlx: the CAS decides */

	wf_tsan_release(mx);
	while (likely(!wf_mutex_wakes(w) && wf_mutex_holder(w)))
		/* rel: what was done under it. MTX-1: the last access */
		if (likely(at_cas_acqrel(wf_mutex_word(mx), &w, w & WF_MTX_FLAGS)))
			return true;
	return false;
}

/* True: it is unlocked. In the calm only, and then without a locked instruction. Any thread that is
   outside; no lock of the runtime's held. */
WF_INLINE bool
wf_mutex_unlock_calm(struct weft_mutex *mx)
{
	uint64_t w = at_load_rlx(wf_mutex_word(mx)); /* rlx: but for the flags it is the holder's */

	if (!wf_calm() || (w & WF_MTX_FLAGS) || !wf_mutex_holder(w))
		return false;
	wf_tsan_release(mx);
	at_store_rel(wf_mutex_word(mx), UINT64_C(0)); /* rel: as above. MTX-1, MTX-6 */
	light_barrier(); /* pairs with the membarrier in wf_calm_end: CALM-1 */
	if (unlikely(!wf_calm()) && !WF_MUTANT(MUT_CALM_NO_LOOK))
		weft_unlock_late_(mx);
	return true;
}

/* ---- in the runtime */
/* 0; or -errno, and it is not locked: what the scopes say, or -ENOTSUP: the run is over. */
int wf_mutex_lock(struct wf_m **m, struct weft_mutex *mx, bool scoped, uint64_t here);
/* Any thread; fatal if it is not locked. */
void wf_mutex_unlock(struct wf_m *m, struct weft_mutex *mx);

/* Outside. A plain thread that must have it, when the run may be over. */
void wf_mutex_lock_after_run(struct weft_mutex *mx);

#endif
