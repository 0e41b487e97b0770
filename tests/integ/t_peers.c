/* SPDX-License-Identifier: MIT */
/* t_peers.c: peers that are slow, that go away in each state, and descriptors that are closed in the
   middle of a call. fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* What other goroutines have been told, and when. */
struct calls {
	int fd, how;
	int64_t *rc;
};

enum { READS, READS_ALL, WRITES, WAITS_IN, WAITS_OUT, SELECTS, SENDS_FILE };

static char much[8 << 20];

static int64_t
call(int fd, int how)
{
	int file;
	int64_t rc;
	char buf[64];

	switch (how) {
	case READS:
		return weft_read(fd, buf, sizeof(buf));
	case READS_ALL:
		return weft_read_full(fd, much, sizeof(much));
	case WRITES:
		return weft_write(fd, much, sizeof(much));
	case WAITS_IN:
		return weft_wait_fd(fd, POLLIN);
	case WAITS_OUT:
		return weft_wait_fd(fd, POLLOUT);
	case SELECTS:
		return weft_select(WEFT_READABLE(fd));
	default:
		file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		do
			rc = weft_sendfile(fd, file, &(off_t){0}, 1 << 20);
		while (rc >= 0);
		close(file);
		return rc;
	}
}

static int
calls(struct calls *a)
{
	store(a->rc, call(a->fd, a->how));
	return 0;
}

static void
fill(int fd)
{
	weft_timeout(WEFT_MS)
		while (weft_write(fd, much, 4096) > 0) /* as one packet, too */
			;
}

static void
await(int64_t *rc)
{
	while (load(rc) == 77)
		weft_yield();
}

/* ---- a reset in each state: each kind of call that waits returns */

static int
main_reset_waits(void)
{
	static const enum wf_reason why[] = {
	    [READS] = WF_WAIT_FD_READ,       [READS_ALL] = WF_WAIT_FD_READ,
	    [WRITES] = WF_WAIT_FD_WRITE,     [WAITS_IN] = WF_WAIT_FD,
	    [WAITS_OUT] = WF_WAIT_FD,        [SELECTS] = WF_WAIT_SELECT,
	    [SENDS_FILE] = WF_WAIT_FD_WRITE,
	};

	for (int how = READS; how <= SENDS_FILE; how++) {
		int64_t rc = 77;
		int fds[2];

		tcp_pair(fds);
		if (how == WAITS_OUT)
			fill(fds[0]);
		EXPECT(weft_go(calls, fds[0], how, &rc) > 0);
		await_waiting(why[how], 1);
		close_by_reset(fds[1]);
		await(&rc);
		if (how == WAITS_IN || how == WAITS_OUT)
			EXPECT(rc & (POLLERR | POLLHUP));
		else
			EXPECT_EQ(rc, how == SELECTS ? 0 : -ECONNRESET);
		EXPECT_EQ(weft_close_fd(fds[0]), 0);
		expect_no_waiters();
	}
	return 0;
}

TEST(a_reset_ends_every_call_that_waits)
{
	EXPECT_EQ(weft_run(main_reset_waits), 0);
}

/* After half a close, on either side, with data on the way or not. */
static int
main_reset_half(void)
{
	int64_t rc = 77;
	char buf[64];
	int fds[2];

	tcp_pair(fds); /* we have said the last word and wait for the peer's */
	EXPECT_EQ(shutdown(fds[0], SHUT_WR), 0);
	EXPECT_EQ(weft_read(fds[1], buf, sizeof(buf)), 0);
	EXPECT(weft_go(calls, fds[0], READS, &rc) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	close_by_reset(fds[1]);
	await(&rc);
	EXPECT_EQ(rc, -ECONNRESET);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);

	tcp_pair(fds); /* the peer has said its last word, and resets while we still write */
	rc = 77;
	EXPECT_EQ(weft_write(fds[1], "last", 4), 4);
	EXPECT_EQ(shutdown(fds[1], SHUT_WR), 0);
	EXPECT(weft_go(calls, fds[0], WRITES, &rc) > 0);
	await_waiting(WF_WAIT_FD_WRITE, 1);
	EXPECT_EQ(weft_read(fds[0], buf, 4), 4);
	EXPECT_EQ(weft_read(fds[0], buf, 4), 0);
	close_by_reset(fds[1]);
	await(&rc);
	/* after an end the kernel says EPIPE where it says ECONNRESET otherwise */
	EXPECT(rc == -ECONNRESET || rc == -EPIPE);
	EXPECT(weft_write(fds[0], "x", 1) < 0);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	expect_no_waiters();
	return 0;
}

