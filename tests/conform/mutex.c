/* SPDX-License-Identifier: MIT */
/* mutex.c: one holder at a time; those who wait get it one by one. */
#include "common.h"

struct logs {
	struct weft_mutex *m;
	int i, *log, *n;
};

static int
logs(struct logs *a)
{
	weft_lock(a->m);
	a->log[(*a->n)++] = a->i;
	weft_unlock(a->m);
	return 0;
}

/* Nobody barges in here, so the order is that of arrival. */
static void
order(int n)
{
	struct weft_mutex m = {0};
	struct weft_wg wg = {0};
	int log[16], logged = 0;

	printf("%s ", yes(weft_try_lock(&m)));
	for (int i = 0; i < n; i++) {
		weft_wg_go(&wg, logs, &m, i, log, &logged);
		settle(i + 1);
	}
	printf("%s ", yes(weft_try_lock(&m)));
	weft_unlock(&m);
	weft_wg_wait(&wg);
	show("order", log, n);
}

struct counter {
	struct weft_mutex *m;
	int w, each;
	int *total, *inside, *wrong; /* guarded by m */
};

static int
counter(struct counter *a)
{
	for (int i = 0; i < a->each; i++) {
		if (i % 3 == 0)
			while (!weft_try_lock(a->m))
				weft_yield();
		else
			weft_lock(a->m);
		*a->wrong += ++*a->inside != 1;
		if (i % 16 == a->w)
			weft_yield();
		++*a->total;
		--*a->inside;
		weft_unlock(a->m);
	}
	return 0;
}

/* Every third time by a try; the holder gives way now and then. */
static void
count(int workers, int each)
{
	struct weft_mutex m = {0};
	struct weft_wg wg = {0};
	int total = 0, inside = 0, wrong = 0;

	for (int w = 0; w < workers; w++)
		weft_wg_go(&wg, counter, &m, w, each, &total, &inside, &wrong);
	weft_wg_wait(&wg);
	printf("count %d wrong %d\n", total, wrong);
}

struct unlocks {
	weft_chan(int) ch;
	struct weft_mutex *m;
};

static int
unlocks(struct unlocks *a)
{
	while (weft_recv(a->ch, NULL) > 0)
		weft_unlock(a->m);
	return 0;
}

/* One locks, another unlocks: a mutex belongs to nobody. */
static void
hand_over(int rounds)
{
	struct weft_mutex m = {0};
	weft_chan(int) ch = weft_make(int, 0);

	weft_go(unlocks, ch, &m);
	for (int i = 0; i < rounds; i++) {
		weft_lock(&m);
		weft_send(ch, i);
	}
	weft_lock(&m);
	weft_close(ch);
	printf("handed over %d %s\n", rounds, yes(weft_try_lock(&m)));
}

static int
conform(uint64_t *r)
{
	order(2 + below(r, 10));
	count(1 + below(r, 8), 500);
	hand_over(1 + below(r, 100));
	return 0;
}
