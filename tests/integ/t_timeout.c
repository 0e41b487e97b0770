/* SPDX-License-Identifier: MIT */
/* t_timeout.c: deadlines end every call that waits, not before their time, and lose nothing.
   fence-mode */
#include "integ/waitcalls.h"

#include <errno.h>
#include <unistd.h>

static struct weft_mutex locked, with_cond;
static struct weft_rwmutex written, read_locked;
static struct weft_cond cond;
static struct weft_sem sem;
static struct weft_barrier barrier;

/* ---- the calls that wait: those of waitcalls.h, and */

static int
selects(void)
{
	int v;

	return weft_select(WEFT_RECV(empty, &v), WEFT_SEND(full, 2));
}

static int
selects_after(void)
{
	int v;

	return weft_select(WEFT_RECV(empty, &v), WEFT_AFTER(3600 * WEFT_SEC));
}

static int
selects_only_after(void)
{
	return weft_select(WEFT_AFTER(INT64_MAX));
}

static int
waits_for_a_slot(void)
{
	int64_t id = 0;

	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, 1), 0);
		EXPECT(weft_go_in(g, receives) > 0);
		id = weft_go_in(g, receives);
		weft_cancel(g);
	}
	return (int)id;
}

static int
locks(void)
{
	return weft_lock_scoped(&locked);
}

static int
locks_to_read(void)
{
	return weft_rlock_scoped(&written);
}

static int
locks_to_write(void)
{
	return weft_wlock_scoped(&read_locked);
}

static int
waits_for_cond(void)
{
	int rc;

	weft_lock(&with_cond);
	rc = weft_wait(&cond, &with_cond);
	weft_unlock(&with_cond);
	return rc;
}

static int
acquires(void)
{
	return weft_acquire(&sem, 1);
}

static int
meets(void)
{
	return weft_barrier_wait(&barrier);
}

static int
sleeps(void)
{
	return weft_sleep(3600 * WEFT_SEC);
}

static const struct kind {
	const char *name;
	int (*wait)(void);
} kinds[] = {
    {"recv", receives},
    {"send", sends},
    {"select", selects},
    {"select with after", selects_after},
    {"select of after", selects_only_after},
    {"recv of nil", receives_nil},
    {"send to nil", sends_nil},
    {"empty select", selects_nothing},
    {"wait group", waits_for_wg},
    {"end of group", waits_for_children},
    {"group limit", waits_for_a_slot},
    {"lock", locks},
    {"read lock", locks_to_read},
    {"write lock", locks_to_write},
    {"cond", waits_for_cond},
    {"semaphore", acquires},
    {"barrier", meets},
    {"sleep", sleeps},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void
set_up(void)
{
	set_up_waits();
	weft_lock(&locked);
	weft_wlock(&written);
	weft_rlock(&read_locked);
	weft_barrier_init(&barrier, 1000000);
}

static void
tear_down(void)
{
	tear_down_waits();
	weft_unlock(&locked);
	weft_wunlock(&written);
	weft_runlock(&read_locked);
}

/* ---- each of them, by a deadline in the future, at once, and long ago */

static void
expect_timeout(const struct kind *k, int64_t ns)
{
	int64_t before = weft_now();
	int rc = 0;

	weft_timeout(ns) {
		rc = k->wait();
		if (rc != -ETIMEDOUT)
			test_fail(__FILE__, __LINE__, "%s: %d", k->name, rc);
		EXPECT(ns < 0 || weft_now() - before >= ns);
		EXPECT(weft_cancelled());
		EXPECT_EQ(k->wait(), -ETIMEDOUT); /* past is past */
	}
	EXPECT(!weft_cancelled());
}

static int
time_out_all(void)
{
	static const int64_t spans[] = {INT64_MIN, -1, 0, 1, 30 * WEFT_US, WEFT_MS};

	for (int k = 0; k < KINDS; k++) {
		for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
			expect_timeout(&kinds[k], spans[i]);
		weft_deadline(weft_now() + 20 * WEFT_US)
			EXPECT_EQ(kinds[k].wait(), -ETIMEDOUT);
		weft_deadline(0)
			EXPECT_EQ(kinds[k].wait(), -ETIMEDOUT);
		weft_deadline(INT64_MIN)
			EXPECT_EQ(kinds[k].wait(), -ETIMEDOUT);
	}
	return 0;
}

static int
main_all(void)
{
	set_up();
	EXPECT_EQ(time_out_all(), 0);
	tear_down();
	return 0;
}

TEST(a_deadline_ends_every_call_that_waits)
{
	EXPECT_EQ(weft_run(main_all), 0);
}

static int
main_all_at_once(void)
{
	struct weft_wg wg = {0};

	set_up();
	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, time_out_all) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	tear_down();
	return 0;
}

