/* SPDX-License-Identifier: MIT */
/* t_go.c: starting goroutines: ids, arguments, attributes, many of them. */
#include "integ/helpers.h"

#include <errno.h>

static int
returns(void)
{
	return 0;
}

static int
ids_differ(void)
{
	enum { N = 2000 };
	static unsigned char seen[64 * N];
	struct weft_wg wg = {0};

	for (int i = 0; i < N; i++) {
		int64_t id = weft_wg_go(&wg, returns);

		EXPECT(id > 1);
		EXPECT(id < (int64_t)sizeof(seen));
		EXPECT_EQ(seen[id]++, 0);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(ids_are_unique)
{
	EXPECT_EQ(weft_run(ids_differ), 0);
}

static int64_t id_inside;

static int
tells_its_id(void)
{
	int64_t id = weft_id();

	weft_yield();
	EXPECT_EQ(weft_id(), id);
	store(&id_inside, id);
	return 0;
}

static int
compares_ids(void)
{
	struct weft_wg wg = {0};
	int64_t id = weft_wg_go(&wg, tells_its_id);

	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&id_inside), id);
	return 0;
}

TEST(id_is_the_one_that_go_returned)
{
	EXPECT_EQ(weft_id(), 0);
	EXPECT_EQ(weft_run(compares_ids), 0);
	EXPECT_EQ(weft_id(), 0);
}

struct largest {
	unsigned char b[WEFT_ARG_MAX];
};

static int
largest(struct largest *a)
{
	EXPECT_EQ((uintptr_t)a % 16, 0);
	for (int i = 0; i < WEFT_ARG_MAX; i++)
		EXPECT_EQ(a->b[i], i);
	memset(a, 0xff, sizeof(*a)); /* it is the goroutine's own */
	weft_yield();
	EXPECT_EQ(a->b[5], 0xff);
	return 0;
}

static int
passes_largest(void)
{
	struct weft_wg wg = {0};
	struct largest a;

	for (int i = 0; i < WEFT_ARG_MAX; i++)
		a.b[i] = (unsigned char)i;
	for (int i = 0; i < 100; i++) {
		static struct weft_site here = {.fn = (int (*)(void *))largest,
						.name = "largest",
						.file = __FILE__,
						.line = __LINE__};

		EXPECT(weft_spawn(&here, NULL, &wg, &a, sizeof(a)) > 1);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(arguments_up_to_the_limit_are_copied)
{
	EXPECT_EQ(weft_run(passes_largest), 0);
}

struct odd {
	char a;
	double d;
	long double l;
	struct {
		short s[3];
	} in;
};

static int
odd(struct odd *o)
{
	EXPECT_EQ(o->a, 'x');
	EXPECT(o->d == 2.5);
	EXPECT(o->l == 7.25L);
	EXPECT_EQ(o->in.s[2], 3);
	return 0;
}

static int
mixed_arguments(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, odd, .a = 'x', .in = {{1, 2, 3}}, .d = 2.5, .l = 7.25L) > 1);
	EXPECT(weft_wg_go(&wg, odd, 'x', 2.5, 7.25L, {{1, 2, 3}}) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(arguments_may_be_named_or_positional)
{
	EXPECT_EQ(weft_run(mixed_arguments), 0);
}

static int
refuses(void)
{
	static struct weft_site none = {.name = "none"};
	static struct weft_site good = {.fn = (int (*)(void *))(void (*)(void))returns,
					.name = "returns",
					.file = "",
					.line = 1};
	char arg[WEFT_ARG_MAX + 1] = {0};
	int64_t before = weft_count();

	EXPECT_EQ(weft_spawn(NULL, NULL, NULL, arg, 0), -EINVAL);
	EXPECT_EQ(weft_spawn(&none, NULL, NULL, arg, 0), -EINVAL);
	EXPECT_EQ(weft_spawn(&good, NULL, NULL, arg, sizeof(arg)), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.prio = 3), returns), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.prio = -1), returns), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.save = 4), returns), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.reserved_ = {0, 1}), returns), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.stack_bytes = (size_t)1 << 40), returns), -EINVAL);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.stack_bytes = SIZE_MAX), returns), -EINVAL);
	EXPECT_EQ(weft_count(), before);
	return 0;
}

TEST(bad_attributes_are_refused)
{
	EXPECT_EQ(weft_run(refuses), 0);
}

