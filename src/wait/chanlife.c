/* SPDX-License-Identifier: MIT */
/*
 * chanlife.c: a channel's life: make, close and free, and what becomes of those who wait in one when
 * the run ends.
 */
#include "base/sanitizer.h"
#include "core/gpool.h"
#include "wait/chan.h"
#include "wait/waitq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- close */

/* Everybody in the line, in order, linked through next. */
static struct wf_waiter *
pop_all(struct wf_waitlist *l, int result)
{
	struct wf_waiter *first = NULL, **end = &first, *w;

	while ((w = wf_waiter_pop(l))) {
		w->result = result;
		*end = w;
		end = &w->next;
	}
	*end = NULL;
	return first;
}

static void
ready_all(struct wf_m *m, struct wf_waiter *w)
{
	while (w) {
		struct wf_waiter *next = w->next; /* WAIT-3: gone once readied */

		wf_ready(m, w->g);
		if (WF_MUTANT(MUT_CHAN_TOUCH_READIED))
			next = w->next; /* a mutant */
		w = next;
	}
}

WF_EXPORT int
weft_chan_close(void *channel)
{
	struct wf_chan *ch = channel;
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_waiter *recvs, *sends;
	uint64_t s;

	if (unlikely(!m))
		return -ENOTSUP;
	if (unlikely(!ch))
		wf_fatal("weft_close(NULL): a NULL channel cannot be closed");
	s = wf_chan_lock(wf_m_p(m), ch);
	if (s & WF_CH_CLOSED) {
		wf_chan_check(ch, s);
		wf_chan_unlock(wf_m_p(m), ch, s);
		wf_leave(m);
		return -EPIPE;
	}
	wf_tsan_release(ch);
	recvs = pop_all(&ch->recvs, 0);
	sends = pop_all(&ch->sends, -EPIPE);
	for (struct wf_waiter *w = recvs; w; w = w->next) {
		wf_tsan_acquire(w->g);
		if (w->elem)
			memset(w->elem, 0, ch->elem_bytes);
	}
	/* CHAN-4 */
	wf_chan_unlock(wf_m_p(m), ch, (s & ~(uint64_t)(WF_CH_RECVS | WF_CH_SENDS)) | WF_CH_CLOSED);
	ready_all(m, recvs);
	ready_all(m, sends);
	wf_leave(m);
	return 0;
}

/* ---- make and free */

struct wf_chan *
wf_chan_new(size_t elem_bytes, size_t cap, const char *where)
{
	struct wf_chan *ch;
	size_t bytes;

	if (__builtin_mul_overflow(elem_bytes, cap, &bytes) || cap > UINT32_MAX ||
	    elem_bytes > UINT32_MAX || bytes > PTRDIFF_MAX - 2 * sizeof(*ch))
		return NULL;
	bytes = (sizeof(*ch) + bytes + WF_CACHE_LINE - 1) / WF_CACHE_LINE * WF_CACHE_LINE;
	ch = aligned_alloc(WF_CACHE_LINE, bytes);
	if (!ch)
		return NULL;
	*ch = (struct wf_chan){
	    .cap = (uint32_t)cap, .elem_bytes = (uint32_t)elem_bytes, .where = where};
	ch->patience = wf_chan_patience();
	return ch;
}

WF_EXPORT void *
weft_chan_make(size_t elem_bytes, size_t cap, const char *where)
{
	struct wf_m *m = wf_enter(WF_CALL_N);

	if (!m)
		return NULL;
	wf_leave(m); /* the allocator is not ours: it may take its time */
	return wf_chan_new(elem_bytes, cap, where);
}

/* A waiter that is still to be had: the program has a bug. */
static void
check_unused(struct wf_chan *ch)
{
	bool receives = !wf_waiters_prune(&ch->recvs);

	if (unlikely(receives || !wf_waiters_prune(&ch->sends)))
		wf_fatal("weft_free of the channel made at %s, for which a goroutine waits to %s. "
			 "Close it and join its users first",
			 ch->where ? ch->where : "an unknown place", receives ? "receive" : "send");
}

