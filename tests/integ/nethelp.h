/* SPDX-License-Identifier: MIT */
/* nethelp.h: what the tests of sockets share. */
#ifndef WEFT_TEST_NETHELP_H
#define WEFT_TEST_NETHELP_H

#include "integ/waiting.h"

#include "core/poll.h"

#include <errno.h>
#include <sys/socket.h>

/* A listener on the loopback, and its address. */
__attribute__((unused)) static int
listen_local(char *addr, size_t n)
{
	int ln = weft_listen("tcp", "127.0.0.1:0");

	EXPECT(ln >= 0);
	EXPECT(weft_local_addr(ln, addr, n) > 0);
	return ln;
}

/* Both ends of a connection that weft has made: [0] accepted, [1] dialled. */
__attribute__((unused)) static void
tcp_pair(int fds[2])
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr));

	fds[1] = weft_dial("tcp", addr);
	EXPECT(fds[1] >= 0);
	fds[0] = weft_accept(ln);
	EXPECT(fds[0] >= 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
}

/* accepts(ln): a goroutine for each connection, until the listener is closed. */
#define ACCEPTS(serve)                                                                             \
	struct accepts {                                                                           \
		int ln;                                                                            \
	};                                                                                         \
	static int accepts(struct accepts *a)                                                      \
	{                                                                                          \
		int fd;                                                                            \
                                                                                                   \
		while ((fd = weft_accept(a->ln)) >= 0)                                             \
			EXPECT(weft_go(serve, fd) > 0);                                            \
		/* closed meanwhile, or just before: the number may be another file's */           \
		EXPECT(fd == -ECANCELED || fd == -EBADF || fd == -ENOTSOCK);                       \
		return 0;                                                                          \
	}

__attribute__((unused)) static void
close_by_reset(int fd)
{
	struct linger l = {1, 0};

	EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
	EXPECT_EQ(weft_close_fd(fd), 0);
}

/* Reads a byte, or writes more than there is room for, and tells what that returned. */
struct read_or_write {
	int fd;
	bool writes;
	int *rc;
};

__attribute__((unused)) static int
read_or_write(struct read_or_write *a)
{
	static char much[8 << 20];
	char c;

	store(a->rc,
	      (int)(a->writes ? weft_write(a->fd, much, sizeof(much)) : weft_read(a->fd, &c, 1)));
	return 0;
}

__attribute__((unused)) static void
close_pair(const int fds[2])
{
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
}

/* Open sockets and pipes; the runtime opens other files as it likes. */
__attribute__((unused)) static int
count_sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	EXPECT(d != NULL);
	while ((e = readdir(d))) {
		char to[64] = "";

		if (readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1) > 0)
			n += strncmp(to, "socket:", 7) == 0 || strncmp(to, "pipe:", 5) == 0;
	}
	closedir(d);
	return n;
}

/* Descriptors that the kernel is to report, the one that breaks a wait included. */
__attribute__((unused)) static int
count_watched(void)
{
	char path[64], line[256];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d",
		 (int)(at_load_acq(&wf_poll.open) >> 32));
	f = fopen(path, "r");
	EXPECT(f != NULL);
	while (fgets(line, sizeof(line), f))
		n += strncmp(line, "tfd:", 4) == 0;
	fclose(f);
	return n;
}

__attribute__((unused)) static void
expect_no_waiters(void)
{
	EXPECT_EQ(at_load_acq(&wf_poll.waiters), 0); /* POLL-4 */
}

#endif
