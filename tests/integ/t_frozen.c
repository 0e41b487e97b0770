/* SPDX-License-Identifier: MIT */
/* t_frozen.c: the process is frozen, the clocks are not what one expects, a thread sleeps outside the
   runtime: timers and sockets go on as if nothing had happened. fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

/* ---- another process stops this one for a while, and writes to it meanwhile */

struct frozen {
	int64_t from, to; /* by the monotonic clock; it was stopped all the time between */
};

static int orders[2], answers[2], bytes[2];

static int64_t
clock_ns(void)
{
	struct timespec ts;

	EXPECT_EQ(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts), 0);
	return ts.tv_sec * WEFT_SEC + ts.tv_nsec;
}

/* All its threads. */
static void
await_stopped(pid_t pid)
{
	char path[64], stat[512], *state = NULL;

	while (!state || state[2] != 'T') {
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		fd = open(path, O_RDONLY);
		n = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		if (n <= 0)
			_exit(1);
		stat[n] = '\0';
		state = strrchr(stat, ')');
	}
}

static void
freezer(pid_t pid)
{
	int ms;

	while (read(orders[0], &ms, sizeof(ms)) == sizeof(ms)) {
		struct frozen f;

		kill(pid, SIGSTOP);
		await_stopped(pid);
		f.from = clock_ns();
		usleep((useconds_t)ms * 1000 / 2);
		if (write(bytes[1], "x", 1) != 1)
			_exit(1);
		usleep((useconds_t)ms * 1000 / 2);
		f.to = clock_ns();
		kill(pid, SIGCONT);
		if (write(answers[1], &f, sizeof(f)) != sizeof(f))
			_exit(1);
	}
}

/* Before there is a runtime. */
static void
start_freezer(void)
{
	pid_t self = getpid();

	EXPECT_EQ(pipe2(orders, O_CLOEXEC), 0);
	EXPECT_EQ(pipe2(answers, O_CLOEXEC), 0);
	EXPECT_EQ(pipe2(bytes, O_CLOEXEC), 0);
	if (fork() == 0) {
		close(orders[1]);
		freezer(self);
		_exit(0);
	}
	EXPECT_EQ(close(orders[0]), 0);
}

/* B. */
static struct frozen
freeze(int ms)
{
	struct frozen f;

	EXPECT_EQ(weft_write(orders[1], &ms, sizeof(ms)), sizeof(ms));
	EXPECT_EQ(weft_read_full(answers[0], &f, sizeof(f)), sizeof(f));
	return f;
}

struct sleeper {
	int64_t until;
	int k;
	weft_chan(int) out;
};

static int
sleeper(struct sleeper *a)
{
	EXPECT_EQ(weft_sleep(a->until - weft_now()), 0);
	EXPECT(weft_now() >= a->until);
	EXPECT_EQ(weft_send(a->out, a->k), 0);
	return 0;
}

static int runs;

static int
counted(void)
{
	add(&runs, 1);
	return 0;
}

struct reader {
	int64_t *got;
};

/* A deadline and data both come while it is frozen: the byte is read then or later, once. */
static int
reader(struct reader *a)
{
	int64_t n = 0;
	char c;

	weft_timeout(200 * WEFT_MS)
		n = weft_read(bytes[0], &c, 1);
	if (n == -ETIMEDOUT)
		n = weft_read(bytes[0], &c, 1);
	store(a->got, n);
	return 0;
}

struct ticks {
	struct weft_timer *t;
	int64_t *value;
	int *n, max;
};

static int
ticks(struct ticks *a)
{
	int64_t v;

	while (weft_recv(weft_timer_chan(a->t), &v) > 0 && load(a->n) < a->max) {
		a->value[load(a->n)] = v;
		add(a->n, 1);
	}
	return 0;
}

