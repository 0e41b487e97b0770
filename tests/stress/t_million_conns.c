/* SPDX-License-Identifier: MIT */
/* t_million_conns.c: a million connections, one after another, leave nothing behind.
   full-only procs-2-only long-running not-tsan not-asan not-torture */
#define _GNU_SOURCE 1
#include "stress/conns.h"

TEST(a_million_connections_leave_nothing)
{
	EXPECT_EQ(weft_run(churn, 1000000), 0);
}
