/* SPDX-License-Identifier: MIT */
/* t_deadlock.c: nobody can ever run again: it is said, and never without reason. */
#include "integ/helpers.h"

static struct weft_wg never;

static int
sleeps_on(void)
{
	return weft_wg_wait(&never);
}

static int
all_asleep(void)
{
	weft_wg_add(&never, 1);
	weft_go(sleeps_on);
	weft_go(sleeps_on);
	return weft_wg_wait(&never);
}

static void
child_deadlock(void)
{
	weft_run(all_asleep);
}

static void
expect_report(void (*fn)(void))
{
	const char *out = expect_deadlock(fn);

	EXPECT_HAS(out, "goroutine 1 [wait group");
	EXPECT_HAS(out, "t_deadlock.c:");
	EXPECT_HAS(out, "all_asleep()");
	EXPECT_HAS(out, "sleeps_on(), created by goroutine 1");
}

TEST(deadlock_is_reported_with_reason_and_place)
{
	expect_report(child_deadlock);
}

static int
nothing(void)
{
	return 0;
}

static void
child_after_runs(void)
{
	for (int i = 0; i < 20; i++)
		weft_run(nothing);
	weft_run(all_asleep);
}

/* Threads of the run before may not have left the process yet: they are no reason to wait. */
TEST(deadlock_is_reported_right_after_other_runs)
{
	for (int i = 0; i < (TEST_SLOW > 1 ? 3 : 20); i++)
		expect_report(child_after_runs);
}

static void *
short_thread(void *arg)
{
	return arg;
}

static int
joins_then_sleeps(void)
{
	join_thread(start_thread(short_thread, NULL));
	return all_asleep();
}

static void
child_after_thread(void)
{
	weft_run(joins_then_sleeps);
}

/* A joined thread may still be on the kernel's list for a moment. */
TEST(deadlock_is_reported_right_after_a_thread_was_joined)
{
	for (int i = 0; i < (TEST_SLOW > 1 ? 3 : 20); i++)
		expect_deadlock(child_after_thread);
}

static int
resized_then_asleep(void)
{
	weft_set_procs(8);
	weft_set_procs(1);
	return all_asleep();
}

static void
child_resized(void)
{
	weft_run(resized_then_asleep);
}

TEST(deadlock_is_reported_after_resizes)
{
	for (int i = 0; i < 5; i++)
		expect_deadlock(child_resized);
}

/* DEAD-2 */
TEST(no_report_while_a_plain_thread_exists)
{
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_run(waits_for_thread), 0);
}

static int released, up;

static int
computes(void)
{
	store(&up, 1);
	while (!load(&released))
		;
	weft_wg_done(&never);
	return 0;
}

static void *
releases(void *arg)
{
	while (!load(&up))
		usleep(100);
	usleep(50000);
	store(&released, 1);
	return arg;
}

static int
waits_for_hog(void)
{
	pthread_t t = start_thread(releases, NULL);
	int rc;

	weft_wg_add(&never, 1);
	weft_go(computes);
	rc = weft_wg_wait(&never);
	join_thread(t);
	return rc;
}

TEST(no_report_while_a_goroutine_computes)
{
	EXPECT_EQ(weft_run(waits_for_hog), 0);
}

struct relay {
	struct weft_wg *from, *to;
	int times;
};

static int
relay(struct relay *a)
{
	for (int i = 0; i < a->times; i++) {
		EXPECT_EQ(weft_wg_wait(a->from), 0);
		weft_wg_add(a->from, 1);
		weft_wg_done(a->to);
	}
	return 0;
}

/* At each step everybody but one sleeps: the moment at which a false report would come. */
static int
relays(void)
{
	struct weft_wg a = {0}, b = {0}, all = {0};
	int times = scaled(20000);

	weft_wg_add(&b, 1);
	EXPECT(weft_wg_go(&all, relay, &a, &b, times) > 1);
	EXPECT(weft_wg_go(&all, relay, &b, &a, times) > 1);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

/* DEAD-1 */
TEST(no_false_report_in_a_relay)
{
	EXPECT_EQ(weft_run(relays), 0);
}

/* ---- the circle */

static struct weft_mutex mutex;

static int
locks(void)
{
	return weft_lock(&mutex);
}

/* The one place of the group is taken by a child that waits for what we hold. */
static int
waits_for_a_place(void)
{
	weft_lock(&mutex);
	weft_group(g, NULL) {
		weft_group_limit(g, 1);
		weft_go_in(g, locks);
		weft_go_in(g, locks);
	}
	return 0;
}

static void
child_limit(void)
{
	weft_run(waits_for_a_place);
}

static int
ends_holding(void)
{
	weft_lock(&mutex);
	weft_group(g, NULL) {
		weft_go_in(g, locks);
	}
	return 0;
}

static void
child_group(void)
{
	weft_run(ends_holding);
}

static void
expect_circle(void (*fn)(void), const char *first)
{
	const char *out = expect_deadlock(fn);

	EXPECT_HAS(out, "the circle:");
	EXPECT_HAS(out, first);
	EXPECT_HAS(out, ", one of them goroutine 2 (locks)");
	EXPECT_HAS(out, "goroutine 2 (locks) waits to lock the mutex at ");
	EXPECT_HAS(out, ", held by goroutine 1 (");
}

TEST(circle_through_the_limit_of_a_group)
{
	expect_circle(child_limit, "goroutine 1 (waits_for_a_place) waits for room beside the "
				   "1 child of the group opened at ");
}

TEST(circle_through_the_end_of_a_group)
{
	expect_circle(child_group,
		      "goroutine 1 (ends_holding) waits for 1 child of the group opened at ");
}
