/* SPDX-License-Identifier: MIT */
/* rendezvous.c: an unbuffered channel passes a value when both sides are there, not before. */
#include "common.h"

static void
try_matrix(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	struct weft_wg wg = {0};
	int v = 0, w = 0, rc, first, second;

	first = weft_try_send(ch, 1);
	rc = weft_try_recv(ch, &v);
	printf("alone %s %s %zu %zu\n", name(first), name(rc), weft_len(ch), weft_cap(ch));

	weft_wg_go(&wg, receiver, ch, &w, &rc);
	settle(1);
	first = weft_try_send(ch, 7);
	second = weft_try_send(ch, 8);
	weft_wg_wait(&wg);
	printf("receiver waits: %s %s\nit got %d\n", name(first), name(second), w);

	weft_wg_go(&wg, sender, ch, 9, &rc);
	settle(1);
	first = weft_try_recv(ch, &v);
	second = weft_try_recv(ch, &w);
	weft_wg_wait(&wg);
	printf("sender waits: %d %s\nonce: %s %d\n", v, name(first), name(second), rc == 0);
	weft_free(ch);
}

struct meeting {
	weft_chan(int) ch, done;
	int rounds;
	int *before, *after, *wrong;
};

static int
meeting(struct meeting *a)
{
	for (int i = 1, v; i <= a->rounds; i++) {
		*a->after = i;
		weft_recv(a->ch, &v);
		if (v != i || *a->before != i)
			++*a->wrong;
		weft_send(a->done, 0);
	}
	return 0;
}

/* The plain variables are safe: each side wrote before the other came back. */
static void
order(int rounds)
{
	weft_chan(int) ch = weft_make(int, 0);
	weft_chan(int) done = weft_make(int, 0);
	int before = 0, after = 0, wrong = 0;

	weft_go(meeting, ch, done, rounds, &before, &after, &wrong);
	for (int i = 1; i <= rounds; i++) {
		before = i;
		weft_send(ch, i);
		if (after != i)
			wrong++;
		weft_recv(done, NULL);
	}
	printf("order: wrong %d\n", wrong);
}

struct steps {
	weft_chan(int) ch;
	int n;
	int *sent;
};

static int
steps(struct steps *a)
{
	for (int i = 0; i < a->n; i++) {
		__atomic_store_n(a->sent, i + 1, __ATOMIC_RELAXED);
		weft_send(a->ch, i);
	}
	return 0;
}

/* A sender that is served does not run ahead: it has sent one more than was taken, at most. */
static void
lock_step(int n)
{
	weft_chan(int) ch = weft_make(int, 0);
	int sent = 0;

	weft_go(steps, ch, n, &sent);
	for (int i = 0; i < n; i++) {
		settle(1);
		printf("%d ", __atomic_load_n(&sent, __ATOMIC_RELAXED) - i);
		weft_recv(ch, NULL);
	}
	printf("ahead\n");
}

static int
conform(uint64_t *r)
{
	try_matrix();
	order(100 + below(r, 1000));
	lock_step(2 + below(r, 8));
	return 0;
}
