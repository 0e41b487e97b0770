/* SPDX-License-Identifier: MIT */
/* waitq.c: the address table; see waitq.h. */
#include "wait/waitq.h"

#include <errno.h>

#ifdef WF_TINY
enum { BUCKETS = 2 }; /* so that addresses meet */
#else
enum { BUCKETS = 256 };
#endif

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

/* Of each of its lines: the object itself. */
static const void *
object_of(const void *key)
{
	return (const void *)((uintptr_t)key & ~(uintptr_t)7);
}

struct wf_bucket *
wf_bucket_of(const void *key)
{
	return &table[hash_of(object_of(key)) % BUCKETS];
}

static struct wf_at *
at_of(struct wf_waiter *w)
{
	return container_of(w, struct wf_at, w);
}

/* Where the first waiter with this hash stands, or would stand. Hashes of different addresses
   differ: the mixing is a bijection. */
static struct wf_at **
place_of(struct wf_bucket *b, uint64_t hash)
{
	struct wf_at **at = &b->root;

	wf_assert_held(&b->lock);
	while (*at && (*at)->hash != hash)
		at = hash < (*at)->hash ? &(*at)->left : &(*at)->right;
	return at;
}

/* a stands for the address, in place of the one that did. */
static void
stand_for(struct wf_at **at, struct wf_at *a)
{
	struct wf_at *first = *at;

	a->count = first->count;
	a->last = first->last;
	a->left = first->left;
	a->right = first->right;
	*at = a;
}

static void
link_at(struct wf_bucket *b, struct wf_at *a, bool head)
{
	struct wf_at **at = place_of(b, a->hash), *first = *at;

	at_store_rlx(&a->w.linked, 1); /* rlx: under the lock, as all of them here */
	a->w.next = a->w.prev = NULL;
	if (!first) {
		a->count = 0;
		a->last = a;
		a->left = a->right = NULL;
		*at = a;
	} else if (head) {
		a->w.next = &first->w;
		first->w.prev = &a->w;
		stand_for(at, a);
	} else {
		a->w.prev = &first->last->w;
		first->last->w.next = &a->w;
		first->last = a;
	}
	(*at)->count++;
}

/* Take the node out of the tree; the rest of its line goes with it. */
static void
unlink_node(struct wf_at **at)
{
	struct wf_at *a = *at, **least, *next;

	if (!a->left || !a->right) {
		*at = a->left ? a->left : a->right;
		return;
	}
	for (least = &a->right; (*least)->left; least = &(*least)->left)
		;
	next = *least;
	*least = next->right;
	next->left = a->left;
	next->right = a->right;
	*at = next;
}

/* a leaves its line, whose first stands at *at. */
static void
unlink_at(struct wf_at **at, struct wf_at *a)
{
	struct wf_at *first = *at, *next = a->w.next ? at_of(a->w.next) : NULL;

	first->count--;
	if (next)
		next->w.prev = a->w.prev;
	if (a != first) {
		a->w.prev->next = a->w.next;
		if (!next)
			first->last = at_of(a->w.prev);
	} else if (next) {
		stand_for(at, next);
	} else {
		unlink_node(at);
	}
	at_store_rlx(&a->w.linked, 0); /* rlx: as above */
}

struct wf_at *
wf_at_first(struct wf_bucket *b, const void *key)
{
	return *place_of(b, hash_of(key));
}

uint32_t
wf_at_count(struct wf_bucket *b, const void *key)
{
	struct wf_at *first = wf_at_first(b, key);

	return first ? first->count : 0;
}

bool
wf_at_take(struct wf_bucket *b, struct wf_at *a)
{
	unlink_at(place_of(b, a->hash), a);
	return wf_waiter_won(a->w.g, a->w.number);
}

struct wf_at *
wf_at_pop(struct wf_bucket *b, const void *key)
{
	struct wf_at **at = place_of(b, hash_of(key)), *a;

	while ((a = *at) && a->hash == hash_of(key)) {
		unlink_at(at, a);
		if (wf_waiter_won(a->w.g, a->w.number))
			return a;
	}
	return NULL;
}

struct wf_at *
wf_at_pop_all(struct wf_bucket *b, const void *key)
{
	struct wf_at_list all = {0};
	struct wf_at *a;

	while ((a = wf_at_pop(b, key)))
		wf_at_list_push(&all, a);
	return all.first;
}

/* Runs when the sleeper's context is saved: PARK-1. */
static void
commit(struct wf_g *g, void *arg)
{
	struct wf_at *a = arg;
	uint32_t number = a->w.number;
	struct wf_bucket *b = a->bucket;
	bool ends = wf_wait_open(g, number);

	wf_unlock(&b->lock); /* from here on a and g may be gone */
	if (unlikely(ends))
		wf_wait_end(g, number);
}

void
wf_at_link(struct wf_m *m, struct wf_bucket *b, const void *key, struct wf_at *a, bool first)
{
	wf_waiter_init(&a->w, wf_me(m), 0);
	a->hash = hash_of(key);
	a->key = key;
	a->bucket = b;
	a->awake = true;
	link_at(b, a, first); /* WAIT-1 */
}

int
wf_at_sleep(struct wf_m **m, struct wf_at *a, enum wf_reason why, bool scoped)
{
	struct wf_bucket *b = a->bucket;
	struct wf_g *g = a->w.g;
	int verdict;

	wf_assert_held(&b->lock);
	a->awake = false;
	for (;;) {
		a->w.number = scoped && wf_scoped(g) ? wf_claim_next(g, true) : 0;
		*m = wf_park(*m, commit, a, why, object_of(a->key));
		if (likely(a->w.result != WF_PENDING))
			return a->w.result;
		/* Woken by a scope, perhaps by one that does not concern this wait. Then it keeps
		   its place; but a waker that found it claimed has taken it from the line, and
		   may have told its object that nobody waits: to link it again would lose a
		   wake-up. */
		verdict = wf_scope_verdict(g);
		wf_lock(&b->lock);
		if (verdict < 0 || !at_load_rlx(&a->w.linked)) /* rlx: under the lock */
			break;
	}
	if (at_load_rlx(&a->w.linked)) /* rlx: as above */
		unlink_at(place_of(b, a->hash), a);
	wf_unlock(&b->lock);
	return verdict;
}

int
wf_wait_at(struct wf_m **m, struct wf_bucket *b, const void *key, struct wf_at *a,
	   enum wf_reason why, bool scoped)
{
	wf_at_link(*m, b, key, a, false);
	return wf_at_sleep(m, a, why, scoped);
}

void
wf_at_wake(struct wf_m *m, struct wf_at *a, int result)
{
	a->w.result = result;
	wf_ready(m, a->w.g); /* WAIT-3: a is gone */
}

void
wf_at_wake_all(struct wf_m *m, struct wf_at *a, int result)
{
	while (a) {
		struct wf_at *next = a->w.next ? at_of(a->w.next) : NULL; /* WAIT-3 */

		wf_at_wake(m, a, result);
		a = next;
	}
}

/* Nobody runs; who is still linked waits, or was cancelled and has not run since. */
void
wf_waitq_flush(struct wf_m *m)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct wf_at *a;

		wf_lock(&table[i].lock);
		while ((a = table[i].root)) {
			unlink_at(&table[i].root, a);
			if ((a->w.g->flags & WF_G_THREAD) && wf_waiter_won(a->w.g, a->w.number))
				wf_at_wake(m, a, -ENOTSUP);
		}
		wf_unlock(&table[i].lock);
	}
}
