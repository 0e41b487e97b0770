/* SPDX-License-Identifier: MIT */
/* t_cond.c: signals are neither lost nor doubled, first come first; scopes; misuse. fence-mode */
#include "integ/lockhelp.h"

struct shared {
	struct weft_mutex mx;
	struct weft_cond c;
	int woken; /* under mx, as all below */
	int next;
	bool open;
};

struct waits {
	struct shared *s;
	int i; /* its turn, or -1 */
};

static int
waits(struct waits *a)
{
	EXPECT_EQ(weft_lock(&a->s->mx), 0);
	EXPECT_EQ(weft_wait(&a->s->c, &a->s->mx), 0);
	EXPECT(on_my_stack(wf_mutex_holder(load(&a->s->mx.word_))));
	if (a->i >= 0)
		EXPECT_EQ(a->s->next++, a->i);
	a->s->woken++;
	weft_unlock(&a->s->mx);
	return 0;
}

static int
woken(struct shared *s)
{
	int n;

	EXPECT_EQ(weft_lock(&s->mx), 0);
	n = s->woken;
	weft_unlock(&s->mx);
	return n;
}

static void
await_woken(struct shared *s, int n)
{
	while (woken(s) != n)
		weft_yield();
}

/* ---- signals */

static int
one_each(void)
{
	enum { N = 10 };
	struct shared s = {0};
	struct weft_wg wg = {0};

	weft_signal(&s.c); /* nobody waits: it is not kept */
	weft_broadcast(&s.c);
	for (int i = 0; i < N; i++)
		EXPECT(weft_wg_go(&wg, waits, &s, -1) > 0);
	await_line(&s.c, N);
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(woken(&s), i);
		if (i % 2)
			EXPECT_EQ(weft_lock(&s.mx), 0);
		weft_signal(&s.c);
		if (i % 2)
			weft_unlock(&s.mx);
		await_woken(&s, i + 1);
		EXPECT_EQ(in_line(&s.c), N - i - 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.c.word_, 0);
	weft_signal(&s.c);
	return 0;
}

/* COND-1 */
TEST(each_signal_wakes_one)
{
	EXPECT_EQ(weft_run(one_each), 0);
}

static int
generations(void)
{
	enum { N = 100 };
	struct shared s = {0};
	struct weft_wg wg = {0};

	for (int i = 0; i < N; i++) {
		EXPECT(weft_wg_go(&wg, waits, &s, i) > 0);
		await_line(&s.c, (uint32_t)i + 1);
	}
	for (int i = 0; i < N; i++) {
		weft_signal(&s.c);
		await_woken(&s, i + 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.next, N);
	return 0;
}

TEST(who_waits_longest_is_signalled_first)
{
	EXPECT_EQ(weft_run(generations), 0);
}

struct rounds {
	struct shared *s;
	int *asleep; /* under mx */
	int times;
};

static int
rounds(struct rounds *a)
{
	EXPECT_EQ(weft_lock(&a->s->mx), 0);
	for (int i = 0; i < a->times; i++) {
		++*a->asleep;
		EXPECT_EQ(weft_wait(&a->s->c, &a->s->mx), 0);
		a->s->woken++;
	}
	weft_unlock(&a->s->mx);
	return 0;
}

static int
broadcasts(void)
{
	enum { N = 200, TIMES = 5 };
	struct shared s = {0};
	struct weft_wg wg = {0};
	int asleep = 0;

	for (int i = 0; i < N; i++)
		EXPECT(weft_wg_go(&wg, rounds, &s, &asleep, TIMES) > 0);
	for (int i = 0; i < TIMES; i++) {
		EXPECT_EQ(weft_lock(&s.mx), 0);
		while (asleep < N * (i + 1)) {
			weft_unlock(&s.mx);
			weft_yield();
			EXPECT_EQ(weft_lock(&s.mx), 0);
		}
		EXPECT_EQ(s.woken, N * i);
		weft_broadcast(&s.c);
		weft_unlock(&s.mx);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.woken, N * TIMES);
	EXPECT_EQ(s.c.word_, 0);
	return 0;
}

TEST(broadcast_wakes_everybody_once)
{
	EXPECT_EQ(weft_run(broadcasts), 0);
}

/* ---- no signal is lost: queues of one place between producers and consumers */

enum { EMPTY = -1 };

struct queue {
	struct weft_mutex mx;
	struct weft_cond full, room;
	int value;
	long sum;
	int taken;
};

static void
produce(struct queue *q, int n)
{
	for (int i = 1; i <= n; i++) {
		EXPECT_EQ(weft_lock(&q->mx), 0);
		while (q->value != EMPTY)
			EXPECT_EQ(weft_wait(&q->room, &q->mx), 0);
		q->value = i;
		weft_signal(&q->full);
		weft_unlock(&q->mx);
	}
}

static void
consume(struct queue *q, int n)
{
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(weft_lock(&q->mx), 0);
		while (q->value == EMPTY)
			EXPECT_EQ(weft_wait(&q->full, &q->mx), 0);
		q->sum += q->value;
		q->value = EMPTY;
		q->taken++;
		weft_unlock(&q->mx);
		weft_signal(&q->room); /* also without the mutex */
	}
}

