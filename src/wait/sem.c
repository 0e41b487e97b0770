/* SPDX-License-Identifier: MIT */
/*
 * sem.c: weighted semaphores: one word, what is left and a "somebody is in line" bit.
 *
 * First come, first served, whatever the weights: while somebody is in line nobody gets past, so
 * that a large request is not starved by small ones.
 *
 * SEM-1: while WAITED is set the word is changed under the bucket's lock only, and WAITED itself
 *        always; it is set before its setter sleeps, and taken away when nobody is in line.
 * SEM-2: the head of the line is always larger than what is left: whoever adds to that, or leaves
 *        the head, lets in all that fit.
 * SEM-3: the atomic that adds is a release's last access (SYNC-1).
 */
#include "wait/locks.h"

#include <errno.h>

enum { WAITED = 1, ONE = 2 };

WF_INLINE wf_a64 *
word_of(struct weft_sem *s)
{
	return (wf_a64 *)&s->word_;
}

WF_INLINE int64_t
left_in(uint64_t w)
{
	return (int64_t)(w / ONE);
}

WF_COLD static void
misuse(int64_t n)
{
	if (n < 0)
		wf_fatal("weft_release of %lld: a negative number cannot be released. Use "
			 "weft_acquire to take some away",
			 (long long)n);
	wf_fatal("semaphore overflow: weft_release(%lld) would leave more than %lld to acquire. "
		 "Release only what was acquired",
		 (long long)n, (long long)INT64_MAX);
}

static uint64_t
added(uint64_t w, int64_t n)
{
	if (unlikely(n < 0 || n > INT64_MAX - left_in(w)))
		misuse(n);
	return w + (uint64_t)n * ONE;
}

/* ---- without a wait; any thread */

WF_INLINE bool
take(struct weft_sem *s, int64_t n)
{
	uint64_t w = at_load_rlx(word_of(s)); /* rlx: the CAS decides */

	while (likely(!(w & WAITED) && left_in(w) >= n)) {
		/* acq: what was done before the release; pairs with give and let_in */
		if (likely(at_cas_acqrel(word_of(s), &w, w - (uint64_t)n * ONE))) {
			wf_tsan_acquire(s);
			return true;
		}
	}
	return false;
}

/* False: somebody is in line, and nothing is done. */
WF_INLINE bool
give(struct weft_sem *s, int64_t n)
{
	uint64_t w = at_load_rlx(word_of(s)); /* rlx: the CAS decides */

	while (likely(!(w & WAITED)))
		/* rel: what was done before. SEM-3 */
		if (likely(at_cas_acqrel(word_of(s), &w, added(w, n))))
			return true;
	return false;
}

/* ---- the line */

/* The bucket is locked and WAITED set, so the word is ours. n more are left: who fits follows. The
   lock is dropped. */
static void
let_in(struct wf_m *m, struct weft_sem *s, struct wf_bucket *b, int64_t n)
{
	struct wf_at_list woken = {0};
	struct wf_at *a;
	uint64_t w = at_load_rlx(word_of(s)); /* rlx: SEM-1 */

	ASSERT(w & WAITED);
	w = added(w, n);
	while ((a = wf_at_first(b, s)) && (int64_t)(intptr_t)a->w.elem <= left_in(w)) {
		if (!wf_at_take(b, a))
			continue; /* a scope has woken it */
		w -= (uint64_t)(intptr_t)a->w.elem * ONE;
		wf_at_list_push(&woken, a);
	}
	if (!a)
		w &= ~(uint64_t)WAITED;
	at_store_rel(word_of(s), w); /* rel: what was done before. SEM-1 to SEM-3 */
	wf_unlock(&b->lock);
	wf_at_wake_all(m, woken.first, WF_GIVEN);
}

enum who { TRIES, COMES, STOOD_FIRST }; /* the last: it was the head of the line, and is again */

/* The bucket is locked. True: it could not be had; the word then tells if the caller is to wait.
   That somebody is in line is for the line to say: WAITED may be left from an earlier run. */
