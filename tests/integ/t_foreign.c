/* SPDX-License-Identifier: MIT */
/* t_foreign.c: threads that are not ours attach, use everything, and leave in every way. fence-mode */
#include "integ/helpers.h"

#include "core/self.h"

#include <errno.h>

enum { THREADS = 64 };

static int64_t sum, ran;

/* ---- sixty-four of them use everything at once */

static struct {
	weft_chan(int) in, out, quit;
	struct weft_mutex mutex;
	struct weft_rwmutex rw;
	struct weft_cond cond;
	struct weft_sem sem;
	int64_t guarded, tickets;
} all;

static int
one_more(void)
{
	add(&ran, 1);
	weft_yield();
	return 0;
}

static int
echoes(void)
{
	int v;

	while (weft_recv(all.in, &v) > 0)
		EXPECT_EQ(weft_send(all.out, v), 0);
	return 0;
}

static void
uses_channels(void)
{
	int v = 0, w = 0;

	switch (weft_select(WEFT_SEND(all.in, 1), WEFT_RECV(all.quit, &w))) {
	case 0:
		EXPECT_EQ(weft_recv(all.out, &v), 1);
		EXPECT_EQ(v, 1);
		add(&sum, v);
		break;
	default:
		test_fail(__FILE__, __LINE__, "nobody quits");
	}
}

static void
uses_locks(void)
{
	EXPECT_EQ(weft_lock(&all.mutex), 0);
	all.guarded++;
	weft_unlock(&all.mutex);
	EXPECT_EQ(weft_acquire(&all.sem, 1), 0);
	weft_release(&all.sem, 1);
	EXPECT_EQ(weft_rlock(&all.rw), 0);
	weft_runlock(&all.rw);
	EXPECT_EQ(weft_wlock(&all.rw), 0);
	weft_wunlock(&all.rw);
	EXPECT_EQ(weft_lock(&all.mutex), 0);
	all.tickets++;
	weft_signal(&all.cond);
	while (all.tickets == 0)
		EXPECT_EQ(weft_wait(&all.cond, &all.mutex), 0);
	all.tickets--;
	weft_unlock(&all.mutex);
}

static void *
uses_everything(void *arg)
{
	for (int i = 0; i < scaled(10); i++) {
		struct weft_wg wg = {0};
		int rc = 1;

		EXPECT(weft_wg_go(&wg, one_more) > 0);
		uses_channels();
		uses_locks();
		weft_group(g, &rc) {
			EXPECT(weft_go_in(g, one_more) > 0);
		}
		EXPECT_EQ(rc, 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		weft_yield();
	}
	return arg;
}

static void
make_all(void)
{
	all.in = weft_make(int, 0);
	all.out = weft_make(int, 4);
	all.quit = weft_make(int, 0);
	EXPECT_EQ(weft_sem_init(&all.sem, 3), 0);
}

static int
everything(void)
{
	pthread_t t[THREADS];
	struct weft_wg wg = {0};

	make_all();
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, echoes) > 0);
	for (int i = 0; i < THREADS; i++)
		t[i] = start_thread(uses_everything, NULL);
	for (int i = 0; i < THREADS; i++)
		join_thread(t[i]);
	weft_close(all.in);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&sum), THREADS * scaled(10));
	EXPECT_EQ(all.guarded, THREADS * scaled(10));
	EXPECT_EQ(load(&ran), 2 * THREADS * scaled(10));
	expect_alone();
	return 0;
}

TEST(sixty_four_threads_use_everything)
{
	EXPECT_EQ(weft_run(everything), 0);
}

/* ---- they come at once, more of them each time than there are records: each has its own */

enum { AT_ONCE_STEP = 33, AT_ONCE_MOST = 8 * AT_ONCE_STEP };
static struct wf_m *theirs[AT_ONCE_MOST];
static pthread_barrier_t at_once;

static void *
comes_at_once(void *arg)
{
	struct weft_wg wg = {0};
	uintptr_t i = (uintptr_t)arg;

	pthread_barrier_wait(&at_once);
	weft_wg_wait(&wg);
	theirs[i] = wf_m();
	pthread_barrier_wait(&at_once); /* all have theirs */
	for (uintptr_t k = 0; k < i; k++)
		EXPECT(theirs[k] != theirs[i]);
	return NULL;
}

