/* SPDX-License-Identifier: MIT */
/* t_tsan_race.c: a race between goroutines is seen by ThreadSanitizer, and no false one is. */
#include "integ/helpers.h"

static long shared, guarded;

struct races {
	long *where;
};

static int
races(struct races *a)
{
	for (int i = 0; i < 100; i++) {
		++*a->where;
		weft_yield();
	}
	return 0;
}

static int
two_racers(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, races, &shared) > 1);
	EXPECT(weft_wg_go(&wg, races, &shared) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

__attribute__((unused)) static void
child_races(void)
{
	weft_run(two_racers);
}

static int
no_race(void)
{
	for (int i = 0; i < 20; i++) {
		struct weft_wg wg = {0};

		guarded++; /* the start of a goroutine comes before its first step ... */
		EXPECT(weft_wg_go(&wg, races, &guarded) > 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		guarded++; /* ... and its end before the return of the wait */
	}
	return 0;
}

static void
child_no_race(void)
{
	weft_run(no_race);
}

/* On one P too: that goroutines take turns on one thread is luck, not order. */
TEST(planted_race_is_reported)
{
#ifndef WF_TSAN
	SKIP("needs the thread sanitizer");
#else
	static char out[1 << 16];
	int status;

	for (int p = 1; p <= 2; p++) {
		use_procs(p);
		status = test_child(child_races, out, sizeof(out));
		EXPECT_HAS(out, "data race");
		EXPECT_HAS(out, "races");
		EXPECT(status != 0);
	}
#endif
}

static void
expect_no_race(void (*child)(void))
{
#ifndef WF_TSAN
	(void)child;
	SKIP("needs the thread sanitizer");
#else
	static char out[1 << 16];
	int status = test_child(child, out, sizeof(out));

	EXPECT(!test_has(out, "data race"));
	EXPECT_EQ(status, 0);
#endif
}

TEST(wait_group_orders)
{
	expect_no_race(child_no_race);
}

struct passes_back {
	weft_chan(int *) in, out;
};

/* What is sent may be used, by either side in turn, whoever of them has waited. */
static int
passes_back(struct passes_back *a)
{
	int *what;

	while (weft_recv(a->in, &what) > 0) {
		++*what;
		if (weft_send(a->out, what) != 0)
			break;
	}
	return 0;
}

static int
pass_pointers(void)
{
	weft_chan(int *) to[2] = {weft_make(int *, 0), weft_make(int *, 1)};
	weft_chan(int *) from = weft_make(int *, 0);
	struct weft_wg wg = {0};
	int thing[8] = {0};

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			EXPECT(weft_wg_go(&wg, passes_back, to[i], from) > 1);
	for (int n = 0; n < 20000; n++) {
		int *what = &thing[n % 8];

		++*what;
		EXPECT_EQ(weft_send(to[n % 2], what), 0);
		EXPECT_EQ(weft_recv(from, &what), 1);
		++*what;
	}
	for (int i = 0; i < 2; i++)
		weft_close(to[i]);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 2; i++)
		weft_free(to[i]);
	weft_free(from);
	return 0;
}

static void
child_passes(void)
{
	weft_run(pass_pointers);
}

TEST(channels_order)
{
	expect_no_race(child_passes);
}

static int
circle_of_locks(void)
{
	static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(i ? &b : &a);
		pthread_mutex_lock(i ? &a : &b);
		pthread_mutex_unlock(i ? &a : &b);
		pthread_mutex_unlock(i ? &b : &a);
	}
	return 0;
}

__attribute__((unused)) static void
child_locks_in_a_circle(void)
{
	weft_run(circle_of_locks);
}

/* A report without an access to memory: it goes through, as it is. */
TEST(a_circle_of_locks_is_reported)
{
#ifndef WF_TSAN
	SKIP("needs the thread sanitizer");
#else
	static char out[1 << 16];

	test_child(child_locks_in_a_circle, out, sizeof(out));
	EXPECT_HAS(out, "lock-order-inversion");
	EXPECT(!test_has(out, "CHECK failed"));
#endif
}
