/* SPDX-License-Identifier: MIT */
/*
 * t_netfault.c: the calls of the poller and of sockets fail at their n-th use: whoever asked is told,
 * or it is tried again; no byte is lost, nothing stays open, and nobody waits for ever.
 */
#include "integ/nethelp.h"

#include <errno.h>
#include <signal.h>

enum { CLIENTS = 6, BYTES = 3000, GIVES_UP = 20 };

static int served, refused, shortages;
static bool for_ever;

/* What a shortage of descriptors or memory may say. */
static bool
is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS || rc == -ENOSPC;
}

static void
check(bool good, int status)
{
	if (!good)
		_exit(status);
}

/* ---- echo */

struct echo {
	int fd;
};

static int
echo(struct echo *a)
{
	char buf[512];
	ssize_t n;

	while ((n = weft_read(a->fd, buf, sizeof(buf))) > 0)
		if (weft_write(a->fd, buf, (size_t)n) != n)
			break;
	check(n == 0 || n == -ECANCELED || n == -ECONNRESET, 41);
	check(weft_close_fd(a->fd) == 0, 42);
	return 0;
}

struct serve {
	struct weft_group *g;
	int ln;
};

static int
serve(struct serve *a)
{
	int in_a_row = 0;

	for (;;) {
		int fd = weft_accept(a->ln);

		if (fd == -ECANCELED)
			return 0;
		check(fd >= 0 || is_shortage(fd), 43);
		if (fd >= 0) {
			in_a_row = 0;
			check(weft_go_in(a->g, echo, fd) > 0, 44);
			continue;
		}
		add(&shortages, 1);
		if (++in_a_row == GIVES_UP) { /* it is for ever: nobody need wait */
			check(for_ever, 45);
			weft_cancel(a->g);
		}
	}
}

/* What comes back is what was sent, if anything does. */
static bool
talk(int fd, int seed)
{
	unsigned char out[BYTES], in[BYTES];
	size_t got = 0;
	ssize_t n;

	for (int i = 0; i < BYTES; i++)
		out[i] = (unsigned char)(i * 7 + seed);
	n = weft_write(fd, out, sizeof(out));
	if (n != BYTES) {
		check(n < 0, 46); /* all or an error */
		return false;
	}
	while (got < BYTES && (n = weft_read(fd, in + got, BYTES - got)) > 0)
		got += (size_t)n;
	if (got < BYTES) /* it was accepted, and there was no room for it */
		return false;
	check(memcmp(in, out, BYTES) == 0, 47);
	return true;
}

struct client {
	const char *addr;
	int seed;
};

static int
client(struct client *a)
{
	int fd = weft_dial("tcp", a->addr);

	if (fd < 0) {
		check(is_shortage(fd) || fd == -ECANCELED, 48);
		add(&refused, 1);
		return 0;
	}
	add(talk(fd, a->seed) ? &served : &refused, 1);
	check(weft_close_fd(fd) == 0, 49);
	return 0;
}

/* ---- pipes, a foreign descriptor, and time beside it */

struct through {
	int fd;
};

static int
through(struct through *a)
{
	static const char text[] = "through a pipe";

	check(weft_sleep(1000) == 0, 50);
	check(weft_write(a->fd, text, sizeof(text)) == sizeof(text), 51);
	check(weft_close_fd(a->fd) == 0, 52);
	return 0;
}

static void
read_pipe(void)
{
	char text[32];
	size_t got = 0;
	ssize_t n = 0;
	int p[2], rc = weft_pipe(p);

	if (rc < 0) {
		check(is_shortage(rc), 53);
		return;
	}
	check(weft_go(through, p[1]) > 0, 54);
	while (got < sizeof(text) && (n = weft_read(p[0], text + got, sizeof(text) - got)) > 0)
		got += (size_t)n;
	check(n == 0 && got == sizeof("through a pipe") && strcmp(text, "through a pipe") == 0, 55);
	check(weft_close_fd(p[0]) == 0, 56);
}

struct foreign {
	int fd;
};