/* SEL-7: among the waits are selects with nothing but a time. */
TEST(many_time_out_beside_each_other)
{
	EXPECT_EQ(weft_run(main_all_at_once), 0);
}

static void *
thread_times_out(void *arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		expect_timeout(&kinds[k], 0);
		expect_timeout(&kinds[k], 100 * WEFT_US);
	}
	return NULL;
}

static int
main_thread(void)
{
	pthread_t t[2];

	set_up();
	for (int i = 0; i < 2; i++)
		t[i] = start_thread(thread_times_out, NULL);
	for (int i = 0; i < 2; i++)
		join_thread(t[i]);
	tear_down();
	return 0;
}

TEST(plain_threads_time_out)
{
	EXPECT_EQ(weft_run(main_thread), 0);
}

/* ---- nested: the nearest wins, whichever is outside; a shield hides */

static int
main_nested(void)
{
	int64_t before;

	set_up();
	weft_timeout(3600 * WEFT_SEC) {
		weft_timeout(WEFT_MS) {
			EXPECT_EQ(receives(), -ETIMEDOUT);
			weft_timeout(3600 * WEFT_SEC)
				EXPECT_EQ(receives(), -ETIMEDOUT);
			before = weft_now();
			weft_shield
			{
				EXPECT_EQ(weft_sleep(WEFT_MS), 0);
				weft_timeout(WEFT_MS)
					EXPECT_EQ(receives(), -ETIMEDOUT);
				EXPECT(!weft_cancelled());
			}
			EXPECT(weft_now() - before >= 2 * WEFT_MS);
			EXPECT_EQ(weft_try_recv(full, NULL), 1); /* what can be done is done */
			EXPECT_EQ(weft_send(full, 0), 0);
		}
		EXPECT(!weft_cancelled());
		EXPECT_EQ(weft_sleep(WEFT_US), 0);
		weft_deadline(INT64_MAX)
			EXPECT_EQ(weft_sleep(WEFT_US), 0);
	}
	tear_down();
	return 0;
}

TEST(the_nearest_deadline_wins)
{
	EXPECT_EQ(weft_run(main_nested), 0);
}

/* One wait after the other in one long deadline, and deadlines that come ever nearer. */
static int
main_again(void)
{
	set_up();
	weft_timeout(3600 * WEFT_SEC)
		for (int i = 0; i < scaled(2000); i++)
			weft_timeout(i % 3 ? 3000 * WEFT_SEC - i : 5 * WEFT_US) {
				if (i % 3)
					EXPECT_EQ(weft_sleep(3 * WEFT_US), 0);
				else
					EXPECT_EQ(receives(), -ETIMEDOUT);
			}
	tear_down();
	return 0;
}

TEST(deadlines_come_and_go)
{
	EXPECT_EQ(weft_run(main_again), 0);
}

/* ---- a group: its end waits for the children, which are cancelled */

static int ended;

static int
slow_child(void)
{
	int v;

	EXPECT_EQ(weft_recv(empty, &v), -ECANCELED);
	weft_shield EXPECT_EQ(weft_sleep(WEFT_MS), 0);
	add(&ended, 1);
	return 0;
}

static int
main_group(void)
{
	int rc = 0;

	set_up();
	weft_timeout(WEFT_MS)
		weft_group(g, &rc) {
			for (int i = 0; i < 4; i++)
				EXPECT(weft_go_in(g, slow_child) > 0);
		}
	EXPECT_EQ(rc, -ETIMEDOUT);
	EXPECT_EQ(ended, 4);
	tear_down();
	return 0;
}

