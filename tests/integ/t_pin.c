/* SPDX-License-Identifier: MIT */
/* t_pin.c: goroutines that stay on their thread: weft_lock_thread. PIN-1 to PIN-4. fence-mode */
#define _GNU_SOURCE 1
#include "integ/helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>

static struct weft_stats
stats(void)
{
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_stats(&s), 0);
	return s;
}

static bool
thread_exists(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	return access(path, F_OK) == 0;
}

/* ---- nesting and misuse */

static int
nests(void)
{
	int tid;

	EXPECT_EQ(weft_unlock_thread(), -EPERM);
	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	EXPECT_EQ(weft_lock_thread(), 0);
	EXPECT_EQ(weft_unlock_thread(), 0);
	for (int i = 0; i < 100; i++) {
		weft_yield();
		EXPECT_EQ(gettid(), tid);
	}
	EXPECT_EQ(weft_unlock_thread(), 0);
	EXPECT_EQ(weft_unlock_thread(), -EPERM);
	EXPECT_EQ(weft_lock_thread(), 0);
	EXPECT_EQ(weft_unlock_thread(), 0);
	return 0;
}

TEST(locks_nest_and_unwind)
{
	EXPECT_EQ(weft_run(nests), 0);
}

static void *
plain(void *arg)
{
	int want = arg ? 0 : -ENOTSUP;

	EXPECT_EQ(weft_lock_thread(), want);
	EXPECT_EQ(weft_unlock_thread(), want);
	EXPECT_EQ(weft_unlock_thread(), want);
	return NULL;
}

static int
beside_a_plain_thread(void)
{
	join_thread(start_thread(plain, plain));
	return 0;
}

TEST(plain_threads_are_pinned_by_nature)
{
	plain(NULL);
	EXPECT_EQ(weft_run(beside_a_plain_thread), 0);
	plain(NULL);
}

/* ---- the two halves of PIN-1, while goroutines of both kinds mix */

enum { PINNED_MAX = 64 };
static int pinned_tid[PINNED_MAX]; /* 0: free */
static int stop;

static void
expect_not_pinned_here(void)
{
	int tid = gettid();

	for (int i = 0; i < PINNED_MAX; i++)
		EXPECT(load(&pinned_tid[i]) != tid);
}

struct ordinary {
	weft_chan(int) c;
	struct weft_mutex *mutex;
};

static int
ordinary(struct ordinary *a)
{
	int v;

	while (weft_recv(a->c, &v) > 0) {
		expect_not_pinned_here();
		weft_lock(a->mutex);
		weft_yield();
		expect_not_pinned_here();
		weft_unlock(a->mutex);
		expect_not_pinned_here();
	}
	return 0;
}

struct pinned {
	int i, rounds;
	weft_chan(int) c;
	struct weft_mutex *mutex;
};

static int
pinned(struct pinned *a)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	int tid = gettid();

	store(&pinned_tid[a->i], tid);
	for (int i = 0; i < a->rounds; i++) {
		EXPECT_EQ(weft_send(a->c, i), 0);
		EXPECT_EQ(gettid(), tid);
		weft_lock(a->mutex);
		EXPECT_EQ(gettid(), tid);
		weft_unlock(a->mutex);
		weft_yield();
		EXPECT_EQ(gettid(), tid);
	}
	store(&pinned_tid[a->i], 0);
	if (a->i % 2 == 0)
		EXPECT_EQ(weft_unlock_thread(), 0);
	return 0;
}

struct mix {
	int pinned, ordinary, rounds;
};

static int
mix(struct mix *a)
{
	struct weft_wg senders = {0}, receivers = {0};
	static struct weft_mutex mutex;
	weft_chan(int) c = weft_make(int, 0);

	for (int i = 0; i < a->ordinary; i++)
		EXPECT(weft_wg_go(&receivers, ordinary, c, &mutex) > 0);
	for (int i = 0; i < a->pinned; i++)
		EXPECT(weft_wg_go(&senders, pinned, i, a->rounds, c, &mutex) > 0);
	EXPECT_EQ(weft_wg_wait(&senders), 0);
	weft_close(c);
	EXPECT_EQ(weft_wg_wait(&receivers), 0);
	weft_free(c);
	return 0;
}

