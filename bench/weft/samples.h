/* SPDX-License-Identifier: MIT */
/*
 * samples.h: for the rows that are the middle (p50) and the near worst (p99) of many single
 * measurements, most of them beside goroutines that compute and never call the library.
 *
 * Not here: clocks and output in general, see bench.h.
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "bench.h"

enum { HOGS = 4 };

BENCH_UNUSED static int64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * WEFT_SEC + ts.tv_nsec;
}

/* Computes until then, without a call to the library. */
BENCH_UNUSED static void
compute_until(int64_t when_ns)
{
	while (clock_ns() < when_ns)
		continue;
}

/* Sleeps in the kernel: the library is not told. */
BENCH_UNUSED static void
block_ns(int64_t ns)
{
	struct timespec left = {.tv_sec = ns / WEFT_SEC, .tv_nsec = ns % WEFT_SEC};

	while (nanosleep(&left, &left) != 0)
		continue;
}

BENCH_UNUSED static int64_t *
samples_make(int64_t count)
{
	size_t bytes = (size_t)count * sizeof(int64_t);
	int64_t *samples = bench_must_have("malloc", malloc(bytes));

	memset(samples, 0, bytes); /* no first touch while measuring */
	return samples;
}

BENCH_UNUSED static int
samples_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts them; below asks for them sorted. */
BENCH_UNUSED static void
samples_sort(int64_t *samples, int64_t count)
{
	qsort(samples, (size_t)count, sizeof(*samples), samples_compare);
}

/* The smallest sample that at least percent of all do not exceed. */
BENCH_UNUSED static int64_t
samples_at(const int64_t *samples, int64_t count, int percent)
{
	int64_t rank = (count * percent + 99) / 100;

	return samples[rank > 0 ? rank - 1 : 0];
}

/* Two rows in microseconds: NAME_p50 and NAME_p99, of sorted samples. */
BENCH_UNUSED static void
samples_report(const char *name, const int64_t *samples, int64_t count, struct bench_time took)
{
	static const int percents[] = {50, 99};
	char row[64];

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		snprintf(row, sizeof(row), "%s_p%d", name, percents[i]);
		bench_report(row, "warm", "us",
			     (double)samples_at(samples, count, percents[i]) / 1e3, took);
	}
}

/* ---- hogs */

static struct {
	int stop;
	int running;
	int64_t yield_every_ns; /* 0: they never call the library */
	struct weft_wg wg;
} hogs;

static int
hog(void)
{
	__atomic_fetch_add(&hogs.running, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&hogs.stop, __ATOMIC_RELAXED)) {
		if (hogs.yield_every_ns == 0)
			continue;
		compute_until(clock_ns() + hogs.yield_every_ns);
		weft_yield();
	}
	return 0;
}

/* Returns when each of them has begun to compute. */
BENCH_UNUSED static void
hogs_start(int64_t yield_every_ns)
{
	hogs.stop = 0;
	hogs.running = 0;
	hogs.yield_every_ns = yield_every_ns;
	for (int i = 0; i < HOGS; i++)
		bench_must("weft_wg_go", weft_wg_go(&hogs.wg, hog));
	while (__atomic_load_n(&hogs.running, __ATOMIC_RELAXED) < HOGS)
		weft_yield();
}

BENCH_UNUSED static void
hogs_end(void)
{
	__atomic_store_n(&hogs.stop, 1, __ATOMIC_RELAXED);
	bench_must("weft_wg_wait", weft_wg_wait(&hogs.wg));
}

#endif
