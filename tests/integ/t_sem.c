/* SPDX-License-Identifier: MIT */
/* t_sem.c: weighted semaphores: never too many, first come first, scopes, misuse. fence-mode */
#include "integ/lockhelp.h"

/* ---- never more than there are */

struct shared {
	struct weft_sem s;
	int64_t inside, most;
};

static void
use(struct shared *sh, int times, uint64_t rand)
{
	for (int i = 0; i < times; i++) {
		int64_t n = 1 + (int64_t)(test_rand(&rand) % (uint64_t)sh->most);

		if (i % 3 != 0 || weft_try_acquire(&sh->s, n) != 1)
			EXPECT_EQ(weft_acquire(&sh->s, n), 0);
		EXPECT(add(&sh->inside, n) <= sh->most);
		if (i % 8 == 0)
			weft_yield();
		add(&sh->inside, -n);
		weft_release(&sh->s, n);
	}
}

struct uses {
	struct shared *sh;
	int times, i;
};

static int
uses(struct uses *a)
{
	use(a->sh, a->times, test_seed() + (uint64_t)a->i);
	return 0;
}

static void *
uses_on_thread(void *arg)
{
	uses(arg);
	return NULL;
}

static void
hammer(int64_t most)
{
	struct shared sh = {.most = most};
	struct uses u = {&sh, scaled(1000), 99};
	struct weft_wg wg = {0};
	pthread_t t;

	EXPECT_EQ(weft_sem_init(&sh.s, most), 0);
	for (int i = 0; i < 10; i++)
		EXPECT(weft_wg_go(&wg, uses, &sh, u.times, i) > 0);
	t = start_thread(uses_on_thread, &u);
	join_thread(t);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_try_acquire(&sh.s, most), 1);
	EXPECT_EQ(sh.s.word_, 0);
}

static int
hammers(void)
{
	hammer(1);
	hammer(7);
	return 0;
}

/* SEM-1 */
TEST(never_more_are_acquired_than_there_are)
{
	EXPECT_EQ(weft_run(hammers), 0);
}

/* ---- the line */

struct takes {
	struct weft_sem *s;
	int64_t n;
	int i, *next; /* in which turn; next NULL: any */
	int *got;
};

static int
takes(struct takes *a)
{
	EXPECT_EQ(weft_acquire(a->s, a->n), 0);
	if (a->next)
		EXPECT_EQ(__atomic_fetch_add(a->next, 1, __ATOMIC_SEQ_CST), a->i);
	add(a->got, 1);
	return 0;
}

static int
tries(void)
{
	struct weft_sem s;

	EXPECT_EQ(weft_sem_init(&s, 2), 0);
	EXPECT_EQ(weft_try_acquire(&s, 3), 0);
	EXPECT_EQ(weft_try_acquire(&s, 1), 1);
	EXPECT_EQ(weft_try_acquire(&s, 2), 0);
	EXPECT_EQ(weft_try_acquire(&s, 1), 1);
	EXPECT_EQ(weft_try_acquire(&s, 1), 0);
	EXPECT_EQ(weft_try_acquire(&s, 0), 1);
	weft_release(&s, 2);
	EXPECT_EQ(weft_acquire(&s, 2), 0);
	EXPECT_EQ(weft_acquire(&s, 0), 0);
	weft_release(&s, 0);
	EXPECT_EQ(weft_try_acquire(&s, -1), -EINVAL);
	EXPECT_EQ(weft_acquire(&s, -1), -EINVAL);
	EXPECT_EQ(weft_sem_init(&s, -1), -EINVAL);
	EXPECT_EQ(weft_sem_init(&s, INT64_MAX), 0);
	EXPECT_EQ(weft_acquire(&s, INT64_MAX), 0);
	EXPECT_EQ(weft_try_acquire(&s, 1), 0);
	weft_release(&s, INT64_MAX);
	EXPECT_EQ(weft_acquire(&s, 1), 0);
	return 0;
}

TEST(tries_and_limits)
{
	EXPECT_EQ(weft_run(tries), 0);
}

static int
in_order(void)
{
	enum { N = 20 };
	struct weft_sem s = {0};
	struct weft_wg wg = {0};
	int next = 0, got = 0;

	for (int i = 0; i < N; i++) {
		EXPECT(weft_wg_go(&wg, takes, &s, 1 + i % 3, i, &next, &got) > 0);
		await_line(&s, (uint32_t)i + 1);
	}
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(weft_try_acquire(&s, 1), 0);
		for (int k = 0; k < 1 + i % 3; k++) {
			EXPECT_EQ(load(&got), i);
			weft_release(&s, 1);
		}
		await(&got, i + 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.word_, 0);
	return 0;
}

/* SEM-2 */
TEST(first_come_first_served)
{
	EXPECT_EQ(weft_run(in_order), 0);
}

struct small {
	struct weft_sem *s;
	int *stop;
};

