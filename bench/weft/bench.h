/* SPDX-License-Identifier: MIT */
/*
 * bench.h: clocks, scaling and output shared by the benchmark programs.
 *
 * A program runs its workload inside weft_run and prints one JSON object per line and row. The
 * number of Ps comes from WEFT_PROCS. BENCH_SCALE (percent, 100 unless set) shrinks or grows the
 * counts. Rows say whether they are cold (the first touch of their memory is inside the measured
 * interval) or warm (a run of the same shape came before).
 *
 * Not here: statistics over several runs and the comparison with peers, see bench/compare.
 */
#ifndef BENCH_H
#define BENCH_H

#include <weft.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BENCH_UNUSED __attribute__((unused))

struct bench_time {
	int64_t wall_ns;
	int64_t cpu_ns; /* user and system, all threads of the process */
};

BENCH_UNUSED __attribute__((noreturn)) static void
bench_die(const char *what, int64_t rc)
{
	fprintf(stderr, "bench: %s failed: %s\n", what, strerror((int)-rc));
	exit(1);
}

/* Stops the program when rc is an error; returns rc otherwise. */
BENCH_UNUSED static inline int64_t
bench_must(const char *what, int64_t rc)
{
	if (__builtin_expect(rc < 0, 0))
		bench_die(what, rc);
	return rc;
}

BENCH_UNUSED static inline void *
bench_must_have(const char *what, void *p)
{
	if (__builtin_expect(p == NULL, 0))
		bench_die(what, -ENOMEM);
	return p;
}

/* weft_make that stops the program when there is no memory. */
#define bench_make(T, cap) ((weft_chan(T))bench_must_have("weft_make", weft_make(T, cap)))

/* Stops the program when a result is not what it must be. */
BENCH_UNUSED static inline void
bench_check(const char *row, int64_t result, int64_t expected)
{
	if (__builtin_expect(result == expected, 1))
		return;
	fprintf(stderr, "bench: %s: %" PRId64 " instead of %" PRId64 "\n", row, result, expected);
	exit(1);
}

BENCH_UNUSED static struct bench_time
bench_now(void)
{
	struct timespec ts;
	struct rusage ru;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	getrusage(RUSAGE_SELF, &ru);
	return (struct bench_time){
	    .wall_ns = ts.tv_sec * WEFT_SEC + ts.tv_nsec,
	    .cpu_ns = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * WEFT_SEC +
		      (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * WEFT_US,
	};
}

BENCH_UNUSED static struct bench_time
bench_since(struct bench_time start)
{
	struct bench_time end = bench_now();

	end.wall_ns -= start.wall_ns;
	end.cpu_ns -= start.cpu_ns;
	return end;
}

/* BENCH_SCALE in percent; a malformed value ends the program with status 2. */
BENCH_UNUSED static int64_t
bench_scale(void)
{
	const char *text = getenv("BENCH_SCALE");
	char *end;
	long percent;

	if (text == NULL || *text == '\0')
		return 100;
	percent = strtol(text, &end, 10);
	if (*end != '\0' || percent < 1 || percent > 1000) {
		fprintf(stderr, "bench: BENCH_SCALE=%s: want a percentage from 1 to 1000\n", text);
		exit(2);
	}
	return percent;
}

BENCH_UNUSED static int64_t
bench_scaled(int64_t count)
{
	int64_t scaled = count * bench_scale() / 100;

	return scaled > 0 ? scaled : 1;
}

/* A field that a file of /proc gives in kB, such as "VmRSS"; 0 if it is missing. */
BENCH_UNUSED static int64_t
bench_proc_kb(const char *path, const char *field)
{
	size_t len = strlen(field);
	int64_t kb = 0;
	char line[256];
	FILE *f = fopen(path, "r");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, len) == 0 && line[len] == ':')
			kb = strtoll(line + len + 1, NULL, 10);
	fclose(f);
	return kb;
}

BENCH_UNUSED static int64_t
bench_status_kb(const char *field)
{
	return bench_proc_kb("/proc/self/status", field);
}

static const char *bench_note_text = "";

/* Says something beside the values of the rows that follow; text without quotes, which must stay. */
BENCH_UNUSED static void
bench_note(const char *text)
{
	bench_note_text = text;
}

BENCH_UNUSED static void
bench_report(const char *row, const char *state, const char *unit, double value,
	     struct bench_time took)
{
	printf("{\"row\":\"%s\",\"state\":\"%s\",\"unit\":\"%s\",\"value\":%.3f,"
	       "\"wall_ms\":%.3f,\"cpu_ms\":%.3f,\"procs\":%d,\"note\":\"%s\"}\n",
	       row, state, unit, value, (double)took.wall_ns / 1e6, (double)took.cpu_ns / 1e6,
	       weft_procs(), bench_note_text);
	fflush(stdout);
}

/* The common case: nanoseconds of wall time for each of count operations. */
BENCH_UNUSED static void
bench_report_ns(const char *row, const char *state, int64_t count, struct bench_time took)
{
	bench_report(row, state, "ns", (double)took.wall_ns / (double)count, took);
}

#endif
