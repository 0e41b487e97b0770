/* SPDX-License-Identifier: MIT */
/* t_alloc.c: operations in a steady state allocate nothing.
   not-asan not-tsan: they have replaced malloc, as this test does */
#include "integ/helpers.h"

#include <errno.h>

/* ---- every allocation of the process is counted */

static int64_t allocations;

#if defined(__GLIBC__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

void *
malloc(size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_malloc(bytes);
}

void *
calloc(size_t n, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_calloc(n, bytes);
}

void *
realloc(void *p, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_realloc(p, bytes);
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_memalign(align, bytes);
}
#endif

/* Does the count work at all? */
static void
needs_count(void)
{
	int64_t before = load(&allocations);
	void *volatile p = malloc(10);

	free(p);
	if (load(&allocations) == before)
		SKIP("allocations cannot be counted here");
}

/* A thread may start at any time, and takes a few. */
static int64_t
of_threads(void)
{
	return 4 * weft_procs();
}

static void
measure(const char *what, void (*fn)(int), int n)
{
	int64_t before, got;

	fn(n); /* whatever is made once: threads, stacks, Gs */
	fn(n);
	before = load(&allocations);
	fn(n);
	got = load(&allocations) - before;
	if (got > of_threads())
		test_fail(__FILE__, __LINE__, "%s: %lld allocations in %d rounds", what,
			  (long long)got, n);
}

/* ---- */

static weft_chan(int64_t) ping, pong, wide;

struct echo {
	int n;
};

static int
echo(struct echo *a)
{
	int64_t v;

	for (int i = 0; i < a->n; i++) {
		EXPECT_EQ(weft_recv(ping, &v), 1);
		EXPECT_EQ(weft_send(pong, v + 1), 0);
	}
	return 0;
}

static void
ping_pong(int n)
{
	struct weft_wg wg = {0};
	int64_t v;

	weft_wg_go(&wg, echo, n);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(weft_send(ping, i), 0);
		EXPECT_EQ(weft_recv(pong, &v), 1);
		EXPECT_EQ(v, i + 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
}

struct stream {
	int n;
};

static int
stream(struct stream *a)
{
	for (int i = 0; i < a->n; i++)
		EXPECT_EQ(weft_send(wide, i), 0);
	return 0;
}

static void
streams(int n)
{
	struct weft_wg wg = {0};
	int64_t v;

	for (int i = 0; i < 4; i++)
		weft_wg_go(&wg, stream, n);
	for (int i = 0; i < 4 * n; i++)
		EXPECT_EQ(weft_recv(wide, &v), 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
}

static int
chooser(void)
{
	int64_t v = 0;

	while (v >= 0)
		EXPECT(weft_select(WEFT_RECV(ping, &v), WEFT_RECV(pong, &v), WEFT_RECV(wide, &v)) >=
		       0);
	return 0;
}

static void
selects(int n)
{
	struct weft_wg wg = {0};

	weft_wg_go(&wg, chooser);
	for (int i = 0; i < n; i++) {
		EXPECT(weft_select(WEFT_SEND(ping, i), WEFT_SEND(pong, i), WEFT_SEND(wide, i)) >=
		       0);
		EXPECT(weft_select(WEFT_SEND(ping, i), WEFT_DEFAULT) >= 0);
		EXPECT(weft_select(WEFT_SEND(pong, i), WEFT_SEND(ping, i), WEFT_DEFAULT) >= 0);
		weft_try_recv(wide, NULL);
	}
	EXPECT_EQ(weft_send(pong, -1), 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	while (weft_try_recv(wide, NULL) > 0)
		;
}

static int
waits(void)
{
	return weft_recv(ping, NULL) == -ECANCELED ? 0 : -EIO;
}

static int
nothing(void)
{
	return 0;
}

static void
groups(int n)
{
	for (int i = 0; i < n; i++) {
		int rc = 0;

		weft_group(g, &rc) {
			EXPECT(weft_go_in(g, waits) > 0);
			EXPECT(weft_go_in(g, nothing) > 0);
			weft_yield();
			weft_cancel(g);
		}
		EXPECT_EQ(rc, 0);
		weft_group(g, &rc) {
			EXPECT_EQ(weft_group_limit(g, 2), 0);
			for (int k = 0; k < 6; k++)
				EXPECT(weft_go_in(g, nothing) > 0);
		}
		weft_timeout(0)
			weft_shield weft_yield();
	}
}

static int
steady(void)
{
	int n = scaled(5000);

	ping = weft_make(int64_t, 0);
	pong = weft_make(int64_t, 0);
	wide = weft_make(int64_t, 64);
	measure("ping-pong", ping_pong, n);
	measure("streams", streams, n);
	measure("selects", selects, n);
	measure("groups", groups, n);
	weft_free(ping);
	weft_free(pong);
	weft_free(wide);
	return 0;
}

TEST(steady_state_allocates_nothing)
{
	needs_count();
	EXPECT_EQ(weft_run(steady), 0);
}

static int
one_each(void)
{
	int64_t before = load(&allocations), got;

	for (int i = 0; i < 1000; i++) {
		weft_chan(int) ch = weft_make(int, 10);

		EXPECT(ch != NULL);
		weft_free(ch);
	}
	got = load(&allocations) - before;
	EXPECT(got >= 1000 && got <= 1000 + of_threads());
	return 0;
}

TEST(a_channel_is_one_allocation)
{
	needs_count();
	EXPECT_EQ(weft_run(one_each), 0);
}
