/* SPDX-License-Identifier: MIT */
/* addr.h: what "tcp" and "host:port" mean; see addr.c. */
#ifndef WF_WAIT_ADDR_H
#define WF_WAIT_ADDR_H

#include "base/osio.h"

struct wf_net {
	enum os_family family;
	bool datagram;
	bool local; /* a unix socket: the address is its path */
};

struct wf_hostport {
	char host[256]; /* "": none was said */
	char port[32];
};

enum { WF_ADDRS = 16 }; /* of one name that are tried */

struct wf_question {
	struct wf_hostport hp;
	enum os_family family;
	bool datagram, listens;
};

/* Outside the runtime: how many, or -errno; also what the scopes of the caller say. */
int wf_resolve(const struct wf_question *q, struct os_addr *out, int n);

/* NULL, or what is wrong, to be read by people. */
const char *wf_net_parse(const char *net, struct wf_net *out);
const char *wf_addr_parse(const char *addr, struct wf_hostport *out);

#endif