TEST(a_reset_after_half_a_close)
{
	EXPECT_EQ(weft_run(main_reset_half), 0);
}

/* Half a close is no end: the other direction goes on for as long as it likes. */
static int
main_half(void)
{
	char buf[64];
	int fds[2];

	tcp_pair(fds);
	EXPECT_EQ(weft_write(fds[1], "question", 8), 8);
	EXPECT_EQ(shutdown(fds[1], SHUT_WR), 0);
	EXPECT_EQ(weft_read_full(fds[0], buf, sizeof(buf)), 8);
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_write(fds[0], "part", 4), 4);
		EXPECT_EQ(weft_read_full(fds[1], buf, 4), 4);
		EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 0);
	}
	close_pair(fds);
	return 0;
}

TEST(half_a_close_leaves_the_other_direction)
{
	EXPECT_EQ(weft_run(main_half), 0);
}

/* A line of connections, some of which are gone by the time they are accepted. */
static int
main_reset_line(void)
{
	enum { N = 60 };
	char addr[64], c;
	int ln = listen_local(addr, sizeof(addr)), alive = 0, fds[N];

	for (int i = 0; i < N; i++) {
		fds[i] = weft_dial("tcp", addr);
		EXPECT(fds[i] >= 0);
		if (i % 3 == 0)
			close_by_reset(fds[i]);
		else if (i % 3 == 1)
			EXPECT_EQ(weft_write(fds[i], "a", 1), 1);
		else
			EXPECT_EQ(weft_close_fd(fds[i]), 0);
	}
	for (int i = 0; i < N; i++) {
		int fd = weft_accept(ln);
		ssize_t n;

		EXPECT(fd >= 0);
		n = weft_read(fd, &c, 1);
		EXPECT(n == 1 || n == 0 || n == -ECONNRESET);
		alive += n == 1;
		EXPECT_EQ(weft_close_fd(fd), 0);
	}
	EXPECT_EQ(alive, N / 3);
	for (int i = 1; i < N; i += 3)
		EXPECT_EQ(weft_close_fd(fds[i]), 0);
	return weft_close_fd(ln);
}

TEST(connections_that_are_gone_when_they_are_accepted)
{
	EXPECT_EQ(weft_run(main_reset_line), 0);
}

/* ---- while connecting */

/* A connect that is on its way: the line of the listener is full, so nobody answers. */
static int
begin_connect(const char *addr)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sa.sin_port = htons((uint16_t)atoi(strrchr(addr, ':') + 1));
	EXPECT(fd >= 0);
	EXPECT_EQ(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	EXPECT_EQ(errno, EINPROGRESS);
	EXPECT_EQ(weft_adopt_fd(fd), fd);
	return fd;
}

struct dials {
	const char *addr;
	int *rc;
};

static int
dials(struct dials *a)
{
	store(a->rc, weft_dial("tcp", a->addr));
	return 0;
}

