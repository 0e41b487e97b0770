/* SPDX-License-Identifier: MIT */
/*
 * chan.c: make, send, receive, close, free; the rules are in chan.h. A value goes straight from
 * the sender's hands into the receiver's when one of them waits.
 */
#include "wait/chan.h"
#include "base/sanitizer.h"
#include "core/gpool.h"
#include "sched/gather.h"
#include "wait/waitq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef WF_TINY
enum { PATIENCE_ALONE = 1, PATIENCE_MIN = 1, PATIENCE_MAX = 2, UNBIAS_BOUNCES = 1 };
#else
enum {
	PATIENCE_ALONE = 64, /* uses in a row by one P before it gets the bias: the only P, ... */
	PATIENCE_MIN = 1024, /* ... one of several, ... */
	PATIENCE_MAX =
	    65536, /* ... four times as many after each loss: that costs up to 70 us, ... */
	UNBIAS_BOUNCES = 16, /* ... as much as so many uses in turn: see gather.c */
};
#endif

enum { KIDS_FEW = 2 }; /* one goroutine for each value received is no fork-join */

/* ---- the lock */

/* It is biased to another P: takes the bias away, and LOCKED. False: look again. CHAN-5 */
static bool
unbias(struct wf_chan *ch, uint64_t *s)
{
	void *owner = at_load_acq(&ch->owner); /* acq: looked at again by the CAS */
	void *marked = (char *)owner + 1;
	struct wf_p *p = owner;

	if (!owner || ((uintptr_t)owner & 1) ||
	    !at_cas_acqrel(&ch->owner, &owner, marked)) /* acqrel: one of us does it */
		return false;
	if (!WF_MUTANT(MUT_CHAN_NO_MEMBARRIER))
		os_membarrier();
	for (unsigned tries = 0;; tries++) {
		void *in = at_load_acq(&p->in_chan); /* acq: what it did in there */

		if (in != ch && in != WF_ALL_CHANS)
			break;
		wf_back_off(tries);
	}
	for (unsigned tries = 0;; tries++) {  /* it may have LOCKED by a select */
		*s = at_load_rlx(&ch->state); /* rlx: the CAS decides */
		if (!(*s & WF_CH_LOCKED) &&
		    at_cas_acqrel(&ch->state, s, (*s & ~(uint64_t)WF_CH_BIASED) | WF_CH_LOCKED))
			break; /* acq: as in wf_chan_lock_shared */
		wf_back_off(tries);
	}
	*s &= ~(uint64_t)WF_CH_BIASED;
	at_store_rel(&ch->owner, NULL); /* rel: after BIASED is gone */
	ch->patience = ch->patience < PATIENCE_MAX ? 4 * ch->patience : PATIENCE_MAX;
	ch->streak = 0;
	return true;
}

/* LOCKED is ours: does p use it alone? Then it is biased from the unlock on. */
static uint64_t
earned(struct wf_p *p, struct wf_chan *ch, uint64_t s)
{
	if (ch->last_p != p) {
		ch->last_p = p;
		ch->streak = 0;
		wf_gather_bounced(p, 1);
	} else if (p && !wf_sched.fenced && !(s & WF_CH_BIASED) && ++ch->streak >= ch->patience) {
		at_store_rel(&ch->owner, p); /* rel: published by the unlock, with BIASED */
		s |= WF_CH_BIASED;
	}
	return s;
}

uint64_t
wf_chan_lock_shared(struct wf_p *p, struct wf_chan *ch)
{
	if (p)
		at_store_rel(&p->in_chan, NULL); /* rel: nothing was done in there */
	for (unsigned tries = 0;; tries++) {
		uint64_t s = at_load_acq(&ch->state); /* acq: before the look at the owner */

		if (s & WF_CH_LOCKED)
			;
		else if ((s & WF_CH_BIASED) && at_load_acq(&ch->owner) != p) { /* acq: as set */
			if (unbias(ch, &s)) {
				wf_gather_bounced(p, UNBIAS_BOUNCES);
				return earned(p, ch, s);
			}
			/* acq: what the last holder did */
		} else if (at_cas_acqrel(&ch->state, &s, s | WF_CH_LOCKED)) {
			return earned(p, ch, s);
		}
		wf_back_off(tries);
	}
}

