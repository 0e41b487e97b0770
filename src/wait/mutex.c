/* SPDX-License-Identifier: MIT */
/*
 * mutex.c: mutexes: the holder and three flags in one word. The short ways are in weft/sync.h.
 *
 * Normally an unlock frees the word and wakes the first in line, which competes with whoever comes
 * by: that is fast, since a goroutine that runs often gets the lock again before another is even
 * awake. One that has waited for more than a millisecond and still does not get it turns the mutex
 * to starving: now an unlock names the first in line as the holder, and nobody else gets in. That
 * ends with the one that is last in line or has not waited that long. These are Go's rules.
 *
 * MTX-1: the atomic that frees or passes on the word is an unlock's last access (SYNC-1). (But MTX-6.)
 * MTX-2: WAITED is set before its setter sleeps, and taken away only when nobody is in line; both
 *        under the bucket's lock and while somebody has the mutex. (But MTX-6.)
 * MTX-3: if the word is free and somebody is in line, one that competes is on its way: it was
 *        woken, or spins, and takes the mutex or finds a holder before it sleeps; or an unlock that
 *        comes late is about to wake one. WOKEN is set only for such a one. It may be missing, then one
 *        too many is woken.
 * MTX-4: STARVING is set only while somebody has the mutex; an unlock passes that one's place on.
 *        Who is handed the mutex has it, whatever its scopes say: the claim has decided.
 * MTX-5: a WOKEN that an earlier run has left (its goroutines are gone) is not believed: who is to
 *        sleep compares the run that the mutex was last waited for in.
 * MTX-6: an unlock in the calm (core/calm.h) may wipe flags that were set since it looked. Then the
 *        calm is over, which it sees after that, and it comes late: it wakes the first in line, and
 *        says again that others are. By then the mutex may be gone, and its memory another object's;
 *        but not while somebody is in the line of a mutex at that address.
 */
#include "core/stack.h"
#include "wait/locks.h"

#include <errno.h>

enum {
	SPIN_ROUNDS = 4, /* then it sleeps; Go's value */
#ifdef WF_TINY
	PAUSES_MIN = 1,
	PAUSES_MAX = 2,
#else
	PAUSES_MIN = 30,  /* of a round; Go's value */
	PAUSES_MAX = 320, /* 5 to 15 us, and in vain four times that at most */
#endif
	STARVE_NS = 1000000, /* Go's value */
	NAP_NS = 50000,
};

WF_EXPORT uint64_t weft_mutex_waits_word[8] WF_ALIGNED(WF_CACHE_LINE); /* see core/calm.h */

/* One that wants the mutex. */
struct wants {
	uint64_t me; /* as holder */
	bool woken;  /* WOKEN stands for it */
	bool starving;
	int64_t since_ns; /* 0: has not slept yet */
	struct wf_at at;
};

WF_COLD static void
misuse(void)
{
	wf_fatal(
	    "unlock of an unlocked mutex: weft_unlock was called more often than the mutex was "
	    "locked. Lock it first, unlock it once, and look at what weft_lock_scoped and "
	    "weft_try_lock return%s",
	    at_load_rlx(&wf_sched.phase) == WF_UP /* rlx: for the text */
		? ""
		: ". No run is up: then weft_lock returns -ENOTSUP too, and locks nothing");
}

/* ---- lock */

/* What the word becomes when it is taken. */
static uint64_t
taken(uint64_t w, const struct wants *x)
{
	return (x->woken ? w & ~(uint64_t)WF_MTX_WOKEN : w) | x->me;
}

static bool
is_free(uint64_t w)
{
	return !wf_mutex_holder(w);
}

/* Is there hope that the holder, on another core, is about to unlock? Not if others could run
   here meanwhile. */
static bool
worth_spinning(const struct wf_m *m, uint64_t w)
{
	const struct wf_p *p = wf_m_p(m);
	/* rlx throughout: a guess */
	uint32_t procs = at_load_rlx(&wf_sched.procs);
	uint32_t idle = at_load_rlx(&wf_sched.npidle) + at_load_rlx(&wf_sched.nmspinning);

	if (procs < 2 || (w & WF_MTX_STARVING))
		return false;
	return !p || (idle + 1 < procs && wf_p_empty(p));
}

