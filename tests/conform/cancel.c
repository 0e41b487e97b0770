/* SPDX-License-Identifier: MIT */
/* cancel.c: cancelling a group wakes those of it who wait, whatever they wait for. */
#include "common.h"

enum { KINDS = 6 };

struct things {
	weft_chan(int) empty, full;
	struct weft_sem permits;
	struct weft_wg one;
	struct weft_mutex m;
	struct weft_cond c;
};

struct waits {
	struct things *t;
	int kind, *got;
};

static int
waits(struct waits *a)
{
	struct things *t = a->t;

	switch (a->kind) {
	case 0:
		return *a->got = weft_recv(t->empty, NULL);
	case 1:
		return *a->got = weft_send(t->full, 1);
	case 2:
		return *a->got = weft_select(WEFT_RECV(t->empty, NULL), WEFT_SEND(t->full, 1));
	case 3:
		return *a->got = weft_acquire(&t->permits, 1);
	case 4:
		return *a->got = weft_wg_wait(&t->one);
	default:
		weft_lock(&t->m);
		*a->got = weft_wait(&t->c, &t->m);
		weft_unlock(&t->m);
		return *a->got;
	}
}

static void
wakes(int n)
{
	struct things t = {.empty = weft_make(int, 0), .full = weft_make(int, 1)};
	int got[4 * KINDS], rc = 0, woken = 0, first, second;

	weft_send(t.full, 1);
	weft_wg_add(&t.one, 1);
	weft_group(g, &rc) {
		for (int i = 0; i < n * KINDS; i++)
			weft_go_in(g, waits, &t, i % KINDS, &got[i]);
		settle(n * KINDS);
		weft_cancel(g);
	}
	for (int i = 0; i < n * KINDS; i++)
		woken += got[i] == -ECANCELED;
	printf("woken %d group %s\n", woken, yes(rc == -ECANCELED));
	/* Nobody is left in a queue. */
	first = weft_try_send(t.empty, 1);
	second = weft_try_recv(t.full, NULL);
	printf("left %s %s %zu %s\n", name(first), name(second), weft_len(t.full),
	       yes(weft_try_lock(&t.m)));
}

struct lives_on {
	weft_chan(int) room, fed;
	struct weft_mutex *m;
};

static int
lives_on(struct lives_on *a)
{
	int v = 0, rc = -1;

	weft_shield
	{
		rc = weft_recv(a->fed, &v);
	}
	printf("shield %d %s ", rc == 1 ? 0 : rc, yes(weft_cancelled()));
	rc = weft_send(a->room, 1);
	if (rc == 0)
		weft_recv(a->room, &v);
	printf("done %d ", v);
	weft_lock(a->m);
	weft_unlock(a->m);
	rc = weft_recv(a->room, &v);
	printf("then %s\n", yes(rc == -ECANCELED));
	return -7;
}

/* What need not wait is done also after the end; a shield keeps the end out. */
static void
after(void)
{
	weft_chan(int) room = weft_make(int, 1);
	weft_chan(int) fed = weft_make(int, 1);
	struct weft_mutex m = {0};
	int rc = 0;

	weft_group(g, &rc) {
		weft_go_in(g, lives_on, room, fed, &m);
		settle(1);
		weft_cancel(g);
		weft_send(fed, 1);
	}
	printf("group %d\n", rc);
}

static int
conform(uint64_t *r)
{
	wakes(1 + below(r, 4));
	after();
	return 0;
}
