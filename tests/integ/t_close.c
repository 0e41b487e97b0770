/* SPDX-License-Identifier: MIT */
/* t_close.c: close wakes everybody, and numbers that come again mean nothing to who waited before.
   fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

struct one_call {
	int fd, how;
	int *rc;
};

enum { READS, WRITES, WAITS, ACCEPTS };
enum { READ_TURN = 4 }; /* in the record's use: somebody has the turn to read */

static int
one_call(struct one_call *a)
{
	static char much[8 << 20];
	char c;
	int64_t rc;

	if (a->how == READS)
		rc = weft_read(a->fd, &c, 1);
	else if (a->how == WRITES)
		rc = weft_write(a->fd, much, sizeof(much));
	else if (a->how == WAITS)
		rc = weft_wait_fd(a->fd, POLLIN);
	else
		rc = weft_accept(a->fd);
	store(a->rc, (int)rc);
	return 0;
}

/* ---- both directions blocked, others in line, others waiting for events: all return */

static int
main_all(void)
{
	enum { EACH = 3 };
	int fds[2], rc[3 * EACH];

	for (int round = 0; round < scaled(40); round++) {
		tcp_pair(fds);
		for (int i = 0; i < 3 * EACH; i++) {
			rc[i] = 1;
			EXPECT(weft_go(one_call, fds[0], i % 3, &rc[i]) > 0);
		}
		await_waiting(WF_WAIT_FD_READ, 1);
		await_waiting(WF_WAIT_FD_WRITE, 1);
		await_waiting(WF_WAIT_FD_TURN, 2 * (EACH - 1));
		await_waiting(WF_WAIT_FD, EACH);
		EXPECT_EQ(weft_close_fd(fds[0]), 0);
		for (int i = 0; i < 3 * EACH; i++) {
			while (load(&rc[i]) == 1)
				weft_yield();
			EXPECT_EQ(rc[i], -ECANCELED);
		}
		EXPECT_EQ(weft_close_fd(fds[1]), 0);
		expect_no_waiters();
	}
	return 0;
}

TEST(close_wakes_everybody)
{
	EXPECT_EQ(weft_run(main_all), 0);
}

static int
main_listener(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), rc[4];

	for (int i = 0; i < 4; i++) {
		rc[i] = 1;
		EXPECT(weft_go(one_call, ln, ACCEPTS, &rc[i]) > 0);
	}
	await_waiting(WF_WAIT_FD_READ, 1);
	await_waiting(WF_WAIT_FD_TURN, 3);
	EXPECT_EQ(weft_close_fd(ln), 0);
	EXPECT_EQ(weft_dial("tcp", addr), -ECONNREFUSED); /* it is closed by now */
	for (int i = 0; i < 4; i++) {
		while (load(&rc[i]) == 1)
			weft_yield();
		EXPECT_EQ(rc[i], -ECANCELED);
	}
	return 0;
}

TEST(close_of_a_listener_wakes_accept)
{
	EXPECT_EQ(weft_run(main_listener), 0);
}

/* ---- close, ready and a deadline at once: one of them, and nothing is left */

struct reads_by {
	int fd;
	int64_t ns;
	int *rc;
};

static int
reads_by(struct reads_by *a)
{
	char c;

	weft_timeout(a->ns)
		store(a->rc, (int)weft_read(a->fd, &c, 1));
	return 0;
}

struct closes {
	int fd;
};

static int
closes(struct closes *a)
{
	EXPECT_EQ(weft_close_fd(a->fd), 0);
	return 0;
}

static int
main_race(void)
{
	uint64_t seed = test_seed();
	int seen[3] = {0};

	for (int round = 0; round < scaled(2000); round++) {
		int fds[2], rc = 77;
		struct weft_wg wg = {0};

		EXPECT_EQ(weft_pipe(fds), 0);
		EXPECT(weft_wg_go(&wg, reads_by, fds[0], (int64_t)(test_rand(&seed) % 60000), &rc) >
		       0);
		for (uint64_t spin = test_rand(&seed) % 2000; spin > 0; spin--)
			__asm__ volatile("");
		if (test_rand(&seed) & 1)
			weft_yield();
		EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
		EXPECT(weft_wg_go(&wg, closes, fds[0]) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT(rc == 1 || rc == -ETIMEDOUT || rc == -ECANCELED || rc == -EBADF);
		seen[rc == 1 ? 0 : rc == -ETIMEDOUT ? 1 : 2]++;
		EXPECT_EQ(weft_close_fd(fds[1]), 0);
	}
	expect_no_waiters();
	return 0;
}

TEST(close_ready_and_deadline_at_once)
{
	EXPECT_EQ(weft_run(main_race), 0);
}

/* ---- the same numbers again and again: each connection gets its own bytes. FD-1, POLL-3 */

struct storms {
	const char *addr;
	int rounds, id;
};

static int
storms(struct storms *a)
{
	for (int i = 0; i < a->rounds; i++) {
		int fd = weft_dial("tcp", a->addr), out = a->id * 1000000 + i, in = -1;

		EXPECT(fd >= 0);
		EXPECT_EQ(weft_write(fd, &out, sizeof(out)), sizeof(out));
		EXPECT_EQ(weft_read_full(fd, &in, sizeof(in)), sizeof(in));
		EXPECT_EQ(in, out);
		EXPECT_EQ(weft_close_fd(fd), 0);
	}
	return 0;
}

struct answers {
	int fd;
};

/* A second goroutine waits for the same socket, and is sent away by the close. */
static int
answers(struct answers *a)
{
	int v, late = 1;

	if (weft_read_full(a->fd, &v, sizeof(v)) == sizeof(v))
		EXPECT_EQ(weft_write(a->fd, &v, sizeof(v)), sizeof(v));
	EXPECT(weft_go(one_call, a->fd, READS, &late) > 0);
	/* Until it has begun: who comes after the close may well find another's descriptor. */
	while (load(&late) == 1 && !(at_load_acq(&wf_fd_of(a->fd)->use) & READ_TURN))
		weft_yield();
	EXPECT_EQ(weft_close_fd(a->fd), 0);
	while (load(&late) == 1)
		weft_yield();
	/* it came in time, or saw the end, or was too late */
	EXPECT(late == -ECANCELED || late == 0 || late == -EBADF || late == -ECONNRESET);
	return 0;
}

struct serves_all {
	int ln;
};

static int
serves_all(struct serves_all *a)
{
	int fd;

	while ((fd = weft_accept(a->ln)) >= 0)
		EXPECT(weft_go(answers, fd) > 0);
	return 0;
}

static int
main_storm(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), rc = 0;
	int before = count_sockets();

	EXPECT(weft_go(serves_all, ln) > 0);
	weft_group(g, &rc)
		for (int i = 0; i < 8; i++)
			EXPECT(weft_go_in(g, storms, addr, scaled(200), i) > 0);
	EXPECT_EQ(rc, 0);
	while (weft_count() > 2)
		weft_yield();
	EXPECT_EQ(count_sockets(), before);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_alone();
	expect_no_waiters();
	return 0;
}

