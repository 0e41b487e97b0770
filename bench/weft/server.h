/* SPDX-License-Identifier: MIT */
/*
 * server.h: for programs that are servers. They are not asked for rows: they listen on a port of
 * 127.0.0.1 that the system chooses, say "port N" in one line, and serve until they are ended. The
 * client, and what is measured, is in bench/lib/clients.py.
 */
#ifndef SERVER_H
#define SERVER_H

#include "bench.h"

static int
server_listen(void)
{
	int listener = (int)bench_must("weft_listen", weft_listen("tcp4", "127.0.0.1:0"));
	char addr[64];

	bench_must("weft_local_addr", weft_local_addr(listener, addr, sizeof(addr)));
	printf("port %s\n", strrchr(addr, ':') + 1);
	fflush(stdout);
	return listener;
}

#endif
