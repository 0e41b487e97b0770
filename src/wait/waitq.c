/* SPDX-License-Identifier: MIT */
/* waitq.c: the address table; see waitq.h. */
#include "wait/waitq.h"

#include <errno.h>

enum { BUCKETS = 256 };

static struct wf_bucket table[BUCKETS] = {
    [0 ... BUCKETS - 1] = {.lock = WF_LOCK_INIT(WF_RANK_WAITQ)},
};

struct wf_bucket *
wf_bucket_of(const void *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);

	return &table[h >> 56];
}

static void
link_waiter(struct wf_bucket *b, struct wf_waiter *w)
{
	wf_assert_held(&b->lock);
	w->next = NULL;
	if (b->tail)
		b->tail->next = w;
	else
		b->head = w;
	b->tail = w;
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
	struct wf_waiter w = {.key = key, .g = (*m)->g, .m = *m};

	link_waiter(b, &w);
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
	struct wf_waiter *taken = NULL, **end = &taken, **at = &b->head, *last = NULL;

	wf_assert_held(&b->lock);
	while (*at) {
		struct wf_waiter *w = *at;

		if (w->key != key) {
			last = w;
			at = &w->next;
			continue;
		}
		*at = w->next;
		w->next = NULL;
		*end = w;
		end = &w->next;
	}
	b->tail = last;
	return taken;
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
wf_waitq_flush(struct wf_m *m)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct wf_waiter *w, *next;

		wf_lock(&table[i].lock);
		w = table[i].head;
		table[i].head = table[i].tail = NULL;
		wf_unlock(&table[i].lock);
		for (; w; w = next) {
			next = w->next;
			if (!w->g)
				wf_plain_wake(w->m, -ENOTSUP);
		}
	}
	(void)m;
}
