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

__attribute__((unused)) static void
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

TEST(wait_group_orders)
{
#ifndef WF_TSAN
	SKIP("needs the thread sanitizer");
#else
	static char out[1 << 16];
	int status = test_child(child_no_race, out, sizeof(out));

	EXPECT(!test_has(out, "data race"));
	EXPECT_EQ(status, 0);
#endif
}