/* ---- values */

WF_INLINE void
copy(const struct wf_chan *ch, void *to, const void *from)
{
	if (likely(ch->elem_bytes == 8))
		__builtin_memcpy(to, from, 8);
	else if (likely(ch->elem_bytes == 4))
		__builtin_memcpy(to, from, 4);
	else if (ch->elem_bytes > 0)
		memcpy(to, from, ch->elem_bytes);
}

WF_INLINE char *
slot(struct wf_chan *ch, uint64_t i)
{
	return ch->ring + i * ch->elem_bytes;
}

WF_INLINE void
ring_put(struct wf_chan *ch, const void *elem)
{
	char *to = slot(ch, ch->send_at);

	wf_tsan_acquire(to); /* the receiver before last of this slot */
	copy(ch, to, elem);
	wf_tsan_release(to);
	if (unlikely(++ch->send_at == ch->cap))
		ch->send_at = 0;
}

/* elem NULL: the value is dropped. */
WF_INLINE void
ring_take(struct wf_chan *ch, void *elem)
{
	char *from = slot(ch, ch->recv_at);

	wf_tsan_acquire(from);
	if (likely(elem != NULL))
		copy(ch, elem, from);
	wf_tsan_release(from);
	if (unlikely(++ch->recv_at == ch->cap))
		ch->recv_at = 0;
}

/* ---- the operations, under the lock */

WF_INLINE uint64_t
flag_if(uint64_t s, bool set, uint64_t flag)
{
	return set ? s | flag : s & ~flag;
}

/* The line l, for which this flag stands. */
WF_INLINE struct wf_waiter *
pop(struct wf_waitlist *l, uint64_t *s, uint64_t flag)
{
	struct wf_waiter *w = wf_waiter_pop(l);

	*s = flag_if(*s, l->first != NULL, flag); /* CHAN-4 */
	return w;
}

/* Not for long, but while it lasts a freed channel can tell. */
static void
check_not_freed(const struct wf_chan *ch, uint64_t s)
{
	if (unlikely(s & WF_CH_FREED))
		wf_fatal(
		    "use of a channel after weft_free. Free a channel when all who use it have "
		    "ended, for instance after the end of their group (it is at %p)",
		    (const void *)ch);
}

int
wf_chan_do_send(struct wf_chan *ch, uint64_t *s, const void *elem, struct wf_waiter **peer)
{
	struct wf_waiter *w;

	*peer = NULL;
	if (unlikely(*s & WF_CH_CLOSED)) {
		check_not_freed(ch, *s);
		return -EPIPE;
	}
	if ((*s & WF_CH_RECVS) && (w = pop(&ch->recvs, s, WF_CH_RECVS))) {
		ASSERT(wf_chan_fill(*s) == 0); /* CHAN-3 */
		wf_tsan_acquire(w->g);
		if (likely(w->elem != NULL))
			copy(ch, w->elem, elem);
		w->result = 1;
		*peer = w;
		return 0;
	}
	if (wf_chan_fill(*s) < ch->cap) {
		ring_put(ch, elem);
		*s += WF_CH_ONE;
		return 0;
	}
	return WF_PENDING;
}

int
wf_chan_do_recv(struct wf_chan *ch, uint64_t *s, void *elem, struct wf_waiter **peer)
{
	struct wf_waiter *w = NULL;

	*peer = NULL;
	if (*s & WF_CH_SENDS)
		w = pop(&ch->sends, s, WF_CH_SENDS);
	if (w) {
		ASSERT(wf_chan_fill(*s) == ch->cap); /* CHAN-3 */
		wf_tsan_acquire(w->g);
		if (ch->cap == 0) {
			if (likely(elem != NULL))
				copy(ch, elem, w->elem);
		} else { /* full: the oldest comes out, the sender's goes to the end */
			ring_take(ch, elem);
			ring_put(ch, w->elem);
		}
		w->result = 0;
		*peer = w;
		return 1;
	}
	if (wf_chan_fill(*s) > 0) {
		ring_take(ch, elem);
		*s -= WF_CH_ONE;
		return 1;
	}
	if (unlikely(*s & WF_CH_CLOSED)) {
		check_not_freed(ch, *s);
		wf_tsan_acquire(ch);
		if (elem)
			memset(elem, 0, ch->elem_bytes);
		return 0;
	}
	return WF_PENDING;
}

