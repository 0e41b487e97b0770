/*
 * scan.c: which ports of a host are open? Many dials at once, each with a deadline, and one for all.
 *
 *   scan HOST FROM TO     as: scan localhost 1 1024
 *   scan                  looks at ports of its own
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { AT_ONCE = 100 };

struct probe {
	const char *host;
	int port;
	weft_chan(int) open;
};

static int
probe(struct probe *a)
{
	char addr[300];
	int fd = -1;

	snprintf(addr, sizeof(addr), "%s:%d", a->host, a->port);
	weft_timeout(500 * WEFT_MS)
		fd = weft_dial("tcp", addr);
	if (fd < 0)
		return 0;
	weft_close_fd(fd);
	return weft_send(a->open, a->port);
}

struct scan {
	const char *host;
	int from, to;
	weft_chan(int) open;
};

static int
scan(struct scan *a)
{
	int rc = 0;

	weft_timeout(30 * WEFT_SEC)
		weft_group(g, &rc) {
			weft_group_limit(g, AT_ONCE); /* weft_go_in waits for a place */
			for (int port = a->from; port <= a->to; port++)
				if (weft_go_in(g, probe, a->host, port, a->open) < 0)
					break;
		}
	weft_close(a->open);
	return rc;
}

struct app {
	int argc;
	char **argv;
};

static int
app(struct app *a)
{
	weft_chan(int) open = weft_make(int, 0);
	bool show = a->argc != 4;
	int listener = -1, port = 0, found = 0, v;
	char addr[64];

	if (show) {
		listener = weft_listen("tcp", "127.0.0.1:0");
		if (weft_local_addr(listener, addr, sizeof(addr)) < 0)
			return 1;
		port = atoi(strrchr(addr, ':') + 1);
		weft_go(scan, "127.0.0.1", port - 200 > 1 ? port - 200 : 1, port, open);
	} else {
		weft_go(scan, a->argv[1], atoi(a->argv[2]), atoi(a->argv[3]), open);
	}
	while (weft_recv(open, &v) > 0) {
		printf("port %d is open\n", v);
		found += v == port;
	}
	weft_free(open);
	return show && !found;
}

int
main(int argc, char **argv)
{
	return weft_run(app, argc, argv);
}
