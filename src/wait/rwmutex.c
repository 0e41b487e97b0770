/* SPDX-License-Identifier: MIT */
/*
 * rwmutex.c: locks that many readers or one writer have.
 *
 * The word counts the readers, or names the writer, and has a flag: somebody is in line. While it
 * is set nobody gets in but by the line, so a writer that waits stops new readers. There are two
 * lines. When the last reader leaves, the first writer follows; when a writer leaves, all readers
 * that have come so far follow, and then the next writer.
 *
 * RW-1: an unlock's last access is the atomic that counts a reader out while others remain or
 *       nobody waits, or the store that passes the lock on (SYNC-1).
 * RW-2: WAITED is changed under the bucket's lock only, and set before its setter sleeps. Whoever
 *       then brings the word to no reader and no writer comes to the bucket and serves the lines.
 * RW-3: WAITED without readers and writer: the last reader is on its way to the bucket. Until it
 *       has been there everybody waits, also who finds the lines empty: the object could be freed
 *       under it otherwise. There is only one such, for nobody counts a reader in meanwhile.
 * RW-4: a writer that gives up lets the readers in that stood back for it, if it was the last.
 */
#include "wait/locks.h"

#include <errno.h>

WF_INLINE wf_a64 *
word_of(struct weft_rwmutex *rw)
{
	return (wf_a64 *)&rw->word_;
}

/* TSan: readers are ordered after the writers before them, and writers after both; readers are not
   ordered among themselves. */
#define tsan_writers(rw) (&(rw)->word_)
#define tsan_readers(rw) (&(rw)->writer_)

WF_COLD static void
misuse_read(void)
{
	wf_fatal("runlock of an unlocked rwmutex: weft_runlock was called more often than "
		 "weft_rlock, or by one that has it for writing (that is weft_wunlock)");
}

WF_COLD static void
misuse_write(void)
{
	wf_fatal("unlock of an unlocked rwmutex: weft_wunlock was called and nobody has it for "
		 "writing. Lock it with weft_wlock first; after weft_rlock it is weft_runlock");
}

/* ---- passing it on */

static uint64_t
length(const struct wf_at *a)
{
	uint64_t n = 0;

	for (const struct wf_waiter *w = a ? &a->w : NULL; w; w = w->next)
		n++;
	return n;
}

static bool
anybody(struct wf_bucket *b, const struct weft_rwmutex *rw)
{
	return wf_at_first(b, rw) || wf_at_first(b, wf_second_line(rw));
}

/* The bucket is locked and the word nobody else's to change: those who come next get it. The
   bucket's lock is dropped. */
static void
pass_on(struct wf_m *m, struct weft_rwmutex *rw, struct wf_bucket *b, bool readers_first)
{
	struct wf_at *writer = NULL, *readers = NULL;
	uint64_t next = 0;

	if (readers_first)
		readers = wf_at_pop_all(b, rw);
	if (!readers)
		writer = wf_at_pop(b, wf_second_line(rw));
	if (!readers && !writer)
		readers = wf_at_pop_all(b, rw);
	if (writer)
		next = wf_tag(writer->w.g, WF_RW_SHIFT) | WF_RW_WRITER;
	else
		next = length(readers) * WF_RW_READER;
	if (anybody(b, rw))
		next |= WF_RW_WAITED;
	at_store_rel(word_of(rw), next); /* rel: what was done under it. RW-1, RW-2 */
	wf_unlock(&b->lock);
	if (writer)
		wf_at_wake(m, writer, WF_GIVEN);
	else
		wf_at_wake_all(m, readers, WF_GIVEN);
}

/* RW-4 */
static void
stand_aside(struct wf_m *m, struct weft_rwmutex *rw)
{
	wf_a64 *word = word_of(rw);
	struct wf_bucket *b = wf_bucket_of(rw);
	struct wf_at *readers = NULL;
	uint64_t w;

	wf_lock(&b->lock);
	w = at_load_rlx(word); /* rlx: the CAS decides */
	if (!(w & WF_RW_WAITED) || (w & WF_RW_WRITER) || wf_at_first(b, wf_second_line(rw)))
		goto out;
	do /* a reader more, so that none is the last one out */
		if (w < WF_RW_READER)
			goto out;                           /* RW-3: that one lets them in */
	while (!at_cas_acqrel(word, &w, w + WF_RW_READER)); /* acqrel: before the lines are read */
	readers = wf_at_pop_all(b, rw);
	/* acqrel: they come, it goes, and the flag goes: RW-2 */
	at_add_acqrel(word, (length(readers) - 1) * WF_RW_READER - WF_RW_WAITED);
out:
	wf_unlock(&b->lock);
	wf_at_wake_all(m, readers, WF_GIVEN);
}