static int
main_connecting(void)
{
	int ln = weft_listen_with("tcp", "127.0.0.1:0", 1, 0), fds[64], n = 0, fd, dialled = 77;
	int before;
	int64_t rc = 77;
	char addr[64];

	EXPECT(weft_local_addr(ln, addr, sizeof(addr)) > 0);
	weft_timeout(20 * WEFT_MS)
		while (n < 64 && (fds[n] = weft_dial("tcp", addr)) >= 0)
			n++;
	EXPECT_EQ(fds[n], -ETIMEDOUT);
	before = count_sockets();
	/* closed by a third while it connects */
	fd = begin_connect(addr);
	EXPECT(weft_go(calls, fd, WAITS_OUT, &rc) > 0);
	await_waiting(WF_WAIT_FD, 1);
	EXPECT_EQ(weft_close_fd(fd), 0);
	await(&rc);
	EXPECT_EQ(rc, -ECANCELED);
	/* cancelled */
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, dials, addr, &dialled) > 0);
		await_waiting(WF_WAIT_FD_WRITE, 1);
		weft_cancel(g);
	}
	EXPECT_EQ(dialled, -ECANCELED);
	EXPECT_EQ(count_sockets(), before);
	while (n-- > 0)
		EXPECT_EQ(weft_close_fd(fds[n]), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(a_connect_is_ended_in_the_middle)
{
	EXPECT_EQ(weft_run(main_connecting), 0);
}

/* ---- slow ones beside a fast one */

static int served, stop;

struct serves {
	int fd;
};

/* A line is a request; the answer is its length. Who is slower than the time-out is let go. */
static int
serves(struct serves *a)
{
	weft_autofd int fd = a->fd;
	char c;
	int n = 0;

	while (weft_read(fd, &c, 1) == 1) {
		if (c != '\n') {
			n++;
			continue;
		}
		if (weft_write(fd, &n, sizeof(n)) != sizeof(n))
			break;
		add(&served, 1);
		n = 0;
	}
	return 0;
}

ACCEPTS(serves)

/* So few that one processor has time to spare: among more than it can serve all wait, and rightly so. */
enum { SLOW = 50 };

struct slow {
	const char *addr;
	uint64_t seed;
};

/* One byte at a time, and never the end of the line; now and then it begins anew. */
static int
slow(struct slow *a)
{
	uint64_t seed = a->seed;

	while (!load(&stop)) {
		weft_autofd int fd = weft_dial("tcp", a->addr);

		EXPECT(fd >= 0);
		while (!load(&stop) && test_rand(&seed) % 8) {
			EXPECT_EQ(weft_write(fd, "s", 1), 1);
			EXPECT_EQ(weft_sleep((int64_t)(test_rand(&seed) % (20 * WEFT_MS))), 0);
		}
	}
	return 0;
}

static int
main_slow(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), rounds = scaled(1000), rc = 0, n, before;
	uint64_t seed = test_seed();

	before = count_sockets();
	EXPECT(weft_go(accepts, ln) > 0);
	weft_group(g, &rc) {
		int fd = weft_dial("tcp", addr);

		for (int i = 0; i < SLOW; i++)
			EXPECT(weft_go_in(g, slow, addr, test_rand(&seed)) > 0);
		for (int i = 0; i < rounds; i++) {
			EXPECT_EQ(weft_write(fd, "fast\n", 5), 5);
			EXPECT_EQ(weft_read_full(fd, &n, sizeof(n)), sizeof(n));
			EXPECT_EQ(n, 4);
		}
		EXPECT_EQ(weft_close_fd(fd), 0);
		store(&stop, 1);
	}
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(load(&served), rounds); /* no slow one has had an answer, the fast one all */
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_alone();
	EXPECT_EQ(count_sockets(), before - 1);
	expect_no_waiters();
	return 0;
}

TEST(slow_clients_beside_a_fast_one)
{
	EXPECT_EQ(weft_run(main_slow), 0);
}

/* One that never reads: it holds up nobody but whoever writes to it. */
static int
main_never_reads(void)
{
	enum { N = 20 };
	int lazy[N][2], fds[2], n;
	int64_t rc[N];

	for (int i = 0; i < N; i++) {
		tcp_pair(lazy[i]);
		rc[i] = 77;
		EXPECT(weft_go(calls, lazy[i][0], WRITES, &rc[i]) > 0);
	}
	await_waiting(WF_WAIT_FD_WRITE, N);
	tcp_pair(fds);
	EXPECT(weft_go(serves, fds[0]) > 0);
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(weft_write(fds[1], "a line\n", 7), 7);
		EXPECT_EQ(weft_read_full(fds[1], &n, sizeof(n)), sizeof(n));
		EXPECT_EQ(n, 6);
	}
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	for (int i = 0; i < N; i++) {
		close_pair(lazy[i]);
		await(&rc[i]);
		EXPECT_EQ(rc[i], -ECANCELED);
	}
	expect_alone();
	expect_no_waiters();
	return 0;
}

