/* SPDX-License-Identifier: MIT */
/*
 * spawn_storm.c: rows spawn_storm_cold, spawn_storm and spawn_storm_rss. One million trivial
 * goroutines are started before any is waited for. The first round touches its memory for the
 * first time (cold), the second finds it in the caches (warm). The third row is the most memory
 * the process has held, from VmHWM: ru_maxrss would include the parent from before exec.
 */
#include "bench.h"

enum { GOROUTINES = 1000 * 1000 };

static int
trivial(void)
{
	return 0;
}

static struct bench_time
storm(int64_t goroutines)
{
	struct bench_time start = bench_now();
	struct weft_wg wg = {0};

	for (int64_t i = 0; i < goroutines; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, trivial));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	return bench_since(start);
}

static int
measure(void)
{
	int64_t goroutines = bench_scaled(GOROUTINES);
	struct bench_time cold = storm(goroutines);
	struct bench_time warm = storm(goroutines);

	bench_report_ns("spawn_storm_cold", "cold", goroutines, cold);
	bench_report_ns("spawn_storm", "warm", goroutines, warm);
	bench_report("spawn_storm_rss", "peak", "MiB", (double)bench_status_kb("VmHWM") / 1024,
		     (struct bench_time){0});
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
