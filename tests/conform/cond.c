/* SPDX-License-Identifier: MIT */
/* cond.c: a signal wakes the one that has waited longest, a broadcast all that wait. */
#include "common.h"

struct waiter {
	struct weft_mutex *m;
	struct weft_cond *c;
	weft_chan(int) woken;
	int i;
};

static int
waiter(struct waiter *a)
{
	weft_lock(a->m);
	weft_wait(a->c, a->m);
	printf("%s ", yes(!weft_try_lock(a->m))); /* it is locked, by us */
	weft_unlock(a->m);
	return weft_send(a->woken, a->i);
}

static void
signals(int n, int one)
{
	struct weft_mutex m = {0};
	struct weft_cond c = {0};
	weft_chan(int) woken = weft_make(int, n);
	int sum = 0, v;

	weft_signal(&c); /* nobody waits: it is not kept */
	for (int i = 0; i < n; i++) {
		weft_go(waiter, &m, &c, woken, i);
		settle(i + 1);
	}
	for (int i = 0; i < one; i++) {
		weft_lock(&m);
		weft_signal(&c);
		weft_unlock(&m);
		weft_recv(woken, &v);
		printf("%d ", v);
	}
	weft_broadcast(&c);
	for (int i = one; i < n && weft_recv(woken, &v) > 0; i++)
		sum += v;
	printf("rest %d %zu\n", sum, weft_len(woken));
}

/* A queue with two conditions, by the book. */
struct queue {
	struct weft_mutex m;
	struct weft_cond room, filled;
	int items[16], head, tail, capacity, most;
};

struct producer {
	struct queue *q;
	int first, n;
};

static int
producer(struct producer *a)
{
	struct queue *q = a->q;

	for (int i = 0; i < a->n; i++) {
		weft_lock(&q->m);
		while (q->tail - q->head == q->capacity)
			weft_wait(&q->room, &q->m);
		q->items[q->tail++ % 16] = a->first + i;
		if (q->tail - q->head > q->most)
			q->most = q->tail - q->head;
		weft_signal(&q->filled);
		weft_unlock(&q->m);
	}
	return 0;
}

struct consumer {
	struct queue *q;
	int n, *sum;
};

static int
consumer(struct consumer *a)
{
	struct queue *q = a->q;

	for (int i = 0; i < a->n; i++) {
		weft_lock(&q->m);
		while (q->tail == q->head)
			weft_wait(&q->filled, &q->m);
		*a->sum += q->items[q->head++ % 16]; /* guarded by the same mutex */
		weft_signal(&q->room);
		weft_unlock(&q->m);
	}
	return 0;
}

static int
conform(uint64_t *r)
{
	int n = 3 + below(r, 8), producers, consumers, each, sum = 0;
	struct queue q = {0};
	struct weft_wg wg = {0};

	signals(n, below(r, n));
	producers = 1 + below(r, 4);
	consumers = 1 + below(r, 4);
	q.capacity = 1 + below(r, 8);
	each = 60 * consumers;
	for (int i = 0; i < producers; i++)
		weft_wg_go(&wg, producer, &q, i * each, each);
	for (int i = 0; i < consumers; i++)
		weft_wg_go(&wg, consumer, &q, each * producers / consumers, &sum);
	weft_wg_wait(&wg);
	printf("sum %d left %d %s\n", sum, q.tail - q.head, yes(q.most <= q.capacity));
	return 0;
}
