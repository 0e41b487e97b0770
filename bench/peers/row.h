/* SPDX-License-Identifier: MIT */
/*
 * row.h: clocks, scaling and output for the peers that are C or C++ programs, as bench/weft/bench.h
 * does it for weft.
 *
 * A program fills in a table of what it can do and passes it to row_main. BENCH_PROCS is the number
 * of threads, BENCH_SCALE a percentage of the full counts.
 */
#ifndef ROW_H
#define ROW_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define ROW_UNUSED __attribute__((unused))

/* The counts of bench/weft. */
enum {
	YIELDS = 10 * 1000 * 1000,
	TASKS = 1000 * 1000,
	BATCH = 1000,
	BATCH_REPEAT = 4,
	FIB_N = 27,
	FIB_N_MIN = 10,
	FIB_REPEAT = 4,
	LEAVES = 1000 * 1000,
	FANOUT = 10,
	ROUND_TRIPS = 5 * 1000 * 1000,
	BUF_VALUES = 20 * 1000 * 1000,
	UNBUF_VALUES = 5 * 1000 * 1000,
	MPMC_PAIRS = 4,
	BUFFER = 128,
	PRIMES = 2000,
	LOCKERS = 8,
	LOCKS = 1000 * 1000,
	LOCK_REPEAT = 4,
	WORKERS = 1000,
	ITEMS = 1000,
	PROBE_STEPS = 500 * 1000,
	PROBE_TRIES = 20,
};

struct row_time {
	int64_t wall_ns;
	int64_t cpu_ns; /* user and system, all threads of the process */
};

ROW_UNUSED static struct row_time
row_now(void)
{
	struct timespec ts;
	struct rusage ru;
	struct row_time t;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	getrusage(RUSAGE_SELF, &ru);
	t.wall_ns = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
	t.cpu_ns = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * INT64_C(1000000000) +
		   (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * INT64_C(1000);
	return t;
}

ROW_UNUSED static struct row_time
row_since(struct row_time start)
{
	struct row_time end = row_now();

	end.wall_ns -= start.wall_ns;
	end.cpu_ns -= start.cpu_ns;
	return end;
}

ROW_UNUSED __attribute__((noreturn)) static void
row_die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

ROW_UNUSED static void
row_check(const char *row, int64_t result, int64_t expected)
{
	if (result == expected)
		return;
	fprintf(stderr, "bench: %s: %" PRId64 " instead of %" PRId64 "\n", row, result, expected);
	exit(1);
}

ROW_UNUSED static long
row_number(const char *name, long otherwise, long most)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (text == NULL || *text == '\0')
		return otherwise;
	n = strtol(text, &end, 10);
	if (*end != '\0' || n < 1 || n > most) {
		fprintf(stderr, "bench: %s=%s: want a number from 1 to %ld\n", name, text, most);
		exit(2);
	}
	return n;
}

ROW_UNUSED static int64_t
row_scale(void)
{
	return row_number("BENCH_SCALE", 100, 1000);
}

ROW_UNUSED static int64_t
row_scaled(int64_t count)
{
	int64_t scaled = count * row_scale() / 100;

	return scaled > 0 ? scaled : 1;
}

ROW_UNUSED static int
row_procs(void)
{
	return (int)row_number("BENCH_PROCS", 1, 1024);
}

/* A field of /proc/self/status that is given in kB, such as "VmRSS"; 0 if it is missing. */
ROW_UNUSED static int64_t
row_status_kb(const char *field)
{
	size_t len = strlen(field);
	int64_t kb = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, len) == 0 && line[len] == ':')
			kb = strtoll(line + len + 1, NULL, 10);
	fclose(f);
	return kb;
}

static const char *row_note_text = "";

/* Says something beside the values of the rows that follow; text without quotes, which must stay. */
ROW_UNUSED static void
row_note(const char *text)
{
	row_note_text = text;
}

ROW_UNUSED static void
row_report(const char *row, const char *state, const char *unit, double value, struct row_time took)
{
	printf("{\"row\":\"%s\",\"state\":\"%s\",\"unit\":\"%s\",\"value\":%.3f,"
	       "\"wall_ms\":%.3f,\"cpu_ms\":%.3f,\"procs\":%d,\"note\":\"%s\"}\n",
	       row, state, unit, value, (double)took.wall_ns / 1e6, (double)took.cpu_ns / 1e6,
	       row_procs(), row_note_text);
	fflush(stdout);
}

ROW_UNUSED static void
row_report_ns(const char *row, const char *state, int64_t count, struct row_time took)
{
	row_report(row, state, "ns", (double)took.wall_ns / (double)count, took);
}

ROW_UNUSED static void
row_report_ms(const char *row, const char *state, struct row_time took)
{
	row_report(row, state, "ms", (double)took.wall_ns / 1e6, took);
}

/* ---- what several programs need alike */

/* The n whose work is about BENCH_SCALE percent of that of FIB_N: one less divides it by 1.6. */
ROW_UNUSED static int
row_fib_n(void)
{
	int n = FIB_N;
	double percent;

	for (percent = (double)row_scale(); percent < 99 && n > FIB_N_MIN; percent *= 1.618)
		n--;
	return n;
}

