/* SPDX-License-Identifier: MIT */
/*
 * chan_stream.c: rows chan_buf, chan_mpmc and chan_unbuf_stream. Producers send to as many
 * consumers over one channel, which is closed when all is sent. The argument is a row; without one
 * all are run. The rows are nanoseconds for each value.
 */
#include "bench.h"

enum { PAIRS_MAX = 4 };

struct shape {
	const char *row;
	int pairs; /* of a producer and a consumer */
	size_t capacity;
	int64_t values; /* in all */
};

static const struct shape shapes[] = {
    {"chan_buf", 1, 128, 20 * 1000 * 1000},
    {"chan_mpmc", PAIRS_MAX, 128, 20 * 1000 * 1000},
    {"chan_unbuf_stream", 1, 0, 5 * 1000 * 1000},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct producer {
	weft_chan(int64_t) ch;
	int64_t count;
};

static int
producer(struct producer *arg)
{
	weft_chan(int64_t) ch = arg->ch;
	int64_t count = arg->count;

	for (int64_t i = 0; i < count; i++)
		bench_must("weft_send", weft_send(ch, i));
	return 0;
}

struct consumer {
	weft_chan(int64_t) ch;
	int64_t *sum;
};

static int
consumer(struct consumer *arg)
{
	weft_chan(int64_t) ch = arg->ch;
	int64_t sum = 0;
	int64_t v;

	while (bench_must("weft_recv", weft_recv(ch, &v)) > 0)
		sum += v;
	*arg->sum = sum;
	return 0;
}

static void
stream(const struct shape *shape, int64_t each)
{
	weft_chan(int64_t) ch = bench_make(int64_t, shape->capacity);
	struct weft_wg producers = {0};
	struct weft_wg consumers = {0};
	int64_t sums[PAIRS_MAX];
	int64_t sum = 0;

	for (int i = 0; i < shape->pairs; i++) {
		bench_must("weft_wg_go", weft_wg_go(&consumers, consumer, ch, &sums[i]));
		bench_must("weft_wg_go", weft_wg_go(&producers, producer, ch, each));
	}
	bench_must("weft_wg_wait", weft_wg_wait(&producers));
	weft_close(ch);
	bench_must("weft_wg_wait", weft_wg_wait(&consumers));
	weft_free(ch);
	for (int i = 0; i < shape->pairs; i++)
		sum += sums[i];
	bench_check(shape->row, sum, shape->pairs * (each * (each - 1) / 2));
}

struct measure {
	const struct shape *shape;
};

static int
measure(struct measure *arg)
{
	const struct shape *shape = arg->shape;
	int64_t each = bench_scaled(shape->values) / shape->pairs;
	struct bench_time start;

	if (each < 1)
		each = 1;
	stream(shape, 1 + each / 100);
	start = bench_now();
	stream(shape, each);
	bench_report_ns(shape->row, "warm", each * shape->pairs, bench_since(start));
	return 0;
}

int
main(int argc, char **argv)
{
	int ran = 0;

	for (int i = 0; i < SHAPES && argc <= 2; i++) {
		if (argc == 2 && strcmp(argv[1], shapes[i].row) != 0)
			continue;
		bench_must("weft_run", weft_run(measure, &shapes[i]));
		ran++;
	}
	if (ran == 0) {
		fprintf(stderr, "usage: chan_stream [chan_buf|chan_mpmc|chan_unbuf_stream]\n");
		return 2;
	}
	return 0;
}
