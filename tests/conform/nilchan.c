/* SPDX-License-Identifier: MIT */
/* nilchan.c: a NULL channel is never ready, so a case can be switched off. */
#include "common.h"

static weft_chan(int) off;

static void
ready(void)
{
	weft_chan(int) on = weft_make(int, 1);
	int wrong = 0, v = 0;

	printf("try %s\n", name(weft_try_send(off, 1)));
	printf("try %s %zu %zu\n", name(weft_try_recv(off, &v)), weft_len(off), weft_cap(off));
	for (int i = 0; i < 200; i++) {
		weft_send(on, i);
		wrong += weft_select(WEFT_RECV(off, &v), WEFT_SEND(off, 1), WEFT_RECV(on, &v)) != 2;
		wrong += v != i;
	}
	wrong += weft_select(WEFT_RECV(off, &v), WEFT_DEFAULT) != 1;
	printf("wrong %d\n", wrong);
	weft_free(on);
}

struct waiter {
	weft_chan(int) on, done;
};

static int
waiter(struct waiter *a)
{
	int v = -1,
	    which = weft_select(WEFT_RECV(off, &v), WEFT_SEND(off, 1), WEFT_RECV(a->on, &v));

	return weft_send(a->done, which == 2 ? v : -1 - which);
}

/* One that waits at a NULL channel and at another is woken by the other. */
static void
wakes(void)
{
	weft_chan(int) on = weft_make(int, 0);
	weft_chan(int) done = weft_make(int, 0);
	int v = -1;

	weft_go(waiter, on, done);
	settle(1);
	weft_send(on, 42);
	weft_recv(done, &v);
	printf("woken by %d\n", v);
}

struct source {
	weft_chan(int) ch;
	int n, step;
};

static int
source(struct source *a)
{
	for (int i = 0; i < a->n; i++)
		weft_send(a->ch, i * a->step);
	return weft_close(a->ch);
}

/* A source that has ended is switched off: its closed channel would be ready for ever. */
static void
merge(const int n[3])
{
	weft_chan(int) ch[3];
	int v[3], ok[3], sum = 0, counts[3] = {0};

	for (int i = 0; i < 3; i++) {
		ch[i] = weft_make(int, i + 1);
		weft_go(source, ch[i], n[i], i + 1);
	}
	while (ch[0] || ch[1] || ch[2]) {
		int i =
		    weft_select(WEFT_RECV(ch[0], &v[0], &ok[0]), WEFT_RECV(ch[1], &v[1], &ok[1]),
				WEFT_RECV(ch[2], &v[2], &ok[2]));

		if (ok[i]) {
			sum += v[i];
			counts[i]++;
		} else {
			weft_free(ch[i]);
			ch[i] = NULL;
		}
	}
	printf("merged %d %d %d sum %d\n", counts[0], counts[1], counts[2], sum);
}

static int
conform(uint64_t *r)
{
	int n[3];

	ready();
	wakes();
	for (int i = 0; i < 3; i++)
		n[i] = below(r, 300);
	merge(n);
	return 0;
}
