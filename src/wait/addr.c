/* SPDX-License-Identifier: MIT */
/* addr.c: the names of networks, and "host:port", taken apart. Whether there is such a host is not
   asked here. */
#include "wait/addr.h"

#include <string.h>

const char *
wf_net_parse(const char *net, struct wf_net *out)
{
	static const struct {
		const char *name;
		struct wf_net net;
	} known[] = {
	    {"tcp", {OS_ANY_FAMILY, false, false}}, {"tcp4", {OS_INET, false, false}},
	    {"tcp6", {OS_INET6, false, false}},     {"udp", {OS_ANY_FAMILY, true, false}},
	    {"udp4", {OS_INET, true, false}},       {"udp6", {OS_INET6, true, false}},
	    {"unix", {OS_ANY_FAMILY, false, true}},
	};

	for (size_t i = 0; net && i < countof(known); i++)
		if (strcmp(net, known[i].name) == 0) {
			*out = known[i].net;
			return NULL;
		}
	return "unknown network: say tcp, tcp4, tcp6, udp, udp4, udp6 or unix";
}

static const char *
copy(char *to, size_t room, const char *from, size_t n)
{
	if (n >= room)
		return "the address is too long";
	memcpy(to, from, n);
	to[n] = '\0';
	return NULL;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number up to 65535, or a name such as http. */
static const char *
check_port(const char *port)
{
	long n = 0;

	if (!*port)
		return "the port is missing after the colon: say host:80, or host:0 for any";
	if (!is_digit(*port)) {
		if (*port == '-')
			return "the port is below 0";
		for (; *port; port++)
			if (!is_digit(*port) && !(*port >= 'a' && *port <= 'z') &&
			    !(*port >= 'A' && *port <= 'Z') && *port != '-' && *port != '_')
				return "the port is neither a number nor the name of a service";
		return NULL;
	}
	for (; *port; port++) {
		if (!is_digit(*port))
			return "the port is neither a number nor the name of a service";
		n = n * 10 + (*port - '0');
		if (n > 65535)
			return "the port is above 65535";
	}
	return NULL;
}

const char *
wf_addr_parse(const char *addr, struct wf_hostport *out)
{
	const char *colon = addr ? strrchr(addr, ':') : NULL, *end, *why;

	if (!addr || !*addr)
		return "the address is empty: say host:port";
	if (addr[0] == '[') {
		end = strchr(addr, ']');
		if (!end)
			return "the bracket is not closed: say [::1]:80";
		if (end[1] != ':')
			return "after the bracket comes a colon and the port: say [::1]:80";
		colon = end + 1;
		why = end == addr + 1
			  ? "the brackets are empty: say [::1]:80"
			  : copy(out->host, sizeof(out->host), addr + 1, (size_t)(end - addr - 1));
	} else if (!colon) {
		return "the port is missing: say host:80";
	} else if (memchr(addr, ':', (size_t)(colon - addr))) {
		return "too many colons: an IPv6 address stands in brackets, as [::1]:80";
	} else {
		why = copy(out->host, sizeof(out->host), addr, (size_t)(colon - addr));
	}
	if (!why)
		why = copy(out->port, sizeof(out->port), colon + 1, strlen(colon + 1));
	for (const char *c = out->host; !why && *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ']' || *c == '[')
			why = "the host has a character that no host has";
	return why ? why : check_port(out->port);
}
