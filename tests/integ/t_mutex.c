/* SPDX-License-Identifier: MIT */
/* t_mutex.c: mutual exclusion, fairness, scopes, misuse, and the life of the object. fence-mode */
#include "integ/lockhelp.h"

/* ---- mutual exclusion */

struct shared {
	struct weft_mutex mx;
	long n; /* under mx, and not atomic */
};

static struct shared shared;

static void
count_up(int times)
{
	for (int i = 0; i < times; i++) {
		if (i % 3 != 0 || weft_try_lock(&shared.mx) != 1)
			EXPECT_EQ(weft_lock(&shared.mx), 0);
		shared.n++;
		weft_unlock(&shared.mx);
	}
}

struct counts {
	int times;
};

static int
counts(struct counts *a)
{
	count_up(a->times);
	return 0;
}

static void *
counts_on_thread(void *times)
{
	count_up(*(int *)times);
	return NULL;
}

static int
goroutines_and_threads(void)
{
	enum { GS = 20, THREADS = 3 };
	struct weft_wg wg = {0};
	pthread_t t[THREADS];
	int times = scaled(2000);

	for (int i = 0; i < GS; i++)
		EXPECT(weft_wg_go(&wg, counts, times) > 0);
	for (int i = 0; i < THREADS; i++)
		t[i] = start_thread(counts_on_thread, &times);
	for (int i = 0; i < THREADS; i++)
		join_thread(t[i]);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(shared.n, (GS + THREADS) * times);
	EXPECT(!wf_mutex_holder(shared.mx.word_));
	return 0;
}

/* MTX-2, MTX-3 */
TEST(goroutines_and_threads_exclude_each_other)
{
	EXPECT_EQ(weft_run(goroutines_and_threads), 0);
}

struct yields_inside {
	struct shared *s;
	int times;
};

static int
yields_inside(struct yields_inside *a)
{
	for (int i = 0; i < a->times; i++) {
		long n;

		EXPECT_EQ(weft_lock(&a->s->mx), 0);
		n = a->s->n;
		weft_yield();
		a->s->n = n + 1;
		weft_unlock(&a->s->mx);
	}
	return 0;
}

static int
long_sections(void)
{
	enum { GS = 50 };
	struct shared s = {0};
	struct weft_wg wg = {0};
	int times = scaled(100);

	for (int i = 0; i < GS; i++)
		EXPECT(weft_wg_go(&wg, yields_inside, &s, times) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.n, GS * times);
	EXPECT_EQ(s.mx.word_, 0);
	return 0;
}

/* MTX-2: most of them sleep in line; the last to leave leaves no flag */
TEST(a_section_that_yields_stays_exclusive)
{
	EXPECT_EQ(weft_run(long_sections), 0);
}

/* ---- what the word says */

struct locks_once {
	struct weft_mutex *mx;
	int64_t *id;
	int *through;
};

static int
locks_once(struct locks_once *a)
{
	if (a->id)
		*a->id = weft_id();
	EXPECT_EQ(weft_lock(a->mx), 0);
	EXPECT(on_my_stack(wf_mutex_holder(load(&a->mx->word_))));
	add(a->through, 1);
	weft_unlock(a->mx);
	return 0;
}

static int
tries(void)
{
	struct weft_mutex mx = {0};
	struct weft_wg wg = {0};
	int through = 0;

	EXPECT_EQ(weft_try_lock(&mx), 1);
	EXPECT(on_my_stack(wf_mutex_holder(mx.word_)));
	EXPECT_EQ(weft_try_lock(&mx), 0);
	EXPECT(weft_wg_go(&wg, locks_once, &mx, NULL, &through) > 0);
	await_line(&mx, 1);
	EXPECT_EQ(weft_try_lock(&mx), 0);
	EXPECT_EQ(load(&through), 0);
	weft_unlock(&mx);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(through, 1);
	EXPECT_EQ(mx.word_, 0);
	EXPECT_EQ(weft_lock(&mx), 0);
	EXPECT_EQ(weft_try_lock(&mx), 0);
	weft_unlock(&mx);
	return 0;
}

