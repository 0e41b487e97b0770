/* SPDX-License-Identifier: MIT */
/*
 * t_chan_run.c: channels and groups outlive a run: who is dropped at its end is out of every line,
 * plain threads that wait are told, and nothing of it is felt in the next run. fence-mode
 */
#include "integ/waiting.h"

#include <errno.h>

static weft_chan(int) ch, full, other;

static int
nothing(void)
{
	return 0;
}

/* Outside a run there is no weft_make. */
static int
makes_channels(void)
{
	ch = weft_make(int, 0);
	full = weft_make(int, 1);
	other = weft_make(int, 2);
	EXPECT(ch && full && other);
	EXPECT_EQ(weft_send(full, 7), 0);
	return 0;
}

static void
make_channels(void)
{
	EXPECT_EQ(weft_run(makes_channels), 0);
}

/* No line has a left-over, or weft_free would be fatal. */
static void
free_channels(void)
{
	weft_free(ch);
	weft_free(full);
	weft_free(other);
}

static int
receives(void)
{
	int v;

	return weft_recv(ch, &v);
}

static int
sends(void)
{
	return weft_send(full, 8);
}

static int
selects(void)
{
	int v;

	return weft_select(WEFT_RECV(ch, &v), WEFT_SEND(full, 9), WEFT_RECV(other, NULL));
}

static int
receives_in_a_group(void)
{
	weft_group(g, NULL) {
		weft_go_in(g, receives);
		weft_go_in(g, selects);
		receives();
	}
	return 0;
}

/* ---- goroutines */

static int
leaves_waiters(void)
{
	for (int i = 0; i < 20; i++) {
		weft_go(receives);
		weft_go(sends);
		weft_go(selects);
		weft_go(receives_in_a_group);
	}
	await_waiting(WF_WAIT_RECV, 60);
	await_waiting(WF_WAIT_SEND, 20);
	await_waiting(WF_WAIT_SELECT, 40);
	return 0;
}

static int
uses_channels(void)
{
	int v = 0;

	EXPECT_EQ(weft_try_send(ch, 1), -EAGAIN);
	EXPECT_EQ(weft_try_recv(ch, &v), -EAGAIN);
	EXPECT_EQ(weft_len(full), 1);
	EXPECT_EQ(weft_recv(full, &v), 1);
	EXPECT_EQ(v, 7);
	EXPECT_EQ(weft_try_recv(full, &v), -EAGAIN);
	EXPECT_EQ(weft_send(full, 7), 0);
	weft_go(receives);
	EXPECT_EQ(weft_send(ch, 2), 0);
	return 0;
}

TEST(dropped_goroutines_are_out_of_every_line)
{
	make_channels();
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(weft_run(leaves_waiters), 0);
		expect_idle(ch);
		expect_idle(full);
		expect_idle(other);
		EXPECT_EQ(weft_len(full), 1);
		EXPECT_EQ(weft_run(uses_channels), 0);
	}
	free_channels();
}

static int
fills(void)
{
	other = weft_make(int, 3);
	for (int i = 1; i <= 3; i++)
		EXPECT_EQ(weft_send(other, i), 0);
	EXPECT_EQ(weft_close(other), 0);
	return 0;
}

static int
drains(void)
{
	int v;

	EXPECT_EQ(weft_send(other, 4), -EPIPE);
	EXPECT_EQ(weft_close(other), -EPIPE);
	for (int i = 1; i <= 3; i++) {
		EXPECT_EQ(weft_recv(other, &v), 1);
		EXPECT_EQ(v, i);
	}
	EXPECT_EQ(weft_recv(other, &v), 0);
	EXPECT_EQ(v, 0);
	return 0;
}

TEST(values_and_closing_outlive_the_run)
{
	EXPECT_EQ(weft_run(fills), 0);
	EXPECT_EQ(weft_len(other), 3);
	EXPECT_EQ(weft_cap(other), 3);
	EXPECT_EQ(weft_run(drains), 0);
	weft_free(other);
}

/* ---- what a dropped G keeps */