TEST(pinned_ones_and_others_mix_on_one_proc)
{
	use_procs(1);
	EXPECT_EQ(weft_run(mix, 3, 3, scaled(400)), 0);
}

TEST(pinned_ones_and_others_mix_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(mix, 4, 4, scaled(400)), 0);
}

TEST(many_more_pinned_ones_than_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(mix, PINNED_MAX, 2, scaled(40)), 0);
}

TEST(more_procs_than_pinned_ones)
{
	use_procs(8);
	EXPECT_EQ(weft_run(mix, 3, 8, scaled(200)), 0);
}

TEST(mix_in_random_order)
{
	setenv("WEFT_DEBUG", "shuffle=1", 1);
	use_procs(4);
	EXPECT_EQ(weft_run(mix, 6, 6, scaled(200)), 0);
}

/* ---- two pinned ones that take turns */

struct turns {
	weft_chan(int) in, out;
	int rounds;
};

static int
turns(struct turns *a)
{
	int v, tid;

	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	for (int i = 0; i < a->rounds; i++) {
		EXPECT_EQ(weft_recv(a->in, &v), 1);
		EXPECT_EQ(v, i);
		EXPECT_EQ(gettid(), tid);
		EXPECT_EQ(weft_send(a->out, i), 0);
		EXPECT_EQ(gettid(), tid);
	}
	EXPECT_EQ(weft_unlock_thread(), 0);
	return tid;
}

static int
ping_pong(void)
{
	weft_chan(int) there = weft_make(int, 0), back = weft_make(int, 0);
	int n = scaled(2000), v, tid;

	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	weft_go(turns, there, back, n);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(weft_send(there, i), 0);
		EXPECT_EQ(weft_recv(back, &v), 1);
		EXPECT_EQ(gettid(), tid);
	}
	return weft_unlock_thread();
}

TEST(two_pinned_ones_take_turns_on_one_proc)
{
	use_procs(1);
	EXPECT_EQ(weft_run(ping_pong), 0);
}

TEST(two_pinned_ones_take_turns_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(ping_pong), 0);
}

/* ---- nobody starves */

static uint64_t passes[2];

struct passer {
	weft_chan(int) in, out;
	int lock;
};

static int
passer(struct passer *a)
{
	int v;

	if (a->lock)
		EXPECT_EQ(weft_lock_thread(), 0);
	while (weft_recv(a->in, &v) > 0) {
		add(&passes[0], 1);
		if (weft_send(a->out, v) < 0)
			break;
	}
	return 0;
}

static int
counts_yields(void)
{
	while (!load(&stop)) {
		add(&passes[1], 1);
		weft_yield();
	}
	return 0;
}

struct fair {
	int lock1, lock2;
};

static int
fair(struct fair *a)
{
	weft_chan(int) there = weft_make(int, 1), back = weft_make(int, 1);

	weft_go(passer, there, back, a->lock1);
	weft_go(passer, back, there, a->lock2);
	weft_go(counts_yields);
	EXPECT_EQ(weft_send(there, 1), 0);
	while (load(&passes[0]) < 1000 || load(&passes[1]) < 1000)
		weft_yield();
	store(&stop, 1);
	return 0;
}

TEST(pinned_pair_starves_nobody_and_is_not_starved)
{
	use_procs(1);
	EXPECT_EQ(weft_run(fair, 1, 1), 0);
}

TEST(pair_of_a_pinned_one_and_another_starves_nobody_and_is_not_starved)
{
	use_procs(1);
	EXPECT_EQ(weft_run(fair, 1, 0), 0);
}

static int
yields_pinned(void)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	return counts_yields();
}