static bool
refused(struct weft_sem *s, struct wf_bucket *b, int64_t n, enum who who)
{
	uint64_t w = at_load_rlx(word_of(s)), next; /* rlx: the CAS decides */
	bool line = wf_at_first(b, s) != NULL, fits;

	do {
		fits = (!line || who == STOOD_FIRST) && left_in(w) >= n; /* SEM-2 */
		if (!fits && who == TRIES)
			break;
		next = fits ? w - (uint64_t)n * ONE : w;
		next = line || !fits ? next | WAITED : next & ~(uint64_t)WAITED;
	} while (!at_cas_acqrel(word_of(s), &w, next)); /* acqrel: as in take; SEM-1 */
	return !fits;
}

static int
acquire(struct wf_m **m, struct weft_sem *s, int64_t n)
{
	struct wf_bucket *b = wf_bucket_of(s);
	struct wf_at a;
	int rc;

	a.w.elem = (void *)(intptr_t)n;
	for (enum who who = COMES;; who = STOOD_FIRST) {
		wf_lock(&b->lock);
		if (!refused(s, b, n, who)) {
			wf_unlock(&b->lock);
			break;
		}
		wf_at_link(*m, b, s, &a, who == STOOD_FIRST);
		rc = wf_at_sleep(m, &a, WF_WAIT_SEM, true);
		if (rc == WF_GIVEN)
			break;
		if (rc < 0) { /* SEM-2: we may have been the head */
			wf_lock(&b->lock);
			if (at_load_rlx(word_of(s)) & WAITED) /* rlx: under the lock */
				let_in(*m, s, b, 0);
			else
				wf_unlock(&b->lock);
			return rc;
		}
		if (wf_run_over(*m))
			return -ENOTSUP;
	}
	wf_tsan_acquire(s);
	return 0;
}

/* ---- the calls */

WF_EXPORT int
weft_sem_init(struct weft_sem *s, int64_t n)
{
	if (n < 0)
		return -EINVAL;
	at_store_rel(word_of(s), (uint64_t)n * ONE); /* rel: nobody uses it yet */
	return 0;
}

WF_EXPORT int
weft_acquire(struct weft_sem *s, int64_t n)
{
	struct wf_m *m;
	int rc;

	if (unlikely(n < 0))
		return -EINVAL;
	if (likely(wf_fast() && take(s, n)))
		return 0;
	m = wf_enter(WF_CALL_B);
	if (!m)
		return -ENOTSUP;
	rc = acquire(&m, s, n);
	wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_try_acquire(struct weft_sem *s, int64_t n)
{
	struct wf_bucket *b;
	struct wf_m *m;
	int rc;

	if (unlikely(n < 0))
		return -EINVAL;
	if (likely(wf_fast())) {
		if (likely(take(s, n)))
			return 1;
		if (likely(left_in(at_load_rlx(word_of(s))) < n)) /* rlx: as of some moment */
			return 0;
	}
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	b = wf_bucket_of(s);
	wf_lock(&b->lock);
	rc = !refused(s, b, n, TRIES);
	wf_unlock(&b->lock);
	wf_leave(m);
	wf_tsan_acquire(s);
	return rc;
}

static WF_NOINLINE void
release_entered(struct weft_sem *s, int64_t n)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_bucket *b = wf_bucket_of(s);

	if (!m) { /* no run is up: who waited in the last one is gone, and its bit goes too */
		at_and_acqrel(word_of(s), ~(uint64_t)WAITED); /* acqrel: as below */
		give(s, n);
		return;
	}
	wf_lock(&b->lock);
	if (give(s, n)) /* WAITED has gone, and cannot come while we have the lock: SEM-1 */
		wf_unlock(&b->lock);
	else
		let_in(m, s, b, n);
	wf_leave(m);
}

WF_EXPORT void
weft_release(struct weft_sem *s, int64_t n)
{
	wf_tsan_release(s);
	if (unlikely(!give(s, n)))
		release_entered(s, n);
}
