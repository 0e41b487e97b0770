/* SPDX-License-Identifier: MIT */
/* conns.h: what the tests of very many connections share: an echo, and what it may leave behind. */
#ifndef WEFT_TEST_CONNS_H
#define WEFT_TEST_CONNS_H

#include "integ/nethelp.h"

#include "sched/sched.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ---- both ends of an echo */

static int open_now, served;

struct serve {
	int fd;
};

static int
serve(struct serve *a)
{
	char buf[256];
	ssize_t n = 1;

	add(&open_now, 1);
	while (n > 0) {
		weft_timeout(60 * WEFT_SEC) /* a deadline for each: timers must not pile up */
			n = weft_read(a->fd, buf, sizeof(buf));
		if (n > 0) {
			EXPECT_EQ(weft_write(a->fd, buf, (size_t)n), n);
			add(&served, 1);
		}
	}
	EXPECT(n == 0 || n == -ECONNRESET);
	EXPECT_EQ(weft_close_fd(a->fd), 0);
	add(&open_now, -1);
	return 0;
}

__attribute__((unused)) static void
echo_once(int fd, int v)
{
	int got = -1;

	EXPECT_EQ(weft_write(fd, &v, sizeof(v)), sizeof(v));
	EXPECT_EQ(weft_read_full(fd, &got, sizeof(got)), sizeof(got));
	EXPECT_EQ(got, v);
}

/* ---- limits, and a listener before there is a runtime */

__attribute__((unused)) static void
allow_descriptors(rlim_t n)
{
	struct rlimit r;
	char why[128];

	getrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_cur >= n)
		return;
	if (r.rlim_max < n)
		r.rlim_max = n; /* root may */
	r.rlim_cur = n;
	if (setrlimit(RLIMIT_NOFILE, &r) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &r);
	snprintf(why, sizeof(why), "%lld descriptors are needed, %lld are allowed: ulimit -Hn",
		 (long long)n, (long long)r.rlim_max);
	SKIP(why);
}

__attribute__((unused)) static int
plain_listener(int *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int ln = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	EXPECT(ln >= 0);
	EXPECT_EQ(bind(ln, (struct sockaddr *)&sa, sizeof(sa)), 0); /* any address of this host */
	EXPECT_EQ(listen(ln, 4096), 0);
	EXPECT_EQ(getsockname(ln, (struct sockaddr *)&sa, &len), 0);
	*port = ntohs(sa.sin_port);
	return ln;
}

/* ---- what is in use */

struct usage {
	int sockets, watched;
	long pages;
	uint64_t stacks;
	uint32_t timers; /* entries of all heaps, the dead ones too */
	uint32_t gs;     /* that were ever used */
};

static void
count_g(struct wf_g *g, void *n)
{
	(void)g;
	++*(uint32_t *)n;
}

__attribute__((unused, no_sanitize("thread"))) static struct usage
usage(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	struct usage u = {.sockets = count_sockets(), .watched = count_watched()};

	EXPECT_EQ(weft_stats(&s), 0);
	u.stacks = s.stacks_in_use;
	for (uint32_t i = 0; i < wf_sched.np_made; i++)
		u.timers += wf_sched.allp[i]->timers.n;
	wf_gpool_each(count_g, &u.gs);
	u.pages = resident_pages();
	return u;
}

/* The second is no more than the first, that had as many goroutines. */
__attribute__((unused)) static void
expect_no_more(const struct usage *a, const struct usage *b, int goroutines)
{
	EXPECT_EQ(b->sockets, a->sockets);
	EXPECT_EQ(b->watched, a->watched);
	EXPECT(b->stacks <= a->stacks + 64);
	/* One entry for each G, and a quarter may be dead. Each P keeps a few Gs. */
	EXPECT(b->timers <= b->gs + b->gs / 2 + 64);
	EXPECT(b->gs <= (uint32_t)goroutines + (wf_sched.np_made + 8) * 3 * WF_MAGAZINE);
#if !defined(WF_ASAN) && !defined(WF_TSAN)
	EXPECT(b->pages <= a->pages + a->pages / 20 + 256);
#endif
}

/* ---- one after another */

struct churner {
	int port, n, from;
};

static int
churner(struct churner *a)
{
	for (int i = 0; i < a->n; i++) {
		char addr[64];
		int fd;

		snprintf(addr, sizeof(addr), "127.0.0.%d:%d", 1 + (a->from + i) % 100, a->port);
		fd = weft_dial("tcp", addr);
		EXPECT(fd >= 0);
		echo_once(fd, i);
		if (i % 16)
			close_by_reset(fd);
		else
			EXPECT_EQ(weft_close_fd(fd), 0);
	}
	return 0;
}

ACCEPTS(serve)

struct churn {
	int n;
};

/* n connections by eight clients; what is in use after an eighth of them is in use after all. */
__attribute__((unused)) static int
churn(struct churn *a)
{
	enum { CLIENTS = 8, ROUNDS = 8 };
	int port, ln = plain_listener(&port), rc = 0, each = a->n / CLIENTS / ROUNDS + 1;
	struct usage before = {0}, after = {0};

	EXPECT_EQ(weft_adopt_fd(ln), ln);
	EXPECT(weft_go(accepts, ln) > 0);
	for (int round = 0; round < ROUNDS; round++) {
		weft_group(g, &rc)
			for (int i = 0; i < CLIENTS; i++)
				EXPECT(weft_go_in(g, churner, port, each, i * 7 + round) > 0);
		EXPECT_EQ(rc, 0);
		while (weft_count() > 2)
			weft_yield();
		after = usage();
		if (round == 0)
			before = after;
	}
	expect_no_more(&before, &after, CLIENTS * 4);
	EXPECT_EQ(load(&served), each * CLIENTS * ROUNDS);
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_alone();
	expect_no_waiters();
	return 0;
}

#endif
