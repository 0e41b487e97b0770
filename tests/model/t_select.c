/* SPDX-License-Identifier: MIT */
/*
 * t_select.c: the real select.c, against channel operations, other selects, close and cancel.
 *
 * As t_chan.c: an order of the operations must explain what they returned, where a select counts as
 * the case that fired. (SEL-1 to SEL-4, LIMBO-1)
 * sources: tests/model/mark.c src/wait/?*.c tests/model/mark.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "history.h"

/* ---- against senders and receivers */

PLAN(select_one, .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(1, 7)}})
SCENARIO(select_one) = {OF_TWO(select_one), .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};
SCENARIO(select_one_arm) = {OF_TWO(select_one), .model = SIM_ARM,
			    .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};

/* SEL-1: two wakers. */
PLAN(select_two_senders, .draws = true,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7)}, {DO_SEND(1, 8)}})
SCENARIO(select_two_senders) = {OF_THREE(select_two_senders),
				.mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS),
					    SIM_MUTANT(MUT_CHAN_NO_RECHECK),
					    SIM_MUTANT(MUT_WAITER_READ_LATE)}};

/* SEL-4: what one select leaves behind the next one finds. */
PLAN(select_again,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1))), DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))},
	     {DO_SEND(0, 7)},
	     {DO_SEND(1, 8)}})
SCENARIO(select_again) = {OF_THREE(select_again), .mutants = {SIM_MUTANT(MUT_CHAN_LOSER_STAYS),
							      SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};
SCENARIO(select_again_in_time) = {IN_TIME_THREE(select_again)};

PLAN(select_sends, .cap = {1, 0},
     .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(SEND(1, 8))),
	      DO_SELECT(CASE(SEND(0, 9)), CASE(SEND(1, 10)))},
	     {DO_RECV(0)},
	     {DO_RECV(1)}})
SCENARIO(select_sends) = {OF_THREE(select_sends), .mutants = {SIM_MUTANT(MUT_CHAN_LOSER_STAYS)}};

/* ---- against each other */

PLAN(select_select, .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1)))},
			    {DO_SELECT(CASE(RECV(0)), CASE(SEND(1, 8)))}})
SCENARIO(select_select) = {OF_TWO(select_select), .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};
SCENARIO(select_select_arm) = {OF_TWO(select_select), .model = SIM_ARM,
			       .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};
SCENARIO(select_select_in_time) = {IN_TIME_TWO(select_select)};

/* Named in opposite orders: the locks are taken in one. */
PLAN(select_select_twice,
     .ops = {
	 {DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1))), DO_SELECT(CASE(SEND(1, 9)), CASE(RECV(0)))},
	 {DO_SELECT(CASE(SEND(1, 8)), CASE(RECV(0))), DO_SELECT(CASE(SEND(0, 10)), CASE(RECV(1)))}})
SCENARIO(select_select_twice) = {OF_TWO(select_select_twice),
				 .mutants = {SIM_MUTANT(MUT_CHAN_LOSER_STAYS)}};

PLAN(select_three, .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1)))},
			   {DO_SELECT(CASE(RECV(0)), CASE(SEND(1, 8)))},
			   {DO_SELECT(CASE(RECV(1)), CASE(RECV(0)))}})
SCENARIO(select_three) = {
    OF_THREE(select_three), .max_bound = 1, .random = 20000,
    .mutants = {SIM_MUTANT(MUT_CHAN_LOSER_STAYS), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

/* ---- one channel in both cases */

PLAN(select_same_twice,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(0))), DO_SELECT(CASE(RECV(0)), CASE(RECV(0)))},
	     {DO_SEND(0, 7)},
	     {DO_SEND(0, 8)}})
SCENARIO(select_same_twice) = {
    OF_THREE(select_same_twice),
    .mutants = {SIM_MUTANT(MUT_CHAN_LOSER_STAYS), SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};

/* Nobody meets himself. */
PLAN(select_both_ways, .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(0)))},
			       {DO_SELECT(CASE(SEND(0, 8)), CASE(RECV(0)))}})
SCENARIO(select_both_ways) = {OF_TWO(select_both_ways),
			      .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};
SCENARIO(select_both_ways_arm) = {OF_TWO(select_both_ways), .model = SIM_ARM};

