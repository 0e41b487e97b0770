/* SPDX-License-Identifier: MIT */
/* t_select.c: select: one case fires, evenly chosen, and no value is lost or doubled. fence-mode */
#include "integ/waiting.h"

#include <errno.h>
#include <sched.h>

#define NIL ((weft_chan(int))NULL)

struct sends {
	weft_chan(int) ch;
	int v;
};

static int
sends(struct sends *a)
{
	EXPECT_EQ(weft_send(a->ch, a->v), 0);
	return 0;
}

struct receives {
	weft_chan(int) ch;
	int *v;
};

static int
receives(struct receives *a)
{
	EXPECT_EQ(weft_recv(a->ch, a->v), 1);
	return 0;
}

/* ---- what fires, and what it returns */

static int
ready_cases(void)
{
	weft_chan(int) a = weft_make(int, 1), b = weft_make(int, 1);
	int v = 0, w = 0, ok = 7;

	EXPECT_EQ(weft_select(WEFT_RECV(a, &v), WEFT_SEND(b, 5)), 1);
	EXPECT_EQ(weft_select(WEFT_RECV(a, &v), WEFT_RECV(b, &w, &ok)), 1);
	EXPECT_EQ(v, 0);
	EXPECT_EQ(w, 5);
	EXPECT_EQ(ok, 1);
	EXPECT_EQ(weft_select(WEFT_SEND(a, 6), ), 0); /* a trailing comma is no case */
	EXPECT_EQ(weft_select(WEFT_RECV(a, NULL, NULL), WEFT_RECV(b, &w)), 0);
	EXPECT_EQ(weft_len(a), 0);
	EXPECT_EQ(weft_select(WEFT_SEND(a, 1), WEFT_DEFAULT), 0);
	EXPECT_EQ(weft_select(WEFT_SEND(a, 2), WEFT_DEFAULT), 1);
	EXPECT_EQ(weft_select(WEFT_DEFAULT, WEFT_SEND(a, 2)), 0);
	EXPECT_EQ(weft_select(WEFT_DEFAULT), 0);
	EXPECT_EQ(weft_recv(a, &v), 1);
	EXPECT_EQ(v, 1);
	EXPECT_EQ(weft_select(WEFT_DEFAULT, WEFT_DEFAULT), -EINVAL);
	weft_free(a);
	weft_free(b);
	return 0;
}

TEST(a_ready_case_fires_at_once)
{
	EXPECT_EQ(weft_run(ready_cases), 0);
}

static int
closed_cases(void)
{
	weft_chan(int) open = weft_make(int, 0), closed = weft_make(int, 2);
	int v = 9, ok = 7;

	EXPECT_EQ(weft_send(closed, 3), 0);
	EXPECT_EQ(weft_close(closed), 0);
	EXPECT_EQ(weft_select(WEFT_RECV(open, &v), WEFT_RECV(closed, &v, &ok)), 1);
	EXPECT_EQ(v, 3);
	EXPECT_EQ(ok, 1);
	EXPECT_EQ(weft_select(WEFT_RECV(closed, &v, &ok), WEFT_RECV(open, &v)), 0);
	EXPECT_EQ(v, 0);
	EXPECT_EQ(ok, 0);
	EXPECT_EQ(weft_select(WEFT_RECV(closed, NULL), WEFT_DEFAULT), 0);
	EXPECT_EQ(weft_select(WEFT_SEND(closed, 1)), -EPIPE);
	EXPECT_EQ(weft_select(WEFT_SEND(closed, 1), WEFT_DEFAULT), -EPIPE);
	EXPECT_EQ(weft_select(WEFT_RECV(open, &v), WEFT_SEND(closed, 1)), -EPIPE);
	weft_free(open);
	weft_free(closed);
	return 0;
}

/* "A WEFT_SEND on a closed channel makes select return -EPIPE" */
TEST(closed_channels_are_ready)
{
	EXPECT_EQ(weft_run(closed_cases), 0);
}

static int
nil_cases(void)
{
	weft_chan(int) a = weft_make(int, 1);
	int v = 0;

	EXPECT_EQ(weft_select(WEFT_RECV(NIL, &v), WEFT_SEND(NIL, 1), WEFT_DEFAULT), 2);
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_select(WEFT_RECV(NIL, &v), WEFT_SEND(a, i), WEFT_SEND(NIL, 1)), 1);
		EXPECT_EQ(weft_select(WEFT_SEND(NIL, 1), WEFT_RECV(NIL, &v), WEFT_RECV(a, &v)), 2);
		EXPECT_EQ(v, i);
	}
	weft_go(sends, a, 3);
	weft_go(sends, a, 4);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(weft_select(WEFT_RECV(NIL, &v), WEFT_RECV(a, &v)), 1);
	weft_free(a);
	return 0;
}

