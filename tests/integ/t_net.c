/* SPDX-License-Identifier: MIT */
/* t_net.c: TCP: listen, dial, accept, addresses, and when a read may wait without asking.
   fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ---- an echo */

struct serves {
	int fd;
};

static int
serves(struct serves *a)
{
	weft_autofd int fd = a->fd;
	char buf[512];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof(buf))) > 0)
		EXPECT_EQ(weft_write(fd, buf, (size_t)n), n);
	return 0;
}

ACCEPTS(serves)

struct asks {
	const char *addr;
	int rounds;
};

static int
asks(struct asks *a)
{
	weft_autofd int fd = weft_dial("tcp", a->addr);

	EXPECT(fd >= 0);
	for (int i = 0; i < a->rounds; i++) {
		char out[64], in[64];
		int n = snprintf(out, sizeof(out), "this is %d from %lld", i, (long long)weft_id());

		EXPECT_EQ(weft_write(fd, out, (size_t)n), n);
		EXPECT_EQ(weft_read_full(fd, in, (size_t)n), n);
		EXPECT(memcmp(in, out, (size_t)n) == 0);
	}
	return 0;
}

struct echo_run {
	int conns, rounds;
};

static int
echo_run(struct echo_run *a)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), rc = 0;

	EXPECT(weft_go(accepts, ln) > 0);
	weft_group(g, &rc)
		for (int i = 0; i < a->conns; i++)
			EXPECT(weft_go_in(g, asks, addr, a->rounds) > 0);
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_alone();
	expect_no_waiters();
	return 0;
}

TEST(echo_of_a_few)
{
	EXPECT_EQ(weft_run(echo_run, 4, scaled(500)), 0);
}

static void
allow_descriptors(rlim_t n)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_max != RLIM_INFINITY && r.rlim_max < n)
		SKIP("too few descriptors are allowed");
	r.rlim_cur = n;
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

TEST(echo_of_a_thousand)
{
	allow_descriptors(4096);
	EXPECT_EQ(weft_run(echo_run, 1000, 4), 0);
}

/* ---- the system calls of an echo: the short read is not followed by one in vain. IO-1 */

static int
main_calls(void)
{
	struct wf_fd *f;
	int fds[2];
	char buf[64];

	tcp_pair(fds);
	f = wf_fd_of(fds[0]);
	EXPECT_EQ(weft_write(fds[1], "one", 3), 3);
	EXPECT_EQ(weft_wait_fd(fds[0], POLLIN), POLLIN);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 3);
	EXPECT(f->drained);
	EXPECT_EQ(f->drained_at, at_load_acq(&f->count[WF_READ]));
	EXPECT_EQ(weft_write(fds[1], "four", 4), 4);
	EXPECT_EQ(weft_read(fds[0], buf, 4), 4);
	EXPECT(!f->drained); /* it was full: there may be more */
	close_pair(fds);
	return 0;
}

TEST(a_short_read_empties_a_socket)
{
	EXPECT_EQ(weft_run(main_calls), 0);
}

/* ---- the cases in which it does not: each would hang. IO-1 */

/* Data and the end in one report. */
static int
main_data_and_end(void)
{
	for (int i = 0; i < 50; i++) {
		int fds[2];
		char buf[64];

		tcp_pair(fds);
		EXPECT_EQ(weft_write(fds[1], "last", 4), 4);
		EXPECT_EQ(shutdown(fds[1], SHUT_WR), 0);
		weft_timeout(5 * WEFT_SEC) {
			EXPECT_EQ(weft_wait_fd(fds[0], POLLIN) & POLLIN, POLLIN);
			EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 4);
			EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 0);
			EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 0);
		}
		close_pair(fds);
	}
	return 0;
}

TEST(data_and_end_in_one_report)
{
	EXPECT_EQ(weft_run(main_data_and_end), 0);
}

/* A read stops before urgent data; what comes after it is there already. */
static int
main_urgent(void)
{
	int fds[2];
	char buf[64];
	ssize_t got = 0, n;

	tcp_pair(fds);
	EXPECT_EQ(send(fds[1], "before", 6, 0), 6);
	EXPECT_EQ(send(fds[1], "!", 1, MSG_OOB), 1);
	EXPECT_EQ(send(fds[1], "after", 5, 0), 5);
	EXPECT_EQ(weft_sleep(5 * WEFT_MS), 0);
	weft_timeout(5 * WEFT_SEC)
		while (got < 11) {
			n = weft_read(fds[0], buf, sizeof(buf));
			EXPECT(n > 0);
			got += n;
		}
	EXPECT_EQ(got, 11);
	close_pair(fds);
	return 0;
}

TEST(a_read_stops_at_urgent_data)
{
	EXPECT_EQ(weft_run(main_urgent), 0);
}