static int
small(struct small *a)
{
	while (!load(a->stop)) {
		EXPECT_EQ(weft_acquire(a->s, 1), 0);
		weft_yield();
		weft_release(a->s, 1);
	}
	return 0;
}

static int
large(void)
{
	enum { N = 4 };
	struct weft_sem s = {0};
	struct weft_wg wg = {0};
	int stop = 0;

	EXPECT_EQ(weft_sem_init(&s, N), 0);
	for (int i = 0; i < 2 * N; i++)
		EXPECT(weft_wg_go(&wg, small, &s, &stop) > 0);
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(weft_acquire(&s, N), 0); /* ends: that is the test */
		weft_release(&s, N);
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_try_acquire(&s, N), 1);
	return 0;
}

/* SEM-2 */
TEST(large_request_is_not_starved_by_small_ones)
{
	EXPECT_EQ(weft_run(large), 0);
}

static int
several_at_once(void)
{
	struct weft_sem s = {0};
	struct weft_wg wg = {0};
	int got = 0;

	for (int i = 0; i < 6; i++) {
		EXPECT(weft_wg_go(&wg, takes, &s, 2, 0, NULL, &got) > 0);
		await_line(&s, (uint32_t)i + 1);
	}
	weft_release(&s, 7); /* three fit, and one is left over */
	EXPECT_EQ(in_line(&s), 3);
	await(&got, 3);
	EXPECT_EQ(weft_try_acquire(&s, 1), 0); /* that one is for the next in line */
	weft_release(&s, 5);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(got, 6);
	EXPECT_EQ(s.word_, 0);
	return 0;
}

TEST(release_wakes_as_many_as_fit)
{
	EXPECT_EQ(weft_run(several_at_once), 0);
}

static int
more_than_there_were(void)
{
	struct weft_sem s;
	struct weft_wg wg = {0};
	int got = 0;

	EXPECT_EQ(weft_sem_init(&s, 2), 0);
	EXPECT(weft_wg_go(&wg, takes, &s, 5, 0, NULL, &got) > 0);
	await_line(&s, 1);
	weft_release(&s, 2);
	yield_often(10);
	EXPECT_EQ(load(&got), 0);
	weft_release(&s, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(got, 1);
	return 0;
}

TEST(request_for_more_than_there_were_waits)
{
	EXPECT_EQ(weft_run(more_than_there_were), 0);
}

/* ---- scopes */

struct takes_scoped {
	struct weft_sem *s;
	int64_t n;
	int *got, *gave_up;
};

static int
takes_scoped(struct takes_scoped *a)
{
	int rc = weft_acquire(a->s, a->n);

	EXPECT(rc == 0 || rc == -ECANCELED);
	add(rc == 0 ? a->got : a->gave_up, 1);
	if (rc == 0)
		weft_release(a->s, a->n);
	return 0;
}

/* Two are left; the head wants five, behind it two want one each. */
static int
head_gives_up(void)
{
	struct weft_sem s;
	struct weft_wg wg = {0};
	int got = 0, gave_up = 0, through = 0;

	EXPECT_EQ(weft_sem_init(&s, 2), 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, takes_scoped, &s, 5, &got, &gave_up) > 0);
		await_line(&s, 1);
		for (int i = 0; i < 2; i++)
			EXPECT(weft_wg_go(&wg, takes, &s, 1, 0, NULL, &through) > 0);
		await_line(&s, 3);
		weft_cancel(g);
		EXPECT_EQ(weft_acquire(&s, 9), -ECANCELED);
	}
	EXPECT_EQ(gave_up, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(through, 2);
	EXPECT_EQ(s.word_, 0);
	return 0;
}

/* SEM-2 */
TEST(head_that_gives_up_lets_the_next_in)
{
	EXPECT_EQ(weft_run(head_gives_up), 0);
}

static int
expired(void)
{
	struct weft_sem s;

	EXPECT_EQ(weft_sem_init(&s, 2), 0);
	weft_timeout(0) {
		EXPECT_EQ(weft_acquire(&s, 3), -ETIMEDOUT);
		EXPECT_EQ(weft_acquire(&s, 2), 0); /* need not wait: then it does not fail */
		EXPECT_EQ(weft_acquire(&s, 1), -ETIMEDOUT);
	}
	weft_release(&s, 2);
	EXPECT_EQ(weft_try_acquire(&s, 2), 1);
	return 0;
}