/* fib(n), and in *spawns the number of calls with an argument of 2 or more: fib(n + 1) - 1. */
ROW_UNUSED static int64_t
row_fib_expected(int n, int64_t *spawns)
{
	int64_t a = 0, b = 1;
	int i;

	for (i = 0; i < n; i++) {
		int64_t next = a + b;

		a = b;
		b = next;
	}
	*spawns = b - 1;
	return a;
}

/* The fork-join rows of a peer that can start count tasks and wait for all of them. */
ROW_UNUSED static void
row_spawn_join(void (*spawn_and_wait)(int64_t count))
{
	int64_t batches = row_scaled(TASKS) / BATCH * BATCH_REPEAT, i;
	struct row_time start;

	if (batches < 1)
		batches = 1;
	for (i = 0; i <= batches / 100; i++)
		spawn_and_wait(BATCH);
	start = row_now();
	for (i = 0; i < batches; i++)
		spawn_and_wait(BATCH);
	row_report_ns("spawn_join", "warm", batches * BATCH, row_since(start));
}

ROW_UNUSED static void
row_spawn_storm(void (*spawn_and_wait)(int64_t count))
{
	int64_t count = row_scaled(TASKS);
	struct row_time start = row_now(), none = {0, 0}, cold, warm;

	spawn_and_wait(count);
	cold = row_since(start);
	start = row_now();
	spawn_and_wait(count);
	warm = row_since(start);
	row_report_ns("spawn_storm_cold", "cold", count, cold);
	row_report_ns("spawn_storm", "warm", count, warm);
	row_report("spawn_storm_rss", "peak", "MiB", (double)row_status_kb("VmHWM") / 1024, none);
}

ROW_UNUSED static void
row_fib(int64_t (*fib)(int n))
{
	int n = row_fib_n(), i;
	int64_t spawns, expected = row_fib_expected(n, &spawns);
	struct row_time start;

	fib(n);
	start = row_now();
	for (i = 0; i < FIB_REPEAT; i++)
		row_check("fib", fib(n), expected);
	row_report_ns("fib", "warm", spawns * FIB_REPEAT, row_since(start));
}

/* A power of the fan-out, as the tree has no other numbers of leaves. */
ROW_UNUSED static int64_t
row_leaves(void)
{
	int64_t leaves = LEAVES;

	while (leaves > FANOUT && leaves > row_scaled(LEAVES))
		leaves /= FANOUT;
	return leaves;
}

/* The root of the scale is taken, as the work grows with the square of the primes. */
ROW_UNUSED static int
row_primes(void)
{
	int64_t scale = row_scale();
	int64_t count = 1;

	while (100 * (count + 1) * (count + 1) <= scale * PRIMES * PRIMES)
		count++;
	return (int)count;
}

/* The count-th prime by trial division, to check a sieve with. */
ROW_UNUSED static int64_t
row_nth_prime(int count)
{
	int64_t n = 1;

	while (count > 0) {
		int64_t d = 2;

		n++;
		while (d * d <= n && n % d != 0)
			d++;
		if (d * d > n)
			count--;
	}
	return n;
}

/* A chain of multiplications each of which needs the one before. */
ROW_UNUSED __attribute__((noinline)) static uint64_t
row_work(uint64_t x, int64_t steps)
{
	int64_t i;

	for (i = 0; i < steps; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/* The steps of work that take a microsecond: the shortest of several tries. */
ROW_UNUSED static int64_t
row_steps_per_us(void)
{
	int64_t best = INT64_MAX;
	int64_t steps;
	int i;

	for (i = 0; i < PROBE_TRIES; i++) {
		int64_t start = row_now().wall_ns;
		int64_t ns;

		row_work((uint64_t)i, PROBE_STEPS);
		ns = row_now().wall_ns - start;
		if (ns < best)
			best = ns;
	}
	steps = PROBE_STEPS * INT64_C(1000) / (best > 0 ? best : 1);
	return steps > 0 ? steps : 1;
}

/* ---- main */

struct row_entry {
	const char *command; /* such as "fib" or "yield 2"; NULL ends the table */
	void (*run)(void);
};

ROW_UNUSED static int
row_main(int argc, char **argv, const char *version, const struct row_entry *table)
{
	const struct row_entry *e;
	char command[128] = "";
	int i;

	for (i = 1; i < argc && i < 3; i++)
		snprintf(command + strlen(command), sizeof(command) - strlen(command), "%s%s",
			 i > 1 ? " " : "", argv[i]);
	if (strcmp(command, "version") == 0) {
		puts(version);
		return 0;
	}
	for (e = table; e->command; e++) {
		if (strcmp(command, "rows") == 0)
			puts(e->command);
		else if (strcmp(command, e->command) == 0) {
			e->run();
			return 0;
		}
	}
	if (strcmp(command, "rows") == 0)
		return 0;
	fprintf(stderr, "usage: %s rows | version | COMMAND\n", argv[0]);
	return 2;
}

#endif