TEST(a_peer_that_never_reads)
{
	EXPECT_EQ(weft_run(main_never_reads), 0);
}

/* ---- both directions blocked, and closed by a third: weft's ends and foreign ones, by kind */

static int
main_both(void)
{
	for (int kind = 0; kind < 4; kind++) {
		int64_t rc[2] = {77, 77};
		int fds[2];

		if (kind == 0)
			tcp_pair(fds);
		else
			EXPECT_EQ(
			    socketpair(AF_UNIX, kind == 2 ? SOCK_SEQPACKET : SOCK_STREAM, 0, fds),
			    0);
		if (kind != 0 && kind != 3) /* the last one stays foreign */
			EXPECT_EQ(weft_adopt_fd(fds[0]), fds[0]);
		fill(fds[0]);
		EXPECT(weft_go(calls, fds[0], READS, &rc[0]) > 0);
		EXPECT(weft_go(calls, fds[0], kind == 2 ? WAITS_OUT : WRITES, &rc[1]) > 0);
		await_waiting(WF_WAIT_FD_READ, 1);
		await_waiting(kind == 2 ? WF_WAIT_FD : WF_WAIT_FD_WRITE, 1);
		EXPECT_EQ(weft_close_fd(fds[0]), 0);
		await(&rc[0]);
		await(&rc[1]);
		EXPECT_EQ(rc[0], -ECANCELED);
		EXPECT_EQ(rc[1], -ECANCELED);
		EXPECT_EQ(weft_close_fd(fds[1]), 0);
		expect_no_waiters();
	}
	return 0;
}

TEST(both_directions_blocked_and_closed_by_a_third)
{
	EXPECT_EQ(weft_run(main_both), 0);
}

/* ---- an accept loop without descriptors: it tries now and then, and goes on as soon as it can */

static int tries;

struct accepts_short {
	int ln;
};

static int
accepts_short(struct accepts_short *a)
{
	int64_t begin = weft_now();
	int fd;

	while ((fd = weft_accept(a->ln)) != -ECANCELED) {
		if (fd == -EMFILE) {
			EXPECT(weft_now() - begin >= add(&tries, 1) * WEFT_MS);
			continue;
		}
		EXPECT(fd >= 0);
		EXPECT(weft_go(serves, fd) > 0);
	}
	return 0;
}

static int
main_shortage(void)
{
	enum { N = 4 };
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), fds[N], spare[64], n = 0, got;

	for (int i = 0; i < N; i++) {
		fds[i] = weft_dial("tcp", addr);
		EXPECT(fds[i] >= 0);
	}
	while (n < 64 && (spare[n] = dup(0)) >= 0)
		n++;
	EXPECT(n > N);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, accepts_short, ln) > 0);
		while (load(&tries) < 5) /* others go on meanwhile */
			EXPECT_EQ(weft_sleep(WEFT_MS), 0);
		for (int i = 0; i < N; i++) {
			EXPECT_EQ(close(spare[--n]), 0);
			EXPECT_EQ(weft_write(fds[i], "at last\n", 8), 8);
			EXPECT_EQ(weft_read_full(fds[i], &got, sizeof(got)), sizeof(got));
			EXPECT_EQ(got, 7);
		}
		weft_cancel(g);
	}
	for (int i = 0; i < N; i++)
		EXPECT_EQ(weft_close_fd(fds[i]), 0);
	while (n-- > 0)
		EXPECT_EQ(close(spare[n]), 0);
	expect_alone();
	return weft_close_fd(ln);
}

TEST(an_accept_loop_without_descriptors)
{
	struct rlimit r = {64, 64};

	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
	EXPECT_EQ(weft_run(main_shortage), 0);
}