static int
leaves_scoped_waiters(void)
{
	for (int i = 0; i < 50; i++)
		weft_go(receives_in_a_group);
	await_waiting(WF_WAIT_RECV, 100);
	return 0;
}

struct spins {
	int *up;
	int *stop;
};

/* Never waits: whoever claims it for a wake claims a wait of an earlier life. */
static int
spins(struct spins *a)
{
	add(a->up, 1);
	while (!load(a->stop))
		weft_yield();
	return 0;
}

static int
cancels_who_never_waited(void)
{
	int up = 0, stop = 0;

	weft_group(g, NULL) {
		for (int i = 0; i < 200; i++)
			weft_go_in(g, spins, &up, &stop);
		while (load(&up) < 200)
			weft_yield();
		EXPECT_EQ(weft_cancel(g), 0);
		EXPECT(weft_cancelled());
		store(&stop, 1);
	}
	return 0;
}

struct parks_once {
	weft_chan(int) in;
	struct spins s;
};

static int
parks_once(struct parks_once *a)
{
	EXPECT_EQ(weft_recv(a->in, NULL), 1);
	return spins(&a->s);
}

/* Members are found by the canceller once they have waited; here that wait is long over. */
static int
cancels_who_waits_no_more(void)
{
	weft_chan(int) in = weft_make(int, 0);
	int up = 0, stop = 0;

	weft_group(g, NULL) {
		for (int i = 0; i < 200; i++)
			weft_go_in(g, parks_once, in, {&up, &stop});
		for (int i = 0; i < 200; i++)
			EXPECT_EQ(weft_send(in, i), 0);
		while (load(&up) < 200)
			weft_yield();
		EXPECT_EQ(weft_cancel(g), 0);
		store(&stop, 1);
	}
	weft_free(in);
	return 0;
}

TEST(claims_of_an_earlier_run_are_void)
{
	make_channels();
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(weft_run(leaves_scoped_waiters), 0);
		EXPECT_EQ(weft_run(cancels_who_never_waited), 0);
		EXPECT_EQ(weft_run(leaves_scoped_waiters), 0);
		EXPECT_EQ(weft_run(cancels_who_waits_no_more), 0);
	}
	free_channels();
}

/* The owner is such a G itself: goroutine 1 is mostly the G that was freed last. */
static int
owners_only(void)
{
	for (int i = 0; i < 100; i++) {
		int rc = 0;

		weft_group(g, &rc) {
			EXPECT(!weft_cancelled());
			EXPECT_EQ(weft_cancel(g), 0);
			EXPECT(weft_cancelled());
		}
		EXPECT_EQ(rc, 0);
		EXPECT(!weft_cancelled());
	}
	return 0;
}

static int
many_owners(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 300; i++)
		weft_wg_go(&wg, owners_only);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return owners_only();
}

TEST(owners_of_a_later_run_are_not_claimed)
{
	make_channels();
	EXPECT_EQ(weft_run(leaves_scoped_waiters), 0);
	EXPECT_EQ(weft_run(many_owners), 0);
	free_channels();
}

static int
scribbles(void)
{
	volatile unsigned char frame[16000];

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = 0xa5;
	return frame[100] == 0xa5 ? 0 : 1;
}

/* Goroutines that have not begun when the run ends; most stacks have other contents by now. */
static int
leaves_unstarted(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 300; i++)
		weft_wg_go(&wg, scribbles);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 300; i++)
		weft_go(nothing);
	return 0;
}

static int
yields_for_ever(void)
{
	for (;;)
		weft_yield();
	return 0;
}

static int
leaves_yielding(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 300; i++)
		weft_wg_go(&wg, scribbles);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 300; i++)
		weft_go(yields_for_ever);
	for (int i = 0; i < 10; i++)
		weft_yield();
	return 0;
}

/* What a G waited for in an earlier run is not looked at again. */
TEST(waits_of_an_earlier_run_are_forgotten)
{
	for (int i = 0; i < 3; i++) {
		make_channels();
		EXPECT_EQ(weft_run(leaves_waiters), 0);
		free_channels();
		EXPECT_EQ(weft_run(leaves_unstarted), 0);
		EXPECT_EQ(weft_run(leaves_yielding), 0);
	}
}

