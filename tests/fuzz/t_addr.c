/* SPDX-License-Identifier: MIT */
/*
 * t_addr.c: random addresses (asan-too): what is taken apart is what was put together, and numeric
 * addresses are judged as getaddrinfo judges them.
 *
 * Environment: WEFT_FUZZ_ADDR  one address, to be tried alone; a failure prints it, and its seed
 */
#include "integ/helpers.h"

#include "wait/addr.h"

#include <netdb.h>
#include <time.h>

enum { LONGEST = 400 };

static int accepted, refused, numeric;

static int
below(uint64_t *r, int n)
{
	return (int)(test_rand(r) % (unsigned)n);
}

/* ---- addresses: mostly right ones, then a few changes */

static const char *
pick(uint64_t *r, const char *const *from, int n)
{
	return from[below(r, n)];
}
#define PICK(r, list) pick(r, list, (int)(sizeof(list) / sizeof(list[0])))

static void
make_v4(uint64_t *r, char *out, size_t n)
{
	static const char *const odd[] = {"1",         "127.1",     "0x7f.1", "1.2.3",
					  "256.1.1.1", "1.2.3.4.5", "08.1",   "0",
					  "",          "localhost", "*",      "4294967295"};

	if (below(r, 4) == 0)
		snprintf(out, n, "%s", PICK(r, odd));
	else
		snprintf(out, n, "%d.%d.%d.%d", below(r, 256), below(r, 256), below(r, 300),
			 below(r, 256));
}

