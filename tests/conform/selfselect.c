/* SPDX-License-Identifier: MIT */
/* selfselect.c: a select that could send to itself never does. */
#include "common.h"

static void
alone(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	int picked = 0, v;

	for (int i = 0; i < 100; i++)
		if (weft_select(WEFT_SEND(ch, 1), WEFT_RECV(ch, &v), WEFT_DEFAULT) != 2)
			picked = 1;
	printf("alone %d\n", picked);
}

/* With room for one, a send and a receive take turns. */
static void
turns(int n)
{
	weft_chan(int) ch = weft_make(int, 1);
	int v;

	for (int i = 0; i < n; i++)
		if (weft_select(WEFT_SEND(ch, i), WEFT_RECV(ch, &v)) == 0)
			printf("s%d ", i);
		else
			printf("r%d ", v);
	printf("%zu\n", weft_len(ch));
}

struct partner {
	int p, rounds;
	weft_chan(int) ch;
	int *sent, *got, *own;
};

static int
partner(struct partner *a)
{
	for (int i = 0, v; i < a->rounds; i++) {
		if (weft_select(WEFT_SEND(a->ch, a->p), WEFT_RECV(a->ch, &v)) == 0) {
			++*a->sent;
		} else {
			++*a->got;
			*a->own += v == a->p;
		}
	}
	return 0;
}

/* Both offer and ask at once; what one gets is the other's, unless a buffer lies between. */
static void
pair(int capacity, int rounds)
{
	weft_chan(int) ch = weft_make(int, capacity);
	struct weft_wg wg = {0};
	int sent[2] = {0}, got[2] = {0}, own[2] = {0};

	for (int p = 0; p < 2; p++)
		weft_wg_go(&wg, partner, p, rounds, ch, &sent[p], &got[p], &own[p]);
	weft_wg_wait(&wg);
	printf("pair %d balance %d\n", sent[0] + sent[1] + got[0] + got[1],
	       sent[0] + sent[1] - got[0] - got[1] - (int)weft_len(ch));
	if (capacity == 0)
		printf("own %d matched %s\n", own[0] + own[1],
		       yes(sent[0] == got[1] && sent[1] == got[0]));
}

struct member {
	int p, rounds;
	weft_chan(int) ch, end;
	struct weft_mutex *mutex;
	int *sum, *done, *wrong; /* guarded by mutex */
};

static int
member(struct member *a)
{
	int v, which;

	while ((which = weft_select(WEFT_SEND(a->ch, a->p), WEFT_RECV(a->ch, &v),
				    WEFT_RECV(a->end, NULL))) < 2) {
		weft_lock(a->mutex);
		*a->sum += which == 0 ? 1 : -1;
		*a->wrong += which == 1 && v == a->p;
		if (++*a->done == a->rounds)
			weft_close(a->end);
		weft_unlock(a->mutex);
	}
	return 0;
}

/* Many of them: as many sends as receives, and nobody meets itself. */
static void
crowd(int n, int rounds)
{
	weft_chan(int) ch = weft_make(int, 0);
	weft_chan(int) end = weft_make(int, 0);
	struct weft_mutex mutex = {0};
	struct weft_wg wg = {0};
	int sum = 0, done = 0, wrong = 0;

	for (int p = 0; p < n; p++)
		weft_wg_go(&wg, member, p, rounds, ch, end, &mutex, &sum, &done, &wrong);
	weft_wg_wait(&wg);
	printf("crowd sum %d wrong %d %s\n", sum, wrong, yes(done >= rounds));
}

static int
conform(uint64_t *r)
{
	alone();
	turns(4 + below(r, 12));
	pair(0, 1000);
	pair(1 + below(r, 10), 1000);
	crowd(3 + below(r, 5), 2000);
	return 0;
}