static int
asks(void)
{
	EXPECT(!weft_cancelled());
	weft_yield();
	EXPECT(!weft_cancelled());
	return 0;
}

static int
is_cancelled_for_ever(void)
{
	weft_group(g, NULL) {
		weft_cancel(g);
		weft_shield EXPECT_EQ(receives(), 1);
	}
	return 0;
}

static int
leaves_cancelled(void)
{
	for (int i = 0; i < 100; i++)
		weft_go(is_cancelled_for_ever);
	await_waiting(WF_WAIT_RECV, 100);
	return 0;
}

static int
asks_many(void)
{
	struct weft_wg wg = {0};

	asks();
	for (int i = 0; i < 300; i++)
		weft_wg_go(&wg, asks);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(scopes_of_an_earlier_run_are_forgotten)
{
	make_channels();
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(weft_run(leaves_cancelled), 0);
		EXPECT_EQ(weft_run(asks_many), 0);
	}
	free_channels();
}

/* ---- threads that are abandoned with their goroutine */

static int busy, go_on, gone;

/* Linked in its group by the first wait, then in user code beyond the end of the run. */
static int
returns_too_late(void)
{
	EXPECT_EQ(weft_recv(other, NULL), 1);
	add(&busy, 1);
	while (!load(&go_on))
		usleep(100);
	add(&gone, 1);
	return 0;
}

static int
owns_late_children(void)
{
	weft_group(g, NULL)
		for (int i = 0; i < 4; i++)
			weft_go_in(g, returns_too_late);
	return 0;
}

static int
abandons(void)
{
	weft_go(owns_late_children);
	await_waiting(WF_WAIT_RECV, 4);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(weft_send(other, i), 0);
	while (load(&busy) < 4)
		weft_yield();
	await_waiting(WF_WAIT_GROUP, 1);
	return 0;
}

static int
threads_now(void)
{
#ifdef WF_TSAN
	SKIP("the sanitizer has threads of its own");
#endif
	return count_entries("task");
}

static void
wait_for_threads(int n)
{
	while (count_entries("task") > n)
		usleep(100);
}

/* Their group is on a stack that has gone back, and is full of something else by now. */
TEST(abandoned_child_does_not_touch_its_group)
{
	int threads = threads_now();

	use_procs(8);
	make_channels();
	wait_for_threads(threads);
	EXPECT_EQ(weft_run(abandons), 0);
	EXPECT_EQ(weft_run(leaves_yielding), 0);
	store(&go_on, 1);
	while (load(&gone) < 4)
		usleep(100);
	wait_for_threads(threads);
	EXPECT_EQ(weft_run(asks_many), 0);
	free_channels();
}

static int
computes_until_cancelled(void)
{
	EXPECT_EQ(weft_recv(other, NULL), 1);
	add(&busy, 1);
	while (!weft_cancelled())
		;
	return 0;
}

static int
owns_computing_children(void)
{
	weft_group(g, NULL)
		for (int i = 0; i < 4; i++)
			weft_go_in(g, computes_until_cancelled);
	return 0;
}

static int
abandons_computing(void)
{
	weft_go(owns_computing_children);
	await_waiting(WF_WAIT_RECV, 4);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(weft_send(other, i), 0);
	while (load(&busy) < 4)
		weft_yield();
	return 0;
}

/* "threads still in user code are abandoned and end at their next runtime call" */
TEST(abandoned_child_ends_when_it_asks_for_cancellation)
{
	int threads = threads_now();

	use_procs(8);
	make_channels();
	EXPECT_EQ(weft_run(abandons_computing), 0);
	wait_for_threads(threads);
	EXPECT_EQ(weft_run(leaves_yielding), 0);
	free_channels();
}

/* ---- plain threads */

/* What a thread does, the reason it waits for then, and what it saw. */
struct thread {
	int (*act)(void);
	enum wf_reason why;
	int result;
	pthread_t id;
};

