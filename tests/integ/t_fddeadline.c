/* SPDX-License-Identifier: MIT */
/* t_fddeadline.c: deadlines of descriptors: past, moved, met by data, by many on one socket, and in the
   middle of a write. fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <poll.h>
#include <sys/socket.h>

/* ---- in the past: what can be done at once is done, and nothing waits */

static int
main_past(void)
{
	static char much[8 << 20];
	char addr[64], buf[8];
	int ln = listen_local(addr, sizeof(addr)), fds[2], fd;

	tcp_pair(fds);
	EXPECT_EQ(weft_write(fds[1], "data", 4), 4);
	EXPECT_EQ(weft_wait_fd(fds[0], POLLIN), POLLIN);
	weft_deadline(weft_now() - WEFT_SEC) {
		EXPECT_EQ(weft_read(fds[0], buf, 4), 4);
		EXPECT_EQ(weft_read(fds[0], buf, 4), -ETIMEDOUT);
		EXPECT_EQ(weft_wait_fd(fds[0], POLLIN), -ETIMEDOUT);
		EXPECT_EQ(weft_select(WEFT_READABLE(fds[0])), -ETIMEDOUT);
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT);
		EXPECT_EQ(weft_write(fds[1], much, sizeof(much)), -ETIMEDOUT);
		EXPECT_EQ(weft_close_fd(fds[0]), 0); /* clean-up is never refused */
		EXPECT_EQ(weft_close_fd(fds[1]), 0);
	}
	weft_deadline(INT64_MIN)
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT);
	weft_deadline(0)
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT);
	fd = weft_dial("tcp", addr);
	weft_deadline(INT64_MAX)
		EXPECT_EQ(weft_close_fd(weft_accept(ln)), 0);
	EXPECT_EQ(weft_close_fd(fd), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(a_deadline_in_the_past)
{
	EXPECT_EQ(weft_run(main_past), 0);
}

/* ---- never before its time, from a nanosecond on */

struct waits_for {
	int64_t ns;
};

static int
waits_for(struct waits_for *a)
{
	int fds[2];
	char c;

	tcp_pair(fds);
	for (int i = 0; i < 4; i++) {
		int64_t before = weft_now();

		weft_timeout(a->ns)
			EXPECT_EQ(weft_read(fds[i & 1], &c, 1), -ETIMEDOUT);
		EXPECT(weft_now() - before >= a->ns);
	}
	close_pair(fds);
	return 0;
}

static int
main_various(void)
{
	static const int64_t spans[] = {
	    0,           1,           2, 5, 50, 500, 5 * WEFT_US, 50 * WEFT_US, 500 * WEFT_US,
	    5 * WEFT_MS, 20 * WEFT_MS};
	int rc = 0;

	weft_group(g, &rc)
		for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
			EXPECT(weft_go_in(g, waits_for, spans[i]) > 0);
	expect_no_waiters();
	return rc;
}

TEST(deadlines_from_a_nanosecond_on)
{
	EXPECT_EQ(weft_run(main_various), 0);
}

/* ---- moved: the nearest of the scopes wins, and an outer one is there again afterwards */

static int
main_moved(void)
{
	int64_t before = weft_now();
	int fds[2];
	char c;

	tcp_pair(fds);
	weft_timeout(3600 * WEFT_SEC) {
		for (int i = 0; i < 20; i++) /* the timer is armed for later, then for sooner */
			weft_timeout((20 - i) * 100 * WEFT_US)
				EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
		EXPECT_EQ(weft_write(fds[1], "m", 1), 1);
		EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	}
	weft_timeout(30 * WEFT_MS) {
		weft_timeout(3600 * WEFT_SEC) { /* a later one inside changes nothing */
			EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
		}
		EXPECT(weft_now() - before >= 30 * WEFT_MS);
		EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
		weft_shield
		{
			EXPECT_EQ(weft_write(fds[1], "s", 1), 1);
			EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
		}
	}
	EXPECT_EQ(weft_write(fds[1], "m", 1), 1);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 1); /* nothing is left of them */
	close_pair(fds);
	expect_no_waiters();
	return 0;
}

TEST(deadlines_that_are_moved)
{
	EXPECT_EQ(weft_run(main_moved), 0);
}

/* Somebody else ends the wait before its time: the group is the handle. */
struct reads_late {
	int fd;
	int *rc;
};

static int
reads_late(struct reads_late *a)
{
	char c;

	weft_timeout(3600 * WEFT_SEC)
		store(a->rc, (int)weft_read(a->fd, &c, 1));
	return 0;
}

