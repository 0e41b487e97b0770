/* SPDX-License-Identifier: MIT */
/* t_udp.c: datagrams. */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct answers {
	int fd, n;
};

static int
answers(struct answers *a)
{
	for (int i = 0; i < a->n; i++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		char buf[64];
		ssize_t n =
		    weft_recvfrom(a->fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

		EXPECT(n >= 0);
		EXPECT_EQ(weft_sendto(a->fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len), n);
	}
	return 0;
}

static int
main_udp(void)
{
	enum { N = 100 };
	char addr[64], buf[64];
	int server = weft_listen("udp", "127.0.0.1:0"), client;

	EXPECT(server >= 0);
	EXPECT(weft_local_addr(server, addr, sizeof(addr)) > 0);
	client = weft_dial("udp", addr);
	EXPECT(client >= 0);
	EXPECT(weft_go(answers, server, N) > 0);
	for (int i = 0; i < N; i++) {
		size_t n = (size_t)(i % 8); /* an empty one is one too */

		EXPECT_EQ(weft_write(client, "datagram", n), n);
		EXPECT_EQ(weft_read(client, buf, sizeof(buf)), n);
	}
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_read(client, buf, sizeof(buf)), -ETIMEDOUT);
	/* a short read has not emptied it */
	EXPECT(weft_go(answers, server, 3) > 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_write(client, "abc", 3), 3);
	weft_timeout(5 * WEFT_SEC)
		for (int i = 0; i < 3; i++)
			EXPECT_EQ(weft_read(client, buf, sizeof(buf)), 3);
	expect_alone();
	EXPECT_EQ(weft_close_fd(server), 0);
	EXPECT_EQ(weft_write(client, "x", 1), 1);
	EXPECT_EQ(weft_read(client, buf, sizeof(buf)), -ECONNREFUSED);
	EXPECT_EQ(weft_close_fd(client), 0);
	expect_no_waiters();
	return 0;
}

TEST(datagrams)
{
	EXPECT_EQ(weft_run(main_udp), 0);
}

/* ---- flags, as POSIX has them */

struct two_parts {
	int fd;
};

static int
two_parts(struct two_parts *a)
{
	EXPECT_EQ(weft_write(a->fd, "1234", 4), 4);
	weft_sleep(WEFT_MS);
	EXPECT_EQ(weft_write(a->fd, "5678", 4), 4);
	return 0;
}

static int
main_flags(void)
{
	int a = weft_listen("udp", "127.0.0.1:0"), sv[2];
	char buf[16];

	EXPECT_EQ(weft_recvfrom(a, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL), -EAGAIN);
	EXPECT_EQ(weft_close_fd(a), 0);
	EXPECT_EQ(weft_recvfrom(a, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL), -EBADF);
	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	for (int adopted = 0; adopted < 2; adopted++) {
		EXPECT_EQ(weft_recvfrom(sv[0], buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL),
			  -EAGAIN);
		EXPECT(weft_go(two_parts, sv[1]) > 0);
		EXPECT_EQ(weft_recvfrom(sv[0], buf, 8, MSG_WAITALL, NULL, NULL), 8);
		EXPECT(memcmp(buf, "12345678", 8) == 0);
		EXPECT(weft_go(two_parts, sv[1]) > 0);
		EXPECT_EQ(weft_recvfrom(sv[0], buf, 8, MSG_PEEK | MSG_WAITALL, NULL, NULL), 4);
		EXPECT_EQ(weft_recvfrom(sv[0], buf, 8, MSG_WAITALL, NULL, NULL), 8);
		EXPECT_EQ(weft_adopt_fd(sv[0]), sv[0]);
	}
	expect_alone();
	EXPECT_EQ(weft_write(sv[1], "end", 3), 3);
	EXPECT_EQ(weft_close_fd(sv[1]), 0);
	EXPECT_EQ(weft_recvfrom(sv[0], buf, 8, MSG_WAITALL, NULL, NULL), 3);
	EXPECT_EQ(weft_recvfrom(sv[0], buf, 8, MSG_WAITALL, NULL, NULL), 0);
	return weft_close_fd(sv[0]);
}

