/* SPDX-License-Identifier: MIT */
/*
 * wg.c: wait groups: one word, count and a "somebody waits" bit.
 *
 * WG-1: the add that brings the count to zero is the last access to the object if nobody waits.
 * WG-2: if somebody waits, the bit is cleared under the bucket's lock, before anybody is woken,
 *       and that is the last access. Until then a waiter that finds the count at zero but the
 *       bit set waits too: it would otherwise return, and free the word under us.
 */
#include "core/wgword.h"
#include "wait/locks.h"
#include "wait/wg.h"

#include <errno.h>

static void
wake_all(struct wf_m *m, struct weft_wg *wg)
{
	struct wf_bucket *b = wf_bucket_of(wg);
	struct wf_at *all;

	wf_lock(&b->lock);
	all = wf_at_pop_all(b, wg);
	at_and_acqrel(wf_wg_word(wg), ~(uint64_t)WF_WG_WAITED); /* acqrel: WG-2, SYNC-1 */
	wf_unlock(&b->lock);
	wf_at_wake_all(m, all, WF_GIVEN);
}

WF_COLD static void
misuse(void)
{
	wf_fatal(
	    "negative wait group counter: weft_wg_done or weft_wg_add(-n) was called more often "
	    "than goroutines were added. Call weft_wg_add before the goroutine starts, or use "
	    "weft_wg_go");
}

/* In the runtime, any thread; m NULL: outside a run. */
void
wf_wg_fell(struct wf_m *m, struct weft_wg *wg, uint64_t word)
{
	if (word != WF_WG_WAITED)
		misuse();
	if (m)
		wake_all(m, wg);
	else /* who waited in an earlier run is gone, and its bit goes too */
		at_and_acqrel(wf_wg_word(wg), ~(uint64_t)WF_WG_WAITED); /* acqrel: WG-2 */
}

void
wf_wg_done(struct wf_m *m, struct weft_wg *wg)
{
	uint64_t word = wf_wg_count(wg, -1);

	if (unlikely(wf_wg_matters(word)))
		wf_wg_fell(m, wg, word);
}

WF_COLD static void
beyond(int64_t n)
{
	wf_fatal(
	    "wait group counter: weft_wg_add(%lld) is more than it can count, 2^61. Add the number "
	    "of goroutines that are waited for",
	    (long long)n);
}

static void
add(struct weft_wg *wg, int64_t n)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	uint64_t word = wf_wg_count(wg, n);

	if (unlikely(wf_wg_matters(word)))
		wf_wg_fell(m, wg, word);
	if (m)
		wf_leave(m);
}

WF_EXPORT void
weft_wg_add(struct weft_wg *wg, int64_t n)
{
	if (unlikely(n > INT64_MAX / 4 || n < -(INT64_MAX / 4)))
		beyond(n);
	add(wg, n);
}

WF_EXPORT void
weft_wg_done(struct weft_wg *wg)
{
	add(wg, -1);
}

/* True: the caller waits (the bucket is locked); false: the count is zero. */
static bool
must_wait(struct weft_wg *wg, struct wf_bucket *b)
{
	uint64_t word;

	wf_lock(&b->lock);
	word = at_load_acq(wf_wg_word(wg)); /* acq: as in weft_wg_wait */
	while (word != 0) {
		if (word & WF_WG_WAITED)
			return true; /* WG-2: the waker has yet to take this lock */
		/* acqrel: from now on the last one down comes to the bucket */
		if (at_cas_acqrel(wf_wg_word(wg), &word, word | WF_WG_WAITED))
			return true;
	}
	wf_unlock(&b->lock);
	return false;
}

/* May the goroutine run a child while it waits? Not if its scopes could end the wait meanwhile: it
   could not be told. The end of a group waits for the child in any case; only a deadline, which
   would cancel the children, must find it waiting. */
WF_INLINE bool
may_run_children(const struct wf_g *me, enum wf_reason why, bool scoped)
{
	if (likely(!scoped || !me->scope))
		return true;
	return why == WF_WAIT_GROUP && wf_scope_deadline(me) == WF_NEVER;
}

/* True: the count is zero. */
WF_INLINE bool
is_over(struct weft_wg *wg)
{
	return at_load_acq(wf_wg_word(wg)) == 0; /* acq: pairs with the last done */
}

/* Those of its children that can run here and now, one after the other. The M the goroutine goes on with. */
WF_INLINE struct wf_m *
run_children(struct wf_m *m, struct weft_wg *wg)
{
	for (struct wf_m *next; !is_over(wg) && (next = wf_join_child(m, wg)) != NULL;)
		m = next;
	return m;
}

/* No child could be run, or none is left. */
static WF_NOINLINE int
await(struct wf_m **m, struct weft_wg *wg, enum wf_reason why, bool scoped)
{
	struct wf_g *me = (*m)->g; /* NULL: a plain thread */
	int rc = 0;

	while (!is_over(wg)) {
		struct wf_bucket *b;
		struct wf_at a;

		if (me && me->kids > 0)
			wf_learn_joins(me, 1);
		b = wf_bucket_of(wg);
		if (!must_wait(wg, b))
			break;
		rc = wf_wait_at(m, b, wg, &a, why, scoped);
		if (rc == 0 && wf_run_over(*m))
			rc = -ENOTSUP;
		if (rc != 0) /* 0: woken for nothing */
			break;
		if (me && may_run_children(me, why, scoped))
			*m = run_children(*m, wg);
	}
	return rc == WF_GIVEN ? 0 : rc;
}

WF_INLINE int
join(struct wf_m **m, struct weft_wg *wg, enum wf_reason why, bool scoped)
{
	struct wf_g *me = (*m)->g; /* as above */
	int rc = 0;

	if (likely(me && may_run_children(me, why, scoped)))
		*m = run_children(*m, wg);
	if (unlikely(!is_over(wg)))
		rc = await(m, wg, why, scoped);
	if (likely(me != NULL))
		me->kids = 0;
	wf_tsan_acquire(wg);
	return rc;
}

int
wf_wg_join(struct wf_m **m, struct weft_wg *wg, enum wf_reason why, bool scoped)
{
	return join(m, wg, why, scoped);
}

WF_EXPORT int
weft_wg_wait(struct weft_wg *wg)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (unlikely(!m))
		return -ENOTSUP;
	rc = join(&m, wg, WF_WAIT_WG, true);
	wf_leave(m);
	return rc;
}