static int
main_ended(void)
{
	enum { N = 8 };

	for (int round = 0; round < scaled(100); round++) {
		int fds[2], rc[N];

		tcp_pair(fds);
		weft_group(g, NULL) {
			for (int i = 0; i < N; i++) {
				rc[i] = 1;
				EXPECT(weft_go_in(g, reads_late, fds[0], &rc[i]) > 0);
			}
			await_waiting(WF_WAIT_FD_READ, 1);
			await_waiting(WF_WAIT_FD_TURN, N - 1);
			weft_cancel(g);
		}
		for (int i = 0; i < N; i++)
			EXPECT_EQ(rc[i], -ECANCELED);
		close_pair(fds);
	}
	expect_no_waiters();
	return 0;
}

TEST(a_wait_is_ended_before_its_deadline)
{
	EXPECT_EQ(weft_run(main_ended), 0);
}

/* ---- data and the deadline at the same time: each byte is read once, by somebody */

struct sends_numbers {
	int fd, n;
	uint64_t seed;
};

static int
sends_numbers(struct sends_numbers *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < a->n; i++) {
		EXPECT_EQ(weft_write(a->fd, &i, sizeof(i)), sizeof(i));
		EXPECT_EQ(weft_sleep((int64_t)(test_rand(&seed) % 60000)), 0);
	}
	return 0;
}

static int
main_met(void)
{
	int n = scaled(4000), fds[2], next = 0, late = 0;
	uint64_t seed = test_seed();

	tcp_pair(fds);
	EXPECT(weft_go(sends_numbers, fds[1], n, test_rand(&seed)) > 0);
	while (next < n) {
		int v = -1;
		ssize_t got = 0;

		/* as long as it takes for the next one to come, more or less */
		weft_timeout((int64_t)(test_rand(&seed) % 60000))
			got = weft_read(fds[0], &v, sizeof(v));
		if (got == -ETIMEDOUT) {
			late++;
			continue;
		}
		EXPECT_EQ(got, sizeof(v));
		EXPECT_EQ(v, next);
		next++;
	}
	EXPECT(late > 0);
	expect_alone();
	close_pair(fds);
	expect_no_waiters();
	return 0;
}

TEST(data_that_meets_a_deadline_is_not_lost)
{
	EXPECT_EQ(weft_run(main_met), 0);
}

/* ---- many on one socket, each with a deadline, some in line and some at the front */

struct takes_bytes {
	int fd;
	uint64_t seed;
	int *left, *late;
};

static int
takes_bytes(struct takes_bytes *a)
{
	uint64_t seed = a->seed;

	while (load(a->left) > 0) {
		ssize_t n = 0;
		char c;

		weft_timeout((int64_t)(test_rand(&seed) % 100000))
			n = weft_read(a->fd, &c, 1);
		EXPECT(n == 1 || n == -ETIMEDOUT);
		add(n == 1 ? a->left : a->late, n == 1 ? -1 : 1);
	}
	return 0;
}

static int
main_crowd(void)
{
	int n = scaled(2000), left = n, late = 0, fds[2], rc = 0;
	uint64_t seed = test_seed();

	tcp_pair(fds);
	weft_group(g, &rc) {
		for (int i = 0; i < 16; i++)
			EXPECT(weft_go_in(g, takes_bytes, fds[0], test_rand(&seed), &left, &late) >
			       0);
		for (int i = 0; i < n; i++) {
			EXPECT_EQ(weft_write(fds[1], "b", 1), 1);
			EXPECT_EQ(weft_sleep((int64_t)(test_rand(&seed) % 30000)), 0);
		}
	}
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(left, 0);
	EXPECT(late > 0);
	EXPECT_EQ(at_load_acq(&wf_fd_of(fds[0])->use) & 0xffffff0c, 0); /* no turn, no use: FD-2 */
	close_pair(fds);
	expect_no_waiters();
	return 0;
}

TEST(many_with_deadlines_on_one_socket)
{
	EXPECT_EQ(weft_run(main_crowd), 0);
}

/* ---- in the middle of a write: -ETIMEDOUT; what went is a beginning of it, and the stream goes on */

enum { MUCH = 16 << 20 };

static char
letter(size_t i)
{
	return (char)(i * 7 + i / 253);
}