static void *
thread_main(void *arg)
{
	struct thread *t = arg;

	store(&t->result, t->act());
	return NULL;
}

static int
receives_nil(void)
{
	int v;

	return weft_recv((weft_chan(int))NULL, &v);
}

static int
sends_nil(void)
{
	return weft_send((weft_chan(int))NULL, 1);
}

static int
selects_nothing(void)
{
	return weft_select();
}

static struct weft_wg never = {0};

static int
waits_for_wg(void)
{
	return weft_wg_wait(&never);
}

static int
receives_in_a_scope(void)
{
	int rc = 0, got = 0;

	weft_group(g, &rc)
		got = receives();
	EXPECT(rc == 0 || rc == -ENOTSUP);
	return got;
}

static int
selects_in_a_scope(void)
{
	int got = 0;

	weft_group(g, NULL)
		got = selects();
	return got;
}

static int
closes_a_group(void)
{
	int rc = 0;

	weft_group(g, &rc) {
		weft_go_in(g, receives);
		weft_go_in(g, receives);
	}
	return rc;
}

static int
closes_a_nested_group(void)
{
	int outer = 0, inner = 0;

	weft_group(g, &outer) {
		weft_go_in(g, receives);
		weft_group(h, &inner) {
			weft_go_in(h, receives);
			weft_go_in(h, selects);
		}
		EXPECT_EQ(inner, -ENOTSUP);
		EXPECT_EQ(receives(), -ENOTSUP);
	}
	return outer;
}

static int
waits_for_a_slot(void)
{
	int64_t got = 0;

	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, 1), 0);
		weft_go_in(g, receives);
		got = weft_go_in(g, receives);
	}
	return (int)got;
}

static struct thread threads[] = {
    {.act = receives, .why = WF_WAIT_RECV},
    {.act = sends, .why = WF_WAIT_SEND},
    {.act = selects, .why = WF_WAIT_SELECT},
    {.act = receives_nil, .why = WF_WAIT_NIL_RECV},
    {.act = sends_nil, .why = WF_WAIT_NIL_SEND},
    {.act = selects_nothing, .why = WF_WAIT_NO_CASE},
    {.act = waits_for_wg, .why = WF_WAIT_WG},
    {.act = receives_in_a_scope, .why = WF_WAIT_RECV},
    {.act = selects_in_a_scope, .why = WF_WAIT_SELECT},
    {.act = closes_a_group, .why = WF_WAIT_GROUP},
    {.act = closes_a_nested_group, .why = WF_WAIT_GROUP},
    {.act = waits_for_a_slot, .why = WF_WAIT_LIMIT},
};
enum { THREADS = sizeof(threads) / sizeof(threads[0]) };

static struct thread *current; /* the one thread of a test that has one */

static void
start(struct thread *t)
{
	t->result = 12345;
	t->id = start_thread(thread_main, t);
}

static int
ends_while_one_waits(void)
{
	start(current);
	await_waiting(current->why, 1);
	return 0;
}

static void
one_at_a_time(struct thread *t)
{
	make_channels();
	for (int i = 0; i < scaled(40); i++) {
		current = t;
		EXPECT_EQ(weft_run(ends_while_one_waits), 0);
		join_thread(t->id);
		EXPECT_EQ(t->result, -ENOTSUP);
		expect_idle(ch);
		expect_idle(full);
		EXPECT_EQ(weft_run(uses_channels), 0);
	}
	free_channels();
}

TEST(waiting_thread_gets_enotsup_recv)
{
	one_at_a_time(&threads[0]);
}

TEST(waiting_thread_gets_enotsup_send)
{
	one_at_a_time(&threads[1]);
}

TEST(waiting_thread_gets_enotsup_select)
{
	one_at_a_time(&threads[2]);
}

TEST(waiting_thread_gets_enotsup_nil_recv)
{
	one_at_a_time(&threads[3]);
}

TEST(waiting_thread_gets_enotsup_nil_send)
{
	one_at_a_time(&threads[4]);
}

TEST(waiting_thread_gets_enotsup_empty_select)
{
	one_at_a_time(&threads[5]);
}

