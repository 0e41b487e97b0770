/* SPDX-License-Identifier: MIT */
/* t_once.c: done once, and everybody has its result; what cannot end says so. fence-mode */
#include "integ/lockhelp.h"

static struct weft_once once;
static int calls, plain; /* plain: written by the function, and not atomic */

static int
initialise(void)
{
	yield_often(3);
	add(&calls, 1);
	plain = 42;
	return 7;
}

static int
calls_it(void)
{
	EXPECT_EQ(weft_once(&once, initialise), 7);
	EXPECT_EQ(plain, 42);
	return 0;
}

static void *
calls_it_on_thread(void *arg)
{
	calls_it();
	return arg;
}

static int
many_callers(void)
{
	struct weft_wg wg = {0};
	pthread_t t[3];

	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, calls_it) > 0);
	for (int i = 0; i < 3; i++)
		t[i] = start_thread(calls_it_on_thread, NULL);
	for (int i = 0; i < 3; i++)
		join_thread(t[i]);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(calls, 1);
	calls_it();
	return 0;
}

/* ONCE-1 */
TEST(all_callers_get_the_result_of_one_call)
{
	EXPECT_EQ(weft_once(&once, initialise), -ENOTSUP);
	for (int i = 0; i < 20; i++) {
		once = (struct weft_once){0};
		calls = 0;
		EXPECT_EQ(weft_run(many_callers), 0);
	}
	EXPECT_EQ(weft_run(calls_it), 0); /* done is done, in the next run too */
	EXPECT_EQ(calls, 1);
	EXPECT_EQ(weft_once(&once, initialise), -ENOTSUP);
}

static struct weft_wg gate;

static int
waits_at_gate(void)
{
	EXPECT_EQ(weft_wg_wait(&gate), 0);
	return -5;
}

static int
gets_minus_five(void)
{
	EXPECT_EQ(weft_once(&once, waits_at_gate), -5);
	return 0;
}

static int
function_that_blocks(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&gate, 1);
	for (int i = 0; i < 5; i++)
		EXPECT(weft_wg_go(&wg, gets_minus_five) > 0);
	await_line(&once, 4);
	weft_wg_done(&gate);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* ONCE-2 */
TEST(function_may_block_and_its_error_is_everybodys)
{
	EXPECT_EQ(weft_run(function_that_blocks), 0);
}

static int
gets_it_although_cancelled(void)
{
	EXPECT_EQ(weft_once(&once, waits_at_gate), -5);
	EXPECT(weft_cancelled());
	return 0;
}

static int
ignores_scopes(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&gate, 1);
	EXPECT(weft_wg_go(&wg, gets_minus_five) > 0);
	await_line(&gate, 1);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, gets_it_although_cancelled) > 0);
		await_line(&once, 1);
		weft_cancel(g);
		yield_often(10);
		EXPECT_EQ(in_line(&once), 1);
		weft_wg_done(&gate);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(late_callers_wait_whatever_their_scopes_say)
{
	EXPECT_EQ(weft_run(ignores_scopes), 0);
}

static struct weft_once inner;

static int
calls_another(void)
{
	return weft_once(&inner, initialise) + 1;
}

static int
nested(void)
{
	EXPECT_EQ(weft_once(&once, calls_another), 8);
	EXPECT_EQ(weft_once(&inner, initialise), 7);
	EXPECT_EQ(calls, 1);
	return 0;
}

TEST(function_may_use_another_once)
{
	EXPECT_EQ(weft_run(nested), 0);
}

struct frees {
	struct weft_once *o;
	int *left;
};

static int
quick(void)
{
	return 1;
}

static int
frees(struct frees *a)
{
	EXPECT_EQ(weft_once(a->o, quick), 1);
	if (add(a->left, -1) == 0) {
		memset(a->o, 0xff, sizeof(*a->o));
		free(a->o);
	}
	return 0;
}

static int
last_caller_frees(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < scaled(3000); i++) {
		struct weft_once *o = calloc(1, sizeof(*o));
		int left = 3;

		for (int k = 0; k < 3; k++)
			EXPECT(weft_wg_go(&wg, frees, o, &left) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	return 0;
}

/* ONCE-2, SYNC-1 */
TEST(the_last_caller_may_free_it)
{
	EXPECT_EQ(weft_run(last_caller_frees), 0);
}

/* ---- what cannot end */

static int
calls_itself(void)
{
	return weft_once(&once, calls_itself);
}

static int
recursion(void)
{
	return weft_once(&once, calls_itself);
}

static int
exits(void)
{
	weft_exit(0);
}

static int
leaves_by_exit(void)
{
	return weft_once(&once, exits);
}

/* ONCE-3 */
TEST(what_cannot_end_is_fatal)
{
	expect_fatal(recursion, "by the function that it runs");
	expect_fatal(leaves_by_exit, "weft_exit inside the function of a weft_once");
}

static int
cut_off(void)
{
	weft_wg_add(&gate, 1);
	EXPECT(weft_go(gets_minus_five) > 0);
	await_line(&gate, 1);
	return 0;
}

static void
two_runs(void)
{
	EXPECT_EQ(weft_run(cut_off), 0);
	weft_run(gets_minus_five);
}

/* ONCE-3 */
TEST(function_that_was_dropped_with_its_run_is_fatal)
{
	expect_dies(two_runs, "before the function returned");
}

static int
fails_to_wait(void)
{
	return weft_wg_wait(&gate) == 0 ? 0 : -9;
}

static int
runs_it(void)
{
	return weft_once(&once, fails_to_wait);
}

static struct thread_call runner = {.fn = runs_it}, late = {.fn = runs_it};

static int
ends_under_the_runner(void)
{
	weft_wg_add(&gate, 1);
	start_call(&runner);
	await_line(&gate, 1);
	start_call(&late);
	await_line(&once, 1);
	return 0;
}

static int
finds_it_done(void)
{
	return weft_once(&once, initialise);
}

/* ONCE-1: a thread that runs it finishes it, run or no run */
TEST(end_of_the_run_ends_the_wait_of_a_thread)
{
	EXPECT_EQ(weft_run(ends_under_the_runner), 0);
	EXPECT_EQ(join_call(&runner), -9);
	EXPECT_EQ(join_call(&late), -ENOTSUP);
	EXPECT_EQ(weft_run(finds_it_done), -9);
}
