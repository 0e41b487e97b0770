/* SPDX-License-Identifier: MIT */
/* buffered.c: a buffered channel is a queue of exactly its capacity. */
#include "common.h"

/* Random operations that never wait, against a plain queue. */
static void
model(uint64_t *r, int capacity)
{
	weft_chan(int) ch = weft_make(int, capacity);
	int queue[500], head = 0, tail = 0, refused = 0, empty = 0, wrong = 0, v, rc;

	for (int i = 0; i < 500; i++) {
		if (below(r, 2) == 0) {
			rc = weft_try_send(ch, i);
			wrong += (rc == 0) != (tail - head < capacity);
			if (rc == 0)
				queue[tail++] = i;
			else
				refused++;
		} else {
			rc = weft_try_recv(ch, &v);
			wrong += (rc == 1) != (tail > head);
			if (rc == 1)
				wrong += v != queue[head++];
			else
				empty++;
		}
		wrong += (int)weft_len(ch) != tail - head;
	}
	printf("cap %zu refused %d empty %d wrong %d\n", weft_cap(ch), refused, empty, wrong);
	weft_free(ch);
}

/* Each receive makes room for the sender that has waited longest. */
static void
refill(int capacity, int n)
{
	weft_chan(int) ch = weft_make(int, capacity);
	struct weft_wg wg = {0};
	int rc[8], v;

	for (int i = 0; i < capacity; i++)
		weft_send(ch, i);
	for (int i = 0; i < n; i++) {
		weft_wg_go(&wg, sender, ch, capacity + i, &rc[i]);
		settle(i + 1);
	}
	for (int i = 0; i < capacity + n; i++) {
		weft_recv(ch, &v);
		printf("%d:%zu ", v, weft_len(ch));
	}
	printf("\n");
	weft_wg_wait(&wg);
	weft_free(ch);
}

struct big {
	int64_t n[12];
	char tag;
};

struct sends_big {
	weft_chan(struct big) ch;
	int number, each;
};

static int
sends_big(struct sends_big *a)
{
	for (int i = 0; i < a->each; i++) {
		struct big b = {.tag = (char)a->number};

		for (int k = 0; k < 12; k++)
			b.n[k] = a->number * a->each + i;
		weft_send(a->ch, b);
	}
	return 0;
}

/* Large elements arrive whole; every one arrives once. */
static void
integrity(int capacity, int senders, int each)
{
	weft_chan(struct big) ch = weft_make(struct big, capacity);
	struct weft_wg wg = {0};
	struct big b;
	int torn = 0;
	int64_t sum = 0;

	for (int s = 0; s < senders; s++)
		weft_wg_go(&wg, sends_big, ch, s, each);
	for (int i = 0; i < senders * each && weft_recv(ch, &b) > 0; i++) {
		for (int k = 0; k < 12; k++)
			torn += b.n[k] != b.n[0];
		torn += b.tag != b.n[0] / each;
		sum += b.n[0];
	}
	weft_wg_wait(&wg);
	printf("sum %lld torn %d left %zu\n", (long long)sum, torn, weft_len(ch));
	weft_free(ch);
}

static int
conform(uint64_t *r)
{
	int capacity;

	for (int i = 0; i < 4; i++)
		model(r, 1 + below(r, 10));
	capacity = 1 + below(r, 6);
	refill(capacity, 1 + below(r, 6));
	capacity = 1 + below(r, 20);
	integrity(capacity, 1 + below(r, 6), 300);
	return 0;
}