static int
main_frozen(void)
{
	enum { SLEEPERS = 32, TICKS = 4096 };
	static int64_t value[TICKS];
	weft_chan(int) out = weft_make(int, SLEEPERS);
	struct weft_timer *ticker = weft_ticker(WEFT_MS), *funcs[8];
	int64_t got = 77, base = weft_now() + 100 * WEFT_MS;
	static int n; /* outlives this function, as who counts does */
	int v, within = 0, back = 0, last = -1, seen[SLEEPERS] = {0};
	struct frozen f;

	for (int i = 0; i < SLEEPERS; i++) /* they all end while it is frozen, or before */
		EXPECT(weft_go(sleeper, base + i * 10 * WEFT_MS, i, out) > 0);
	for (int i = 0; i < 8; i++)
		funcs[i] = weft_timer_func((100 + i * 50) * WEFT_MS, counted);
	EXPECT(weft_go(reader, &got) > 0);
	EXPECT(weft_go(ticks, ticker, value, &n, TICKS) > 0);
	await_waiting(WF_WAIT_SLEEP, 1);
	f = freeze(test_full() ? 5000 : 600);
	for (int i = 0; i < SLEEPERS; i++) { /* once each, and with one P in their order */
		EXPECT_EQ(weft_recv(out, &v), 1);
		EXPECT_EQ(seen[v]++, 0);
		back += v < last;
		last = v;
	}
#ifndef WF_TORTURE                             /* shuffles them on purpose */
	EXPECT(weft_procs() > 1 || back <= 3); /* one that has lost its P comes later */
#endif
	while (load(&runs) < 8 || load(&got) == 77)
		EXPECT_EQ(weft_sleep(WEFT_MS), 0);
	EXPECT_EQ(got, 1);
	v = load(&n);
	while (load(&n) < v + 3 && load(&n) < TICKS) /* it goes on to tick */
		EXPECT_EQ(weft_sleep(WEFT_MS), 0);
	EXPECT_EQ(weft_timer_stop(ticker), 1);
	v = load(&n);
	for (int i = 0; i < v; i++) {
		EXPECT_EQ((value[i] - value[0]) % WEFT_MS, 0);
		within += value[i] > f.from + 2 * WEFT_MS && value[i] < f.to - 2 * WEFT_MS;
	}
	EXPECT(within <= 2); /* not one for each that was missed */
	EXPECT_EQ(load(&runs), 8);
	for (int i = 0; i < 8; i++)
		weft_timer_free(funcs[i]);
	return 0; /* who reads the ticker is dropped */
}

TEST(frozen_with_timers_and_a_pipe)
{
	start_freezer();
	EXPECT_EQ(weft_run(main_frozen), 0);
}

TEST(frozen_with_one_p)
{
	use_procs(1);
	start_freezer();
	EXPECT_EQ(weft_run(main_frozen), 0);
}

/* ---- frozen in the middle of traffic: every byte arrives */

static int echoes;

struct serves {
	int fd;
};

static int
serves(struct serves *a)
{
	char buf[256];
	ssize_t n;

	while ((n = weft_read(a->fd, buf, sizeof(buf))) > 0)
		EXPECT_EQ(weft_write(a->fd, buf, (size_t)n), n);
	EXPECT_EQ(n, 0);
	return weft_close_fd(a->fd);
}

struct asks {
	int fd;
	int *stop;
};

static int
asks(struct asks *a)
{
	for (int i = 0; !load(a->stop); i++) {
		int v = -1;

		EXPECT_EQ(weft_write(a->fd, &i, sizeof(i)), sizeof(i));
		EXPECT_EQ(weft_read_full(a->fd, &v, sizeof(v)), sizeof(v));
		EXPECT_EQ(v, i);
		add(&echoes, 1);
	}
	return weft_close_fd(a->fd);
}

static int
main_traffic(void)
{
	int stop = 0, rc = 0, before;

	weft_group(g, &rc) {
		for (int i = 0; i < 4; i++) {
			int fds[2];

			tcp_pair(fds);
			EXPECT(weft_go_in(g, serves, fds[0]) > 0);
			EXPECT(weft_go_in(g, asks, fds[1], &stop) > 0);
		}
		for (int i = 0; i < 3; i++) {
			freeze(100);
			before = load(&echoes);
			while (load(&echoes) < before + 100) /* they go on */
				EXPECT_EQ(weft_sleep(WEFT_MS), 0);
		}
		store(&stop, 1);
	}
	EXPECT_EQ(rc, 0);
	expect_no_waiters();
	return 0;
}

TEST(frozen_in_the_middle_of_traffic)
{
	start_freezer();
	EXPECT_EQ(weft_run(main_traffic), 0);
}

/* ---- one P, and its thread asleep in the kernel: sockets, timers and deadlines go on */

