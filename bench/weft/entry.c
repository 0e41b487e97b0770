/* SPDX-License-Identifier: MIT */
/*
 * entry.c: row lease_entry. What a call that never blocks pays to enter the runtime and leave it
 * again: weft_procs, which does nothing between the two but load one word, called in a loop, less
 * an empty function called the same way. The two loops take turns and the median of each is used,
 * because the difference is a nanosecond or two. (weft_id would not do: it reads only what belongs
 * to its own goroutine and does not enter.)
 */
#include "bench.h"

enum {
	CALLS = 20 * 1000 * 1000, /* in each turn */
	TURNS = 9,
};

/* The empty asm keeps the call and its result from being optimised away. */
__attribute__((noinline)) static int
empty(void)
{
	int n = 1;

	__asm__ volatile("" : "+r"(n));
	return n;
}

static int64_t
time_loop(int (*const fn)(void), int64_t calls)
{
	int64_t start = bench_now().wall_ns;

	for (int64_t i = 0; i < calls; i++) {
		int n = fn();

		__asm__ volatile("" : : "r"(n));
	}
	return bench_now().wall_ns - start;
}

static int
compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int
measure(void)
{
	int64_t calls = bench_scaled(CALLS);
	int64_t with[TURNS], without[TURNS];
	struct bench_time start = bench_now();
	struct bench_time took;

	for (int i = 0; i < TURNS; i++) {
		without[i] = time_loop(empty, calls);
		with[i] = time_loop(weft_procs, calls);
	}
	took = bench_since(start);
	qsort(without, TURNS, sizeof(without[0]), compare_int64);
	qsort(with, TURNS, sizeof(with[0]), compare_int64);
	bench_report("lease_entry", "warm", "ns",
		     (double)(with[TURNS / 2] - without[TURNS / 2]) / (double)calls, took);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