/* A socket that others have made may be of any kind. */
static int
main_adopted(void)
{
	int fds[2];
	char buf[64];

	tcp_pair(fds);
	EXPECT(wf_fd_of(fds[0])->kind != wf_fd_of(fds[1])->kind ||
	       !wf_fd_of(fds[0])->drained); /* both plain */
	EXPECT_EQ(weft_adopt_fd(fds[0]), fds[0]);
	EXPECT_EQ(weft_write(fds[1], "abc", 3), 3);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 3);
	EXPECT(!wf_fd_of(fds[0])->drained);
	close_pair(fds);
	return 0;
}

TEST(an_adopted_socket_is_asked_each_time)
{
	EXPECT_EQ(weft_run(main_adopted), 0);
}

/* TLS in the kernel: a read ends with its record, and the next one may be there. */
static int
main_upper(void)
{
	int fds[2], rc;
	char buf[64];

	tcp_pair(fds);
	rc = setsockopt(fds[0], IPPROTO_TCP, 31 /* TCP_ULP */, "tls", 3);
	if (rc < 0)
		SKIP("no TLS in this kernel");
	EXPECT_EQ(weft_write(fds[1], "abc", 3), 3);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 3);
	EXPECT(!wf_fd_of(fds[0])->drained);
	close_pair(fds);
	return 0;
}

TEST(a_socket_with_a_protocol_on_top_is_asked_each_time)
{
	EXPECT_EQ(weft_run(main_upper), 0);
}

/* ---- addresses */