TEST(nil_cases_never_fire)
{
	EXPECT_EQ(weft_run(nil_cases), 0);
}

static int
no_case(void)
{
	return weft_select();
}

static int
only_nil(void)
{
	int v;

	return weft_select(WEFT_RECV(NIL, &v), WEFT_SEND(NIL, 1));
}

static void
child_no_case(void)
{
	weft_run(no_case);
}

static void
child_only_nil(void)
{
	weft_run(only_nil);
}

/* "weft_select() with no case, or only NULL channels, blocks for ever." */
TEST(select_of_nothing_blocks_for_ever)
{
	EXPECT_HAS(expect_deadlock(child_no_case), "goroutine 1 [select (no cases)]");
	EXPECT_HAS(expect_deadlock(child_only_nil), "goroutine 1 [select (no cases)]");
}

static int
bad_arguments(void)
{
	struct weft_case c[2] = {WEFT_DEFAULT, WEFT_DEFAULT};
	struct weft_case odd = {.kind_ = 77};

	EXPECT_EQ(weft_selectv(c, -1), -EINVAL);
	EXPECT_EQ(weft_selectv(c, 65536), -EINVAL);
	EXPECT_EQ(weft_selectv(NULL, 1), -EINVAL);
	EXPECT_EQ(weft_selectv(c, 2), -EINVAL);
	EXPECT_EQ(weft_selectv(&odd, 1), -EINVAL);
	EXPECT_EQ(weft_selectv(c, 1), 0);
	return 0;
}

TEST(bad_arguments_are_refused)
{
	EXPECT_EQ(weft_run(bad_arguments), 0);
}

/* ---- waiting */

struct selector {
	weft_chan(int) a, b;
	int sends; /* bit 0: the first case sends, bit 1: the second */
	int *fired, *v, *ok;
};

static int
selector(struct selector *s)
{
	struct weft_case first = WEFT_RECV(s->a, s->v, s->ok),
			 second = WEFT_RECV(s->b, s->v, s->ok);
	static const int one = 1, two = 2;

	if (s->sends & 1)
		first = WEFT_SEND_FROM(s->a, &one);
	if (s->sends & 2)
		second = WEFT_SEND_FROM(s->b, &two);
	struct weft_case cases[] = {first, second};

	store(s->fired, weft_selectv(cases, 2));
	return 0;
}

/* Every kind of pair, woken through either, by a peer or by a close. */
static int
woken_by(void)
{
	for (int n = 0; n < 4 * 2 * 2; n++) {
		weft_chan(int) ch[2] = {weft_make(int, 0), weft_make(int, 0)};
		int sends_bits = n & 3, by = n >> 2 & 1, close = n >> 3,
		    sent = sends_bits >> by & 1;
		int fired = -1, v = 77, ok = 77, got = 0;
		struct weft_wg wg = {0};

		weft_wg_go(&wg, selector, ch[0], ch[1], sends_bits, &fired, &v, &ok);
		await_waiting(WF_WAIT_SELECT, 1);
		if (close) {
			EXPECT_EQ(weft_close(ch[by]), 0);
			EXPECT_EQ(weft_wg_wait(&wg), 0);
			EXPECT_EQ(fired, sent ? -EPIPE : by);
			EXPECT_EQ(v, sent ? 77 : 0);
			EXPECT_EQ(ok, sent ? 77 : 0);
		} else {
			if (sent)
				EXPECT_EQ(weft_recv(ch[by], &got), 1);
			else
				EXPECT_EQ(weft_send(ch[by], 5), 0);
			EXPECT_EQ(weft_wg_wait(&wg), 0);
			EXPECT_EQ(fired, by);
			EXPECT_EQ(got, sent ? by + 1 : 0);
			EXPECT_EQ(v, sent ? 77 : 5);
			EXPECT_EQ(ok, sent ? 77 : 1);
		}
		for (int i = 0; i < 2; i++) { /* SEL-4 */
			expect_idle(ch[i]);
			weft_free(ch[i]);
		}
	}
	return 0;
}

TEST(waiting_select_is_woken_by_any_of_its_cases)
{
	EXPECT_EQ(weft_run(woken_by), 0);
}

