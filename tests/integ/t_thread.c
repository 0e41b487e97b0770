/* SPDX-License-Identifier: MIT */
/* t_thread.c: plain threads use the runtime. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

static int64_t ran;

static int
counts(void)
{
	add(&ran, 1);
	weft_yield();
	return 0;
}

static void *
starts_and_waits(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		struct weft_wg wg = {0};

		for (int k = 0; k < 5; k++)
			EXPECT(weft_wg_go(&wg, counts) > 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(weft_id(), 0);
	}
	return NULL;
}

static int
many_threads(void)
{
	enum { N = 64 };
	pthread_t t[N];

	for (int i = 0; i < N; i++)
		t[i] = start_thread(starts_and_waits, NULL);
	for (int i = 0; i < N; i++)
		join_thread(t[i]);
	EXPECT_EQ(load(&ran), N * 50);
	return 0;
}

TEST(sixty_four_threads_spawn_and_wait)
{
	EXPECT_EQ(weft_run(many_threads), 0);
}

static void *
calls_once(void *arg)
{
	EXPECT(weft_count() >= 1);
	return arg;
}

static int
threads_come_and_go(void)
{
	for (int i = 0; i < scaled(500); i++)
		join_thread(start_thread(calls_once, NULL));
	return 0;
}

/* LEASE-1, M-2 */
TEST(records_of_ended_threads_are_used_again)
{
	long pages;

	EXPECT_EQ(weft_run(threads_come_and_go), 0);
	pages = resident_pages();
	EXPECT_EQ(weft_run(threads_come_and_go), 0);
	expect_no_growth(pages, 256);
}

static void *
passes_work(void *arg)
{
	struct weft_wg *gate = arg;

	usleep(1000);
	weft_wg_done(gate);
	return NULL;
}

/* The world is idle and its monitor asleep when the thread's call comes. */
static int
woken_from_outside(void)
{
	for (int i = 0; i < 20; i++) {
		struct weft_wg gate = {0};
		pthread_t t;

		weft_wg_add(&gate, 1);
		t = start_thread(passes_work, &gate);
		EXPECT_EQ(weft_wg_wait(&gate), 0);
		join_thread(t);
	}
	return 0;
}

TEST(thread_wakes_an_idle_world)
{
	EXPECT_EQ(weft_run(woken_from_outside), 0);
}

static int stop;

static void *
outlives_the_run(void *arg)
{
	int *refused = arg;

	while (!load(&stop)) {
		int64_t rc = weft_go(counts);

		EXPECT(rc >= 1 || rc == -ENOTSUP);
		if (rc == -ENOTSUP)
			add(refused, 1);
		usleep(50);
	}
	return NULL;
}

static int
short_run(void)
{
	for (int i = 0; i < 50; i++)
		weft_yield();
	return 0;
}

TEST(threads_outlive_runs)
{
	int refused = 0;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		t[i] = start_thread(outlives_the_run, &refused);
	for (int i = 0; i < scaled(100); i++)
		EXPECT_EQ(weft_run(short_run), 0);
	while (load(&refused) == 0)
		usleep(100);
	store(&stop, 1);
	for (int i = 0; i < 4; i++)
		join_thread(t[i]);
}
