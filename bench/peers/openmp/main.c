/* SPDX-License-Identifier: MIT */
/*
 * The fork-join rows of bench/weft with OpenMP tasks: same parameters, same rows, same output. Its
 * tasks cannot wait for each other over channels. The runtime runs a task at once where it is made
 * when many wait already, so a million at the same time (spawn_storm) are not to be had.
 */
#include "../row.h"

#include <omp.h>

static void
spawn_and_wait(int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
#pragma omp task
		__asm__ volatile("");
	}
#pragma omp taskwait
}

static void
spawn_join(void)
{
	row_spawn_join(spawn_and_wait);
}

static int64_t
fib(int n)
{
	int64_t a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) firstprivate(n)
	a = fib(n - 1);
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static void
bench_fib(void)
{
	row_fib(fib);
}

static int64_t
node(int64_t number, int64_t leaves)
{
	int64_t sums[FANOUT];
	int64_t part = leaves / FANOUT;
	int64_t sum = 0;

	if (leaves == 1)
		return number;
	for (int i = 0; i < FANOUT; i++) {
#pragma omp task shared(sums) firstprivate(i, number, part)
		sums[i] = node(number + i * part, part);
	}
#pragma omp taskwait
	for (int i = 0; i < FANOUT; i++)
		sum += sums[i];
	return sum;
}

static struct row_time
skynet_once(int64_t leaves)
{
	struct row_time start = row_now();
	int64_t sum = node(0, leaves);
	struct row_time took = row_since(start);

	row_check("skynet_join", sum, leaves * (leaves - 1) / 2);
	return took;
}

static void
skynet_join(void)
{
	struct row_time cold = skynet_once(row_leaves());
	struct row_time warm = skynet_once(row_leaves());

	row_report_ms("skynet_join_cold", "cold", cold);
	row_report_ms("skynet_join", "warm", warm);
}

static void
threaded(void (*f)(void))
{
#pragma omp parallel num_threads(row_procs())
#pragma omp single
	f();
}

static void
run_spawn_join(void)
{
	threaded(spawn_join);
}

static void
run_fib(void)
{
	threaded(bench_fib);
}

static void
run_skynet_join(void)
{
	threaded(skynet_join);
}

static const struct row_entry table[] = {
    {"spawn_join", run_spawn_join},
    {"fib", run_fib},
    {"skynet_join", run_skynet_join},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
	char version[64];

	snprintf(version, sizeof(version), "OpenMP %d, %s", _OPENMP, "cc " __VERSION__ " -O2");
	return row_main(argc, argv, version, table);
}
