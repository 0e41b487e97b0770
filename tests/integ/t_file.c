/* SPDX-License-Identifier: MIT */
/* t_file.c: files: read, write, at a place, and sendfile. */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

static int
temp_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		SKIP("no files without a name in /tmp");
	return fd;
}

static int
main_file(void)
{
	int fd = temp_file();
	char buf[64];
	struct iovec two[2] = {{buf, 4}, {buf + 4, 60}};

	EXPECT_EQ(weft_write(fd, "hello, world", 12), 12);
	EXPECT_EQ(weft_pread(fd, buf, 5, 7), 5);
	EXPECT(memcmp(buf, "world", 5) == 0);
	EXPECT_EQ(weft_pwrite(fd, "WORLD", 5, 7), 5);
	EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
	EXPECT_EQ(weft_readv(fd, two, 2), 12);
	EXPECT(memcmp(buf, "hello, WORLD", 12) == 0);
	EXPECT_EQ(weft_read(fd, buf, sizeof(buf)), 0);
	EXPECT_EQ(weft_adopt_fd(fd), fd); /* always ready */
	EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
	EXPECT_EQ(weft_read_full(fd, buf, sizeof(buf)), 12);
	EXPECT_EQ(weft_select(WEFT_READABLE(fd)), 0);
	EXPECT_EQ(weft_close_fd(fd), 0);
	EXPECT_EQ(weft_pread(fd, buf, 5, 7), -EBADF);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	EXPECT_EQ(weft_read(fd, buf, sizeof(buf)), 0);
	EXPECT_EQ(weft_write(fd, buf, sizeof(buf)), sizeof(buf));
	EXPECT_EQ(weft_close_fd(fd), 0);
	return 0;
}

TEST(files_are_read_and_written)
{
	EXPECT_EQ(weft_run(main_file), 0);
}

/* ---- sendfile: more than fits into the socket */

enum { MUCH = 4 << 20 };

struct sends {
	int out, in;
};

static int
sends(struct sends *a)
{
	off_t at = 1;

	EXPECT_EQ(weft_sendfile(a->out, a->in, &at, MUCH), MUCH - 1);
	EXPECT_EQ(at, MUCH);
	return weft_close_fd(a->out);
}

static int
main_sendfile(void)
{
	int fd = temp_file(), fds[2];
	char *all = malloc(MUCH), *got = malloc(MUCH);

	for (int i = 0; i < MUCH; i++)
		all[i] = (char)(i * 31 + i / 255);
	EXPECT_EQ(weft_write(fd, all, MUCH), MUCH);
	tcp_pair(fds);
	EXPECT(weft_go(sends, fds[1], fd) > 0);
	await_waiting(WF_WAIT_FD_WRITE, 1);
	EXPECT_EQ(weft_read_full(fds[0], got, MUCH), MUCH - 1);
	EXPECT(memcmp(got, all + 1, MUCH - 1) == 0);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	tcp_pair(fds);
	EXPECT_EQ(weft_close_fd(fds[0]), 0); /* no signal when nobody is there */
	EXPECT(weft_sendfile(fds[1], fd, &(off_t){0}, MUCH) < 0);
	EXPECT(weft_sendfile(fds[1], fd, &(off_t){0}, MUCH) < 0);
	EXPECT_EQ(weft_close_fd(fds[1]), 0);
	free(all);
	free(got);
	return weft_close_fd(fd);
}

TEST(sendfile_sends_all)
{
	signal(SIGPIPE, SIG_DFL);
	EXPECT_EQ(weft_run(main_sendfile), 0);
}
