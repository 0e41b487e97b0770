/* SPDX-License-Identifier: MIT */
/* t_netns.c: a network of the test's own, in which packets are lost, dropped, delayed and answered with
   a reset: by nft and tc, in a new namespace with nothing but a loopback. Skipped where that is not
   allowed. */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* This process, and all threads it will have, moves to a new network. Call it before weft_run. */
static void
new_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		SKIP("a network namespace is not allowed here (it needs root)");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	EXPECT(fd >= 0);
	EXPECT_EQ(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

/* A tool of the system; false: it cannot do that here. */
static bool
tool(const char *command)
{
	char all[640];

	snprintf(all, sizeof(all), "PATH=$PATH:/usr/sbin:/sbin; %s 2>/dev/null", command);
	return system(all) == 0;
}

/* A rule for what arrives. */
static void
rule(const char *text)
{
	char all[512];

	snprintf(all, sizeof(all), "nft 'add rule inet weft in %s'", text);
	if (!tool("nft 'add table inet weft; "
		  "add chain inet weft in { type filter hook input priority 0; }'") ||
	    !tool(all))
		SKIP("no nft here, or its kernel side lacks the rule (package nftables)");
}

static void
no_rules(void)
{
	EXPECT(tool("nft flush ruleset"));
}

/* ---- loss: the echo goes on, and every byte is right */

struct echoes {
	int fd;
};

static int
echoes(struct echoes *a)
{
	weft_autofd int fd = a->fd;
	char buf[4096];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof(buf))) > 0)
		EXPECT_EQ(weft_write(fd, buf, (size_t)n), n);
	EXPECT_EQ(n, 0);
	return 0;
}

struct sends_checked {
	int fd, n;
	uint64_t seed;
};

static int
sends_checked(struct sends_checked *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < a->n; i++) {
		uint64_t v = test_rand(&seed);

		EXPECT_EQ(weft_write(a->fd, &v, sizeof(v)), sizeof(v));
	}
	EXPECT_EQ(shutdown(a->fd, SHUT_WR), 0);
	return 0;
}

struct asks_checked {
	const char *addr;
	int n;
	uint64_t seed;
	int *done;
};

static int
asks_checked(struct asks_checked *a)
{
	weft_autofd int fd = weft_dial("tcp", a->addr); /* that may take its time as well */
	uint64_t seed = a->seed, v;

	EXPECT(fd >= 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, sends_checked, fd, a->n, a->seed) > 0);
		for (int i = 0; i < a->n; i++) {
			EXPECT_EQ(weft_read_full(fd, &v, sizeof(v)), sizeof(v));
			EXPECT_EQ(v, test_rand(&seed));
		}
		EXPECT_EQ(weft_read(fd, &v, 1), 0);
	}
	add(a->done, 1);
	return 0;
}

struct accepts {
	int ln, n;
};

static int
accepts(struct accepts *a)
{
	for (int i = 0; i < a->n; i++) {
		int fd = weft_accept(a->ln);

		EXPECT(fd >= 0);
		EXPECT(weft_go(echoes, fd) > 0);
	}
	return 0;
}

struct through_loss {
	int conns, n;
};

static int
through_loss(struct through_loss *a)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), rc = 0, done = 0;
	uint64_t seed = test_seed();

	EXPECT(weft_go(accepts, ln, a->conns) > 0);
	weft_timeout(50 * WEFT_SEC)
		weft_group(g, &rc)
			for (int i = 0; i < a->conns; i++)
				EXPECT(weft_go_in(g, asks_checked, addr, a->n, test_rand(&seed),
						  &done) > 0);
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(done, a->conns);
	expect_alone();
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(an_echo_goes_on_through_loss)
{
	new_network();
	rule("meta l4proto tcp numgen random mod 100 < 4 counter drop");
	EXPECT_EQ(weft_run(through_loss, 8, 400), 0);
	EXPECT(tool("nft list ruleset | grep -q 'counter packets [1-9]'")); /* some were lost */
}

TEST(an_echo_goes_on_through_loss_and_delay)
{
	new_network();
	if (!tool("tc qdisc add dev lo root netem delay 3ms 2ms loss 2% duplicate 2% reorder 10%"))
		SKIP("no tc here, or no netem in this kernel (package iproute2)");
	EXPECT_EQ(weft_run(through_loss, 8, 200), 0);
}

/* ---- a reset made on the way */

static char port[16];

static void
pair_with_port(int fds[2])
{
	char addr[64];

	tcp_pair(fds);
	EXPECT(weft_local_addr(fds[0], addr, sizeof(addr)) > 0);
	snprintf(port, sizeof(port), "%s", strrchr(addr, ':') + 1);
}