TEST(try_lock_tells_whether_it_is_held)
{
	EXPECT_EQ(weft_run(tries), 0);
}

static void *
tries_on_thread(void *arg)
{
	struct weft_mutex *mx = arg, own = {0};

	EXPECT_EQ(weft_try_lock(mx), 0);
	EXPECT_EQ(weft_try_lock(&own), 1);
	EXPECT(!wf_stack_has(wf_mutex_holder(own.word_)) && wf_mutex_holder(own.word_));
	EXPECT_EQ(weft_try_lock(&own), 0);
	weft_unlock(&own);
	EXPECT_EQ(own.word_, 0);
	weft_unlock(mx); /* which another has locked */
	return NULL;
}

struct unlocks {
	struct weft_mutex *mx;
};

static int
unlocks(struct unlocks *a)
{
	weft_unlock(a->mx);
	return 0;
}

static int
unlocked_by_others(void)
{
	struct weft_mutex mx = {0};

	EXPECT_EQ(weft_lock(&mx), 0);
	join_thread(start_thread(tries_on_thread, &mx));
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_lock(&mx), 0);
		EXPECT(weft_go(unlocks, &mx) > 0);
	}
	EXPECT_EQ(weft_lock(&mx), 0);
	weft_unlock(&mx);
	return 0;
}

TEST(another_than_the_locker_may_unlock)
{
	EXPECT_EQ(weft_run(unlocked_by_others), 0);
}

