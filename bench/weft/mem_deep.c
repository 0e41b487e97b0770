/* SPDX-License-Identifier: MIT */
/*
 * mem_deep.c: rows mem_deep2k, mem_deep20k and their page tables (_pte). A million goroutines each
 * call functions inside functions until that much stack has been used, return, and then park on one
 * channel: what the resident set has grown by, for each. No more of the million are started than
 * fit into half of the memory that is free. The argument is the depth in bytes.
 */
#include "bench.h"

enum {
	GOROUTINES = 1000 * 1000,
	FRAME = 256,          /* bytes of one call's array */
	OVERHEAD = 12 * 1024, /* what a goroutine may cost beside the depth asked for */
	KIB = 1024,
};

static struct weft_wg started; /* counted down by each goroutine before it parks */

/* Uses at least bytes of stack; the asm keeps each call's array and its place. */
__attribute__((noinline)) static int
deep(intptr_t bytes)
{
	char frame[FRAME];
	int sum;

	memset(frame, (int)bytes, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
	if (bytes <= FRAME)
		return frame[0];
	sum = deep(bytes - FRAME) + frame[FRAME - 1];
	__asm__ volatile("" : "+r"(sum) : "r"(frame) : "memory");
	return sum;
}

struct parked {
	weft_chan(int64_t) gate; /* carries nothing and is closed in the end */
	int64_t bytes;
};

static int
parked(struct parked *arg)
{
	deep(arg->bytes);
	weft_wg_done(&started);
	return weft_recv(arg->gate, NULL);
}

static int64_t
goroutines_that_fit(int64_t bytes)
{
	int64_t count = bench_scaled(GOROUTINES);
	int64_t fit = bench_proc_kb("/proc/meminfo", "MemAvailable") * KIB / 2 / (bytes + OVERHEAD);

	return fit > 0 && fit < count ? fit : count;
}

struct measure {
	int64_t bytes;
};

static int
measure(struct measure *arg)
{
	int64_t goroutines = goroutines_that_fit(arg->bytes);
	weft_chan(int64_t) gate = bench_make(int64_t, 0);
	int64_t rss_kb = bench_status_kb("VmRSS");
	int64_t pte_kb = bench_status_kb("VmPTE");
	struct bench_time start = bench_now();
	struct bench_time took;
	struct weft_wg all = {0};
	char row[32], note[64];

	weft_wg_add(&started, goroutines);
	for (int64_t i = 0; i < goroutines; i++)
		bench_must("weft_wg_go", weft_wg_go(&all, parked, gate, arg->bytes));
	bench_must("weft_wg_wait", weft_wg_wait(&started));
	weft_yield(); /* the last to count down may not have parked yet */
	took = bench_since(start);
	rss_kb = bench_status_kb("VmRSS") - rss_kb;
	pte_kb = bench_status_kb("VmPTE") - pte_kb;
	snprintf(note, sizeof(note), "%" PRId64 " goroutines", goroutines);
	bench_note(note);
	snprintf(row, sizeof(row), "mem_deep%" PRId64 "k", arg->bytes / KIB);
	bench_report(row, "parked", "B", (double)rss_kb * KIB / (double)goroutines, took);
	snprintf(row, sizeof(row), "mem_deep%" PRId64 "k_pte", arg->bytes / KIB);
	bench_report(row, "parked", "B", (double)pte_kb * KIB / (double)goroutines, took);
	weft_close(gate);
	bench_must("weft_wg_wait", weft_wg_wait(&all));
	weft_free(gate);
	return 0;
}

int
main(int argc, char **argv)
{
	int64_t bytes = argc == 2 ? atoll(argv[1]) : 0;

	if (bytes < KIB) {
		fprintf(stderr, "usage: mem_deep BYTES\n");
		return 2;
	}
	bench_must("weft_run", weft_run(measure, bytes));
	return 0;
}
