/* SPDX-License-Identifier: MIT */
/* limit.c: a group with a limit: starting one more child waits for a place. */
#include "common.h"

struct limits {
	weft_chan(int) gate;
	int *in, *total;
};

static int
limits(struct limits *a)
{
	add(a->in, 1);
	weft_recv(a->gate, NULL);
	add(a->in, -1);
	add(a->total, 1);
	return 0;
}

struct opens {
	weft_chan(int) gate, full;
	int *in, limit;
};

static int
opens(struct opens *a)
{
	settle(a->limit + 1);
	weft_send(a->full, add(a->in, 0));
	return weft_close(a->gate);
}

/* Exactly limit children are inside when the next one has to wait. */
static void
limited(int limit, int n)
{
	weft_chan(int) gate = weft_make(int, 0);
	weft_chan(int) full = weft_make(int, 1);
	int in = 0, total = 0, most = 0, rc = -1;

	weft_go(opens, gate, full, &in, limit);
	weft_group(g, &rc) {
		weft_group_limit(g, limit);
		for (int i = 0; i < n; i++)
			weft_go_in(g, limits, gate, &in, &total);
	}
	weft_recv(full, &most);
	printf("limited %d %d %d\n", rc, most, total);
}

struct busy {
	int i, limit;
	int *in, *wrong, *sum;
};

static int
busy(struct busy *a)
{
	if (add(a->in, 1) > a->limit)
		add(a->wrong, 1);
	for (int k = 0; k < a->i % 5; k++)
		weft_yield();
	add(a->sum, a->i);
	add(a->in, -1);
	return 0;
}

/* However they come and go, there are never more. */
static void
never(int limit, int n)
{
	int in = 0, wrong = 0, sum = 0, rc = -1;

	weft_group(g, &rc) {
		weft_group_limit(g, limit);
		for (int i = 0; i < n; i++)
			weft_go_in(g, busy, i, limit, &in, &wrong, &sum);
	}
	printf("never %d %d %d\n", rc, wrong, sum);
}

static int
conform(uint64_t *r)
{
	int limit = 1 + below(r, 4);

	limited(limit, limit + 1 + below(r, 8));
	never(1 + below(r, 6), 300);
	return 0;
}
