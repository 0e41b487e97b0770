/* SPDX-License-Identifier: MIT */
/* t_run.c: the start and the end of a run. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

struct triple {
	int n;
};

static int
triple(struct triple *a)
{
	return a->n * 3;
}

static int
seven(void)
{
	return 7;
}

TEST(run_returns_the_result_of_its_function)
{
	EXPECT_EQ(weft_run(triple, .n = 14), 42);
	EXPECT_EQ(weft_run(triple, 5), 15);
	EXPECT_EQ(weft_run(triple), 0);
	EXPECT_EQ(weft_run(seven), 7);
}

static int
first_id(void)
{
	return (int)weft_id();
}

TEST(main_goroutine_has_id_1_in_every_run)
{
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(weft_run(first_id), 1);
}

static int
nested(void)
{
	EXPECT_EQ(weft_run(seven), -EBUSY);
	return 1;
}

TEST(run_inside_a_goroutine_is_busy)
{
	EXPECT_EQ(weft_run(nested), 1);
	EXPECT_EQ(weft_run(seven), 7);
}

static int other_result;

static void *
run_meanwhile(void *arg)
{
	(void)arg;
	other_result = weft_run(seven);
	return NULL;
}

static int
wait_for_other_run(void)
{
	pthread_t t = start_thread(run_meanwhile, NULL);

	join_thread(t);
	return other_result;
}

/* RUN-1 */
TEST(second_run_at_the_same_time_is_busy)
{
	EXPECT_EQ(weft_run(wait_for_other_run), -EBUSY);
}

static void *
run_on_this_thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(weft_run(triple, .n = i), 3 * i);
	return NULL;
}

TEST(run_works_from_any_thread)
{
	for (int i = 0; i < 4; i++)
		join_thread(start_thread(run_on_this_thread, NULL));
	run_on_this_thread(NULL);
}

static int
leaf(void)
{
	weft_yield();
	return 0;
}

static int
busy_main(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, leaf) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 3;
}

TEST(thousand_runs_do_not_grow)
{
	int runs = TEST_SLOW > 1 ? 100 : 1000;
	int threads = 0, fds = 0;
	long pages = 0;

	for (int i = 0; i < runs; i++) {
		EXPECT_EQ(weft_run(busy_main), 3);
		if (i == runs / 10) {
			threads = count_entries("task");
			fds = count_entries("fd");
			pages = resident_pages();
		}
	}
	/* threads end just after their run: some may still be on their way out */
	EXPECT(count_entries("task") <= threads + 16);
	EXPECT_EQ(count_entries("fd"), fds);
	expect_no_growth(pages, 512);
}

static int released, begun, passed_the_call;

static int
hog(void)
{
	add(&begun, 1);
	while (!load(&released))
		;
	weft_yield(); /* where the thread of an ended run ends */
	add(&passed_the_call, 1);
	return 0;
}

static int
leave_hogs(void)
{
	for (int i = 0; i < 3; i++)
		EXPECT(weft_go(hog) > 1);
	while (load(&begun) < 3)
		weft_yield();
	return 9;
}

TEST(run_returns_beside_goroutines_that_never_give_way)
{
	EXPECT_EQ(weft_run(leave_hogs), 9);
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(weft_run(busy_main), 3);
	store(&released, 1);
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(weft_run(busy_main), 3);
	EXPECT_EQ(load(&passed_the_call), 0);
}

static int
count_now(void)
{
	return (int)weft_count();
}

TEST(abandoned_goroutines_are_not_counted_in_the_next_run)
{
	EXPECT_EQ(weft_run(leave_hogs), 9);
	EXPECT_EQ(weft_run(count_now), 1);
}

static int parked_went_on;
static struct weft_wg never = {0};

