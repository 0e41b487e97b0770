/* SPDX-License-Identifier: MIT */
/*
 * chan.h: a channel: a ring of values, two lines of waiters, and one word that is lock, fill and
 * flags at once.
 *
 * The word is taken by a CAS that sets LOCKED, and given back by a plain store of what it is to
 * be next. Because all that others want to know is in that one word, a try that cannot succeed is
 * one load. Sections are short, so whoever finds the word locked spins, and gives
 * up its CPU if the holder seems to have lost its own.
 *
 * A channel that was used by one P alone for a while is biased to it: the holder of that P, inside
 * the runtime, says which channel it works on (p->in_chan) and then needs no CAS. Who comes from
 * elsewhere takes the bias away: it marks the owner, makes every thread's stores visible
 * (membarrier), and waits until the P works on something else.
 *
 *        holder of the P                        another
 *        in_chan = ch                           owner = P, marked
 *        compiler barrier                       membarrier
 *        owner == P ?  yes: the section         in_chan == ch ?  wait
 *
 * CHAN-1: everything but the word is touched under LOCKED, or by the bias.
 * CHAN-2: the store that gives the word back is the last access of an operation (SYNC-1): whoever
 *         gets it next may free the channel. Peers are readied after it.
 * CHAN-3: receivers wait only while nothing is buffered, senders only while the ring is full; of
 *         those still to be had, both kinds wait at once only if they are one select's.
 * CHAN-4: RECVS and SENDS are set while the line is not empty; CLOSED is never unset, and nobody
 *         waits in a closed channel.
 * CHAN-5: BIASED is set under LOCKED, and unset by the CAS of the one that marked the owner, when
 *         the owner is out. While it is set nobody but the owner changes the word otherwise.
 * CHAN-6: who waits for one channel, outside all scopes, gives the word back before it leaves its
 *         stack: it is in line and PARKING by then (PARK-4). Others commit by the unlock.
 */
#ifndef WF_WAIT_CHAN_H
#define WF_WAIT_CHAN_H

#include "wait/limbo.h"
#include "wait/scope.h"

enum {
	WF_CH_LOCKED = 1,
	WF_CH_CLOSED = 2,
	WF_CH_RECVS = 4, /* receivers wait */
	WF_CH_SENDS = 8, /* senders wait */
	WF_CH_BIASED = 16,
	WF_CH_FREED = 32, /* closed, and its memory about to go: see limbo.h */
	WF_CH_ONE = 64,   /* a value in the ring */
};
#define WF_CH_VERSION (UINT64_C(1) << 38) /* counts the sections: see pick_default in select.c */

#define WF_ALL_CHANS ((void *)1) /* in_chan: any that is biased to this P */

struct wf_chan {
	/* a line: all that is written, but for the values, so that cores that share it pass on no more */
	union {
		struct {
			uint32_t elem_bytes, cap; /* const */
		};
		struct wf_limbo limbo;
	};
	wf_a64 state;
	wf_aptr
	    owner; /* while biased: a P; + 1 when its bias is being taken away; else WF_CHAN_LAST */
	/* CHAN-1 */
	uint32_t recv_at; /* the oldest value's place in the ring */
	uint32_t streak;  /* how often in a row the owner, which had LOCKED last, had it before */
	struct wf_waitlist recvs, sends;

	uint32_t patience; /* CHAN-1: when that earns the bias */
	/* const */
	const char *where;         /* it was made, "file:line", or NULL */
	struct weft_timer *timer;  /* that sends here, or NULL: see time.c */
	struct wf_sigchan *signal; /* that comes here, or NULL: see sigchan.c */
	char ring[] WF_ALIGNED(16);
};
_Static_assert(offsetof(struct wf_chan, patience) == 64, "the first fields are one line");

/* The owner of a channel without a bias: p, or NULL, had LOCKED last. */
#define WF_CHAN_LAST(p) ((void *)((uintptr_t)(p) + 2))

/* A wait for one channel, on the stack of the one that waits; g->wait_on for WF_WAIT_SEND and
   WF_WAIT_RECV. */
struct wf_chan_wait {
	struct wf_waiter w;
	struct wf_chan *ch;
	struct wf_p *p;  /* holds the channel until the commit, ... */
	uint64_t unlock; /* ... which stores this state */
};

/* What a select knows of one of its cases beyond what the caller says. */
struct wf_place {
	struct wf_waiter w;
	struct wf_fd *fd;    /* selfd.c: the record of the descriptor, ... */
	uint32_t generation; /* ... which one that is, ... */
	bool held;           /* ... and whether it stays that one */
	uint16_t order;      /* the case at this place in the order of the addresses */
	uint64_t seen;       /* the state of the channel, or the descriptor's count of events */
};

/* The same for a select; g->wait_on for WF_WAIT_SELECT. */
struct wf_select {
	struct weft_case *cases;
	struct wf_place *places; /* one for each case */
	void *heap;              /* where they are, if there are many */
	int n;
	int chans;     /* cases with a channel */
	int fds;       /* cases that wait for a descriptor: see selfd.c */
	int otherwise; /* the default, or -1 */
	int after;     /* the WEFT_AFTER that is due first, or -1 ... */
	int64_t until; /* ... and when; WF_NEVER: there is none */
	uint32_t number;
	bool biased;    /* all channels are held by p's bias */
	struct wf_p *p; /* as above */
};

