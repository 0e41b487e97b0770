/* SPDX-License-Identifier: MIT */
/* t_chan_thread.c: plain threads in channels, selects and groups, beside goroutines. fence-mode */
#include "integ/waiting.h"

#include <errno.h>

/* ---- values between threads and goroutines */

struct flow {
	weft_chan(int) ch, ch2;
	int id, n;
	int *left;
	unsigned char *seen;
};

static void *
thread_sends(void *arg)
{
	struct flow *f = arg;

	for (int i = 0; i < f->n; i++) {
		int v = f->id * f->n + i;

		if (v % 3 == 0)
			EXPECT_EQ(weft_send(f->ch, v), 0);
		else
			EXPECT(weft_select(WEFT_SEND(f->ch, v), WEFT_SEND(f->ch2, v)) >= 0);
	}
	if (add(f->left, -1) == 0) {
		EXPECT_EQ(weft_close(f->ch), 0);
		EXPECT_EQ(weft_close(f->ch2), 0);
	}
	return NULL;
}

static void *
thread_receives(void *arg)
{
	struct flow *f = arg;
	weft_chan(int) ch = f->ch, ch2 = f->ch2;
	int v, ok = 0, rc;

	while (ch || ch2) {
		rc = weft_select(WEFT_RECV(ch, &v, &ok), WEFT_RECV(ch2, &v, &ok));
		EXPECT(rc == 0 || rc == 1);
		if (ok)
			EXPECT_EQ(add(&f->seen[v], 1), 1);
		else if (rc == 0)
			ch = NULL;
		else
			ch2 = NULL;
	}
	return NULL;
}

struct goroutine {
	struct flow *f;
	bool sends;
};

static int
goroutine(struct goroutine *a)
{
	if (a->sends)
		thread_sends(a->f);
	else
		thread_receives(a->f);
	return 0;
}

/* As many goroutines as threads, on both sides. */
static int
mixed_flows(void)
{
	for (int cap = 0; cap < 3; cap++) {
		enum { SIDE = 3 };
		weft_chan(int) ch = weft_make(int, (size_t)cap), ch2 = weft_make(int, 0);
		int n = scaled(1500), left = 2 * SIDE;
		unsigned char *seen = calloc((size_t)(2 * SIDE * n), 1);
		struct flow flows[2 * SIDE];
		pthread_t t[2 * SIDE];
		struct weft_wg wg = {0};

		for (int i = 0; i < 2 * SIDE; i++)
			flows[i] = (struct flow){ch, ch2, i, n, &left, seen};
		for (int i = 0; i < SIDE; i++) {
			t[i] = start_thread(thread_sends, &flows[i]);
			t[SIDE + i] = start_thread(thread_receives, &flows[0]);
			weft_wg_go(&wg, goroutine, &flows[SIDE + i], true);
			weft_wg_go(&wg, goroutine, &flows[0], false);
		}
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int i = 0; i < 2 * SIDE; i++)
			join_thread(t[i]);
		for (int i = 0; i < 2 * SIDE * n; i++)
			EXPECT_EQ(seen[i], 1);
		expect_idle(ch);
		expect_idle(ch2);
		weft_free(ch);
		weft_free(ch2);
		free(seen);
	}
	return 0;
}

TEST(threads_and_goroutines_exchange_values)
{
	EXPECT_EQ(weft_run(mixed_flows), 0);
}

/* ---- one thread, step by step */

struct one {
	weft_chan(int) ch;
	int op, rc, v;
};

static void *
one_op(void *arg)
{
	struct one *o = arg;
	int rc;

	switch (o->op) {
	case 0:
		rc = weft_recv(o->ch, &o->v);
		break;
	case 1:
		rc = weft_send(o->ch, 7);
		break;
	case 2:
		rc = weft_select(WEFT_RECV(o->ch, &o->v), WEFT_RECV(o->ch, &o->v));
		break;
	default:
		rc = weft_select(WEFT_SEND(o->ch, 7));
	}
	store(&o->rc, rc);
	return NULL;
}

