/* SPDX-License-Identifier: MIT */
/*
 * common.h: what the C programs share. common.go is its twin: same names, same numbers.
 * A program defines conform(), which runs as goroutine 1, or CONFORM_MAIN.
 */
#ifndef CONFORM_COMMON_H
#define CONFORM_COMMON_H

#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft.h>

/* The state of a generator, from the program's argument. */
static inline uint64_t
seeded(int argc, char **argv)
{
	return argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
}

/* A number in 0 ... n - 1. */
static inline int
below(uint64_t *state, int n)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (int)((z ^ (z >> 31)) >> 33) % n;
}

/* Goroutines that wait, counted in a dump: there is no other way to see them from outside. */
static inline int
waiting(void)
{
	static char text[1 << 20];
	static int fd = -1;
	int n = 0;
	ssize_t len;

	if (fd < 0 && (fd = memfd_create("dump", 0)) < 0)
		abort();
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	weft_dump(fd);
	len = pread(fd, text, sizeof(text) - 1, 0);
	text[len < 0 ? 0 : len] = 0;
	for (char *p = text; (p = strstr(p, "goroutine ")); p++) {
		long long id;
		char state[32];

		if ((p == text || p[-1] == '\n') &&
		    sscanf(p, "goroutine %lld [%31[^]]", &id, state) == 2 &&
		    strcmp(state, "running") != 0 && strcmp(state, "runnable") != 0)
			n++;
	}
	return n;
}

/* Returns when n goroutines wait: what they wait on has them in its queue then. */
static inline void
settle(int n)
{
	while (waiting() < n)
		weft_yield();
}

static inline const char *
name(int rc)
{
	switch (rc) {
	case 0:
		return "done";
	case 1:
		return "value";
	case -EPIPE:
		return "closed";
	case -EAGAIN:
		return "not ready";
	case -ECANCELED:
		return "cancelled";
	default:
		return "?";
	}
}

static inline const char *
yes(int truth)
{
	return truth ? "yes" : "no";
}

/* The sum, which may be read by others meanwhile. */
static inline int
add(int *n, int more)
{
	return __atomic_add_fetch(n, more, __ATOMIC_RELAXED);
}

/* As Go prints a slice. */
static inline void
show(const char *what, const int *got, int n)
{
	printf("%s [", what);
	for (int i = 0; i < n; i++)
		printf("%s%d", i ? " " : "", got[i]);
	printf("]\n");
}

/* Sends one value, tells how that went. */
struct sender {
	weft_chan(int) ch;
	int value;
	int *rc;
};

static inline int
sender(struct sender *a)
{
	*a->rc = weft_send(a->ch, a->value);
	return 0;
}

/* Receives one value, tells how that went. */
struct receiver {
	weft_chan(int) ch;
	int *value, *rc;
};

static inline int
receiver(struct receiver *a)
{
	*a->rc = weft_recv(a->ch, a->value);
	return 0;
}

#ifndef CONFORM_MAIN /* the program has its own main() */
static int conform(uint64_t *r);

struct start {
	uint64_t r;
};

static int
start(struct start *a)
{
	return conform(&a->r);
}

int
main(int argc, char **argv)
{
	return weft_run(start, .r = seeded(argc, argv));
}
#endif

#endif