/* The peer of a waiting select need not wait: the value is in its hands at once. */
static int
handed_over(void)
{
	weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0);
	int fired = -1, v = 0, ok = 0, w = 0;
	struct weft_wg wg = {0};

	weft_wg_go(&wg, selector, a, b, 2, &fired, &v, &ok);
	await_senders(b, 1);
	EXPECT_EQ(weft_try_recv(b, &w), 1);
	EXPECT_EQ(w, 2);
	/* it has fired: its other case is not to be had any more, though it may be in line yet */
	EXPECT_EQ(weft_try_send(a, 1), -EAGAIN);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(fired, 1);
	EXPECT_EQ(v, 0);
	weft_free(a);
	weft_free(b);
	return 0;
}

TEST(a_select_that_has_fired_takes_nothing_more)
{
	EXPECT_EQ(weft_run(handed_over), 0);
}

/* The losers are not yet out of their lines, but nobody waits for those channels any more. */
static int
freed_beside(void)
{
	for (int i = 0; i < scaled(5000); i++) {
		weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0);
		int fired = -1, v = 0, ok = 0;
		struct weft_wg wg = {0};

		weft_wg_go(&wg, selector, a, b, i % 4, &fired, &v, &ok);
		if (i % 3 == 0) {
			await_waiting(WF_WAIT_SELECT, 1);
			if (i % 2)
				EXPECT_EQ(weft_try_recv(a, &v), 1);
			else
				EXPECT_EQ(weft_try_send(a, 1), 0);
		} else if (i % 2) {
			EXPECT_EQ(weft_recv(a, &v), 1);
		} else {
			EXPECT_EQ(weft_send(a, 1), 0);
		}
		weft_free(b);
		weft_free(a);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(fired, 0);
	}
	return 0;
}

TEST(channels_may_be_freed_when_the_select_has_fired)
{
	EXPECT_EQ(weft_run(freed_beside), 0);
}

/* ---- fairness: bounds of ten standard deviations */

static int
even_among_ready(void)
{
	enum { CASES = 5, PER_CASE = 2000 };
	weft_chan(int) ch[CASES];
	int fired[CASES] = {0};

	for (int i = 0; i < CASES; i++)
		ch[i] = weft_make(int, CASES *PER_CASE);
	for (int i = 0; i < CASES * PER_CASE; i++)
		for (int k = 0; k < CASES; k++)
			EXPECT_EQ(weft_send(ch[k], i), 0);
	for (int i = 0; i < CASES * PER_CASE; i++) {
		int v, rc = weft_select(WEFT_RECV(ch[0], &v), WEFT_RECV(ch[1], &v),
					WEFT_RECV(ch[2], &v), WEFT_RECV(ch[3], &v),
					WEFT_RECV(ch[4], &v));

		EXPECT(rc >= 0 && rc < CASES);
		EXPECT_EQ(v, fired[rc]++); /* first in, first out */
	}
	for (int i = 0; i < CASES; i++) { /* sigma = sqrt(10000 * 0.2 * 0.8) = 40 */
		EXPECT(fired[i] > PER_CASE - 400 && fired[i] < PER_CASE + 400);
		weft_free(ch[i]);
	}
	return 0;
}

TEST(ready_cases_are_chosen_evenly)
{
	setenv("WEFT_SEED", "12345", 1);
	EXPECT_EQ(weft_run(even_among_ready), 0);
}

static int
even_on_one_channel(void)
{
	weft_chan(int) ch = weft_make(int, 10000);
	int ones = 0, v;

	for (int i = 0; i < 10000; i++) {
		int rc = weft_select(WEFT_SEND(ch, 0), WEFT_SEND(ch, 1));

		EXPECT(rc == 0 || rc == 1);
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(v, rc);
		ones += v;
	}
	EXPECT(ones > 5000 - 500 && ones < 5000 + 500);
	weft_free(ch);
	return 0;
}

TEST(two_sends_on_one_channel_are_chosen_evenly)
{
	setenv("WEFT_SEED", "54321", 1);
	EXPECT_EQ(weft_run(even_on_one_channel), 0);
}

static int
even_among_some(void)
{
	enum { N = 64, ROUNDS = 6400 };
	weft_chan(int) ch[N];
	struct weft_case cases[N];
	int fired[N] = {0}, v;

	for (int i = 0; i < N; i++) {
		ch[i] = weft_make(int, 1);
		cases[i] = i % 4 ? WEFT_RECV(ch[i], &v) : WEFT_RECV(NIL, &v);
		if (i % 2)
			EXPECT_EQ(weft_send(ch[i], i), 0);
	}
	for (int i = 0; i < ROUNDS; i++) { /* the odd ones are ready */
		int rc = weft_selectv(cases, N);

		EXPECT(rc >= 0 && rc % 2 == 1);
		EXPECT_EQ(v, rc);
		fired[rc]++;
		EXPECT_EQ(weft_send(ch[rc], rc), 0);
	}
	for (int i = 0; i < N; i++) { /* 200 each, sigma 14 */
		if (i % 2)
			EXPECT(fired[i] > 60 && fired[i] < 340);
		weft_free(ch[i]);
	}
	return 0;
}

