/* SPDX-License-Identifier: MIT */
/* good_go.c: every way to start a goroutine compiles without a warning. */
#include <weft.h>

struct point {
	int x, y;
};

struct echo {
	int fd;
	const char *tag;
	struct point at;
};

static int
echo(struct echo *a)
{
	return a->fd + a->at.x;
}

static int
tick(void)
{
	return 0;
}

struct empty {
	int unused;
};

static int
empty(struct empty *a)
{
	return a->unused;
}

int start(void);

int
start(void)
{
	struct weft_wg wg = {0};
	int fd = 3;
	int64_t id;

	id = weft_go(tick);
	id = weft_go(echo, .fd = fd, .tag = "x");
	id = weft_go(echo, fd, "x", {1, 2});
	id = weft_go(echo, .at = {.y = 2}, .fd = fd);
	id = weft_go(echo);
	id = weft_go(empty);
	id = weft_wg_go(&wg, tick);
	id = weft_wg_go(&wg, echo, .tag = "y");
	id = weft_go_with(WEFT_ATTR(.name = "n", .stack_bytes = 65536), echo, .fd = 1);
	id = weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), tick);
	id = weft_go_with(NULL, tick);
	for (int i = 0; i < 3; i++)
		if (weft_go(tick) < 0 || weft_go(tick) < 0)
			return weft_run(echo, .fd = i);
	/* one inside the argument of another */
	id = weft_go(echo, .fd = (int)weft_go(tick));
	weft_yield();
	weft_checkpoint();
	return weft_run(tick) + (int)id + weft_wg_wait(&wg);
}
