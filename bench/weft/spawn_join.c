/* SPDX-License-Identifier: MIT */
/*
 * spawn_join.c: row spawn_join. One million trivial goroutines in batches of 1000, each batch
 * waited for before the next begins; the million is repeated so that one measurement is long
 * enough for the clock and for a busy machine.
 */
#include "bench.h"

enum {
	GOROUTINES = 1000 * 1000,
	BATCH = 1000,
	REPEAT = 4, /* about 0.1 s at 25 ns each */
};

static int
trivial(void)
{
	return 0;
}

static void
run_batches(int64_t batches)
{
	for (int64_t b = 0; b < batches; b++) {
		struct weft_wg wg = {0};

		for (int i = 0; i < BATCH; i++)
			bench_must("weft_wg_go", weft_wg_go(&wg, trivial));
		bench_must("weft_wg_wait", weft_wg_wait(&wg));
	}
}

static int
measure(void)
{
	int64_t batches = bench_scaled(GOROUTINES) / BATCH * REPEAT;
	struct bench_time start;

	if (batches < 1)
		batches = 1;
	run_batches(1 + batches / 100);
	start = bench_now();
	run_batches(batches);
	bench_report_ns("spawn_join", "warm", batches * BATCH, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
