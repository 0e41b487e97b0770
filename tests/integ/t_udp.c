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
