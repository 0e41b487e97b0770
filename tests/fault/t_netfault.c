/* SPDX-License-Identifier: MIT */
/*
 * t_netfault.c: system calls of descriptors fail at their n-th use, once and for ever: the call of
 * the program returns that error, channels and timers go on, no descriptor is left behind, nobody
 * hangs. An interrupted call, and one that an old kernel does not know, have no visible effect.
 */
#define _GNU_SOURCE 1
#include "fault/faulthelp.h"
#include "integ/nethelp.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

/* What a call may return while a fault is on order; 0: nothing may fail. */
static int allowed[2];
static int failures;

static bool
went_well(int64_t rc)
{
	if (rc >= 0)
		return true;
	if (rc != allowed[0] && rc != allowed[1])
		test_fail(__FILE__, __LINE__, "a call returned %d", (int)rc);
	add(&failures, 1);
	return false;
}

/* ---- a program that uses everything once */

struct copies {
	int in, out;
};

static int
copies(struct copies *a)
{
	char buf[64];
	ssize_t n;

	while ((n = weft_read(a->in, buf, sizeof(buf))) > 0)
		EXPECT_EQ(weft_write(a->out, buf, (size_t)n), n);
	return 0;
}

static void
use_pipes(void)
{
	int there[2], back[2];
	char c = 0;

	if (!went_well(weft_pipe(there)))
		return;
	if (went_well(weft_pipe(back))) {
		weft_group(g, NULL) {
			EXPECT(weft_go_in(g, copies, there[0], back[1]) > 0);
			for (int i = 0; i < 20; i++) {
				EXPECT_EQ(weft_write(there[1], "p", 1), 1);
				EXPECT_EQ(weft_read(back[0], &c, 1), 1);
			}
			EXPECT_EQ(weft_close_fd(there[1]), 0);
		}
		close_pair(back);
	} else {
		EXPECT_EQ(weft_close_fd(there[1]), 0);
	}
	EXPECT_EQ(weft_close_fd(there[0]), 0);
}

struct serves {
	int ln;
};

static int
serves(struct serves *a)
{
	int fd;

	while ((fd = weft_accept(a->ln)) != -ECANCELED) {
		if (!went_well(fd))
			continue;
		copies(&(struct copies){fd, fd});
		EXPECT_EQ(weft_close_fd(fd), 0);
	}
	return 0;
}

static void
ask(const char *addr)
{
	char buf[8];
	int fd = weft_dial("tcp", addr);

	if (!went_well(fd))
		return;
	for (int i = 0; i < 5; i++) {
		ssize_t n = weft_write(fd, "ping", 4);

		EXPECT(n == 4 || n == -ECONNRESET || n == -EPIPE);
		/* accepted, but it could not be watched, so it was closed */
		n = n < 0 ? n : weft_read_full(fd, buf, 4);
		EXPECT(n == 4 || n == 0 || n == -ECONNRESET || n == -EPIPE || n == -ETIMEDOUT);
		if (n != 4)
			EXPECT(allowed[0] != 0);
	}
	EXPECT_EQ(weft_close_fd(fd), 0);
}

static void
use_sockets(void)
{
	char addr[64];
	int ln = weft_listen("tcp", "127.0.0.1:0");

	if (!went_well(ln))
		return;
	EXPECT(weft_local_addr(ln, addr, sizeof(addr)) > 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, serves, ln) > 0);
		for (int i = 0; i < 4; i++)
			/* where no connection is accepted nobody answers */
			weft_timeout(allowed[0] == -EMFILE || allowed[0] == -ENFILE ? 20 * WEFT_MS
										    : 20 * WEFT_SEC)
				ask(addr);
		weft_cancel(g);
	}
	EXPECT_EQ(weft_close_fd(ln), 0);
}

static void
use_foreign(void)
{
	char c;
	int fds[2];

	EXPECT_EQ(pipe(fds), 0);
	weft_timeout(WEFT_MS)
		went_well(weft_read(fds[0], &c, 1));
	EXPECT_EQ(write(fds[1], "f", 1), 1);
	if (went_well(weft_wait_fd(fds[0], POLLIN)))
		EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	if (went_well(weft_adopt_fd(fds[0])))
		weft_timeout(WEFT_MS)
			EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
	close_pair(fds);
}

