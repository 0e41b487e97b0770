/* SPDX-License-Identifier: MIT */
/*
 * barrier.c: n callers wait for each other. The word is n; who has arrived is in the address table.
 *
 * BAR-1: those who wait go on when n - 1 of them are there, none of them claimed by a scope, and
 *        one more comes; they are claimed all at once, under the bucket's lock.
 * BAR-2: the look at n is the last access; from then on only the table is touched (SYNC-1).
 */
#include "wait/locks.h"

#include <errno.h>

WF_INLINE wf_a64 *
word_of(struct weft_barrier *bar)
{
	return (wf_a64 *)&bar->word_;
}

WF_EXPORT int
weft_barrier_init(struct weft_barrier *bar, int64_t n)
{
	if (n < 1)
		return -EINVAL;
	at_store_rel(word_of(bar), (uint64_t)n); /* rel: nobody uses it yet */
	return 0;
}

/* The bucket is locked, and with the caller there would be n. True: they are; the others are
   woken. False: a scope has claimed one of them. Those that were claimed here come again. The
   lock is dropped. */
static bool
complete(struct wf_m *m, struct weft_barrier *bar, struct wf_bucket *b, uint64_t n)
{
	struct wf_at *all = wf_at_pop_all(b, bar);
	uint64_t there = 1;

	for (const struct wf_waiter *w = all ? &all->w : NULL; w; w = w->next)
		there++;
	wf_unlock(&b->lock);
	wf_tsan_acquire(bar);
	wf_at_wake_all(m, all, there == n ? WF_GIVEN : WF_COMPETE); /* BAR-1 */
	return there == n;
}

WF_EXPORT int
weft_barrier_wait(struct weft_barrier *bar)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_bucket *b = wf_bucket_of(bar);
	struct wf_at a;
	int rc;

	if (!m)
		return -ENOTSUP;
	wf_tsan_release(bar);
	do {
		uint64_t n;

		wf_lock(&b->lock);
		n = at_load_acq(word_of(bar)); /* acq: weft_barrier_init. BAR-2 */
		if (unlikely(n == 0)) {
			wf_unlock(&b->lock);
			rc = -EINVAL;
		} else if (wf_at_count(b, bar) + 1 < n) {
			rc = wf_wait_at(&m, b, bar, &a, WF_WAIT_BARRIER, true);
			if (rc == WF_GIVEN)
				rc = 0;
			else if (rc >= 0)
				rc = wf_run_over(m) ? -ENOTSUP : WF_PENDING; /* once more */
		} else {
			rc = complete(m, bar, b, n) ? 1 : WF_PENDING;
		}
	} while (rc == WF_PENDING);
	wf_leave(m);
	return rc;
}
