/* SPDX-License-Identifier: MIT */
/* fifo.c: those who wait at a channel are served in the order in which they came. */
#include "common.h"

static void
senders(int capacity, int n)
{
	weft_chan(int) ch = weft_make(int, capacity);
	struct weft_wg wg = {0};
	int rc[16], v;

	for (int i = 0; i < capacity; i++)
		weft_send(ch, -1 - i);
	for (int i = 0; i < n; i++) {
		weft_wg_go(&wg, sender, ch, i, &rc[i]);
		settle(i + 1);
	}
	printf("senders");
	for (int i = 0; i < capacity + n; i++) {
		weft_recv(ch, &v);
		printf(" %d", v);
	}
	printf("\n");
	weft_wg_wait(&wg);
	weft_free(ch);
}

struct choosy { /* waits at two channels; nobody ever sends on the first */
	weft_chan(int) never, ch;
	int *value;
};

static int
choosy(struct choosy *a)
{
	return weft_select(WEFT_RECV(a->never, a->value), WEFT_RECV(a->ch, a->value));
}

/* With r, a random half of them wait in a select: they stand in the same queue as the others. */
static void
receivers(const char *what, uint64_t *r, int n, int first)
{
	weft_chan(int) ch = weft_make(int, 0);
	weft_chan(int) never = weft_make(int, 0);
	struct weft_wg wg = {0};
	int got[16], rc[16];

	for (int i = 0; i < n; i++) {
		if (r && below(r, 2) == 0)
			weft_wg_go(&wg, choosy, never, ch, &got[i]);
		else
			weft_wg_go(&wg, receiver, ch, &got[i], &rc[i]);
		settle(i + 1);
	}
	for (int i = 0; i < n; i++)
		weft_send(ch, first + i);
	weft_wg_wait(&wg);
	show(what, got, n);
	weft_free(ch);
	weft_free(never);
}

struct relay {
	weft_chan(int) in, out;
};

static int
relay(struct relay *a)
{
	int v = -1;

	weft_recv(a->in, &v);
	return weft_send(a->out, v + 1);
}

/* Each relay waits for the one before it and passes on one more. */
static void
chain(int n)
{
	weft_chan(int) first = weft_make(int, 0);
	weft_chan(int) in = first;
	int v = -1;

	for (int i = 0; i < n; i++) {
		weft_chan(int) out = weft_make(int, 0);

		weft_go(relay, in, out);
		in = out;
	}
	weft_send(first, 0);
	weft_recv(in, &v);
	printf("chain %d\n", v);
}

static int
conform(uint64_t *r)
{
	int capacity;

	senders(0, 2 + below(r, 10));
	capacity = 1 + below(r, 5);
	senders(capacity, 2 + below(r, 10));
	receivers("receivers", NULL, 2 + below(r, 10), 100);
	receivers("mixed", r, 8, 200);
	chain(100 + below(r, 900));
	return 0;
}
