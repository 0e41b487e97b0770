/* SPDX-License-Identifier: MIT */
/*
 * skynet.c: rows skynet_cold and skynet. The tree of skynet_join.c, ten children at each node and
 * one million leaves, with an unbuffered channel at each node over which the children send their
 * sums. The first run in the process is the cold one.
 */
#include "bench.h"

enum {
	LEAVES = 1000 * 1000,
	FANOUT = 10,
};

struct node {
	int64_t number; /* of the leftmost leaf below */
	int64_t leaves;
	weft_chan(int64_t) result;
};

static int
node(struct node *arg)
{
	weft_chan(int64_t) results;
	int64_t leaves = arg->leaves / FANOUT;
	int64_t sum = 0;

	if (arg->leaves == 1) {
		bench_must("weft_send", weft_send(arg->result, arg->number));
		return 0;
	}
	results = bench_make(int64_t, 0);
	for (int i = 0; i < FANOUT; i++)
		bench_must("weft_go", weft_go(node, arg->number + i * leaves, leaves, results));
	for (int i = 0; i < FANOUT; i++) {
		int64_t part;

		bench_must("weft_recv", weft_recv(results, &part));
		sum += part;
	}
	weft_free(results);
	bench_must("weft_send", weft_send(arg->result, sum));
	return 0;
}

static struct bench_time
skynet(int64_t leaves)
{
	struct bench_time start = bench_now();
	struct bench_time took;
	weft_chan(int64_t) result = bench_make(int64_t, 0);
	int64_t sum = -1;

	bench_must("weft_go", weft_go(node, 0, leaves, result));
	bench_must("weft_recv", weft_recv(result, &sum));
	took = bench_since(start);
	weft_free(result);
	bench_check("skynet", sum, leaves * (leaves - 1) / 2);
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
	bench_report("skynet_cold", "cold", "ms", (double)cold.wall_ns / 1e6, cold);
	bench_report("skynet", "warm", "ms", (double)warm.wall_ns / 1e6, warm);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