static int
come_at_once(void)
{
	pthread_t t[AT_ONCE_MOST];

	for (unsigned n = AT_ONCE_STEP; n <= AT_ONCE_MOST; n += AT_ONCE_STEP) {
		EXPECT_EQ(pthread_barrier_init(&at_once, NULL, n), 0);
		for (uintptr_t i = 0; i < n; i++)
			t[i] = start_thread(comes_at_once, (void *)i);
		for (unsigned i = 0; i < n; i++)
			join_thread(t[i]);
		pthread_barrier_destroy(&at_once);
	}
	return 0;
}

TEST(threads_that_come_at_once_do_not_share_a_record)
{
	EXPECT_EQ(weft_run(come_at_once), 0);
}

/* ---- they come and go */

static int
records(void)
{
	int n = 0;

	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		n++;
	return n;
}

static int
records_in_use(void)
{
	int n = 0;

	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		n += load(&m->in_use) && m->plain;
	return n;
}

weft_local(int, mine);

static void *
comes_and_goes(void *arg)
{
	struct weft_wg wg = {0};

	*mine() = 1;
	EXPECT(weft_wg_go(&wg, one_more) > 0);
	if (arg)
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	else /* ends while attached, its goroutine on the way; no wait group of its own then */
		EXPECT(weft_go(one_more) > 0);
	if (!arg)
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	return NULL;
}

static void *
leaves_at_once(void *arg)
{
	EXPECT(weft_go(one_more) > 0);
	pthread_exit(arg);
}

struct cycles {
	int n;
};

static int
cycles(struct cycles *a)
{
	for (int i = 0; i < a->n; i += 4) {
		pthread_t t[4];

		for (int k = 0; k < 4; k++)
			t[k] = start_thread(k & 1 ? comes_and_goes : leaves_at_once,
					    k & 2 ? &t : NULL);
		for (int k = 0; k < 4; k++)
			join_thread(t[k]);
	}
	expect_alone();
	return 0;
}

/* M-2: records are used again */
TEST(ten_thousand_threads_leave_nothing_behind)
{
	int had;
	long pages;

	EXPECT_EQ(weft_run(cycles, scaled(400)), 0);
	had = records();
	pages = resident_pages();
	EXPECT_EQ(weft_run(cycles, scaled(10000)), 0);
	EXPECT_EQ(records(), had);
	expect_no_growth(pages, 256);
}

/* ---- destructors of thread-specific data, before and after the library's own */

static pthread_key_t early, late, often;
static int destroyed, again;
static bool
    ours; /* the threads are the library's, and end with the run: before a call, or during it */

static void
calls_weft(void *arg)
{
	struct weft_wg wg = {0};
	int rc;

	(void)arg;
	rc = weft_count() < 0 ? -ENOTSUP : 0;
	if (rc == 0)
		rc = weft_wg_go(&wg, one_more) > 0 ? weft_wg_wait(&wg) : -ENOTSUP;
	if (ours && rc == -ENOTSUP)
		return;
	EXPECT_EQ(rc, 0);
	*mine() += 1;
	add(&destroyed, 1);
}

/* Sets itself again: the library's own destructor has had its last turn when it ends. */
static void
calls_again(void *arg)
{
	calls_weft(arg);
	add(&again, 1);
	pthread_setspecific(often, arg);
}

/* Keys are destroyed in their order: this one is made before the library's, where that can be. */
__attribute__((constructor(101))) static void
make_early_key(void)
{
	pthread_key_create(&early, calls_weft);
}

static void *
has_specific_data(void *arg)
{
	if (arg) /* it calls for the first time in its destructors, or before */
		EXPECT(weft_count() > 0);
	pthread_setspecific(early, &sum);
	pthread_setspecific(late, &sum);
	return NULL;
}

static int
destructors(void)
{
	for (int i = 0; i < scaled(200); i++) {
		join_thread(start_thread(has_specific_data, NULL));
		join_thread(start_thread(has_specific_data, &sum));
	}
	EXPECT_EQ(load(&destroyed), 4 * scaled(200));
	return 0;
}