static int
main_raw_sleep(void)
{
	struct timespec second = {1, 0};
	struct weft_timer *ticker = weft_ticker(WEFT_MS), *funcs[10];
	static int64_t value[4096];
	static int stop, n; /* they outlive this function, as those who use them do */
	int fds[2];

	tcp_pair(fds);
	EXPECT(weft_go(serves, fds[0]) > 0);
	EXPECT(weft_go(asks, fds[1], &stop) > 0);
	EXPECT(weft_go(ticks, ticker, value, &n, 4096) > 0);
	for (int i = 0; i < 10; i++)
		funcs[i] = weft_timer_func(i * 10 * WEFT_MS, counted);
	while (load(&echoes) < 100 || load(&n) < 20 || load(&runs) < 10)
		syscall(SYS_nanosleep, &second, NULL); /* no call of weft's here */
	store(&stop, 1);
	for (int i = 0; i < 10; i++)
		weft_timer_free(funcs[i]);
	return 0;
}

TEST(a_raw_sleep_holds_up_nobody)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_raw_sleep), 0);
}

/* ---- clocks */

static int
main_times(void)
{
	int64_t before = weft_now(), v;
	weft_chan(int64_t) after = weft_after(3 * WEFT_MS);
	struct weft_timer *t = weft_ticker(WEFT_MS);
	int fds[2];
	char c;

	EXPECT_EQ(weft_sleep(2 * WEFT_MS), 0);
	EXPECT(weft_now() - before >= 2 * WEFT_MS);
	EXPECT_EQ(weft_recv(after, &v), 1);
	EXPECT(v - before >= 3 * WEFT_MS && v <= weft_now());
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_recv(weft_timer_chan(t), &v), 1);
	tcp_pair(fds);
	before = weft_now();
	weft_timeout(2 * WEFT_MS)
		EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
	EXPECT(weft_now() - before >= 2 * WEFT_MS);
	weft_deadline(weft_now() + 2 * WEFT_MS)
		EXPECT_EQ(weft_select(WEFT_READABLE(fds[0])), -ETIMEDOUT);
	weft_timeout(INT64_MAX)
		EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	close_pair(fds);
	weft_timer_free(t);
	weft_free(after);
	return 0;
}

/* The clock of the day is these functions'; it jumps by a hundred days at each look. */
static int day_looks, other_looks;
static bool jumps;

__attribute__((unused)) static int64_t
jump(void)
{
	return !load(&jumps) ? 0 : add(&day_looks, 1) & 1 ? 100 * 86400 : -100 * 86400;
}

#if !defined(WF_TSAN) && !defined(WF_ASAN)
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		ts->tv_sec += jump();
	else
		add(&other_looks, 1);
	return rc;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	int rc = (int)syscall(SYS_gettimeofday, tv, zone);

	tv->tv_sec += jump();
	return rc;
}

time_t
time(time_t *t)
{
	time_t now = (time_t)syscall(SYS_time, NULL) + jump();

	if (t)
		*t = now;
	return now;
}
#endif

TEST(the_clock_of_the_day_jumps)
{
	struct timespec a, b;

#if defined(WF_TSAN) || defined(WF_ASAN)
	SKIP("the sanitizers have these functions");
#endif
	store(&jumps, true);
	EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &a), 0);
	EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &b), 0);
	EXPECT(a.tv_sec - b.tv_sec > 199 * 86400);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_run(main_times), 0);
	EXPECT(load(&other_looks) > 0); /* the runtime's are these functions too */
}

/* A monotonic clock that is 120 years old. */
static void
child_old(void)
{
	EXPECT(weft_now() > 120LL * 365 * 86400 * WEFT_SEC);
	exit(weft_run(main_times));
}

TEST(a_clock_that_is_very_old)
{
	static const char offset[] = "monotonic 3800000000 0\n";
	static char out[65536];
	int fd, status;

	if (unshare(0x80 /* CLONE_NEWTIME */) < 0)
		SKIP("a time namespace is not allowed here (it needs root)");
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	EXPECT(fd >= 0);
	EXPECT_EQ(write(fd, offset, sizeof(offset) - 1), sizeof(offset) - 1);
	close(fd);
	status = test_child(child_old, out, sizeof(out));
	if (status != 0)
		test_fail(__FILE__, __LINE__, "status 0x%x\n%s", status, out);
}