/* How long a round of this thread is. Cores that take a mutex from each other all the time get more
   done if each keeps it for a while and the other stays away: a round is longer each time that it was
   worth it, and shorter with the monitor's looks. */
static uint32_t
pauses(struct wf_m *m)
{
	uint64_t now = at_load_rlx(&wf_sched.coarse_ns); /* rlx: compared only */

	if (m->lock_ns != now)
		m->lock_pauses /= 4;
	m->lock_ns = now;
	if (m->lock_pauses < PAUSES_MIN)
		m->lock_pauses = PAUSES_MIN;
	return m->lock_pauses;
}

/* It has spun, and has the mutex, or sleeps for it. */
static void
learn_pauses(struct wf_m *m, bool has)
{
	m->lock_pauses = !has                              ? 0
			 : 2 * m->lock_pauses < PAUSES_MAX ? 2 * m->lock_pauses
							   : PAUSES_MAX;
}

/* Busy for a moment; others in line need not be woken for it: MTX-3. */
static void
spin(struct wf_m *m, wf_a64 *word, uint64_t w, struct wants *x)
{
	const uint64_t sets = w | WF_MTX_WOKEN;

	/* acqrel: MTX-3, only a word that somebody has */
	if (!x->woken && (w & WF_MTX_FLAGS) == WF_MTX_WAITED && at_cas_acqrel(word, &w, sets))
		x->woken = true;
	for (uint32_t n = pauses(m); n > 0; n--)
		cpu_relax();
}

/* True: the bucket is locked, and the word tells its holder that somebody waits. False: the caller
   has the mutex. */
static bool
must_wait(struct weft_mutex *mx, struct wf_bucket *b, struct wants *x)
{
	uint64_t run = at_load_rlx(&wf_sched.run); /* rlx: const while the run lasts */
	uint64_t gone = x->woken ? WF_MTX_WOKEN : 0;
	uint64_t come = WF_MTX_WAITED | (x->starving ? WF_MTX_STARVING : 0);
	uint64_t w, next;

	wf_lock(&b->lock);
	if (mx->reserved_ != run)
		gone = WF_MTX_WOKEN;        /* MTX-5 */
	w = at_load_rlx(wf_mutex_word(mx)); /* rlx: the CAS decides */
	do
		next = is_free(w) ? taken(w, x) : (w & ~gone) | come;
	while (!at_cas_acqrel(wf_mutex_word(mx), &w, next)); /* acqrel: taken, or MTX-2 to MTX-4 */
	if (is_free(w)) {
		wf_unlock(&b->lock);
		return false;
	}
	mx->reserved_ = run;
	return true;
}

/* It was handed to us: is there still need of that? */
static void
given(struct weft_mutex *mx, const struct wants *x)
{
	if (os_now_ns() - x->since_ns < STARVE_NS)
		at_and_acqrel(wf_mutex_word(mx), ~(uint64_t)WF_MTX_STARVING); /* acqrel: ours */
}