static int
waiting_threads(void)
{
	for (int op = 0; op < 4; op++) {
		bool sends = op % 2;

		for (int close = 0; close < 2; close++) {
			struct one o = {weft_make(int, 0), op, 99, 55};
			pthread_t t = start_thread(one_op, &o);
			int got = 0, want;

			while (in_line(o.ch, sends) == 0)
				weft_yield();
			if (close)
				EXPECT_EQ(weft_close(o.ch), 0);
			else if (sends)
				EXPECT_EQ(weft_try_recv(o.ch, &got), 1);
			else
				EXPECT_EQ(weft_try_send(o.ch, 8), 0);
			join_thread(t);
			EXPECT_EQ(got, sends && !close ? 7 : 0);
			EXPECT_EQ(o.v, sends ? 55 : close ? 0 : 8);
			want = op == 0 ? !close : op == 1 ? (close ? -EPIPE : 0) : o.rc;
			if (op == 2)
				EXPECT(o.rc == 0 || o.rc == 1);
			if (op == 3)
				want = close ? -EPIPE : 0;
			EXPECT_EQ(o.rc, want);
			expect_idle(o.ch);
			weft_free(o.ch);
		}
	}
	return 0;
}

TEST(waiting_thread_is_served_and_closed)
{
	EXPECT_EQ(weft_run(waiting_threads), 0);
}

/* ---- scopes of a thread */

static weft_chan(int) never;

struct child {
	int *n;
	int rc;
};

static int
child(struct child *a)
{
	weft_yield();
	add(a->n, 1);
	return a->rc;
}

static int
receives(void)
{
	return weft_recv(never, NULL);
}

static void *
groups(void *arg)
{
	int n = 0, rc = 1;

	EXPECT(!weft_cancelled());
	for (int i = 0; i < scaled(200); i++) {
		n = 0;
		weft_group(g, &rc)
			for (int k = 0; k < 5; k++)
				EXPECT(weft_go_in(g, child, &n, 0) > 0);
		EXPECT_EQ(n, 5);
		EXPECT_EQ(rc, 0);
	}
	weft_group(g, &rc) { /* a failed child cancels its siblings and the body */
		EXPECT(weft_go_in(g, receives) > 0);
		EXPECT(weft_go_in(g, child, &n, -EIO) > 0);
		EXPECT_EQ(receives(), -ECANCELED);
		EXPECT_EQ(weft_select(WEFT_RECV(never, NULL), WEFT_RECV(never, NULL)), -ECANCELED);
		EXPECT(weft_cancelled());
		weft_shield EXPECT(!weft_cancelled());
	}
	EXPECT_EQ(rc, -EIO);
	EXPECT(!weft_cancelled());
	weft_timeout(0) {
		EXPECT(weft_cancelled());
		EXPECT_EQ(receives(), -ETIMEDOUT);
		weft_group(g, &rc)
			EXPECT(weft_go_in(g, receives) > 0);
		EXPECT_EQ(rc, -ETIMEDOUT);
	}
	weft_group(outer, &rc) { /* nested, and limited */
		int inner = 1;

		EXPECT_EQ(weft_group_limit(outer, 2), 0);
		for (int i = 0; i < 20; i++)
			EXPECT(weft_go_in(outer, child, &n, 0) > 0);
		weft_group(g, &inner) {
			EXPECT(weft_go_in(g, receives) > 0);
			weft_cancel(outer);
		}
		EXPECT_EQ(inner, -ECANCELED);
	}
	EXPECT_EQ(rc, 0);
	return arg;
}

static int
threads_with_groups(void)
{
	pthread_t t[3];

	never = weft_make(int, 0);
	for (int i = 0; i < 3; i++)
		t[i] = start_thread(groups, NULL);
	for (int i = 0; i < 3; i++)
		join_thread(t[i]);
	expect_idle(never);
	weft_free(never);
	return 0;
}

/* "Plain threads have scopes too." */
TEST(threads_open_groups)
{
	EXPECT_EQ(weft_run(threads_with_groups), 0);
}

static struct weft_group *shared;
static int released;

