/* SPDX-License-Identifier: MIT */
/* rwmutex.c: readers together, a writer alone, and a writer that waits holds back new readers. */
#include "common.h"

static void
tries(void)
{
	struct weft_rwmutex m = {0};
	int a = weft_try_rlock(&m), b = weft_try_rlock(&m), c = weft_try_wlock(&m), d, e;

	weft_runlock(&m);
	weft_runlock(&m);
	d = weft_try_wlock(&m);
	e = weft_try_rlock(&m);
	printf("%s %s %s %s %s\n", yes(a), yes(b), yes(c), yes(d), yes(e));
	weft_wunlock(&m);
}

struct enters {
	struct weft_rwmutex *m;
	int writes;
	weft_chan(int) gate;
	int *in;
};

static int
enters(struct enters *a)
{
	if (a->writes)
		weft_wlock(a->m);
	else
		weft_rlock(a->m);
	__atomic_fetch_add(a->in, 1, __ATOMIC_RELAXED);
	weft_recv(a->gate, NULL);
	__atomic_fetch_sub(a->in, 1, __ATOMIC_RELAXED);
	if (a->writes)
		weft_wunlock(a->m);
	else
		weft_runlock(a->m);
	return 0;
}

/* In this order arrive: a writer, n readers, a writer. The first reader is here already. */
static void
waves(int n)
{
	const int waiters[3] = {n + 2, n + 1, 1};
	weft_chan(int) gates[3] = {weft_make(int, 0), weft_make(int, 0), weft_make(int, 0)};
	struct weft_rwmutex m = {0};
	struct weft_wg wave[3] = {{0}};
	int in = 0;

	weft_rlock(&m);
	weft_wg_go(&wave[0], enters, &m, 1, gates[0], &in);
	settle(1);
	printf("new reader %s ", yes(weft_try_rlock(&m)));
	for (int i = 0; i < n; i++)
		weft_wg_go(&wave[1], enters, &m, 0, gates[1], &in);
	settle(1 + n);
	weft_wg_go(&wave[2], enters, &m, 1, gates[2], &in);
	settle(2 + n);
	printf("inside %d ", __atomic_load_n(&in, __ATOMIC_RELAXED));
	weft_runlock(&m);
	for (int gate = 0; gate < 3; gate++) {
		settle(waiters[gate]);
		printf("%d ", __atomic_load_n(&in, __ATOMIC_RELAXED));
		weft_close(gates[gate]);
		weft_wg_wait(&wave[gate]);
	}
	printf("%d %s\n", in, yes(weft_try_wlock(&m)));
}

struct hammers {
	struct weft_rwmutex *m;
	int writes, each;
	int *a, *b, *torn;
};

static int
hammers(struct hammers *h)
{
	for (int i = 0; i < h->each; i++) {
		if (h->writes) {
			weft_wlock(h->m);
			++*h->a;
			++*h->b;
			weft_wunlock(h->m);
		} else {
			weft_rlock(h->m);
			if (*h->a != *h->b)
				__atomic_fetch_add(h->torn, 1, __ATOMIC_RELAXED);
			weft_runlock(h->m);
		}
	}
	return 0;
}

/* Writers keep two numbers equal; readers look at both. */
static void
hammer(int readers, int writers, int each)
{
	struct weft_rwmutex m = {0};
	struct weft_wg wg = {0};
	int a = 0, b = 0, torn = 0;

	for (int i = 0; i < readers + writers; i++)
		weft_wg_go(&wg, hammers, &m, i >= readers, each, &a, &b, &torn);
	weft_wg_wait(&wg);
	printf("hammer %d %d torn %d\n", a, b, torn);
}

static int
conform(uint64_t *r)
{
	tries();
	waves(1 + below(r, 6));
	hammer(1 + below(r, 6), 2, 500);
	return 0;
}