TEST(numbers_that_come_again)
{
	EXPECT_EQ(weft_run(main_storm), 0);
}

/* ---- closed behind our back: by close(2), and the number comes again */

static int
main_behind(void)
{
	int fds[2], again[2], rc = 1;
	char c;

	EXPECT_EQ(weft_pipe(fds), 0);
	EXPECT(weft_go(one_call, fds[0], READS, &rc) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	EXPECT_EQ(close(fds[0]), 0);
	EXPECT_EQ(weft_pipe(again), 0);
	EXPECT_EQ(again[0], fds[0]);
	while (load(&rc) == 1)
		weft_yield();
	EXPECT_EQ(rc, -ECANCELED);
	EXPECT_EQ(weft_write(again[1], "n", 1), 1);
	EXPECT_EQ(weft_read(again[0], &c, 1), 1);
	close_pair(again);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	return 0;
}

TEST(closed_behind_our_back)
{
#ifdef WF_TSAN
	SKIP("it is a race, and ThreadSanitizer says so");
#endif
	EXPECT_EQ(weft_run(main_behind), 0);
}

/* A foreign one is closed by weft_close_fd: who waits returns too. */
static int
main_foreign(void)
{
	int fds[2], rc = 1;

	EXPECT_EQ(pipe(fds), 0);
	EXPECT(weft_go(one_call, fds[0], READS, &rc) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	while (load(&rc) == 1)
		weft_yield();
	EXPECT_EQ(rc, -ECANCELED);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	EXPECT_EQ(weft_close_fd(-1), -EBADF);
	EXPECT_EQ(weft_close_fd(99999), -EBADF);
	return 0;
}

TEST(close_of_a_foreign_descriptor)
{
	EXPECT_EQ(weft_run(main_foreign), 0);
}

/* ---- the file lives on under another number, or in a child: it is not watched any more */

static int
main_lives_on(void)
{
	int fds[2], own, copy, before;
	char c;

	tcp_pair(fds);
	before = count_watched();
	copy = dup(fds[0]);
	EXPECT(copy >= 0);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	EXPECT_EQ(count_watched(), before - 1);
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	EXPECT_EQ(weft_read(copy, &c, 1), 1); /* a foreign one */
	own = fds[1];
	EXPECT_EQ(pipe(fds), 0);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT); /* watched since */
	before = count_watched();
	EXPECT_EQ(dup2(fds[0], copy), copy);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	EXPECT_EQ(count_watched(), before - 1);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	EXPECT_EQ(weft_close_fd(copy), 0);
	EXPECT_EQ(weft_close_fd(own), 0);
	EXPECT_EQ(count_watched(), 1);
	return 0;
}

TEST(a_file_that_lives_on_is_not_watched)
{
	EXPECT_EQ(weft_run(main_lives_on), 0);
}

struct writes_late {
	int fd;
};

static int
writes_late(struct writes_late *a)
{
	await_waiting(WF_WAIT_FD_READ, 1);
	EXPECT_EQ(weft_write(a->fd, "x", 1), 1);
	return 0;
}

/* A forked child that closes its copy takes nothing from its parent. */
static int
main_child_closes(void)
{
	int fds[2], status;
	pid_t pid;
	char c;

	EXPECT_EQ(weft_pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		_exit(weft_close_fd(fds[0]) == 0 ? 0 : 1);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT(weft_go(writes_late, fds[1]) > 0);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	close_pair(fds);
	return 0;
}

TEST(a_child_closes_its_copy)
{
	EXPECT_EQ(weft_run(main_child_closes), 0);
}

/* ---- many connections, one after another: nothing grows */

static int
main_growth(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), fds = count_sockets();
	long pages = 0;

	for (int i = 0; i < scaled(4000); i++) {
		int a = weft_dial("tcp", addr), b = weft_accept(ln);

		EXPECT(a >= 0 && b >= 0);
		EXPECT_EQ(weft_close_fd(a), 0);
		EXPECT_EQ(weft_close_fd(b), 0);
		if (i == scaled(4000) / 2)
			pages = resident_pages();
	}
	EXPECT_EQ(count_sockets(), fds);
	expect_no_growth(pages, 64);
	return weft_close_fd(ln);
}

TEST(connections_leave_nothing_behind)
{
	EXPECT_EQ(weft_run(main_growth), 0);
}