TEST(destructors_of_thread_specific_data_may_call)
{
	int had;

	EXPECT_EQ(pthread_key_create(&late, calls_weft), 0);
	EXPECT_EQ(weft_run(destructors), 0);
	had = records();
	store(&destroyed, 0);
	EXPECT_EQ(weft_run(destructors), 0);
	EXPECT_EQ(records(), had);
}

static void *
has_stubborn_data(void *arg)
{
	pthread_setspecific(often, &sum);
	return arg;
}

struct stubborn {
	int n;
};

static int
stubborn(struct stubborn *a)
{
	for (int i = 0; i < a->n; i++)
		join_thread(start_thread(has_stubborn_data, NULL));
	EXPECT(load(&again) > a->n); /* it did call in several rounds */
	return 0;
}

/* M-2: the record of a thread that ended without telling is found out. */
TEST(threads_that_call_in_their_last_breath_leave_nothing_behind)
{
	int had;

#ifdef WF_TSAN
	SKIP("the sanitizer has let go of the thread by then");
#endif
	EXPECT_EQ(pthread_key_create(&often, calls_again), 0);
	EXPECT_EQ(weft_run(stubborn, 100), 0);
	had = records();
	store(&again, 0);
	EXPECT_EQ(weft_run(stubborn, scaled(1000)), 0);
	EXPECT(records() <= had + 32);
}

/* ---- the same on threads of ours: a goroutine leaves data behind on its thread */

static int
sets_data(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_setspecific(early, &sum);
		pthread_setspecific(late, &sum);
		weft_yield();
	}
	return 0;
}

static int
many_set_data(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, sets_data) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(destructors_on_our_own_threads_may_call)
{
	int before = count_entries("task");

#ifdef WF_TSAN
	before++; /* its own, started late */
#endif
	ours = true;
	EXPECT_EQ(pthread_key_create(&late, calls_weft), 0);
	for (int i = 0; i < scaled(200); i++)
		EXPECT_EQ(weft_run(many_set_data), 0);
	while (count_entries("task") > before)
		usleep(1000);
	EXPECT(records_in_use() <= 1);
}

/* ---- cancellation */

static int waiting, woken, cancelled_after;

static void
was_cancelled(void *arg)
{
	(void)arg;
	add(&cancelled_after, 1);
}

/* A wait is no cancellation point: the thread goes on when its wait ends, and is cancelled at the
   next point after it. */
static void *
is_cancelled_in_a_wait(void *arg)
{
	struct weft_wg *gate = arg;

	pthread_cleanup_push(was_cancelled, NULL);
	add(&waiting, 1);
	EXPECT_EQ(weft_wg_wait(gate), 0);
	add(&woken, 1);
	weft_dump(-1);
	add(&woken, 1);
	pthread_testcancel();
	test_fail(__FILE__, __LINE__, "it was cancelled");
	pthread_cleanup_pop(0);
	return NULL;
}

static int
cancels_a_waiter(void)
{
	for (int i = 0; i < scaled(20); i++) {
		struct weft_wg gate = {0};
		pthread_t t;
		void *result;

		store(&waiting, 0);
		store(&woken, 0);
		store(&cancelled_after, 0);
		weft_wg_add(&gate, 1);
		t = start_thread(is_cancelled_in_a_wait, &gate);
		while (!load(&waiting))
			weft_yield();
		EXPECT_EQ(pthread_cancel(t), 0);
		for (int k = 0; k < 10; k++)
			weft_yield();
		EXPECT_EQ(load(&cancelled_after), 0);
		weft_wg_done(&gate);
		EXPECT_EQ(pthread_join(t, &result), 0);
		EXPECT(result == PTHREAD_CANCELED);
		EXPECT_EQ(load(&woken), 2);
		EXPECT_EQ(load(&cancelled_after), 1);
	}
	return 0;
}

TEST(wait_of_a_plain_thread_is_no_cancellation_point)
{
	EXPECT_EQ(weft_run(cancels_a_waiter), 0);
}

/* Whoever calls weft_run may be cancelled at any time: the run goes to its end. */
static int
goes_to_its_end(void)
{
	pthread_t caller = *(pthread_t *)all.quit;

	EXPECT_EQ(pthread_cancel(caller), 0);
	for (int i = 0; i < 4; i++)
		weft_go(one_more);
	store(&woken, 1);
	return 5;
}

