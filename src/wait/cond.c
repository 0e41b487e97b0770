/* SPDX-License-Identifier: MIT */
/*
 * cond.c: condition variables: a line of waiters, and one word that says whether anybody is in it.
 *
 * A waiter takes its place before it unlocks the mutex, so a signal sent under the mutex, or after
 * it, finds it. If the mutex can be unlocked by one instruction that is done under the bucket's
 * lock, and the waiter sleeps. If somebody must be woken for it, or is handed the mutex, another
 * bucket is needed: the waiter then keeps its place without sleeping yet.
 *
 * COND-1: a waiter is linked, and the word set, before the mutex is unlocked; the word is cleared
 *         only when nobody is linked. Both under the bucket's lock.
 * COND-2: a signal takes the first that is still to be had: one that a scope has woken is passed
 *         over, and the next gets it.
 * COND-3: who is taken before it sleeps finds its result under the lock and is not readied.
 */
#include "wait/locks.h"

#include <errno.h>

WF_INLINE wf_a64 *
word_of(struct weft_cond *c)
{
	return (wf_a64 *)&c->word_;
}

/* Has its place in line, which the mutex protects until it is unlocked here. The result. */
static int
unlock_and_sleep(struct wf_m **m, struct weft_cond *c, struct weft_mutex *mx)
{
	struct wf_bucket *b = wf_bucket_of(c);
	struct wf_at a;

	wf_lock(&b->lock);
	wf_at_link(*m, b, c, &a, false);
	at_store_rel(word_of(c), UINT64_C(1)); /* rel: COND-1; pairs with a signal's first look */
	if (unlikely(!wf_mutex_unlock_fast(mx))) {
		wf_unlock(&b->lock);
		wf_mutex_unlock(*m, mx);
		wf_lock(&b->lock);
		if (!at_load_rlx(&a.w.linked)) { /* rlx: under the lock. COND-3 */
			wf_unlock(&b->lock);
			return a.w.result;
		}
	}
	return wf_at_sleep(m, &a, WF_WAIT_COND, true);
}

WF_EXPORT int
weft_wait(struct weft_cond *c, struct weft_mutex *mx)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	uint64_t here = at_load_rlx(wf_mutex_word(mx)); /* rlx: it is locked; mostly by us */
	int rc, locked;

	if (!m)
		return -ENOTSUP;
	if (!wf_mutex_holder(here))
		here = WEFT_HERE_; /* it is not, which the unlock tells */
	rc = unlock_and_sleep(&m, c, mx);
	locked = wf_mutex_lock(&m, mx, false, here & ~(uint64_t)WF_MTX_FLAGS);
	wf_leave(m);
	if (unlikely(locked < 0)) { /* a plain thread has outlived the run */
		wf_mutex_lock_after_run(mx);
		rc = -ENOTSUP;
	}
	wf_tsan_acquire(c);
	return rc < 0 ? rc : 0;
}

/* The bucket is locked: the next one, the caller's to ready; or NULL, and *found if one was taken
   that does not sleep. */
static struct wf_at *
take_next(struct wf_bucket *b, struct weft_cond *c, bool *found)
{
	struct wf_at *a = wf_at_pop(b, c); /* COND-2 */

	*found = a != NULL;
	if (a && a->awake) {
		a->w.result = WF_GIVEN; /* COND-3: gone with the lock */
		return NULL;
	}
	return a;
}

static void
wake(struct weft_cond *c, bool all)
{
	struct wf_at_list woken = {0};
	struct wf_bucket *b;
	struct wf_at *a;
	struct wf_m *m;
	bool found;

	wf_tsan_release(c);
	if (at_load_acq(word_of(c)) == 0) /* acq: COND-1; who waits has set it under the mutex */
		return;
	m = wf_enter(WF_CALL_N);
	if (!m)
		return; /* no run is up: nobody waits */
	b = wf_bucket_of(c);
	wf_lock(&b->lock);
	do {
		a = take_next(b, c, &found);
		if (a)
			wf_at_list_push(&woken, a);
	} while (all && found);
	if (!wf_at_first(b, c))
		at_store_rel(word_of(c), UINT64_C(0)); /* rel: COND-1; the last access */
	wf_unlock(&b->lock);
	wf_at_wake_all(m, woken.first, WF_GIVEN);
	wf_leave(m);
}

WF_EXPORT void
weft_signal(struct weft_cond *c)
{
	wake(c, false);
}

WF_EXPORT void
weft_broadcast(struct weft_cond *c)
{
	wake(c, true);
}