static int
refusals_in_a_row(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(20000); i++)
		EXPECT_EQ(weft_go_with(WEFT_ATTR(.prio = 3, .name = "x"), returns), -EINVAL);
	for (int i = 0; i < 500; i++)
		EXPECT(weft_wg_go(&wg, returns) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(refusals_leak_nothing)
{
	long pages;

	EXPECT_EQ(weft_run(refusals_in_a_row), 0);
	pages = resident_pages();
	EXPECT_EQ(weft_run(refusals_in_a_row), 0);
	expect_no_growth(pages, 256);
}

struct deep {
	int bytes;
};

__attribute__((noinline)) static int
touch(int bytes)
{
	volatile char frame[1024];

	frame[0] = (char)bytes;
	frame[1023] = frame[0];
	return bytes <= 0 ? frame[1023] : touch(bytes - 1024) + frame[0];
}

static int
deep(struct deep *a)
{
	touch(a->bytes);
	return 0;
}

static int
stack_sizes(void)
{
	struct weft_wg wg = {0};

	for (size_t bytes = 65536; bytes <= (size_t)64 << 20; bytes *= 4) {
		weft_wg_add(&wg, 1);
		EXPECT(weft_go_with(WEFT_ATTR(.stack_bytes = bytes), deep, (int)(bytes / 4)) > 1);
		weft_wg_done(&wg);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	while (weft_count() > 1)
		weft_yield();
	return 0;
}

TEST(stacks_are_as_deep_as_asked_for)
{
	EXPECT_EQ(weft_run(stack_sizes), 0);
}

static int
smallest(void)
{
	volatile int x = 3;

	return x;
}

static int
small_stacks(void)
{
	for (int i = 0; i < 200; i++)
		EXPECT(weft_go_with(WEFT_ATTR(.stack_bytes = 1), smallest) > 1);
	while (weft_count() > 1)
		weft_yield();
	return 0;
}

TEST(smallest_stack_runs_a_leaf)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
	SKIP("instrumented code needs more");
#endif
	EXPECT_EQ(weft_run(small_stacks), 0);
}

struct waits {
	struct weft_wg *gate;
	int64_t *up;
};

static int
waits(struct waits *a)
{
	__atomic_fetch_add(a->up, 1, __ATOMIC_RELAXED);
	return weft_wg_wait(a->gate);
}

static int
many_live(void)
{
	struct weft_wg gate = {0}, all = {0};
	int n = TEST_SLOW > 1 ? 5000 : 100000;
	int64_t up = 0;

	weft_wg_add(&gate, 1);
	for (int i = 0; i < n; i++)
		EXPECT(weft_wg_go(&all, waits, &gate, &up) > 1);
	while (load(&up) < n)
		weft_yield();
	EXPECT_EQ(weft_count(), n + 1);
	weft_wg_done(&gate);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	expect_alone();
	return 0;
}

/* SPAWN-1 */
TEST(hundred_thousand_live_goroutines)
{
	EXPECT_EQ(weft_run(many_live), 0);
}

struct chain {
	struct weft_wg *wg;
	int left;
	int *ran;
};

static int
chain(struct chain *a)
{
	add(a->ran, 1);
	if (a->left > 0)
		EXPECT(weft_wg_go(a->wg, chain, a->wg, a->left - 1, a->ran) > 1);
	return 0;
}

static int
long_chain(void)
{
	struct weft_wg wg = {0};
	int ran = 0, n = scaled(50000);

	EXPECT(weft_wg_go(&wg, chain, &wg, n, &ran) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(ran, n + 1);
	return 0;
}

TEST(goroutine_starts_goroutine_starts_goroutine)
{
	EXPECT_EQ(weft_run(long_chain), 0);
}

struct fib {
	int n;
	int64_t *result;
};

static int
fib(struct fib *a)
{
	struct weft_wg wg = {0};
	int64_t x = 0, y = 0;

	if (a->n < 2) {
		*a->result = a->n;
		return 0;
	}
	EXPECT(weft_wg_go(&wg, fib, a->n - 1, &x) > 1);
	EXPECT(weft_wg_go(&wg, fib, a->n - 2, &y) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	*a->result = x + y;
	return 0;
}

static int
fib_tree(void)
{
	int64_t result = 0;
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, fib, TEST_SLOW > 1 ? 12 : 20, &result) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(result, TEST_SLOW > 1 ? 144 : 6765);
	return 0;
}

TEST(fork_and_join_recursively)
{
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(weft_run(fib_tree), 0);
}

static int after_exit;

static void
deeper(volatile int *n)
{
	if (*n < 0)
		return;
	if (--*n == 0)
		weft_exit(5);
	deeper(n);
	after_exit++;
}

static int
exits_deep_down(void)
{
	volatile int n = 10;

	deeper(&n);
	after_exit++;
	return 0;
}

static int
exit_in_child(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 100; i++)
		EXPECT(weft_wg_go(&wg, exits_deep_down) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(after_exit, 0);
	return 0;
}

TEST(exit_ends_the_goroutine_from_any_depth)
{
	EXPECT_EQ(weft_run(exit_in_child), 0);
}

static int
exits_main(void)
{
	volatile int n = 3;

	deeper(&n);
	return 0;
}

TEST(exit_in_goroutine_1_is_the_result_of_the_run)
{
	EXPECT_EQ(weft_run(exits_main), 5);
}

static void *
exits_in_a_thread(void *arg)
{
	(void)arg;
	weft_exit(1);
}

static int
exit_outside(void)
{
	join_thread(start_thread(exits_in_a_thread, NULL));
	return 0;
}

static void
child_exit_outside(void)
{
	weft_run(exit_outside);
}

TEST(exit_outside_a_goroutine_is_fatal)
{
	expect_dies(child_exit_outside, "weft_exit was called outside a goroutine");
}
