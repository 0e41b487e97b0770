/* SPDX-License-Identifier: MIT */
/* group.c: children of a group; the first error is the group's, and ends the others. */
#include "common.h"

struct adds {
	int i, *sum;
};

static int
adds(struct adds *a)
{
	add(a->sum, a->i);
	return a->i;
}

static void
success(int n)
{
	int sum = 0, rc = -1;

	weft_group(g, &rc) {
		for (int i = 0; i < n; i++)
			weft_go_in(g, adds, i, &sum);
	}
	printf("success %d %d\n", rc, sum);
}

struct waits {
	weft_chan(int) never;
	int *ended;
};

static int
waits(struct waits *a)
{
	int rc = weft_recv(a->never, NULL);

	add(a->ended, 1);
	return rc;
}

struct nest {
	weft_chan(int) never;
	int n, busy, *ended;
};

static int
nest(struct nest *a)
{
	int rc = 0, ended = 0;

	weft_group(inner, &rc) {
		for (int i = 0; i < a->n; i++)
			weft_go_in(inner, waits, a->never, &ended);
		while (a->busy && add(&ended, 0) < a->n)
			weft_yield();
	}
	add(a->ended, ended);
	return rc;
}

struct fails {
	weft_chan(int) now;
};

static int
fails(struct fails *a)
{
	weft_recv(a->now, NULL);
	return -5;
}

/* One fails while the others wait, some of them in groups of their own: the body of one of these
   waits for its children's end, that of the other does not wait at all. */
static void
failure(int n, int nested)
{
	weft_chan(int) never = weft_make(int, 0);
	weft_chan(int) now = weft_make(int, 0);
	int ended = 0, rc = 0;

	weft_group(g, &rc) {
		for (int i = 0; i < n; i++)
			weft_go_in(g, waits, never, &ended);
		weft_go_in(g, nest, never, nested, 0, &ended);
		weft_go_in(g, nest, never, nested, 1, &ended);
		weft_go_in(g, fails, now);
		settle(n + 2 * nested + 2);
		weft_send(now, 0);
		printf("body %s ", yes(weft_recv(never, NULL) == -ECANCELED));
	}
	printf("failure %d %d\n", rc, ended);
}

static int
conform(uint64_t *r)
{
	int n;

	success(1 + below(r, 20));
	n = 1 + below(r, 6);
	failure(n, 1 + below(r, 6));
	return 0;
}