struct produces {
	struct queue *q;
	int n;
};

static int
produces(struct produces *a)
{
	produce(a->q, a->n);
	return 0;
}

struct consumes {
	struct queue *q;
	int n;
};

static int
consumes(struct consumes *a)
{
	consume(a->q, a->n);
	return 0;
}

static void *
produces_on_thread(void *arg)
{
	produces(arg);
	return NULL;
}

static void *
consumes_on_thread(void *arg)
{
	consumes(arg);
	return NULL;
}

static int
queue_of_one(void)
{
	enum { PAIRS = 5 };
	struct queue q = {.value = EMPTY};
	struct weft_wg wg = {0};
	int n = scaled(1000);
	struct produces p = {&q, n};
	struct consumes c = {&q, n};
	pthread_t t[2];

	for (int i = 0; i < PAIRS; i++) {
		EXPECT(weft_wg_go(&wg, produces, &q, n) > 0);
		EXPECT(weft_wg_go(&wg, consumes, &q, n) > 0);
	}
	t[0] = start_thread(produces_on_thread, &p);
	t[1] = start_thread(consumes_on_thread, &c);
	join_thread(t[0]);
	join_thread(t[1]);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(q.taken, (PAIRS + 1) * n);
	EXPECT_EQ(q.sum, (PAIRS + 1) * ((long)n * (n + 1) / 2));
	return 0;
}

/* COND-1, COND-3: the mutex is contended, so that many are signalled before they sleep */
TEST(no_signal_is_lost_between_unlock_and_sleep)
{
	EXPECT_EQ(weft_run(queue_of_one), 0);
}

/* Three in turn, by one condition each waits for another value of. */
struct takes_turn {
	struct shared *s;
	int me, of, times;
};

static int
takes_turn(struct takes_turn *a)
{
	EXPECT_EQ(weft_lock(&a->s->mx), 0);
	for (int i = 0; i < a->times; i++) {
		while (a->s->next % a->of != a->me)
			EXPECT_EQ(weft_wait(&a->s->c, &a->s->mx), 0);
		a->s->next++;
		weft_broadcast(&a->s->c);
	}
	weft_unlock(&a->s->mx);
	return 0;
}

static int
turns(void)
{
	struct shared s = {0};
	struct weft_wg wg = {0};
	int times = scaled(1000);

	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&wg, takes_turn, &s, i, 3, times) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.next, 3 * times);
	return 0;
}

TEST(three_take_turns)
{
	EXPECT_EQ(weft_run(turns), 0);
}

/* ---- scopes */

struct waits_scoped {
	struct shared *s;
	int *got, *gave_up;
};

static int
waits_scoped(struct waits_scoped *a)
{
	int rc;

	EXPECT_EQ(weft_lock(&a->s->mx), 0);
	rc = weft_wait(&a->s->c, &a->s->mx);
	EXPECT(on_my_stack(wf_mutex_holder(load(&a->s->mx.word_))));
	EXPECT(rc == 0 || rc == -ECANCELED);
	add(rc == 0 ? a->got : a->gave_up, 1);
	weft_unlock(&a->s->mx);
	return 0;
}

