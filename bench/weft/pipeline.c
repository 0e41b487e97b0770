/* SPDX-License-Identifier: MIT */
/*
 * pipeline.c: row pipeline. A thousand goroutines receive a thousand numbers each from one shared
 * channel, work for a microsecond on every number and send it on over a second shared channel. One
 * more goroutine feeds the first channel; the one that measures empties the second.
 *
 * Beside it its floor: the same work on as many processors, and for each channel a word that all of
 * them add to, as less than the transfer of one cache line nobody can share.
 */
#include "bench.h"

enum {
	WORKERS = 1000,
	ITEMS = 1000, /* for each worker */
	CAPACITY = 128,
	PROBE_STEPS = 500 * 1000,
	PROBE_TRIES = 20,
};

/* A chain of multiplications each of which needs the one before: it takes the same time in every
   language. The empty asm keeps the compiler from finding a shorter way. */
__attribute__((noinline)) static uint64_t
work(uint64_t x, int64_t steps)
{
	for (int64_t i = 0; i < steps; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/* The steps of work that take a microsecond: the shortest of several tries, as other load on the
   machine only ever makes one longer. */
static int64_t
steps_per_us(void)
{
	int64_t best = INT64_MAX;
	int64_t steps;

	for (int i = 0; i < PROBE_TRIES; i++) {
		int64_t start = bench_now().wall_ns;
		int64_t ns;

		work((uint64_t)i, PROBE_STEPS);
		ns = bench_now().wall_ns - start;
		if (ns < best)
			best = ns;
	}
	steps = PROBE_STEPS * WEFT_US / (best > 0 ? best : 1);
	return steps > 0 ? steps : 1;
}

struct feeder {
	weft_chan(int64_t) ch;
	int64_t count;
};

static int
feeder(struct feeder *arg)
{
	weft_chan(int64_t) ch = arg->ch;
	int64_t count = arg->count;

	for (int64_t i = 0; i < count; i++)
		bench_must("weft_send", weft_send(ch, i));
	return 0;
}

struct worker {
	weft_chan(int64_t) in;
	weft_chan(int64_t) out;
	int64_t items;
	int64_t steps;
};

static int
worker(struct worker *arg)
{
	weft_chan(int64_t) in = arg->in;
	weft_chan(int64_t) out = arg->out;
	int64_t items = arg->items;
	int64_t steps = arg->steps;
	uint64_t x = 0;

	for (int64_t i = 0; i < items; i++) {
		int64_t v;

		bench_must("weft_recv", weft_recv(in, &v));
		x = work(x, steps);
		bench_must("weft_send", weft_send(out, v));
	}
	return 0;
}

static void
pipeline(int64_t items, int64_t steps)
{
	weft_chan(int64_t) in = bench_make(int64_t, CAPACITY);
	weft_chan(int64_t) out = bench_make(int64_t, CAPACITY);
	int64_t count = items * WORKERS;
	struct weft_wg wg = {0};
	int64_t sum = 0;

	for (int i = 0; i < WORKERS; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, worker, in, out, items, steps));
	bench_must("weft_wg_go", weft_wg_go(&wg, feeder, in, count));
	for (int64_t i = 0; i < count; i++) {
		int64_t v;

		bench_must("weft_recv", weft_recv(out, &v));
		sum += v;
	}
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	weft_free(in);
	weft_free(out);
	bench_check("pipeline", sum, count * (count - 1) / 2);
}

static struct {
	_Alignas(128) int64_t in;
	_Alignas(128) int64_t out;
} shared;

struct lone_worker {
	int64_t items;
	int64_t steps;
};

static int
lone_worker(struct lone_worker *arg)
{
	uint64_t x = 0;

	for (int64_t i = 0; i < arg->items; i++) {
		__atomic_fetch_add(&shared.in, 1, __ATOMIC_ACQ_REL);
		x = work(x, arg->steps);
		__atomic_fetch_add(&shared.out, 1, __ATOMIC_ACQ_REL);
	}
	return 0;
}

static void
work_alone(int64_t items, int64_t steps)
{
	int procs = weft_procs();
	struct weft_wg wg = {0};

	for (int i = 0; i < procs; i++)
		bench_must("weft_wg_go",
			   weft_wg_go(&wg, lone_worker, items * WORKERS / procs, steps));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
}

static int
measure(void)
{
	int64_t items = bench_scaled(ITEMS);
	int64_t steps = steps_per_us();
	struct bench_time start, took;

	pipeline(1 + items / 100, steps);
	start = bench_now();
	pipeline(items, steps);
	took = bench_since(start);
	bench_report("pipeline", "warm", "ms", (double)took.wall_ns / 1e6, took);
	start = bench_now();
	work_alone(items, steps);
	took = bench_since(start);
	bench_report("pipeline_floor", "warm", "ms", (double)took.wall_ns / 1e6, took);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