static int
yields_beside(void)
{
	weft_go(yields_pinned);
	for (int i = 0; i < 1000; i++)
		weft_yield();
	while (load(&passes[1]) < 100)
		weft_yield();
	store(&stop, 1);
	return 0;
}

TEST(pinned_one_that_yields_takes_turns)
{
	use_procs(1);
	EXPECT_EQ(weft_run(yields_beside), 0);
}

/* ---- the end of a goroutine that is locked ends its thread */

static int dead_tid;

struct ends_locked {
	int by_exit;
};

static int
ends_locked(struct ends_locked *a)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	store(&dead_tid, gettid());
	weft_yield();
	if (a->by_exit)
		weft_exit(3);
	return 0;
}

static int
not_on_dead_thread(void)
{
	weft_yield();
	EXPECT(gettid() != load(&dead_tid));
	return 0;
}

struct sees_thread_end {
	int by_exit;
};

static int
sees_thread_end(struct sees_thread_end *a)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 5; i++) {
		weft_wg_go(&wg, ends_locked, a->by_exit);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		for (int j = 0; j < 20; j++)
			weft_wg_go(&wg, not_on_dead_thread);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		while (thread_exists(load(&dead_tid)))
			weft_yield();
	}
	return 0;
}

TEST(end_of_a_locked_goroutine_ends_its_thread)
{
	EXPECT_EQ(weft_run(sees_thread_end, 0), 0);
}

TEST(weft_exit_of_a_locked_goroutine_ends_its_thread)
{
	use_procs(1);
	EXPECT_EQ(weft_run(sees_thread_end, 1), 0);
}

/* The parent runs its child on its own thread while it waits for it: not beyond a lock. */
static int
kid(struct ends_locked *a)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	store(&dead_tid, gettid());
	if (a->by_exit == 1)
		weft_exit(0);
	if (a->by_exit == 2)
		EXPECT_EQ(weft_unlock_thread(), 0);
	return 0;
}

struct forks {
	int how;
};

static int
kid_returns(void)
{
	return kid(&(struct ends_locked){0});
}

static int
kid_exits(void)
{
	return kid(&(struct ends_locked){1});
}

static int
kid_unlocks(void)
{
	return kid(&(struct ends_locked){2});
}

static int
forks(struct forks *a)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(200); i++) {
		int64_t id = a->how == 0   ? weft_wg_go(&wg, kid_returns)
			     : a->how == 1 ? weft_wg_go(&wg, kid_exits)
					   : weft_wg_go(&wg, kid_unlocks);

		EXPECT(id > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		if (a->how < 2)
			EXPECT(gettid() != load(&dead_tid));
	}
	return 0;
}

TEST(child_that_returns_locked_lets_its_parent_go_on_elsewhere)
{
	EXPECT_EQ(weft_run(forks, 0), 0);
}

TEST(child_that_exits_locked_lets_its_parent_go_on_elsewhere)
{
	EXPECT_EQ(weft_run(forks, 1), 0);
}

TEST(child_that_unlocks_is_joined)
{
	EXPECT_EQ(weft_run(forks, 2), 0);
}

static int
pinned_parent(void)
{
	int tid;

	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	store(&pinned_tid[0], tid);
	for (int i = 0; i < scaled(200); i++) {
		struct weft_wg wg = {0};

		for (int j = 0; j < 3; j++)
			EXPECT(weft_wg_go(&wg, not_on_dead_thread) > 0);
		store(&dead_tid, tid); /* its children are elsewhere */
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(gettid(), tid);
	}
	return 0;
}

TEST(pinned_parent_runs_no_child)
{
	use_procs(1);
	EXPECT_EQ(weft_run(pinned_parent), 0);
}

struct member {
	weft_chan(int) c;
};

static int
member(struct member *a)
{
	int v;

	EXPECT_EQ(weft_lock_thread(), 0);
	int tid = gettid(), rc = weft_recv(a->c, &v);
	EXPECT_EQ(gettid(), tid);
	return rc;
}