static void
make_v6(uint64_t *r, char *out, size_t n)
{
	static const char *const known[] = {
	    "::",  "::1",     "fe80::1%lo",     "fe80::1%1", "2001:db8::",
	    ":::", "1::2::3", "::ffff:1.2.3.4", "12345::",   "::1%nosuch"};
	size_t at = 0;
	int words = 8;

	if (below(r, 3) == 0) {
		snprintf(out, n, "%s", PICK(r, known));
		return;
	}
	if (below(r, 8) == 0)
		words += below(r, 3) - 1;
	for (int i = 0; i < words; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%x", i ? ":" : "", below(r, 65536));
}

static void
make_port(uint64_t *r, char *out, size_t n)
{
	static const char *const odd[] = {"",
					  "http",
					  "65535",
					  "65536",
					  "00080",
					  "+80",
					  "-1",
					  " 80",
					  "80 ",
					  "0x50",
					  "8a",
					  "a_b",
					  "99999999999999999999",
					  "0",
					  "domain"};

	if (below(r, 3) == 0)
		snprintf(out, n, "%s", PICK(r, odd));
	else
		snprintf(out, n, "%d", below(r, 70000));
}

static void
change(uint64_t *r, char *s)
{
	static const char often[] = "[]:.%0 19afx-@/";
	size_t len = strlen(s), at = len ? (size_t)below(r, (int)len) : 0;
	char c = below(r, 8) ? often[below(r, sizeof(often) - 1)] : (char)(1 + below(r, 255));

	switch (below(r, 4)) {
	case 0: /* another character */
		if (len)
			s[at] = c;
		break;
	case 1: /* one more */
		if (len + 1 < LONGEST) {
			memmove(s + at + 1, s + at, len - at + 1);
			s[at] = c;
		}
		break;
	case 2: /* one less */
		if (len)
			memmove(s + at, s + at + 1, len - at);
		break;
	default: /* a part again and again */
		for (int k = below(r, 60); k > 0 && len > at && 2 * len - at < LONGEST; k--) {
			memmove(s + len, s + at, len - at);
			len += len - at;
			s[len] = '\0';
		}
	}
}

static void
make_address(uint64_t *r, char *out)
{
	char host[128], port[64];
	bool v6 = below(r, 2);

	(v6 ? make_v6 : make_v4)(r, host, sizeof(host));
	make_port(r, port, sizeof(port));
	if (v6 && below(r, 8))
		snprintf(out, LONGEST, "[%s]:%s", host, port);
	else
		snprintf(out, LONGEST, "%s:%s", host, port);
	for (int k = below(r, 2) ? 0 : below(r, 5); k > 0; k--)
		change(r, out);
}

/* ---- the reference */

static bool
is_port(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n < sizeof(((struct wf_hostport *)0)->port) &&
	       strspn(s, "0123456789") == n && strtoul(s, NULL, 10) <= 65535;
}

/* Host and port, by the reading of RFC 3986: brackets around what has colons. False: neither. */
static bool
split(const char *addr, char *host, char *port)
{
	const char *end = addr[0] == '[' ? strchr(addr, ']') : strrchr(addr, ':');
	const char *begin = addr[0] == '[' ? addr + 1 : addr;

	if (!end || (addr[0] == '[' && end[1] != ':'))
		return false;
	snprintf(host, LONGEST, "%.*s", (int)(end - begin), begin);
	snprintf(port, LONGEST, "%s", addr[0] == '[' ? end + 2 : end + 1);
	return addr[0] == '[' || !strchr(host, ':');
}

/* getaddrinfo takes it for a number. The C library lets some spaces pass, and the kernel anything after
   a colon in the name of an interface ("%lo:[x"); weft neither spaces nor brackets. */
static struct addrinfo *
as_numbers(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *all = NULL;

	for (const char *c = host; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == '[' || *c == ']')
			return NULL;
	if (!*host || !is_port(port) || getaddrinfo(host, port, &hints, &all) != 0)
		return NULL;
	return all;
}

/* ---- the judgement */

__attribute__((noreturn)) static void
wrong(const char *addr, uint64_t seed, const char *what, const char *why)
{
	test_fail(__FILE__, __LINE__, "%s: \"%s\" (%s)\nseed 0x%llx", what, addr,
		  why ? why : "accepted", (unsigned long long)seed);
}

/* What was accepted is the address again, and has nothing that an address has not. */
static void
check_parts(const char *addr, uint64_t seed, const struct wf_hostport *hp)
{
	char again[2 * LONGEST];
	bool brackets = addr[0] == '[';

	snprintf(again, sizeof(again), brackets ? "[%s]:%s" : "%s:%s", hp->host, hp->port);
	if (strcmp(again, addr) != 0)
		wrong(addr, seed, "something was lost", again);
	if (strpbrk(hp->host, "[] \t\r\n") || (!brackets && strchr(hp->host, ':')))
		wrong(addr, seed, "a host that is none", hp->host);
	if (hp->port[0] >= '0' && hp->port[0] <= '9' && !is_port(hp->port))
		wrong(addr, seed, "a port that is none", hp->port);
	if (!hp->port[0])
		wrong(addr, seed, "no port", NULL);
}

static void
check_same(const char *addr, uint64_t seed, const struct wf_hostport *hp,
	   const struct addrinfo *reference)
{
	struct os_addr a[4];
	int n = os_resolve(hp->host, hp->port, OS_ANY_FAMILY, false, false, a, 4);

	if (n < 1 || a[0].len != reference->ai_addrlen ||
	    memcmp(&a[0].as, reference->ai_addr, a[0].len) != 0)
		wrong(addr, seed, "another address", NULL);
}

static void
try_address(const char *text, uint64_t seed)
{
	/* to the byte, so that what is read or written beside it is seen */
	char *addr = strdup(text);
	struct wf_hostport *hp = malloc(sizeof(*hp));
	char host[LONGEST + 1], port[LONGEST + 1];
	const char *why = wf_addr_parse(addr, hp), *public = weft_addr_error("tcp", addr);
	struct addrinfo *reference = split(text, host, port) ? as_numbers(host, port) : NULL;

	if (!why != !public)
		wrong(text, seed, "weft_addr_error says otherwise", public);
	if (why && !*why)
		wrong(text, seed, "refused without a word", why);
	if (!why)
		check_parts(text, seed, hp);
	if (reference && why)
		wrong(text, seed, "refused, and getaddrinfo takes it", why);
	if (reference) {
		check_same(text, seed, hp, reference);
		freeaddrinfo(reference);
		numeric++;
	}
	*(why ? &refused : &accepted) += 1;
	free(hp);
	free(addr);
}

/* A name of a network is one of the seven, to the letter. */
static void
try_net(uint64_t *r)
{
	static const char *const names[] = {"tcp",  "tcp4", "tcp6", "udp",
					    "udp4", "udp6", "unix", ""};
	char text[LONGEST] = "";
	struct wf_net n;
	bool known = false;

	snprintf(text, sizeof(text), "%s", PICK(r, names));
	if (below(r, 2))
		change(r, text);
	for (int i = 0; i < 7; i++)
		known |= strcmp(text, names[i]) == 0;
	EXPECT_EQ(wf_net_parse(text, &n) == NULL, known);
}

TEST(random_addresses_are_judged_as_getaddrinfo_does)
{
	const char *only = getenv("WEFT_FUZZ_ADDR");
	uint64_t r = test_seed();
	char text[LONGEST + 1];
	time_t end;

	if (only) {
		try_address(only, 0);
		return;
	}
	printf("seed 0x%llx\n", (unsigned long long)r);
	end = time(NULL) + (test_full() ? 30 : 2);
	do
		for (int i = 0; i < 1000; i++) {
			uint64_t seed = r;

			make_address(&r, text);
			try_address(text, seed);
			try_net(&r);
		}
	while (time(NULL) <= end);
	printf("%d accepted, %d refused, %d numeric\n", accepted, refused, numeric);
	EXPECT(accepted > 100 && refused > 100 && numeric > 100);
}
