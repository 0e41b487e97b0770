/* SPDX-License-Identifier: MIT */
/* t_chan.c: channels: order, hand-over, closing, sizes, misuse, and nothing lost. fence-mode */
#include "integ/waiting.h"

#include <errno.h>
#include <malloc.h>
#include <sys/syscall.h>

#define NIL ((weft_chan(int))NULL)

struct sends {
	weft_chan(int) ch;
	int v;
	int *rc;
};

static int
sends(struct sends *a)
{
	store(a->rc, weft_send(a->ch, a->v));
	return 0;
}

struct receives {
	weft_chan(int) ch;
	int *v, *rc;
};

static int
receives(struct receives *a)
{
	store(a->rc, weft_recv(a->ch, a->v));
	return 0;
}

/* ---- one at a time, for every capacity */

enum { UNSET = 12345 };

static void
blocks_when_it_must(size_t cap)
{
	weft_chan(int) ch = weft_make(int, cap);
	int rc = UNSET, rc2 = UNSET, v = -1, w = -1;
	struct weft_wg wg = {0};

	EXPECT_EQ(weft_cap(ch), cap);
	EXPECT_EQ(weft_len(ch), 0);
	EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
	EXPECT_EQ(v, -1);
	weft_wg_go(&wg, receives, ch, &v, &rc);
	weft_wg_go(&wg, receives, ch, &w, &rc2);
	await_receivers(ch, 2);
	EXPECT_EQ(rc, UNSET);
	EXPECT_EQ(weft_len(ch), 0);
	EXPECT_EQ(weft_send(ch, 1), 0);
	EXPECT_EQ(weft_try_send(ch, 1), 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(v + w, 2);
	EXPECT_EQ(rc + rc2, 2);
	for (size_t i = 0; i < cap; i++) {
		EXPECT_EQ(weft_send(ch, (int)i), 0);
		EXPECT_EQ(weft_len(ch), i + 1);
	}
	EXPECT_EQ(weft_try_send(ch, 77), -EAGAIN);
	rc = UNSET;
	weft_wg_go(&wg, sends, ch, (int)cap, &rc);
	await_senders(ch, 1);
	EXPECT_EQ(rc, UNSET);
	EXPECT_EQ(weft_len(ch), cap); /* who waits is not counted */
	for (size_t i = 0; i <= cap; i++) {
		EXPECT_EQ(i % 2 ? weft_recv(ch, &v) : weft_try_recv(ch, &v), 1);
		EXPECT_EQ(v, i);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(weft_len(ch), 0);
	expect_idle(ch);
	weft_free(ch);
}

static int
every_cap(void)
{
	for (size_t cap = 0; cap < 200; cap += cap < 10 ? 1 : 27)
		blocks_when_it_must(cap);
	return 0;
}

TEST(operations_block_only_when_they_must)
{
	EXPECT_EQ(weft_run(every_cap), 0);
}

static int
drains_after_close(void)
{
	for (size_t cap = 0; cap < 20; cap++) {
		weft_chan(int) ch = weft_make(int, cap);
		int v;

		for (size_t i = 0; i < cap; i++)
			EXPECT_EQ(weft_send(ch, (int)i + 1), 0);
		EXPECT_EQ(weft_close(ch), 0);
		EXPECT_EQ(weft_close(ch), -EPIPE);
		EXPECT_EQ(weft_send(ch, 1), -EPIPE);
		EXPECT_EQ(weft_try_send(ch, 1), -EPIPE);
		EXPECT_EQ(weft_len(ch), cap);
		for (size_t i = 0; i < cap; i++) {
			EXPECT_EQ(i % 2 ? weft_recv(ch, &v) : weft_try_recv(ch, &v), 1);
			EXPECT_EQ(v, i + 1);
		}
		for (int i = 0; i < 3; i++) {
			v = 55;
			EXPECT_EQ(weft_recv(ch, &v), 0);
			EXPECT_EQ(v, 0); /* "closed and drained (*v zeroed)" */
			v = 55;
			EXPECT_EQ(weft_try_recv(ch, &v), 0);
			EXPECT_EQ(v, 0);
		}
		EXPECT_EQ(weft_recv(ch, NULL), 0);
		EXPECT_EQ(weft_send(ch, 1), -EPIPE);
		weft_free(ch);
	}
	return 0;
}

TEST(closed_channel_drains_and_then_says_so)
{
	EXPECT_EQ(weft_run(drains_after_close), 0);
}

static int
close_wakes(void)
{
	enum { N = 50 };

	for (int round = 0; round < scaled(50); round++) {
		weft_chan(int) ch = weft_make(int, (size_t)round % 3);
		int rc[N], v[N], cap = round % 3;
		struct weft_wg wg = {0};

		for (int i = 0; i < N; i++) {
			rc[i] = v[i] = UNSET;
			weft_wg_go(&wg, receives, ch, i % 4 ? &v[i] : NULL, &rc[i]);
		}
		if (round % 2)
			await_receivers(ch, N);
		EXPECT_EQ(weft_close(ch), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int i = 0; i < N; i++) {
			EXPECT_EQ(rc[i], 0);
			EXPECT_EQ(v[i], i % 4 ? 0 : UNSET);
		}
		expect_idle(ch);
		weft_free(ch);

		ch = weft_make(int, (size_t)cap);
		for (int i = 0; i < cap; i++)
			EXPECT_EQ(weft_send(ch, 100 + i), 0);
		for (int i = 0; i < N; i++) {
			rc[i] = UNSET;
			weft_wg_go(&wg, sends, ch, i, &rc[i]);
		}
		await_senders(ch, N);
		EXPECT_EQ(weft_close(ch), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int i = 0; i < N; i++)
			EXPECT_EQ(rc[i], -EPIPE);
		EXPECT_EQ(weft_len(ch), cap); /* nothing of theirs came in */
		for (int i = 0; i < cap; i++) {
			EXPECT_EQ(weft_recv(ch, &v[0]), 1);
			EXPECT_EQ(v[0], 100 + i);
		}
		EXPECT_EQ(weft_recv(ch, &v[0]), 0);
		expect_idle(ch);
		weft_free(ch);
	}
	return 0;
}

TEST(close_wakes_every_waiter)
{
	EXPECT_EQ(weft_run(close_wakes), 0);
}

/* ---- hand-over */

/* The value is in the receiver's variable, though it has not run since. */
static int
hand_over(void)
{
	for (size_t cap = 0; cap < 3; cap++) {
		weft_chan(int) ch = weft_make(int, cap);
		int rc = UNSET, v = -1, got = -1;
		struct weft_wg wg = {0};

		weft_wg_go(&wg, receives, ch, &v, &rc);
		await_receivers(ch, 1);
		EXPECT_EQ(weft_try_send(ch, 42), 0);
		EXPECT_EQ(load(&v), 42);
		EXPECT_EQ(weft_len(ch), 0); /* not by way of the ring */
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(rc, 1);
		/* and the other way round: the sender's value, or its turn in the ring */
		for (size_t i = 0; i < cap; i++)
			EXPECT_EQ(weft_send(ch, (int)i), 0);
		weft_wg_go(&wg, sends, ch, 99, &rc);
		await_senders(ch, 1);
		EXPECT_EQ(weft_try_recv(ch, &got), 1);
		EXPECT_EQ(got, cap == 0 ? 99 : 0);
		EXPECT_EQ(weft_len(ch), cap);
		EXPECT_EQ(in_line(ch, true), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(rc, 0);
		for (size_t i = 1; i <= cap; i++) {
			EXPECT_EQ(weft_recv(ch, &got), 1);
			EXPECT_EQ(got, i == cap ? 99 : (int)i);
		}
		weft_free(ch);
	}
	return 0;
}

TEST(waiting_peer_is_served_directly)
{
	EXPECT_EQ(weft_run(hand_over), 0);
}

/* "NULL discards the value", wherever it comes from. */
static int
discards(void)
{
	for (size_t cap = 0; cap < 2; cap++) {
		weft_chan(int) ch = weft_make(int, cap);
		int rc = UNSET;
		struct weft_wg wg = {0};

		weft_wg_go(&wg, receives, ch, NULL, &rc);
		await_receivers(ch, 1);
		EXPECT_EQ(weft_send(ch, 1), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(rc, 1);
		if (cap > 0) {
			EXPECT_EQ(weft_send(ch, 1), 0);
			EXPECT_EQ(weft_recv(ch, NULL), 1);
			EXPECT_EQ(weft_send(ch, 1), 0);
		}
		weft_wg_go(&wg, sends, ch, 2, &rc);
		await_senders(ch, 1);
		EXPECT_EQ(weft_try_recv(ch, NULL), 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(weft_len(ch), cap);
		weft_close(ch);
		EXPECT_EQ(weft_recv(ch, NULL), (int)cap);
		EXPECT_EQ(weft_recv(ch, NULL), 0);
		weft_free(ch);
	}
	return 0;
}

TEST(receive_into_nothing)
{
	EXPECT_EQ(weft_run(discards), 0);
}

/* ---- first come, first served */

static int
receivers_in_order(void)
{
	enum { N = 20 };

	for (size_t cap = 0; cap < 3; cap++) {
		weft_chan(int) ch = weft_make(int, cap);
		int v[N], rc[N];
		struct weft_wg wg = {0};

		for (int i = 0; i < N; i++) {
			v[i] = -1;
			weft_wg_go(&wg, receives, ch, &v[i], &rc[i]);
			await_receivers(ch, i + 1);
		}
		for (int i = 0; i < N; i++)
			EXPECT_EQ(weft_send(ch, i), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int i = 0; i < N; i++)
			EXPECT_EQ(v[i], i);
		weft_free(ch);
	}
	return 0;
}

TEST(receivers_are_served_in_order)
{
	EXPECT_EQ(weft_run(receivers_in_order), 0);
}

static int
senders_in_order(void)
{
	enum { N = 20 };

	for (int cap = 0; cap < 3; cap++) {
		weft_chan(int) ch = weft_make(int, (size_t)cap);
		int v, rc[N];
		struct weft_wg wg = {0};

		for (int i = 0; i < cap; i++)
			EXPECT_EQ(weft_send(ch, i), 0);
		for (int i = 0; i < N; i++) {
			weft_wg_go(&wg, sends, ch, cap + i, &rc[i]);
			await_senders(ch, i + 1);
		}
		for (int i = 0; i < cap + N; i++) {
			EXPECT_EQ(weft_recv(ch, &v), 1);
			EXPECT_EQ(v, i);
		}
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		weft_free(ch);
	}
	return 0;
}

TEST(senders_are_served_in_order)
{
	EXPECT_EQ(weft_run(senders_in_order), 0);
}

/* Go's test/chan/fifo: each waits for the one before it. */
struct daisy {
	weft_chan(int) ch, in, out;
	int v;
};

static int
daisy(struct daisy *a)
{
	int v;

	EXPECT_EQ(weft_recv(a->in, NULL), 1);
	EXPECT_EQ(weft_recv(a->ch, &v), 1);
	EXPECT_EQ(v, a->v);
	EXPECT_EQ(weft_send(a->out, 1), 0);
	return 0;
}

static int
daisy_chain(void)
{
	enum { N = 100 };
	weft_chan(int) ch = weft_make(int, 0), links[N + 1];

	for (int i = 0; i <= N; i++)
		links[i] = weft_make(int, 0);
	for (int i = 0; i < N; i++)
		weft_go(daisy, ch, links[i], links[i + 1], i);
	EXPECT_EQ(weft_send(links[0], 1), 0);
	for (int i = 0; i < N; i++)
		EXPECT_EQ(weft_send(ch, i), 0);
	EXPECT_EQ(weft_recv(links[N], NULL), 1);
	for (int i = 0; i <= N; i++)
		weft_free(links[i]);
	weft_free(ch);
	return 0;
}

TEST(unbuffered_values_keep_their_order)
{
	EXPECT_EQ(weft_run(daisy_chain), 0);
}

/* ---- NULL channels */

static int
nil(void)
{
	int v = 3;

	EXPECT_EQ(weft_try_send(NIL, 1), -EAGAIN);
	EXPECT_EQ(weft_try_recv(NIL, &v), -EAGAIN);
	EXPECT_EQ(v, 3);
	EXPECT_EQ(weft_len(NIL), 0);
	EXPECT_EQ(weft_cap(NIL), 0);
	weft_free(NIL);
	return 0;
}

TEST(nil_channel_is_never_ready)
{
	EXPECT_EQ(weft_run(nil), 0);
}

static int
sends_nil(void)
{
	return weft_send(NIL, 1);
}

static int
receives_nil(void)
{
	return weft_recv(NIL, NULL);
}

static int
closes_nil(void)
{
	return weft_close(NIL);
}

static void
child_sends_nil(void)
{
	weft_run(sends_nil);
}

static void
child_receives_nil(void)
{
	weft_run(receives_nil);
}

static void
child_closes_nil(void)
{
	weft_run(closes_nil);
}

TEST(waiting_for_a_nil_channel_is_a_deadlock)
{
	EXPECT_HAS(expect_deadlock(child_sends_nil), "[chan send (nil chan)]");
	EXPECT_HAS(expect_deadlock(child_receives_nil), "[chan receive (nil chan)]");
}

static void
expect_fatal(void (*fn)(void), const char *text, const char *more)
{
	EXPECT_HAS(expect_dies(fn, text), more);
}

TEST(closing_a_nil_channel_is_fatal)
{
	expect_fatal(child_closes_nil, "fatal: weft_close(NULL)", "goroutine 1 [running]");
}

/* ---- make and free */

static int
frees_a_waited_one(bool for_send)
{
	weft_chan(int) ch = weft_make(int, 0);
	int rc = 0, v;

	if (for_send)
		weft_go(sends, ch, 1, &rc);
	else
		weft_go(receives, ch, &v, &rc);
	while (in_line(ch, for_send) == 0)
		weft_yield();
	weft_free(ch);
	return 0;
}

static int
frees_for_recv(void)
{
	return frees_a_waited_one(false);
}

static int
frees_for_send(void)
{
	return frees_a_waited_one(true);
}

static void
child_frees_for_recv(void)
{
	weft_run(frees_for_recv);
}

static void
child_frees_for_send(void)
{
	weft_run(frees_for_send);
}

TEST(free_of_a_channel_somebody_waits_for_is_fatal)
{
	expect_fatal(child_frees_for_recv, "fatal: weft_free of the channel made at",
		     "for which a goroutine waits to receive");
	expect_fatal(child_frees_for_recv, "t_chan.c:", "goroutine 1 [running]");
	expect_fatal(child_frees_for_send, "fatal: weft_free of the channel made at",
		     "for which a goroutine waits to send");
}

static int
uses_freed(int how)
{
	weft_chan(int) ch = weft_make(int, 1);

	EXPECT_EQ(weft_send(ch, 1), 0);
	weft_free(ch);
	switch (how) {
	case 0:
		weft_send(ch, 1);
		break;
	case 1:
		weft_recv(ch, NULL);
		break;
	case 2:
		weft_close(ch);
		break;
	case 3:
		weft_free(ch);
		break;
	default:
		weft_select(WEFT_RECV(ch, NULL), WEFT_SEND(ch, 1));
	}
	return 0;
}

struct freed {
	int how;
};

static int
freed(struct freed *a)
{
	return uses_freed(a->how);
}

static int how_freed;

static void
child_uses_freed(void)
{
	weft_run(freed, how_freed);
}

TEST(use_of_a_freed_channel_is_fatal)
{
#ifdef WF_TINY
	SKIP("memory is given back at once");
#endif
	for (how_freed = 0; how_freed < 5; how_freed++)
		expect_fatal(child_uses_freed, "fatal: use of a channel after weft_free",
			     "goroutine 1 [running]");
}

static int
frees_many(void)
{
	long before = 0;
	int n = scaled(40000);

	for (int i = 0; i < n; i++) {
		weft_chan(int) ch = weft_make(int, 1000);

		for (int k = 0; k < 1000; k += 100)
			EXPECT_EQ(weft_send(ch, k), 0);
		weft_free(ch);
		if (i == n / 4)
			before = resident_pages();
	}
	expect_no_growth(before, 2048);
	return 0;
}

static int
frees_large(void)
{
	static char value[1 << 20];
	long before = 0;

	for (int i = 0; i < 32; i++) { /* 8 MiB each, and full */
		void *ch = weft_chan_make(sizeof(value), 8, NULL);

		memset(value, i, sizeof(value));
		for (int k = 0; k < 8; k++)
			EXPECT_EQ(weft_chan_send(ch, value), 0);
		weft_chan_free(ch);
		if (i == 2)
			before = resident_pages();
	}
	expect_no_growth(before, (64 << 20) / 4096);
	return 0;
}

TEST(memory_of_many_freed_channels_comes_back)
{
	EXPECT_EQ(weft_run(frees_many), 0);
}

TEST(memory_of_large_freed_channels_comes_back)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 20); /* the allocator keeps none of it for itself */
#endif
	EXPECT_EQ(weft_run(frees_large), 0);
}

struct odd {
	char b[7];
};

static int
makes(void)
{
	weft_chan(struct odd) a = weft_make(struct odd, 3);
	weft_chan(char) b = weft_make(char, 0);
	void *raw;

	EXPECT(a && b);
	EXPECT(weft_make(struct odd, SIZE_MAX) == NULL);
	EXPECT(weft_make(struct odd, SIZE_MAX / 7) == NULL);
	EXPECT(weft_make(char, SIZE_MAX) == NULL);
	EXPECT(weft_chan_make(SIZE_MAX, 1, NULL) == NULL);
	EXPECT(weft_chan_make(0, SIZE_MAX, NULL) == NULL);
	EXPECT(weft_chan_make(0, (size_t)1 << 58, NULL) == NULL);
	raw = weft_chan_make(0, UINT32_MAX, NULL);
	EXPECT_EQ(weft_chan_cap(raw), UINT32_MAX);
	EXPECT_EQ(weft_chan_send(raw, ""), 0);
	EXPECT_EQ(weft_chan_len(raw), 1);
	weft_chan_free(raw);
	EXPECT(weft_chan_make((size_t)1 << 40, (size_t)1 << 40, NULL) == NULL);
#if !defined(WF_ASAN) && !defined(WF_TSAN)             /* they take it for a mistake */
	EXPECT(weft_make(char, SIZE_MAX / 4) == NULL); /* "NULL when out of memory" */
#endif
	raw = weft_chan_make(12, 2, "somewhere");
	EXPECT(raw != NULL);
	EXPECT_EQ(weft_chan_cap(raw), 2);
	EXPECT_EQ(weft_chan_len(raw), 0);
	EXPECT_EQ(weft_cap(raw), 2); /* the macros take a void * too */
	EXPECT_EQ(weft_close(raw), 0);
	weft_free(raw);
	weft_free(a);
	weft_free(b);
	weft_free((void *)NULL);
	return 0;
}

TEST(make_refuses_what_does_not_fit)
{
	EXPECT_EQ(weft_run(makes), 0);
}

static int
as_functions(void)
{
	int (*close_fn)(void *) = (weft_close);
	size_t (*len_fn)(const void *) = (weft_len), (*cap_fn)(const void *) = (weft_cap);
	void (*free_fn)(void *) = (weft_free);
	weft_chan(int) ch = weft_make(int, 5);

	EXPECT_EQ(weft_send(ch, 1), 0);
	EXPECT_EQ(len_fn(ch), 1);
	EXPECT_EQ(cap_fn(ch), 5);
	EXPECT_EQ(close_fn(ch), 0);
	free_fn(ch);
	return 0;
}

TEST(short_names_are_functions_too)
{
	EXPECT_EQ(weft_run(as_functions), 0);
}

/* Whoever was served may free the channel at once: SYNC-1, CHAN-2. */
struct frees {
	weft_chan(int) ch;
	int how;
};

static int
frees(struct frees *a)
{
	int v = 0, ok = 1, rc;

	switch (a->how) {
	case 0:
		EXPECT_EQ(weft_recv(a->ch, &v), 1);
		break;
	case 1:
		EXPECT_EQ(weft_send(a->ch, 1), 0);
		break;
	case 2: /* woken by the close, or too late for it */
		EXPECT_EQ(weft_recv(a->ch, &v), 0);
		break;
	case 3:
		EXPECT_EQ(weft_select(WEFT_RECV(a->ch, &v)), 0);
		break;
	case 4:
		EXPECT_EQ(weft_select(WEFT_SEND(a->ch, 1)), 0);
		break;
	default:
		while ((rc = weft_try_recv(a->ch, &v)) == -EAGAIN)
			weft_yield();
		EXPECT_EQ(rc, ok);
	}
	weft_free(a->ch);
	return 0;
}

static int
freed_by_the_peer(void)
{
	for (int i = 0; i < scaled(30000); i++) {
		weft_chan(int) ch = weft_make(int, i % 12 >= 6 && i % 6 != 1 && i % 6 != 4);
		int how = i % 6, v;
		struct weft_wg wg = {0};

		weft_wg_go(&wg, frees, ch, how);
		for (int n = i / 6 % 3; n > 0; n--)
			weft_yield();
		if (how == 2)
			EXPECT_EQ(weft_close(ch), 0);
		else if (how == 1 || how == 4)
			EXPECT_EQ(weft_recv(ch, &v), 1);
		else
			EXPECT_EQ(weft_send(ch, 1), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	return 0;
}

TEST(peer_may_free_the_channel_at_once)
{
	EXPECT_EQ(weft_run(freed_by_the_peer), 0);
}

/* ---- values */

struct nothing {
};

static int
zero_size(void)
{
	for (size_t cap = 0; cap < 5; cap++) {
		weft_chan(struct nothing) ch = weft_make(struct nothing, cap);
		struct nothing v;

		EXPECT(ch != NULL);
		for (size_t i = 0; i < cap; i++)
			EXPECT_EQ(weft_send(ch, {}), 0);
		EXPECT_EQ(weft_try_send(ch, {}), -EAGAIN);
		EXPECT_EQ(weft_len(ch), cap);
		for (size_t i = 0; i < cap; i++)
			EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(weft_try_recv(ch, NULL), -EAGAIN);
		EXPECT_EQ(weft_close(ch), 0);
		EXPECT_EQ(weft_recv(ch, &v), 0);
		weft_free(ch);
	}
	return 0;
}

struct empty_sender {
	weft_chan(struct nothing) ch;
	int n;
};

static int
empty_sender(struct empty_sender *a)
{
	for (int i = 0; i < a->n; i++)
		EXPECT_EQ(weft_send(a->ch, {}), 0);
	EXPECT_EQ(weft_close(a->ch), 0);
	return 0;
}

static int
zero_size_handed_over(void)
{
	for (size_t cap = 0; cap < 3; cap++) {
		weft_chan(struct nothing) ch = weft_make(struct nothing, cap);
		struct nothing v;
		int n = 0;

		weft_go(empty_sender, ch, 1000);
		while (weft_recv(ch, n % 2 ? &v : NULL) > 0)
			n++;
		EXPECT_EQ(n, 1000);
		weft_free(ch);
	}
	return 0;
}

TEST(elements_of_no_size)
{
	EXPECT_EQ(weft_run(zero_size), 0);
	EXPECT_EQ(weft_run(zero_size_handed_over), 0);
}

enum { MIB = 1 << 20 };
static unsigned char big_in[MIB], big_out[MIB];

struct big_sender {
	void *ch;
	int n;
};

static int
big_sender(struct big_sender *a)
{
	for (int i = 1; i <= a->n; i++) {
		memset(big_in, i, MIB);
		big_in[0] = (unsigned char)(i + 1);
		EXPECT_EQ(weft_chan_send(a->ch, big_in), 0);
	}
	EXPECT_EQ(weft_chan_close(a->ch), 0);
	return 0;
}

static int
big_values(void)
{
	for (size_t cap = 0; cap < 3; cap++) {
		void *ch = weft_chan_make(MIB, cap, NULL);
		int n = 0;

		EXPECT(ch != NULL);
		weft_go(big_sender, ch, 20);
		while (weft_chan_recv(ch, big_out) > 0) {
			n++;
			EXPECT_EQ(big_out[0], n + 1);
			EXPECT_EQ(big_out[1], n);
			EXPECT_EQ(memcmp(big_out + 1, big_out + 2, MIB - 2), 0);
		}
		EXPECT_EQ(n, 20);
		for (int i = 0; i < MIB; i++)
			EXPECT_EQ(big_out[i], 0);
		weft_chan_free(ch);
	}
	return 0;
}

TEST(elements_of_a_mebibyte)
{
	EXPECT_EQ(weft_run(big_values), 0);
}

struct large {
	char text[MIB];
};

/* By the macros the value is on the stack, so that must be large enough. */
static int
large_on_the_stack(void)
{
	weft_chan(struct large) ch = weft_make(struct large, 1);
	struct large *v = malloc(sizeof(*v));

	EXPECT_EQ(weft_send(ch, {"by name"}), 0);
	EXPECT_EQ(weft_recv(ch, v), 1);
	EXPECT(strcmp(v->text, "by name") == 0);
	EXPECT_EQ(v->text[MIB - 1], 0);
	EXPECT_EQ(weft_select(WEFT_SEND_FROM(ch, v)), 0);
	memset(v, 7, sizeof(*v));
	EXPECT_EQ(weft_try_recv(ch, v), 1);
	EXPECT(strcmp(v->text, "by name") == 0);
	weft_free(ch);
	free(v);
	return 0;
}

static int
with_a_large_stack(void)
{
	EXPECT(weft_go_with(WEFT_ATTR(.stack_bytes = 16 << 20), large_on_the_stack) > 0);
	while (weft_count() > 1)
		weft_yield();
	return 0;
}

TEST(large_elements_by_the_macros)
{
	EXPECT_EQ(weft_run(with_a_large_stack), 0);
}

/* Every size, through the ring and from hand to hand; no byte beyond it is touched. */
struct sized_sender {
	void *ch;
	size_t bytes;
	int n;
};

static void
fill(unsigned char *p, size_t bytes, int i)
{
	for (size_t k = 0; k < bytes; k++)
		p[k] = (unsigned char)(i * 31 + (int)k);
}

static int
sized_sender(struct sized_sender *a)
{
	unsigned char v[300];

	for (int i = 0; i < a->n; i++) {
		fill(v, a->bytes, i);
		EXPECT_EQ(weft_chan_send(a->ch, v), 0);
		memset(v, 0xee, sizeof(v)); /* it is not read again */
	}
	return 0;
}

static int
every_size(void)
{
	static const size_t sizes[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,   12, 15,
				       16, 17, 24, 31, 32, 33, 100, 127, 128, 299};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t cap = 0; cap < 4; cap++) {
			size_t bytes = sizes[s];
			void *ch = weft_chan_make(bytes, cap, NULL);
			unsigned char v[302], want[300];
			struct weft_wg wg = {0};

			weft_wg_go(&wg, sized_sender, ch, bytes, 50);
			for (int i = 0; i < 50; i++) {
				memset(v, 0xaa, sizeof(v));
				fill(want, bytes, i);
				if (i % 3)
					EXPECT_EQ(weft_chan_recv(ch, v + 1), 1);
				else
					EXPECT_EQ(weft_selectv(
						      &(struct weft_case){.kind_ = WEFT_CASE_RECV,
									  .chan_ = ch,
									  .elem_ = v + 1},
						      1),
						  0);
				EXPECT_EQ(memcmp(v + 1, want, bytes), 0);
				EXPECT_EQ(v[0], 0xaa);
				EXPECT_EQ(v[bytes + 1], 0xaa);
			}
			EXPECT_EQ(weft_wg_wait(&wg), 0);
			weft_chan_free(ch);
		}
	return 0;
}

TEST(elements_of_every_size)
{
	EXPECT_EQ(weft_run(every_size), 0);
}

struct point {
	int x, y;
	const char *name;
};
struct request {
	int n;
	weft_chan(struct request) reply; /* of a type that is not complete yet */
};

static int
answers(struct request *a)
{
	struct request r = *a;

	EXPECT_EQ(weft_send(r.reply, {.n = r.n + 1}), 0);
	return 0;
}

struct server {
	weft_chan(struct request) in;
};

static int
server(struct server *a)
{
	struct request r;

	while (weft_recv(a->in, &r) > 0)
		answers(&r);
	return 0;
}

static int
typed_values(void)
{
	weft_chan(struct point) points = weft_make(struct point, 4);
	weft_chan(double) doubles = weft_make(double, 1);
	weft_chan(const char *) strings = weft_make(const char *, 1);
	weft_chan(struct request) in = weft_make(struct request, 0),
				  out = weft_make(struct request, 0);
	struct point p;
	struct request r;
	const char *text;
	double d;

	EXPECT_EQ(weft_send(points, {1, 2}), 0);
	EXPECT_EQ(weft_send(points, {.name = "n", .x = 3}), 0);
	EXPECT_EQ(weft_send(points, (struct point){5, 6, NULL}), 0);
	p = (struct point){.y = 9};
	EXPECT_EQ(weft_try_send(points, p), 0);
	EXPECT_EQ(weft_recv(points, &p), 1);
	EXPECT(p.x == 1 && p.y == 2 && !p.name); /* what is left out is zero */
	EXPECT_EQ(weft_recv(points, &p), 1);
	EXPECT(p.x == 3 && p.y == 0 && strcmp(p.name, "n") == 0);
	EXPECT_EQ(weft_recv(points, &p), 1);
	EXPECT(p.x == 5 && p.y == 6);
	EXPECT_EQ(weft_recv(points, &p), 1);
	EXPECT(p.x == 0 && p.y == 9);
	EXPECT_EQ(weft_send(doubles, 3), 0); /* converted as in an initialiser */
	EXPECT_EQ(weft_recv(doubles, &d), 1);
	EXPECT(d == 3.0);
	EXPECT_EQ(weft_send(strings, "text"), 0);
	EXPECT_EQ(weft_recv(strings, &text), 1);
	EXPECT(strcmp(text, "text") == 0);
	weft_go(server, in);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(weft_send(in, {i, out}), 0);
		EXPECT_EQ(weft_recv(out, &r), 1);
		EXPECT_EQ(r.n, i + 1);
		EXPECT(r.reply == NULL);
	}
	weft_close(in);
	while (weft_count() > 1)
		weft_yield();
	weft_free(points);
	weft_free(doubles);
	weft_free(strings);
	weft_free(in);
	weft_free(out);
	return 0;
}

TEST(values_of_any_type)
{
	EXPECT_EQ(weft_run(typed_values), 0);
}

/* ---- many at once */

struct flow {
	weft_chan(int) ch;
	int id, n;
	unsigned char *seen;
	int64_t *sum;
};

static int
flow_send(struct flow *a)
{
	for (int i = 0; i < a->n; i++)
		EXPECT_EQ(weft_send(a->ch, a->id * a->n + i), 0);
	return 0;
}

static int
flow_recv(struct flow *a)
{
	int v, last[16];

	memset(last, -1, sizeof(last));
	while (weft_recv(a->ch, &v) > 0) {
		EXPECT_EQ(add(&a->seen[v], 1), 1);
		EXPECT(v > last[v / a->n]); /* of one sender, in its order */
		last[v / a->n] = v;
		if (v % 7 == 0)
			weft_yield();
	}
	return 0;
}

struct flows {
	struct flow f;
	bool sends;
};

static int
flows(struct flows *a)
{
	return a->sends ? flow_send(&a->f) : flow_recv(&a->f);
}

static void
many_to_many(size_t cap, int senders, int receivers, int n)
{
	weft_chan(int) ch = weft_make(int, cap);
	unsigned char *seen = calloc((size_t)(senders * n), 1);
	struct weft_wg out = {0}, in = {0};

	for (int i = 0; i < receivers; i++)
		weft_wg_go(&in, flows, {ch, i, n, seen}, false);
	for (int i = 0; i < senders; i++)
		weft_wg_go(&out, flows, {ch, i, n, seen}, true);
	EXPECT_EQ(weft_wg_wait(&out), 0);
	EXPECT_EQ(weft_close(ch), 0);
	EXPECT_EQ(weft_wg_wait(&in), 0);
	for (int i = 0; i < senders * n; i++)
		EXPECT_EQ(seen[i], 1);
	expect_idle(ch);
	weft_free(ch);
	free(seen);
}

static int
flows_of_all_kinds(void)
{
	int n = scaled(20000);

	many_to_many(0, 1, 1, n);
	many_to_many(1, 1, 1, n);
	many_to_many(128, 1, 1, n);
	many_to_many(0, 4, 4, n / 4 + 1);
	many_to_many(3, 4, 4, n / 4 + 1);
	many_to_many(100, 4, 1, n / 4 + 1);
	many_to_many(1, 1, 8, n);
	many_to_many(10, 1, 23, n); /* Go's TestMultiConsumer */
	return 0;
}

TEST(nothing_is_lost_or_doubled)
{
	EXPECT_EQ(weft_run(flows_of_all_kinds), 0);
}

/* Between goroutines that stay together for a while, and are then joined by others. */
struct burst {
	weft_chan(int) ch;
	int n;
	int64_t *sum;
};

static int
burst(struct burst *a)
{
	int v;

	for (int i = 0; i < a->n; i++) { /* never blocks for long: it takes what it gave */
		EXPECT_EQ(weft_send(a->ch, i), 0);
		EXPECT_EQ(weft_recv(a->ch, &v), 1);
		add(a->sum, v - i);
	}
	return 0;
}

static int
bursts(void)
{
	uint64_t r = test_seed();

	for (int round = 0; round < scaled(60); round++) {
		weft_chan(int) ch = weft_make(int, 16);
		int64_t sum = 0;
		struct weft_wg wg = {0};

		for (int phase = 0; phase < 6; phase++) { /* alone, then with others, then alone */
			for (uint64_t k = phase % 2 ? 4 : 1; k > 0; k--)
				weft_wg_go(&wg, burst, ch, (int)(test_rand(&r) % 400), &sum);
			EXPECT_EQ(weft_wg_wait(&wg), 0);
			EXPECT_EQ(sum, 0);
			EXPECT_EQ(weft_len(ch), 0);
		}
		weft_free(ch);
	}
	return 0;
}

TEST(users_come_and_go)
{
	EXPECT_EQ(weft_run(bursts), 0);
}

struct link {
	weft_chan(int) in, out;
};

static int
link_up(struct link *a)
{
	int v;

	EXPECT_EQ(weft_recv(a->in, &v), 1);
	EXPECT_EQ(weft_send(a->out, v + 1), 0);
	return 0;
}

struct links {
	struct link l;
};

static int
links(struct links *a)
{
	return link_up(&a->l);
}

static int
long_chain(void)
{
	int n = scaled(10000), v;
	weft_chan(int) *ch = calloc((size_t)n + 1, sizeof(*ch));

	for (int i = 0; i <= n; i++)
		ch[i] = weft_make(int, 0);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go(links, {ch[i], ch[i + 1]}) > 0);
	EXPECT_EQ(weft_send(ch[0], 0), 0);
	EXPECT_EQ(weft_recv(ch[n], &v), 1);
	EXPECT_EQ(v, n);
	while (weft_count() > 1)
		weft_yield();
	for (int i = 0; i <= n; i++)
		weft_free(ch[i]);
	free(ch);
	return 0;
}

/* Go's test/chan/goroutines */
TEST(one_value_through_ten_thousand_goroutines)
{
	EXPECT_EQ(weft_run(long_chain), 0);
}

struct generate {
	weft_chan(int) out;
};

static int
generate(struct generate *a)
{
	for (int i = 2; weft_send(a->out, i) == 0; i++)
		;
	return 0;
}

struct filter {
	weft_chan(int) in, out;
	int prime;
};

static int
filter(struct filter *a)
{
	int v;

	while (weft_recv(a->in, &v) > 0)
		if (v % a->prime != 0 && weft_send(a->out, v) < 0)
			break;
	weft_close(a->in);
	return 0;
}

static int
sieve(void)
{
	static const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
				     43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
	enum { N = sizeof(primes) / sizeof(primes[0]) };
	weft_chan(int) ch[N + 1];
	int v;

	ch[0] = weft_make(int, 0);
	weft_go(generate, ch[0]);
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(weft_recv(ch[i], &v), 1);
		EXPECT_EQ(v, primes[i]);
		ch[i + 1] = weft_make(int, 0);
		weft_go(filter, ch[i], ch[i + 1], v);
	}
	weft_close(ch[N]); /* from the end backwards everybody finds out */
	while (weft_count() > 1)
		weft_yield();
	for (int i = 0; i <= N; i++)
		weft_free(ch[i]);
	return 0;
}

TEST(prime_sieve)
{
	EXPECT_EQ(weft_run(sieve), 0);
}

/* ---- try */

struct closes {
	weft_chan(int) ch;
};

static int
closes(struct closes *a)
{
	EXPECT_EQ(weft_close(a->ch), 0);
	return 0;
}

static int
never_not_ready(void)
{
	for (int i = 0; i < scaled(20000); i++) {
		weft_chan(int) ch = weft_make(int, 1);
		struct weft_wg wg = {0};
		int v, rc, got = 0;

		EXPECT_EQ(weft_send(ch, 1), 0);
		weft_wg_go(&wg, closes, ch);
		while ((rc = weft_try_recv(ch, &v)) != 0) {
			/* the value is there; then it waits for the close */
			EXPECT(rc == 1 || got == 1);
			got += rc == 1;
			if (rc < 0)
				weft_yield();
		}
		EXPECT_EQ(got, 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		weft_free(ch);
	}
	return 0;
}

/* Go's TestNonblockRecvRace */
TEST(try_recv_finds_what_is_there)
{
	EXPECT_EQ(weft_run(never_not_ready), 0);
}

struct busy {
	int *stop;
};

static int
busy(struct busy *a)
{
	while (!load(a->stop))
		weft_yield();
	return 0;
}

/* "N never blocks, never switches, never changes thread" */
static int
stays_on_its_thread(void)
{
	int stop = 0, v;
	struct weft_wg wg = {0};
	weft_chan(int) ch = weft_make(int, 2);

	for (int i = 0; i < 8; i++)
		weft_wg_go(&wg, busy, &stop);
	for (int i = 0; i < scaled(20000); i++) {
		long here = syscall(SYS_gettid); /* pthread_self is const: read once */

		EXPECT_EQ(weft_try_send(ch, i), 0);
		EXPECT_EQ(weft_try_recv(ch, &v), 1);
		EXPECT_EQ(weft_len(ch), 0);
		EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
		EXPECT_EQ(weft_select(WEFT_RECV(ch, &v), WEFT_DEFAULT), 1);
		weft_free(weft_make(int, 1));
		EXPECT(!weft_cancelled());
		EXPECT_EQ(here, syscall(SYS_gettid));
		if (i % 16 == 0)
			weft_yield();
	}
	EXPECT_EQ(weft_close(ch), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(ch);
	return 0;
}

TEST(calls_that_do_not_block_do_not_change_thread)
{
	EXPECT_EQ(weft_run(stays_on_its_thread), 0);
}