static void *
owner(void *arg)
{
	weft_group(g, NULL) {
		store(&shared, g);
		for (int i = 0; i < 3; i++)
			weft_go_in(g, receives);
		EXPECT_EQ(arg ? weft_select(WEFT_RECV(never, NULL)) : receives(), -ECANCELED);
		weft_shield /* until nobody cancels any more */
		    while (!load(&released)) weft_yield();
	}
	return NULL;
}

static void *
cancels(void *arg)
{
	EXPECT_EQ(weft_cancel(load(&shared)), 0);
	return arg;
}

static int
cancel_from_elsewhere(void)
{
	never = weft_make(int, 0);
	for (int i = 0; i < scaled(200); i++) {
		pthread_t t, c;

		shared = NULL;
		released = 0;
		t = start_thread(owner, i % 2 ? &shared : NULL);
		while (!load(&shared))
			weft_yield();
		if (i % 3 == 0)
			await_receivers(never, 4);
		c = start_thread(cancels, NULL);
		EXPECT_EQ(weft_cancel(load(&shared)), 0);
		join_thread(c);
		store(&released, 1);
		join_thread(t);
	}
	expect_idle(never);
	weft_free(never);
	return 0;
}

TEST(waiting_thread_is_cancelled)
{
	EXPECT_EQ(weft_run(cancel_from_elsewhere), 0);
}

/* A thread spawns into a goroutine's group, and cancels it. */
static void *
spawns_into(void *arg)
{
	int *n = arg;

	for (int i = 0; i < 10; i++)
		EXPECT(weft_go_in(load(&shared), child, n, 0) > 0);
	EXPECT(!weft_cancelled()); /* that group is not this thread's scope */
	EXPECT_EQ(weft_cancel(load(&shared)), 0);
	EXPECT(!weft_cancelled());
	return NULL;
}

static int
spawn_from_elsewhere(void)
{
	for (int i = 0; i < scaled(100); i++) {
		int n = 0;

		weft_group(g, NULL) {
			store(&shared, g);
			join_thread(start_thread(spawns_into, &n));
			EXPECT(weft_cancelled());
		}
		EXPECT_EQ(n, 10);
	}
	return 0;
}

TEST(thread_spawns_into_a_group)
{
	EXPECT_EQ(weft_run(spawn_from_elsewhere), 0);
}

/* ---- threads come and go */

static void *
brief(void *arg)
{
	weft_chan(int) ch = arg;

	EXPECT_EQ(weft_send(ch, 1), 0);
	weft_timeout(INT64_MAX)
		EXPECT_EQ(weft_send(ch, 2), 0);
	return NULL;
}

static void *
leaves_in_a_scope(void *arg)
{
	struct weft_scope s; /* never closed: its record dies with the thread */

	weft_scope_open_timeout(&s, -1);
	EXPECT(weft_cancelled());
	return arg;
}

static void *
asks(void *arg)
{
	EXPECT(!weft_cancelled());
	EXPECT_EQ(weft_recv((weft_chan(int))arg, NULL), 1); /* waits as if it were in no scope */
	EXPECT(!weft_cancelled());
	return NULL;
}

static int
brief_threads(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	int v;

	for (int i = 0; i < scaled(200); i++) {
		pthread_t t = start_thread(brief, ch);

		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(v, 2);
		join_thread(t);
		join_thread(start_thread(leaves_in_a_scope, NULL));
		t = start_thread(asks, ch);
		EXPECT_EQ(weft_send(ch, 1), 0);
		join_thread(t);
	}
	weft_free(ch);
	return 0;
}

TEST(scopes_of_a_thread_end_with_it)
{
	EXPECT_EQ(weft_run(brief_threads), 0);
}

static void *
calls_at_once(void *arg)
{
	weft_chan(int) ch = weft_make(int, 1);

	EXPECT(ch != NULL); /* a run is up: goroutine 1 is there to prove it */
	weft_free(ch);
	return arg;
}

static int
starts_a_thread(void)
{
	join_thread(start_thread(calls_at_once, NULL));
	return 0;
}

TEST(first_thread_of_goroutine_1_finds_the_run)
{
	use_procs(1024); /* the start takes long */
	for (int i = 0; i < scaled(40); i++)
		EXPECT_EQ(weft_run(starts_a_thread), 0);
}