TEST(expired_scope_ends_only_what_must_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

struct shielded {
	struct weft_sem *s;
	int *got;
};

static int
shielded(struct shielded *a)
{
	weft_shield
	{
		weft_group(g, NULL) {
			EXPECT_EQ(weft_acquire(a->s, 2), 0);
			add(a->got, 1);
			weft_release(a->s, 2);
		}
	}
	return 0;
}

/* Cancels and releases at once: nothing is lost, nobody sleeps beside what would fit. */
static int
cancel_races(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(600); i++) {
		struct weft_sem s = {0};
		int got = 0, gave_up = 0;

		weft_group(g, NULL) {
			for (int k = 0; k < 4; k++)
				EXPECT(weft_go_in(g, takes_scoped, &s, 1 + (i + k) % 3, &got,
						  &gave_up) > 0);
			EXPECT(weft_go_in(g, shielded, &s, &got) > 0);
			if (i % 2)
				await_line(&s, 5);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			yield_often(i % 5);
			for (int k = 0; k < 3; k++)
				weft_release(&s, 1);
			wait_shielded(&wg);
		}
		EXPECT_EQ(got + gave_up, 5);
		EXPECT_EQ(weft_try_acquire(&s, 3), 1);
		EXPECT_EQ(s.word_, 0);
	}
	return 0;
}

/* SEM-1, SEM-2 */
TEST(cancel_and_release_at_once_lose_nothing)
{
	EXPECT_EQ(weft_run(cancel_races), 0);
}

/* ---- misuse */

static int
release_negative(void)
{
	struct weft_sem s = {0};

	weft_release(&s, -1);
	return 0;
}

static int
release_too_much(void)
{
	struct weft_sem s = {0};

	weft_release(&s, INT64_MAX);
	weft_release(&s, 1);
	return 0;
}

TEST(wrong_release_is_fatal)
{
	expect_fatal(release_negative, "fatal: weft_release of -1");
	expect_fatal(release_too_much, "fatal: semaphore overflow");
}

/* ---- the life of the object */

struct releases {
	struct weft_sem *s;
};

static int
releases(struct releases *a)
{
	weft_release(a->s, 1);
	return 0;
}

static void *
releases_on_thread(void *s)
{
	weft_release(s, 1);
	return NULL;
}

static int
freed_after_acquire(void)
{
	for (int i = 0; i < scaled(3000); i++) {
		struct weft_sem *s = calloc(1, sizeof(*s));
		bool with_thread = i % 50 == 0;
		pthread_t t = 0;

		for (int k = 0; k < 3; k++)
			EXPECT(weft_go(releases, s) > 0);
		if (with_thread)
			t = start_thread(releases_on_thread, s);
		if (i % 2)
			EXPECT_EQ(weft_acquire(s, 1), 0);
		EXPECT_EQ(weft_acquire(s, 3 - i % 2 + with_thread), 0);
		memset(s, 0xff, sizeof(*s));
		free(s);
		if (with_thread)
			join_thread(t);
	}
	return 0;
}

/* SEM-3, SYNC-1 */
TEST(semaphore_may_be_freed_when_all_has_been_acquired)
{
	EXPECT_EQ(weft_run(freed_after_acquire), 0);
}

static void
start_many(void *s, struct weft_wg *wg)
{
	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(wg, uses, s, 50, i) > 0);
}

TEST(waiting_allocates_nothing)
{
	static struct shared s = {.most = 3};

	EXPECT_EQ(weft_sem_init(&s.s, 3), 0);
	expect_no_heap_use(start_many, &s);
}

/* ---- no run, and from run to run */

static struct weft_sem kept;

static int
waits_for_two(void)
{
	EXPECT_EQ(weft_acquire(&kept, 2), 0);
	return 0;
}

static int
leaves_a_waiter(void)
{
	EXPECT(weft_go(waits_for_two) > 0);
	await_line(&kept, 1);
	return 0;
}

static int
acquires_one(void)
{
	EXPECT_EQ(weft_acquire(&kept, 1), 0);
	return 0;
}

static int
tries_one(void)
{
	EXPECT_EQ(weft_try_acquire(&kept, 1), 1);
	return 0;
}

/* A waiter that was dropped with its run holds up nobody. */
TEST(outside_a_run_it_counts)
{
	EXPECT_EQ(weft_acquire(&kept, 1), -ENOTSUP);
	EXPECT_EQ(weft_try_acquire(&kept, 1), -ENOTSUP);
	weft_release(&kept, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	EXPECT_EQ(weft_run(acquires_one), 0);
	EXPECT_EQ(kept.word_, 0);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	weft_release(&kept, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	EXPECT_EQ(weft_run(tries_one), 0);
	EXPECT_EQ(kept.word_, 0);
}

static int
acquires_three(void)
{
	return weft_acquire(&kept, 3);
}

static struct thread_call waiter = {.fn = acquires_three};

static int
ends_under_a_thread(void)
{
	start_call(&waiter);
	await_line(&kept, 1);
	return 0;
}

TEST(end_of_the_run_ends_the_wait_of_a_thread)
{
	EXPECT_EQ(weft_run(ends_under_a_thread), 0);
	EXPECT_EQ(join_call(&waiter), -ENOTSUP);
	weft_release(&kept, 1);
	EXPECT_EQ(weft_run(acquires_one), 0);
}
