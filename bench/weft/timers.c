/* SPDX-License-Identifier: MIT */
/*
 * timers.c: rows timers_p50, timers_p99 and timers_cpu (100,000 goroutines sleep a random time of 1
 * to 1000 ms, three times: how late they wake, and the CPU it took), timer_churn (a timer is
 * started and stopped), idle_cpu (10,000 parked goroutines and a ticker of 1 ms for 10 s).
 *
 * Beside them their floors, without goroutines: timers_floor (the first page of as many
 * stacks, and a thread that sleeps for 250 us again and again, since to be late by half of that somebody
 * must wake up so often), timer_churn_floor (the clock read once), idle_floor (a thread that sleeps for
 * 1 ms again and again: what idle_cpu cannot be below, if no tick is lost).
 * The argument is the row, a floor belongs to it; without one all are run.
 */
#define _GNU_SOURCE /* MADV_ */
#include "bench.h"

#include <sys/mman.h>
#include <sys/prctl.h>

enum {
	SLEEPERS = 100 * 1000,
	ROUNDS = 3,
	CHURN = 5 * 1000 * 1000,
	PARKED = 10 * 1000,
	TICKS = 10000,
	FLOOR_TICKS = 2500,
	STACK = 68 * 1024, /* from one to the next */
	WAKES = 12 * 1000, /* in three seconds */
	WAKE_NS = 250 * 1000,
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

/* ---- the floors */

static struct bench_time floor_took;

/* As exact as the library's own sleeps. */
static void
sleep_again_and_again(int64_t times, int64_t ns)
{
	struct timespec at;

	prctl(PR_SET_TIMERSLACK, 1);
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (int64_t i = 0; i < times; i++) {
		at.tv_nsec += ns;
		at.tv_sec += at.tv_nsec / WEFT_SEC;
		at.tv_nsec %= WEFT_SEC;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
}

/* A page of each stack. */
static void
touch_stacks(size_t n)
{
	char *stacks = mmap(NULL, n * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	bench_must("mmap", stacks == MAP_FAILED ? -errno : 0);
	madvise(stacks, n * STACK, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		stacks[(i + 1) * STACK - 4096 - 64] = 1;
	munmap(stacks, n * STACK);
}

/* No runtime is up. The first time the machine below this one may have to find the pages, which takes
   longer than anything else here. */
static void
timers_floor(void)
{
	size_t n = (size_t)bench_scaled(SLEEPERS);
	struct bench_time start;

	touch_stacks(n);
	start = bench_now();
	touch_stacks(n);
	sleep_again_and_again(bench_scaled(WAKES), WAKE_NS);
	floor_took = bench_since(start);
}

/* In a run: the report asks for weft_procs. */
static int
report_timers_floor(void)
{
	bench_report("timers_floor", "cold", "ms", (double)floor_took.cpu_ns / 1e6, floor_took);
	return 0;
}

static int
timer_churn_floor(void)
{
	int64_t n = bench_scaled(CHURN);
	struct bench_time start = bench_now();
	struct timespec t;

	for (int64_t i = 0; i < n; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "r"(&t) : "memory");
	}
	bench_report_ns("timer_churn_floor", "warm", n, bench_since(start));
	return 0;
}

static int
report_idle_floor(void)
{
	bench_report("idle_floor", "warm", "ms per 10 s",
		     (double)floor_took.cpu_ns / 1e6 * 10e9 / (double)floor_took.wall_ns,
		     floor_took);
	return 0;
}

/* No runtime is up. */
static void
idle_floor(void)
{
	struct bench_time start = bench_now();

	sleep_again_and_again(bench_scaled(FLOOR_TICKS), WEFT_MS);
	floor_took = bench_since(start);
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
	if (!*row || strcmp(row, "timers") == 0) {
		bench_must("weft_run", weft_run(timers));
		timers_floor();
		bench_must("weft_run", weft_run(report_timers_floor));
	}
	if (!*row || strcmp(row, "timer_churn") == 0) {
		bench_must("weft_run", weft_run(timer_churn));
		bench_must("weft_run", weft_run(timer_churn_floor));
	}
	if (!*row || strcmp(row, "idle_cpu") == 0) {
		bench_must("weft_run", weft_run(idle_cpu));
		idle_floor();
		bench_must("weft_run", weft_run(report_idle_floor));
	}
	return 0;
}