TEST(a_group_that_times_out_waits_for_its_children)
{
	EXPECT_EQ(weft_run(main_group), 0);
}

/* ---- delivery and deadline meet: nothing is lost, nothing comes twice */

static weft_chan(int64_t) pipe_;
static int64_t sent_sum, got_sum, sent_n, got_n;

struct sender {
	int64_t from, n;
};

static int
sender(struct sender *a)
{
	for (int64_t i = 0; i < a->n;) {
		int rc = 0;

		weft_timeout(i % 20 * WEFT_US)
			rc = weft_send(pipe_, a->from + i);
		if (rc == 0) {
			add(&sent_sum, a->from + i);
			add(&sent_n, 1);
			i++;
		} else {
			EXPECT_EQ(rc, -ETIMEDOUT);
			weft_yield();
		}
	}
	return 0;
}

static int
receiver(void)
{
	for (int64_t i = 0;; i++) {
		int64_t v = 0, ns = i % 23 * WEFT_US;
		int rc = 0;

		if (i % 3 == 0) {
			weft_timeout(ns)
				rc = weft_recv(pipe_, &v);
		} else if (i % 3 == 1) {
			weft_timeout(ns)
				rc = weft_select(WEFT_RECV(pipe_, &v), WEFT_RECV(empty, NULL));
			rc = rc == 0 ? 1 : rc;
		} else {
			rc = weft_select(WEFT_AFTER(ns), WEFT_RECV(pipe_, &v),
					 WEFT_RECV(empty, NULL));
			rc = rc == 0 ? -ETIMEDOUT : rc;
		}
		if (rc == 1 && v == -1)
			return 0;
		if (rc == 1) {
			add(&got_sum, v);
			add(&got_n, 1);
		} else {
			EXPECT_EQ(rc, -ETIMEDOUT);
		}
	}
}

static int
main_meet(void)
{
	struct weft_wg senders = {0}, receivers = {0};
	int64_t n = scaled(3000);

	set_up();
	pipe_ = weft_make(int64_t, 0);
	for (int i = 0; i < 4; i++) {
		EXPECT(weft_wg_go(&senders, sender, i * n, n) > 0);
		EXPECT(weft_wg_go(&receivers, receiver) > 0);
	}
	EXPECT_EQ(weft_wg_wait(&senders), 0);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(weft_send(pipe_, -1), 0);
	EXPECT_EQ(weft_wg_wait(&receivers), 0);
	EXPECT_EQ(got_n, 4 * n);
	EXPECT_EQ(got_sum, sent_sum);
	expect_idle(pipe_);
	weft_free(pipe_);
	tear_down();
	return 0;
}

TEST(a_value_and_a_deadline_meet)
{
	EXPECT_EQ(weft_run(main_meet), 0);
}

/* The same for what a semaphore has, with cancel as the third. */
static int64_t held;

static int
takes_and_gives(void)
{
	for (int i = 0; i < 200; i++) {
		int rc = 0;

		weft_timeout(i % 17 * WEFT_US)
			rc = weft_acquire(&sem, 2);
		if (rc == 0) {
			EXPECT(add(&held, 2) <= 6);
			weft_yield();
			add(&held, -2);
			weft_release(&sem, 2);
		} else {
			EXPECT(rc == -ETIMEDOUT || rc == -ECANCELED);
		}
	}
	return 0;
}

static int
main_sem(void)
{
	weft_sem_init(&sem, 6);
	for (int round = 0; round < scaled(20); round++)
		weft_group(g, NULL) {
			for (int i = 0; i < 8; i++)
				EXPECT(weft_go_in(g, takes_and_gives) > 0);
			weft_shield weft_sleep(round * 100 * WEFT_US);
			weft_cancel(g);
		}
	EXPECT_EQ(weft_try_acquire(&sem, 6), 1);
	EXPECT_EQ(held, 0);
	return 0;
}

