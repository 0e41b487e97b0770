/* SPDX-License-Identifier: MIT */
/* t_unix.c: unix sockets, and why a short read does not empty one. */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <poll.h>
#include <sys/socket.h>

static char path[64];

static const char *
new_path(void)
{
	snprintf(path, sizeof(path), "@weft-test-%d", (int)getpid());
	return path;
}

static void
unix_pair(int fds[2])
{
	int ln = weft_listen("unix", new_path());

	EXPECT(ln >= 0);
	fds[1] = weft_dial("unix", path);
	EXPECT(fds[1] >= 0);
	fds[0] = weft_accept(ln);
	EXPECT(fds[0] >= 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
}

static int
main_pair(void)
{
	char buf[64], file[64];
	int fds[2], ln;

	unix_pair(fds);
	EXPECT_EQ(weft_write(fds[1], "hello", 5), 5);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 5);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), -ETIMEDOUT);
	EXPECT(weft_local_addr(fds[0], buf, sizeof(buf)) > 0);
	EXPECT(strcmp(buf, path) == 0);
	EXPECT_EQ(weft_local_addr(fds[1], buf, sizeof(buf)), 0); /* it has no name */
	close_pair(fds);
	snprintf(file, sizeof(file), "/tmp/weft-test-%d.sock", (int)getpid());
	ln = weft_listen("unix", file);
	EXPECT(ln >= 0);
	EXPECT_EQ(weft_listen("unix", file), -EADDRINUSE);
	EXPECT_EQ(weft_local_addr(ln, buf, sizeof(buf)), strlen(file));
	EXPECT(strcmp(buf, file) == 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	EXPECT_EQ(weft_dial("unix", file), -ECONNREFUSED);
	unlink(file);
	EXPECT_EQ(weft_dial("unix", file), -ENOENT);
	return 0;
}

TEST(unix_sockets)
{
	EXPECT_EQ(weft_run(main_pair), 0);
}

/* Bytes that came with a descriptor are not read together with those that did not: each read is
   short, and there is more. IO-1 */
static void
send_with_fd(int fd, const char *text)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int zero = 0;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &zero, sizeof(int));
	EXPECT_EQ(sendmsg(fd, &msg, 0), (ssize_t)strlen(text));
}

static void
read_all(int fd, ssize_t want)
{
	char buf[64];
	ssize_t got = 0;

	EXPECT_EQ(weft_wait_fd(fd, POLLIN), POLLIN);
	weft_timeout(5 * WEFT_SEC)
		while (got < want) {
			ssize_t n = weft_read(fd, buf, sizeof(buf));

			EXPECT(n > 0);
			got += n;
		}
	EXPECT_EQ(got, want);
}

static int
main_passed(void)
{
	int fds[2];

	unix_pair(fds);
	send_with_fd(fds[1], "with");
	EXPECT_EQ(send(fds[1], "without", 7, 0), 7);
	send_with_fd(fds[1], "again");
	read_all(fds[0], 16);
	close_pair(fds);
	return 0;
}

TEST(bytes_with_passed_descriptors_are_all_read)
{
	EXPECT_EQ(weft_run(main_passed), 0);
}

/* The same with credentials: bytes of different senders are not joined. */
static int
main_credentials(void)
{
	int fds[2], on = 1, status;
	pid_t child;

	unix_pair(fds);
	EXPECT_EQ(setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	EXPECT_EQ(send(fds[1], "parent", 6, 0), 6);
	child = fork();
	if (child == 0)
		_exit(send(fds[1], "child", 5, 0) == 5 ? 0 : 1);
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(send(fds[1], "parent", 6, 0), 6);
	read_all(fds[0], 17);
	close_pair(fds);
	return 0;
}

TEST(bytes_with_credentials_are_all_read)
{
	EXPECT_EQ(weft_run(main_credentials), 0);
}

/* Packets: each read takes one. */
static int
main_packets(void)
{
	int fds[2];

	EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	EXPECT_EQ(weft_adopt_fd(fds[0]), fds[0]);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_write(fds[1], "packet", 6), 6);
	read_all(fds[0], 18);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	return 0;
}

TEST(packets_are_all_read)
{
	EXPECT_EQ(weft_run(main_packets), 0);
}

/* The line of a listener is full: a dial waits, though no report will come. */
struct dials {
	int *rc;
};

static int
dials(struct dials *a)
{
	store(a->rc, weft_dial("unix", path));
	return 0;
}

static int
main_full(void)
{
	int ln = weft_listen_with("unix", new_path(), 1, 0), rc = -1, n = 0;
	int fds[64];

	EXPECT(ln >= 0);
	weft_timeout(20 * WEFT_MS)
		while (n < 64 && (fds[n] = weft_dial("unix", path)) >= 0)
			n++;
	EXPECT(n < 64);
	EXPECT_EQ(fds[n], -ETIMEDOUT);
	EXPECT(weft_go(dials, &rc) > 0);
	while (load(&rc) < 0) {
		int fd = weft_accept(ln);

		EXPECT(fd >= 0);
		EXPECT_EQ(weft_close_fd(fd), 0);
		EXPECT_EQ(weft_sleep(3 * WEFT_MS), 0);
	}
	EXPECT_EQ(weft_close_fd(rc), 0);
	while (n-- > 0)
		EXPECT_EQ(weft_close_fd(fds[n]), 0);
	return weft_close_fd(ln);
}

TEST(a_dial_to_a_full_line_waits)
{
	EXPECT_EQ(weft_run(main_full), 0);
}
