/* SPDX-License-Identifier: MIT */
/*
 * t_retake.c: the P is taken while a goroutine is outside; then comes each kind of call. Once in a
 * row and twice, on one P and two; beside stops of the world. fence-mode
 */
#include "integ/helpers.h"

#include "core/self.h"

#include <errno.h>
#include <sched.h>

static int stop;
static weft_chan(int) ch, full;
static struct weft_mutex mutex;
static struct weft_sem sem;
static struct weft_cond cond;

static int
wants_a_p(void)
{
	while (!load(&stop))
		weft_yield();
	return 0;
}

static int
nothing(void)
{
	return 0;
}

static bool
has_lost(void)
{
	uint32_t lease = load(&wf_m()->lease.v);

	return lease == WF_TAKEN || lease == WF_ASLEEP;
}

static int waiting;

static int
waits_here(void)
{
	add(&waiting, -1);
	return 0;
}

/* Outside until the P is gone: somebody waits at just that one. If it has had its turn, because we
   were asked to give way when we started it, somebody else does. */
static void
lose_p(void)
{
	while (!has_lost())
		if (load(&waiting) == 0) {
			add(&waiting, 1);
			EXPECT(weft_go(waits_here) > 0);
		}
}

/* ---- N calls: they go on without a P, and change nothing in that */

static void
n_calls(void)
{
	struct weft_wg wg = {0};
	weft_chan(int) own;
	int v;

	EXPECT(weft_wg_go(&wg, nothing) > 0);
	EXPECT(has_lost());
	EXPECT_EQ(weft_try_send(ch, 1), 0);
	EXPECT_EQ(weft_try_recv(ch, &v), 1);
	EXPECT_EQ(weft_try_lock(&mutex), 1);
	weft_unlock(&mutex);
	EXPECT_EQ(weft_try_acquire(&sem, 1), 1);
	weft_release(&sem, 1);
	weft_broadcast(&cond);
	own = weft_make(int, 1);
	EXPECT_EQ(weft_select(WEFT_RECV(own, &v), WEFT_DEFAULT), 1);
	EXPECT_EQ(weft_close(own), 0);
	weft_free(own);
	EXPECT(has_lost());
	EXPECT_EQ(weft_wg_wait(&wg), 0);
}

/* ---- B calls: each gets a P again, and may return on another thread */

static void
b_yield(void)
{
	weft_yield();
}

static void
b_send(void)
{
	int v;

	EXPECT_EQ(weft_send(ch, 1), 0); /* there is room */
	lose_p();
	EXPECT_EQ(weft_recv(ch, &v), 1);
}

static int
takes_one(void)
{
	int v;

	return weft_recv(full, &v) == 1 ? 0 : -1;
}

static void
b_send_that_waits(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, takes_one) > 0);
	EXPECT_EQ(weft_send(full, 1), 0);
	lose_p();
	EXPECT_EQ(weft_wg_wait(&wg), 0);
}

static void
b_select(void)
{
	int v = 0;

	EXPECT_EQ(weft_select(WEFT_SEND(ch, 5), WEFT_RECV(full, &v)), 0);
	lose_p();
	EXPECT_EQ(weft_select(WEFT_RECV(ch, &v), WEFT_RECV(full, &v)), 0);
	EXPECT_EQ(v, 5);
}

static void
b_locks(void)
{
	EXPECT_EQ(weft_lock(&mutex), 0);
	lose_p();
	weft_unlock(&mutex);
	EXPECT(has_lost());
	EXPECT_EQ(weft_acquire(&sem, 1), 0);
	weft_release(&sem, 1);
}

static void
b_group(void)
{
	int rc = 1;

	weft_group(g, &rc) {
		EXPECT(weft_go_in(g, nothing) > 0);
		lose_p();
	}
	EXPECT_EQ(rc, 0);
}

static void
b_set_procs(void)
{
	int n = weft_procs();

	EXPECT_EQ(weft_set_procs(n), n);
}

static void (*const kinds[])(void) = {b_yield, b_send,  b_send_that_waits, b_select,
				      b_locks, b_group, b_set_procs,       n_calls};

struct loses {
	int kind, rounds;
};

static int
loses(struct loses *a)
{
	for (int i = 0; i < a->rounds; i++) {
		lose_p();
		kinds[a->kind]();
		lose_p(); /* twice in a row, with one call between */
		weft_checkpoint_slow();
	}
	lose_p(); /* the end of the goroutine is a call too */
	if (a->kind % 2)
		weft_exit(0);
	return 0;
}

