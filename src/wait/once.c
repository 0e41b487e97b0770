/* SPDX-License-Identifier: MIT */
/*
 * once.c: what is done once. The word: nothing yet, somebody runs it (who), done.
 *
 * ONCE-1: the result is written before DONE is; DONE is set in the word by the one who ran the
 *         function, outside the runtime, so that a run that ends meanwhile cannot prevent it.
 * ONCE-2: WAITED is set under the bucket's lock by one that sleeps under it; whoever replaces it
 *         by DONE wakes all. That exchange is its last access (SYNC-1).
 * ONCE-3: one that finds the word running knows the G that runs it, and which of its lives: if
 *         that is over, or the caller's, it would wait for ever, and says so.
 */
#include "wait/locks.h"

#include <errno.h>

enum { RUNNING = 1, WAITED = 2, KNOWN = 4, DONE = 8, FLAGS = 15 };
_Static_assert(_Alignof(struct wf_g) > FLAGS, "the G stands above the flags");

WF_INLINE wf_a64 *
word_of(struct weft_once *o)
{
	return (wf_a64 *)&o->word_;
}

static struct wf_g *
runner_of(uint64_t w)
{
	return (struct wf_g *)(uintptr_t)(w & ~(uint64_t)FLAGS);
}

/* Tells one life of a G from another. Ids of goroutines begin anew with each run. */
static int
life_of(struct wf_g *g)
{
	/* rlx: it changes only between two lives; the run is const while it lasts */
	int64_t id = (int64_t)at_load_rlx((wf_a64 *)&g->id);
	uint64_t run = id > 0 ? at_load_rlx(&wf_sched.run) : 0;

	return (int)(uint32_t)((uint64_t)id + run * UINT64_C(0x9e3779b1));
}

/* ONCE-3; w was read from the word. */
static void
check_runner(struct weft_once *o, uint64_t w, const struct wf_g *me)
{
	struct wf_g *g = runner_of(w);
	enum wf_gstate state;

	if (!(w & KNOWN))
		return;
	state = wf_g_state(g);
	if (state != WF_FREE && state != WF_DEAD && life_of(g) == o->reserved_) {
		if (g == me)
			wf_fatal("weft_once was called again, for the same object, by the function "
				 "that it runs: it would wait for itself for ever");
		return;
	}
	fence_seq(); /* its death, then the look: had it returned, the word would say DONE */
	if (at_load_acq(word_of(o)) & DONE) /* acq: as in weft_once */
		return;
	wf_fatal("the goroutine or thread that ran the function of a weft_once has ended, or was "
		 "dropped at the end of its run, before the function returned. Do not leave it by "
		 "weft_exit; let the run last until it is done");
}

/* The bucket is locked. True: the caller waits. */
static bool
must_wait(struct weft_once *o)
{
	uint64_t w = at_load_acq(word_of(o)); /* acq: as in weft_once */

	while (!(w & DONE))
		/* acqrel: ONCE-2, from now on who ends it comes to the bucket */
		if ((w & WAITED) || at_cas_acqrel(word_of(o), &w, w | WAITED))
			return true;
	return false;
}

/* In the runtime: until it is done. 0, or -ENOTSUP: the run is over. */
static int
wait_until_done(struct wf_m **m, struct weft_once *o)
{
	struct wf_bucket *b = wf_bucket_of(o);
	struct wf_at a;
	int rc = 0;

	while (rc == 0) {
		uint64_t w = at_load_acq(word_of(o)); /* acq: pairs with known */

		if (w & DONE)
			return 0;
		check_runner(o, w, wf_me(*m));
		wf_lock(&b->lock);
		if (!must_wait(o)) {
			wf_unlock(&b->lock);
			return 0;
		}
		rc = wf_wait_at(m, b, o, &a, WF_WAIT_ONCE, false);
	}
	return rc < 0 ? rc : 0;
}

/* In the runtime: the caller is to run it. */
static void
known(struct weft_once *o, struct wf_g *me)
{
	uint64_t w = RUNNING;

	o->reserved_ = life_of(me);
	/* rel: reserved_; a waiter may come before */
	while (!at_cas_acqrel(word_of(o), &w, w | KNOWN | (uint64_t)(uintptr_t)me))
		;
}

/* In the runtime; returns in user code. LEASE-5: fn may call us, and block. */
static int
run(struct wf_m *m, int (*fn)(void))
{
	struct wf_g *g = wf_me(m);
	int rc;

	g->onces++; /* for wf_scope_exit */
	wf_leave(m);
	rc = fn();
	g->onces--;
	return rc;
}

/* In user code: fn has returned. */
static void
done(struct weft_once *o, int result)
{
	struct wf_m *m;
	struct wf_bucket *b;
	struct wf_at *all;

	o->result_ = result;
	wf_tsan_release(o);
	/* rel: the result. ONCE-1, ONCE-2 */
	if (likely(!(at_xchg_acqrel(word_of(o), (uint64_t)DONE) & WAITED)))
		return;
	m = wf_enter(WF_CALL_N);
	if (!m)
		return; /* the run is over: nobody waits */
	b = wf_bucket_of(o);
	wf_lock(&b->lock);
	all = wf_at_pop_all(b, o);
	wf_unlock(&b->lock);
	wf_at_wake_all(m, all, WF_GIVEN);
	wf_leave(m);
}

WF_EXPORT int
weft_once(struct weft_once *o, int (*fn)(void))
{
	uint64_t nothing = 0;
	struct wf_m *m;
	int rc = 0;

	/* acq: the result, and what fn did; pairs with done */
	if (likely(wf_fast() && (at_load_acq(word_of(o)) & DONE))) {
		wf_tsan_acquire(o);
		return o->result_;
	}
	m = wf_enter(WF_CALL_B);
	if (!m)
		return -ENOTSUP;
	/* acqrel: one of them runs it; the others see what it has done */
	if (at_cas_acqrel(word_of(o), &nothing, (uint64_t)RUNNING)) {
		known(o, wf_me(m));
		rc = run(m, fn);
		done(o, rc);
		return rc;
	}
	rc = wait_until_done(&m, o);
	wf_leave(m);
	wf_tsan_acquire(o);
	return rc < 0 ? rc : o->result_;
}
