/* SPDX-License-Identifier: MIT */
/*
 * timers.c: rows timers_p50, timers_p99 and timers_cpu (100,000 goroutines sleep a random time of 1
 * to 1000 ms, three times: how late they wake, and the CPU it took), timer_churn (a timer is
 * started and stopped), idle_cpu (10,000 parked goroutines and a ticker of 1 ms for 10 s).
 * The argument is the row; without one all are run.
 */
#include "bench.h"

enum {
	SLEEPERS = 100 * 1000,
	ROUNDS = 3,
	CHURN = 5 * 1000 * 1000,
	PARKED = 10 * 1000,
	TICKS = 10000
};

static int64_t *late;

struct sleeper {
	int64_t at;
	uint64_t seed;
};

static int
sleeper(struct sleeper *a)
{
	uint64_t x = a->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t ns, until;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ns = (int64_t)(1 + x % 1000) * WEFT_MS;
		until = weft_now() + ns;
		bench_must("weft_sleep", weft_sleep(ns));
		late[a->at * ROUNDS + i] = weft_now() - until;
	}
	return 0;
}

static int
by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int
timers(void)
{
	int64_t n = bench_scaled(SLEEPERS);
	struct weft_wg wg = {0};
	struct bench_time start, took;

	late = bench_must_have("malloc", calloc((size_t)n * ROUNDS, sizeof(*late)));
	start = bench_now();
	for (int64_t i = 0; i < n; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, sleeper, i, (uint64_t)i + 1));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	took = bench_since(start);
	qsort(late, (size_t)n * ROUNDS, sizeof(*late), by_value);
	bench_report("timers_p50", "cold", "us", (double)late[n * ROUNDS / 2] / 1e3, took);
	bench_report("timers_p99", "cold", "us", (double)late[n * ROUNDS * 99 / 100] / 1e3, took);
	bench_report("timers_cpu", "cold", "ms", (double)took.cpu_ns / 1e6, took);
	free(late);
	return 0;
}

static int
nothing(void)
{
	return 0;
}

static void
churn(struct weft_timer *t, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		bench_check("timer_churn", weft_timer_reset(t, WEFT_SEC * 3600), 0);
		bench_check("timer_churn", weft_timer_stop(t), 1);
	}
}

static int
timer_churn(void)
{
	struct weft_timer *t =
	    bench_must_have("weft_timer_func", weft_timer_func(WEFT_SEC * 3600, nothing));
	int64_t n = bench_scaled(CHURN);
	struct bench_time start;

	weft_timer_stop(t);
	churn(t, 1 + n / 100);
	start = bench_now();
	churn(t, n);
	bench_report_ns("timer_churn", "warm", n, bench_since(start));
	weft_timer_free(t);
	return 0;
}

struct parked {
	weft_chan(int) gate;
};

static int
parked(struct parked *a)
{
	weft_recv(a->gate, NULL);
	return 0;
}

static int
idle_cpu(void)
{
	weft_chan(int) gate = bench_make(int, 0);
	struct weft_wg wg = {0};
	int64_t ticks = bench_scaled(TICKS);
	struct weft_timer *t;
	struct bench_time start, took;

	for (int i = 0; i < PARKED; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, parked, gate));
	weft_sleep(10 * WEFT_MS);
	start = bench_now();
	t = bench_must_have("weft_ticker", weft_ticker(WEFT_MS));
	for (int64_t until = weft_now() + ticks * WEFT_MS; weft_now() < until;)
		bench_must("weft_recv", weft_recv(weft_timer_chan(t), NULL));
	took = bench_since(start);
	bench_report("idle_cpu", "warm", "ms per 10 s",
		     (double)took.cpu_ns / 1e6 * 10e9 / (double)took.wall_ns, took);
	weft_timer_free(t);
	weft_close(gate);
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	weft_free(gate);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *row = argc > 1 ? argv[1] : "";

	if (argc > 2 || (*row && strcmp(row, "timers") != 0 && strcmp(row, "timer_churn") != 0 &&
			 strcmp(row, "idle_cpu") != 0)) {
		fprintf(stderr, "usage: timers [timers | timer_churn | idle_cpu]\n");
		return 2;
	}
	if (!*row || strcmp(row, "timers") == 0)
		bench_must("weft_run", weft_run(timers));
	if (!*row || strcmp(row, "timer_churn") == 0)
		bench_must("weft_run", weft_run(timer_churn));
	if (!*row || strcmp(row, "idle_cpu") == 0)
		bench_must("weft_run", weft_run(idle_cpu));
	return 0;
}