struct wf_limbo *
wf_chan_end(struct wf_m *m, struct wf_chan *ch)
{
	uint64_t s = wf_chan_lock(wf_m_p(m), ch);
	size_t bytes = sizeof(*ch) + (size_t)ch->cap * ch->elem_bytes;

	wf_chan_check(ch, s);
	check_unused(ch);
	s -= wf_chan_fill(s) * WF_CH_ONE;
	s &= ~(uint64_t)(WF_CH_RECVS | WF_CH_SENDS);
	wf_chan_unlock(wf_m_p(m), ch, s | WF_CH_CLOSED | WF_CH_FREED);
	return wf_limbo_put(m, ch, bytes);
}

WF_EXPORT void
weft_chan_free(void *channel)
{
	struct wf_chan *ch = channel;
	struct wf_limbo *done;
	struct wf_m *m;

	if (!ch)
		return;
	if (unlikely(ch->signal != NULL)) {
		wf_signal_chan_free(ch);
		return;
	}
	if (unlikely(ch->timer != NULL)) {
		wf_timer_chan_free(ch);
		return;
	}
	m = wf_enter(WF_CALL_N);
	if (!m) { /* no run is up: nobody is inside */
		free(ch);
		return;
	}
	done = wf_chan_end(m, ch);
	wf_leave(m);
	wf_limbo_free(done);
}

WF_EXPORT size_t
weft_chan_len(const void *channel)
{
	const struct wf_chan *ch = channel;

	return ch ? wf_chan_fill(at_load_acq(&ch->state)) : 0; /* acq: as the lock would */
}

WF_EXPORT size_t
weft_chan_cap(const void *channel)
{
	return channel ? ((const struct wf_chan *)channel)->cap : 0;
}

/* The short names are functions too, for weft_defer and the like. */
#undef weft_close
#undef weft_len
#undef weft_cap
#undef weft_free
WF_EXPORT int weft_close(void *) __attribute__((alias("weft_chan_close")));
WF_EXPORT size_t weft_len(const void *) __attribute__((alias("weft_chan_len")));
WF_EXPORT size_t weft_cap(const void *) __attribute__((alias("weft_chan_cap")));
WF_EXPORT void weft_free(void *) __attribute__((alias("weft_chan_free")));

/* ---- the end of a run */

/* g was parked and has not run since: the record it waits with is still on its stack. */
static void
leave_channels(struct wf_g *g, void *m)
{
	enum wf_gstate state = wf_g_state(g);
	bool thread = g->flags & WF_G_THREAD; /* once woken it runs, and leaves by itself */

	if (state != WF_WAITING && (thread || state != WF_RUNNABLE))
		return;
	if (g->reason == WF_WAIT_SEND || g->reason == WF_WAIT_RECV) {
		struct wf_chan_wait *wait = (void *)(uintptr_t)g->wait_on;

		wf_chan_leave(NULL, wait->ch, g->reason == WF_WAIT_SEND, &wait->w);
	} else if (g->reason == WF_WAIT_SELECT) {
		struct wf_select *sel = (void *)(uintptr_t)g->wait_on;

		for (int i = 0; i < sel->n; i++)
			if (wf_case_is_chan(&sel->cases[i]))
				wf_chan_leave(NULL, sel->cases[i].chan_,
					      sel->cases[i].kind_ == WEFT_CASE_SEND,
					      &sel->places[i].w);
		if (!thread)
			free(sel->heap); /* it will not be back */
	}
	if (thread) {
		g->flags |= WF_G_OVER; /* what wf_scope_verdict tells it */
		wf_claim_void(g);
		wf_ready(m, g);
	}
}

void
wf_chans_flush(struct wf_m *m)
{
	wf_gpool_each(leave_channels, m);
	for (struct wf_m *t = wf_sched.all_ms; t; t = t->all_next)
		if (t->in_use && t->plain)
			leave_channels(&t->thread_g, m);
}
