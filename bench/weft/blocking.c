/* SPDX-License-Identifier: MIT */
/*
 * blocking.c: row blocking_enter_exit. What weft_blocking costs around a call that does not block
 * after all: nanoseconds for one section with a trivial function inside.
 */
#include "bench.h"

enum { SECTIONS = 10 * 1000 * 1000 };

/* The empty asm keeps the call from being optimised away. */
__attribute__((noinline)) static void
trivial(void)
{
	__asm__ volatile("" : : : "memory");
}

static void
sections(int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		weft_blocking trivial();
}

static int
measure(void)
{
	int64_t count = bench_scaled(SECTIONS);
	struct bench_time start;

	sections(1 + count / 100);
	start = bench_now();
	sections(count);
	bench_report_ns("blocking_enter_exit", "warm", count, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
