/* SPDX-License-Identifier: MIT */
/*
 * cycle.c: everybody sleeps; who waits for whom in a circle?
 *
 * A lock names its holder, and a wait group or group its children. For a channel nobody is named:
 * those who could serve it are taken to be the goroutines that hold it, found by looking for its
 * address on their stacks and in what these point to. That may show one too many, never one too few
 * among the simple cases; so the text says "could".
 */
#include "obs/waits.h"
#include "base/os.h"
#include "core/gpool.h"
#include "core/stack.h"

#include <stdio.h>
#include <string.h>

enum {
	NODES = 64,            /* sleepers looked at; a larger deadlock mostly repeats itself */
	OBJECTS = 8,           /* of one select */
	STACK_LOOK = 64 << 10, /* bytes of a stack that are looked through */
	FAR_BYTES = 128,       /* and of what its words point to */
};

struct graph {
	const struct wf_g *g[NODES];
	int n;
	uint64_t to[NODES]; /* a bit for each that could let this one go on */
};

/* ---- who holds an address */

static bool
block_holds(const uintptr_t *words, size_t n, uintptr_t want)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] == want)
			return true;
	return false;
}

static bool
points_to_block_with(uintptr_t word, uintptr_t want)
{
	uintptr_t far[FAR_BYTES / sizeof(uintptr_t)];

	if (word % sizeof(uintptr_t) || word < os_page_bytes() || word > (UINT64_C(1) << 56))
		return false;
	return os_peek((const void *)word, far, sizeof(far)) == 0 &&
	       block_holds(far, countof(far), want);
}

static bool
leads_to(const uintptr_t *words, size_t n, uintptr_t want)
{
	if (block_holds(words, n, want))
		return true;
	for (size_t i = 0; i < n; i++)
		if (points_to_block_with(words[i], want))
			return true;
	return false;
}

/* The stack, or the arguments, of g hold the address, or point to something that does. */
static bool
holds(const struct wf_g *g, const void *object)
{
	uintptr_t words[64], want = (uintptr_t)object;
	uintptr_t at = (uintptr_t)g->sp, end = (uintptr_t)g->stack;

	memcpy(words, g->arg, sizeof(g->arg));
	if (leads_to(words, sizeof(g->arg) / sizeof(uintptr_t), want))
		return true;
	if (!g->stack || at < end)
		return false;
	end += wf_stack_bytes(g->stack_class);
	if (end - at > STACK_LOOK)
		end = at + STACK_LOOK;
	for (; at + sizeof(words) <= end; at += sizeof(words))
		if (os_peek((const void *)at, words, sizeof(words)) == 0 &&
		    leads_to(words, countof(words), want))
			return true;
	return false;
}

/* ---- the graph */

static void
add_node(struct wf_g *g, void *arg)
{
	struct graph *gr = arg;

	if (wf_g_state(g) == WF_WAITING && gr->n < NODES)
		gr->g[gr->n++] = g;
}

static bool
could_free(const struct wf_g *sleeper, const struct wf_g *other, const void **objects, int n)
{
	const struct weft_wg *wg = wf_waited_wg(sleeper);
	int64_t holder = wf_waited_holder(sleeper);

	if (holder != 0)
		return other->id == holder;
	if (wg)
		return other->wg == wg;
	for (int i = 0; i < n; i++)
		if (holds(other, objects[i]))
			return true;
	return false;
}

static void
add_edges(struct graph *gr)
{
	for (int a = 0; a < gr->n; a++) {
		const void *objects[OBJECTS];
		int n = wf_waited_objects(gr->g[a], objects, OBJECTS);

		for (int b = 0; b < gr->n; b++)
			if (a != b && could_free(gr->g[a], gr->g[b], objects, n))
				gr->to[a] |= UINT64_C(1) << b;
	}
}

/* The shortest way from `from` back to itself, by breadth: its length, 0 if there is none. Nodes
   in `without` are left out. */
static int
circle_from(const struct graph *gr, int from, uint64_t without, int *path)
{
	int before[NODES], queue[NODES], head = 0, tail = 0, len = 0;
	uint64_t seen = without;

	queue[tail++] = from;
	while (head < tail) {
		int a = queue[head++];

		if (gr->to[a] >> from & 1) {
			for (; a != from; a = before[a])
				path[len++] = a;
			path[len++] = from;
			return len; /* backwards: from is last */
		}
		for (int b = 0; b < gr->n; b++)
			if ((gr->to[a] & ~seen) >> b & 1) {
				seen |= UINT64_C(1) << b;
				before[b] = a;
				queue[tail++] = b;
			}
	}
	return 0;
}

/* The shortest circle of all. One of goroutines that all wait for something else than their
   children says more: a parent that waits for a child holds all that the child holds. */
static int
shortest_circle(const struct graph *gr, int *best)
{
	uint64_t joins = 0;
	int n = 0;

	for (int i = 0; i < gr->n; i++)
		joins |= (uint64_t)(wf_waited_wg(gr->g[i]) != NULL) << i;
	for (int round = 0; round < 2 && n == 0; round++, joins = 0)
		for (int i = 0; i < gr->n; i++) {
			int path[NODES];
			int len = joins >> i & 1 ? 0 : circle_from(gr, i, joins, path);

			if (len > 0 && (n == 0 || len < n)) {
				n = len;
				memcpy(best, path, (size_t)len * sizeof(path[0]));
			}
		}
	return n;
}

/* One step of the circle: g waits, and next could end that. */
static void
say_step(void (*say)(void *arg, const char *line), void *arg, const struct wf_g *g,
	 const struct wf_g *next)
{
	static char what[768], line[1024];
	const char *name = next->site->name;
	long long id = (long long)next->id;
	char link[160];

	if (wf_waited_holder(g))
		snprintf(link, sizeof(link), " (%s)", name);
	else if (wf_waited_wg(g))
		snprintf(link, sizeof(link), ", one of them goroutine %lld (%s)", id, name);
	else
		snprintf(link, sizeof(link), ", which goroutine %lld (%s) could serve", id, name);
	wf_describe_wait(g, what, sizeof(what));
	snprintf(line, sizeof(line), "\tgoroutine %lld (%s) %s%s", (long long)g->id, g->site->name,
		 what, link);
	say(arg, line);
}

void
wf_describe_cycle(void (*say)(void *arg, const char *line), void *arg)
{
	static struct graph gr; /* one deadlock in a process */
	int circle[NODES], n;

	wf_gpool_each(add_node, &gr);
	add_edges(&gr);
	n = shortest_circle(&gr, circle);
	if (n == 0)
		return;
	say(arg, "the circle:");
	for (int i = n - 1; i >= 0; i--)
		say_step(say, arg, gr.g[circle[i]], gr.g[circle[i > 0 ? i - 1 : n - 1]]);
}