static void
use_child(void)
{
	char *argv[] = {"sh", "-c", "exit 3", NULL};
	pid_t pid = weft_spawnp("sh", argv, NULL, NULL);
	int status = 0, rc;

	EXPECT(pid > 0);
	do
		rc = weft_waitpid(pid, &status);
	while (!went_well(rc));
	EXPECT_EQ(WEXITSTATUS(status), 3);
}

static int
other(void)
{
	weft_chan(int64_t) ch = weft_after(WEFT_MS);
	int64_t v;

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(weft_sleep(100 * WEFT_US), 0);
	EXPECT_EQ(weft_recv(ch, &v), 1);
	weft_free(ch);
	return 0;
}

static int
program(void)
{
	int before = count_sockets(), rc = 0;

	weft_group(g, &rc) {
		EXPECT(weft_go_in(g, other) > 0); /* not touched by any of it */
		use_pipes();
		use_sockets();
		use_foreign();
		use_child();
	}
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(count_sockets(), before);
	expect_no_waiters();
	return 7;
}

/* ---- faults on order */

static void
child(void)
{
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(weft_run(program), 7);
	unsetenv("WEFT_FAULT");
	allowed[0] = 0;
	EXPECT_EQ(weft_run(program), 7);
	printf("%d failures\n", failures);
	exit(0);
}

static void
expect_survives(const char *name, int n, bool for_ever)
{
	int status = child_with_fault(child, name, n, for_ever);

	if (status != 0)
		test_fail(__FILE__, __LINE__, "WEFT_FAULT=%s: status 0x%x\n%s", fault_order, status,
			  fault_said);
	/* the fault was there, and was told */
	if (allowed[0] && for_ever)
		EXPECT(!test_has(fault_said, "\n0 failures") &&
		       strncmp(fault_said, "0 failures", 10) != 0);
}

static void
try_each(const char *name, int most, int error, bool for_ever_too)
{
	use_procs(2);
	signal(SIGPIPE, SIG_DFL);
	allowed[0] = error;
	allowed[1] = -ETIMEDOUT;
	for (int n = 1; n <= most; n++) {
		expect_survives(name, n, false);
		if (for_ever_too)
			expect_survives(name, n, true);
	}
}

TEST(without_faults_nothing_fails)
{
	static char out[4096];

	allowed[1] = -ETIMEDOUT;
	EXPECT_EQ(test_child(child, out, sizeof(out)), 0);
}

TEST(there_is_no_poller)
{
	try_each("epoll", 2, -EMFILE, true);
	try_each("eventfd", 2, -EMFILE, true);
}

TEST(nothing_more_can_be_watched)
{
	try_each("epoll_ctl", 12, -ENOSPC, true);
	try_each("epoll_again", 2, -ENOMEM, true); /* of a foreign one */
}

TEST(no_pipe_can_be_had)
{
	try_each("pipe", 3, -EMFILE, true);
}

TEST(no_socket_can_be_had)
{
	try_each("socket", 4, -EMFILE, true);
}

TEST(no_connection_can_be_accepted)
{
	try_each("accept", 4, -EMFILE, true);
	try_each("accept_files", 4, -ENFILE, true);
}

/* ---- what has no visible effect */

TEST(connections_that_are_gone_before_they_are_accepted)
{
	try_each("accept_aborted", 4, 0, false);
	try_each("accept_protocol", 4, 0, false);
}

TEST(a_wait_in_the_kernel_is_interrupted)
{
	try_each("epoll_wait", 10, 0, false);
}

TEST(calls_are_interrupted)
{
	try_each("eintr", 40, 0, false);
	try_each("connect_eintr", 3, 0, true);
}

TEST(writes_are_short)
{
	try_each("short_write", 12, 0, true);
}

TEST(a_kernel_without_fine_waits)
{
	try_each("pwait2", 1, 0, true);
}

TEST(a_kernel_without_descriptors_of_children)
{
	try_each("pidfd", 1, 0, true);
}