static int
many_mutexes(void)
{
	enum { N = 1000 };
	static struct weft_mutex mx[N];
	struct weft_wg wg = {0};
	int through = 0;

	for (int i = 0; i < N; i++) {
		EXPECT_EQ(weft_lock(&mx[i]), 0);
		EXPECT(weft_wg_go(&wg, locks_once, &mx[i], NULL, &through) > 0);
	}
	for (int i = 0; i < N; i++)
		await_line(&mx[i], 1);
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(load(&through), i);
		weft_unlock(&mx[i * 7 % N]);
		await(&through, i + 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(waiters_of_different_mutexes_do_not_mix)
{
	EXPECT_EQ(weft_run(many_mutexes), 0);
}

/* ---- the calm */

/* One waits while another has it; CALM-1. */
static int
waits_and_ends(void)
{
	struct weft_mutex mx = {0};
	struct weft_wg wg = {0};
	int through = 0;

	if (wf_sched.fenced) { /* without membarrier there is none */
		EXPECT(!wf_calm());
		return 0;
	}
	for (int round = 0; round < 3; round++) {
		while (!wf_calm()) /* CALM-2: it comes back */
			weft_sleep(WEFT_MS);
		EXPECT_EQ(weft_lock(&mx), 0);
		EXPECT(weft_wg_go(&wg, locks_once, &mx, NULL, &through) > 0);
		await_line(&mx, 1);
		EXPECT(!wf_calm());
		weft_unlock(&mx);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(load(&through), round + 1);
	}
	return 0;
}

TEST(calm_is_over_while_one_waits_and_comes_back)
{
	EXPECT_EQ(weft_run(waits_and_ends), 0);
}

struct acquires_once {
	struct weft_sem *sem;
	int *got;
};

static int
acquires_once(struct acquires_once *a)
{
	EXPECT_EQ(weft_acquire(a->sem, 1), 0);
	add(a->got, 1);
	return 0;
}

/* MTX-6: nobody is in the mutex's line; others at its address are left alone. */
static int
late_at_another_object(void)
{
	struct weft_sem sem = {0};
	struct weft_wg wg = {0};
	int got = 0;

	EXPECT(weft_wg_go(&wg, acquires_once, &sem, &got) > 0);
	await_line(&sem, 1);
	weft_unlock_late_((struct weft_mutex *)&sem);
	yield_often(10);
	EXPECT_EQ(load(&got), 0);
	weft_release(&sem, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&got), 1);
	return 0;
}

TEST(unlock_that_comes_late_touches_no_other_object)
{
	EXPECT_EQ(weft_run(late_at_another_object), 0);
}

/* ---- fairness */

static int stop;

struct hogs {
	struct weft_mutex *mx;
};

static int
hogs(struct hogs *a)
{
	while (!load(&stop)) {
		weft_lock(a->mx);
		for (int64_t end = os_now_ns() + 100000; os_now_ns() < end;)
			;
		weft_unlock(a->mx);
	}
	return 0;
}

static int
one_hog(void)
{
	struct weft_mutex mx = {0};
	struct weft_wg wg = {0};

	store(&stop, 0);
	EXPECT(weft_wg_go(&wg, hogs, &mx) > 0);
	for (int i = 0; i < 10; i++) {
		int64_t end = os_now_ns() + 100000;

		while (os_now_ns() < end)
			weft_checkpoint();
		EXPECT_EQ(weft_lock(&mx), 0);
		weft_unlock(&mx);
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* Ends: that is the test. */
TEST(one_that_always_wants_it_does_not_keep_others_out)
{
	EXPECT_EQ(weft_run(one_hog), 0);
}

/* The caller has mx, and first, who is in line, has made it starving. False: first got it. */
static bool
starve(struct weft_mutex *mx, int *through)
{
	int64_t end = os_now_ns() + 2000000;
	int before = load(through);

	await_line(mx, 1);
	while (os_now_ns() < end)
		weft_yield();
	while (!(load(&mx->word_) & WF_MTX_STARVING)) {
		weft_unlock(mx); /* wakes it to compete; with luck we are faster */
		EXPECT_EQ(weft_lock(mx), 0);
		if (load(through) != before)
			return false;
		weft_yield();
	}
	await_line(mx, 1);
	return true;
}

static int
handed_over(void)
{
	for (int done = 0; done < 5;) {
		struct weft_mutex mx = {0};
		struct weft_wg wg = {0};
		int64_t first = 0, second = 0;
		int through = 0;

		EXPECT_EQ(weft_lock(&mx), 0);
		EXPECT(weft_wg_go(&wg, locks_once, &mx, &first, &through) > 0);
		if (starve(&mx, &through)) {
			EXPECT(weft_wg_go(&wg, locks_once, &mx, &second, &through) > 0);
			await_line(&mx, 2);
			weft_unlock(&mx);
			/* It was the first's, or is the second's by now; never anybody's. */
			if (weft_try_lock(&mx))
				EXPECT_EQ(load(&through), 2);
			else
				done++;
		}
		if (on_my_stack(wf_mutex_holder(load(&mx.word_))))
			weft_unlock(&mx);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(through, 2 - (second == 0));
		EXPECT_EQ(mx.word_, 0);
	}
	return 0;
}

/* MTX-4 */
TEST(starving_mutex_is_handed_over)
{
	EXPECT_EQ(weft_run(handed_over), 0);
}

struct ordered {
	struct weft_mutex *mx;
	int i;
	int *next;
};

static int
ordered(struct ordered *a)
{
	EXPECT_EQ(weft_lock(a->mx), 0);
	EXPECT_EQ(*a->next, a->i);
	++*a->next;
	weft_unlock(a->mx);
	return 0;
}

static int
in_order(void)
{
	enum { N = 20 };
	struct weft_mutex mx = {0};
	struct weft_wg wg = {0};
	int through = 0, next = 0;
	bool starving;

	do {
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(weft_lock(&mx), 0);
		EXPECT(weft_wg_go(&wg, locks_once, &mx, NULL, &through) > 0);
		starving = starve(&mx, &through);
		if (!starving)
			weft_unlock(&mx);
	} while (!starving);
	for (int i = 0; i < N; i++) {
		EXPECT(weft_wg_go(&wg, ordered, &mx, i, &next) > 0);
		await_line(&mx, (uint32_t)i + 2);
	}
	/* Each waits for more than a millisecond, so it stays as it is until the last. */
	for (int64_t end = os_now_ns() + 2000000; os_now_ns() < end;)
		weft_yield();
	weft_unlock(&mx);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(next, N);
	EXPECT_EQ(mx.word_, 0);
	return 0;
}

/* MTX-4 */
TEST(starving_mutex_serves_first_come_first)
{
	EXPECT_EQ(weft_run(in_order), 0);
}

/* ---- scopes */

struct locks_scoped {
	struct weft_mutex *mx;
	int *got, *gave_up;
};

static int
locks_scoped(struct locks_scoped *a)
{
	int rc = weft_lock_scoped(a->mx);

	if (rc == 0) {
		EXPECT(on_my_stack(wf_mutex_holder(load(&a->mx->word_))));
		add(a->got, 1);
		weft_unlock(a->mx);
	} else {
		EXPECT_EQ(rc, -ECANCELED);
		add(a->gave_up, 1);
	}
	return 0;
}

struct locks_anyway {
	struct weft_mutex *mx;
	int *through;
};

static int
locks_anyway(struct locks_anyway *a)
{
	EXPECT_EQ(weft_lock(a->mx), 0);
	EXPECT(weft_cancelled());
	add(a->through, 1);
	weft_unlock(a->mx);
	return 0;
}

static int
cancel_in_line(void)
{
	struct weft_mutex mx = {0};
	int got = 0, gave_up = 0, through = 0, rc = 0;

	EXPECT_EQ(weft_lock(&mx), 0);
	weft_group(g, &rc) {
		for (int i = 0; i < 3; i++)
			EXPECT(weft_go_in(g, locks_scoped, &mx, &got, &gave_up) > 0);
		EXPECT(weft_go_in(g, locks_anyway, &mx, &through) > 0);
		await_line(&mx, 4);
		weft_cancel(g);
		await(&gave_up, 3);
		EXPECT_EQ(weft_lock_scoped(&mx), -ECANCELED); /* the body belongs to it */
		EXPECT_EQ(in_line(&mx), 1);
		EXPECT_EQ(load(&through), 0);
		weft_unlock(&mx);
		await(&through, 1);
		EXPECT_EQ(weft_lock_scoped(&mx), 0); /* need not wait: then it does not fail */
		weft_unlock(&mx);
	}
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(got, 0);
	EXPECT_EQ(mx.word_, 0);
	return 0;
}

TEST(cancel_ends_scoped_waits_only)
{
	EXPECT_EQ(weft_run(cancel_in_line), 0);
}

static int
expired(void)
{
	struct weft_mutex mx = {0};

	weft_timeout(0) {
		EXPECT_EQ(weft_lock_scoped(&mx), 0);
		EXPECT_EQ(weft_lock_scoped(&mx), -ETIMEDOUT);
		weft_unlock(&mx);
		EXPECT_EQ(weft_lock(&mx), 0);
		weft_unlock(&mx);
	}
	EXPECT_EQ(mx.word_, 0);
	return 0;
}

TEST(expired_scope_ends_only_what_must_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

/* A cancel and an unlock at once: one wins, and the mutex is never lost. */
static int
cancel_races_unlock(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(1000); i++) {
		struct weft_mutex mx = {0};
		int got = 0, gave_up = 0, through = 0;

		EXPECT_EQ(weft_lock(&mx), 0);
		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, locks_scoped, &mx, &got, &gave_up) > 0);
			EXPECT(weft_go_in(g, locks_scoped, &mx, &got, &gave_up) > 0);
			if (i % 2)
				await_line(&mx, 2);
			EXPECT(weft_wg_go(&wg, locks_once, &mx, NULL, &through) > 0);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			yield_often(i % 5);
			if (i % 3 == 0) /* as if somebody had starved: it is handed over */
				__atomic_fetch_or(&mx.word_, WF_MTX_STARVING | WF_MTX_WAITED,
						  __ATOMIC_SEQ_CST);
			weft_unlock(&mx);
			wait_shielded(&wg);
		}
		EXPECT_EQ(got + gave_up, 2);
		EXPECT_EQ(through, 1);
		EXPECT_EQ(weft_try_lock(&mx), 1);
	}
	return 0;
}