bool
wf_chan_take_back(struct wf_chan *ch, uint64_t *s)
{
	if (wf_chan_fill(*s) == 0)
		return false;
	ring_take(ch, NULL);
	*s -= WF_CH_ONE;
	return true;
}

void
wf_chan_leave(struct wf_p *p, struct wf_chan *ch, bool sends, struct wf_waiter *w)
{
	uint64_t s;

	if (at_load_acq(&w->linked) == 0) /* acq: WAIT-1; the channel may be gone */
		return;
	s = wf_chan_lock(p, ch);     /* LIMBO-1: it was there when we looked, and we are inside */
	if (at_load_rlx(&w->linked)) /* rlx: under the lock */
		wf_waiter_remove(sends ? &ch->sends : &ch->recvs, w);
	s = flag_if(s, ch->recvs.first != NULL, WF_CH_RECVS); /* CHAN-4 */
	s = flag_if(s, ch->sends.first != NULL, WF_CH_SENDS);
	wf_chan_unlock(p, ch, s);
}

/* ---- waiting */

/* The sleeper's context is saved (PARK-1): from the unlock on, g and wait may be gone. */
static void
commit(struct wf_g *g, void *arg)
{
	struct wf_chan_wait *wait = arg;
	uint32_t number = wait->w.number;
	bool ends = wf_wait_open(g, number);

	wf_chan_unlock(wait->p, wait->ch, wait->unlock);
	if (unlikely(ends))
		wf_wait_end(g, number);
}

/* The channel is locked with state s and the operation has to wait: its result, or the verdict of
   the scopes, or WF_PENDING: to be tried again. */
WF_INLINE int
wait_in(struct wf_m **m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_g *g = wf_me(*m);
	struct wf_chan_wait wait;
	int rc;

	if (unlikely(!sends && g->kids > 0))
		wf_learn_joins(g, KIDS_FEW);
	wf_waiter_init(&wait.w, g, wf_scoped(g) ? wf_claim_next(g, true) : 0);
	wait.w.elem = elem;
	wait.ch = ch;
	wait.p = wf_m_p(*m);
	wait.unlock = s | (sends ? WF_CH_SENDS : WF_CH_RECVS);
	wf_waiter_push(sends ? &ch->sends : &ch->recvs, &wait.w); /* WAIT-1 */
	*m = wf_park(*m, commit, &wait, sends ? WF_WAIT_SEND : WF_WAIT_RECV, &wait);
	if (likely(wait.w.result != WF_PENDING))
		return wait.w.result;
	wf_chan_leave(wf_m_p(*m), ch, sends, &wait.w);
	rc = wf_scope_verdict(g);
	if (rc == 0 && wf_run_over(*m))
		rc = -ENOTSUP;
	return rc < 0 ? rc : WF_PENDING;
}

/* At an address of its own, which nobody else knows. */
int
wf_wait_for_ever(struct wf_m **m, enum wf_reason why)
{
	struct wf_g *g = wf_me(*m);
	struct wf_bucket *b = wf_bucket_of(g);
	struct wf_at a;
	int rc;

	do {
		wf_lock(&b->lock);
		rc = wf_wait_at(m, b, g, &a, why, true);
	} while (rc == 0);
	return rc;
}

/* ---- send and receive */

/* The channel is locked with state s, and the operation is not done at once by the short way: the
   whole of it, and the end of the call. One function, and one frame, for both directions: the
   processor predicts a return by the calls made last, and after a switch those were made by the
   peer. */
