/* SPDX-License-Identifier: MIT */
/* t_errorcheck.c: N calls never change the thread: pthread locks are held over them. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

static int stop, rounds;

static int
nothing(void)
{
	return 0;
}

/* A mutex that knows its owner: unlocking on another thread is an error. */
static void
make_mutex(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;

	EXPECT_EQ(pthread_mutexattr_init(&a), 0);
	EXPECT_EQ(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK), 0);
	EXPECT_EQ(pthread_mutex_init(m, &a), 0);
}

static void
compute(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static void
calls_under_lock(pthread_mutex_t *m, struct weft_wg *wg)
{
	struct weft_stats s = {.size = sizeof(s)};
	pthread_t self = pthread_self();

	EXPECT_EQ(pthread_mutex_lock(m), 0);
	EXPECT(weft_wg_go(wg, nothing) > 1);
	compute();
	EXPECT(weft_go(nothing) > 1);
	weft_wg_add(wg, 1);
	EXPECT(weft_count() >= 1);
	compute();
	EXPECT(weft_procs() >= 1);
	EXPECT_EQ(weft_stats(&s), 0);
	EXPECT(weft_id() > 0);
	weft_wg_done(wg);
	EXPECT(weft_go_with(WEFT_ATTR(.name = "x"), nothing) > 1);
	EXPECT(weft_configure(&(struct weft_config){0}) == -EBUSY);
	EXPECT(pthread_equal(self, pthread_self()));
	EXPECT_EQ(pthread_mutex_unlock(m), 0);
}

static int
locker(void)
{
	pthread_mutex_t m;
	struct weft_wg wg = {0};

	make_mutex(&m);
	for (int i = 0; i < rounds; i++) {
		calls_under_lock(&m, &wg);
		weft_yield();
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	EXPECT_EQ(pthread_mutex_destroy(&m), 0);
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
yields(void)
{
	while (!load(&stop))
		weft_yield();
	return 0;
}

struct all_together {
	int hogs;
};

static int
all_together(struct all_together *a)
{
	struct weft_wg lockers = {0}, rest = {0};

	for (int i = 0; i < a->hogs; i++)
		EXPECT(weft_wg_go(&rest, hog) > 1);
	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&rest, yields) > 1);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&lockers, locker) > 1);
	EXPECT_EQ(weft_wg_wait(&lockers), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&rest), 0);
	return 0;
}

TEST(locks_hold_over_calls_that_do_not_switch)
{
	rounds = scaled(500);
	EXPECT_EQ(weft_run(all_together, 0), 0);
}

TEST(locks_hold_while_hogs_force_retakes)
{
	rounds = scaled(40);
	EXPECT_EQ(weft_run(all_together, 3), 0);
}
