/* SPDX-License-Identifier: MIT */
/* lockhelp.h: what the tests of the locks need: who is in line, callers on plain threads, children that
   must die, and whether waits use the heap. */
#ifndef WEFT_TEST_LOCKHELP_H
#define WEFT_TEST_LOCKHELP_H

#include "integ/helpers.h"

#include "core/stack.h"
#include "wait/locks.h"

#include <errno.h>
#if defined(__GLIBC__) && !defined(WF_ASAN) && !defined(WF_TSAN)
#include <malloc.h>
#define LOCKS_COUNT_HEAP 1
#endif

/* On the stack of the goroutine that asks? */
__attribute__((unused)) static bool
on_my_stack(const void *at)
{
	const struct wf_g *g = wf_m()->g;
	const char *lo = g->stack;

	return (const char *)at >= lo && (const char *)at < lo + wf_stack_bytes(g->stack_class);
}

/* How many sleep at the object (or at wf_second_line of it); a mutex has a line of its own. */
__attribute__((unused)) static uint32_t
in_line(const void *object)
{
	struct wf_bucket *b = wf_bucket_of(object);
	uint32_t n;

	wf_lock(&b->lock);
	n = wf_at_count(b, object) + wf_at_count(b, wf_mutex_line(object));
	wf_unlock(&b->lock);
	return n;
}

__attribute__((unused)) static void
await_line(const void *object, uint32_t n)
{
	while (in_line(object) != n)
		weft_yield();
}

__attribute__((unused)) static void
await(int *word, int value)
{
	while (load(word) != value)
		weft_yield();
}

__attribute__((unused)) static void
yield_often(int n)
{
	for (int i = 0; i < n; i++)
		weft_yield();
}

/* In the body of a cancelled group. */
__attribute__((unused)) static void
wait_shielded(struct weft_wg *wg)
{
	weft_shield
	{
		EXPECT_EQ(weft_wg_wait(wg), 0);
	}
}

/* Ends a group while others are at it. */
struct cancels {
	struct weft_group *g;
};

__attribute__((unused)) static int
cancels(struct cancels *a)
{
	EXPECT_EQ(weft_cancel(a->g), 0);
	return 0;
}

/* A call that a plain thread makes. Static, where the thread outlives the run. */
struct thread_call {
	int (*fn)(void);
	int rc;
	pthread_t thread;
};

__attribute__((unused)) static void *
makes_call(void *arg)
{
	struct thread_call *c = arg;

	c->rc = c->fn();
	return NULL;
}

__attribute__((unused)) static void
start_call(struct thread_call *c)
{
	c->thread = start_thread(makes_call, c);
}

/* What the call returned. */
__attribute__((unused)) static int
join_call(struct thread_call *c)
{
	join_thread(c->thread);
	return c->rc;
}

/* Three goroutines that call fn(object) at once, and a plain thread if that is wanted. */
struct droppers {
	void (*fn)(void *object);
	void *object;
	bool with_thread;
	pthread_t thread;
	struct weft_wg wg;
};

struct drops {
	struct droppers *d;
};

__attribute__((unused)) static int
drops(struct drops *a)
{
	a->d->fn(a->d->object);
	return 0;
}

__attribute__((unused)) static void *
drops_on_thread(void *d)
{
	drops(&(struct drops){d});
	return NULL;
}

__attribute__((unused)) static void
start_droppers(struct droppers *d)
{
	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&d->wg, drops, d) > 0);
	if (d->with_thread)
		d->thread = start_thread(drops_on_thread, d);
}

__attribute__((unused)) static void
await_droppers(struct droppers *d)
{
	if (d->with_thread)
		join_thread(d->thread);
	EXPECT_EQ(weft_wg_wait(&d->wg), 0);
}

/* fn as a run of its own in a child process: it must end with status 2 and this text. */
static int (*fatal_fn)(void);

__attribute__((unused)) static int
call_fatal_fn(void)
{
	return fatal_fn();
}

__attribute__((unused)) static void
run_fatal_fn(void)
{
	weft_run(call_fatal_fn);
}

__attribute__((unused)) static void
expect_fatal(int (*fn)(void), const char *text)
{
	fatal_fn = fn;
	expect_dies(run_fatal_fn, text);
}

/* Bytes in use on the heap; 0 where a sanitizer has replaced it. */
__attribute__((unused)) static size_t
heap_in_use(void)
{
#ifdef LOCKS_COUNT_HEAP
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

struct counts_growth {
	void (*start)(void *shared, struct weft_wg *wg);
	void *shared;
};

/* The rounds, of ten, after which more of the heap was in use than before. */
__attribute__((unused)) static int
counts_growth(struct counts_growth *a)
{
	struct weft_wg wg = {0};
	int growing = 0;

	for (int round = 0; round < 10; round++) {
		size_t before = heap_in_use();

		a->start(a->shared, &wg);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		growing += heap_in_use() > before;
	}
	return growing;
}

/* A run in which start(shared, wg) starts goroutines that wait for each other. Their waits must not
   use the heap; threads that start meanwhile do, but not in every round. */
__attribute__((unused)) static void
expect_no_heap_use(void (*start)(void *shared, struct weft_wg *wg), void *shared)
{
	int growing = weft_run(counts_growth, start, shared);

	EXPECT(growing >= 0 && growing < 10);
}

#endif
