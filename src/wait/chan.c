/* SPDX-License-Identifier: MIT */
/*
 * chan.c: send and receive; the rules are in chan.h. A value goes straight from the sender's hands
 * into the receiver's when one of them waits.
 */
#include "wait/chan.h"
#include "base/sanitizer.h"
#include "sched/inplace.h"
#include "wait/atonce.h"
#include "wait/waitq.h"

#include <errno.h>
#include <string.h>

enum { KIDS_FEW = 2 }; /* one goroutine for each value received is no fork-join */

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

/* Behind so many others. */
WF_INLINE void
ring_put(struct wf_chan *ch, uint64_t fill, const void *elem)
{
	uint64_t at = ch->recv_at + fill;
	char *to = slot(ch, at < ch->cap ? at : at - ch->cap);

	wf_tsan_acquire(to); /* the receiver before last of this slot */
	copy(ch, to, elem);
	wf_tsan_release(to);
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

int
wf_chan_do_send(struct wf_chan *ch, uint64_t *s, const void *elem, struct wf_waiter **peer)
{
	struct wf_waiter *w;

	*peer = NULL;
	if (unlikely(*s & WF_CH_CLOSED)) {
		wf_chan_check(ch, *s);
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
		ring_put(ch, wf_chan_fill(*s), elem);
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
			ring_put(ch, ch->cap - 1, w->elem);
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
		wf_chan_check(ch, *s);
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

/* The channel is locked with state s: *wait joins its line. Returns the state to unlock with. */
WF_INLINE uint64_t
join_line(struct wf_chan_wait *wait, struct wf_g *g, uint32_t number, struct wf_chan *ch,
	  uint64_t s, void *elem, bool sends)
{
	wf_waiter_init(&wait->w, g, number);
	wait->w.elem = elem;
	wait->ch = ch;
	wf_waiter_push(sends ? &ch->sends : &ch->recvs, &wait->w); /* WAIT-1 */
	return s | (sends ? WF_CH_SENDS : WF_CH_RECVS);            /* CHAN-4 */
}

/* The channel is locked with state s and the operation has to wait: its result, or the verdict of
   the scopes, or WF_PENDING: to be tried again. */
static int
wait_in(struct wf_m **m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_g *g = wf_me(*m);
	struct wf_chan_wait wait;
	int rc;

	if (!sends && g->kids > 0)
		wf_learn_joins(g, KIDS_FEW);
	wait.p = wf_m_p(*m);
	wait.unlock =
	    join_line(&wait, g, wf_scoped(g) ? wf_claim_next(g, true) : 0, ch, s, elem, sends);
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

/* The operation is done with this result: the end of the call. */
WF_INLINE int
finish(struct wf_m *m, struct wf_chan *ch, uint64_t s, struct wf_waiter *peer, int rc)
{
	if (WF_MUTANT(MUT_CHAN_READY_LOCKED) && peer)
		wf_ready(m, peer->g); /* a mutant */
	wf_chan_count(wf_m_p(m), peer);
	wf_chan_unlock(wf_m_p(m), ch, s); /* CHAN-2 */
	if (WF_MUTANT(MUT_CHAN_TOUCH_UNLOCKED))
		(void)at_load_rlx(&ch->state); /* a mutant */
	if (peer && !WF_MUTANT(MUT_CHAN_READY_LOCKED))
		wf_ready_here(m, peer->g);
	wf_leave(m);
	return rc;
}

/* The channel is locked with state s and the operation has to wait: that, and the end of the call. */
static WF_NOINLINE int
await_by_commit(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_waiter *peer;
	int rc;

	for (;;) {
		rc = wait_in(&m, ch, s, elem, sends);
		if (likely(rc != WF_PENDING))
			break;
		s = wf_chan_lock(wf_m_p(m), ch);
		rc = wf_chan_do(ch, &s, elem, sends, &peer);
		if (rc != WF_PENDING)
			return finish(m, ch, s, peer, rc);
	}
	wf_leave(m);
	return rc;
}

/* The same, mostly outside all scopes. One function, and one frame, for both directions: the
   processor predicts a return by the calls made last, and after a switch those were made by the
   peer. Little is kept in that frame: what is, is written and read again at each switch. */
static WF_NOCLONE int
await(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_p *p = wf_m_p(m);
	struct wf_g *g = m->g;
	struct wf_chan_wait wait;

	if (unlikely(!g || wf_scoped(g) || (!sends && g->kids > 0)))
		return await_by_commit(m, ch, s, elem, sends);
	s = join_line(&wait, g, 0, ch, s, elem, sends);
	if (!WF_MUTANT(MUT_PARK_UNSAID))
		wf_g_parks(g); /* CHAN-6 */
	wf_tsan_release(g);    /* what it did before is its peer's to know from here on */
	wf_chan_unlock(p, ch, s);
	m = wf_park_parking(m, p, sends ? WF_WAIT_SEND : WF_WAIT_RECV, &wait);
	ASSERT(wait.w.result != WF_PENDING); /* whoever took it from its line has woken it */
	wf_leave(m);
	return wait.w.result;
}

/* The channel is locked with state s: the whole of an operation, and the end of the call. */
static WF_NOINLINE WF_FLATTEN int
operate(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	struct wf_waiter *peer;
	int rc = wf_chan_do(ch, &s, elem, sends, &peer);

	return rc == WF_PENDING ? await(m, ch, s, elem, sends) : finish(m, ch, s, peer, rc);
}

static WF_NOINLINE int
submitted(struct wf_m *m, int rc)
{
	wf_submitted(m);
	wf_leave(m);
	return rc;
}

/* As `use`, where somebody waits on the other side. */
WF_INLINE int
meet(struct wf_m *m, struct wf_p *p, struct wf_chan *ch, uint64_t s, void *elem, bool sends)
{
	bool wake;

	if (unlikely(!wf_chan_hand_over(m, p, ch, s, elem, sends, &wake)))
		return operate(m, ch, s, elem, sends);
	if (unlikely(wake))
		return submitted(m, !sends);
	ASSERT(!m->blocking);       /* in a section the lease is another one */
	at_store_rel(&m->in_rt, 0); /* rel: as in wf_leave; LEASE-4 */
	return !sends;
}

static WF_NOINLINE int
meet_receiver(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, struct wf_p *p)
{
	return meet(m, p, ch, s, elem, true);
}

static WF_NOINLINE int
meet_sender(struct wf_m *m, struct wf_chan *ch, uint64_t s, void *elem, struct wf_p *p)
{
	return meet(m, p, ch, s, elem, false);
}

static WF_COLD int
never(struct wf_m *m, enum wf_reason why)
{
	int rc = m ? wf_wait_for_ever(&m, why) : -ENOTSUP;

	if (m)
		wf_leave(m);
	return rc;
}

/* In the runtime; the channel is not the caller's alone. */
static WF_NOINLINE int
operate_shared(struct wf_m *m, struct wf_chan *ch, void *elem, bool sends)
{
	return operate(m, ch, wf_chan_lock_shared(wf_m_p(m), ch), elem, sends);
}

/* Not in the runtime, and the short way in is not open. */
static WF_NOINLINE int
operate_outside(struct wf_chan *ch, void *elem, bool sends)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	if (unlikely(!m || !ch))
		return never(m, sends ? WF_WAIT_NIL_SEND : WF_WAIT_NIL_RECV);
	return operate(m, ch, wf_chan_lock(wf_m_p(m), ch), elem, sends);
}

/* A value moves to or from the ring of a channel that is biased to the caller's P, and is a word or
   half of one: that is all here. Everything else is left to others by jumps, so that this needs no
   registers to be saved. */
WF_INLINE int
use(struct wf_chan *ch, void *elem, bool sends)
{
	struct wf_m *m = wf_m();
	struct wf_p *p;
	uint64_t s;

	if (unlikely(!ch || !wf_enter_at_once(m)))
		return operate_outside(ch, elem, sends);
	p = wf_m_p(m); /* not NULL: its lease is HELD */
	if (unlikely(!wf_chan_is_mine(p, ch)))
		return operate_shared(m, ch, elem, sends);
	s = at_load_rlx(&ch->state); /* rlx: CHAN-5, ours alone */
	if (!wf_chan_can(ch, s, sends))
		return await(m, ch, s, elem, sends);
	if (unlikely((s & WF_CH_CLOSED) || !wf_chan_of_words(ch) || !elem))
		return operate(m, ch, s, elem, sends);
	if (s & (sends ? WF_CH_RECVS : WF_CH_SENDS))
		return (sends ? meet_receiver : meet_sender)(m, ch, s, elem, p);
	if (sends)
		ring_put(ch, wf_chan_fill(s), elem);
	else
		ring_take(ch, elem);
	wf_chan_count(p, NULL);
	wf_chan_unlock(p, ch, sends ? s + WF_CH_ONE : s - WF_CH_ONE);
	ASSERT(!m->blocking);       /* as in `meet` */
	at_store_rel(&m->in_rt, 0); /* rel: as in wf_leave; LEASE-4 */
	return !sends;
}

WF_EXPORT int
weft_chan_send(void *channel, const void *elem)
{
	return use(channel, (void *)(uintptr_t)elem, true);
}

WF_EXPORT int
weft_chan_recv(void *channel, void *elem)
{
	return use(channel, elem, false);
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
		if (rc != WF_PENDING)
			wf_chan_count(wf_m_p(m), peer);
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
