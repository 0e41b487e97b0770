/* SPDX-License-Identifier: MIT */
/* t_stealorder.c: the random walk over the Ps. qemu */
#include "test.h"

#include "sched/steal.h"

#include "sched/sched.h"

#include <string.h>

enum { MOST = 64 };

/* STEAL-1 */
TEST(every_start_and_stride_visits_each_once)
{
	for (uint32_t n = 1; n <= MOST; n++) {
		wf_steal_order_init(n);
		for (uint32_t start = 0; start < n; start++)
			for (uint32_t stride = 0; stride < n; stride++) {
				unsigned char seen[MOST] = {0};
				struct wf_steal_walk w;
				uint32_t p, visits = 0;

				wf_steal_walk_begin(&w, start, stride);
				while (wf_steal_walk_next(&w, &p)) {
					EXPECT(p < n);
					EXPECT_EQ(seen[p]++, 0);
					visits++;
				}
				EXPECT_EQ(visits, n);
				EXPECT(!wf_steal_walk_next(&w, &p));
			}
	}
}

TEST(three_procs_or_more_have_at_least_two_strides)
{
	for (uint32_t n = 3; n <= 1024; n++) {
		struct wf_steal_walk a, b;

		wf_steal_order_init(n);
		wf_steal_walk_begin(&a, 0, 0);
		wf_steal_walk_begin(&b, 0, 1);
		EXPECT(a.stride % n != b.stride % n);
	}
}

TEST(start_and_stride_are_chosen_independently)
{
	/* 61: prime, so 60 strides; every pair of start and stride can come up */
	static unsigned char pair[61][61];
	int pairs = 0;

	wf_steal_order_init(61);
	for (uint32_t i = 0; i < 61; i++)
		for (uint32_t k = 0; k < 60; k++) {
			struct wf_steal_walk w;

			wf_steal_walk_begin(&w, i, k);
			pairs += pair[w.at][w.stride % 61]++ == 0;
		}
	EXPECT_EQ(pairs, 61 * 60);
}
