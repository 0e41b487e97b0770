/* SPDX-License-Identifier: MIT */
/*
 * t_resolve.c: names are looked up while a deadline or a cancel may come. (RES-1)
 *
 * The C library's resolver is replaced by one that answers when the test says so: this program's
 * getaddrinfo comes before the library's.
 */
#include "integ/nethelp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

static int asked, released, given, freed;

/* slow.test: once it is released; fast.test: at once; no.test: there is none. */
int
getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
	struct sockaddr_in *a;
	struct in_addr number;
	bool numeric = inet_pton(AF_INET, host, &number) == 1;

	if (!numeric && (hints->ai_flags & AI_NUMERICHOST))
		return EAI_NONAME;
	if (!numeric) {
		add(&asked, 1);
		while (strcmp(host, "slow.test") == 0 && !load(&released))
			usleep(100);
		if (strcmp(host, "no.test") == 0)
			return EAI_NONAME;
		number.s_addr = htonl(INADDR_LOOPBACK);
	}
	*out = calloc(1, sizeof(**out) + sizeof(*a));
	a = (struct sockaddr_in *)(void *)(*out + 1);
	a->sin_family = AF_INET;
	a->sin_port = htons((uint16_t)atoi(port ? port : "0"));
	a->sin_addr = number;
	(*out)->ai_addr = (struct sockaddr *)a;
	(*out)->ai_addrlen = sizeof(*a);
	add(&given, 1);
	return 0;
}

void
freeaddrinfo(struct addrinfo *all)
{
	add(&freed, 1);
	free(all);
}

static void
addr_of(const char *host, const char *listener, char *out, size_t n)
{
	snprintf(out, n, "%s%s", host, strrchr(listener, ':'));
}

/* Who was asked answers at last; nobody wants to hear it, and nothing of it stays. */
static void
expect_thrown_away(int ln, int sockets)
{
	EXPECT_EQ(load(&asked), 1);
	EXPECT_EQ(load(&released), 0);
	EXPECT_EQ(weft_count(), 2); /* it goes on to ask */
	store(&released, 1);
	while (weft_count() > 1)
		weft_yield();
	EXPECT_EQ(load(&given), load(&freed));
	EXPECT_EQ(count_sockets(), sockets);
	weft_timeout(-1)
		EXPECT_EQ(weft_accept(ln), -ETIMEDOUT); /* nobody has called */
	EXPECT_EQ(weft_close_fd(ln), 0);
	expect_no_waiters();
}

static int
ends_at_its_deadline(void)
{
	char listener[64], addr[64];
	int ln = listen_local(listener, sizeof(listener)), sockets = count_sockets();

	addr_of("slow.test", listener, addr, sizeof(addr));
	weft_timeout(20 * 1000000)
		EXPECT_EQ(weft_dial("tcp", addr), -ETIMEDOUT);
	expect_thrown_away(ln, sockets);
	return 0;
}

TEST(a_lookup_ends_at_its_deadline)
{
	EXPECT_EQ(weft_run(ends_at_its_deadline), 0);
}

struct dials {
	const char *addr;
};

static int
dials(struct dials *a)
{
	EXPECT_EQ(weft_dial("tcp", a->addr), -ECANCELED);
	return 0;
}

static int
ends_when_cancelled(void)
{
	char listener[64], addr[64];
	int ln = listen_local(listener, sizeof(listener)), sockets = count_sockets();

	addr_of("slow.test", listener, addr, sizeof(addr));
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, dials, addr) > 0);
		while (!load(&asked))
			weft_yield();
		weft_cancel(g);
	}
	expect_thrown_away(ln, sockets);
	return 0;
}

TEST(a_lookup_ends_when_it_is_cancelled)
{
	EXPECT_EQ(weft_run(ends_when_cancelled), 0);
}

/* Also inside a scope the answer is used, and what the resolver says is what dial says. */
static int
in_time(void)
{
	char listener[64], addr[64];
	int ln = listen_local(listener, sizeof(listener)), fd = -1, peer;

	weft_timeout(60 * INT64_C(1000000000)) {
		addr_of("fast.test", listener, addr, sizeof(addr));
		fd = weft_dial("tcp", addr);
		EXPECT(fd >= 0);
		EXPECT_EQ(weft_dial("tcp", "no.test:80"), -ENOENT);
		EXPECT_EQ(load(&asked), 2);
		peer = weft_accept(ln);
		EXPECT(peer >= 0);
		EXPECT_EQ(weft_close_fd(peer), 0);
		EXPECT_EQ(weft_close_fd(fd), 0);
		fd = weft_dial("tcp", listener); /* a number: nobody is asked */
		EXPECT(fd >= 0);
		EXPECT_EQ(load(&asked), 2);
	}
	while (weft_count() > 1)
		weft_yield();
	EXPECT_EQ(load(&given), load(&freed));
	EXPECT_EQ(weft_close_fd(fd), 0);
	return weft_close_fd(ln);
}

TEST(an_answer_in_time_is_used)
{
	EXPECT_EQ(weft_run(in_time), 0);
}

/* Without a scope the caller itself asks, and with one P others run meanwhile. */
static int
releases(void)
{
	while (!load(&asked))
		weft_yield();
	store(&released, 1);
	return 0;
}

static int
without_a_scope(void)
{
	char listener[64], addr[64];
	int ln = listen_local(listener, sizeof(listener)), fd;

	addr_of("slow.test", listener, addr, sizeof(addr));
	EXPECT(weft_go(releases) > 0);
	fd = weft_dial("tcp", addr);
	EXPECT(fd >= 0);
	EXPECT_EQ(weft_close_fd(fd), 0);
	return weft_close_fd(ln);
}

TEST(a_lookup_without_a_scope_stalls_nobody)
{
	use_procs(1);
	EXPECT_EQ(weft_run(without_a_scope), 0);
}

/* The run ends while somebody asks: it does not wait for the answer. */
static int
ends_first(void)
{
	weft_timeout(1000000)
		EXPECT_EQ(weft_dial("tcp", "slow.test:80"), -ETIMEDOUT);
	return 3;
}

TEST(the_run_ends_while_a_name_is_looked_up)
{
	EXPECT_EQ(weft_run(ends_first), 3);
	EXPECT_EQ(load(&released), 0);
}
