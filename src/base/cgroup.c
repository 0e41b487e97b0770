/* SPDX-License-Identifier: MIT */
/* cgroup.c: see cgroup.h. Any thread; no state, no allocation, no system call. */
#include "base/cgroup.h"
#include "base/check.h"

#include <limits.h>
#include <string.h>

/* A piece of text, not ended by 0. */
struct text {
	const char *at;
	size_t len;
};

/* Cuts off and returns what stands before the next c; without one, all of it. */
static struct text
cut(struct text *t, char c)
{
	const char *end = t->len ? memchr(t->at, c, t->len) : NULL;
	struct text head = {t->at, end ? (size_t)(end - t->at) : t->len};
	size_t gone = head.len + (end != NULL);

	t->at += gone;
	t->len -= gone;
	return head;
}

static bool
is(struct text t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* One of the words between commas. */
static bool
lists(struct text t, const char *word)
{
	while (t.len > 0)
		if (is(cut(&t, ','), word))
			return true;
	return false;
}

/* ---- lines */

void
wf_lines_begin(struct wf_lines *l, void (*fn)(void *arg, const char *line, size_t len), void *arg)
{
	l->fn = fn;
	l->arg = arg;
	l->len = 0;
	l->cut = false;
}

void
wf_lines_end(struct wf_lines *l)
{
	if (l->len > 0 && !l->cut)
		l->fn(l->arg, l->line, l->len);
	l->len = 0;
	l->cut = false;
}

void
wf_lines_feed(struct wf_lines *l, const char *text, size_t len)
{
	struct text rest = {text, len};

	while (rest.len > 0) {
		struct text part = cut(&rest, '\n');
		bool whole = part.at + part.len < text + len; /* its end was there */

		ASSERT(l->len <= sizeof(l->line)); /* CGROUP-1 */
		if (part.len > sizeof(l->line) - l->len) {
			l->cut = true;
		} else {
			memcpy(l->line + l->len, part.at, part.len);
			l->len += part.len;
		}
		if (whole)
			wf_lines_end(l);
	}
}

/* ---- which cgroup: "ID:controller,controller:/path" */

void
wf_cgroup_line(struct wf_cgroup *c, const char *line, size_t len)
{
	struct text path = {line, len};
	struct text id = cut(&path, ':'), controllers = cut(&path, ':');
	int version = lists(controllers, "cpu") ? 1 : is(id, "0") && controllers.len == 0 ? 2 : 0;

	/* v1 counts first: a controller is in one hierarchy only */
	if (version == 0 || (c->version == 1 && version == 2))
		return;
	if (path.len == 0 || path.len >= sizeof(c->path) || path.at[0] != '/' ||
	    memchr(path.at, '\0', path.len))
		return;
	memcpy(c->path, path.at, path.len); /* CGROUP-1 */
	c->path[path.len] = '\0';
	c->version = version;
}

/* ---- where it is */

/* A field of mountinfo, with spaces and the like as \040, as a string. False: malformed. */
static bool
unescape(struct text t, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++, n++) {
		unsigned value = (unsigned char)t.at[i];

		if (value == '\\') {
			if (t.len - i < 4)
				return false;
			value = 0;
			for (int k = 1; k <= 3; k++) {
				unsigned digit = (unsigned)t.at[i + (size_t)k] - '0';

				if (digit > 7)
					return false;
				value = value * 8 + digit;
			}
			i += 3;
		}
		if (value == 0 || value > 255 || n + 1 >= size)
			return false; /* CGROUP-1 */
		out[n] = (char)value;
	}
	out[n] = '\0';
	return true;
}

static bool
is_up(const char *s)
{
	return strncmp(s, "/..", 3) == 0 && (s[3] == '/' || s[3] == '\0');
}

/* How many levels above the root of the namespace a path begins. */
static int
ups(const char *path)
{
	int n = 0;

	for (; is_up(path); path += 3)
		n++;
	return n;
}

static bool
has_ups(const char *path)
{
	for (; path && *path; path = strchr(path + 1, '/'))
		if (is_up(path))
			return true;
	return false;
}

