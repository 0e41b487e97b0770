/* SPDX-License-Identifier: MIT */
/*
 * test.h: the test harness.
 *
 *   #include "test.h"
 *
 *   TEST(steal_takes_half_of_odd)
 *   {
 *           EXPECT_EQ(steal(5), 3);
 *   }
 *
 * main() is in test.c. Every TEST runs in a fresh process, so a crash, a leak or a left-over
 * thread harms no other. The first EXPECT that fails ends its test at once, from any thread and
 * any goroutine.
 *
 *   t_file                 run all tests
 *   t_file --list          print their names
 *   t_file --match TEXT    run those whose name contains TEXT
 *   t_file --only NAME     run one in this process: the way to use a debugger
 *
 * Environment: WEFT_TEST_LIMIT  seconds per test (60), then the dump of the runtime is printed
 *              WEFT_TEST_SEED   replays the random choices of a failed run
 *              WEFT_TEST_WRAPPER  a program that runs the test program (an emulator)
 *              WEFT_TEST_FULL   set: test_full() is true
 * Exit status: 0 passed, 1 failed, 77 all skipped, 2 wrong use.
 *
 * Words in the first five lines of a test file tell tests/run where it belongs: not-tsan,
 * not-asan, not-torture, procs-2-only, full-only, fence-mode, qemu, long-running (more time).
 */
#ifndef WEFT_TEST_H
#define WEFT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_case {
	const char *name;
	void (*fn)(void);
	int line;
};

/* The linker gathers these; there is no list to forget. */
#define TEST(name)                                                                                 \
	static void test_fn_##name(void);                                                          \
	static const struct test_case test_case_##name = {#name, test_fn_##name, __LINE__};        \
	static const struct test_case *const test_ptr_##name                                       \
	    __attribute__((used, section("weft_tests"))) = &test_case_##name;                      \
	static void test_fn_##name(void)

#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond))                                                                       \
			test_fail(__FILE__, __LINE__, "EXPECT(%s)", #cond);                        \
	} while (0)

/* Integers and pointers; compared as 64-bit values. */
#define EXPECT_EQ(a, b)                                                                            \
	do {                                                                                       \
		_Static_assert(__builtin_classify_type(a) != 8 && __builtin_classify_type(b) != 8, \
			       "EXPECT_EQ is for integers and pointers");                          \
		long long test_a_ = (long long)(a), test_b_ = (long long)(b);                      \
		if (test_a_ != test_b_)                                                            \
			test_fail_eq(__FILE__, __LINE__, #a, #b, test_a_, test_b_);                \
	} while (0)

/* The text contains the part; prints the text when it does not. */
#define EXPECT_HAS(text, part)                                                                     \
	do {                                                                                       \
		const char *test_t_ = (text), *test_p_ = (part);                                   \
		if (!test_has(test_t_, test_p_))                                                   \
			test_fail(__FILE__, __LINE__, "no \"%s\" in %s:\n%s", test_p_, #text,      \
				  test_t_);                                                        \
	} while (0)

#define SKIP(why) test_skip(why)

void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, cold, format(printf, 3, 4)));
void test_fail_eq(const char *file, int line, const char *a, const char *b, long long va,
		  long long vb) __attribute__((noreturn, cold));
void test_skip(const char *why) __attribute__((noreturn, cold));
bool test_has(const char *text, const char *part);

/* The seed of this test: printed when it fails, replayed by WEFT_TEST_SEED. Never 0. */
uint64_t test_seed(void);

/* The next number of a small generator; *state starts at test_seed(). */
uint64_t test_rand(uint64_t *state);

/* True in a full run: repeat more, try more sizes. */
bool test_full(void);

/*
 * Runs fn in a child process, for fatal messages and exit statuses. The child's stdout and
 * stderr go to out, cut to n - 1 bytes and ended with 0. Returns the wait status (WIFEXITED and
 * so on); 0 when fn returned. Call it before this process has any other thread.
 */
int test_child(void (*fn)(void), char *out, size_t n);

#endif
