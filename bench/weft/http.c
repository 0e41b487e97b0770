/* SPDX-License-Identifier: MIT */
/* http.c: the server of row http: a goroutine for each connection. See server.h. */
#include "server.h"

#include "../peers/http.h"

struct connection {
	int fd;
};

static int
connection(struct connection *c)
{
	struct http h; /* only what is used of it takes memory */
	ssize_t n;

	h.have = 0;
	h.last = false;
	while (!h.last && (n = weft_read(c->fd, h.in + h.have, sizeof(h.in) - h.have)) > 0) {
		n = http_serve(&h, (size_t)n);
		if (n < 0 || (n > 0 && weft_write(c->fd, h.out, (size_t)n) < 0))
			break;
	}
	weft_close_fd(c->fd);
	return 0;
}

static int
serve(void)
{
	int listener = server_listen();

	for (;;) {
		int fd = (int)bench_must("weft_accept", weft_accept(listener));

		bench_must("weft_go", weft_go(connection, fd));
	}
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(serve));
	return 0;
}
