/* SPDX-License-Identifier: MIT */
/* t_file.c: files: read, write, at a place, and sendfile. */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <termios.h>

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

/* ---- to a descriptor that weft has not made, and that blocks */

struct sends_foreign {
	int out, in;
	bool at;
	int64_t *rc;
};

static int
sends_foreign(struct sends_foreign *a)
{
	off_t at = 1;

	*a->rc = weft_sendfile(a->out, a->in, a->at ? &at : NULL, MUCH);
	EXPECT_EQ(a->at ? at : lseek(a->in, 0, SEEK_CUR), *a->rc == MUCH - 1 ? MUCH : at);
	return 0;
}

static int
main_sendfile_foreign(void)
{
	int fd = temp_file(), fds[2];
	char *all = malloc(MUCH), *got = malloc(MUCH);
	int64_t sent = 0;

	for (int i = 0; i < MUCH; i++)
		all[i] = (char)(i * 31 + i / 255);
	EXPECT_EQ(weft_write(fd, all, MUCH), MUCH);
	for (int kind = 0; kind < 4; kind++) {
		struct weft_wg wg = {0};
		bool at = kind & 2;

		EXPECT_EQ(lseek(fd, 1, SEEK_SET), 1);
		if (kind & 1)
			EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
		else
			EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		EXPECT(weft_wg_go(&wg, sends_foreign, fds[1], fd, at, &sent) > 0);
		await_waiting(WF_WAIT_FD_WRITE, 1);
		EXPECT_EQ(weft_read_full(fds[0], got, MUCH - 1), MUCH - 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(sent, MUCH - 1);
		EXPECT(memcmp(got, all + 1, MUCH - 1) == 0);
		weft_timeout(WEFT_MS) /* nobody reads */
			EXPECT_EQ(weft_sendfile(fds[1], fd, &(off_t){0}, MUCH), -ETIMEDOUT);
		EXPECT_EQ(close(fds[0]), 0);
		EXPECT_EQ(weft_sendfile(fds[1], fd, &(off_t){0}, MUCH), -EPIPE);
		EXPECT_EQ(weft_close_fd(fds[1]), 0);
	}
	free(all);
	free(got);
	return weft_close_fd(fd);
}

TEST(sendfile_to_a_foreign_descriptor_can_be_ended)
{
	signal(SIGPIPE, SIG_DFL);
	EXPECT_EQ(weft_run(main_sendfile_foreign), 0);
}

static int
main_sendfile_changes(void)
{
	char *all = malloc(MUCH), *got = malloc(MUCH);
	int fd = temp_file(), fds[2];
	int64_t sent = 0;

	for (int i = 0; i < MUCH; i++)
		all[i] = (char)(i * 31 + i / 255);
	EXPECT_EQ(weft_write(fd, all, MUCH), MUCH);
	for (int kind = 0; kind < 4; kind++) {
		bool blocks = kind & 1, at = kind & 2;
		struct weft_wg wg = {0};

		EXPECT_EQ(lseek(fd, 1, SEEK_SET), 1);
		EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
		EXPECT_EQ(fcntl(fds[1], F_SETFL, blocks ? 0 : O_NONBLOCK), 0);
		EXPECT(weft_wg_go(&wg, sends_foreign, fds[1], fd, at, &sent) > 0);
		await_waiting(WF_WAIT_FD_WRITE, 1);
		EXPECT_EQ(fcntl(fds[1], F_SETFL, blocks ? O_NONBLOCK : 0), 0);
		EXPECT_EQ(weft_read_full(fds[0], got, MUCH - 1), MUCH - 1);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(sent, MUCH - 1);
		EXPECT(memcmp(got, all + 1, MUCH - 1) == 0);
		EXPECT_EQ(weft_sendfile(fds[1], fd, &(off_t){-1}, 100), -EINVAL);
		EXPECT_EQ(close(fds[0]) + close(fds[1]), 0);
	}
	free(all);
	free(got);
	return weft_close_fd(fd);
}

TEST(sendfile_goes_on_where_it_was_if_the_descriptor_changes)
{
	EXPECT_EQ(weft_run(main_sendfile_changes), 0);
}

/* ---- a terminal: it has no "not now" */

struct types {
	int fd;
};

static int
types(struct types *a)
{
	weft_sleep(WEFT_MS);
	EXPECT_EQ(weft_write(a->fd, "line\n", 5), 5);
	return 0;
}

static int
main_terminal(void)
{
	int keys = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), fd;
	struct weft_wg wg = {0};
	char buf[16], name[64];
	struct termios mode;

	if (keys < 0 || grantpt(keys) != 0 || unlockpt(keys) != 0 ||
	    ptsname_r(keys, name, sizeof(name)) != 0 ||
	    (fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		SKIP("no terminals here");
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_read(fd, buf, sizeof(buf)), -ETIMEDOUT);
	EXPECT(weft_wg_go(&wg, types, keys) > 0);
	EXPECT_EQ(weft_read(fd, buf, sizeof(buf)), 5);
	EXPECT(memcmp(buf, "line\n", 5) == 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	/* in this mode it has its own time-out, and poll would wait for ever */
	EXPECT_EQ(tcgetattr(fd, &mode), 0);
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 0;
	mode.c_cc[VTIME] = 1;
	EXPECT_EQ(tcsetattr(fd, TCSANOW, &mode), 0);
	EXPECT_EQ(weft_read(fd, buf, sizeof(buf)), 0);
	close(keys);
	return close(fd);
}

TEST(a_wait_for_a_terminal_can_be_ended)
{
	EXPECT_EQ(weft_run(main_terminal), 0);
}