WF_INLINE bool
wf_case_is_chan(const struct weft_case *c)
{
	return (c->kind_ == WEFT_CASE_RECV || c->kind_ == WEFT_CASE_SEND) && c->chan_;
}

/* ---- the word */

uint64_t wf_chan_lock_shared(struct wf_p *p, struct wf_chan *ch);

/* How many uses in a row earn the bias of a new channel. */
uint32_t wf_chan_patience(void);

/* By the holder of p: is the channel held by p's bias? If not, wf_chan_lock_shared is next. */
WF_INLINE bool
wf_chan_is_mine(struct wf_p *p, struct wf_chan *ch)
{
	at_store_rlx(&p->in_chan, ch);       /* rlx: ordered by light_barrier, as in wf_enter */
	light_barrier();                     /* pairs with the membarrier in unbias */
	return at_load_rlx(&ch->owner) == p; /* rlx: only we make it p */
}

/* p: the caller's, or NULL. Returns the state, without LOCKED. */
WF_INLINE uint64_t
wf_chan_lock(struct wf_p *p, struct wf_chan *ch)
{
	if (likely(p != NULL && wf_chan_is_mine(p, ch)))
		return at_load_rlx(&ch->state); /* rlx: CHAN-5, ours alone */
	return wf_chan_lock_shared(p, ch);
}

/* The last access to the channel: CHAN-2. */
WF_INLINE void
wf_chan_unlock(struct wf_p *p, struct wf_chan *ch, uint64_t s)
{
	ASSERT(!(s & WF_CH_LOCKED));
	at_store_rel(&ch->state, s + WF_CH_VERSION); /* rel: publishes the section */
	if (likely(p != NULL))
		at_store_rel(&p->in_chan, NULL); /* rel: the section, to who takes the bias away */
}

/* p: as above. An operation was done, and that of the peer, if any, with it. Gathering compares how many
   are done in a time, and not what they take. */
WF_INLINE void
wf_chan_count(struct wf_p *p, const struct wf_waiter *peer)
{
	if (likely(p != NULL))
		at_bump(&p->n_uses, peer ? 2 : 1); /* rlx: a counter */
}

WF_INLINE uint64_t
wf_chan_fill(uint64_t s)
{
	return (uint32_t)(s / WF_CH_ONE);
}

/* Could an operation complete, as of this state? A closed channel is ready for both. */
WF_INLINE bool
wf_chan_can_recv(uint64_t s)
{
	return wf_chan_fill(s) > 0 || (s & (WF_CH_CLOSED | WF_CH_SENDS));
}

WF_INLINE bool
wf_chan_can_send(const struct wf_chan *ch, uint64_t s)
{
	return wf_chan_fill(s) < ch->cap || (s & (WF_CH_CLOSED | WF_CH_RECVS));
}

WF_INLINE bool
wf_chan_can(const struct wf_chan *ch, uint64_t s, bool sends)
{
	return sends ? wf_chan_can_send(ch, s) : wf_chan_can_recv(s);
}

/* ---- channel locked with state *s: CHAN-1 */

/* Not for long, but while it lasts a freed channel can tell. */
static inline void
wf_chan_check(const struct wf_chan *ch, uint64_t s)
{
	if (unlikely(s & WF_CH_FREED))
		wf_fatal(
		    "use of a channel after weft_free. Free a channel when all who use it have "
		    "ended, for instance after the end of their group (it is at %p)",
		    (const void *)ch);
}

/* What an operation did; *peer, if any, is to be readied after the unlock. WF_PENDING: it has
   to wait, and nothing was done. */
int wf_chan_do_send(struct wf_chan *ch, uint64_t *s, const void *elem, struct wf_waiter **peer);
int wf_chan_do_recv(struct wf_chan *ch, uint64_t *s, void *elem, struct wf_waiter **peer);

WF_INLINE int
wf_chan_do(struct wf_chan *ch, uint64_t *s, void *elem, bool sends, struct wf_waiter **peer)
{
	return sends ? wf_chan_do_send(ch, s, elem, peer) : wf_chan_do_recv(ch, s, elem, peer);
}

/* A waiter leaves its line, if it still stands there; the channel is not locked, and w->linked == 0
   means that it need not even be. */
void wf_chan_leave(struct wf_p *p, struct wf_chan *ch, bool sends, struct wf_waiter *w);

/* Takes back the oldest value, if there is one. */
bool wf_chan_take_back(struct wf_chan *ch, uint64_t *s);

/* ---- make and free; the allocator is not ours: outside the runtime */
struct wf_chan *wf_chan_new(size_t elem_bytes, size_t cap, const char *where); /* NULL: no memory */
/* In the runtime; returns what is to be given back outside. */
struct wf_limbo *wf_chan_end(struct wf_m *m, struct wf_chan *ch);
/* sigchan.c: a channel of a signal is freed. */
void wf_signal_chan_free(struct wf_chan *ch);
/* time.c: a channel with a timer is freed. */
void wf_timer_chan_free(struct wf_chan *ch);

/* Waits until its scopes end it, perhaps for ever; why tells which misuse this is. */
int wf_wait_for_ever(struct wf_m **m, enum wf_reason why);

/* The end of a run: nobody of it waits in a channel any more. */
void wf_chans_flush(struct wf_m *m);

#endif