static uint64_t
retakes(void)
{
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_stats(&s), 0);
	return s.total.retakes;
}

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int
each_kind(void)
{
	struct weft_wg wg = {0}, others = {0};
	uint64_t before = retakes();

	stop = 0;
	ch = weft_make(int, 1);
	full = weft_make(int, 0);
	EXPECT_EQ(weft_sem_init(&sem, 1), 0);
	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&others, wants_a_p) > 0);
	for (int k = 0; k < KINDS; k++) { /* one after the other: they share what they use */
		EXPECT(weft_wg_go(&wg, loses, k, 2) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&others), 0);
	EXPECT(retakes() - before >= KINDS * 5);
	weft_free(ch);
	weft_free(full);
	expect_alone();
	return 0;
}

/* Whoever has the P ends soon, and then it is idle. */
static int
starts_many(void)
{
	for (int i = 0; i < 3; i++) {
		lose_p();
		while (has_lost()) {
			EXPECT(weft_go(nothing) > 0);
			if (weft_count() > 1000)
				while (load(&wf_sched.npidle.v) == 0)
					;
		}
	}
	return 0;
}

/* SPAWN-3 */
TEST(who_starts_many_takes_an_idle_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(starts_many), 0);
}

/* In the other builds any start takes it. */
#if !defined(WF_TORTURE) && !defined(WF_ASAN) && !defined(WF_TSAN)
static int
starts_now_and_then(void)
{
	enum { STARTS = 96, SPACED_NS = 20 * 1000 };

	lose_p();
	for (int i = 0; i < STARTS; i++) {
		int64_t until = weft_now() + SPACED_NS;

		while (weft_now() < until || load(&wf_sched.npidle.v) == 0)
			; /* whoever has the P ends soon */
		EXPECT(has_lost());
		EXPECT(weft_go(nothing) > 0);
	}
	EXPECT(has_lost());
	return 0;
}

/* SPAWN-3: what it starts would wait for it */
TEST(who_starts_one_now_and_then_leaves_an_idle_p_to_others)
{
	use_procs(1);
	EXPECT_EQ(weft_run(starts_now_and_then), 0);
}
#endif

/* LEASE-3 */
TEST(every_call_after_the_p_was_taken_on_one_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(each_kind), 0);
	EXPECT_EQ(load(&weft_preempt_word), 1); /* no run is up; nobody is left counted */
}

TEST(every_call_after_the_p_was_taken_on_two_ps)
{
	use_procs(2);
	EXPECT_EQ(weft_run(each_kind), 0);
	EXPECT_EQ(load(&weft_preempt_word), 1); /* no run is up; nobody is left counted */
}

/* ---- Go's StopTheWorldDeadlock, with hogs */

static int
resizes(void)
{
	for (int i = 0; i < scaled(200); i++)
		EXPECT(weft_set_procs(1 + i % 3) > 0);
	return 0;
}

static int
respawns(void)
{
	if (!load(&stop))
		EXPECT(weft_go(respawns) > 0);
	return 0;
}

static int
hog(void)
{
	while (!load(&stop))
		;
	return 0;
}

static int
world(void)
{
	struct weft_wg wg = {0}, hogs = {0};

	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&hogs, hog) > 0);
	EXPECT(weft_go(respawns) > 0);
	EXPECT(weft_wg_go(&wg, resizes) > 0);
	EXPECT(weft_wg_go(&wg, resizes) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&hogs), 0);
	return 0;
}

TEST(stops_of_the_world_beside_hogs_do_not_deadlock)
{
	EXPECT_EQ(weft_run(world), 0);
}

/* ---- Go's Preemption: two that spin on each other, with nothing but loads between */

static int turn;

struct spins_for {
	int me;
};

static int
spins_for(struct spins_for *a)
{
	for (int i = 0; i < 20; i++) {
		while (load(&turn) != a->me)
			;
		store(&turn, !a->me);
	}
	return 0;
}

static int
spin_on_each_other(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, spins_for, 0) > 0);
	EXPECT(weft_wg_go(&wg, spins_for, 1) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(two_that_spin_on_each_other_get_on_with_one_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(spin_on_each_other), 0);
}