TEST(addresses_that_make_no_sense_are_told)
{
	static const struct {
		const char *net, *addr, *why;
	} bad[] = {
	    {"tpc", "127.0.0.1:80", "unknown network"},
	    {NULL, "127.0.0.1:80", "unknown network"},
	    {"tcp", "", "empty"},
	    {"tcp", NULL, "empty"},
	    {"tcp", "localhost", "port is missing"},
	    {"tcp", "localhost:", "port is missing"},
	    {"tcp", "host:70000", "above 65535"},
	    {"tcp", "host:99999999999999999999", "above 65535"},
	    {"tcp", "host:8o", "neither a number"},
	    {"tcp", "host:-1", "below 0"},
	    {"tcp", "host:-1:2", "colons"},
	    {"tcp", "::1:80", "brackets"},
	    {"tcp", "[::1:80", "not closed"},
	    {"tcp", "[::1]", "colon and the port"},
	    {"tcp", "[]:80", "empty"},
	    {"tcp", "a b:80", "character"},
	    {"unix", "", "empty"},
	};
	static const char *const good[] = {"127.0.0.1:0", "[::1]:80",  ":80",
					   "[::1]:http",  "host:http", "example.com:443"};
	char longer[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = weft_addr_error(bad[i].net, bad[i].addr);

		EXPECT(why != NULL);
		EXPECT_HAS(why, bad[i].why);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		EXPECT(weft_addr_error("tcp", good[i]) == NULL);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	EXPECT_HAS(weft_addr_error("unix", longer), "too long");
	strcpy(longer + 390, ":80");
	EXPECT_HAS(weft_addr_error("tcp", longer), "too long");
}

static int
main_addresses(void)
{
	char buf[64], small[4];
	int fd;

	EXPECT_EQ(weft_dial("tcp", "host:70000"), -EINVAL);
	EXPECT_EQ(weft_listen("udp7", ":0"), -EINVAL);
	EXPECT_EQ(weft_listen("tcp", NULL), -EINVAL);
	EXPECT_EQ(weft_dial("tcp", "no-such-host.invalid:80") < 0, true);
	fd = weft_listen("tcp4", ":0");
	EXPECT(fd >= 0);
	EXPECT(weft_local_addr(fd, buf, sizeof(buf)) > 0);
	EXPECT_HAS(buf, "0.0.0.0:");
	EXPECT_EQ(weft_local_addr(fd, small, sizeof(small)), -ERANGE);
	EXPECT_EQ(weft_peer_addr(fd, buf, sizeof(buf)), -ENOTCONN);
	EXPECT_EQ(weft_close_fd(fd), 0);
	EXPECT_EQ(weft_local_addr(fd, buf, sizeof(buf)), -EBADF);
	fd = weft_listen("tcp6", "[::1]:0");
	if (fd >= 0) {
		EXPECT(weft_local_addr(fd, buf, sizeof(buf)) > 0);
		EXPECT_HAS(buf, "[::1]:");
		EXPECT_EQ(weft_close_fd(fd), 0);
	}
	return 0;
}

TEST(addresses_as_text)
{
	EXPECT_EQ(weft_run(main_addresses), 0);
}

/* One socket for IPv4 and IPv6; a name; a service. */
static int
main_dual(void)
{
	char local[64], addr[64];
	int ln = weft_listen("tcp", ":0"), a, b;

	EXPECT(ln >= 0);
	EXPECT(weft_local_addr(ln, local, sizeof(local)) > 0);
	snprintf(addr, sizeof(addr), "127.0.0.1%s", strrchr(local, ':'));
	a = weft_dial("tcp", addr);
	EXPECT(a >= 0);
	EXPECT_EQ(weft_close_fd(a), 0);
	snprintf(addr, sizeof(addr), "localhost%s", strrchr(local, ':'));
	b = weft_dial("tcp", addr);
	EXPECT(b >= 0);
	EXPECT_EQ(weft_close_fd(b), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	return 0;
}

TEST(one_listener_for_both_families)
{
	EXPECT_EQ(weft_run(main_dual), 0);
}

static int
main_ports(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), two, a, b;

	EXPECT_EQ(weft_listen("tcp", addr), -EADDRINUSE);
	EXPECT_EQ(weft_close_fd(ln), 0);
	EXPECT_EQ(weft_dial("tcp", addr), -ECONNREFUSED);
	EXPECT_EQ(weft_dial("tcp", "127.0.0.1:-1"), -EINVAL);
	EXPECT_EQ(weft_dial("tcp", "127.0.0.1:nosuchservice"),
		  -ENOENT); /* nobody can tell before */
	a = weft_listen_with("tcp", addr, 16, WEFT_REUSEPORT);
	EXPECT(a >= 0);
	b = weft_listen_with("tcp", addr, 16, WEFT_REUSEPORT);
	EXPECT(b >= 0);
	EXPECT_EQ(weft_listen_with("tcp", addr, -1, 0), -EINVAL);
	EXPECT_EQ(weft_close_fd(a), 0);
	EXPECT_EQ(weft_close_fd(b), 0);
	two = weft_listen("tcp", addr); /* close has closed it when it returns */
	EXPECT(two >= 0);
	EXPECT_EQ(weft_close_fd(two), 0);
	return 0;
}

TEST(ports_in_use_and_free_again)
{
	EXPECT_EQ(weft_run(main_ports), 0);
}

/* ---- deadlines */

static int
main_deadlines(void)
{
	char addr[64], buf[8];
	int ln = listen_local(addr, sizeof(addr)), fds[2];

	weft_timeout(2 * WEFT_MS)
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT);
	tcp_pair(fds);
	weft_timeout(2 * WEFT_MS)
		EXPECT_EQ(weft_read(fds[0], buf, 8), -ETIMEDOUT);
	EXPECT_EQ(weft_write(fds[1], "late", 4), 4);
	EXPECT_EQ(weft_read(fds[0], buf, 8), 4);
	close_pair(fds);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(deadlines_of_sockets)
{
	EXPECT_EQ(weft_run(main_deadlines), 0);
}

/* A peer that never accepts: the line is full, and a dial waits. */
static int
main_dial_deadline(void)
{
	int ln = weft_listen_with("tcp", "127.0.0.1:0", 1, 0), fds[64], n = 0;
	char addr[64];

	EXPECT(weft_local_addr(ln, addr, sizeof(addr)) > 0);
	weft_timeout(50 * WEFT_MS)
		while (n < 64 && (fds[n] = weft_dial("tcp", addr)) >= 0)
			n++;
	EXPECT(n < 64);
	EXPECT_EQ(fds[n], -ETIMEDOUT);
	while (n-- > 0)
		EXPECT_EQ(weft_close_fd(fds[n]), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
	return 0;
}

TEST(a_dial_ends_with_its_deadline)
{
	EXPECT_EQ(weft_run(main_dial_deadline), 0);
}

/* ---- the peer resets: in each state */

static int
main_reset(void)
{
	int fds[2], r = 1, w = 1;
	char c;

	tcp_pair(fds); /* before it is asked */
	close_by_reset(fds[1]);
	EXPECT_EQ(weft_read(fds[0], &c, 1), -ECONNRESET);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 0);
	EXPECT_EQ(weft_write(fds[0], &c, 1), -EPIPE);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	tcp_pair(fds); /* while one reads and one writes */
	EXPECT(weft_go(read_or_write, fds[0], false, &r) > 0);
	EXPECT(weft_go(read_or_write, fds[0], true, &w) > 0);
	await_waiting(WF_WAIT_FD_READ, 1);
	await_waiting(WF_WAIT_FD_WRITE, 1);
	close_by_reset(fds[1]);
	while (load(&r) == 1 || load(&w) == 1)
		weft_yield();
	EXPECT(r == -ECONNRESET || w == -ECONNRESET); /* the kernel tells it once */
	EXPECT(r == -ECONNRESET || r == 0);
	EXPECT(w == -ECONNRESET || w == -EPIPE);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	tcp_pair(fds); /* with data that nobody has read */
	EXPECT_EQ(weft_write(fds[0], "unread", 6), 6);
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	close_by_reset(fds[1]);
	EXPECT_EQ(weft_read(fds[0], &c, 1), -ECONNRESET);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	expect_no_waiters();
	return 0;
}

TEST(a_peer_resets_in_each_state)
{
	EXPECT_EQ(weft_run(main_reset), 0);
}

/* Before it was accepted. */
static int
main_reset_early(void)
{
	char addr[64], c;
	int ln = listen_local(addr, sizeof(addr)), fd;

	close_by_reset(weft_dial("tcp", addr));
	fd = weft_accept(ln);
	EXPECT(fd >= 0);
	EXPECT_EQ(weft_read(fd, &c, 1), -ECONNRESET);
	EXPECT_EQ(weft_close_fd(fd), 0);
	EXPECT_EQ(weft_close_fd(ln), 0);
	return 0;
}

TEST(a_peer_resets_before_it_is_accepted)
{
	EXPECT_EQ(weft_run(main_reset_early), 0);
}

/* ---- no descriptor left */

static int
main_shortage(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), fds[256], n = 0, a, b;

	a = weft_dial("tcp", addr);
	EXPECT(a >= 0);
	while ((fds[n] = dup(0)) >= 0 && n < 255)
		n++;
	EXPECT_EQ(weft_accept(ln), -EMFILE);
	EXPECT_EQ(weft_dial("tcp", addr), -EMFILE);
	EXPECT_EQ(close(fds[--n]), 0);
	b = weft_accept(ln); /* it is still there */
	EXPECT(b >= 0);
	EXPECT_EQ(weft_close_fd(a), 0);
	EXPECT_EQ(weft_close_fd(b), 0);
	while (n-- > 0)
		EXPECT_EQ(close(fds[n]), 0);
	return 0;
}

