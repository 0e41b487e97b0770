/* SPDX-License-Identifier: MIT */
/* semaphore.c: a counted semaphore; who asks for much is not passed by those who ask for less. */
#include "common.h"

struct asks {
	struct weft_sem *s;
	int i, want, *in;
	weft_chan(int) gate;
};

static int
asks(struct asks *a)
{
	weft_acquire(a->s, a->want);
	add(a->in, 1 << a->i);
	return weft_recv(a->gate, NULL);
}

/* Who is inside after each release; those inside stay there. */
static void
order(uint64_t *r, int n)
{
	struct weft_sem s = {0};
	weft_chan(int) gate = weft_make(int, 0);
	struct weft_wg wg = {0};
	int in = 0, total = 0;

	for (int i = 0; i < n; i++) {
		int want = 1 + below(r, 4);

		total += want;
		weft_wg_go(&wg, asks, &s, i, want, &in, gate);
		settle(i + 1);
	}
	for (int i = 0; i <= total; i++) {
		weft_release(&s, 1);
		settle(n);
		printf("%d%s ", add(&in, 0), yes(weft_try_acquire(&s, 1)));
	}
	printf("\n");
	weft_close(gate);
	weft_wg_wait(&wg);
}

struct worker {
	struct weft_sem *s;
	int w, permits;
	int *inside, *wrong, *total;
};

static int
worker(struct worker *a)
{
	for (int i = 0; i < 200; i++) {
		int n = 1 + (a->w + i) % a->permits;

		weft_acquire(a->s, n);
		if (add(a->inside, n) > a->permits)
			add(a->wrong, 1);
		weft_yield();
		add(a->total, n);
		add(a->inside, -n);
		weft_release(a->s, n);
	}
	return 0;
}

static void
limits(int permits, int workers)
{
	struct weft_sem s;
	struct weft_wg wg = {0};
	int inside = 0, wrong = 0, total = 0, all;

	weft_sem_init(&s, permits);
	for (int w = 0; w < workers; w++)
		weft_wg_go(&wg, worker, &s, w, permits, &inside, &wrong, &total);
	weft_wg_wait(&wg);
	all = weft_try_acquire(&s, permits);
	printf("total %d wrong %d %s %s\n", total, wrong, yes(all), yes(weft_try_acquire(&s, 1)));
}

static int
conform(uint64_t *r)
{
	int permits;

	order(r, 2 + below(r, 6));
	permits = 1 + below(r, 6);
	limits(permits, 1 + below(r, 8));
	return 0;
}
