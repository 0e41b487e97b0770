/* SPDX-License-Identifier: MIT */
/* t_barrier.c: all or none go on; who leaves early is not counted. fence-mode */
#include "integ/lockhelp.h"

struct shared {
	struct weft_barrier b;
	int *round; /* one for each participant; not atomic */
	int n, ones;
};

static void
go_round(struct shared *s, int i, int times)
{
	for (int r = 1; r <= times; r++) {
		int rc;

		s->round[i] = r;
		rc = weft_barrier_wait(&s->b);
		EXPECT(rc == 0 || rc == 1);
		add(&s->ones, rc);
		for (int k = 0; k < s->n; k++)
			EXPECT_EQ(s->round[k], r);
		EXPECT(weft_barrier_wait(&s->b) >= 0);
	}
}

struct participates {
	struct shared *s;
	int i, times;
};

static int
participates(struct participates *a)
{
	go_round(a->s, a->i, a->times);
	return 0;
}

static void *
participates_on_thread(void *arg)
{
	participates(arg);
	return NULL;
}

static void
rounds_of(int n, int times)
{
	int round[16] = {0};
	struct shared s = {.round = round, .n = n};
	struct participates on_thread = {&s, n - 1, times};
	struct weft_wg wg = {0};
	pthread_t t;

	EXPECT_EQ(weft_barrier_init(&s.b, n), 0);
	for (int i = 0; i < n - 1; i++)
		EXPECT(weft_wg_go(&wg, participates, &s, i, times) > 0);
	t = start_thread(participates_on_thread, &on_thread);
	join_thread(t);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.ones, times);
}

static int
rounds(void)
{
	for (int n = 1; n <= 16; n += 5)
		rounds_of(n, scaled(300));
	return 0;
}

/* BAR-1 */
TEST(all_wait_for_all_again_and_again)
{
	EXPECT_EQ(weft_run(rounds), 0);
}

static int
limits(void)
{
	struct weft_barrier b = {0};

	EXPECT_EQ(weft_barrier_wait(&b), -EINVAL);
	EXPECT_EQ(weft_barrier_init(&b, 0), -EINVAL);
	EXPECT_EQ(weft_barrier_init(&b, -1), -EINVAL);
	EXPECT_EQ(weft_barrier_init(&b, 1), 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_barrier_wait(&b), 1);
	return 0;
}

TEST(barrier_of_one_and_of_none)
{
	EXPECT_EQ(weft_run(limits), 0);
}

/* ---- scopes */

struct arrives {
	struct weft_barrier *b;
	int *passed, *ones, *left;
};

static int
arrives(struct arrives *a)
{
	int rc = weft_barrier_wait(a->b);

	if (rc < 0) {
		EXPECT_EQ(rc, -ECANCELED);
		add(a->left, 1);
	} else {
		add(a->passed, 1);
		add(a->ones, rc);
	}
	return 0;
}

/* Of three, two are there and one of these leaves: the third waits for another. */
static int
one_leaves(void)
{
	struct weft_barrier b;
	struct weft_wg wg = {0};
	int passed = 0, ones = 0, left = 0;

	EXPECT_EQ(weft_barrier_init(&b, 3), 0);
	EXPECT(weft_wg_go(&wg, arrives, &b, &passed, &ones, &left) > 0);
	await_line(&b, 1);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, arrives, &b, &passed, &ones, &left) > 0);
		await_line(&b, 2);
		weft_cancel(g);
		/* From now on it does not count, whether it has gone yet or not. */
		EXPECT(weft_wg_go(&wg, arrives, &b, &passed, &ones, &left) > 0);
	}
	EXPECT_EQ(left, 1);
	await_line(&b, 2);
	EXPECT_EQ(passed, 0);
	EXPECT(weft_barrier_wait(&b) >= 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(passed, 2);
	EXPECT_EQ(in_line(&b), 0);
	return 0;
}

static int
leaves_often(void)
{
	for (int i = 0; i < scaled(300); i++)
		one_leaves();
	return 0;
}

/* BAR-1 */
TEST(who_leaves_early_is_subtracted)
{
	EXPECT_EQ(weft_run(leaves_often), 0);
}

static int
expired(void)
{
	struct weft_barrier b;

	EXPECT_EQ(weft_barrier_init(&b, 2), 0);
	weft_timeout(0) {
		EXPECT_EQ(weft_barrier_wait(&b), -ETIMEDOUT);
		EXPECT_EQ(weft_barrier_wait(&b), -ETIMEDOUT);
	}
	EXPECT_EQ(in_line(&b), 0);
	return 0;
}

