/* SPDX-License-Identifier: MIT */
/* random.c: random networks of stages; what comes out depends on the seed alone. */
#include "common.h"

static weft_chan(int) spare; /* never used */

struct stage {
	weft_chan(int) in, out;
	int workers, style;
	struct weft_wg wg;
};

static int
step(int v, int style)
{
	return (v * (style + 3) + 1) % 1000003;
}

struct worker {
	struct stage *s;
};

/* One worker of a stage; the style decides how it waits. */
static int
worker(struct worker *a)
{
	struct stage *s = a->s;

	for (int v, ok;;) {
		switch (s->style) {
		case 0:
			ok = weft_recv(s->in, &v);
			break;
		case 1: /* the same channel twice, and one that is never used */
			weft_select(WEFT_RECV(s->in, &v, &ok), WEFT_RECV(s->in, &v, &ok),
				    WEFT_RECV(spare, NULL));
			break;
		default: /* without waiting, as long as it goes */
			ok = weft_try_recv(s->in, &v);
			if (ok == -EAGAIN) {
				weft_yield();
				ok = weft_recv(s->in, &v);
			}
		}
		if (!ok)
			return 0;
		if (v % 5 == 0)
			weft_yield();
		v = step(v, s->style);
		if (s->style == 1)
			weft_select(WEFT_SEND(s->out, v), WEFT_RECV(spare, NULL));
		else
			weft_send(s->out, v);
	}
}

struct closer {
	struct stage *s;
};

static int
closer(struct closer *a)
{
	weft_wg_wait(&a->s->wg);
	return weft_close(a->s->out);
}

struct source {
	weft_chan(int) out;
	int items;
};

static int
source(struct source *a)
{
	for (int i = 0; i < a->items; i++)
		weft_send(a->out, i);
	return weft_close(a->out);
}

static void
network(uint64_t *r)
{
	int stages = 1 + below(r, 6), items = 100 + below(r, 400), count = 0, xor = 0, v;
	struct stage line[6] = {{0}};
	weft_chan(int) first = weft_make(int, below(r, 5));
	weft_chan(int) in = first;
	long long sum = 0;

	for (int i = 0; i < stages; i++) {
		struct stage *s = &line[i];

		s->in = in;
		s->workers = 1 + below(r, 4);
		s->style = below(r, 3);
		s->out = weft_make(int, below(r, 5));
		for (int w = 0; w < s->workers; w++)
			weft_wg_go(&s->wg, worker, s);
		weft_go(closer, s);
		in = s->out;
	}
	weft_go(source, first, items);
	for (; weft_recv(in, &v) > 0; count++) {
		sum += v;
		xor ^= v;
	}
	printf("%d %d %d %lld %d\n", stages, items, count, sum, xor);
}

static int
conform(uint64_t *r)
{
	spare = weft_make(int, 0);
	for (int i = 0; i < 8; i++)
		network(r);
	return 0;
}
