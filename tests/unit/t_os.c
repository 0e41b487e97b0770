/* SPDX-License-Identifier: MIT */
/* t_os.c: what the system is asked, where the answer is easily wrong. */
#include "test.h"

#include "base/os.h"
#include "base/probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STAY = 300, CHURN = 4, ROUNDS = 300 };

static pthread_barrier_t here, gone;

static void *
stays(void *arg)
{
	pthread_barrier_wait(&here);
	pthread_barrier_wait(&gone);
	return arg;
}

static void *
ends(void *arg)
{
	return arg;
}

static void *
churns(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t;

		EXPECT_EQ(pthread_create(&t, NULL, ends, NULL), 0);
		pthread_join(t, NULL);
	}
	return arg;
}

TEST(no_thread_is_missed_while_others_end)
{
	pthread_t stay[STAY], churn[CHURN];

	pthread_barrier_init(&here, NULL, STAY + 1);
	pthread_barrier_init(&gone, NULL, STAY + 1);
	for (int i = 0; i < STAY; i++)
		EXPECT_EQ(pthread_create(&stay[i], NULL, stays, NULL), 0);
	pthread_barrier_wait(&here);
	for (int i = 0; i < CHURN; i++)
		EXPECT_EQ(pthread_create(&churn[i], NULL, churns, NULL), 0);
	for (int i = 0; i < ROUNDS; i++)
		EXPECT(os_thread_count() >= STAY + 1);
	for (int i = 0; i < CHURN; i++)
		pthread_join(churn[i], NULL);
	pthread_barrier_wait(&gone);
	for (int i = 0; i < STAY; i++)
		pthread_join(stay[i], NULL);
}

TEST(memory_that_is_not_there_is_not_read)
{
	char from[8] = "weft", to[8] = {0};

	if (os_peek(from, to, sizeof(to)) == -ENOSYS)
		SKIP("the system cannot copy memory safely");
	EXPECT_EQ(os_peek(from, to, sizeof(to)), 0);
	EXPECT_EQ(strcmp(to, "weft"), 0);
	EXPECT(os_peek((const void *)8, to, sizeof(to)) < 0);
	EXPECT(os_peek(NULL, to, sizeof(to)) < 0);
}

/* One, a few, and more than one call takes: what was asked for reads as zero, and nothing else does. */
TEST(a_part_of_each_block_is_given_back)
{
	enum { MOST = 70, PAGES = 3 };
	static const uint32_t counts[] = {1, 2, 64, MOST};
	size_t page = os_page_bytes();
	char *all;
	void *at[MOST];

	EXPECT_EQ(os_reserve(MOST * PAGES * page, page, (void **)&all), 0);
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		memset(all, 1, MOST * PAGES * page);
		for (uint32_t i = 0; i < MOST; i++)
			at[i] = all + i * PAGES * page;
		os_discard_each(at, counts[k], page, page);
		for (uint32_t i = 0; i < MOST; i++) {
			const char *b = at[i];

			EXPECT_EQ(b[page - 1], 1);
			EXPECT_EQ(b[page], i < counts[k] ? 0 : 1);
			EXPECT_EQ(b[2 * page - 1], i < counts[k] ? 0 : 1);
			EXPECT_EQ(b[2 * page], 1);
		}
	}
	os_release(all, MOST * PAGES * page);
}

/* What another reader of the same line says, or what came since; it never goes back. */
TEST(stolen_time_is_what_the_kernel_says)
{
	long ticks = sysconf(_SC_CLK_TCK);
	unsigned long long steal = 0;
	FILE *f = fopen("/proc/stat", "r");
	int64_t before;

	if (!f)
		SKIP("no /proc/stat");
	EXPECT_EQ(fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal), 1);
	fclose(f);
	before = (int64_t)steal * (1000000000 / ticks);
	for (int i = 0; i < 10; i++) {
		int64_t now = os_stolen_ns();

		EXPECT(now >= before);
		before = now;
	}
}
