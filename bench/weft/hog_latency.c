/* SPDX-License-Identifier: MIT */
/*
 * hog_latency.c: rows hog_latency_*, hog_added_* and hog_wake_*. Four goroutines compute and never
 * call the library, on fewer Ps than that. Meanwhile two others pass a number to and fro over
 * unbuffered channels.
 *
 * hog_latency is a round trip, one after the other; hog_added is what the hogs add to it. hog_wake
 * is how late an answer is that was due when a sleep of 1 ms ended: sleep, round trip. The sleep is
 * nanosleep, which the library is not told of.
 */
#include "samples.h"

enum {
	STEPS = 1000,
	WAKES = 500,
};

struct echo {
	weft_chan(int64_t) ping;
	weft_chan(int64_t) pong;
};

static int
echo(struct echo *arg)
{
	int64_t v;

	while (bench_must("weft_recv", weft_recv(arg->ping, &v)) > 0)
		bench_must("weft_send", weft_send(arg->pong, v));
	return 0;
}

/* count round trips, each begun sleep_ns after the one before; how late each was, sorted. */
static int64_t *
round_trips(int64_t count, int64_t sleep_ns)
{
	struct echo with = {.ping = bench_make(int64_t, 0), .pong = bench_make(int64_t, 0)};
	int64_t *late = samples_make(count);
	struct weft_wg wg = {0};

	bench_must("weft_wg_go", weft_wg_go(&wg, echo, with.ping, with.pong));
	weft_yield(); /* the echo waits before the first step */
	for (int64_t i = 0; i < count; i++) {
		int64_t due = clock_ns() + sleep_ns;
		int64_t v;

		if (sleep_ns > 0)
			block_ns(sleep_ns);
		bench_must("weft_send", weft_send(with.ping, i));
		bench_must("weft_recv", weft_recv(with.pong, &v));
		late[i] = clock_ns() - due;
	}
	weft_close(with.ping);
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	weft_free(with.ping);
	weft_free(with.pong);
	samples_sort(late, count);
	return late;
}

static int
measure(void)
{
	int64_t steps = bench_scaled(STEPS);
	int64_t wakes = bench_scaled(WAKES);
	int64_t *alone, *beside, *woken;
	struct bench_time start, took, woken_took;

	free(round_trips(steps, 0));
	alone = round_trips(steps, 0);
	hogs_start(0);
	start = bench_now();
	beside = round_trips(steps, 0);
	took = bench_since(start);
	start = bench_now();
	woken = round_trips(wakes, WEFT_MS);
	woken_took = bench_since(start);
	hogs_end();

	samples_report("hog_latency", beside, steps, took);
	for (int percent = 50; percent < 100; percent += 49) {
		char row[32];
		int64_t added =
		    samples_at(beside, steps, percent) - samples_at(alone, steps, percent);

		snprintf(row, sizeof(row), "hog_added_p%d", percent);
		bench_report(row, "warm", "us", (double)added / 1e3, took);
	}
	samples_report("hog_wake", woken, wakes, woken_took);
	free(alone);
	free(beside);
	free(woken);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
