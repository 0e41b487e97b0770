/* SPDX-License-Identifier: MIT */
/*
 * idle.c: row idle. Ten thousand goroutines wait on a channel and nothing happens for ten seconds:
 * the CPU time of the process meanwhile. A plain thread sleeps those ten seconds and then wakes
 * goroutine 1.
 */
#include "samples.h"

#include <pthread.h>

enum { GOROUTINES = 10 * 1000 };

static const int64_t IDLE_NS = 10 * WEFT_SEC;
static const int64_t SETTLE_NS =
    300 * WEFT_MS; /* what is still awake from the start goes to sleep */

static struct weft_wg started;
static struct bench_time took;

struct parked {
	weft_chan(int64_t) gate; /* carries nothing and is closed in the end */
};

static int
parked(struct parked *arg)
{
	weft_wg_done(&started);
	return weft_recv(arg->gate, NULL);
}

static void *
waker(void *over)
{
	struct bench_time start;

	block_ns(SETTLE_NS);
	start = bench_now();
	block_ns(IDLE_NS * bench_scale() / 100);
	took = bench_since(start);
	weft_close(over);
	return NULL;
}

static int
measure(void)
{
	weft_chan(int64_t) gate = bench_make(int64_t, 0);
	weft_chan(int64_t) over = bench_make(int64_t, 0);
	struct weft_wg all = {0};
	pthread_t thread;

	weft_wg_add(&started, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		bench_must("weft_wg_go", weft_wg_go(&all, parked, gate));
	bench_must("weft_wg_wait", weft_wg_wait(&started));
	bench_must("pthread_create", -pthread_create(&thread, NULL, waker, over));
	bench_must("weft_recv", weft_recv(over, NULL));
	bench_report("idle", "parked", "ms", (double)took.cpu_ns / 1e6, took);
	pthread_join(thread, NULL);
	weft_close(gate);
	bench_must("weft_wg_wait", weft_wg_wait(&all));
	weft_free(gate);
	weft_free(over);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