/* ---- readers */

/* Any thread. */
WF_INLINE bool
enter_reader(struct weft_rwmutex *rw)
{
	uint64_t w = at_load_rlx(word_of(rw)); /* rlx: the CAS decides */

	while (likely(!(w & (WF_RW_WAITED | WF_RW_WRITER)))) {
		/* acq: what the last writer did; pairs with pass_on and weft_wunlock */
		if (likely(at_cas_acqrel(word_of(rw), &w, w + WF_RW_READER))) {
			wf_tsan_acquire(tsan_writers(rw));
			return true;
		}
	}
	return false;
}

/* The bucket is locked. True: the caller waits; false: it is in. */
static bool
reader_waits(struct weft_rwmutex *rw)
{
	uint64_t w = at_load_rlx(word_of(rw)), next; /* rlx: the CAS decides */

	do {
		if (w & WF_RW_WAITED)
			return true; /* RW-2, RW-3 */
		next = w & WF_RW_WRITER ? w | WF_RW_WAITED : w + WF_RW_READER;
	} while (!at_cas_acqrel(word_of(rw), &w, next)); /* acqrel: as enter_reader, or RW-2 */
	return w & WF_RW_WRITER;
}

static int
rlock(struct wf_m **m, struct weft_rwmutex *rw, bool scoped)
{
	struct wf_bucket *b = wf_bucket_of(rw);
	struct wf_at a;
	int rc = 0;

	for (;;) {
		wf_lock(&b->lock);
		if (!reader_waits(rw)) {
			wf_unlock(&b->lock);
			break;
		}
		rc = wf_wait_at(m, b, rw, &a, WF_WAIT_RLOCK, scoped);
		if (rc == WF_GIVEN)
			break;
		if (rc < 0)
			return rc;
		if (wf_run_over(*m))
			return -ENOTSUP;
	}
	wf_tsan_acquire(tsan_writers(rw));
	return 0;
}

static WF_NOINLINE int
rlock_entered(struct weft_rwmutex *rw, bool scoped)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (!m)
		return -ENOTSUP;
	rc = rlock(&m, rw, scoped);
	wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_rlock(struct weft_rwmutex *rw)
{
	return likely(wf_fast() && enter_reader(rw)) ? 0 : rlock_entered(rw, false);
}

WF_EXPORT int
weft_rlock_scoped(struct weft_rwmutex *rw)
{
	return likely(wf_fast() && enter_reader(rw)) ? 0 : rlock_entered(rw, true);
}

WF_EXPORT int
weft_try_rlock(struct weft_rwmutex *rw)
{
	struct wf_m *m;
	int rc;

	if (likely(wf_fast()))
		return enter_reader(rw);
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	rc = enter_reader(rw);
	wf_leave(m);
	return rc;
}

WF_EXPORT void
weft_runlock(struct weft_rwmutex *rw)
{
	struct wf_m *m = wf_enter(WF_CALL_N); /* first: once counted out it must not be abandoned */
	struct wf_bucket *b;
	uint64_t w;

	wf_tsan_release(tsan_readers(rw));
	/* rel: what was read under it. RW-1 */
	w = at_add_acqrel(word_of(rw), (uint64_t)-WF_RW_READER) - WF_RW_READER;
	if (unlikely((int64_t)w < 0 || (w & WF_RW_WRITER)))
		misuse_read();
	if (likely(w != WF_RW_WAITED)) {
		if (likely(m != NULL))
			wf_leave(m);
		return;
	}
	if (!m) {                                       /* no run is up: nobody waits */
		at_store_rel(word_of(rw), UINT64_C(0)); /* rel: as above */
		return;
	}
	b = wf_bucket_of(rw); /* RW-3: we are that last reader */
	wf_lock(&b->lock);
	pass_on(m, rw, b, false);
	wf_leave(m);
}

