/*
 * chat.c: everybody hears what everybody says.
 *
 *   chat ADDR     a server, as: chat :7000; then: nc localhost 7000
 *   chat          shows it with three guests of its own
 *
 * One goroutine, the room, owns the list of guests and is told of everything through one channel: so
 * there is nothing to lock. A guest has two: one reads its lines, one writes what others said. Who
 * does not listen is not waited for: what he misses is dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { GUESTS = 100, LINE = 256, BEHIND = 32 };

struct line {
	char text[LINE];
};

struct event {
	enum { COMES, SAYS, GOES } what;
	int fd;
	weft_chan(struct line) out;
	struct line line;
};

struct room {
	weft_chan(struct event) events;
};

static int
room(struct room *a)
{
	struct {
		int fd;
		weft_chan(struct line) out;
	} guest[GUESTS];
	int n = 0;
	struct event e;

	while (weft_recv(a->events, &e) > 0) {
		if (e.what == COMES && n < GUESTS) {
			guest[n].fd = e.fd;
			guest[n++].out = e.out;
		} else if (e.what == COMES) {
			weft_close(e.out); /* its writer ends, and says good-bye */
		}
		for (int i = n - 1; e.what == SAYS && i >= 0; i--)
			if (guest[i].fd != e.fd)
				weft_try_send(guest[i].out, e.line);
		for (int i = n - 1; e.what == GOES && i >= 0; i--)
			if (guest[i].fd == e.fd) {
				weft_close(guest[i].out);
				guest[i] = guest[--n];
			}
	}
	return 0;
}

struct writes {
	int fd;
	weft_chan(struct line) out;
};

static int
writes(struct writes *a)
{
	struct line l;

	while (weft_recv(a->out, &l) > 0)
		if (weft_write(a->fd, l.text, strlen(l.text)) < 0)
			break;
	return 0;
}

struct reads {
	int fd;
	weft_chan(struct event) events;
};

static int
reads(struct reads *a)
{
	struct event e = {.what = COMES, .fd = a->fd, .out = weft_make(struct line, BEHIND)};
	char buf[LINE];
	size_t have = 0;
	struct weft_wg writer = {0};
	ssize_t n;

	weft_wg_go(&writer, writes, a->fd, e.out);
	weft_send(a->events, e);
	e.what = SAYS;
	while ((n = weft_read(a->fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *end;

		have += (size_t)n;
		while ((end = memchr(buf, '\n', have)) || have == sizeof(buf) - 1) {
			size_t len = end ? (size_t)(end - buf) + 1 : have;

			memcpy(e.line.text, buf, len);
			e.line.text[len] = '\0';
			weft_send(a->events, e);
			memmove(buf, buf + len, have -= len);
		}
	}
	e.what = GOES;
	weft_send(a->events, e); /* the room closes its channel, and the writer ends */
	weft_wg_wait(&writer);
	weft_free(e.out);
	weft_close_fd(a->fd);
	return 0;
}

struct serve {
	int listener;
	weft_chan(struct event) events;
};

static int
serve(struct serve *a)
{
	int fd;

	while ((fd = weft_accept(a->listener)) != -ECANCELED)
		if (fd >= 0 && weft_go(reads, fd, a->events) < 0)
			weft_close_fd(fd);
	return 0;
}

/* ---- the show */

static int
hears(int fd, const char *want)
{
	char buf[LINE] = "";
	size_t n = strlen(want);

	weft_timeout(5 * WEFT_SEC)
		if (weft_read_full(fd, buf, n) != (ssize_t)n)
			return 0;
	printf("heard: %s", buf);
	return strcmp(buf, want) == 0;
}

static int
show(const char *addr)
{
	int fd[3], ok = 1;

	for (int i = 0; i < 3; i++)
		if ((fd[i] = weft_dial("tcp", addr)) < 0)
			return 1;
	weft_sleep(50 * WEFT_MS); /* so that all are in the room */
	weft_write(fd[0], "hello\n", 6);
	ok &= hears(fd[1], "hello\n") && hears(fd[2], "hello\n");
	weft_close_fd(fd[0]);
	weft_write(fd[1], "he is ", 6);
	weft_write(fd[1], "gone\n", 5);
	ok &= hears(fd[2], "he is gone\n");
	weft_close_fd(fd[1]);
	weft_close_fd(fd[2]);
	return !ok;
}

struct app {
	const char *addr;
};

static int
app(struct app *a)
{
	weft_chan(struct event) events = weft_make(struct event, 0);
	int listener = weft_listen("tcp", a->addr ? a->addr : "127.0.0.1:0");
	char addr[64];

	if (listener < 0) {
		fprintf(stderr, "listen: %s\n", strerror(-listener));
		return 1;
	}
	weft_local_addr(listener, addr, sizeof(addr));
	printf("a room on %s\n", addr);
	weft_go(room, events);
	if (a->addr)
		return serve(&(struct serve){listener, events});
	weft_go(serve, listener, events);
	return show(addr);
}

int
main(int argc, char **argv)
{
	return weft_run(app, argc > 1 ? argv[1] : NULL);
}