static int
in_group(void)
{
	weft_chan(int) c = weft_make(int, 0);
	int rc = 0;

	weft_group(g, &rc) {
		for (int i = 0; i < 8; i++)
			weft_go_in(g, member, c);
		weft_yield();
		weft_cancel(g);
	}
	EXPECT_EQ(rc, -ECANCELED);
	weft_free(c);
	return 0;
}

TEST(pinned_members_of_a_group_are_cancelled)
{
	EXPECT_EQ(weft_run(in_group), 0);
}

/* ---- what a pinned goroutine does to its thread reaches no other: PIN-4, TEMPLATE-1 */

static int fresh_threads;

static int
looks_at_mask(void)
{
	sigset_t set;

	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	EXPECT_EQ(sigismember(&set, SIGUSR1), 0);
	add(&fresh_threads, 1);
	usleep(2000); /* more threads are needed */
	return 0;
}

static int
changes_its_thread(void)
{
	struct weft_wg wg = {0};
	sigset_t set;

	EXPECT_EQ(weft_lock_thread(), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, looks_at_mask) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&fresh_threads), 20);
	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	EXPECT_EQ(sigismember(&set, SIGUSR1), 1);
	return 0; /* locked: nobody finds the thread like this */
}

TEST(state_of_the_thread_reaches_no_other)
{
	use_procs(1);
	EXPECT_EQ(weft_run(changes_its_thread), 0);
}

#ifdef WF_TSAN
static int of_thread; /* the sanitizer takes a goroutine for a thread with other thread-locals */
#else
static __thread int of_thread;
#endif

static int
keeps_thread_state(void)
{
	int *mine;

	EXPECT_EQ(weft_lock_thread(), 0);
	mine = &of_thread;
	store(mine, 42);
	fesetround(FE_UPWARD);
	for (int i = 0; i < 200; i++) {
		weft_yield();
		EXPECT_EQ(load(&of_thread), 42);
		EXPECT(&of_thread == mine);
		EXPECT_EQ(fegetround(), FE_UPWARD);
	}
	return 0;
}

static int
keeps_state_beside_others(void)
{
	struct weft_wg wg = {0};

	weft_wg_go(&wg, keeps_thread_state);
	weft_wg_go(&wg, keeps_thread_state);
	for (int i = 0; i < 100; i++) {
		weft_yield();
		EXPECT_EQ(fegetround(), FE_TONEAREST);
	}
	return weft_wg_wait(&wg);
}

TEST(thread_locals_and_rounding_stay)
{
	EXPECT_EQ(weft_run(keeps_state_beside_others), 0);
}

/* ---- a pinned goroutine loses its P like any other, and comes back to its own thread */

static int pipe_fds[2];

static int
writes(void)
{
	char byte = 1;

	EXPECT_EQ(write(pipe_fds[1], &byte, 1), 1);
	return 0;
}

static int
blocks_pinned(void)
{
	char byte;
	int tid;

	EXPECT_EQ(pipe(pipe_fds), 0);
	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	for (int i = 0; i < 5; i++) {
		EXPECT(weft_go(writes) > 0);
		EXPECT_EQ(read(pipe_fds[0], &byte, 1), 1); /* for ever, unless the P is taken */
		weft_yield();
		EXPECT_EQ(gettid(), tid);
	}
	EXPECT(stats().total.retakes >= 5);
	return 0;
}

TEST(pinned_one_asleep_in_the_kernel_stops_nobody)
{
	use_procs(1);
	EXPECT_EQ(weft_run(blocks_pinned), 0);
}

