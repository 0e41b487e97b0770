/* SPDX-License-Identifier: MIT */
/*
 * block_throughput.c: row block_throughput. A thousand goroutines call nanosleep(2) for 1 ms twenty
 * times each, on as many threads as that takes; nothing tells the library that they block. The
 * ideal is that all of them sleep at the same time.
 */
#include "samples.h"

enum {
	GOROUTINES = 1000,
	SLEEPS = 20, /* by each */
};

static int
sleeper(void)
{
	for (int i = 0; i < SLEEPS; i++)
		block_ns(WEFT_MS);
	return 0;
}

static int
measure(void)
{
	int64_t goroutines = bench_scaled(GOROUTINES);
	struct bench_time start = bench_now();
	struct bench_time took;
	struct weft_wg wg = {0};
	char note[64];

	for (int64_t i = 0; i < goroutines; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, sleeper));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	took = bench_since(start);
	snprintf(note, sizeof(note), "ideal: %d ms", SLEEPS);
	bench_note(note);
	bench_report("block_throughput", "cold", "ms", (double)took.wall_ns / 1e6, took);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
