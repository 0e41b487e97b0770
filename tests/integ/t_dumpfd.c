/* SPDX-License-Identifier: MIT */
/* t_dumpfd.c: a dump names the descriptor that a goroutine waits for, and what it is. */
#include "integ/nethelp.h"

#include <poll.h>

static char text[1 << 20], want[400];

static void
dump(void)
{
	FILE *f = tmpfile();

	EXPECT(f != NULL);
	weft_dump(fileno(f));
	rewind(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
}

static void
expect_dumped(const char *line)
{
	dump();
	EXPECT_HAS(text, line);
}

struct reads {
	int fd;
};

static int
reads(struct reads *a)
{
	char byte;

	EXPECT_EQ(weft_read(a->fd, &byte, 1), -ECANCELED);
	return 0;
}

struct writes {
	int fd;
};

static int
writes(struct writes *a)
{
	static char much[1 << 16];
	ssize_t rc;

	do
		rc = weft_write(a->fd, much, sizeof(much));
	while (rc > 0);
	EXPECT_EQ(rc, -ECANCELED);
	return 0;
}

struct accepts {
	int fd;
};

static int
accepts(struct accepts *a)
{
	EXPECT_EQ(weft_accept(a->fd), -ECANCELED);
	return 0;
}

struct waits {
	int fd;
};

static int
waits(struct waits *a)
{
	EXPECT_EQ(weft_wait_fd(a->fd, POLLIN), -ECANCELED);
	return 0;
}

struct selects {
	int fd, to;
};

static int
selects(struct selects *a)
{
	EXPECT_EQ(weft_select(WEFT_READABLE(a->fd), WEFT_WRITABLE(a->to)), -ECANCELED);
	return 0;
}

static int
sockets(void)
{
	char local[64], peer[64], addr[64];
	int fds[2], ln = listen_local(addr, sizeof(addr));

	tcp_pair(fds);
	EXPECT(weft_local_addr(fds[0], local, sizeof(local)) > 0);
	EXPECT(weft_peer_addr(fds[0], peer, sizeof(peer)) > 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, reads, fds[0]) > 0);
		EXPECT(weft_go_in(g, writes, fds[0]) > 0);
		EXPECT(weft_go_in(g, accepts, ln) > 0);
		await_waiting(WF_WAIT_FD_READ, 2);
		await_waiting(WF_WAIT_FD_WRITE, 1);
		snprintf(want, sizeof(want), "waits to write to fd %d (tcp %s -> %s)", fds[0],
			 local, peer);
		do /* what it wrote may still be on its way: it is woken then, and waits again */
			dump();
		while (!test_has(text, want));
		snprintf(want, sizeof(want), "waits to read from fd %d (tcp %s <- %s)", fds[0],
			 local, peer);
		EXPECT_HAS(text, want);
		snprintf(want, sizeof(want), "waits to accept from fd %d (tcp %s, listens)", ln,
			 addr);
		EXPECT_HAS(text, want);
		EXPECT(weft_go_in(g, reads, fds[0]) > 0);
		await_waiting(WF_WAIT_FD_TURN, 1);
		snprintf(want, sizeof(want), "waits for its turn to read from fd %d (tcp %s <- %s)",
			 fds[0], local, peer);
		expect_dumped(want);
		weft_cancel(g);
	}
	close_pair(fds);
	return weft_close_fd(ln);
}

TEST(a_dump_names_sockets)
{
	EXPECT_EQ(weft_run(sockets), 0);
}

static int
pipes(void)
{
	int p[2];

	EXPECT_EQ(weft_pipe(p), 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, reads, p[0]) > 0);
		await_waiting(WF_WAIT_FD_READ, 1);
		snprintf(want, sizeof(want), "waits to read from fd %d (pipe:[", p[0]);
		expect_dumped(want);
		weft_cancel(g);
	}
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, waits, p[0]) > 0);
		await_waiting(WF_WAIT_FD, 1);
		snprintf(want, sizeof(want), "waits for an event of fd %d (pipe:[", p[0]);
		expect_dumped(want);
		weft_cancel(g);
	}
	return close_pair(p), 0;
}

TEST(a_dump_names_pipes)
{
	EXPECT_EQ(weft_run(pipes), 0);
}

/* Both directions of it wait, in one select: the other end is full. */
static int
select_of_both(void)
{
	static char much[4096];
	int p[2], q[2];

	EXPECT_EQ(weft_pipe(p), 0);
	EXPECT_EQ(weft_pipe(q), 0);
	while (write(q[1], much, sizeof(much)) > 0)
		;
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, selects, p[0], q[1]) > 0);
		await_waiting(WF_WAIT_SELECT, 1);
		snprintf(want, sizeof(want), "read from fd %d (pipe:[", p[0]);
		expect_dumped(want);
		snprintf(want, sizeof(want), ", or write to fd %d (pipe:[", q[1]);
		EXPECT_HAS(text, want);
		EXPECT_HAS(text, "waits in a select of 2 cases: ");
		weft_cancel(g);
	}
	close_pair(p);
	close_pair(q);
	return 0;
}

TEST(a_dump_names_the_descriptors_of_a_select)
{
	EXPECT_EQ(weft_run(select_of_both), 0);
}

static int
unix_path(void)
{
	char path[64];
	int ln;

	snprintf(path, sizeof(path), "/tmp/weft-dump.%d", (int)getpid());
	ln = weft_listen("unix", path);
	EXPECT(ln >= 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, accepts, ln) > 0);
		await_waiting(WF_WAIT_FD_READ, 1);
		snprintf(want, sizeof(want), "waits to accept from fd %d (unix %s, listens)", ln,
			 path);
		expect_dumped(want);
		weft_cancel(g);
	}
	unlink(path);
	return weft_close_fd(ln);
}

TEST(a_dump_names_the_path_of_a_unix_socket)
{
	EXPECT_EQ(weft_run(unix_path), 0);
}

struct naps {
	int64_t ns;
};

static int
naps(struct naps *a)
{
	EXPECT_EQ(weft_sleep(a->ns), -ECANCELED);
	return 0;
}

static int
sleepers(void)
{
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, naps, INT64_C(100000) * 1000000000) > 0);
		await_waiting(WF_WAIT_SLEEP, 1);
		expect_dumped("sleeps for another 99");
		weft_cancel(g);
	}
	return 0;
}

TEST(a_dump_says_how_long_a_sleep_is)
{
	EXPECT_EQ(weft_run(sleepers), 0);
}
