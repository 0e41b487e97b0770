/* SPDX-License-Identifier: MIT */
/* t_schedtrace.c: the lines of WEFT_DEBUG=schedtrace. */
#include "integ/capture.h"

enum { PROCS = 3 };

struct parked {
	struct weft_wg *gate;
};

static int
parked(struct parked *a)
{
	return weft_wg_wait(a->gate);
}

/* Until so many whole blocks were printed. */
static int wanted;

static int
until_printed(void)
{
	struct weft_wg gate = {0}, all = {0};

	weft_wg_add(&gate, 1);
	EXPECT(weft_wg_go(&all, parked, &gate) > 0);
	while (count_of(capture_read(), "SCHED ") <= wanted)
		weft_yield();
	weft_wg_done(&gate);
	return weft_wg_wait(&all);
}

static char *
run_with(const char *words, int lines)
{
	use_procs(PROCS);
	setenv("WEFT_DEBUG", words, 1);
	wanted = lines;
	capture_begin();
	int rc = weft_run(until_printed);
	capture_end();
	EXPECT_EQ(rc, 0);
	return said;
}

/* "[ n n n ]" with a number for each P: what follows it. */
static const char *
skip_list(const char *s)
{
	EXPECT_EQ(strncmp(s, "[ ", 2), 0);
	s += 2;
	for (int i = 0; i < PROCS; i++) {
		char *end;

		strtoul(s, &end, 10);
		EXPECT(end > s && *end == ' ');
		s = end + 1;
	}
	EXPECT_EQ(*s, ']');
	return s + 1;
}

/* Go's fields, in Go's order, letter by letter. What follows them. */
static const char *
skip_go_fields(const char *line, long *ms)
{
	int procs, idle, threads, spinning, need, idle_threads, runqueue, end = 0;
	int n =
	    sscanf(line,
		   "SCHED %ldms: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d "
		   "needspinning=%d idlethreads=%d runqueue=%d%n",
		   ms, &procs, &idle, &threads, &spinning, &need, &idle_threads, &runqueue, &end);

	if (n != 8)
		test_fail(__FILE__, __LINE__, "%d fields in: %s", n, line);
	EXPECT_EQ(procs, PROCS);
	EXPECT(idle >= 0 && idle <= PROCS && idle_threads >= 0 && idle_threads <= threads + 1);
	return line + end;
}

TEST(lines_begin_as_go_s)
{
	char *text = run_with("schedtrace=1", 4);
	long before = -1, ms;
	int lines = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		const char *s = skip_go_fields(line, &ms);

		EXPECT(ms >= before);
		before = ms;
		EXPECT_EQ(*s, ' ');
		s = skip_list(s + 1);
		EXPECT_EQ(strncmp(s, " schedticks=", 12), 0);
		s = skip_list(s + 12);
		EXPECT_EQ(strncmp(s, " goroutines=", 12), 0);
		EXPECT_HAS(s, " switches/s=");
		EXPECT_HAS(s, " retakes=");
		EXPECT_HAS(s, " computing=");
	}
	EXPECT(lines >= 4);
}

TEST(details_have_all_ps_and_goroutines)
{
	char *text = run_with("schedtrace=1,scheddetail=1", 20), *block = strstr(text, "SCHED "),
	     *next;
	int blocks = 0, both = 0;
	long ms;

	for (; (next = strstr(block + 1, "SCHED ")); block = next, blocks++) {
		next[-1] = 0;
		EXPECT_HAS(skip_go_fields(block, &ms),
			   "gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false");
		EXPECT_EQ(count_of(block, "\n  P"), PROCS);
		EXPECT_EQ(count_of(block, " runqsize="), PROCS);
		EXPECT_EQ(count_of(block, "\n  M"), count_of(block, " lockedg=nil"));
		EXPECT_EQ(count_of(block, "\n  G"), count_of(block, " lockedm=nil"));
		both += strstr(block, "\n  G1: status=2() m=") &&
			strstr(block, " curg=1 mallocing=0 ") &&
			strstr(block, ": status=4(wait group) m=nil lockedm=nil fn=parked at=");
	}
	EXPECT(blocks >= 20);
	EXPECT(both > 0);
}

static int
does_nothing(void)
{
	return 0;
}

TEST(a_run_without_the_word_is_silent)
{
	char *text = run_with("schedtrace=1", 1);
	int before = count_of(text, "SCHED ");

	EXPECT(before > 0);
	unsetenv("WEFT_DEBUG");
	capture_begin();
	EXPECT_EQ(weft_run(does_nothing), 0);
	EXPECT_EQ(count_of(capture_end(), "SCHED "), 0);
}

/* ---- the monitor would sleep for good, were it not for the trace */

static struct weft_wg gate;

static void *
opens_the_gate(void *arg)
{
	/* more than it takes the monitor to find that nothing happens any more */
	while (count_of(capture_read(), "SCHED ") < 10)
		usleep(10000);
	weft_wg_done(&gate);
	return arg;
}

static int
sleeps_alone(void)
{
	pthread_t t;

	weft_wg_add(&gate, 1);
	t = start_thread(opens_the_gate, NULL);
	EXPECT_EQ(weft_wg_wait(&gate), 0);
	join_thread(t);
	return 0;
}

TEST(lines_come_while_everybody_sleeps)
{
	setenv("WEFT_DEBUG", "schedtrace=400", 1);
	capture_begin();
	int rc = weft_run(sleeps_alone);
	capture_end();
	EXPECT_EQ(rc, 0);
	EXPECT(count_of(said, "SCHED ") >= 10);
}