/* ASan is told, because clang's does not see the frames go and takes them for alive. */
static void
expect_cancelled(void)
{
#ifdef WF_ASAN
	extern void __asan_handle_no_return(void);

	__asan_handle_no_return();
#endif
	pthread_testcancel();
	test_fail(__FILE__, __LINE__, "it was cancelled");
}

static void *
runs(void *arg)
{
	static pthread_t self;

	self = pthread_self();
	all.quit = (void *)&self;
	EXPECT_EQ(weft_run(goes_to_its_end), 5);
	store(&cancelled_after, 1);
	expect_cancelled();
	return arg;
}

TEST(cancelled_caller_of_run_ends_its_run_first)
{
	for (int i = 0; i < scaled(50); i++) {
		void *result;
		pthread_t t = start_thread(runs, NULL);

		EXPECT_EQ(pthread_join(t, &result), 0);
		EXPECT(result == PTHREAD_CANCELED);
		EXPECT_EQ(load(&cancelled_after), 1);
		EXPECT_EQ(weft_run(one_more), 0);
	}
}

/* Threads of ours cannot be cancelled: a goroutine is not alone on its thread. */
static int
cancels_its_thread(void)
{
	int old;

	EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
	EXPECT_EQ(old, PTHREAD_CANCEL_DISABLE);
	EXPECT_EQ(pthread_cancel(pthread_self()), 0);
	usleep(10); /* a cancellation point */
	weft_yield();
	usleep(10);
	return 3;
}

TEST(threads_of_ours_are_not_cancelled)
{
	EXPECT_EQ(weft_run(cancels_its_thread), 3);
	EXPECT_EQ(weft_run(one_more), 0);
}

/* Nor is the first thread while goroutine 1 is pinned to it; and it is again afterwards. */
static int
sleeps_a_little(void)
{
	usleep(10);
	weft_yield();
	usleep(10);
	return 3;
}

static void *
runs_here(void *arg)
{
	EXPECT_EQ(pthread_cancel(pthread_self()), 0);
	EXPECT_EQ(weft_run(sleeps_a_little), 3);
	store(&cancelled_after, 1);
	expect_cancelled();
	return arg;
}

TEST(thread_that_runs_goroutine_1_is_not_cancelled_meanwhile)
{
	void *result;

	EXPECT_EQ(weft_configure(&(struct weft_config){.main_thread = 1}), 0);
	EXPECT_EQ(pthread_join(start_thread(runs_here, NULL), &result), 0);
	EXPECT(result == PTHREAD_CANCELED);
	EXPECT_EQ(load(&cancelled_after), 1);
	EXPECT_EQ(weft_run(one_more), 0);
}

/* ---- threads that end while they hold something */

static void *
ends_with_the_lock(void *arg)
{
	EXPECT_EQ(weft_lock(&all.mutex), 0);
	return arg;
}

/* Nobody unlocks it for them, and anybody may: as between goroutines. */
static int
lock_stays(void)
{
	join_thread(start_thread(ends_with_the_lock, NULL));
	EXPECT_EQ(weft_try_lock(&all.mutex), 0);
	weft_unlock(&all.mutex);
	EXPECT_EQ(weft_try_lock(&all.mutex), 1);
	weft_unlock(&all.mutex);
	return 0;
}

TEST(lock_of_a_thread_that_ended_stays_locked)
{
	EXPECT_EQ(weft_run(lock_stays), 0);
}

/* A scope left open by pthread_exit does not reach the next thread that gets the record. */
static void *
ends_inside_a_scope(void *arg)
{
	weft_timeout(1) {
		pthread_exit(arg);
	}
	return arg;
}

static void *
has_no_scope(void *arg)
{
	EXPECT(!weft_cancelled());
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, one_more) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return arg;
}

static int
scopes_end(void)
{
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_inside_a_scope, NULL));
		join_thread(start_thread(has_no_scope, NULL));
	}
	return 0;
}

TEST(open_scope_ends_with_its_thread)
{
	EXPECT_EQ(weft_run(scopes_end), 0);
}