TEST(ready_cases_are_chosen_evenly_among_others)
{
	setenv("WEFT_SEED", "777", 1);
	EXPECT_EQ(weft_run(even_among_some), 0);
}

/* Go's: each of two busy channels is served by a select in a loop. */
struct feeds {
	weft_chan(int) ch;
	int *stop;
};

static int
feeds(struct feeds *a)
{
	while (!load(a->stop))
		if (weft_send(a->ch, 1) < 0)
			break;
	return 0;
}

static int
both_served(void)
{
	weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0);
	int counts[2] = {0, 0}, stop = 0, v;
	struct weft_wg wg = {0};

	weft_wg_go(&wg, feeds, a, &stop);
	weft_wg_go(&wg, feeds, b, &stop);
	for (int i = 0; i < scaled(20000) || counts[0] == 0 || counts[1] == 0; i++) {
		int rc = weft_select(WEFT_RECV(a, &v), WEFT_RECV(b, &v));

		EXPECT(rc == 0 || rc == 1);
		counts[rc]++;
	}
	store(&stop, 1);
	weft_close(a);
	weft_close(b);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(a);
	weft_free(b);
	return 0;
}

TEST(nobody_starves_behind_a_select)
{
	EXPECT_EQ(weft_run(both_served), 0);
}

/* ---- one channel in several cases */