/* MTX-4: who was handed it keeps it */
TEST(cancel_and_unlock_at_once_lose_nothing)
{
	EXPECT_EQ(weft_run(cancel_races_unlock), 0);
}

struct shielded {
	struct weft_mutex *mx;
	int *through;
};

static int
shielded(struct shielded *a)
{
	weft_shield
	{
		weft_group(g, NULL) {
			EXPECT_EQ(weft_lock_scoped(a->mx), 0);
			add(a->through, 1);
			weft_unlock(a->mx);
		}
	}
	return 0;
}

static int
woken_for_nothing(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(1000); i++) {
		struct weft_mutex mx = {0};
		int through = 0;

		EXPECT_EQ(weft_lock(&mx), 0);
		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, shielded, &mx, &through) > 0);
			EXPECT(weft_go_in(g, shielded, &mx, &through) > 0);
			await_line(&mx, 2);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			yield_often(i % 5);
			weft_unlock(&mx);
			wait_shielded(&wg);
		}
		EXPECT_EQ(through, 2);
		EXPECT_EQ(mx.word_ & WF_MTX_WOKEN, 0);
	}
	return 0;
}

/* A cancel wakes a member behind a shield, which goes on waiting: the unlock that found it awake
   must not be lost. */
TEST(cancel_of_a_shielded_waiter_loses_no_unlock)
{
	EXPECT_EQ(weft_run(woken_for_nothing), 0);
}

