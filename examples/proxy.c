/*
 * proxy.c: passes TCP connections on to another address.
 *
 *   proxy LISTEN TARGET     as: proxy :8080 example.com:80
 *   proxy                   shows it with a server and a client of its own
 *
 * Each direction is a goroutine. When one side has said all it has to say (half-close), the other is
 * told so and may go on answering; a connection ends when both have. If one side breaks, the other
 * direction ends too: it is cancelled with the group.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

struct copy {
	int from, to;
};

static int
copy(struct copy *a)
{
	char buf[16384];
	ssize_t n;

	while ((n = weft_read(a->from, buf, sizeof(buf))) > 0) {
		n = weft_write(a->to, buf, (size_t)n);
		if (n < 0)
			break;
	}
	shutdown(a->to, SHUT_WR); /* no more from this side */
	return (int)n;
}

struct pass {
	int client;
	const char *target;
};

static int
pass(struct pass *a)
{
	weft_autofd int client = a->client, server = -1;
	int rc = 0;

	weft_timeout(5 * WEFT_SEC)
		server = weft_dial("tcp", a->target);
	if (server < 0) {
		fprintf(stderr, "%s: %s\n", a->target, strerror(-server));
		return 0;
	}
	weft_group(g, &rc) {
		weft_go_in(g, copy, client, server);
		weft_go_in(g, copy, server, client);
	}
	return 0;
}

struct proxy {
	int listener;
	const char *target;
};

static int
proxy(struct proxy *a)
{
	int fd;

	while ((fd = weft_accept(a->listener)) != -ECANCELED)
		if (fd >= 0 && weft_go(pass, fd, a->target) < 0)
			weft_close_fd(fd);
	return 0;
}

/* ---- the show: a server that answers only when it has heard everything */

struct sum_server {
	int listener;
};

static int
sum_server(struct sum_server *a)
{
	weft_autofd int fd = weft_accept(a->listener);
	unsigned char buf[1000];
	long sum = 0;
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum += buf[i];
	return weft_write(fd, &sum, sizeof(sum)) < 0;
}

static int
show(void)
{
	char target[64], addr[64];
	int server = weft_listen("tcp", "127.0.0.1:0"), front = weft_listen("tcp", "127.0.0.1:0");
	static unsigned char data[1000000];
	long sum = 0, answer = -1;
	weft_autofd int fd = -1;

	if (weft_local_addr(server, target, sizeof(target)) < 0 ||
	    weft_local_addr(front, addr, sizeof(addr)) < 0)
		return 1;
	weft_go(sum_server, server);
	weft_go(proxy, front, target);
	for (size_t i = 0; i < sizeof(data); i++)
		sum += data[i] = (unsigned char)(i * 7);
	fd = weft_dial("tcp", addr);
	if (weft_write(fd, data, sizeof(data)) < 0)
		return 1;
	shutdown(fd, SHUT_WR); /* the server hears of it, and still can answer */
	weft_read_full(fd, &answer, sizeof(answer));
	printf("through the proxy: %ld, and it is %ld\n", answer, sum);
	weft_close_fd(front);
	weft_close_fd(server);
	return answer != sum;
}

struct app {
	int argc;
	char **argv;
};

static int
app(struct app *a)
{
	int listener;

	if (a->argc != 3)
		return show();
	listener = weft_listen("tcp", a->argv[1]);
	if (listener < 0) {
		fprintf(stderr, "%s: %s\n", a->argv[1], strerror(-listener));
		return 1;
	}
	return proxy(&(struct proxy){listener, a->argv[2]});
}

int
main(int argc, char **argv)
{
	return weft_run(app, argc, argv);
}
