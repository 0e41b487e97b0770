/*
 * skynet.c: a million goroutines in a tree, and one number that comes up through it.
 *
 * Each node starts ten children and adds up what they send; a leaf sends its own number. The sum
 * over the leaves 0 ... 999999 is known, so a single lost or doubled message would show.
 * not-tsan: it takes two minutes there. ./weft run --tsan examples/skynet.c 10000 does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft.h>

enum { CHILDREN = 10 };

struct node {
	long first, leaves; /* the leaves below are first ... first + leaves - 1 */
	weft_chan(long) up;
};

static int
node(struct node *a)
{
	long sum = 0, v;
	weft_chan(long) down;

	if (a->leaves == 1)
		return weft_send(a->up, a->first);

	/* Room for every answer: a child never waits for its parent, it sends and is gone. */
	down = weft_make(long, CHILDREN);
	if (!down)
		abort();
	for (int i = 0; i < CHILDREN; i++)
		if (weft_go(node, a->first + i * (a->leaves / CHILDREN), a->leaves / CHILDREN,
			    down) < 0)
			abort();
	for (int i = 0; i < CHILDREN && weft_recv(down, &v) > 0; i++)
		sum += v;
	weft_free(down);
	return weft_send(a->up, sum);
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

struct skynet {
	long leaves;
};

static int
skynet(struct skynet *a)
{
	weft_chan(long) up = weft_make(long, 1);
	struct weft_stats s = {.size = sizeof(s)};
	double start = now_ms();
	long sum = -1;

	weft_go(node, 0, a->leaves, up);
	weft_recv(up, &sum);
	weft_free(up);
	weft_stats(&s);
	printf("sum %ld of %ld leaves in %.0f ms: %llu goroutines, %llu waits, %d procs\n", sum,
	       a->leaves, now_ms() - start, (unsigned long long)s.total.spawned,
	       (unsigned long long)s.total.parks, s.procs);
	return sum == a->leaves * (a->leaves - 1) / 2 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) : 1000000, leaves = 1;

	while (leaves <= most / CHILDREN) /* every node has all its children */
		leaves *= CHILDREN;
	return weft_run(skynet, leaves);
}
