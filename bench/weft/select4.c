/* SPDX-License-Identifier: MIT */
/*
 * select4.c: row select4. One goroutine receives by select from four unbuffered channels, each of
 * which has one sender, 4 million values in all. The row is nanoseconds for each value.
 */
#include "bench.h"

enum {
	VALUES = 4 * 1000 * 1000,
	SENDERS = 4,
};

struct sender {
	weft_chan(int64_t) ch;
	int64_t count;
};

static int
sender(struct sender *arg)
{
	weft_chan(int64_t) ch = arg->ch;
	int64_t count = arg->count;

	for (int64_t i = 0; i < count; i++)
		bench_must("weft_send", weft_send(ch, i));
	return 0;
}

static void
select4(int64_t each)
{
	weft_chan(int64_t) from[SENDERS];
	struct weft_wg wg = {0};
	int64_t sum = 0;
	int64_t v = 0;

	for (int i = 0; i < SENDERS; i++) {
		from[i] = bench_make(int64_t, 0);
		bench_must("weft_wg_go", weft_wg_go(&wg, sender, from[i], each));
	}
	for (int64_t left = each * SENDERS; left > 0; left--) {
		int fired = weft_select(WEFT_RECV(from[0], &v), WEFT_RECV(from[1], &v),
					WEFT_RECV(from[2], &v), WEFT_RECV(from[3], &v));

		bench_must("weft_select", fired);
		sum += v;
	}
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	for (int i = 0; i < SENDERS; i++)
		weft_free(from[i]);
	bench_check("select4", sum, SENDERS * (each * (each - 1) / 2));
}

static int
measure(void)
{
	int64_t each = bench_scaled(VALUES) / SENDERS;
	struct bench_time start;

	if (each < 1)
		each = 1;
	select4(1 + each / 100);
	start = bench_now();
	select4(each);
	bench_report_ns("select4", "warm", each * SENDERS, bench_since(start));
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
