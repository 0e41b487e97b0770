/* SPDX-License-Identifier: MIT */
/*
 * fib.c: row fib. Fork-join Fibonacci numbers: every call with n >= 2 starts one child, computes
 * the other half itself and joins by a wait group on its own stack. The row is nanoseconds for
 * each goroutine started.
 */
#include "bench.h"

enum {
	N = 27,
	N_MIN = 10,
	REPEAT = 4, /* fib(27) alone starts 317,810 goroutines: 17 ms at 55 ns each */
};

struct fib_child {
	int n;
	int64_t *result;
};

static int fib_child(struct fib_child *arg);

static int64_t
fib(int n)
{
	struct weft_wg wg = {0};
	int64_t a, b;

	if (n < 2)
		return n;
	bench_must("weft_wg_go", weft_wg_go(&wg, fib_child, n - 1, &a));
	b = fib(n - 2);
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	return a + b;
}

static int
fib_child(struct fib_child *arg)
{
	*arg->result = fib(arg->n);
	return 0;
}

/* The n whose work is about BENCH_SCALE percent of that of N: one less divides it by 1.6. */
static int
fib_n(void)
{
	int n = N;

	for (double percent = (double)bench_scale(); percent < 99 && n > N_MIN; percent *= 1.618)
		n--;
	return n;
}

/* fib(n), and in *spawns the number of calls with an argument of 2 or more: fib(n + 1) - 1. */
static int64_t
fib_expected(int n, int64_t *spawns)
{
	int64_t a = 0, b = 1;

	for (int i = 0; i < n; i++) {
		int64_t next = a + b;

		a = b;
		b = next;
	}
	*spawns = b - 1;
	return a;
}

static int
measure(void)
{
	int n = fib_n();
	int64_t spawns;
	int64_t expected = fib_expected(n, &spawns);
	struct bench_time start;

	fib(n);
	start = bench_now();
	for (int i = 0; i < REPEAT; i++) {
		if (fib(n) != expected) {
			fprintf(stderr, "bench: fib(%d) is wrong\n", n);
			exit(1);
		}
	}
	bench_report_ns("fib", "warm", spawns * REPEAT, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