static int
main_reset(void)
{
	int fds[2], r = 1, w = 1;
	char text[128], c;

	for (int blocked = 0; blocked < 2; blocked++) {
		pair_with_port(fds);
		if (blocked) {
			r = w = 1;
			EXPECT(weft_go(read_or_write, fds[1], false, &r) > 0);
			await_waiting(WF_WAIT_FD_READ, 1);
		}
		/* whatever goes to the server is answered by a reset that the server knows not of */
		snprintf(text, sizeof(text), "tcp dport %s reject with tcp reset", port);
		weft_blocking rule(text);
		if (!blocked) {
			EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
			EXPECT_EQ(weft_read(fds[1], &c, 1), -ECONNRESET);
			EXPECT_EQ(weft_write(fds[1], "x", 1), -EPIPE);
		} else { /* one waits for data, another's data meet the reset */
			EXPECT(weft_go(read_or_write, fds[1], true, &w) > 0);
			while (load(&r) == 1 || load(&w) == 1)
				weft_yield();
			EXPECT(r == -ECONNRESET || (r == 0 && w == -ECONNRESET)); /* told once */
			EXPECT(w == -ECONNRESET || w == -EPIPE);
		}
		weft_timeout(5 * WEFT_MS) /* it has heard of nothing */
			EXPECT_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
		close_pair(fds);
		weft_blocking no_rules();
	}
	expect_no_waiters();
	return 0;
}

TEST(a_reset_on_the_way)
{
	new_network();
	EXPECT_EQ(weft_run(main_reset), 0);
}

/* ---- a dial that nobody answers, that is refused on the way, and that is lost at first */

static int
main_dials(void)
{
	char addr[64], text[128];
	int ln = listen_local(addr, sizeof(addr)), fd = 0, sockets = count_sockets();
	int64_t before;

	snprintf(port, sizeof(port), "%s", strrchr(addr, ':') + 1);
	snprintf(text, sizeof(text), "tcp dport %s drop", port);
	weft_blocking rule(text);
	before = weft_now();
	weft_timeout(30 * WEFT_MS)
		fd = weft_dial("tcp", addr);
	EXPECT_EQ(fd, -ETIMEDOUT);
	EXPECT(weft_now() - before >= 30 * WEFT_MS);
	weft_group(g, NULL) {
		weft_cancel(g);
		fd = weft_dial("tcp", addr);
	}
	EXPECT_EQ(fd, -ECANCELED);
	EXPECT_EQ(count_sockets(), sockets); /* what they began is closed */
	EXPECT_EQ(count_watched(), 2);
	weft_blocking no_rules();
	snprintf(text, sizeof(text), "tcp dport %s reject with tcp reset", port);
	weft_blocking rule(text);
	EXPECT_EQ(weft_dial("tcp", addr), -ECONNREFUSED);
	weft_blocking no_rules();
	weft_blocking rule("tcp flags syn numgen inc mod 2 0 drop");
	weft_timeout(20 * WEFT_SEC)
		fd = weft_dial("tcp", addr); /* by the second attempt */
	EXPECT(fd >= 0);
	EXPECT_EQ(weft_close_fd(fd), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(dials_that_are_lost)
{
	new_network();
	EXPECT_EQ(weft_run(main_dials), 0);
}

/* ---- the network goes away in the middle, and comes back: nothing is lost */

static int
main_gap(void)
{
	int fds[2], r = 1;
	char text[128];

	pair_with_port(fds);
	EXPECT(weft_go(read_or_write, fds[0], false, &r) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	snprintf(text, sizeof(text), "tcp dport %s drop", port);
	weft_blocking rule(text);
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	EXPECT_EQ(weft_sleep(20 * WEFT_MS), 0);
	EXPECT_EQ(load(&r), 1);
	weft_blocking no_rules();
	expect_alone();
	EXPECT_EQ(load(&r), 1); /* one byte */
	close_pair(fds);
	return 0;
}

TEST(the_network_goes_away_and_comes_back)
{
	new_network();
	EXPECT_EQ(weft_run(main_gap), 0);
}

/* ---- a dial to a port where nobody listens may be given that very port, and find itself */

static int
main_itself(void)
{
	int sockets = count_sockets();

	for (int i = 0; i < 10; i++)
		for (int k = 40000; k < 40002; k++) {
			char addr[64];
			int fd;

			snprintf(addr, sizeof(addr), "127.0.0.1:%d", k);
			fd = weft_dial("tcp", addr);
			EXPECT(fd == -ECONNREFUSED || fd == -EADDRNOTAVAIL);
			snprintf(addr, sizeof(addr), "[::1]:%d", k);
			fd = weft_dial("tcp", addr);
			EXPECT(fd < 0);
		}
	EXPECT_EQ(count_sockets(), sockets);
	return 0;
}

TEST(a_dial_does_not_find_itself)
{
	new_network();
	if (!tool("echo 40000 40001 >/proc/sys/net/ipv4/ip_local_port_range"))
		SKIP("the range of ports cannot be set");
	EXPECT_EQ(weft_run(main_itself), 0);
}