int
wf_mutex_lock(struct wf_m **m, struct weft_mutex *mx, bool scoped, uint64_t here)
{
	struct wants x = {.me = here};
	uint64_t one = wf_me(*m)->flags & WF_G_THREAD ? WF_CALM_THREAD : WF_CALM_GOROUTINE;
	wf_a64 *word = wf_mutex_word(mx);
	struct wf_bucket *b;
	int rc = 0;

	for (int spins = 0;;) {
		uint64_t w = at_load_rlx(word); /* rlx: the CAS decides */

		if (is_free(w)) {
			if (!at_cas_acqrel(word, &w,
					   taken(w, &x))) /* acq: the last holder's work */
				continue;
			if (spins > 0)
				learn_pauses(*m, true);
			break;
		}
		if (spins < SPIN_ROUNDS && worth_spinning(*m, w)) {
			spin(*m, word, w, &x);
			spins++;
			continue;
		}
		if (spins > 0)
			learn_pauses(*m, false);
		if (unlikely(wf_run_over(*m)))
			return -ENOTSUP;
		bool again = x.since_ns != 0;
		if (!again)
			x.since_ns = os_now_ns();
		b = wf_bucket_of(mx);
		wf_calm_end(one); /* CALM-1 */
		if (!must_wait(mx, b, &x)) {
			wf_calm_waited(one);
			break;
		}
		wf_at_link(*m, b, wf_mutex_line(mx), &x.at,
			   again); /* who was woken in vain stays the first */
		rc = wf_at_sleep(m, &x.at, WF_WAIT_MUTEX, scoped);
		wf_calm_waited(one);
		if (rc < 0)
			return rc;
		if (rc == WF_GIVEN) {
			given(mx, &x); /* MTX-4 */
			break;
		}
		x.woken = rc == WF_COMPETE;
		x.starving = os_now_ns() - x.since_ns > STARVE_NS;
		spins = 0;
	}
	wf_tsan_acquire(mx);
	return 0;
}

/* ---- unlock */

/* The word after an unlock that has taken a, or nobody, from the line; more: others are there. */
static uint64_t
passed_on(uint64_t w, const struct wf_at *a, bool more)
{
	uint64_t flags = (more ? WF_MTX_WAITED : 0) | (w & WF_MTX_WOKEN);

	if (!a)
		return flags;
	if (!(w & WF_MTX_STARVING))
		return flags | WF_MTX_WOKEN;                           /* MTX-3 */
	return flags | wf_mutex_tag(a) | (more ? WF_MTX_STARVING : 0); /* MTX-4 */
}

void
wf_mutex_unlock(struct wf_m *m, struct weft_mutex *mx)
{
	wf_a64 *word = wf_mutex_word(mx);
	struct wf_bucket *b = wf_bucket_of(mx);
	struct wf_at *a = NULL;
	uint64_t w, next;
	bool more;

	if (wf_mutex_unlock_fast(mx))
		return;
	wf_lock(&b->lock);
	w = at_load_rlx(word); /* rlx: under the lock only WOKEN may still come */
	if (unlikely(is_free(w)))
		misuse();
	if (wf_mutex_wakes(w))
		a = wf_at_pop(b, wf_mutex_line(mx));
	more = wf_at_first(b, wf_mutex_line(mx)) != NULL;
	do
		next = passed_on(w, a, more);
	while (!at_cas_acqrel(word, &w, next)); /* rel: as above. MTX-1, MTX-2 */
	wf_unlock(&b->lock);
	if (a)
		wf_at_wake(m, a, is_free(next) ? WF_COMPETE : WF_GIVEN);
}

/* It was unlocked in the calm, which is over, and the flags are lost: MTX-6. */
static void
wake_late(struct wf_m *m, struct weft_mutex *mx)
{
	struct wf_bucket *b = wf_bucket_of(mx);
	struct wf_at *a;

	wf_lock(&b->lock);
	a = wf_at_pop(b, wf_mutex_line(mx));
	if (a) { /* so the mutex is there */
		bool more = wf_at_first(b, wf_mutex_line(mx)) && !WF_MUTANT(MUT_MTX_LATE_NO_FLAG);

		/* acqrel: MTX-2, MTX-3 */
		at_or_acqrel(wf_mutex_word(mx),
			     (uint64_t)(WF_MTX_WOKEN | (more ? WF_MTX_WAITED : 0)));
	}
	wf_unlock(&b->lock);
	if (a)
		wf_at_wake(m, a, WF_COMPETE);
}

/* No run is up: nobody waits. But the next one may be by now, and one of its goroutines believe a
   flag that the last has left: then this comes late. */
