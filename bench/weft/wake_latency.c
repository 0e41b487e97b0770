/* SPDX-License-Identifier: MIT */
/*
 * wake_latency.c: rows wake_busy_*, wake_park_* and wake_floor_*. Every millisecond a goroutine
 * that has waited since the last time is sent the time of day and notes how old it is. Between two
 * sends the sender computes and does not call the library.
 *
 * wake_busy: the sender goes on computing, so another worker, idle until then, must run the
 * receiver. wake_park: the sender waits for an answer at once. wake_floor: no goroutines: a thread
 * that computes wakes one that sleeps on a futex, which is what wake_busy cannot be faster than
 * without a worker that never sleeps.
 */
#include "samples.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	WAKES = 1000,
	WARM_UP = 50, /* more, not measured */
};

static int64_t *late; /* WARM_UP and then the samples */

static int64_t
wakes_all(void)
{
	return WARM_UP + bench_scaled(WAKES);
}

struct receiver {
	weft_chan(int64_t) work;
	weft_chan(int64_t) answer; /* NULL: none is wanted */
};

static int
receiver(struct receiver *arg)
{
	int64_t sent, n = 0;

	while (bench_must("weft_recv", weft_recv(arg->work, &sent)) > 0) {
		late[n++] = clock_ns() - sent;
		if (arg->answer)
			bench_must("weft_send", weft_send(arg->answer, 0));
	}
	return 0;
}

static void
report(const char *row, struct bench_time took)
{
	int64_t count = wakes_all() - WARM_UP;

	samples_sort(late + WARM_UP, count);
	samples_report(row, late + WARM_UP, count, took);
}

struct by_channel {
	bool parks; /* the sender waits for an answer */
};

static int
by_channel(struct by_channel *arg)
{
	weft_chan(int64_t) work = bench_make(int64_t, 1);
	weft_chan(int64_t) answer = arg->parks ? bench_make(int64_t, 1) : NULL;
	struct bench_time start = bench_now();
	struct bench_time took;
	struct weft_wg wg = {0};
	int64_t count = wakes_all();

	bench_must("weft_wg_go", weft_wg_go(&wg, receiver, work, answer));
	weft_yield(); /* it waits before the first send */
	for (int64_t i = 0; i < count; i++) {
		compute_until(clock_ns() + WEFT_MS);
		bench_must("weft_send", weft_send(work, clock_ns()));
		if (arg->parks)
			bench_must("weft_recv", weft_recv(answer, NULL));
	}
	weft_close(work);
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	took = bench_since(start);
	weft_free(work);
	weft_free(answer);
	report(arg->parks ? "wake_park" : "wake_busy", took);
	return 0;
}

/* ---- the floor */

static struct {
	uint32_t turn; /* the futex: counts the wakes */
	int64_t sent;
} floor_;

static void *
floor_thread(void *arg)
{
	int64_t count = wakes_all();

	for (int64_t i = 0; i < count; i++) {
		while (__atomic_load_n(&floor_.turn, __ATOMIC_ACQUIRE) == (uint32_t)i)
			syscall(SYS_futex, &floor_.turn, FUTEX_WAIT_PRIVATE, (uint32_t)i, NULL,
				NULL, 0);
		late[i] = clock_ns() - floor_.sent;
	}
	return arg;
}

static int
by_futex(void)
{
	struct bench_time start = bench_now();
	int64_t count = wakes_all();
	pthread_t thread;

	bench_must("pthread_create", -pthread_create(&thread, NULL, floor_thread, NULL));
	for (int64_t i = 0; i < count; i++) {
		compute_until(clock_ns() + WEFT_MS);
		floor_.sent = clock_ns();
		__atomic_store_n(&floor_.turn, (uint32_t)i + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &floor_.turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_join(thread, NULL);
	report("wake_floor", bench_since(start));
	return 0;
}

int
main(void)
{
	late = samples_make(wakes_all());
	bench_must("weft_run", weft_run(by_channel, .parks = false));
	bench_must("weft_run", weft_run(by_channel, .parks = true));
	bench_must("weft_run", weft_run(by_futex)); /* inside: the report asks for weft_procs */
	free(late);
	return 0;
}