/* ---- misuse */

static int
unlock_of_unlocked(void)
{
	struct weft_mutex mx = {0};

	weft_unlock(&mx);
	return 0;
}

static int
unlock_twice(void)
{
	struct weft_mutex mx = {0};

	weft_lock(&mx);
	weft_unlock(&mx);
	weft_unlock(&mx);
	return 0;
}

TEST(unlock_of_unlocked_is_fatal)
{
	expect_fatal(unlock_of_unlocked, "fatal: unlock of an unlocked mutex");
	expect_fatal(unlock_twice, "fatal: unlock of an unlocked mutex");
}

static void
unlock_outside(void)
{
	unlock_of_unlocked();
}

TEST(unlock_of_unlocked_is_fatal_outside_a_run_too)
{
	expect_dies(unlock_outside, "unlock of an unlocked mutex");
}

static int
lock_twice(void)
{
	struct weft_mutex mx = {0};

	weft_lock(&mx);
	weft_lock(&mx);
	return 0;
}

TEST(deadlock_is_reported_as_mutex_lock)
{
#ifdef WF_TSAN
	SKIP("the sanitizer has a thread of its own, which could wake somebody");
#endif
	expect_fatal(lock_twice, "all goroutines are asleep");
	expect_fatal(lock_twice, "[mutex lock");
}

/* ---- the life of the object */

struct counted {
	struct weft_mutex mx;
	int refs;
};

/* Who brings the count to zero frees, at once after its unlock. */
static void
drop(void *object)
{
	struct counted *c = object;
	int left;

	EXPECT_EQ(weft_lock(&c->mx), 0);
	left = --c->refs;
	weft_unlock(&c->mx);
	if (left == 0) {
		memset(c, 0xff, sizeof(*c));
		free(c);
	}
}

static int
freed_after_unlock(void)
{
	for (int i = 0; i < scaled(3000); i++) {
		struct counted *c = calloc(1, sizeof(*c));
		struct droppers others = {.fn = drop, .object = c, .with_thread = i % 20 == 0};

		c->refs = 4 + others.with_thread;
		EXPECT_EQ(weft_lock(&c->mx), 0);
		start_droppers(&others);
		if (i % 2)
			yield_often(3);
		weft_unlock(&c->mx);
		drop(c);
		await_droppers(&others);
	}
	return 0;
}

/* MTX-1, SYNC-1 */
TEST(mutex_may_be_freed_by_its_next_holder)
{
	EXPECT_EQ(weft_run(freed_after_unlock), 0);
}

static void
start_many(void *s, struct weft_wg *wg)
{
	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(wg, yields_inside, s, 50) > 0);
}

TEST(waiting_allocates_nothing)
{
	static struct shared s;

	expect_no_heap_use(start_many, &s);
}

/* ---- no run, and from run to run */

static struct weft_mutex kept;

static int
waits_for_kept(void)
{
	EXPECT_EQ(weft_lock(&kept), 0);
	return 0;
}

