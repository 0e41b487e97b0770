/* SPDX-License-Identifier: MIT */
/* close.c: what closing does to values, to those who wait and to those who come later. */
#include "common.h"

static void
drained(uint64_t *r)
{
	int capacity = 1 + below(r, 8), v, ok, rc;
	weft_chan(int) ch = weft_make(int, capacity);

	for (int i = 0, n = below(r, capacity + 1); i < n; i++)
		printf("send %s\n", name(weft_send(ch, 100 + i)));
	printf("close %s\n", name(weft_close(ch)));
	printf("again %s\n", name(weft_close(ch)));
	printf("send %s\n", name(weft_send(ch, 1)));
	printf("try send %s\n", name(weft_try_send(ch, 1)));
	printf("len %zu cap %zu\n", weft_len(ch), weft_cap(ch));
	do {
		ok = weft_recv(ch, &v);
		printf("recv %d %s\n", v, yes(ok));
	} while (ok);
	rc = weft_try_recv(ch, &v);
	printf("try recv %d %s len %zu\n", v, name(rc), weft_len(ch));
	weft_free(ch);
}

static void
receivers_wake(int n)
{
	weft_chan(int) ch = weft_make(int, 0);
	struct weft_wg wg = {0};
	int v[8], ok[8];

	for (int i = 0; i < n; i++) {
		v[i] = -1;
		weft_wg_go(&wg, receiver, ch, &v[i], &ok[i]);
	}
	settle(n);
	weft_close(ch);
	weft_wg_wait(&wg);
	printf("receivers");
	for (int i = 0; i < n; i++)
		printf(" %d", v[i] + (ok[i] ? 0 : 10));
	printf("\n");
	weft_free(ch);
}

/* Values in the buffer stay; those that waited for room are refused. */
static void
senders_wake(int capacity, int n)
{
	weft_chan(int) ch = weft_make(int, capacity);
	struct weft_wg wg = {0};
	int got[8], v;

	for (int i = 0; i < capacity; i++)
		weft_send(ch, i);
	for (int i = 0; i < n; i++)
		weft_wg_go(&wg, sender, ch, 50 + i, &got[i]);
	settle(n);
	weft_close(ch);
	weft_wg_wait(&wg);
	for (int i = 0; i < n; i++)
		printf("sender %d %s\n", i, name(got[i]));
	while (weft_recv(ch, &v) > 0)
		printf("left %d\n", v);
	weft_free(ch);
}

struct selects {
	weft_chan(int) a, b, c, done;
};

static int
selects(struct selects *s)
{
	int v, ok = -1;
	int which = weft_select(WEFT_RECV(s->a, &v), WEFT_RECV(s->b, &v, &ok), WEFT_SEND(s->c, 1));

	return weft_send(s->done, which == 1 && ok ? -1 : which);
}

static void
select_wakes(void)
{
	struct selects s = {weft_make(int, 0), weft_make(int, 0), weft_make(int, 0),
			    weft_make(int, 0)};
	int which = -1;

	weft_go(selects, s.a, s.b, s.c, s.done);
	settle(1);
	weft_close(s.b);
	weft_recv(s.done, &which);
	printf("select %d\n", which);
	printf("loser %s %s\n", name(weft_try_recv(s.c, NULL)), name(weft_try_send(s.a, 1)));
}

static int
conform(uint64_t *r)
{
	int capacity;

	drained(r);
	receivers_wake(1 + below(r, 6));
	senders_wake(0, 1 + below(r, 4));
	capacity = 1 + below(r, 4);
	senders_wake(capacity, 1 + below(r, 4));
	select_wakes();
	return 0;
}