static int
main_partial(void)
{
	char *out = malloc(MUCH), *in = malloc(MUCH);
	size_t got = 0;
	int fds[2];

	for (size_t i = 0; i < MUCH; i++)
		out[i] = letter(i);
	tcp_pair(fds);
	weft_timeout(5 * WEFT_MS)
		EXPECT_EQ(weft_write(fds[1], out, MUCH), -ETIMEDOUT);
	EXPECT_EQ(shutdown(fds[1], SHUT_WR), 0);
	weft_timeout(20 * WEFT_SEC)
		got = (size_t)weft_read_full(fds[0], in, MUCH);
	EXPECT(got > 0 && got < MUCH);
	EXPECT(memcmp(in, out, got) == 0);
	close_pair(fds);
	/* a second write after the first: its bytes come next, whole */
	tcp_pair(fds);
	weft_timeout(5 * WEFT_MS)
		EXPECT_EQ(weft_write(fds[1], out, MUCH), -ETIMEDOUT);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_write(fds[1], "!", 1), -ETIMEDOUT); /* still full */
	EXPECT(weft_read(fds[0], in, MUCH / 2) > 0);
	close_pair(fds);
	free(out);
	free(in);
	expect_no_waiters();
	return 0;
}

TEST(a_deadline_in_the_middle_of_a_write)
{
	EXPECT_EQ(weft_run(main_partial), 0);
}

/* A read of all ends in the middle; what has come is gone, what comes is not. */
static int
main_partial_read(void)
{
	char buf[16];
	int fds[2];

	tcp_pair(fds);
	EXPECT_EQ(weft_write(fds[1], "first", 5), 5);
	weft_timeout(2 * WEFT_MS)
		EXPECT_EQ(weft_read_full(fds[0], buf, 10), -ETIMEDOUT);
	EXPECT(memcmp(buf, "first", 5) == 0);
	EXPECT_EQ(weft_write(fds[1], "second", 6), 6);
	EXPECT_EQ(weft_read_full(fds[0], buf, 6), 6);
	EXPECT(memcmp(buf, "second", 6) == 0);
	close_pair(fds);
	return 0;
}

TEST(a_deadline_in_the_middle_of_a_read)
{
	EXPECT_EQ(weft_run(main_partial_read), 0);
}

/* ---- both directions time out on their own: the one does not end the other */

struct writes_by {
	int fd;
	int *rc;
};

static int
writes_by(struct writes_by *a)
{
	static char much[8 << 20];

	weft_timeout(2 * WEFT_MS)
		store(a->rc, (int)weft_write(a->fd, much, sizeof(much)));
	return 0;
}

static int
main_both(void)
{
	int fds[2], r = 1, w = 1;

	tcp_pair(fds);
	EXPECT(weft_go(reads_late, fds[0], &r) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	EXPECT(weft_go(writes_by, fds[0], &w) > 0);
	while (load(&w) == 1)
		weft_yield();
	EXPECT_EQ(w, -ETIMEDOUT);
	EXPECT_EQ(load(&r), 1);
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	expect_alone();
	EXPECT_EQ(load(&r), 1);
	close_pair(fds);
	expect_no_waiters();
	return 0;
}

TEST(a_deadline_of_one_direction)
{
	EXPECT_EQ(weft_run(main_both), 0);
}

/* ---- deadlines of a few microseconds beside traffic, on ten sockets */

struct brief {
	int fd;
	uint64_t seed;
	int *stop;
};

static int
brief(struct brief *a)
{
	uint64_t seed = a->seed;
	char buf[4096] = "";

	while (!load(a->stop)) {
		ssize_t n = 0;

		weft_timeout((int64_t)(test_rand(&seed) % 4000))
			n = test_rand(&seed) & 1 ? weft_read(a->fd, buf, sizeof(buf))
						 : weft_write(a->fd, buf, sizeof(buf));
		EXPECT(n > 0 || n == -ETIMEDOUT);
	}
	return 0;
}

static int
main_brief(void)
{
	enum { PAIRS = 5 };
	int fds[PAIRS][2], stop = 0, rc = 0;
	uint64_t seed = test_seed();

	for (int i = 0; i < PAIRS; i++)
		tcp_pair(fds[i]);
	weft_group(g, &rc) {
		for (int i = 0; i < PAIRS * 4; i++)
			EXPECT(weft_go_in(g, brief, fds[i / 4][i & 1], test_rand(&seed), &stop) >
			       0);
		EXPECT_EQ(weft_sleep(150 * WEFT_MS), 0);
		store(&stop, 1);
	}
	EXPECT_EQ(rc, 0);
	for (int i = 0; i < PAIRS; i++)
		close_pair(fds[i]);
	expect_no_waiters();
	return 0;
}

TEST(brief_deadlines_beside_traffic)
{
	EXPECT_EQ(weft_run(main_brief), 0);
}
