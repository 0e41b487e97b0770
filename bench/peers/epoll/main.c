/* SPDX-License-Identifier: MIT */
/*
 * A bare server on epoll: one thread, no library. It is no peer but the limit: what the kernel
 * takes for the same work.
 *
 * Edge-triggered: the kernel need not look again at each descriptor that it has reported. A read that
 * did not fill the buffer has emptied the socket, unless the peer has closed it.
 */
#define _GNU_SOURCE
#include "../http.h"
#include "../serve.h"

#include <sys/epoll.h>

enum {
	EVENTS = 128,
	DESCRIPTORS = 65536,
};

static void
accept_all(int epoll, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
					    .data.fd = fd};

		serve_no_delay(fd);
		serve_must("epoll_ctl", epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	}
	if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		serve_must("accept4", fd);
}

/* A client that does not read what it asked for is sent away. */
static void
echo(const struct epoll_event *event)
{
	int fd = event->data.fd;
	char buf[SERVE_BUFFER];
	ssize_t n;

	do {
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n) {
			close(fd);
			return;
		}
	} while (n == sizeof(buf) || (event->events & ~(uint32_t)EPOLLIN));
}

static void
http(const struct epoll_event *event)
{
	static struct http *table[DESCRIPTORS];
	int fd = event->data.fd;
	struct http *h = fd < DESCRIPTORS ? table[fd] : NULL;
	ssize_t n;

	if (h == NULL) {
		h = fd < DESCRIPTORS ? malloc(sizeof(*h)) : NULL;
		if (h == NULL)
			row_die("too many connections");
		h->have = 0;
		h->last = false;
		table[fd] = h;
	}
	do {
		size_t room = sizeof(h->in) - h->have;
		ssize_t got = n = read(fd, h->in + h->have, room);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0)
			n = http_serve(h, (size_t)n);
		if (got <= 0 || n < 0 ||
		    (n > 0 && send(fd, h->out, (size_t)n, MSG_NOSIGNAL) != n) || h->last) {
			close(fd);
			free(h);
			table[fd] = NULL;
			return;
		}
		if ((size_t)got < room && !(event->events & ~(uint32_t)EPOLLIN))
			return;
	} while (true);
}

static void
serve(void (*ready)(const struct epoll_event *))
{
	int epoll = serve_must("epoll_create1", epoll_create1(EPOLL_CLOEXEC));
	int listener = serve_listen(SOCK_NONBLOCK);
	struct epoll_event events[EVENTS];
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};

	serve_must("epoll_ctl", epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event));
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		if (n < 0 && errno != EINTR)
			serve_must("epoll_wait", n);
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == listener)
				accept_all(epoll, listener);
			else
				ready(&events[i]);
	}
}

static void
serve_echo(void)
{
	serve(echo);
}

static void
serve_http(void)
{
	serve(http);
}

int
main(int argc, char **argv)
{
	static const struct row_entry table[] = {
	    {"echo 0", serve_echo}, {"http", serve_http}, {NULL, NULL}};

	return row_main(argc, argv, "the kernel's, one thread", table);
}