static int
same_twice(void)
{
	for (int round = 0; round < scaled(200); round++) {
		weft_chan(int) dup = weft_make(int, 0), c = weft_make(int, 0);
		struct weft_wg wg = {0};
		int fired = -1, v = 0, ok = 0, w = 0;

		/* waits in dup twice, is woken by c, must leave dup's line as it was */
		weft_wg_go(&wg, receives, dup, &w);
		await_receivers(dup, 1);
		weft_wg_go(&wg, selector, dup, dup, 0, &fired, &v, &ok);
		await_receivers(dup, 3);
		EXPECT_EQ(weft_send(dup, 1), 0); /* the plain one came first */
		EXPECT_EQ(weft_send(dup, 2), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(w, 1);
		EXPECT_EQ(v, 2);
		EXPECT(fired == 0 || fired == 1);
		expect_idle(dup);
		weft_free(dup);
		weft_free(c);
	}
	return 0;
}

TEST(same_channel_twice_in_one_select)
{
	EXPECT_EQ(weft_run(same_twice), 0);
}

struct triple {
	weft_chan(int) a, c;
	int *fired;
};

static int
triple(struct triple *t)
{
	int v;

	store(t->fired, weft_select(WEFT_RECV(t->a, &v), WEFT_RECV(t->a, &v), WEFT_RECV(t->c, &v)));
	return 0;
}

static int
duplicates_leave(void)
{
	weft_chan(int) c = weft_make(int, 0), d = weft_make(int, 0);
	int fired = -1, v[2] = {0, 0};
	struct weft_wg one = {0}, two = {0};

	weft_wg_go(&one, receives, c, &v[0]);
	await_receivers(c, 1);
	weft_wg_go(&one, triple, c, d, &fired);
	await_receivers(c, 3);
	weft_wg_go(&two, receives, c, &v[1]);
	await_receivers(c, 4);
	EXPECT_EQ(weft_send(d, 7), 0);
	await_receivers(c, 2);
	EXPECT_EQ(weft_send(c, 8), 0);
	EXPECT_EQ(weft_send(c, 9), 0);
	EXPECT_EQ(weft_wg_wait(&one), 0);
	EXPECT_EQ(fired, 2);
	EXPECT_EQ(weft_wg_wait(&two), 0);
	EXPECT_EQ(v[0], 8);
	EXPECT_EQ(v[1], 9);
	weft_free(c);
	weft_free(d);
	return 0;
}

/* Go's TestSelectDuplicateChannel, and test/chan/select6: the others in the line stay wakeable. */
TEST(loser_leaves_the_line_and_others_stay)
{
	EXPECT_EQ(weft_run(duplicates_leave), 0);
}

struct self {
	weft_chan(int) ch;
	int id;
	int *n;
	bool flip;
};

/* Both sides of one channel in one select: it never meets itself. */
static int
self(struct self *a)
{
	for (int i = 0; i < scaled(4000); i++) {
		int v = -1, sent;
		int rc = a->flip ? weft_select(WEFT_SEND(a->ch, a->id), WEFT_RECV(a->ch, &v))
				 : weft_select(WEFT_RECV(a->ch, &v), WEFT_SEND(a->ch, a->id));

		EXPECT(rc == 0 || rc == 1);
		sent = a->flip ? rc == 0 : rc == 1;
		if (!sent && weft_cap(a->ch) == 0)
			EXPECT(v != a->id && v >= 0);
		if (sent)
			EXPECT_EQ(v, -1);
		add(a->n, sent ? 1 : -1);
	}
	weft_close(a->ch);
	return 0;
}

static int
self_rest(struct self *a)
{
	int v = -1;

	for (;;) { /* the other one has done its turns: until the channel is closed */
		int ok = 1, rc = weft_select(WEFT_RECV(a->ch, &v, &ok), WEFT_SEND(a->ch, a->id));

		if (rc < 0 || !ok)
			return 0;
		if (rc == 0 && weft_cap(a->ch) == 0)
			EXPECT(v != a->id);
		add(a->n, rc == 1 ? 1 : -1);
	}
}

struct selves {
	struct self s;
};

static int
selves(struct selves *a)
{
	return self_rest(&a->s);
}

static int
self_select(void)
{
	for (int cap = 0; cap <= 10; cap += 10) {
		for (int flip = 0; flip < 2; flip++) {
			weft_chan(int) ch = weft_make(int, (size_t)cap);
			struct weft_wg wg = {0};
			int n = 0;

			weft_wg_go(&wg, selves, {ch, 1, &n, false});
			weft_wg_go(&wg, self, ch, 0, &n, flip);
			EXPECT_EQ(weft_wg_wait(&wg), 0);
			EXPECT_EQ(n, (int)weft_len(ch)); /* what was sent and not received */
			expect_idle(ch);
			weft_free(ch);
		}
	}
	return 0;
}

TEST(send_and_receive_on_one_channel)
{
	EXPECT_EQ(weft_run(self_select), 0);
}

static int
alone(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	int v;

	EXPECT_EQ(weft_select(WEFT_SEND(ch, 1), WEFT_RECV(ch, &v), WEFT_DEFAULT), 2);
	weft_timeout(0)
		EXPECT_EQ(weft_select(WEFT_SEND(ch, 1), WEFT_RECV(ch, &v)), -ETIMEDOUT);
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(a_select_alone_does_not_meet_itself)
{
	EXPECT_EQ(weft_run(alone), 0);
}

/* ---- many cases */

static int
large(int n, int how)
{
	struct weft_case *cases = calloc((size_t)n, sizeof(*cases));
	weft_chan(int) *ch = calloc((size_t)n, sizeof(*ch));
	int *v = calloc((size_t)n, sizeof(*v));
	struct weft_wg wg = {0};
	uint64_t r = test_seed();

	for (int i = 0; i < n; i++) {
		ch[i] = how == 2 && i > 0 ? ch[0] : weft_make(int, how == 1);
		EXPECT(ch[i] != NULL);
		cases[i] =
		    i % 2 && how != 2 ? WEFT_SEND_FROM(ch[i], &v[i]) : WEFT_RECV(ch[i], &v[i]);
		if (how == 1 && i % 2)
			EXPECT_EQ(weft_send(ch[i], 1), 0); /* full: nothing is ready */
	}
	for (int round = 0; round < 5; round++) {
		int k = (int)(test_rand(&r) % (uint64_t)n), got = 0, rc;
		bool takes = k % 2 && how != 2;

		if (takes)
			weft_wg_go(&wg, receives, ch[k], &got);
		else
			weft_wg_go(&wg, sends, ch[k], 1000 + round);
		v[k] = 500;
		rc = weft_selectv(cases, n);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		if (how == 1 && takes) { /* the sender's value took the place: as before */
			EXPECT_EQ(weft_recv(ch[k], &v[k]), 1);
			EXPECT_EQ(v[k], 500);
			EXPECT_EQ(weft_send(ch[k], 1), 0);
		}
		if (how == 2) {
			EXPECT(rc >= 0 && rc < n);
			EXPECT_EQ(v[rc], 1000 + round);
		} else {
			EXPECT_EQ(rc, k);
			if (takes)
				EXPECT_EQ(got, how == 1 ? 1 : 500);
			else
				EXPECT_EQ(v[k], 1000 + round);
		}
	}
	for (int i = 0; i < n; i++) {
		expect_idle(ch[i]);
		if (how != 2 || i == 0)
			weft_free(ch[i]);
		if (how == 2)
			break;
	}
	free(cases);
	free(ch);
	free(v);
	return 0;
}

static int
a_thousand(void)
{
	for (int how = 0; how < 3; how++) {
		large(1, how);
		large(2, how);
		large(3, how);
		large(1000, how);
	}
	return 0;
}

TEST(a_thousand_cases)
{
	EXPECT_EQ(weft_run(a_thousand), 0);
}

static int
the_most(void)
{
	large(65535, 0);
	large(65535, 2);
	return 0;
}

TEST(sixty_five_thousand_cases)
{
	EXPECT_EQ(weft_run(the_most), 0);
}

static int
send_from(void)
{
	enum { N = 10 };
	weft_chan(int) out = weft_make(int, 0);
	struct weft_case cases[N];
	int value[N], got[N] = {0}, v = 0;
	struct weft_wg wg = {0};

	for (int i = 0; i < N; i++)
		cases[i] = WEFT_SEND_FROM(out, &value[i]); /* the value is read when it fires */
	for (int i = 0; i < N; i++)
		value[i] = i * i;
	for (int i = 0; i < 200; i++) {
		int rc;

		weft_wg_go(&wg, receives, out, &v);
		rc = weft_selectv(cases, N);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT(rc >= 0 && rc < N);
		EXPECT_EQ(v, rc * rc);
		got[rc]++;
	}
	weft_free(out);
	return 0;
}

TEST(send_from_an_array)
{
	EXPECT_EQ(weft_run(send_from), 0);
}

/* ---- arguments */

static int evaluated[8];

static weft_chan(int) chan_once(int i, weft_chan(int) ch)
{
	evaluated[i]++;
	return ch;
}

static int
value_once(int i)
{
	return ++evaluated[i];
}

static int *
pointer_once(int i, int *p)
{
	evaluated[i]++;
	return p;
}

static int
evaluation(void)
{
	weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 1);
	int v, ok;

	EXPECT_EQ(weft_select(WEFT_RECV(chan_once(0, a), pointer_once(1, &v), pointer_once(2, &ok)),
			      WEFT_SEND(chan_once(3, b), value_once(4)),
			      WEFT_RECV(chan_once(5, NIL), pointer_once(6, &v)), WEFT_DEFAULT),
		  1);
	for (int i = 0; i < 7; i++)
		EXPECT_EQ(evaluated[i], 1);
	weft_free(a);
	weft_free(b);
	return 0;
}

/* "Every argument of every case is evaluated once, in unspecified order, whichever fires." */
TEST(arguments_are_evaluated_once)
{
	EXPECT_EQ(weft_run(evaluation), 0);
}

struct pair {
	int a;
	char text[20];
};

static int
structs(void)
{
	weft_chan(struct pair) ch = weft_make(struct pair, 1);
	struct pair p;

	EXPECT_EQ(weft_select(WEFT_SEND(ch, {.a = 3, .text = "three"})), 0);
	EXPECT_EQ(weft_select(WEFT_RECV(ch, &p)), 0);
	EXPECT_EQ(p.a, 3);
	EXPECT(strcmp(p.text, "three") == 0);
	EXPECT_EQ(weft_select(WEFT_SEND(ch, {4, "four"}), WEFT_SEND(NIL, 1)), 0);
	EXPECT_EQ(weft_select(WEFT_RECV(ch, &p), WEFT_SEND(NIL, 2)), 0);
	EXPECT_EQ(p.a, 4);
	for (int i = 0; i < 3; i++) /* break ends the loop around a switch over a select as usual */
		switch (weft_select(WEFT_RECV(ch, &p), WEFT_DEFAULT)) {
		case 1:
			break;
		default:
			EXPECT(false);
		}
	weft_free(ch);
	return 0;
}

TEST(values_of_any_type)
{
	EXPECT_EQ(weft_run(structs), 0);
}

/* ---- the default is taken only if nothing was ready at one moment */

/* Two parties meet in each round, and then go on at the same time, but for a few steps. */
struct meeting {
	weft_chan(int) a, b;
	bool closes;
	int64_t round, done;
};

struct mover {
	struct meeting *m;
	uint64_t seed;
};

static void
spin_until(int64_t *word, int64_t value)
{
	for (int n = 1; load(word) < value; n++) {
		if (n % 256 == 0)
			weft_yield();
		if (n % 16384 == 0)
			sched_yield(); /* the other one may need this CPU */
	}
}

static void
a_few_steps(uint64_t *r)
{
	volatile uint64_t n = test_rand(r) % 64;

	while (n > 0)
		n--;
}

/* First the one becomes ready, then the other is emptied: at every moment one is ready. */
static int
mover(struct mover *a)
{
	struct meeting *m = a->m;
	uint64_t r = a->seed;

	for (int64_t round = 1;; round++) {
		spin_until(&m->round, round);
		if (!m->b)
			return 0;
		a_few_steps(&r);
		if (m->closes)
			weft_close(m->b);
		else
			weft_try_send(m->b, 2);
		weft_try_recv(m->a, NULL);
		store(&m->done, round);
	}
}

static int
always_one(bool closes)
{
	struct meeting m = {.a = weft_make(int, 1), .b = weft_make(int, 1), .closes = closes};
	uint64_t r = test_seed();
	struct weft_wg wg = {0};
	int64_t round;

	weft_wg_go(&wg, mover, &m, test_rand(&r));
	for (round = 1; round < scaled(closes ? 15000 : 40000); round++) {
		weft_chan(int) first = round % 2 ? m.a : m.b, second = round % 2 ? m.b : m.a;
		int v, rc;

		EXPECT_EQ(weft_send(m.a, 1), 0);
		store(&m.round, round);
		a_few_steps(&r);
		if (round % 4 < 2)
			rc = weft_select(WEFT_RECV(first, &v), WEFT_RECV(second, &v), WEFT_DEFAULT);
		else
			rc = weft_select(WEFT_DEFAULT, WEFT_RECV(first, &v), WEFT_RECV(NIL, &v),
					 WEFT_RECV(second, &v));
		if (rc == (round % 4 < 2 ? 2 : 0))
			test_fail(__FILE__, __LINE__, "round %lld: nothing ready",
				  (long long)round);
		spin_until(&m.done, round);
		while (weft_try_recv(m.a, &v) > 0 || weft_try_recv(m.b, &v) > 0)
			;
		if (closes) {
			weft_free(m.b);
			m.b = weft_make(int, 1);
		}
	}
	weft_free(m.b);
	m.b = NULL;
	store(&m.round, round);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(m.a);
	return 0;
}

static int
always_a_value(void)
{
	return always_one(false);
}

static int
always_closed(void)
{
	return always_one(true);
}

/* Go's TestNonblockSelectRace, in both orders of the cases. */
/* SEL-5 */
TEST(default_is_not_taken_while_a_value_moves)
{
	EXPECT_EQ(weft_run(always_a_value), 0);
}

TEST(default_is_not_taken_while_a_channel_closes)
{
	EXPECT_EQ(weft_run(always_closed), 0);
}

/* ---- contention: each value arrives once */

enum { SENDERS = 4, RECEIVERS = 4, CHANS = 4 };

struct contest {
	weft_chan(int) * ch;
	int id, n;
	unsigned char *seen; /* by value */
	int *left;
};

static int
contest_send(struct contest *a)
{
	uint64_t r = test_seed() + (uint64_t)a->id;

	for (int i = 0; i < a->n; i++) {
		int v = a->id * a->n + i, k = (int)(test_rand(&r) % CHANS), rc;

		switch (test_rand(&r) % 3) {
		case 0:
			rc = weft_send(a->ch[k], v);
			break;
		case 1:
			rc = weft_select(WEFT_SEND(a->ch[k], v),
					 WEFT_SEND(a->ch[(k + 1) % CHANS], v),
					 WEFT_SEND(a->ch[k], v));
			break;
		default:
			rc = weft_select(WEFT_SEND(a->ch[0], v), WEFT_SEND(a->ch[1], v),
					 WEFT_SEND(a->ch[2], v), WEFT_SEND(a->ch[3], v));
		}
		EXPECT(rc >= 0);
	}
	if (add(a->left, -1) == 0)
		for (int i = 0; i < CHANS; i++)
			EXPECT_EQ(weft_close(a->ch[i]), 0);
	return 0;
}

static int
contest_recv(struct contest *a)
{
	int rc, got[CHANS], ok[CHANS], closed = 0;
	weft_chan(int) ch[CHANS];

	memcpy(ch, a->ch, sizeof(ch));
	while (closed < CHANS) {
		for (int i = 0; i < CHANS; i++) {
			got[i] = -1;
			ok[i] = -1;
		}
		rc = weft_select(
		    WEFT_RECV(ch[0], &got[0], &ok[0]), WEFT_RECV(ch[1], &got[1], &ok[1]),
		    WEFT_RECV(ch[2], &got[2], &ok[2]), WEFT_RECV(ch[3], &got[3], &ok[3]));
		EXPECT(rc >= 0 && rc < CHANS);
		for (int i = 0; i < CHANS; i++) /* nothing else was touched */
			EXPECT(i == rc || (got[i] == -1 && ok[i] == -1));
		if (ok[rc] == 0) {
			EXPECT_EQ(got[rc], 0);
			ch[rc] = NULL;
			closed++;
			continue;
		}
		EXPECT_EQ(ok[rc], 1);
		EXPECT_EQ(add(&a->seen[got[rc]], 1), 1);
	}
	return 0;
}

struct sending {
	struct contest c;
};

static int
sending(struct sending *a)
{
	return contest_send(&a->c);
}

struct receiving {
	struct contest c;
};

static int
receiving(struct receiving *a)
{
	return contest_recv(&a->c);
}

static int
contest(void)
{
	for (int cap = 0; cap < 3; cap++) {
		int n = scaled(8000), left = SENDERS;
		unsigned char *seen = calloc((size_t)(n * SENDERS), 1);
		weft_chan(int) ch[CHANS];
		struct weft_wg wg = {0};

		for (int i = 0; i < CHANS; i++)
			ch[i] = weft_make(int, (size_t)cap);
		for (int i = 0; i < SENDERS; i++)
			weft_wg_go(&wg, sending, {ch, i, n, seen, &left});
		for (int i = 0; i < RECEIVERS; i++)
			weft_wg_go(&wg, receiving, {ch, i, n, seen, &left});
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int i = 0; i < n * SENDERS; i++)
			EXPECT_EQ(seen[i], 1);
		for (int i = 0; i < CHANS; i++) {
			expect_idle(ch[i]);
			weft_free(ch[i]);
		}
		free(seen);
	}
	return 0;
}