TEST(flags_of_recvfrom_are_kept)
{
	EXPECT_EQ(weft_run(main_flags), 0);
}

enum { MUCH = 4 << 20 };
static char much[MUCH];

struct takes_all {
	int fd;
};

static int
takes_all(struct takes_all *a)
{
	static char got[MUCH];

	EXPECT_EQ(weft_read_full(a->fd, got, MUCH), MUCH);
	EXPECT(memcmp(got, much, MUCH) == 0);
	return 0;
}

struct writes_all {
	int fd;
};

static int
writes_all(struct writes_all *a)
{
	EXPECT_EQ(weft_write(a->fd, much, MUCH), MUCH);
	return 0;
}

/* Who does not wait does not go between either. */
static int
main_turns(void)
{
	struct weft_wg wg = {0};
	int sv[2];

	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	EXPECT_EQ(weft_adopt_fd(sv[0]), sv[0]);
	EXPECT(weft_wg_go(&wg, writes_all, sv[0]) > 0);
	await_waiting(WF_WAIT_FD_WRITE, 1);
	EXPECT_EQ(weft_sendto(sv[0], "x", 1, MSG_DONTWAIT, NULL, 0), -EAGAIN);
	EXPECT(weft_wg_go(&wg, takes_all, sv[1]) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_sendto(sv[0], "x", 1, MSG_DONTWAIT, NULL, 0), 1);
	EXPECT_EQ(weft_close_fd(sv[0]), 0);
	return weft_close_fd(sv[1]);
}

TEST(a_send_that_does_not_wait_is_not_mixed_with_a_write)
{
	EXPECT_EQ(weft_run(main_turns), 0);
}

/* The end by a reset is no end. */
static int
main_reset(void)
{
	struct linger at_once = {.l_onoff = 1};
	int l = weft_listen("tcp", "127.0.0.1:0"), a, b;
	char name[64], buf[100];

	EXPECT(weft_local_addr(l, name, sizeof(name)) >= 0);
	a = weft_dial("tcp", name);
	b = weft_accept(l);
	EXPECT(a >= 0 && b >= 0);
	EXPECT_EQ(weft_write(b, buf, 50), 50);
	EXPECT_EQ(weft_recvfrom(a, buf, 50, MSG_PEEK | MSG_WAITALL, NULL, NULL), 50);
	EXPECT_EQ(setsockopt(b, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	EXPECT_EQ(weft_close_fd(b), 0);
	EXPECT_EQ(weft_recvfrom(a, buf, 100, MSG_WAITALL, NULL, NULL), -ECONNRESET);
	EXPECT_EQ(weft_close_fd(a), 0);
	return weft_close_fd(l);
}

TEST(a_reset_is_not_taken_for_the_end)
{
	EXPECT_EQ(weft_run(main_reset), 0);
}

static int
main_sendto_stream(void)
{
	struct weft_wg wg = {0};
	int sv[2];
	ssize_t n;

	for (int i = 0; i < MUCH; i++)
		much[i] = (char)(i * 31 + i / 255);
	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	n = weft_sendto(sv[0], much, MUCH, MSG_DONTWAIT, NULL, 0);
	EXPECT(n > 0 && n < MUCH);
	EXPECT_EQ(weft_sendto(sv[0], much, MUCH, MSG_DONTWAIT, NULL, 0), -EAGAIN);
	EXPECT(weft_wg_go(&wg, takes_all, sv[1]) > 0);
	EXPECT_EQ(weft_sendto(sv[0], much + n, MUCH - (size_t)n, 0, NULL, 0), MUCH - n);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_close_fd(sv[0]), 0);
	return weft_close_fd(sv[1]);
}

TEST(sendto_sends_all_to_a_stream)
{
	EXPECT_EQ(weft_run(main_sendto_stream), 0);
}
