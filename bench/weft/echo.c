/* SPDX-License-Identifier: MIT */
/*
 * echo.c: the server of rows tcp_echo64, tcp_echo1000 and echo_busy: a goroutine for each
 * connection. See server.h.
 *
 *     echo HOGS      so many goroutines beside them compute and never call the library
 */
#include "server.h"

static int
hog(void)
{
	for (volatile unsigned n = 0;; n++)
		;
	return 0;
}

struct connection {
	int fd;
};

static int
connection(struct connection *c)
{
	char buf[4096];
	ssize_t n;

	while ((n = weft_read(c->fd, buf, sizeof(buf))) > 0)
		if (weft_write(c->fd, buf, (size_t)n) < 0)
			break;
	weft_close_fd(c->fd);
	return 0;
}

struct serve {
	int hogs;
};

static int
serve(struct serve *a)
{
	int listener = server_listen();

	for (int i = 0; i < a->hogs; i++)
		bench_must("weft_go", weft_go(hog));
	for (;;) {
		int fd = (int)bench_must("weft_accept", weft_accept(listener));

		bench_must("weft_go", weft_go(connection, fd));
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s HOGS\n", argv[0]);
		return 2;
	}
	bench_must("weft_run", weft_run(serve, atoi(argv[1])));
	return 0;
}