static int
cancel_in_line(void)
{
	struct shared s = {0};
	struct weft_wg wg = {0};
	int got = 0, gave_up = 0;

	EXPECT(weft_wg_go(&wg, waits, &s, -1) > 0);
	await_line(&s.c, 1);
	weft_group(g, NULL) {
		for (int i = 0; i < 3; i++)
			EXPECT(weft_go_in(g, waits_scoped, &s, &got, &gave_up) > 0);
		await_line(&s.c, 4);
		EXPECT_EQ(weft_lock(&s.mx), 0);
		weft_cancel(g);
		yield_often(10);
		EXPECT_EQ(load(&gave_up), 0); /* they want the mutex first */
		EXPECT_EQ(weft_wait(&s.c, &s.mx), -ECANCELED);
		EXPECT(on_my_stack(wf_mutex_holder(load(&s.mx.word_))));
		weft_unlock(&s.mx);
	}
	EXPECT_EQ(got, 0);
	EXPECT_EQ(gave_up, 3);
	EXPECT_EQ(in_line(&s.c), 1);
	weft_signal(&s.c);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(cancel_ends_the_wait_with_the_mutex_locked)
{
	EXPECT_EQ(weft_run(cancel_in_line), 0);
}

static int
expired(void)
{
	struct shared s = {0};

	EXPECT_EQ(weft_lock(&s.mx), 0);
	weft_timeout(0) {
		EXPECT_EQ(weft_wait(&s.c, &s.mx), -ETIMEDOUT);
	}
	EXPECT(on_my_stack(wf_mutex_holder(s.mx.word_)));
	weft_unlock(&s.mx);
	EXPECT_EQ(in_line(&s.c), 0);
	return 0;
}

TEST(expired_scope_ends_the_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

/* Two wait, one of them is cancelled while one signal comes: exactly one has got it. */
static int
cancel_races_signal(void)
{
	struct weft_wg wg = {0}, canceller = {0};

	for (int i = 0; i < scaled(1000); i++) {
		struct shared s = {0};
		int got = 0, gave_up = 0;

		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, waits_scoped, &s, &got, &gave_up) > 0);
			await_line(&s.c, 1);
			EXPECT(weft_wg_go(&wg, waits, &s, -1) > 0);
			await_line(&s.c, 2);
			EXPECT(weft_wg_go(&canceller, cancels, g) > 0);
			yield_often(i % 4);
			if (i % 3 == 0)
				EXPECT_EQ(weft_lock(&s.mx), 0);
			weft_signal(&s.c);
			if (i % 3 == 0)
				weft_unlock(&s.mx);
			wait_shielded(&canceller);
		}
		EXPECT_EQ(got + gave_up, 1);
		if (got == 0)
			await_woken(&s, 1);
		yield_often(2);
		EXPECT_EQ(got + woken(&s), 1);
		weft_signal(&s.c); /* for the other, if it still waits */
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(s.woken, 1);
	}
	return 0;
}

/* COND-2 */
TEST(signal_for_a_cancelled_waiter_goes_to_the_next)
{
	EXPECT_EQ(weft_run(cancel_races_signal), 0);
}

struct shielded {
	struct shared *s;
};

static int
shielded(struct shielded *a)
{
	weft_shield
	{
		weft_group(g, NULL) {
			EXPECT_EQ(weft_lock(&a->s->mx), 0);
			while (!a->s->open)
				EXPECT_EQ(weft_wait(&a->s->c, &a->s->mx), 0);
			a->s->woken++;
			weft_unlock(&a->s->mx);
		}
	}
	return 0;
}

static int
woken_for_nothing(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(1000); i++) {
		struct shared s = {0};

		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, shielded, &s) > 0);
			await_line(&s.c, 1);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			yield_often(i % 4);
			EXPECT_EQ(weft_lock(&s.mx), 0);
			s.open = true;
			weft_unlock(&s.mx);
			weft_signal(&s.c); /* the only one */
			wait_shielded(&wg);
		}
		EXPECT_EQ(s.woken, 1);
	}
	return 0;
}