static int
parks_for_ever(void)
{
	weft_wg_wait(&never);
	add(&parked_went_on, 1);
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
leave_parked_and_runnable(void)
{
	weft_wg_add(&never, 1);
	for (int i = 0; i < 50; i++) {
		EXPECT(weft_go(parks_for_ever) > 1);
		EXPECT(weft_go(yields_for_ever) > 1);
	}
	for (int i = 0; i < 50; i++)
		weft_yield();
	return 0;
}

/* RUN-2 */
TEST(goroutines_left_over_are_dropped)
{
	int runs = scaled(40);
	long pages = 0;

	for (int i = 0; i < runs; i++) {
		never = (struct weft_wg){0};
		EXPECT_EQ(weft_run(leave_parked_and_runnable), 0);
		EXPECT_EQ(weft_run(count_now), 1);
		if (i == runs / 2)
			pages = resident_pages();
	}
	EXPECT_EQ(load(&parked_went_on), 0);
	expect_no_growth(pages, 512);
}

static int stop_calling;

static void *
calls_all_the_time(void *arg)
{
	struct weft_stats s = {.size = sizeof(s)};

	(void)arg;
	while (!load(&stop_calling)) {
		weft_count();
		weft_stats(&s);
		weft_go(leaf);
		weft_yield();
	}
	return NULL;
}

/* M-1, M-3 */
TEST(runs_end_under_calls_from_plain_threads)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		t[i] = start_thread(calls_all_the_time, NULL);
	for (int i = 0; i < scaled(200); i++)
		EXPECT_EQ(weft_run(busy_main), 3);
	store(&stop_calling, 1);
	for (int i = 0; i < 3; i++)
		join_thread(t[i]);
}

static void *
stops_the_world_all_the_time(void *arg)
{
	(void)arg;
	while (!load(&stop_calling)) {
		int rc = weft_set_procs(2);

		EXPECT(rc == -ENOTSUP || rc >= 1);
	}
	return NULL;
}

TEST(runs_end_under_resizes_from_plain_threads)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		t[i] = start_thread(stops_the_world_all_the_time, NULL);
	for (int i = 0; i < scaled(200); i++)
		EXPECT_EQ(weft_run(busy_main), 3);
	store(&stop_calling, 1);
	for (int i = 0; i < 2; i++)
		join_thread(t[i]);
}

static int
dump_and_resize(void)
{
	for (;;) {
		weft_set_procs(2);
		weft_yield();
	}
	return 0;
}

static int
leave_resizers(void)
{
	for (int i = 0; i < 4; i++)
		weft_go(dump_and_resize);
	for (int i = 0; i < 3; i++)
		weft_yield();
	return 5;
}

TEST(runs_end_under_resizes_from_goroutines)
{
	for (int i = 0; i < scaled(100); i++)
		EXPECT_EQ(weft_run(leave_resizers), 5);
}

static struct weft_wg left_waiting;
static int waiter_result = 1, waiter_calls;

static void *
waits_in_vain(void *arg)
{
	(void)arg;
	add(&waiter_calls, 1);
	store(&waiter_result, weft_wg_wait(&left_waiting));
	return NULL;
}

static int
end_while_a_thread_waits(void)
{
	pthread_t *t = malloc(sizeof(*t));

	weft_wg_add(&left_waiting, 1);
	*t = start_thread(waits_in_vain, NULL);
	while ((__atomic_load_n(&left_waiting.word_, __ATOMIC_RELAXED) & 1) == 0)
		weft_yield();
	pthread_detach(*t);
	free(t);
	return 0;
}

TEST(plain_thread_that_waits_is_told_when_the_run_ends)
{
	EXPECT_EQ(weft_run(end_while_a_thread_waits), 0);
	while (load(&waiter_result) == 1)
		usleep(100);
	EXPECT_EQ(load(&waiter_result), -ENOTSUP);
}

TEST(configure_is_busy_inside_and_refuses_nonsense)
{
	struct weft_config c = {.procs = 3};

	unsetenv("WEFT_PROCS");
	EXPECT_EQ(weft_configure(&c), 0);
	EXPECT_EQ(weft_configure(NULL), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.procs = -1}), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.procs = 1025}), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.max_threads = -1}), -EINVAL);
	EXPECT_EQ(weft_configure(&(struct weft_config){.stack_bytes = (size_t)1 << 40}), -EINVAL);
}

static int
procs_and_configure(void)
{
	EXPECT_EQ(weft_configure(&(struct weft_config){.procs = 2}), -EBUSY);
	return weft_procs();
}

TEST(configured_procs_hold_and_the_environment_wins)
{
	unsetenv("WEFT_PROCS");
	EXPECT_EQ(weft_configure(&(struct weft_config){.procs = 3}), 0);
	EXPECT_EQ(weft_run(procs_and_configure), 3);
	use_procs(5);
	EXPECT_EQ(weft_run(procs_and_configure), 5);
}