static WF_NOCLONE WF_FLATTEN int
operate(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_waiter *peer;
	int rc;

	for (;;) {
		rc =
		    wf_chan_can(ch, s, sends) ? wf_chan_do(ch, &s, elem, sends, &peer) : WF_PENDING;
		if (rc != WF_PENDING) {
			if (WF_MUTANT(MUT_CHAN_READY_LOCKED) && peer)
				wf_ready(m, peer->g);     /* a mutant */
			wf_chan_unlock(wf_m_p(m), ch, s); /* CHAN-2 */
			if (peer && !WF_MUTANT(MUT_CHAN_READY_LOCKED))
				wf_ready(m, peer->g);
			break;
		}
		rc = wait_in(&m, ch, s, elem, sends);
		if (likely(rc != WF_PENDING))
			break;
		s = wf_chan_lock(wf_m_p(m), ch);
	}
	wf_leave(m);
	return rc;
}

static WF_COLD int
never(struct wf_m *m, enum wf_reason why)
{
	int rc = m ? wf_wait_for_ever(&m, why) : -ENOTSUP;

	if (m)
		wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_chan_send(void *channel, const void *elem)
{
	struct wf_chan *ch = channel;
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_p *p;
	uint64_t s;

	if (unlikely(!m || !ch))
		return never(m, WF_WAIT_NIL_SEND);
	p = wf_m_p(m);
	s = wf_chan_lock(p, ch);
	if (unlikely((s & (WF_CH_CLOSED | WF_CH_RECVS)) || wf_chan_fill(s) >= ch->cap))
		return operate(m, ch, s, (void *)(uintptr_t)elem, true);
	ring_put(ch, elem);
	wf_chan_unlock(p, ch, s + WF_CH_ONE);
	if (WF_MUTANT(MUT_CHAN_TOUCH_UNLOCKED))
		(void)at_load_rlx(&ch->state); /* a mutant */
	wf_leave(m);
	return 0;
}

WF_EXPORT int
weft_chan_recv(void *channel, void *elem)
{
	struct wf_chan *ch = channel;
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_p *p;
	uint64_t s;

	if (unlikely(!m || !ch))
		return never(m, WF_WAIT_NIL_RECV);
	p = wf_m_p(m);
	s = wf_chan_lock(p, ch);
	if (unlikely((s & WF_CH_SENDS) || wf_chan_fill(s) == 0))
		return operate(m, ch, s, elem, false);
	ring_take(ch, elem);
	wf_chan_unlock(p, ch, s - WF_CH_ONE);
	wf_leave(m);
	return 1;
}

/* One word tells whether it is worth the lock. */
static int
try(void *channel, void *elem, bool sends)
{
	struct wf_chan *ch = channel;
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_waiter *peer = NULL;
	int rc = WF_PENDING;

	if (unlikely(!m))
		return -ENOTSUP;
	if (ch && wf_chan_can(ch, at_load_acq(&ch->state), sends)) { /* acq: as the lock would */
		uint64_t s = wf_chan_lock(wf_m_p(m), ch);

		rc = wf_chan_do(ch, &s, elem, sends, &peer);
		wf_chan_unlock(wf_m_p(m), ch, s);
		if (peer)
			wf_ready(m, peer->g);
	}
	wf_leave(m);
	return rc == WF_PENDING ? -EAGAIN : rc;
}

WF_EXPORT int
weft_chan_try_send(void *channel, const void *elem)
{
	return try(channel, (void *)(uintptr_t)elem, true);
}

WF_EXPORT int
weft_chan_try_recv(void *channel, void *elem)
{
	return try(channel, elem, false);
}

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
		check_not_freed(ch, s);
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
	    bytes > PTRDIFF_MAX - 2 * sizeof(*ch))
		return NULL;
	bytes = (sizeof(*ch) + bytes + WF_CACHE_LINE - 1) / WF_CACHE_LINE * WF_CACHE_LINE;
	ch = aligned_alloc(WF_CACHE_LINE, bytes);
	if (!ch)
		return NULL;
	*ch = (struct wf_chan){.cap = cap, .elem_bytes = elem_bytes, .where = where};
	/* rlx: as it is now; a matter of cost */
	ch->patience = at_load_rlx(&wf_sched.procs) == 1 ? PATIENCE_ALONE : PATIENCE_MIN;
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
	size_t bytes = sizeof(*ch) + ch->cap * ch->elem_bytes;

	check_not_freed(ch, s);
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
