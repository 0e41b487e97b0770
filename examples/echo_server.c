/*
 * echo_server.c: a server that sends back what it gets, and clients that put a load on it.
 *
 *   echo_server                  server and clients in one program, for a short while
 *   echo_server serve ADDR       only the server, as: echo_server serve :7777
 *   echo_server load ADDR CONNS  only the clients: how many answers a second, how fast
 *
 * Each connection is a goroutine that reads and writes as if it were alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

struct serve {
	int fd;
};

static int
serve(struct serve *a)
{
	weft_autofd int fd = a->fd;
	char buf[4096];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof(buf))) > 0)
		if (weft_write(fd, buf, (size_t)n) < 0)
			break;
	return 0;
}

struct accept_all {
	int listener;
};

/* Ends when somebody closes the listener. */
static int
accept_all(struct accept_all *a)
{
	int fd;

	while ((fd = weft_accept(a->listener)) != -ECANCELED)
		if (fd < 0)
			fprintf(stderr, "accept: %s\n", strerror(-fd));
		else if (weft_go(serve, fd) < 0)
			weft_close_fd(fd);
	return 0;
}

struct ask {
	const char *addr;
	int64_t until;
	int64_t *count;
	int64_t *slowest;
};

static int
ask(struct ask *a)
{
	weft_autofd int fd = weft_dial("tcp", a->addr);
	char out[64] = "how do you do?", in[64];

	if (fd < 0)
		return fd;
	while (weft_now() < a->until) {
		int64_t start = weft_now(), took;
		ssize_t n = weft_write(fd, out, sizeof(out));

		if (n > 0)
			n = weft_read_full(fd, in, sizeof(in));
		if (n != sizeof(in) || memcmp(in, out, sizeof(in)) != 0)
			return n < 0 ? (int)n : -EIO;
		took = weft_now() - start;
		++*a->count;
		if (took > *a->slowest)
			*a->slowest = took;
	}
	return 0;
}

/* 0, or the first error of a client. */
static int
load(const char *addr, int conns, int64_t ns)
{
	int64_t *count = calloc((size_t)conns, sizeof(*count));
	int64_t *slowest = calloc((size_t)conns, sizeof(*slowest));
	int64_t all = 0, worst = 0;
	int rc = 0;

	weft_group(g, &rc)
		for (int i = 0; i < conns; i++)
			weft_go_in(g, ask, addr, weft_now() + ns, &count[i], &slowest[i]);
	for (int i = 0; i < conns; i++) {
		all += count[i];
		if (slowest[i] > worst)
			worst = slowest[i];
	}
	printf("%d connections: %lld answers a second, the slowest after %.1f ms\n", conns,
	       (long long)((double)all / ((double)ns / WEFT_SEC)), (double)worst / WEFT_MS);
	free(count);
	free(slowest);
	return rc < 0 ? rc : all > 0 ? 0 : -EIO;
}

struct app {
	int argc;
	char **argv;
};

static int
app(struct app *a)
{
	bool serves = a->argc > 2 && strcmp(a->argv[1], "serve") == 0;
	char addr[64];
	int listener, rc;

	if (a->argc > 3 && strcmp(a->argv[1], "load") == 0)
		return load(a->argv[2], atoi(a->argv[3]), 5 * WEFT_SEC);
	listener = weft_listen("tcp", serves ? a->argv[2] : "127.0.0.1:0");
	if (listener < 0) {
		const char *why = serves ? weft_addr_error("tcp", a->argv[2]) : NULL;

		fprintf(stderr, "listen: %s\n", why ? why : strerror(-listener));
		return 1;
	}
	weft_local_addr(listener, addr, sizeof(addr));
	printf("echo on %s\n", addr);
	if (serves)
		return accept_all(&(struct accept_all){listener});
	weft_go(accept_all, listener);
	rc = load(addr, 64, WEFT_SEC / 2);
	weft_close_fd(listener);
	return rc < 0;
}

int
main(int argc, char **argv)
{
	return weft_run(app, argc, argv);
}