PLAN(select_both_ways_three, .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(0)))},
				     {DO_SELECT(CASE(SEND(0, 8)), CASE(RECV(0)))},
				     {DO_RECV(0)}})
SCENARIO(select_both_ways_three) = {OF_THREE(select_both_ways_three)};

/* ---- with a default case, close, cancel */

PLAN(select_poll, .cap = {1, 0}, .draws = true,
     .ops = {{DO_POLL(CASE(RECV(0)), CASE(RECV(1))), DO_POLL(CASE(RECV(0)), CASE(RECV(1)))},
	     {DO_SEND(0, 7)},
	     {DO_SEND(1, 8)}})
SCENARIO(select_poll) = {OF_THREE(select_poll)};
SCENARIO(select_poll_in_time) = {IN_TIME_THREE(select_poll)};

PLAN(select_closed,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(SEND(1, 7)))}, {DO_CLOSE(0)}, {DO_CLOSE(1)}})
SCENARIO(select_closed) = {OF_THREE(select_closed), .mutants = {SIM_MUTANT(MUT_CHAN_NO_RECHECK),
								SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

PLAN(select_cancel_alone, .grouped = {true},
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_CANCEL(0)}})
SCENARIO(select_cancel_alone) = {OF_TWO(select_cancel_alone),
				 .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)}};
SCENARIO(select_cancel_alone_arm) = {OF_TWO(select_cancel_alone), .model = SIM_ARM,
				     .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)}};

PLAN(select_cancel, .grouped = {true},
     .ops = {
	 {DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(1, 7)}, {DO_CANCEL(0), DO_RECV(1)}})
SCENARIO(select_cancel) = {OF_THREE(select_cancel), .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS),
								SIM_MUTANT(MUT_CHAN_LOSER_STAYS)}};

/* ---- the other channel is freed as soon as the select has fired: LIMBO-1 */

PLAN(select_then_free,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7), DO_FREE(1)}})
SCENARIO(select_then_free) = {
    OF_TWO(select_then_free),
    .mutants = {SIM_MUTANT(MUT_LIMBO_SKIPPED), SIM_MUTANT(MUT_WAITER_NEXT_LATE)}};
SCENARIO(select_then_free_arm) = {
    OF_TWO(select_then_free), .model = SIM_ARM,
    .mutants = {SIM_MUTANT(MUT_LIMBO_SKIPPED), SIM_MUTANT(MUT_WAITER_NEXT_LATE)}};

PLAN(select_then_free_fenced, .fenced = true,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7), DO_FREE(1)}})
SCENARIO(select_then_free_fenced) = {
    OF_TWO(select_then_free_fenced),
    .mutants = {SIM_MUTANT(MUT_LIMBO_SKIPPED), SIM_MUTANT(MUT_LIMBO_NO_FENCE)}};

PLAN(select_then_free_biased, .holds_p = {true, true}, .biased = 3,
     .ops = {{DO_SELECT(CASE(RECV(1)), CASE(SEND(0, 8)))}, {DO_RECV(0), DO_FREE(1)}})
SCENARIO(select_then_free_biased) = {
    OF_TWO(select_then_free_biased),
    .mutants = {SIM_MUTANT(MUT_LIMBO_SKIPPED), SIM_MUTANT(MUT_WAITER_NEXT_LATE)}};

/* ---- biased channels: CHAN-5 */

PLAN(select_biased, .holds_p = {true}, .biased = 3,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7)}, {DO_SEND(1, 8)}})
SCENARIO(select_biased) = {OF_THREE(select_biased), .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER),
								SIM_MUTANT(MUT_CHAN_NO_RECHECK)}};

/* Only one of the two is. */
PLAN(select_half_biased, .holds_p = {true, true}, .biased = 1,
     .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1))), DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))},
	     {DO_SEND(0, 7), DO_SEND(1, 8)}})
SCENARIO(select_half_biased) = {OF_TWO(select_half_biased)};

PLAN(select_biased_select, .holds_p = {true, true}, .biased = 3,
     .ops = {
	 {DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1))), DO_SELECT(CASE(SEND(1, 9)), CASE(RECV(0)))},
	 {DO_SELECT(CASE(SEND(1, 8)), CASE(RECV(0))), DO_SELECT(CASE(SEND(0, 10)), CASE(RECV(1)))}})
