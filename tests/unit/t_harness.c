/* SPDX-License-Identifier: MIT */
/* t_harness.c: the test harness tested with itself. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void
returns(void)
{
	printf("to stdout\n");
	fflush(stdout);
	fprintf(stderr, "to stderr\n");
}

static void
exits_with_9(void)
{
	exit(9);
}

static void
dies_of_term(void)
{
	raise(SIGTERM);
}

static void
fails_plainly(void)
{
	EXPECT(1 + 1 == 3);
}

static void
fails_with_two_sides(void)
{
	size_t five = 5;
	EXPECT_EQ(five, 7);
}

static void
skips(void)
{
	SKIP("not today");
}

static void
waits_for_its_alarm(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		pause();
}

static void
prints_a_lot(void)
{
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", stdout);
}

TEST(child_that_returns_has_status_0_and_both_outputs)
{
	char out[64];
	EXPECT_EQ(test_child(returns, out, sizeof(out)), 0);
	EXPECT_HAS(out, "to stdout\n");
	EXPECT_HAS(out, "to stderr\n");
}

TEST(child_status_is_passed_on)
{
	char out[64];
	int status = test_child(exits_with_9, out, sizeof(out));
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 9);
	EXPECT_EQ(out[0], 0);
}

TEST(child_signal_is_passed_on)
{
	char out[64];
	int status = test_child(dies_of_term, out, sizeof(out));
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(child_that_waits_is_waited_for)
{
	char out[64];
	int status = test_child(waits_for_its_alarm, out, sizeof(out));
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGALRM);
}

TEST(long_output_is_cut_not_blocking)
{
	char out[32];
	EXPECT_EQ(test_child(prints_a_lot, out, sizeof(out)), 0);
	EXPECT_EQ(strlen(out), sizeof(out) - 1);
}

TEST(failed_expect_names_the_line_and_the_condition)
{
	char out[512];
	int status = test_child(fails_plainly, out, sizeof(out));
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 1);
	EXPECT_HAS(out, "t_harness.c:");
	EXPECT_HAS(out, "EXPECT(1 + 1 == 3)");
}

TEST(failed_equality_prints_both_sides)
{
	char out[512];
	int status = test_child(fails_with_two_sides, out, sizeof(out));
	EXPECT_EQ(WEXITSTATUS(status), 1);
	EXPECT_HAS(out, "EXPECT_EQ(five, 7)");
	EXPECT_HAS(out, "left:  5");
	EXPECT_HAS(out, "right: 7");
}

TEST(skip_has_its_own_status_and_reason)
{
	char out[64];
	int status = test_child(skips, out, sizeof(out));
	EXPECT_EQ(WEXITSTATUS(status), 77);
	EXPECT_HAS(out, "not today");
}

TEST(equality_takes_integers_and_pointers)
{
	int x = 0;
	unsigned long big = ~0ul;
	EXPECT_EQ(&x, &x);
	EXPECT_EQ(x, 0u);
	EXPECT_EQ(big, ~0ul);
	EXPECT_EQ((uint8_t)255, 255);
}

TEST(seed_is_stable_and_random_numbers_follow_from_it)
{
	uint64_t a = test_seed(), b = test_seed();
	EXPECT(a != 0);
	EXPECT_EQ(a, b);
	EXPECT_EQ(test_rand(&a), test_rand(&b));
	EXPECT(test_rand(&a) != test_seed());
}
