/* SPDX-License-Identifier: MIT */
/* oncewg.c: what is done once, and wait groups. */
#include "common.h"

static struct weft_once only;
static weft_chan(int) gate;
static int calls, returned, sum, through;

static int
slow(void)
{
	calls++;
	weft_recv(gate, NULL);
	return 7;
}

static int
caller(void)
{
	add(&sum, weft_once(&only, slow));
	add(&returned, 1);
	return 0;
}

/* While the one call runs the others wait; then all have its result. */
static void
once(int n)
{
	struct weft_wg wg = {0};

	gate = weft_make(int, 0);
	for (int i = 0; i < n; i++)
		weft_wg_go(&wg, caller);
	settle(n);
	printf("returned %d ", add(&returned, 0));
	weft_close(gate);
	weft_wg_wait(&wg);
	printf("returned %d sum %d calls %d again %d\n", returned, sum, calls,
	       weft_once(&only, slow));
}

struct waiter {
	struct weft_wg *counted;
};

static int
waiter(struct waiter *a)
{
	weft_wg_wait(a->counted);
	return add(&through, 1);
}

/* All waiters go on at zero, none before. */
static void
waiters(int n, int count)
{
	struct weft_wg counted = {0}, left = {0};

	weft_wg_wait(&counted); /* zero: returns at once */
	weft_wg_add(&counted, count);
	for (int i = 0; i < n; i++)
		weft_wg_go(&left, waiter, &counted);
	settle(n);
	for (int i = 0; i < count - 1; i++)
		weft_wg_done(&counted);
	printf("through %d ", add(&through, 0));
	weft_wg_done(&counted);
	weft_wg_wait(&left);
	printf("through %d\n", through);
}

struct step {
	const int *a, *b;
	int *to;
};

static int
step(struct step *s)
{
	*s->to = (*s->a + 3 * *s->b) % 1009;
	return 0;
}

/* One group, used again and again; each round sees all of the round before. */
static void
rounds(int n, int workers)
{
	int values[2][16];
	struct weft_wg wg = {0};

	for (int i = 0; i < workers; i++)
		values[0][i] = i;
	for (int round = 0; round < n; round++) {
		int *v = values[round % 2], *next = values[(round + 1) % 2];

		for (int i = 0; i < workers; i++)
			weft_wg_go(&wg, step, &v[i], &v[(i + 1) % workers], &next[i]);
		weft_wg_wait(&wg);
	}
	show("rounds", values[n % 2], workers);
}

static int
conform(uint64_t *r)
{
	int n;

	once(2 + below(r, 8));
	n = 1 + below(r, 8);
	waiters(n, 1 + below(r, 5));
	n = 1 + below(r, 20);
	rounds(n, 1 + below(r, 10));
	return 0;
}
