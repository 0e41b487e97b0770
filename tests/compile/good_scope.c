/* SPDX-License-Identifier: MIT */
/* good_scope.c: scopes nest, and are left in every way, without a warning. */
#include <weft.h>
#include <stdio.h>
#include <stdlib.h>

struct echo {
	int fd;
	const char *tag;
};

static int
echo(struct echo *a)
{
	return a->fd;
}

static int
tick(void)
{
	return 0;
}

int children(int n);

int
children(int n)
{
	int rc = 0;
	int64_t id = 0;

	weft_group(g, &rc) {
		struct weft_group *same = g;

		weft_group_limit(g, 4);
		id = weft_go_in(g, tick);
		id = weft_go_in(g, echo, .fd = 3, .tag = "x");
		id = weft_go_in(same, echo, 3, "x");
		id = weft_go_in(g, echo);
		/* one inside the argument of another */
		id = weft_go_in(g, echo, .fd = (int)weft_go_in(g, echo, (int)weft_go(tick)));
		for (int i = 0; i < n; i++)
			if (weft_go_in(g, tick) < 0 || weft_go_in(g, echo, .fd = i) < 0)
				weft_cancel(g);
	}
	weft_group(nobody, NULL) {
	}
	return rc + (int)id;
}

/* No braces needed; what is set inside counts as set; what follows may be an else. */
int set_inside(int n);

int
set_inside(int n)
{
	int a, b, c, d;

	weft_timeout(WEFT_SEC)
		a = n;
	weft_group(g, NULL) {
		b = (int)weft_go_in(g, tick);
	}
	if (n > 3)
		weft_shield c = 3;
	else
		c = 4;
	if (n > 4)
		weft_deadline(n + WEFT_MS) {
			n++;
		}
	weft_shield weft_timeout(n) weft_group(g, NULL) d = weft_cancel(g);
	return a + b + c + d;
}

int always_returns(void);

int
always_returns(void)
{
	weft_timeout(WEFT_SEC) {
		weft_group(g, NULL) {
			return weft_cancelled() ? -1 : (int)weft_go_in(g, tick);
		}
	}
}

int nested(weft_chan(int) ch);

int
nested(weft_chan(int) ch)
{
	int rc = 0, inner_rc, v = 0;

	weft_timeout(2 * WEFT_SEC) {
		weft_timeout(WEFT_SEC) {
			weft_deadline(weft_recv(ch, &v) + 3) {
				weft_group(g, &rc) {
					weft_group(h, &inner_rc) {
						weft_go_in(g, tick);
						weft_go_in(h, tick);
						weft_shield
						{
							weft_shield
							{
								weft_send(ch, v);
							}
						}
					}
					if (inner_rc < 0)
						weft_cancel(g);
				}
			}
			weft_deadline(3) {
				v++;
			}
		}
	}
	/* two on one line */
	weft_shield weft_shield v++;
	return v;
}

int ways_out(int n);

int
ways_out(int n)
{
	for (int i = 0; i < n; i++) {
		weft_timeout(i) {
			if (i == 1)
				break; /* of the scope */
			if (i == 2)
				continue; /* the same */
			if (i == 3)
				return i;
			if (i == 4)
				goto out;
		}
		weft_group(g, NULL) {
			for (int j = 0; j < i; j++) {
				if (j == 1)
					break; /* of the loop */
				if (j == 2)
					goto out;
			}
			switch (i) {
			case 1:
				weft_cancel(g);
				break;
			case 2:
				weft_shield
				{
					weft_yield();
					break;
				}
				break;
			default:
				return 3;
			}
		}
	}
out:
	return n;
}

struct point {
	int x, y;
};

static int
put(struct point *p)
{
	return p->x;
}

static void
look(const struct point *p)
{
	(void)p;
}

int clean_up(const char *path, struct point *p, struct point **list);

int
clean_up(const char *path, struct point *p, struct point **list)
{
	weft_autofd int fd = -1;
	weft_autofd int one = 1, two = 2;
	weft_autofree char *text = malloc(10);
	weft_autofree const char *fixed = NULL;
	weft_autofree struct point *point = NULL;
	weft_chan(int) ch = weft_make(int, 0);
	const struct point *seen = p;
	FILE *f = fopen(path, "r");
	int i = 0;

	weft_defer(weft_free, ch);
	weft_defer(weft_close, ch);
	weft_defer(free, malloc(3));
	weft_defer(put, p);
	weft_defer(put, list[i++]);
	weft_defer(look, p);
	weft_defer(look, seen);
	if (!f)
		return -1;
	weft_defer(fclose, f);
	for (int j = 0; j < 3; j++) {
		weft_defer(put, &p[j]);
		weft_timeout(3) {
			weft_defer(put, p);
			weft_autofree int *inside = malloc(sizeof(*inside));
			if (!inside)
				break;
		}
	}
	return fd + i;
}