TEST(a_deadline_a_cancel_and_a_release_meet)
{
	EXPECT_EQ(weft_run(main_sem), 0);
}

/* ---- WEFT_AFTER: SEL-6 */

static int
main_after(void)
{
	int64_t before;
	int v = -1;

	set_up();
	before = weft_now();
	EXPECT_EQ(weft_select(WEFT_RECV(empty, &v), WEFT_AFTER(WEFT_MS)), 1);
	EXPECT(weft_now() - before >= WEFT_MS);
	EXPECT_EQ(weft_select(WEFT_AFTER(WEFT_SEC), WEFT_AFTER(WEFT_US), WEFT_AFTER(WEFT_MS)), 1);
	EXPECT_EQ(weft_select(WEFT_AFTER(0)), 0);
	EXPECT_EQ(weft_select(WEFT_AFTER(-1), WEFT_RECV(empty, &v)), 0);
	EXPECT_EQ(weft_select(WEFT_AFTER(INT64_MIN), WEFT_RECV(full, &v)), 1); /* it was ready */
	EXPECT_EQ(v, 0);
	EXPECT_EQ(weft_select(WEFT_AFTER(0), WEFT_SEND(full, 0)), 1);
	EXPECT_EQ(weft_select(WEFT_AFTER(WEFT_SEC), WEFT_DEFAULT), 1);
	EXPECT_EQ(weft_select(WEFT_RECV((weft_chan(int))NULL, NULL), WEFT_AFTER(WEFT_US)), 1);
	weft_timeout(WEFT_MS) {
		EXPECT_EQ(weft_select(WEFT_RECV(empty, &v), WEFT_AFTER(WEFT_US)), 1);
		EXPECT_EQ(weft_select(WEFT_RECV(empty, &v), WEFT_AFTER(WEFT_SEC)), -ETIMEDOUT);
		weft_shield EXPECT_EQ(weft_select(WEFT_RECV(empty, &v), WEFT_AFTER(WEFT_US)), 1);
	}
	tear_down();
	return 0;
}

TEST(after_is_one_of_the_cases)
{
	EXPECT_EQ(weft_run(main_after), 0);
}

/* ---- somebody attends already, to descriptors or to a later time, and the P goes by a blocking section */

static int reads_from = -1;
static bool passed;

static int
reads(void)
{
	char c;

	EXPECT_EQ(weft_read(reads_from, &c, 1), 1);
	return 0;
}

static int
times_out(void)
{
	weft_timeout(300 * WEFT_MS) /* the monitor has long gone to sleep */
		EXPECT_EQ(weft_recv(empty, NULL), -ETIMEDOUT);
	store(&passed, true);
	return 0;
}

static void
block_until_passed(void)
{
	for (int i = 0; i < 20 * 1000 && !load(&passed); i++) /* 20 s, and not 300 ms */
		usleep(1000);
}

static int
main_blocks(void)
{
	int fds[2];

	set_up();
	EXPECT_EQ(weft_pipe(fds), 0);
	reads_from = fds[0];
	EXPECT(weft_go(reads) > 0);
	for (int i = 0; i < 2; i++) {
		store(&passed, false);
		weft_blocking usleep(20000); /* now it attends to the pipe alone */
		EXPECT(weft_go(times_out) > 0);
		weft_yield();
		weft_blocking block_until_passed();
		EXPECT(load(&passed));
	}
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	expect_alone();
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	tear_down();
	return 0;
}

TEST(a_deadline_passes_while_the_last_p_is_blocked)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_blocks), 0);
}

/* ---- time and the deadlock check */

static int
main_deadlock(void)
{
	weft_timeout(3600 * WEFT_SEC)
		weft_timeout(WEFT_US)
			weft_recv(empty, NULL);
	weft_sleep(WEFT_MS);
	return weft_recv((weft_chan(int))NULL, NULL); /* a left-over timer is no hope */
}

static void
child_deadlock(void)
{
	weft_run(main_deadlock);
}

TEST(after_the_last_timer_it_is_a_deadlock)
{
	expect_deadlock(child_deadlock);
}