TEST(no_descriptor_left)
{
	struct rlimit r = {64, 64};

	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
	EXPECT_EQ(weft_run(main_shortage), 0);
}

/* Who tries again after a shortage does not spin, and hears of the end of its scope. */
struct tries_again {
	int ln;
	int *n, *rc;
};

static int
tries_again(struct tries_again *a)
{
	int64_t begin = weft_now();
	int rc;

	while ((rc = weft_accept(a->ln)) == -EMFILE)
		EXPECT(weft_now() - begin >= add(a->n, 1) * WEFT_MS);
	store(a->rc, rc);
	return 0;
}

static int
main_shortage_ends(void)
{
	char addr[64];
	int ln = listen_local(addr, sizeof(addr)), n = 0, rc = 0, late = 0, spare[64];
	int spares = 0;

	EXPECT(weft_dial("tcp", addr) >= 0);
	while (spares < 64 && (spare[spares] = dup(0)) >= 0)
		spares++;
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, tries_again, ln, &n, &rc) > 0);
		while (load(&n) < 3)
			EXPECT_EQ(weft_sleep(WEFT_MS), 0);
		weft_cancel(g);
	}
	EXPECT_EQ(rc, -ECANCELED);
	weft_timeout(5 * WEFT_MS)
		while ((rc = weft_accept(ln)) == -EMFILE)
			late++;
	EXPECT_EQ(rc, -ETIMEDOUT);
	EXPECT(late < 10);
	while (spares-- > 0)
		EXPECT_EQ(close(spare[spares]), 0);
	return 0;
}

TEST(a_shortage_in_a_scope_that_ends)
{
	struct rlimit r = {64, 64};

	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
	EXPECT_EQ(weft_run(main_shortage_ends), 0);
}

/* ---- a foreign listener and connection: blocking, and left so */

static int
main_foreign(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	int ln = socket(AF_INET, SOCK_STREAM, 0), fds[2];
	char addr[64], buf[16];

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EXPECT_EQ(bind(ln, (struct sockaddr *)&sa, sizeof(sa)), 0);
	EXPECT_EQ(listen(ln, 5), 0);
	EXPECT(weft_local_addr(ln, addr, sizeof(addr)) > 0);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT);
	fds[1] = weft_dial("tcp", addr);
	fds[0] = weft_accept(ln);
	EXPECT(fds[0] >= 0 && fds[1] >= 0);
	EXPECT_EQ(weft_write(fds[1], "hi", 2), 2);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 2);
	close_pair(fds);
	close(ln);
	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), -ETIMEDOUT);
	EXPECT_EQ(weft_write(fds[1], "yo", 2), 2);
	EXPECT_EQ(weft_read(fds[0], buf, sizeof(buf)), 2);
	close_pair(fds);
	return 0;
}

TEST(foreign_sockets)
{
	EXPECT_EQ(weft_run(main_foreign), 0);
}
