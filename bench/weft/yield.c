/* SPDX-License-Identifier: MIT */
/*
 * yield.c: rows yield2 and yield1000. That many goroutines yield in turn, 10 million yields in
 * all. The argument is the number of goroutines; without one both rows are run.
 */
#include "bench.h"

enum { YIELDS = 10 * 1000 * 1000 };

struct yielder {
	int64_t count;
};

static int
yielder(struct yielder *arg)
{
	int64_t count = arg->count;

	for (int64_t i = 0; i < count; i++)
		weft_yield();
	return 0;
}

static void
yield_all(int goroutines, int64_t each)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < goroutines; i++)
		bench_must("weft_wg_go", weft_wg_go(&wg, yielder, each));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
}

struct measure {
	int goroutines;
};

static int
measure(struct measure *arg)
{
	int goroutines = arg->goroutines;
	int64_t each = bench_scaled(YIELDS) / goroutines;
	struct bench_time start;
	char row[32];

	if (each < 1)
		each = 1;
	yield_all(goroutines, 1 + each / 100);
	start = bench_now();
	yield_all(goroutines, each);
	snprintf(row, sizeof(row), "yield%d", goroutines);
	bench_report_ns(row, "warm", each * goroutines, bench_since(start));
	return 0;
}

int
main(int argc, char **argv)
{
	int goroutines;

	if (argc == 1) {
		bench_must("weft_run", weft_run(measure, 2));
		bench_must("weft_run", weft_run(measure, 1000));
		return 0;
	}
	goroutines = atoi(argv[1]);
	if (argc > 2 || goroutines < 1) {
		fprintf(stderr, "usage: yield [goroutines]\n");
		return 2;
	}
	bench_must("weft_run", weft_run(measure, goroutines));
	return 0;
}