/* Levels of a root below that of the namespace; negative: above it. */
static int
height(const char *root)
{
	int n = 0;

	for (; root && root[0] && root[1]; root = strchr(root + 1, '/'))
		n += is_up(root) ? -1 : 1;
	return n;
}

/* What of the cgroup's path lies below the root of a mount; NULL: it cannot be told. CGROUP-2 */
static const char *
below(const char *path, const char *root)
{
	size_t n = strlen(root);
	int up = ups(root);

	if (n > 0 && root[n - 1] == '/')
		n--;
	if (strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0') &&
	    !has_ups(path + n))
		return path[n] && path[n + 1] ? path + n : "";
	/* A root above the namespace's is above us too, though the way down is not known. */
	return up > 0 && (size_t)up * 3 == n && ups(path) < up ? "" : NULL;
}

/* The root and the mount point of a line, if it is a mount of this hierarchy:
   "ID PARENT DEV ROOT POINT OPTIONS [OPTIONAL ...] - TYPE SOURCE SUPER_OPTIONS" */
static bool
mount_of(int version, struct text line, struct text *root, struct text *point)
{
	struct text type, field;

	for (int i = 0; i < 3; i++)
		cut(&line, ' ');
	*root = cut(&line, ' ');
	*point = cut(&line, ' ');
	do {
		if (line.len == 0)
			return false;
		field = cut(&line, ' ');
	} while (!is(field, "-"));
	type = cut(&line, ' ');
	cut(&line, ' ');
	return version == 2 ? is(type, "cgroup2") : is(type, "cgroup") && lists(line, "cpu");
}

void
wf_cgroup_mount(struct wf_cgroup_dir *d, const struct wf_cgroup *c, const char *line, size_t len)
{
	char root[WF_CGROUP_PATH], point[WF_CGROUP_PATH];
	struct text root_text, point_text;
	const char *rest;
	size_t n, m;

	if (c->version == 0 ||
	    !mount_of(c->version, (struct text){line, len}, &root_text, &point_text) ||
	    !unescape(root_text, root, sizeof(root)) ||
	    !unescape(point_text, point, sizeof(point)) || root[0] != '/' || point[0] != '/')
		return;
	rest = below(c->path, root);
	/* Of several mounts the one that shows most; of equals the last, which hides others. */
	if (!rest || (d->len > 0 && d->height < height(root)))
		return;
	n = strlen(point);
	m = strlen(rest);
	if (point[n - 1] == '/')
		n--;
	CHECK(n + m < sizeof(d->path)); /* CGROUP-1: each is shorter than half of it */
	memcpy(d->path, point, n);
	memcpy(d->path + n, rest, m + 1);
	d->top = n;
	d->len = n + m;
	d->height = height(root);
}

size_t
wf_cgroup_above(const struct wf_cgroup_dir *d, size_t len)
{
	if (len <= d->top)
		return 0;
	while (d->path[--len] != '/')
		;
	return len;
}

/* ---- how much */

static bool
number(struct text t, int64_t *out)
{
	bool negative = t.len > 0 && t.at[0] == '-';
	int64_t n = 0;

	if (t.len == (size_t)negative)
		return false;
	for (size_t i = negative; i < t.len; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
		n = n > (INT64_MAX - 9) / 10 ? INT64_MAX : n * 10 + (t.at[i] - '0');
	}
	*out = negative ? -n : n;
	return true;
}

bool
wf_cgroup_number(const char *text, size_t len, int64_t *n)
{
	struct text t = {text, len};

	return number(cut(&t, '\n'), n);
}

bool
wf_cgroup_max(const char *text, size_t len, int64_t *quota, int64_t *period)
{
	struct text t = {text, len};
	struct text line = cut(&t, '\n');
	struct text first = cut(&line, ' ');

	return !is(first, "max") && number(first, quota) && number(line, period);
}

int
wf_cgroup_cpus(int64_t quota, int64_t period)
{
	int64_t n;

	if (quota <= 0 || period <= 0)
		return 0;
	n = quota / period + (quota % period != 0);
	return n > INT_MAX ? INT_MAX : (int)n;
}
