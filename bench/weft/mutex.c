/* SPDX-License-Identifier: MIT */
/*
 * mutex.c: row mutex. Eight goroutines lock one mutex a million times each and count inside; all
 * of it is repeated so that one measurement is long enough for the clock. The row is nanoseconds
 * for each lock and unlock.
 */
#include "bench.h"

enum {
	GOROUTINES = 8,
	LOCKS = 1000 * 1000, /* by each goroutine */
	REPEAT = 4,          /* about 0.2 s at 5 ns each */
};

struct shared {
	struct weft_mutex lock;
	int64_t n;
};

struct locker {
	struct shared *shared;
	int64_t count;
};

static int
locker(struct locker *arg)
{
	struct shared *shared = arg->shared;
	int64_t count = arg->count;

	for (int64_t i = 0; i < count; i++) {
		weft_lock(&shared->lock);
		shared->n++;
		weft_unlock(&shared->lock);
	}
	return 0;
}

static void
lock_all(int64_t each)
{
	struct shared shared = {0};
	struct weft_wg wg = {0};

	for (int i = 0; i < GOROUTINES; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, locker, &shared, each));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	bench_check("mutex", shared.n, GOROUTINES * each);
}

static int
measure(void)
{
	int64_t each = bench_scaled(LOCKS);
	struct bench_time start;

	lock_all(1 + each / 100);
	start = bench_now();
	for (int i = 0; i < REPEAT; i++)
		lock_all(each);
	bench_report_ns("mutex", "warm", REPEAT * GOROUTINES * each, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