static void
unlock_outside(struct weft_mutex *mx)
{
	wf_a64 *word = wf_mutex_word(mx);
	uint64_t w = at_load_rlx(word); /* rlx: the CAS decides */

	do
		if (is_free(w))
			misuse();
	while (!at_cas_acqrel(word, &w, UINT64_C(0))); /* rel: as above. MTX-1 */
	weft_unlock_late_(mx);                         /* MTX-6 */
}

/* ---- when the run is over */

void
wf_mutex_lock_after_run(struct weft_mutex *mx)
{
	for (;;) {
		struct wf_m *m = wf_enter(WF_CALL_B);
		uint64_t w;
		int rc;

		if (m) { /* the next one is up */
			rc = wf_mutex_lock(&m, mx, false, wf_mutex_tag(&w));
			wf_leave(m);
			if (rc == 0)
				return;
			continue;
		}
		/* Goroutines are gone, and so is what they held. acq: DOWN, all is done */
		if (at_load_acq(&wf_sched.phase) == WF_DOWN) {
			w = at_load_rlx(wf_mutex_word(mx)); /* rlx: the CAS decides */
			/* acq: the last holder's work */
			if ((is_free(w) || wf_stack_has(wf_mutex_holder(w))) &&
			    at_cas_acqrel(wf_mutex_word(mx), &w, wf_mutex_tag(&m)))
				break;
		}
		os_sleep_ns(NAP_NS);
	}
	wf_tsan_acquire(mx);
}

/* ---- the calls */

static WF_NOINLINE int
lock_entered(struct weft_mutex *mx, bool scoped, uint64_t here)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (!m)
		return -ENOTSUP;
	rc = wf_mutex_lock(&m, mx, scoped, here);
	wf_leave(m);
	return rc;
}

/* Takes the word if it is free, also past those in line; any thread. w: what it may be. */
WF_INLINE bool
take(struct weft_mutex *mx, uint64_t here, uint64_t w)
{
	while (likely(is_free(w))) {
		/* acq: the last holder's work; pairs with the CAS of an unlock */
		if (likely(at_cas_acqrel(wf_mutex_word(mx), &w, w | here))) {
			wf_tsan_acquire(mx);
			return true;
		}
	}
	return false;
}

WF_EXPORT int
weft_lock_slow_(struct weft_mutex *mx, uint64_t here)
{
	return likely(wf_fast() && take(mx, here, 0)) ? 0 : lock_entered(mx, false, here);
}

WF_EXPORT int
weft_lock(struct weft_mutex *mx)
{
	return weft_lock_slow_(mx, WEFT_HERE_);
}

WF_EXPORT int
weft_lock_scoped(struct weft_mutex *mx)
{
	return likely(wf_fast() && take(mx, WEFT_HERE_, 0)) ? 0
							    : lock_entered(mx, true, WEFT_HERE_);
}

WF_EXPORT int
weft_try_lock(struct weft_mutex *mx)
{
	uint64_t w = at_load_rlx(wf_mutex_word(mx)); /* rlx: the CAS decides */
	struct wf_m *m;
	int rc;

	if (likely(wf_fast() != NULL))
		return take(mx, WEFT_HERE_, w);
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	rc = take(mx, WEFT_HERE_, w);
	wf_leave(m);
	return rc;
}

WF_EXPORT void
weft_unlock_slow_(struct weft_mutex *mx)
{
	struct wf_m *m;

	if (likely(wf_mutex_unlock_calm(mx) || wf_mutex_unlock_fast(mx)))
		return;
	m = wf_enter(WF_CALL_N);
	if (m) {
		wf_mutex_unlock(m, mx);
		wf_leave(m);
	} else {
		unlock_outside(mx);
	}
}

WF_EXPORT void
weft_unlock_late_(struct weft_mutex *mx)
{
	struct wf_m *m;

	fence_seq(); /* the free word before the look for a run: one that is not up has no waiters */
	m = wf_enter(WF_CALL_N);
	if (!m)
		return;
	wake_late(m, mx);
	wf_leave(m);
}

WF_EXPORT void
weft_unlock(struct weft_mutex *mx)
{
	weft_unlock_slow_(mx);
}
