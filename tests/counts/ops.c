/* SPDX-License-Identifier: MIT */
/*
 * ops.c: one kind of operation, N times, on one P: ops NAME N. Prints what the runtime counted of it,
 * and the calls of the allocator. tests/counts/run compares that, and the number of instructions,
 * with what is expected.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static uint64_t allocations;

void *
malloc(size_t n)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	return real(n);
}

void *
aligned_alloc(size_t align, size_t n)
{
	static void *(*real)(size_t, size_t);

	if (!real)
		real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	return real(align, n);
}

/* valgrind knows no membarrier; it runs one thread at a time, so that there is none to be seen by. */
long
syscall(long number, ...)
{
	static long (*real)(long, long, long, long, long, long, long);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_membarrier && getenv("COUNTS_NO_MEMBARRIER"))
		return a[0] == MEMBARRIER_CMD_QUERY ? MEMBARRIER_CMD_PRIVATE_EXPEDITED |
							  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
						    : 0;
	if (!real)
		real =
		    (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void
must(int64_t rc)
{
	if (rc < 0) {
		fprintf(stderr, "ops: %s\n", strerror((int)-rc));
		exit(1);
	}
}

/* ---- what is counted: N of each */

struct times {
	int64_t n;
};

static int
times(struct times *a)
{
	for (int64_t i = 0; i < a->n; i++)
		weft_yield();
	return 0;
}

static void
yield(int64_t n)
{
	struct weft_wg wg = {0};

	must(weft_wg_go(&wg, times, n / 2));
	times(&(struct times){n / 2});
	must(weft_wg_wait(&wg));
}

static int
nothing(void)
{
	return 0;
}

static void
spawn(int64_t n)
{
	for (int64_t i = 0; i < n; i += 100) {
		struct weft_wg wg = {0};

		for (int k = 0; k < 100; k++)
			must(weft_wg_go(&wg, nothing));
		must(weft_wg_wait(&wg));
	}
}

/* One child, which its parent runs where it waits. */
static void
forked(int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		struct weft_wg wg = {0};

		must(weft_wg_go(&wg, nothing));
		must(weft_wg_wait(&wg));
	}
}

struct sender {
	weft_chan(int64_t) to;
	int64_t n;
};

static int
sender(struct sender *a)
{
	for (int64_t i = 0; i < a->n; i++)
		must(weft_send(a->to, i));
	return 0;
}

struct echo {
	weft_chan(int64_t) from, to;
};

static int
echo(struct echo *a)
{
	int64_t v;

	while (weft_recv(a->from, &v) > 0)
		must(weft_send(a->to, v));
	return 0;
}

static void
pingpong(int64_t n)
{
	weft_chan(int64_t) there = weft_make(int64_t, 0);
	weft_chan(int64_t) back = weft_make(int64_t, 0);
	struct weft_wg wg = {0};
	int64_t v;

	must(weft_wg_go(&wg, echo, there, back));
	for (int64_t i = 0; i < n; i++) {
		must(weft_send(there, i));
		must(weft_recv(back, &v));
	}
	weft_close(there);
	must(weft_wg_wait(&wg));
	weft_free(there);
	weft_free(back);
}

static void
stream(int64_t n, size_t room)
{
	weft_chan(int64_t) ch = weft_make(int64_t, room);
	struct weft_wg wg = {0};
	int64_t v;

	must(weft_wg_go(&wg, sender, ch, n));
	for (int64_t i = 0; i < n; i++)
		must(weft_recv(ch, &v));
	must(weft_wg_wait(&wg));
	weft_free(ch);
}

static void
buffered(int64_t n)
{
	stream(n, 128);
}

static void
unbuffered(int64_t n)
{
	stream(n, 0);
}

static void
select4(int64_t n)
{
	weft_chan(int64_t) ch[4];
	struct weft_wg wg = {0};
	int64_t v;

	for (int i = 0; i < 4; i++) {
		ch[i] = weft_make(int64_t, 0);
		must(weft_wg_go(&wg, sender, ch[i], n / 4));
	}
	for (int64_t i = 0; i < n / 4 * 4; i++)
		must(weft_select(WEFT_RECV(ch[0], &v), WEFT_RECV(ch[1], &v), WEFT_RECV(ch[2], &v),
				 WEFT_RECV(ch[3], &v)));
	must(weft_wg_wait(&wg));
	for (int i = 0; i < 4; i++)
		weft_free(ch[i]);
}

static void
mutex(int64_t n)
{
	struct weft_mutex mx = {0};

	for (int64_t i = 0; i < n; i++) {
		must(weft_lock(&mx));
		weft_unlock(&mx);
	}
}

static void
timer(int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		struct weft_timer *t = weft_timer_func(3600 * WEFT_SEC, nothing);

		must(weft_timer_stop(t));
		weft_timer_free(t);
	}
}

static void
deadline(int64_t n)
{
	weft_chan(int64_t) ch = weft_make(int64_t, 1);
	int64_t v;

	for (int64_t i = 0; i < n; i++)
		weft_timeout(3600 * WEFT_SEC) {
			must(weft_send(ch, i));
			must(weft_recv(ch, &v));
		}
	weft_free(ch);
}

static void
blocking(int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		weft_blocking __asm__ volatile("");
}

static const struct {
	const char *name;
	void (*run)(int64_t n);
} ops[] = {{"yield", yield},       {"spawn", spawn},       {"fork", forked},
	   {"pingpong", pingpong}, {"buffered", buffered}, {"unbuffered", unbuffered},
	   {"select4", select4},   {"mutex", mutex},       {"timer", timer},
	   {"deadline", deadline}, {"blocking", blocking}};

struct count {
	int op;
	int64_t n;
};

static int
count(struct count *a)
{
	struct weft_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	uint64_t allocated;

	ops[a->op].run(1000); /* what is made once */
	must(weft_stats(&before));
	allocated = allocations;
	ops[a->op].run(a->n);
	allocated = allocations - allocated;
	must(weft_stats(&after));
	printf("{\"switches\": %" PRIu64 ", \"futexes\": %" PRIu64 ", \"allocations\": %" PRIu64
	       "}\n",
	       after.total.switches - before.total.switches,
	       after.total.futexes - before.total.futexes, allocated);
	return 0;
}

int
main(int argc, char **argv)
{
	for (int i = 0; argc == 3 && i < (int)(sizeof(ops) / sizeof(ops[0])); i++)
		if (strcmp(argv[1], ops[i].name) == 0)
			return weft_run(count, i, atoll(argv[2]));
	fprintf(stderr, "usage: ops NAME N\n");
	return 2;
}
