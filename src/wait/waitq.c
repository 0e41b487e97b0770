/* SPDX-License-Identifier: MIT */
/* waitq.c: the address table; see waitq.h. */
#include "wait/waitq.h"

#include <errno.h>

enum { BUCKETS = 256 };

static struct wf_bucket table[BUCKETS] = {
    [0 ... BUCKETS - 1] = {.lock = WF_LOCK_INIT(WF_RANK_WAITQ)},
};

static uint64_t
hash_of(const void *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key;

	h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}

struct wf_bucket *
wf_bucket_of(const void *key)
{
	return &table[hash_of(key) % BUCKETS];
}

/* Where the first waiter with this hash stands, or would stand. Hashes of different addresses
   differ: the mixing is a bijection. */
static struct wf_waiter **
place_of(struct wf_bucket *b, uint64_t hash)
{
	struct wf_waiter **at = &b->root;

	wf_assert_held(&b->lock);
	while (*at && (*at)->hash != hash)
		at = hash < (*at)->hash ? &(*at)->left : &(*at)->right;
	return at;
}

static void
link_waiter(struct wf_bucket *b, struct wf_waiter *w)
{
	struct wf_waiter **at = place_of(b, w->hash);

	if (*at) {
		(*at)->tail->next = w;
		(*at)->tail = w;
	} else {
		w->tail = w;
		*at = w;
	}
}

/* Take the node out of the tree; the rest of its chain goes with it. */
static void
unlink_node(struct wf_waiter **at)
{
	struct wf_waiter *w = *at, **least, *next;

	if (!w->left || !w->right) {
		*at = w->left ? w->left : w->right;
		return;
	}
	for (least = &w->right; (*least)->left; least = &(*least)->left)
		;
	next = *least;
	*least = next->right;
	next->left = w->left;
	next->right = w->right;
	*at = next;
}

/* Runs when the goroutine's context is saved: PARK-1. */
static bool
unlock_bucket(struct wf_g *g, void *bucket)
{
	(void)g;
	wf_unlock(&((struct wf_bucket *)bucket)->lock);
	return true;
}

int
wf_wait_at(struct wf_m **m, struct wf_bucket *b, const void *key, enum wf_reason why)
{
	struct wf_waiter w = {.key = key, .hash = hash_of(key), .g = (*m)->g, .m = *m};

	link_waiter(b, &w); /* WAIT-1 */
	if ((*m)->plain) {
		wf_unlock(&b->lock);
		return wf_plain_wait(*m);
	}
	*m = wf_park(*m, unlock_bucket, b, why, key);
	return w.result;
}

struct wf_waiter *
wf_waiters_take(struct wf_bucket *b, const void *key)
{
	struct wf_waiter **at = place_of(b, hash_of(key)), *w = *at;

	if (w)
		unlink_node(at);
	return w;
}

void
wf_wake_chain(struct wf_m *m, struct wf_waiter *w, int result)
{
	while (w) {
		struct wf_waiter *next = w->next; /* WAIT-3: gone once readied */
		struct wf_m *plain = w->m;

		w->result = result;
		if (w->g)
			wf_ready(m, w->g);
		else
			wf_plain_wake(plain, result);
		w = next;
	}
}

void
wf_waitq_flush(void)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct wf_waiter *w, *next;

		wf_lock(&table[i].lock);
		while (table[i].root) {
			w = table[i].root;
			unlink_node(&table[i].root);
			for (; w; w = next) {
				next = w->next;
				if (!w->g)
					wf_plain_wake(w->m, -ENOTSUP);
			}
		}
		wf_unlock(&table[i].lock);
	}
}
