/* SPDX-License-Identifier: MIT */
/*
 * waitq.h: who waits at an address. The objects of the API are a word or two; their waiters are
 * found here, in a table keyed by the object's address, so that an object can be freed as soon
 * as the word says so.
 *
 * SYNC-1: the last access to an object is the atomic that lets another party proceed; after it
 *         only this table is touched.
 * WAIT-3: who unlinked a waiter writes the result, reads what comes next, and readies last.
 */
#ifndef WF_WAIT_WAITQ_H
#define WF_WAIT_WAITQ_H

#include "wait/scope.h"

/* One that waits at an address; on its stack. w.elem is the caller's. */
struct wf_at {
	struct wf_waiter w; /* next and prev: others at the same address, first come first */
	uint64_t hash;      /* of the address: one to one */
	const void *key;
	struct wf_bucket *bucket;
	bool awake; /* has its place, but does not sleep yet: see wf_at_link */
	/* in the first of an address only; under the bucket's lock */
	uint32_t count; /* of those at this address */
	struct wf_at *last;
	struct wf_at *left, *right; /* other addresses of the bucket */
};

/* A search tree over hashes: those are random, so it needs no balancing. */
struct wf_bucket {
	struct wf_lock lock;
	struct wf_at *root; /* under lock */
} WF_ALIGNED(WF_CACHE_LINE);

/* Some that were taken from a line, in order; linked through w.next. */
struct wf_at_list {
	struct wf_at *first, *last;
};

static inline void
wf_at_list_push(struct wf_at_list *l, struct wf_at *a)
{
	a->w.next = NULL;
	if (l->last)
		l->last->w.next = &a->w;
	else
		l->first = a;
	l->last = a;
}

struct wf_bucket *wf_bucket_of(const void *key);

/* A second line at the same object, in the same bucket. Objects are aligned to 8; the mutex has the
   third (wf_mutex_line). */
WF_INLINE const void *
wf_second_line(const void *key)
{
	return (const char *)key + 1;
}

/* The bucket is locked and the caller has decided to wait for key: sleep until woken; the lock is
   dropped. scoped: or until its scopes end the wait. *m is the M it goes on with. Returns the
   waker's result; or -ECANCELED, -ETIMEDOUT; or 0: a scope that does not end this wait woke it
   for nothing, and a waker has passed it over meanwhile. Whoever can be woken with 0 looks again
   at what it waits for. */
int wf_wait_at(struct wf_m **m, struct wf_bucket *b, const void *key, struct wf_at *a,
	       enum wf_reason why, bool scoped);

/* ---- the bucket is locked */
/* The two halves of wf_wait_at: a place in line, at its head if first, and the sleep. Whoever
   drops the lock between them may be taken meanwhile, while a->awake: its result is then written
   under the lock, and nobody readies it. It locks again, and sleeps only if a->w.linked. */
void wf_at_link(struct wf_m *m, struct wf_bucket *b, const void *key, struct wf_at *a, bool first);
int wf_at_sleep(struct wf_m **m, struct wf_at *a, enum wf_reason why, bool scoped);
/* How many are linked. */
uint32_t wf_at_count(struct wf_bucket *b, const void *key);
/* The first in line, still linked, or NULL. It may lose interest: only wf_at_pop is sure. */
struct wf_at *wf_at_first(struct wf_bucket *b, const void *key);
/* The first that is still to be had, unlinked and the caller's to wake; NULL: nobody. */
struct wf_at *wf_at_pop(struct wf_bucket *b, const void *key);
/* The one that wf_at_first has shown, if it is still to be had. */
bool wf_at_take(struct wf_bucket *b, struct wf_at *a);
/* All of them, linked through w.next. */
struct wf_at *wf_at_pop_all(struct wf_bucket *b, const void *key);

/* ---- no lock held */
void wf_at_wake(struct wf_m *m, struct wf_at *a, int result);
void wf_at_wake_all(struct wf_m *m, struct wf_at *a, int result);

/* The end of a run: goroutines are forgotten, plain threads return -ENOTSUP. */
void wf_waitq_flush(struct wf_m *m);

#endif
