/* SPDX-License-Identifier: MIT */
/*
 * mem.c: rows mem and mem_pte. One million goroutines park on one channel. mem is what the resident
 * set grew by, for each; mem_pte is what the page tables grew by, in all, which the resident set
 * leaves out.
 */
#include "bench.h"

enum { GOROUTINES = 1000 * 1000 };

static struct weft_wg started; /* counted down by each goroutine before it parks */

struct parked {
	weft_chan(int64_t) gate; /* carries nothing and is closed in the end */
};

static int
parked(struct parked *arg)
{
	weft_wg_done(&started);
	return weft_recv(arg->gate, NULL);
}

static int
measure(void)
{
	int64_t goroutines = bench_scaled(GOROUTINES);
	weft_chan(int64_t) gate = bench_make(int64_t, 0);
	int64_t rss_kb = bench_status_kb("VmRSS");
	int64_t pte_kb = bench_status_kb("VmPTE");
	struct bench_time start = bench_now();
	struct weft_wg all = {0};

	weft_wg_add(&started, goroutines);
	for (int64_t i = 0; i < goroutines; i++)
		bench_must("weft_wg_go", weft_wg_go(&all, parked, gate));
	bench_must("weft_wg_wait", weft_wg_wait(&started));
	weft_yield(); /* the last to count down may not have parked yet */

	struct bench_time took = bench_since(start);

	rss_kb = bench_status_kb("VmRSS") - rss_kb;
	pte_kb = bench_status_kb("VmPTE") - pte_kb;
	bench_report("mem", "parked", "B", (double)rss_kb * 1024 / (double)goroutines, took);
	bench_report("mem_pte", "parked", "kB", (double)pte_kb, took);
	weft_close(gate);
	bench_must("weft_wg_wait", weft_wg_wait(&all));
	weft_free(gate);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
