/* SPDX-License-Identifier: MIT */
/*
 * echo.c: the client of the rows about echo servers: one thread, one epoll instance, and on each
 * connection one request of 64 bytes at a time.
 *
 *     client-echo PORT PID CONNECTIONS WARM_UP REQUESTS [PACE_US]
 *
 * The server listens on PORT of 127.0.0.1 and is process PID, whose CPU time is read by its clock
 * when the requests to warm up with have been answered, and again at the end. With a pace, a
 * connection asks once in so many microseconds, and an answer's delay counts from the time when
 * its request was due, so that a server that hangs is not asked less. Prints one JSON object.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	SIZE = 64,
	EVENTS = 256,
	CONNECTIONS_MOST = 10000,
	PATIENCE_S = 20, /* no answer for so long: the server hangs */
};
static const int64_t SEC = 1000000000;

struct conn {
	int fd;
	int got;      /* bytes of the answer */
	int waiting;  /* for an answer */
	int64_t sent; /* or when the next request is due */
};

static struct {
	int epoll;
	int conns;
	struct conn *conn;
	int64_t pace_ns;
	clockid_t server; /* its CPU time */
	/* requests that are answered: those to warm up with, then those that count */
	int64_t warm_up;
	int64_t requests;
	int64_t answered;
	int64_t *delay; /* of each request that counts */
	int64_t start_ns, start_cpu_ns;
} load;

static void
die(const char *what)
{
	fprintf(stderr, "client-echo: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t
read_clock(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		die("clock_gettime");
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static int64_t
number(const char *text, int64_t most)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < 0 || n > most) {
		fprintf(stderr, "client-echo: %s: want a number up to %" PRId64 "\n", text, most);
		exit(2);
	}
	return n;
}

static void
dial(struct conn *c, int port)
{
	struct sockaddr_in addr = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (epoll_ctl(load.epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
		die("epoll_ctl");
}

static void
ask(struct conn *c, int64_t now)
{
	static const char request[SIZE] = "how do you do?";

	c->sent = now;
	c->waiting = 1;
	if (send(c->fd, request, SIZE, MSG_NOSIGNAL) != SIZE)
		die("send");
}

/* True: it was the last. */
static int
count_answer(int64_t now, int64_t delay)
{
	int64_t i = load.answered++ - load.warm_up;

	if (i >= 0)
		load.delay[i] = delay;
	if (i == -1) {
		load.start_cpu_ns = read_clock(load.server);
		load.start_ns = now;
	}
	return i + 1 == load.requests;
}

/* True: that was the last answer. */
static int
receive(struct conn *c)
{
	char answer[SIZE];
	ssize_t n = recv(c->fd, answer, (size_t)(SIZE - c->got), 0);
	int64_t now;

	if (n <= 0) {
		errno = n < 0 ? errno : ECONNRESET;
		die("recv");
	}
	c->got += (int)n;
	if (c->got < SIZE)
		return 0;
	c->got = 0;
	c->waiting = 0;
	now = read_clock(CLOCK_MONOTONIC);
	if (count_answer(now, now - c->sent))
		return 1;
	if (load.pace_ns == 0)
		ask(c, now);
	else
		c->sent += load.pace_ns;
	return 0;
}

/* With a pace: asks what is due. Returns the time until the next is, or until the server hangs. */
static int64_t
ask_due(void)
{
	int64_t now = read_clock(CLOCK_MONOTONIC);
	int64_t next = now + PATIENCE_S * SEC;

	for (struct conn *c = load.conn; c < load.conn + load.conns; c++) {
		if (!c->waiting && c->sent <= now)
			ask(c, c->sent);
		else if (!c->waiting && c->sent < next)
			next = c->sent;
	}
	return next - now;
}

static void
run(void)
{
	struct epoll_event events[EVENTS];
	int64_t last = 0;

	for (;;) {
		int64_t wait = load.pace_ns > 0 ? ask_due() : PATIENCE_S * SEC;
		struct timespec ts = {.tv_sec = wait / SEC, .tv_nsec = wait % SEC};
		int n = epoll_pwait2(load.epoll, events, EVENTS, &ts, NULL);

		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		if (n == 0 && wait >= PATIENCE_S * SEC && load.answered == last) {
			errno = ETIMEDOUT;
			die("the server does not answer");
		}
		last = load.answered;
		for (int i = 0; i < n; i++)
			if (receive(events[i].data.ptr))
				return;
	}
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest delay that at least so many of 1000 do not exceed. */
static int64_t
at(int permille)
{
	int64_t rank = (load.requests * permille + 999) / 1000;

	return load.delay[rank > 0 ? rank - 1 : 0];
}

int
main(int argc, char **argv)
{
	int64_t now, wall, cpu;
	int port;

	if (argc < 6 || argc > 7) {
		fprintf(stderr, "usage: %s PORT PID CONNECTIONS WARM_UP REQUESTS [PACE_US]\n",
			argv[0]);
		return 2;
	}
	port = (int)number(argv[1], UINT16_MAX);
	errno = clock_getcpuclockid((pid_t)number(argv[2], INT32_MAX), &load.server);
	if (errno != 0)
		die("the server's CPU clock");
	load.conns = (int)number(argv[3], CONNECTIONS_MOST);
	load.warm_up = number(argv[4], INT32_MAX);
	load.requests = number(argv[5], INT32_MAX);
	load.pace_ns = argc > 6 ? number(argv[6], INT32_MAX) * 1000 : 0;
	load.warm_up += load.warm_up == 0;
	load.requests += load.requests == 0;
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	load.conn = calloc((size_t)load.conns + 1, sizeof(*load.conn));
	load.delay = calloc((size_t)load.requests, sizeof(*load.delay));
	if (load.epoll < 0 || load.conn == NULL || load.delay == NULL)
		die("epoll_create, or memory");
	memset(load.delay, 1, (size_t)load.requests * sizeof(*load.delay)); /* touched now */
	for (int i = 0; i < load.conns; i++)
		dial(&load.conn[i], port);
	now = read_clock(CLOCK_MONOTONIC);
	for (int i = 0; i < load.conns; i++)
		if (load.pace_ns == 0)
			ask(&load.conn[i], now);
		else
			load.conn[i].sent = now + load.pace_ns * i / load.conns;
	run();
	wall = read_clock(CLOCK_MONOTONIC) - load.start_ns;
	cpu = read_clock(load.server) - load.start_cpu_ns;
	qsort(load.delay, (size_t)load.requests, sizeof(*load.delay), compare);
	printf("{\"requests\":%" PRId64 ",\"wall_ns\":%" PRId64 ",\"cpu_ns\":%" PRId64
	       ",\"p50_ns\":%" PRId64 ",\"p99_ns\":%" PRId64 ",\"p999_ns\":%" PRId64 "}\n",
	       load.requests, wall, cpu, at(500), at(990), at(999));
	return 0;
}
