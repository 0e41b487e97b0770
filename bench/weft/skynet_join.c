/* SPDX-License-Identifier: MIT */
/*
 * skynet_join.c: rows skynet_join_cold and skynet_join. A tree of goroutines with ten children at
 * each node and one million leaves; a leaf yields its number, a node joins its children by a wait
 * group and sums. The first run in the process is the cold one.
 */
#include "bench.h"

enum {
	LEAVES = 1000 * 1000,
	FANOUT = 10,
};

struct node {
	int64_t number; /* of the leftmost leaf below */
	int64_t leaves;
	int64_t *sum;
};

static int
node(struct node *arg)
{
	struct weft_wg wg = {0};
	int64_t sums[FANOUT];
	int64_t leaves = arg->leaves / FANOUT;
	int64_t sum = 0;

	if (arg->leaves == 1) {
		*arg->sum = arg->number;
		return 0;
	}
	for (int i = 0; i < FANOUT; i++)
		bench_must("weft_wg_go",
			   weft_wg_go(&wg, node, arg->number + i * leaves, leaves, &sums[i]));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	for (int i = 0; i < FANOUT; i++)
		sum += sums[i];
	*arg->sum = sum;
	return 0;
}

static struct bench_time
skynet(int64_t leaves)
{
	struct bench_time start = bench_now();
	struct bench_time took;
	struct weft_wg wg = {0};
	int64_t sum = -1;

	bench_must("weft_wg_go", weft_wg_go(&wg, node, 0, leaves, &sum));
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	took = bench_since(start);
	bench_check("skynet_join", sum, leaves * (leaves - 1) / 2);
	return took;
}

static int
measure(void)
{
	int64_t leaves = LEAVES;
	struct bench_time cold, warm;

	while (leaves > FANOUT && leaves > bench_scaled(LEAVES))
		leaves /= FANOUT;
	cold = skynet(leaves);
	warm = skynet(leaves);
	bench_report("skynet_join_cold", "cold", "ms", (double)cold.wall_ns / 1e6, cold);
	bench_report("skynet_join", "warm", "ms", (double)warm.wall_ns / 1e6, warm);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
