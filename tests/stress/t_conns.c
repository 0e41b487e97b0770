/* SPDX-License-Identifier: MIT */
/* t_conns.c: ten thousand connections at once, and very many one after another: nothing grows. */
#define _GNU_SOURCE 1
#include "stress/conns.h"

#include <netinet/in.h>

/* ---- all at once: the clients are another process, so that each needs half the descriptors */

static struct weft_barrier met;
static struct weft_sem dialling;

struct client {
	int i, port;
};

static int
client(struct client *a)
{
	char addr[64];
	int fd;

	/* several addresses: more ports; a few at a time: no SYN is dropped by a full line */
	snprintf(addr, sizeof(addr), "127.0.0.%d:%d", 1 + a->i % 8, a->port);
	EXPECT_EQ(weft_acquire(&dialling, 1), 0);
	fd = weft_dial("tcp", addr);
	weft_release(&dialling, 1);
	EXPECT(fd >= 0);
	for (int round = 0; round < 2; round++) {
		echo_once(fd, a->i * 2 + round);
		EXPECT(weft_barrier_wait(&met) >= 0); /* all are connected now */
	}
	if (a->i % 8)
		close_by_reset(fd); /* no port is kept from use by this */
	else
		EXPECT_EQ(weft_close_fd(fd), 0);
	return 0;
}

struct clients {
	int n, port;
};

static int
clients(struct clients *a)
{
	int rc = 0;

	EXPECT_EQ(weft_barrier_init(&met, a->n), 0);
	EXPECT_EQ(weft_sem_init(&dialling, 200), 0);
	weft_group(g, &rc)
		for (int i = 0; i < a->n; i++)
			EXPECT(weft_go_in(g, client, i, a->port) > 0);
	return rc;
}

static int peak;

/* n connections are accepted; all of them are open at once, and then none. */
static void
one_round(int ln, int n)
{
	store(&peak, 0);
	for (int i = 0; i < n; i++) {
		int fd = weft_accept(ln);

		EXPECT(fd >= 0);
		EXPECT(weft_go(serve, fd) > 0);
	}
	while (load(&open_now) > 0 || load(&served) < 2 * n) {
		if (load(&open_now) > peak)
			peak = load(&open_now);
		EXPECT_EQ(weft_sleep(WEFT_MS), 0);
	}
}

struct server {
	int ln, n, rounds;
};

static int
server(struct server *a)
{
	struct usage before = {0}, after;

	EXPECT_EQ(weft_adopt_fd(a->ln), a->ln);
	for (int round = 0; round < a->rounds; round++) {
		store(&served, 0);
		one_round(a->ln, a->n);
		EXPECT_EQ(peak, a->n);
		expect_alone();
		after = usage();
		if (round > 0)
			expect_no_more(&before, &after, a->n);
		before = after;
	}
	EXPECT_EQ(count_watched(), 2); /* the listener, and what breaks a wait */
	EXPECT_EQ(weft_close_fd(a->ln), 0);
	expect_no_waiters();
	return 0;
}

static pid_t
start_clients(int n, int port, int rounds)
{
	pid_t pid = fork();
	int rc = 0;

	if (pid != 0)
		return pid;
	for (int i = 0; i < rounds && rc == 0; i++)
		rc = weft_run(clients, n, port);
	_exit(rc == 0 ? 0 : 1);
}

TEST(ten_thousand_connections)
{
	enum { ROUNDS = 2 };
	int n = scaled(10000), port, ln, status;
	pid_t pid;

	n = n > 10000 ? 10000 : n;
	allow_descriptors((rlim_t)n + 200);
	ln = plain_listener(&port);
	pid = start_clients(n, port, ROUNDS);
	EXPECT(pid > 0);
	EXPECT_EQ(weft_run(server, ln, n, ROUNDS), 0);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* ---- one after another */

TEST(twenty_thousand_connections_leave_nothing)
{
	EXPECT_EQ(weft_run(churn, scaled(20000)), 0);
}