/* ---- writers */

WF_INLINE bool
enter_writer(struct weft_rwmutex *rw, const struct wf_g *me)
{
	uint64_t nobody = 0;

	/* acq: what those before did; pairs with pass_on and the unlocks */
	if (unlikely(!at_cas_acqrel(word_of(rw), &nobody, wf_tag(me, WF_RW_SHIFT) | WF_RW_WRITER)))
		return false;
	wf_tsan_acquire(tsan_writers(rw));
	wf_tsan_acquire(tsan_readers(rw));
	return true;
}

/* The bucket is locked. True: the caller waits; false: it is in. */
static bool
writer_waits(struct weft_rwmutex *rw, const struct wf_g *me)
{
	uint64_t w = at_load_rlx(word_of(rw)), next; /* rlx: the CAS decides */

	do {
		if (w & WF_RW_WAITED)
			return true; /* RW-2, RW-3 */
		next = w ? w | WF_RW_WAITED : wf_tag(me, WF_RW_SHIFT) | WF_RW_WRITER;
	} while (!at_cas_acqrel(word_of(rw), &w, next)); /* acqrel: as enter_writer, or RW-2 */
	return w != 0;
}

static int
wlock(struct wf_m **m, struct weft_rwmutex *rw, bool scoped)
{
	struct wf_bucket *b = wf_bucket_of(rw);
	struct wf_at a;
	int rc = 0;

	for (;;) {
		wf_lock(&b->lock);
		if (!writer_waits(rw, wf_me(*m))) {
			wf_unlock(&b->lock);
			break;
		}
		rc = wf_wait_at(m, b, wf_second_line(rw), &a, WF_WAIT_WLOCK, scoped);
		if (rc == WF_GIVEN)
			break;
		if (rc < 0) {
			stand_aside(*m, rw);
			return rc;
		}
		if (wf_run_over(*m))
			return -ENOTSUP;
	}
	wf_tsan_acquire(tsan_writers(rw));
	wf_tsan_acquire(tsan_readers(rw));
	return 0;
}

static WF_NOINLINE int
wlock_entered(struct weft_rwmutex *rw, bool scoped)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (!m)
		return -ENOTSUP;
	rc = wlock(&m, rw, scoped);
	wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_wlock(struct weft_rwmutex *rw)
{
	struct wf_m *m = wf_fast();

	return likely(m && enter_writer(rw, m->g)) ? 0 : wlock_entered(rw, false);
}

WF_EXPORT int
weft_wlock_scoped(struct weft_rwmutex *rw)
{
	struct wf_m *m = wf_fast();

	return likely(m && enter_writer(rw, m->g)) ? 0 : wlock_entered(rw, true);
}

WF_EXPORT int
weft_try_wlock(struct weft_rwmutex *rw)
{
	struct wf_m *m = wf_fast();
	int rc;

	if (likely(m != NULL))
		return enter_writer(rw, m->g);
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	rc = enter_writer(rw, wf_me(m));
	wf_leave(m);
	return rc;
}

static WF_NOINLINE void
wunlock_entered(struct weft_rwmutex *rw)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_bucket *b;

	if (unlikely(!(at_load_rlx(word_of(rw)) & WF_RW_WRITER))) /* rlx: only its holder ends it */
		misuse_write();
	if (!m) {
		at_store_rel(word_of(rw), UINT64_C(0)); /* rel: no run is up, nobody waits */
		return;
	}
	b = wf_bucket_of(rw);
	wf_lock(&b->lock);
	pass_on(m, rw, b, true);
	wf_leave(m);
}

WF_EXPORT void
weft_wunlock(struct weft_rwmutex *rw)
{
	uint64_t w = at_load_rlx(word_of(rw)); /* rlx: the CAS decides */

	wf_tsan_release(tsan_writers(rw));
	/* rel: what was done under it. RW-1 */
	if (unlikely((w & (WF_RW_WAITED | WF_RW_WRITER)) != WF_RW_WRITER ||
		     !at_cas_acqrel(word_of(rw), &w, UINT64_C(0))))
		wunlock_entered(rw);
}
