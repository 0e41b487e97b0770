/* SPDX-License-Identifier: MIT */
/*
 * lock.h: a futex mutex for a few instructions of work, and the note, on which an M sleeps.
 *
 * LOCK-1: locks are taken in increasing rank; each rank at most once (but see
 *         wf_lock_more). Checked with WF_DEBUG.
 * Under a lock: no allocation, no system call but the lock's own, no user code.
 * NOTE-1: a note is woken at most once between two clears; a second wake is fatal.
 * NOTE-2: only the sleeper clears it.
 * NOTE-3: a sleeper goes to the kernel only after it has said so; a wake that finds it has not is
 *         a store, no system call.
 */
#ifndef WF_BASE_LOCK_H
#define WF_BASE_LOCK_H

#include "base/os.h"

/* Ranks, outermost first. */
enum wf_rank {
	WF_RANK_WORLD,  /* one stop-the-world at a time: held across everything else */
	WF_RANK_LEASE,  /* one lease requester at a time: the world stopper asks under it */
	WF_RANK_WAITQ,  /* an address bucket: waiters, then ready needs nothing below held */
	WF_RANK_LIMBO,  /* memory on its way out */
	WF_RANK_SCOPE,  /* a tree of groups: a waiter enters it while it holds a queue's lock */
	WF_RANK_SIGNAL, /* signal channels: who is told of a signal */
	WF_RANK_POLL,   /* a descriptor's record: its lines */
	WF_RANK_SCHED,  /* idle Ms, all Ms; taken while deciding what an M does next */
	WF_RANK_TIMER,  /* a heap of timers: armed under any of the above */
	WF_RANK_IDLEQ,  /* the idle class: ageing moves from it to the global queue */
	WF_RANK_GLOBQ,  /* the global queue: leaf for everybody who submits */
	WF_RANK_POOL,   /* G depot and stack depot: leaf */
	WF_RANK_COUNT,
};

struct wf_lock {
	wf_a32 word; /* 0 free, 1 held, 2 held and somebody may sleep */
	uint8_t rank;
};

#define WF_LOCK_INIT(r)                                                                            \
	{                                                                                          \
		.rank = (r)                                                                        \
	}

struct wf_note {
	wf_a32 word; /* 0 clear, 1 woken, 2 its sleeper is in the kernel, or on the way there */
};

/* One more look that another thread is not yet through with its few instructions. */
void wf_back_off(unsigned tries);

void wf_lock_slow(struct wf_lock *l);
void wf_unlock_slow(struct wf_lock *l);

/* The ranks this thread holds, a bit each; NULL before the thread is known. */
WF_EXTERN uint32_t *(*wf_held_ranks_hook)(void);
void wf_rank_taken(const struct wf_lock *l);
void wf_rank_dropped(const struct wf_lock *l);
bool wf_rank_holds(const struct wf_lock *l);

#ifdef WF_DEBUG
#define wf_assert_held(l) CHECK(wf_rank_holds(l))
#else
#define wf_assert_held(l)  ((void)(l))
#define wf_rank_taken(l)   ((void)(l))
#define wf_rank_dropped(l) ((void)(l))
#endif

WF_INLINE void
wf_lock(struct wf_lock *l)
{
	uint32_t free_word = 0;

	wf_rank_taken(l);
	/* acq: sees what the last holder wrote; pairs with the exchange in wf_unlock */
	if (unlikely(!at_cas_acqrel(&l->word, &free_word, 1)))
		wf_lock_slow(l);
}

WF_INLINE bool
wf_try_lock(struct wf_lock *l)
{
	uint32_t free_word = 0;

	/* acq: as wf_lock */
	if (!at_cas_acqrel(&l->word, &free_word, 1))
		return false;
	wf_rank_taken(l);
	return true;
}

WF_INLINE void
wf_unlock(struct wf_lock *l)
{
	wf_rank_dropped(l);
	/* rel: publishes the section */
	if (unlikely(at_xchg_acqrel(&l->word, 0) == 2))
		wf_unlock_slow(l);
}

/* By the sleeper: woken? For who would rather look a few times than sleep. */
WF_INLINE bool
wf_note_woken(const struct wf_note *n)
{
	return at_load_acq(&n->word) == 1; /* acq: as wf_note_sleep */
}

/* Another lock of a rank that is held already: in the order of their addresses. */
WF_INLINE void
wf_lock_more(struct wf_lock *l)
{
	uint32_t free_word = 0;

	/* acq: as wf_lock */
	if (unlikely(!at_cas_acqrel(&l->word, &free_word, 1)))
		wf_lock_slow(l);
}

WF_INLINE void
wf_unlock_more(struct wf_lock *l)
{
	/* rel: as wf_unlock */
	if (unlikely(at_xchg_acqrel(&l->word, 0) == 2))
		wf_unlock_slow(l);
}

/* Sleep until woken or until timeout_ns has passed (< 0: no limit); true if woken. The caller
   counts its futex calls through *calls. */
bool wf_note_sleep(struct wf_note *n, int64_t timeout_ns, uint64_t *calls);
/* The same with the time itself, by os_now_ns. */
bool wf_note_sleep_until(struct wf_note *n, int64_t until_ns, uint64_t *calls);
void wf_note_wake(struct wf_note *n);
/* The two halves of a wake, for who decides under a lock: set under it, kick after it. */
bool wf_note_set(struct wf_note *n); /* true: a kick is needed */
void wf_note_kick(struct wf_note *n);
void wf_note_clear(struct wf_note *n);

#endif