static int
leaves_it_locked(void)
{
	EXPECT_EQ(weft_lock(&kept), 0);
	EXPECT(weft_go(waits_for_kept) > 0);
	await_line(&kept, 1);
	return 0;
}

static int
uses_it(void)
{
	struct weft_wg wg = {0};
	int through = 0;

	EXPECT_EQ(weft_lock(&kept), 0);
	EXPECT(weft_wg_go(&wg, locks_once, &kept, NULL, &through) > 0);
	EXPECT(weft_wg_go(&wg, locks_once, &kept, NULL, &through) > 0);
	await_line(&kept, 2);
	weft_unlock(&kept);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(through, 2);
	return 0;
}

TEST(outside_a_run_it_can_only_be_unlocked)
{
	EXPECT_EQ(weft_lock(&kept), -ENOTSUP);
	EXPECT_EQ(weft_lock_scoped(&kept), -ENOTSUP);
	EXPECT_EQ(weft_try_lock(&kept), -ENOTSUP);
	EXPECT_EQ(kept.word_, 0);
	EXPECT_EQ(weft_run(leaves_it_locked), 0);
	EXPECT(kept.word_ != 0);
	weft_unlock(&kept);
	EXPECT_EQ(kept.word_, 0);
	EXPECT_EQ(weft_run(uses_it), 0);
	EXPECT_EQ(weft_lock(&kept), -ENOTSUP);
}

static int
unlocks_and_ends(void)
{
	EXPECT_EQ(weft_lock(&kept), 0);
	EXPECT(weft_go(waits_for_kept) > 0);
	await_line(&kept, 1);
	weft_unlock(&kept); /* who waits is woken, and dropped before or after it has it */
	return 0;
}

static int
comes_to_calm(void)
{
	while (!wf_calm() && !wf_sched.fenced)
		weft_sleep(WEFT_MS);
	return 0;
}

/* CALM-2: who was in line when its run ended is counted no more. */
TEST(calm_comes_back_after_a_run_that_left_waiters)
{
	EXPECT_EQ(weft_run(leaves_it_locked), 0);
	weft_unlock(&kept);
	EXPECT_EQ(weft_run(comes_to_calm), 0);
}

/* MTX-5 */
TEST(one_that_was_woken_and_dropped_is_not_waited_for)
{
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(weft_run(unlocks_and_ends), 0);
		if (wf_mutex_holder(kept.word_))
			weft_unlock(&kept);
		EXPECT_EQ(weft_run(uses_it), 0);
	}
	kept.word_ = WF_MTX_WOKEN | WF_MTX_WAITED; /* as such a run would leave it */
	EXPECT_EQ(weft_run(uses_it), 0);
}

static int
locks_kept(void)
{
	return weft_lock(&kept);
}

static struct thread_call waiter = {.fn = locks_kept};

static int
ends_under_a_thread(void)
{
	EXPECT_EQ(weft_lock(&kept), 0);
	start_call(&waiter);
	await_line(&kept, 1);
	return 0;
}

TEST(end_of_the_run_ends_the_wait_of_a_thread)
{
	EXPECT_EQ(weft_run(ends_under_a_thread), 0);
	EXPECT_EQ(join_call(&waiter), -ENOTSUP);
	weft_unlock(&kept);
	EXPECT_EQ(weft_run(uses_it), 0);
}

static void *
unlocks_and_locks(void *arg)
{
	struct weft_mutex *mx = arg;

	while (weft_lock(mx) == 0)
		weft_unlock(mx);
	return NULL;
}

static int
ends_among_threads(void)
{
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_lock(&kept), 0);
		weft_yield();
		weft_unlock(&kept);
	}
	return 0;
}

TEST(end_of_the_run_among_threads_that_lock)
{
	for (int i = 0; i < scaled(20); i++) {
		pthread_t t[3];

		for (int k = 0; k < 3; k++)
			t[k] = start_thread(unlocks_and_locks, &kept);
		EXPECT_EQ(weft_run(ends_among_threads), 0);
		for (int k = 0; k < 3; k++)
			join_thread(t[k]);
		EXPECT(!wf_mutex_holder(kept.word_));
	}
}
