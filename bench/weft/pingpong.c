/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c: row pingpong. Two goroutines pass a number to and fro over two unbuffered channels,
 * 5 million round trips. The row is nanoseconds for each round trip.
 */
#include "bench.h"

enum { ROUND_TRIPS = 5 * 1000 * 1000 };

struct echo {
	weft_chan(int64_t) ping;
	weft_chan(int64_t) pong;
};

static int
echo(struct echo *arg)
{
	weft_chan(int64_t) ping = arg->ping;
	weft_chan(int64_t) pong = arg->pong;
	int64_t v;

	while (bench_must("weft_recv", weft_recv(ping, &v)) > 0)
		bench_must("weft_send", weft_send(pong, v));
	return 0;
}

static void
pingpong(int64_t count)
{
	weft_chan(int64_t) ping = bench_make(int64_t, 0);
	weft_chan(int64_t) pong = bench_make(int64_t, 0);
	struct weft_wg wg = {0};

	bench_must("weft_wg_go", weft_wg_go(&wg, echo, ping, pong));
	for (int64_t i = 0; i < count; i++) {
		int64_t v;

		bench_must("weft_send", weft_send(ping, i));
		bench_must("weft_recv", weft_recv(pong, &v));
		bench_check("pingpong", v, i);
	}
	weft_close(ping);
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	weft_free(ping);
	weft_free(pong);
}

static int
measure(void)
{
	int64_t count = bench_scaled(ROUND_TRIPS);
	struct bench_time start;

	pingpong(1 + count / 100);
	start = bench_now();
	pingpong(count);
	bench_report_ns("pingpong", "warm", count, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