TEST(cancel_of_a_shielded_waiter_loses_no_signal)
{
	EXPECT_EQ(weft_run(woken_for_nothing), 0);
}

/* ---- misuse */

static int
wait_unlocked(void)
{
	struct shared s = {0};

	weft_wait(&s.c, &s.mx);
	return 0;
}

TEST(wait_without_the_mutex_is_fatal)
{
	expect_fatal(wait_unlocked, "fatal: unlock of an unlocked mutex");
}

/* ---- the life of the object */

struct frees {
	struct shared *s;
};

static int
frees(struct frees *a)
{
	struct shared *s = a->s;

	EXPECT_EQ(weft_lock(&s->mx), 0);
	while (!s->open)
		EXPECT_EQ(weft_wait(&s->c, &s->mx), 0);
	weft_unlock(&s->mx);
	memset(s, 0xff, sizeof(*s));
	free(s);
	return 0;
}

static int
freed_after_wait(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(3000); i++) {
		struct shared *s = calloc(1, sizeof(*s));

		EXPECT(weft_wg_go(&wg, frees, s) > 0);
		yield_often(i % 3);
		EXPECT_EQ(weft_lock(&s->mx), 0);
		s->open = true;
		if (i % 2)
			weft_signal(&s->c);
		else
			weft_broadcast(&s->c);
		weft_unlock(&s->mx);
		if (i % 8 == 0)
			EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* SYNC-1 */
TEST(the_waiter_may_free_it_all)
{
	EXPECT_EQ(weft_run(freed_after_wait), 0);
}

static void
start_three(void *s, struct weft_wg *wg)
{
	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(wg, takes_turn, s, i, 3, 50) > 0);
}

TEST(waiting_allocates_nothing)
{
	static struct shared s;

	expect_no_heap_use(start_three, &s);
}

/* ---- no run, and the end of one */

static struct shared kept;

static int
waits_for_ever(void)
{
	weft_lock(&kept.mx);
	weft_wait(&kept.c, &kept.mx);
	return 0;
}

static int
leaves_a_waiter(void)
{
	EXPECT(weft_go(waits_for_ever) > 0);
	await_line(&kept.c, 1);
	return 0;
}

static int
uses_it(void)
{
	struct weft_wg wg = {0};

	kept.woken = 0;
	EXPECT(weft_wg_go(&wg, waits, &kept, -1) > 0);
	await_line(&kept.c, 1);
	weft_signal(&kept.c);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(outside_a_run_nobody_waits)
{
	weft_signal(&kept.c);
	weft_broadcast(&kept.c);
	EXPECT_EQ(weft_wait(&kept.c, &kept.mx), -ENOTSUP);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	weft_signal(&kept.c);
	weft_broadcast(&kept.c);
	EXPECT_EQ(weft_run(uses_it), 0);
}

static int
locks_and_waits(void)
{
	int rc;

	EXPECT_EQ(weft_lock(&kept.mx), 0);
	rc = weft_wait(&kept.c, &kept.mx);
	EXPECT(!wf_stack_has(wf_mutex_holder(load(&kept.mx.word_))) &&
	       wf_mutex_holder(load(&kept.mx.word_)));
	weft_unlock(&kept.mx);
	return rc;
}

static struct thread_call waiter = {.fn = locks_and_waits};

static int
ends_under_a_thread(void)
{
	start_call(&waiter);
	await_line(&kept.c, 1);
	return 0;
}

static int
ends_with_the_mutex(void)
{
	start_call(&waiter);
	await_line(&kept.c, 1);
	EXPECT_EQ(weft_lock(&kept.mx), 0);
	return 0;
}

/* It has the mutex all the same: a goroutine that had it is gone. */
TEST(end_of_the_run_ends_the_wait_of_a_thread)
{
	EXPECT_EQ(weft_run(ends_under_a_thread), 0);
	EXPECT_EQ(join_call(&waiter), -ENOTSUP);
	EXPECT_EQ(weft_run(ends_with_the_mutex), 0);
	EXPECT_EQ(join_call(&waiter), -ENOTSUP);
	EXPECT_EQ(weft_run(uses_it), 0);
}