SCENARIO(select_biased_select) = {OF_TWO(select_biased_select),
				  .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};
SCENARIO(select_biased_select_arm) = {OF_TWO(select_biased_select), .model = SIM_ARM};

/* ---- goroutines */

/* SEL-3: it has its value, and is gone with its cases and both channels, while its commit ends. */
GO_PLAN(select_go,
	.ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1))), DO_GONE(0), DO_GONE(1)}, {DO_SEND(1, 7)}})
SCENARIO(select_go) = {GO_TWO(select_go), .mutants = {SIM_MUTANT(MUT_CHAN_COMMIT_LATE),
						      SIM_MUTANT(MUT_PARK_COMMIT_EARLY)}};

GO_PLAN(select_go_biased, .biased = 3,
	.ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1))), DO_GONE(0), DO_GONE(1)}, {DO_SEND(1, 7)}})
SCENARIO(select_go_biased) = {GO_TWO(select_go_biased),
			      .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

GO_PLAN(select_go_two_senders,
	.ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7)}, {DO_SEND(1, 8)}})
SCENARIO(select_go_two_senders) = {
    GO_THREE(select_go_two_senders), .max_bound = 1, .random = 20000,
    .mutants = {SIM_MUTANT(MUT_CHAN_COMMIT_LATE), SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

GO_PLAN(select_go_cancel, .grouped = {true},
	.ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(1, 7)}, {DO_CANCEL(0)}})
SCENARIO(select_go_cancel) = {GO_THREE(select_go_cancel), .max_bound = 1, .random = 20000,
			      .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

GO_GO_PLAN(select_go_go, .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1))),
				  DO_SELECT(CASE(SEND(1, 9)), CASE(RECV(0)))},
				 {DO_SELECT(CASE(SEND(1, 8)), CASE(RECV(0))),
				  DO_SELECT(CASE(SEND(0, 10)), CASE(RECV(1)))}})
SCENARIO(select_go_go) = {GO_GO(select_go_go)};

GO_GO_PLAN(select_go_go_plain, .cap = {1},
	   .ops = {{DO_SELECT(CASE(SEND(0, 7)), CASE(RECV(1)))},
		   {DO_SELECT(CASE(SEND(1, 8)), CASE(RECV(0)))},
		   {DO_RECV(0), DO_SEND(1, 9)}})
SCENARIO(select_go_go_plain) = {GO_GO_THREE(select_go_go_plain), .max_bound = 1, .random = 20000};

/* From hand to hand, beside a thief. */
GO_SAME_PLAN(select_go_same, .biased = 3,
	     .ops = {{DO_SEND(1, 7), DO_GONE(1)},
		     {DO_SELECT(CASE(RECV(0)), CASE(RECV(1))), DO_GONE(0)}})
SCENARIO(select_go_same) = {GO_GO(select_go_same), .mutants = {SIM_MUTANT(MUT_CHAN_RESULT_LATE)}};

GO_SAME_PLAN(select_go_same_sends, .biased = 3,
	     .ops = {{DO_RECV(1), DO_GONE(1)},
		     {DO_SELECT(CASE(SEND(0, 7)), CASE(SEND(1, 8))), DO_GONE(0)}})
SCENARIO(select_go_same_sends) = {GO_GO(select_go_same_sends),
				  .mutants = {SIM_MUTANT(MUT_CHAN_RESULT_LATE)}};

GO_PLAN(select_go_then_free,
	.ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}, {DO_SEND(0, 7), DO_FREE(1)}})
SCENARIO(select_go_then_free) = {
    GO_TWO(select_go_then_free),
    .mutants = {SIM_MUTANT(MUT_LIMBO_SKIPPED), SIM_MUTANT(MUT_WAITER_NEXT_LATE)}};

/* ---- a sleep: it is in no queue, and nobody's lock keeps it */

/* SLEEP-2: cancelled, and gone with its group, while its commit looks whether that is cancelled. */
GO_PLAN(sleep_go_cancel, .grouped = {true}, .ops = {{DO_SLEEP}, {DO_CANCEL(0)}})
SCENARIO(sleep_go_cancel) = {GO_TWO(sleep_go_cancel), .mutants = {SIM_MUTANT(MUT_SLEEP_LEAVES)}};
