/* SPDX-License-Identifier: MIT */
/*
 * timer.h: timers, and heaps of them: one per P, and one for who has no P.
 *
 * A heap is an array of (time, timer) in a 4-ary tree, under a lock of its own; its earliest time
 * is in one word that everybody reads without the lock. The lock stands behind a door (door.h): a P
 * whose heap nobody else looks into for a while does without it. A timer that is stopped or moved leaves
 * its entry behind: an entry counts only if it has the time that its timer says. Such dead entries
 * go when they come to the top or the end, and all at once when they are more than a quarter.
 *
 * The timer of a goroutine (it ends its waits: deadlines, sleep) is part of the G, so its entry may
 * be left behind for ever. It is never stopped, and only ever moved to an earlier time: when it
 * fires and the goroutine's wait is to end later, it is put in again. So a goroutine that waits a
 * thousand times with a deadline in a second touches the heap once.
 *
 * No memory is needed under a lock: when the array is full a timer stands in a list, through
 * itself, until somebody without a lock has made the array larger. So arming cannot fail.
 *
 * TIMER-1: the state of a timer is guarded by the lock of the heap that it says, or by the door that its
 *          owner has found shut; it changes its
 *          heap only while it has no entry and is in no list.
 * TIMER-2: next is no later than the time of any armed timer of the heap, when the lock is free.
 * TIMER-3: a timer fires once for each time that it was armed, not before, and the earlier first.
 * TIMER-4: the timer of a goroutine that fires is first marked as not armed, then reads the claim
 *          by a read-modify-write, and then when the wait is to end; the goroutine stores the
 *          latter, opens its claim, and then looks whether its timer is armed (WAIT-4). One of the
 *          two sees the other.
 */
#ifndef WF_CORE_TIMER_H
#define WF_CORE_TIMER_H

#include "core/door.h"
#include "core/glist.h"

#define WF_NEVER INT64_MAX

/* A timer that is no goroutine's: what happens when it fires is for the caller of wf_heap_run. */
struct wf_timer_object {
	struct wf_timer t;
	/* under the heap's lock */
	int64_t period; /* 0: it fires once */
	uint64_t fires; /* how often it has fired */
};

struct wf_timer_entry {
	int64_t when;
	struct wf_timer *t;
};

struct wf_heap {
	wf_a64 next; /* the earliest time, 0: none; written under lock: TIMER-2 */
	wf_a64 many; /* WF_TIMERS_MANY are due by this time, 0: there are fewer; likewise, a hint */
	struct wf_lock lock;
	wf_a32 crowd;        /* timers in the list; written under lock */
	bool ownerless;      /* const: no P's, its door always open */
	struct wf_door door; /* the P's who has it */
	/* under lock, or its owner alone */
	bool alone; /* which of them */
	struct wf_timer_entry *entry;
	uint32_t n, cap;
	uint32_t dead; /* so many entries are */
	struct wf_timer *list;
	int64_t list_when;     /* no timer in the list is earlier */
	struct wf_timer *gone; /* dropped, and without an entry: to be given to the next who asks */
} WF_ALIGNED(WF_CACHE_LINE);

/* The root of the array and its children: if they are due soon one wake-up for all is worth it. */
#ifdef WF_TINY
enum { WF_TIMERS_MANY = 1 };
#else
enum { WF_TIMERS_MANY = 5 };
#endif

/* What fired: Gs that were claimed, to be readied, and objects with the time and number of it. */
#ifdef WF_TINY
enum { WF_DUE_MAX = 2 };
#else
enum { WF_DUE_MAX = 64 }; /* taken at once: others want the lock too */
#endif
struct wf_due {
	struct wf_glist ready; /* in order */
	uint32_t n;            /* objects */
	struct {
		struct wf_timer_object *o;
		int64_t when;
		uint64_t number;
	} object[WF_DUE_MAX];
	struct wf_timer *gone; /* as wf_timer_drop says */
	bool more;             /* there are more */
};

WF_INLINE int64_t
wf_or_never(uint64_t word)
{
	return word ? (int64_t)word : WF_NEVER;
}

/* Any thread. */
WF_INLINE int64_t
wf_timer_when(const struct wf_timer *t)
{
	return wf_or_never(at_load_rlx(&t->when)); /* rlx: exact under the lock, or by TIMER-4 */
}

WF_INLINE int64_t
wf_heap_next(const struct wf_heap *h)
{
	return wf_or_never(at_load_rlx(&h->next)); /* rlx: a hint, or the caller fences */
}

/* Any thread, without a look into the heap, which would open its door. */
WF_INLINE bool
wf_heap_many_by(const struct wf_heap *h, int64_t by)
{
	return wf_or_never(at_load_rlx(&h->many)) <= by; /* rlx: a hint */
}

/* ns from now, as a time; never WF_NEVER. */
WF_INLINE int64_t
wf_time_after(int64_t now, int64_t ns)
{
	if (ns <= 0)
		return now;
	return ns >= WF_NEVER - now ? WF_NEVER - 1 : now + ns;
}

void wf_heap_init(struct wf_heap *h);

/* Any thread; mine: the heap of the caller's P, or the one for threads without. It is for a timer
   that is in no heap. The timer of a goroutine fires at `when` or
   before. True: the heap's earliest time is now an earlier one. */
bool wf_timer_by(struct wf_heap *mine, struct wf_timer *t, int64_t when);

/* An object is armed for `when`, and for each period after that. True: it was armed before.
   *earlier: as above. */
bool wf_timer_set(struct wf_heap *mine, struct wf_timer_object *o, int64_t when, int64_t period,
		  bool *earlier);
/* What it fired for could not be done: it fires again then, unless it was armed or dropped since. */
void wf_timer_again(struct wf_timer_object *o, int64_t when);
/* It is not armed any more; true: it was. *fires: how often it has fired. */
bool wf_timer_cancel(struct wf_heap *mine, struct wf_timer_object *o, uint64_t *fires);
/* It is not armed, and never will be. Returns those that were dropped, now or before, and have no
   entry any more, through next: their memory is the caller's. */
struct wf_timer *wf_timer_drop(struct wf_heap *mine, struct wf_timer_object *o);

/* No lock held: if timers stand in the list the array is made larger. */
void wf_heap_grow(struct wf_heap *mine, struct wf_heap *h);

/* Takes out what is due; the caller does the rest, without the lock. */
void wf_heap_run(struct wf_heap *mine, struct wf_heap *h, int64_t now, struct wf_due *due);
/* Will any timer of this heap ever wake a goroutine, or do something else? */
bool wf_heap_live(struct wf_heap *h);
/* Nobody else runs: all are out. Returns those that were dropped. */
struct wf_timer *wf_heap_flush(struct wf_heap *h);

#endif
