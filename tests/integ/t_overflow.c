/* SPDX-License-Identifier: MIT */
/* t_overflow.c: a goroutine that uses up its stack is named. */
#include "integ/helpers.h"

#include "core/self.h"

__attribute__((noinline)) static int
recurse_for_ever(volatile int *depth)
{
	volatile char frame[256];

	frame[0] = (char)++*depth;
	if (*depth < 0)
		return 0;
	return recurse_for_ever(depth) + frame[0];
}

static int
overruns(void)
{
	volatile int depth = 0;

	return recurse_for_ever(&depth);
}

static int
starts_it(void)
{
	struct weft_wg wg = {0};

	weft_wg_go(&wg, overruns);
	weft_wg_wait(&wg);
	return 0;
}

static void
child(void)
{
	weft_run(starts_it);
}

static void
expect_overflow(void)
{
	const char *out = expect_dies(child, "stack overflow");

	EXPECT_HAS(out, "overruns");
	EXPECT_HAS(out, "created by goroutine 1 at");
	EXPECT_HAS(out, "t_overflow.c:");
	EXPECT_HAS(out, ".stack_bytes");
}

TEST(overflow_names_the_goroutine)
{
	expect_overflow();
}

TEST(overflow_is_caught_by_mprotect_guards)
{
	setenv("WEFT_DEBUG", "guard=1", 1);
	expect_overflow();
}

TEST(overflow_is_caught_on_a_small_stack)
{
	setenv("WEFT_STACK", "32k", 1);
	expect_overflow();
}

static void
child_main(void)
{
	weft_run(overruns);
}

TEST(overflow_of_goroutine_1_is_named)
{
	EXPECT_HAS(expect_dies(child_main, "stack overflow"), "overruns");
}

/* Steps over the lowest bytes of its slot, as a canary can see, and returns. */
static int
spoils_canary(void)
{
	memset(wf_m()->g->stack, 0x5a, 64);
	return 0;
}

static int
starts_spoiler(void)
{
	struct weft_wg wg = {0};

	weft_wg_go(&wg, spoils_canary);
	weft_wg_wait(&wg);
	expect_alone(); /* the check comes at its very end */
	return 0;
}

static void
child_canary(void)
{
	setenv("WEFT_DEBUG", "guard=2", 1);
	setenv("WEFT_STACK", "32k", 1);
	weft_run(starts_spoiler);
}

TEST(canary_reports_at_the_end_of_the_goroutine)
{
#ifdef WF_ASAN
	SKIP("the sanitizer's stacks differ");
#endif
	EXPECT_HAS(expect_dies(child_canary, "stack overflow"), "spoils_canary");
}

static int
plain_fault(void)
{
	volatile uintptr_t nowhere = 16;

	*(volatile int *)nowhere = 1;
	return 0;
}

static void
child_fault(void)
{
	weft_run(plain_fault);
}

TEST(other_faults_are_not_called_overflow)
{
	static char out[65536];
	int status = test_child(child_fault, out, sizeof(out));

	EXPECT(!test_has(out, "stack overflow in goroutine"));
#ifndef WF_ASAN
#ifndef WF_TSAN
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), 11);
#endif
#endif
	EXPECT(status != 0);
}