/* The same in a blocking section: the P goes at once. */
static int
sections_pinned(void)
{
	char byte;
	int tid;

	EXPECT_EQ(pipe(pipe_fds), 0);
	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	for (int i = 0; i < scaled(200); i++) {
		EXPECT(weft_go(writes) > 0);
		weft_blocking EXPECT_EQ(read(pipe_fds[0], &byte, 1), 1);
		EXPECT_EQ(gettid(), tid);
		weft_yield();
		EXPECT_EQ(gettid(), tid);
	}
	EXPECT(stats().total.handoffs > 0);
	return 0;
}

TEST(pinned_one_in_a_blocking_section_comes_back_to_its_thread)
{
	use_procs(1);
	EXPECT_EQ(weft_run(sections_pinned), 0);
	use_procs(2);
	EXPECT_EQ(weft_run(sections_pinned), 0);
}

static int beside;

static int
keeps_busy(void)
{
	while (!load(&stop)) {
		add(&beside, 1);
		weft_yield();
	}
	return 0;
}

static int
computes_pinned(void)
{
	int tid, seen;

	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	weft_go(keeps_busy);
	weft_go(keeps_busy);
	for (int i = 0; i < 3; i++) {
		seen = load(&beside);
		while (load(&beside) == seen) /* for ever, unless the P is taken */
			;
		EXPECT(weft_go(not_on_dead_thread) > 0); /* N: without a P */
		EXPECT_EQ(gettid(), tid);
		weft_yield(); /* B: gets one, all the others being busy */
		EXPECT_EQ(gettid(), tid);
	}
	store(&stop, 1);
	return 0;
}

TEST(pinned_one_that_computes_loses_its_p_and_queues_for_one)
{
	use_procs(1);
	EXPECT_EQ(weft_run(computes_pinned), 0);
}

/* ---- the world stops and changes beside locks */

static int
locks_and_unlocks(void)
{
	for (int i = 0; i < scaled(200); i++) {
		EXPECT_EQ(weft_lock_thread(), 0);
		int tid = gettid();

		weft_yield();
		EXPECT_EQ(gettid(), tid);
		EXPECT_EQ(weft_unlock_thread(), 0);
		weft_yield();
	}
	return 0;
}

static int
stops_beside_locks(void)
{
	struct weft_wg wg = {0};
	int null = open("/dev/null", 1);

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, locks_and_unlocks) > 0);
	for (int i = 0; i < 20; i++) {
		EXPECT(weft_set_procs(1 + i % 3) > 0);
		weft_dump(null);
	}
	EXPECT_EQ(weft_lock_thread(), 0);
	EXPECT(weft_set_procs(1) > 0); /* the stopper itself is pinned */
	EXPECT(weft_set_procs(3) > 0);
	weft_dump(null);
	close(null);
	return weft_wg_wait(&wg);
}

TEST(world_stops_beside_locks)
{
	EXPECT_EQ(weft_run(stops_beside_locks), 0);
}

/* ---- the end of a run */

static struct weft_wg never;

static int
waits_pinned(void)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	add(&beside, 1);
	weft_wg_wait(&never);
	return 0;
}

static int
spins_pinned(void)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	add(&beside, 1);
	while (!load(&stop))
		;
	weft_yield();
	EXPECT(!"dropped");
	return 0;
}

static int
yields_on(void)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	add(&beside, 1);
	for (;;)
		weft_yield();
	return 0;
}

static int
ends_beside(void)
{
	never = (struct weft_wg){0};
	weft_wg_add(&never, 1);
	store(&beside, 0);
	store(&stop, 0);
	weft_go(waits_pinned);
	weft_go(waits_pinned);
	weft_go(yields_on);
	weft_go(spins_pinned);
	while (load(&beside) < 4)
		weft_yield();
	EXPECT_EQ(weft_lock_thread(), 0);
	return 7;
}

TEST(run_ends_beside_pinned_ones_and_can_start_again)
{
	int before = count_entries("task");

#ifdef WF_TSAN
	before++; /* the sanitizer's own, from the first thread on */
#endif
	for (int i = 0; i < scaled(20); i++) {
		use_procs(1 + i % 3);
		EXPECT_EQ(weft_run(ends_beside), 7);
		store(&stop, 1);
	}
	while (count_entries("task") > before)
		usleep(1000);
}

