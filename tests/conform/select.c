/* SPDX-License-Identifier: MIT */
/* select.c: one case fires, and the others leave nothing behind. */
#include "common.h"

struct twice {
	weft_chan(int) a, b;
	int *which, *value;
};

static int
twice(struct twice *s)
{
	*s->which = weft_select(WEFT_RECV(s->a, s->value), WEFT_RECV(s->a, s->value),
				WEFT_RECV(s->b, s->value));
	return 0;
}

/* A channel twice in one select, woken by another channel: its queue stays whole. */
static void
duplicates(void)
{
	weft_chan(int) a = weft_make(int, 0);
	weft_chan(int) b = weft_make(int, 0);
	struct weft_wg one = {0}, two = {0};
	int which = -1, value = 0, plain = 0, rc, more;

	weft_wg_go(&one, twice, a, b, &which, &value);
	settle(1);
	weft_wg_go(&two, receiver, a, &plain, &rc);
	settle(2);
	weft_send(b, 1);
	weft_wg_wait(&one);
	printf("%s %d\n", which == 2 ? "b" : "a", value);
	weft_send(a, 2);
	weft_wg_wait(&two);
	more = weft_try_send(a, 3);
	printf("plain %d %s %s\n", plain, name(more), name(weft_try_send(b, 4)));
}

struct loser {
	int i;
	weft_chan(int) shared, own, done;
};

static int
loser(struct loser *a)
{
	int which = weft_select(WEFT_RECV(a->shared, NULL), WEFT_RECV(a->own, NULL));

	return weft_send(a->done, which == 0 ? 100 + a->i : a->i);
}

/* Many waiters lose at a channel, one after the other; those behind them still wake. */
static void
losers(int n)
{
	weft_chan(int) shared = weft_make(int, 0);
	weft_chan(int) done = weft_make(int, 0);
	weft_chan(int) own[16];
	int v;

	for (int i = 0; i < n; i++) {
		own[i] = weft_make(int, 0);
		weft_go(loser, i, shared, own[i], done);
		settle(i + 1);
	}
	for (int i = 0; i < n; i++) {
		int k = 2 * i < n ? 2 * i : 2 * (i - (n + 1) / 2) + 1; /* the even ones first */

		weft_send(k % 2 ? shared : own[k], 0);
		weft_recv(done, &v);
		printf("%d ", v);
	}
	printf("%s\n", name(weft_try_send(shared, 0)));
}

struct offer {
	weft_chan(int) ch, never;
	int *rc;
};

static int
offer(struct offer *a)
{
	*a->rc = weft_select(WEFT_SEND(a->ch, 1), WEFT_RECV(a->never, NULL));
	return 0;
}

/* The channel is closed before the select or while it waits. */
static void
closed_send(const char *what, int waiting_first)
{
	weft_chan(int) ch = weft_make(int, 0);
	weft_chan(int) never = weft_make(int, 0);
	struct weft_wg wg = {0};
	int rc = 0;

	if (!waiting_first)
		weft_close(ch);
	weft_wg_go(&wg, offer, ch, never, &rc);
	settle(waiting_first);
	if (waiting_first)
		weft_close(ch);
	weft_wg_wait(&wg);
	printf("%s: %s\n", what, yes(rc == -EPIPE));
}

static int
conform(uint64_t *r)
{
	duplicates();
	losers(2 + below(r, 9));
	closed_send("send case on closed", 0);
	closed_send("closed while it waits", 1);
	return 0;
}
