/* SPDX-License-Identifier: MIT */
/* fairness.c: among ready cases each has the same chance, and default has none. */
#include "common.h"

enum { DRAWS = 4000 };

static void
verdict(const char *what, const int *counts, int n)
{
	int fair = 1;

	for (int i = 0; i < n; i++)
		fair &= counts[i] >= DRAWS / n * 3 / 4 && counts[i] <= DRAWS / n * 5 / 4;
	printf("%s %s", what, fair ? "fair" : "unfair [");
	for (int i = 0; i < n && !fair; i++)
		printf("%d%s", counts[i], i < n - 1 ? " " : "]");
	printf("\n");
}

static void
receives(void)
{
	weft_chan(int) ch[3];
	int counts[3] = {0}, v;

	for (int i = 0; i < 3; i++)
		weft_close(ch[i] = weft_make(int, 0));
	for (int i = 0; i < DRAWS; i++)
		counts[weft_select(WEFT_RECV(ch[0], &v), WEFT_RECV(ch[1], &v),
				   WEFT_RECV(ch[2], &v))]++;
	verdict("receives", counts, 3);
}

/* Which of two values goes into the same channel. */
static void
sends_same(void)
{
	weft_chan(int) ch = weft_make(int, DRAWS);
	int counts[2] = {0}, v;

	for (int i = 0; i < DRAWS; i++) {
		weft_select(WEFT_SEND(ch, 0), WEFT_SEND(ch, 1));
		weft_recv(ch, &v);
		counts[v]++;
	}
	verdict("sends on one channel", counts, 2);
}

static void
mixed(void)
{
	weft_chan(int) in = weft_make(int, 0);
	weft_chan(int) out = weft_make(int, DRAWS);
	int counts[3] = {0}, v;

	weft_close(in);
	for (int i = 0; i < DRAWS; i++)
		counts[weft_select(WEFT_RECV(in, &v), WEFT_SEND(out, 1), WEFT_SEND(out, 2))]++;
	verdict("mixed", counts, 3);
}

struct offers {
	weft_chan(int) ch, end;
};

static int
offers(struct offers *a)
{
	while (weft_select(WEFT_SEND(a->ch, 1), WEFT_RECV(a->end, NULL)) == 0)
		;
	return 0;
}

/* A select over two channels, at each of which a sender waits. */
static void
waiters(void)
{
	weft_chan(int) a = weft_make(int, 0);
	weft_chan(int) b = weft_make(int, 0);
	weft_chan(int) end = weft_make(int, 0);
	struct weft_wg wg = {0};
	int counts[2] = {0}, v;

	weft_wg_go(&wg, offers, a, end);
	weft_wg_go(&wg, offers, b, end);
	for (int i = 0; i < DRAWS / 10; i++) {
		settle(2);
		counts[weft_select(WEFT_RECV(a, &v), WEFT_RECV(b, &v))] += 10;
	}
	weft_close(end);
	weft_wg_wait(&wg);
	verdict("waiting senders", counts, 2);
}

static void
defaults(void)
{
	weft_chan(int) ch = weft_make(int, 1);
	int taken = 0, v;

	for (int i = 0; i < DRAWS; i++) {
		weft_send(ch, i);
		taken += weft_select(WEFT_RECV(ch, &v), WEFT_DEFAULT) == 1;
	}
	printf("default taken %d\n", taken);
}

static int
conform(uint64_t *r)
{
	(void)r;
	receives();
	sends_same();
	mixed();
	waiters();
	defaults();
	return 0;
}
