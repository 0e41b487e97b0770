/* SPDX-License-Identifier: MIT */
/* t_rand.c: the source of randomness. qemu */
#include "test.h"

#include "base/rand.h"

TEST(same_seed_same_numbers)
{
	struct wf_rand a = {.s = test_seed()}, b = a, c = {.s = test_seed() + 1};
	int same = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t x = wf_rand64(&a);

		EXPECT_EQ(x, wf_rand64(&b));
		same += x == wf_rand64(&c);
	}
	EXPECT(same <= 1);
}

TEST(seed_zero_is_as_good_as_any)
{
	struct wf_rand r = {0};
	uint64_t all_or = 0, all_and = UINT64_MAX;

	for (int i = 0; i < 200; i++) {
		uint64_t x = wf_rand64(&r);

		all_or |= x;
		all_and &= x;
	}
	EXPECT_EQ(all_or, UINT64_MAX);
	EXPECT_EQ(all_and, 0);
}

TEST(below_stays_below_and_reaches_all)
{
	struct wf_rand r = {.s = test_seed()};

	for (uint32_t n = 1; n <= 100; n++) {
		int seen[100] = {0}, reached = 0;

		for (int i = 0; i < 4000; i++) {
			uint32_t x = wf_rand_below(&r, n);

			EXPECT(x < n);
			reached += seen[x]++ == 0;
		}
		EXPECT_EQ(reached, n);
	}
	for (int i = 0; i < 1000; i++)
		EXPECT(wf_rand_below(&r, UINT32_MAX) < UINT32_MAX);
}
