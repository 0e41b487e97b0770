/* SPDX-License-Identifier: MIT */
/*
 * serve.h: for peers in C that are servers. They listen on a port of 127.0.0.1 that the system
 * chooses and say "port N" in one line.
 */
#ifndef SERVE_H
#define SERVE_H

#include "row.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SERVE_BUFFER = 4096,
};

/* Stops the program when rc is negative and errno says why; returns rc otherwise. */
ROW_UNUSED static int
serve_must(const char *what, int rc)
{
	if (rc >= 0)
		return rc;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* flags: SOCK_NONBLOCK or 0 */
ROW_UNUSED static int
serve_listen(int flags)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	int fd = serve_must("socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));

	memset(&addr, 0, sizeof(addr));
	addr.sin_family = AF_INET;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	serve_must("bind", bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	serve_must("listen", listen(fd, SOMAXCONN));
	serve_must("getsockname", getsockname(fd, (struct sockaddr *)&addr, &len));
	printf("port %d\n", ntohs(addr.sin_port));
	fflush(stdout);
	return fd;
}

ROW_UNUSED static void
serve_no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

#endif