TEST(expired_scope_ends_the_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

struct shielded {
	struct weft_barrier *b;
	int *passed, *ones, *left;
};

static int
shielded(struct shielded *s)
{
	struct arrives a = {s->b, s->passed, s->ones, s->left};

	weft_shield
	{
		weft_group(g, NULL) {
			arrives(&a);
		}
	}
	return 0;
}

/* Cancels and arrivals at once: those who pass do so by fours, one of them with a 1. */
static int
cancel_races(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(600); i++) {
		struct weft_barrier b;
		int passed = 0, ones = 0, left = 0;

		EXPECT_EQ(weft_barrier_init(&b, 4), 0);
		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, arrives, &b, &passed, &ones, &left) > 0);
			EXPECT(weft_go_in(g, arrives, &b, &passed, &ones, &left) > 0);
			EXPECT(weft_go_in(g, shielded, &b, &passed, &ones, &left) > 0);
			if (i % 2)
				await_line(&b, 3);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			yield_often(i % 4);
			EXPECT(weft_wg_go(&wg, arrives, &b, &passed, &ones, &left) > 0);
			/* As many as are missing, so that everybody gets through. */
			while (load(&passed) + load(&left) < 4)
				if (in_line(&b) == 2 && load(&left) == 2) {
					EXPECT(weft_wg_go(&wg, arrives, &b, &passed, &ones, &left) >
					       0);
					EXPECT(weft_wg_go(&wg, arrives, &b, &passed, &ones, &left) >
					       0);
					wait_shielded(&wg);
				} else {
					weft_yield();
				}
			wait_shielded(&wg);
		}
		EXPECT_EQ(passed, 4);
		EXPECT_EQ(ones, 1);
		EXPECT(left == 0 || left == 2);
	}
	return 0;
}

/* BAR-1: also one that was woken by a cancel that does not concern it counts */
TEST(cancel_and_arrival_at_once_lose_nobody)
{
	EXPECT_EQ(weft_run(cancel_races), 0);
}

/* ---- the life of the object */

struct frees {
	struct weft_barrier *b;
};

/* Whoever gets the 1 frees it: nobody touches it after all have arrived. */
static int
frees(struct frees *a)
{
	int rc = weft_barrier_wait(a->b);

	EXPECT(rc >= 0);
	if (rc == 1) {
		memset(a->b, 0xff, sizeof(*a->b));
		free(a->b);
	}
	return 0;
}

static int
freed_after_wait(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(3000); i++) {
		struct weft_barrier *b = malloc(sizeof(*b));

		EXPECT_EQ(weft_barrier_init(b, 3), 0);
		for (int k = 0; k < 3; k++)
			EXPECT(weft_wg_go(&wg, frees, b) > 0);
		if (i % 8 == 0)
			EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* BAR-2, SYNC-1 */
TEST(barrier_may_be_freed_by_the_first_to_return)
{
	EXPECT_EQ(weft_run(freed_after_wait), 0);
}

static void
start_eight(void *s, struct weft_wg *wg)
{
	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(wg, participates, s, i, 20) > 0);
}

TEST(waiting_allocates_nothing)
{
	static int round[8];
	static struct shared s = {.round = round, .n = 8};

	EXPECT_EQ(weft_barrier_init(&s.b, 8), 0);
	expect_no_heap_use(start_eight, &s);
}

/* ---- no run, and from run to run */

static struct weft_barrier kept;

static int
arrives_at_kept(void)
{
	return weft_barrier_wait(&kept) < 0;
}

static int
leaves_a_waiter(void)
{
	EXPECT(weft_go(arrives_at_kept) > 0);
	await_line(&kept, 1);
	return 0;
}

static int
both_arrive(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, arrives_at_kept) > 0);
	await_line(&kept, 1); /* the one of the last run is not counted */
	EXPECT_EQ(weft_barrier_wait(&kept), 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

static int
waits_at_kept(void)
{
	return weft_barrier_wait(&kept);
}

static struct thread_call waiter = {.fn = waits_at_kept};

static int
ends_under_a_thread(void)
{
	start_call(&waiter);
	await_line(&kept, 1);
	return 0;
}

TEST(who_waited_in_an_earlier_run_is_not_counted)
{
	EXPECT_EQ(weft_barrier_init(&kept, 2), 0);
	EXPECT_EQ(weft_barrier_wait(&kept), -ENOTSUP);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	EXPECT_EQ(weft_run(both_arrive), 0);
	EXPECT_EQ(weft_run(ends_under_a_thread), 0);
	EXPECT_EQ(join_call(&waiter), -ENOTSUP);
	EXPECT_EQ(weft_run(both_arrive), 0);
}
