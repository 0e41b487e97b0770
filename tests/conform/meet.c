/* SPDX-License-Identifier: MIT */
/* meet.c: selects on both sides of three channels; each value goes once, from one to another. */
#include "common.h"

struct gives {
	weft_chan(int) a, b, c;
	int n;
};

static int
gives(struct gives *s)
{
	for (int i = 0; i < s->n; i++)
		weft_select(WEFT_SEND(s->a, i), WEFT_SEND(s->b, i), WEFT_SEND(s->c, i));
	return 0;
}

/* One on each side: what arrives is in order, whichever channel it took. */
static void
two(int n)
{
	struct gives s = {weft_make(int, 0), weft_make(int, 0), weft_make(int, 0), n};
	int wrong = 0, v;

	weft_go(gives, s.a, s.b, s.c, n);
	for (int i = 0; i < n; i++) {
		v = -1;
		weft_select(WEFT_RECV(s.c, &v), WEFT_RECV(s.b, &v), WEFT_RECV(s.a, &v));
		wrong += v != i;
	}
	printf("two: wrong %d\n", wrong);
}

struct giver {
	weft_chan(int) a, b;
	int first, n;
};

static int
giver(struct giver *s)
{
	for (int i = 0; i < s->n; i++)
		if (i % 3 == 0)
			weft_send(s->a, s->first + i);
		else
			weft_select(WEFT_SEND(s->a, s->first + i), WEFT_SEND(s->b, s->first + i));
	return 0;
}

struct taker {
	weft_chan(int) a, b;
	int *seen;
};

static int
taker(struct taker *s)
{
	while (s->a || s->b) {
		int v, ok, which = weft_select(WEFT_RECV(s->a, &v, &ok), WEFT_RECV(s->b, &v, &ok));

		if (ok)
			__atomic_fetch_add(&s->seen[v], 1, __ATOMIC_RELAXED);
		else if (which == 0)
			s->a = NULL;
		else
			s->b = NULL;
	}
	return 0;
}

/* Many on each side, some of them in plain operations: every value arrives once. */
static void
many(int givers, int takers, int each, int capacity)
{
	weft_chan(int) a = weft_make(int, capacity);
	weft_chan(int) b = weft_make(int, 0);
	struct weft_wg giving = {0}, taking = {0};
	int *seen = calloc((size_t)(givers * each), sizeof(*seen)), wrong = 0;

	for (int g = 0; g < givers; g++)
		weft_wg_go(&giving, giver, a, b, g * each, each);
	for (int t = 0; t < takers; t++)
		weft_wg_go(&taking, taker, a, b, seen);
	weft_wg_wait(&giving);
	weft_close(a);
	weft_close(b);
	weft_wg_wait(&taking);
	for (int i = 0; i < givers * each; i++)
		wrong += seen[i] != 1;
	printf("many: %d wrong %d\n", givers * each, wrong);
	free(seen);
	weft_free(a);
	weft_free(b);
}

static int
conform(uint64_t *r)
{
	int givers, takers;

	two(500 + below(r, 1000));
	many(2, 2, 500, 0);
	givers = 1 + below(r, 6);
	takers = 1 + below(r, 6);
	many(givers, takers, 200, below(r, 4));
	return 0;
}
