/* SPDX-License-Identifier: MIT */
/*
 * waitq.h: who waits at an address. The objects of the API are single words; their waiters are
 * found here, in a table keyed by the object's address, so that an object can be freed as soon
 * as the word says so.
 *
 * SYNC-1: the last access to an object is the atomic that lets another party proceed; after it
 *         only this table is touched.
 * WAIT-1: a waiter lives on the stack of the one that waits, and is reachable only through its
 *         bucket, whose lock is taken to unlink it before its owner may go on.
 * WAIT-3: who unlinked it writes the result, reads what comes next, and readies last.
 */
#ifndef WF_WAIT_WAITQ_H
#define WF_WAIT_WAITQ_H

#include "sched/park.h"

struct wf_waiter {
	/* const while linked */
	const void *key;
	uint64_t hash;
	struct wf_g *g; /* a goroutine ... */
	struct wf_m *m; /* ... or a plain thread */
	/* under the bucket's lock */
	struct wf_waiter *next;         /* others at the same address, first come first */
	struct wf_waiter *tail;         /* last of them: in the first only */
	struct wf_waiter *left, *right; /* other addresses of the bucket: in the first only */
	int result;
};

/* A search tree over hashes: those are random, so it needs no balancing. */
struct wf_bucket {
	struct wf_lock lock;
	struct wf_waiter *root; /* under lock */
} WF_ALIGNED(WF_CACHE_LINE);

struct wf_bucket *wf_bucket_of(const void *key);

/* The bucket is locked and m's caller has decided to wait for key: sleep until woken; the lock is
   dropped. *m is the M it goes on with. Returns the waker's result. */
int wf_wait_at(struct wf_m **m, struct wf_bucket *b, const void *key, enum wf_reason why);
/* The bucket is locked: unlink everybody who waits for key; a chain for wf_wake_chain. */
struct wf_waiter *wf_waiters_take(struct wf_bucket *b, const void *key);
/* No lock held. */
void wf_wake_chain(struct wf_m *m, struct wf_waiter *w, int result);
/* The end of a run: goroutines are forgotten, plain threads return -ENOTSUP. */
void wf_waitq_flush(void);

#endif