/* ---- what is seen */

static int
locked_and_asleep(void)
{
	never = (struct weft_wg){0};
	weft_wg_add(&never, 1);
	weft_go(waits_pinned);
	EXPECT_EQ(weft_lock_thread(), 0);
	return weft_wg_wait(&never);
}

static void
child_deadlock(void)
{
	weft_run(locked_and_asleep);
}

TEST(deadlock_of_pinned_ones_is_seen)
{
	EXPECT_HAS(expect_deadlock(child_deadlock), "goroutine 1 [wait group, locked to thread]");
}

/* Pinned threads that sleep count as idle; no limit makes them end. */
static int
counts_idle(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&never, 1);
	for (int i = 0; i < 4; i++)
		weft_wg_go(&wg, waits_pinned);
	while (load(&beside) < 4 || stats().idle_threads < 4)
		weft_yield();
	weft_wg_done(&never);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	while (stats().threads > 2) /* they ended locked */
		weft_yield();
	return 0;
}

TEST(pinned_threads_that_sleep_are_idle)
{
	use_procs(1);
	EXPECT_EQ(weft_run(counts_idle), 0);
}

static int
one_thread_is_for_the_others(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&never, 1);
	for (int i = 0; i < 2; i++)
		weft_wg_go(&wg, waits_pinned);
	while (load(&beside) < 2)
		weft_yield();
	EXPECT_EQ(weft_lock_thread(), -EAGAIN);
	EXPECT_EQ(weft_unlock_thread(), -EPERM);
	weft_wg_done(&never);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	while (weft_lock_thread() == -EAGAIN) /* until one of their threads has gone */
		weft_yield();
	return 0;
}

TEST(thread_limit_leaves_one_for_the_others)
{
	setenv("WEFT_MAX_THREADS", "3", 1);
	EXPECT_EQ(weft_run(one_thread_is_for_the_others), 0);
}

/* ---- a plain thread wakes a pinned goroutine, and is woken by it */

static weft_chan(int) to_pinned, to_plain;

static void *
plain_side(void *arg)
{
	int v;

	(void)arg;
	for (int i = 0; i < scaled(500); i++) {
		EXPECT_EQ(weft_send(to_pinned, i), 0);
		EXPECT_EQ(weft_recv(to_plain, &v), 1);
		EXPECT_EQ(v, i);
	}
	return NULL;
}

static int
with_plain_thread(void)
{
	pthread_t t;
	int v, tid;

	to_pinned = weft_make(int, 0);
	to_plain = weft_make(int, 0);
	EXPECT_EQ(weft_lock_thread(), 0);
	tid = gettid();
	t = start_thread(plain_side, NULL);
	for (int i = 0; i < scaled(500); i++) {
		EXPECT_EQ(weft_recv(to_pinned, &v), 1);
		EXPECT_EQ(gettid(), tid);
		EXPECT_EQ(weft_send(to_plain, v), 0);
		EXPECT_EQ(gettid(), tid);
	}
	join_thread(t);
	return 0;
}

TEST(plain_thread_and_pinned_goroutine_take_turns)
{
	use_procs(1);
	EXPECT_EQ(weft_run(with_plain_thread), 0);
}

/* ---- the idle class does not make a pinned one wait for ever */

static int
idle_pinned(void)
{
	EXPECT_EQ(weft_lock_thread(), 0);
	int tid = gettid();

	for (int i = 0; i < 50; i++)
		weft_yield();
	EXPECT_EQ(gettid(), tid);
	weft_wg_done(&never);
	return 0;
}

static int
starts_idle(void)
{
	weft_wg_add(&never, 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_pinned) > 0);
	return weft_wg_wait(&never);
}

TEST(goroutine_of_the_idle_class_is_pinned)
{
	EXPECT_EQ(weft_run(starts_idle), 0);
}