static int
foreign(struct foreign *a)
{
	weft_sleep(1000);
	check(write(a->fd, "x", 1) == 1, 57);
	return 0;
}

static void
read_foreign(void)
{
	int p[2];
	ssize_t n;
	char c;

	check(pipe(p) == 0, 58);
	check(weft_go(foreign, p[1]) > 0, 59);
	do
		n = weft_read(p[0], &c, 1);
	while (n == -ENOMEM && !for_ever); /* it could not be watched: once */
	check(n == 1 || is_shortage((int)n), 60);
	while (weft_count() > 1)
		weft_yield();
	close(p[0]);
	close(p[1]);
}

/* ---- the program, with a fault and then without */

static void
clients(const char *addr, int ln)
{
	weft_group(g, NULL) {
		check(weft_go_in(g, serve, g, ln) > 0, 61);
		for (int i = 0; i < CLIENTS; i++)
			check(weft_go_in(g, client, addr, i) > 0, 62);
		while (load(&served) + load(&refused) < CLIENTS)
			weft_yield();
		weft_cancel(g);
	}
}

static int
program(void)
{
	char addr[64];
	int ln = weft_listen("tcp", "127.0.0.1:0"), before;

	if (ln < 0) {
		check(is_shortage(ln), 64);
		return 8;
	}
	check(weft_local_addr(ln, addr, sizeof(addr)) > 0, 65);
	before = count_sockets();
	clients(addr, ln);
	read_pipe();
	read_foreign();
	while (weft_count() > 1)
		weft_yield();
	check(load(&served) + load(&refused) == CLIENTS, 66);
	check(count_sockets() == before, 67);
	check(at_load_acq(&wf_poll.waiters) == 0, 68); /* POLL-4 */
	check(weft_close_fd(ln) == 0, 69);
	return 7;
}

static void
child(void)
{
	int rc = weft_run(program);

	check(rc == 7 || rc == 8, 70);
	unsetenv("WEFT_FAULT");
	for_ever = false;
	served = refused = shortages = 0;
	check(weft_run(program) == 7 && served == CLIENTS && shortages == 0, 71);
	_exit(0);
}

static void
survives(const char *name, int n, bool ever)
{
	static char out[65536];
	char order[64];
	int status;

	snprintf(order, sizeof(order), "%s:%d%s", name, n, ever ? "+" : "");
	setenv("WEFT_FAULT", order, 1);
	for_ever = ever;
	status = test_child(child, out, sizeof(out));
	unsetenv("WEFT_FAULT");
	if (status != 0)
		test_fail(__FILE__, __LINE__, "WEFT_FAULT=%s: %s %d\n%s", order,
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), out);
}

static void
try_each(const char *name, int most, bool ever)
{
	use_procs(2);
	for (int n = 1; n <= most; n++) {
		survives(name, n, false);
		if (ever)
			survives(name, n, true);
	}
}

TEST(without_faults_all_are_served)
{
	static char out[4096];

	EXPECT_EQ(test_child(child, out, sizeof(out)), 0);
}

TEST(the_poller_cannot_be_opened)
{
	try_each("epoll", 2, true);
	try_each("eventfd", 2, true);
}

TEST(a_descriptor_cannot_be_watched)
{
	try_each("epoll_ctl", 16, true);  /* ENOSPC */
	try_each("epoll_again", 2, true); /* ENOMEM, of a foreign one */
}

TEST(the_wait_for_events_is_interrupted)
{
	try_each("epoll_wait", 12, false);
}

TEST(a_call_is_interrupted)
{
	try_each("eintr", 24, false);
	try_each("connect_eintr", 3, true);
}

TEST(no_descriptors_are_left_to_accept)
{
	try_each("accept", 8, true);
	try_each("accept_files", 4, true);
}

TEST(a_connection_is_gone_before_it_is_accepted)
{
	try_each("accept_aborted", 8, false);
}

TEST(no_sockets_and_no_pipes_are_left)
{
	try_each("socket", 8, true);
	try_each("pipe", 2, true);
}

TEST(writes_are_short)
{
	try_each("short_write", 12, false);
	survives("short_write", 1, true); /* byte by byte */
}