TEST(waiting_thread_gets_enotsup_wait_group)
{
	weft_wg_add(&never, 1);
	one_at_a_time(&threads[6]);
}

TEST(waiting_thread_gets_enotsup_recv_in_a_group)
{
	one_at_a_time(&threads[7]);
}

TEST(waiting_thread_gets_enotsup_select_in_a_group)
{
	one_at_a_time(&threads[8]);
}

TEST(waiting_thread_gets_enotsup_end_of_group)
{
	one_at_a_time(&threads[9]);
}

TEST(waiting_thread_gets_enotsup_nested_groups)
{
	one_at_a_time(&threads[10]);
}

TEST(waiting_thread_gets_enotsup_group_limit)
{
	one_at_a_time(&threads[11]);
}

static int
ends_while_all_wait(void)
{
	static const enum wf_reason whys[] = {WF_WAIT_RECV,     WF_WAIT_SEND,     WF_WAIT_SELECT,
					      WF_WAIT_NIL_RECV, WF_WAIT_NIL_SEND, WF_WAIT_NO_CASE,
					      WF_WAIT_GROUP,    WF_WAIT_WG,       WF_WAIT_LIMIT};

	for (int i = 0; i < THREADS; i++)
		start(&threads[i]);
	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++) {
		int n = 0;

		for (int k = 0; k < THREADS; k++)
			n += threads[k].why == whys[i];
		await_waiting(whys[i], n);
	}
	return 0;
}

TEST(all_kinds_of_waiting_threads_get_enotsup)
{
	weft_wg_add(&never, 1);
	make_channels();
	for (int i = 0; i < scaled(20); i++) {
		EXPECT_EQ(weft_run(ends_while_all_wait), 0);
		for (int k = 0; k < THREADS; k++) {
			join_thread(threads[k].id);
			EXPECT_EQ(threads[k].result, -ENOTSUP);
		}
		EXPECT_EQ(weft_run(uses_channels), 0);
	}
	free_channels();
}

/* One thread lives through several runs. */
static int phase_wanted, phase_reached;

static void
reach(int phase)
{
	store(&phase_reached, phase);
	while (load(&phase_wanted) < phase)
		usleep(50);
}

static void *
lives_through_runs(void *arg)
{
	int rc = 1, v;

	/* run 1 ends while it waits in a group; the group is left in no run at all */
	weft_group(g, &rc) {
		EXPECT(!weft_cancelled());
		EXPECT_EQ(weft_recv(ch, &v), -ENOTSUP);
		reach(1);
	}
	EXPECT_EQ(weft_recv(ch, &v), -ENOTSUP);
	EXPECT(!weft_cancelled());
	reach(2);
	/* run 2 */
	EXPECT(!weft_cancelled());
	weft_group(g, &rc) {
		EXPECT(!weft_cancelled());
		EXPECT_EQ(weft_recv(other, &v), 1);
		EXPECT(!weft_cancelled());
		EXPECT_EQ(weft_cancel(g), 0);
		EXPECT(weft_cancelled());
	}
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(weft_recv(other, &v), 1);
	return arg;
}

static pthread_t lives;

static int
run_1(void)
{
	lives = start_thread(lives_through_runs, NULL);
	await_waiting(WF_WAIT_RECV, 1);
	return 0;
}

static int
run_2(void)
{
	store(&phase_wanted, 2);
	EXPECT_EQ(weft_send(other, 1), 0);
	EXPECT_EQ(weft_send(other, 2), 0);
	while (weft_len(other) > 0)
		weft_yield();
	join_thread(lives);
	return 0;
}

TEST(thread_leaves_its_scopes_between_runs)
{
	make_channels();
	EXPECT_EQ(weft_run(run_1), 0);
	while (load(&phase_reached) < 1)
		usleep(50);
	store(&phase_wanted, 1);
	while (load(&phase_reached) < 2)
		usleep(50);
	EXPECT_EQ(weft_run(run_2), 0);
	free_channels();
}