/* SEL-1 */
TEST(one_case_fires_and_each_value_arrives_once)
{
	EXPECT_EQ(weft_run(contest), 0);
}

/* Go's test/chan/doubleselect: a sequence sent by a four-way select arrives in order. */
struct sequence {
	weft_chan(int) a, b, c, d;
	int n;
};

static int
sequence(struct sequence *s)
{
	for (int i = 0; i < s->n; i++)
		EXPECT(weft_select(WEFT_SEND(s->a, i), WEFT_SEND(s->b, i), WEFT_SEND(s->c, i),
				   WEFT_SEND(s->d, i)) >= 0);
	weft_close(s->a);
	weft_close(s->b);
	weft_close(s->c);
	weft_close(s->d);
	return 0;
}

struct mux {
	weft_chan(int) in, out;
	int *left;
};

static int
mux(struct mux *m)
{
	int v;

	while (weft_recv(m->in, &v) > 0)
		EXPECT_EQ(weft_send(m->out, v), 0);
	if (add(m->left, -1) == 0)
		weft_close(m->out);
	return 0;
}

static int
double_select(void)
{
	weft_chan(int) c[4], out = weft_make(int, 0);
	int n = scaled(40000), v, left = 4, got = 0;
	unsigned char *seen = calloc((size_t)n, 1);
	struct weft_wg wg = {0};

	for (int i = 0; i < 4; i++) {
		c[i] = weft_make(int, 0);
		weft_wg_go(&wg, mux, c[i], out, &left);
	}
	weft_wg_go(&wg, sequence, c[0], c[1], c[2], c[3], n);
	while (weft_recv(out, &v) > 0) {
		EXPECT_EQ(seen[v]++, 0);
		got++;
	}
	EXPECT_EQ(got, n);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 4; i++)
		weft_free(c[i]);
	weft_free(out);
	free(seen);
	return 0;
}

TEST(two_cases_never_both_fire)
{
	EXPECT_EQ(weft_run(double_select), 0);
}

/* The frame of a select is gone as soon as it returns; the commit must not look at it: SEL-3. */
static int
brief_selects(void)
{
	weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0), c = weft_make(int, 0);
	struct weft_wg wg = {0};
	int n = scaled(20000), fired = -1, v, ok;

	for (int i = 0; i < n; i++) {
		weft_wg_go(&wg, selector, a, i % 2 ? b : c, 0, &fired, &v, &ok);
		EXPECT_EQ(weft_send(i % 3 ? a : i % 2 ? b : c, i), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(v, i);
		EXPECT_EQ(fired, i % 3 ? 0 : 1);
	}
	weft_free(a);
	weft_free(b);
	weft_free(c);
	return 0;
}

TEST(select_frames_come_and_go)
{
	EXPECT_EQ(weft_run(brief_selects), 0);
}
