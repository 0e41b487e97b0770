/* SPDX-License-Identifier: MIT */
/*
 * stw.c: rows stw_* and stw_busy_*. The world is stopped a thousand times, by weft_set_procs with
 * the number that is set already, while four goroutines compute: in stw they never call the library
 * (so that they soon have no P left to lose), in stw_busy they yield every 50 us (so that each stop
 * takes Ps from them). A row is the whole call: stop, nothing to change, start. The switch rows
 * count how often the kernel took a CPU away from a thread of the process meanwhile.
 */
#include "samples.h"

enum { STOPS = 1000 };

static const int64_t BUSY_NS = 50 * WEFT_US;
static const int64_t BETWEEN_NS = 200 * WEFT_US;

static int64_t
involuntary_switches(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_nivcsw;
}

static void
stops(const char *row, int64_t yield_every_ns)
{
	int64_t count = bench_scaled(STOPS);
	int64_t *took_ns = samples_make(count);
	int procs = weft_procs();
	struct bench_time start, took;
	int64_t switches;
	char name[32];

	hogs_start(yield_every_ns);
	start = bench_now();
	switches = involuntary_switches();
	for (int64_t i = 0; i < count; i++) {
		int64_t before = clock_ns();
		int64_t after;

		bench_must("weft_set_procs", weft_set_procs(procs));
		after = clock_ns();
		took_ns[i] = after - before;
		compute_until(after + BETWEEN_NS);
	}
	switches = involuntary_switches() - switches;
	took = bench_since(start);
	hogs_end();
	samples_sort(took_ns, count);
	samples_report(row, took_ns, count, took);
	snprintf(name, sizeof(name), "%s_switches", row);
	bench_report(name, "warm", "times", (double)switches, took);
	free(took_ns);
}

static int
measure(void)
{
	stops("stw", 0);
	stops("stw_busy", BUSY_NS);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