static void *
keeps_its_group(void *arg)
{
	int v;

	weft_group(g, NULL) {
		if (arg) /* dropped with the run, and their records with them */
			for (int i = 0; i < 20; i++)
				weft_go_in(g, receives);
		EXPECT_EQ(weft_recv(ch, &v), -ENOTSUP);
		reach(1);
		/* run 2: it waits for nothing, and nobody may think it does */
		weft_cancel(g);
		EXPECT_EQ(weft_go_in(g, receives), -ENOTSUP);
		reach(2);
	}
	EXPECT(!weft_cancelled());
	return NULL;
}

static int
keep_1(void)
{
	lives = start_thread(keeps_its_group, NULL);
	await_waiting(WF_WAIT_RECV, 1);
	return 0;
}

static int
keep_1_with_children(void)
{
	lives = start_thread(keeps_its_group, &lives);
	await_waiting(WF_WAIT_RECV, 21);
	return 0;
}

static int
keep_2(void)
{
	store(&phase_wanted, 2);
	join_thread(lives);
	return 0;
}

static void
keep_a_group(int (*first)(void))
{
	make_channels();
	EXPECT_EQ(first == keep_1 ? weft_run(keep_1) : weft_run(keep_1_with_children), 0);
	while (load(&phase_reached) < 1)
		usleep(50);
	EXPECT_EQ(weft_run(leaves_yielding), 0);
	EXPECT_EQ(weft_run(keep_2), 0);
	free_channels();
}

TEST(claim_of_a_thread_is_void_in_the_next_run)
{
	keep_a_group(keep_1);
}

TEST(group_of_an_ended_run_is_dead)
{
	keep_a_group(keep_1_with_children);
}

static void *
opens_before(void *arg)
{
	int rc = 1;

	weft_group(g, &rc) { /* no run: it takes no children, now or later */
		reach(1);
		EXPECT_EQ(weft_go_in(g, receives), -ENOTSUP);
		weft_cancel(g);
		reach(2);
	}
	EXPECT_EQ(rc, -ENOTSUP);
	return arg;
}

static int
lets_it_go_on(void)
{
	store(&phase_wanted, 1);
	while (load(&phase_reached) < 2)
		weft_yield();
	return 0;
}

TEST(group_opened_outside_a_run_takes_no_children)
{
	make_channels();
	lives = start_thread(opens_before, NULL);
	while (load(&phase_reached) < 1)
		usleep(50);
	EXPECT_EQ(weft_run(lets_it_go_on), 0);
	store(&phase_wanted, 2);
	join_thread(lives);
	free_channels();
}

/* ---- the end in the middle of everything */

struct traffic {
	uint64_t seed;
};

static int
traffic(struct traffic *a)
{
	uint64_t r = a->seed;
	int v;

	for (;;) {
		switch (test_rand(&r) % 6) {
		case 0:
			weft_send(ch, 1);
			break;
		case 1:
			weft_recv(ch, &v);
			break;
		case 2:
			weft_select(WEFT_SEND(other, 1), WEFT_RECV(ch, &v));
			break;
		case 3:
			weft_select(WEFT_RECV(other, &v), WEFT_SEND(ch, 2));
			break;
		case 4:
			weft_try_recv(other, NULL);
			break;
		default:
			weft_group(g, NULL) {
				weft_go_in(g, receives);
				weft_yield();
				weft_cancel(g);
			}
		}
	}
	return 0;
}

struct cut_short {
	uint64_t seed;
};

static int
cut_short(struct cut_short *a)
{
	uint64_t r = a->seed;

	for (int i = 0; i < 10; i++)
		weft_go(traffic, test_rand(&r));
	for (uint64_t n = test_rand(&r) % 200; n > 0; n--)
		weft_yield();
	return 5;
}

TEST(run_may_end_in_the_middle_of_traffic)
{
	uint64_t r = test_seed();

	make_channels();
	for (int i = 0; i < scaled(200); i++) {
		EXPECT_EQ(weft_run(cut_short, test_rand(&r)), 5);
		expect_idle(ch);
		expect_idle(other);
	}
	EXPECT_EQ(weft_run(uses_channels), 0);
	free_channels();
}
