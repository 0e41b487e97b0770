/* SPDX-License-Identifier: MIT */
/*
 * t_chan.c: send, receive, close, cancel and free: the real chan.c, and below it scope.c, group.c,
 * the claim, and park.c.
 *
 * Two or three parties run short lists of operations. What they return must be explained by an
 * order of them; values are received once, or still with their sender; whoever sleeps at the end
 * has reason to. A channel is gone as soon as its last user has what he wanted. (CHAN-1 to
 * CHAN-6, PARK-4, GST-4, SYNC-1, WAIT-1 to WAIT-4)
 * sources: tests/model/mark.c src/wait/?*.c tests/model/mark.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "history.h"

/* ---- two parties, and the channel is gone: CHAN-2 */

PLAN(chan_then_gone, .ops = {{DO_SEND(0, 7)}, {DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_then_gone) = {OF_TWO(chan_then_gone), .mutants = {SIM_MUTANT(MUT_CHAN_READY_LOCKED)}};
SCENARIO(chan_then_gone_arm) = {OF_TWO(chan_then_gone), .model = SIM_ARM,
				.mutants = {SIM_MUTANT(MUT_CHAN_READY_LOCKED)}};

PLAN(chan_then_gone_1, .cap = {1}, .ops = {{DO_SEND(0, 7)}, {DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_then_gone_1) = {
    OF_TWO(chan_then_gone_1),
    .mutants = {SIM_MUTANT(MUT_CHAN_READY_LOCKED), SIM_MUTANT(MUT_CHAN_TOUCH_UNLOCKED)}};

/* The last value, then the end, then gone. */
PLAN(chan_closed_then_gone,
     .ops = {{DO_SEND(0, 7), DO_CLOSE(0)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_closed_then_gone) = {OF_TWO(chan_closed_then_gone)};

PLAN(chan_closed_then_gone_1, .cap = {1},
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8), DO_CLOSE(0)},
	     {DO_RECV(0), DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_closed_then_gone_1) = {OF_TWO(chan_closed_then_gone_1)};
SCENARIO(chan_closed_then_gone_1_arm) = {OF_TWO(chan_closed_then_gone_1), .model = SIM_ARM};

PLAN(chan_wraps, .cap = {2},
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8), DO_SEND(0, 9), DO_SEND(0, 10)},
	     {DO_RECV(0), DO_RECV(0), DO_RECV(0), DO_RECV(0)}})
SCENARIO(chan_wraps) = {OF_TWO(chan_wraps)};

/* ---- three parties: send, receive, close */

PLAN(chan_close, .ops = {{DO_SEND(0, 7)}, {DO_RECV(0)}, {DO_CLOSE(0)}})
SCENARIO(chan_close) = {OF_THREE(chan_close)};
SCENARIO(chan_close_arm) = {OF_THREE(chan_close), .model = SIM_ARM};
SCENARIO(chan_close_in_time) = {IN_TIME_THREE(chan_close)};

PLAN(chan_close_1, .cap = {1},
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0)}, {DO_CLOSE(0)}})
SCENARIO(chan_close_1) = {OF_THREE(chan_close_1)};
SCENARIO(chan_close_1_in_time) = {IN_TIME_THREE(chan_close_1)};

PLAN(chan_two_senders,
     .ops = {{DO_SEND(0, 7)}, {DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_two_senders) = {OF_THREE(chan_two_senders),
			      .mutants = {SIM_MUTANT(MUT_CHAN_READY_LOCKED)}};
SCENARIO(chan_two_senders_in_time) = {IN_TIME_THREE(chan_two_senders)};

PLAN(chan_two_senders_1, .cap = {1},
     .ops = {{DO_SEND(0, 7)},
	     {DO_SEND(0, 8), DO_SEND(0, 9)},
	     {DO_RECV(0), DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_two_senders_1) = {OF_THREE(chan_two_senders_1),
				.mutants = {SIM_MUTANT(MUT_CHAN_TOUCH_UNLOCKED)}};
SCENARIO(chan_two_senders_1_in_time) = {IN_TIME_THREE(chan_two_senders_1)};

PLAN(chan_two_receivers, .ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0)}, {DO_RECV(0)}})
SCENARIO(chan_two_receivers) = {OF_THREE(chan_two_receivers)};
SCENARIO(chan_two_receivers_in_time) = {IN_TIME_THREE(chan_two_receivers)};

/* WAIT-3 */
PLAN(chan_close_wakes_receivers, .ops = {{DO_CLOSE(0)}, {DO_RECV(0)}, {DO_RECV(0)}})
SCENARIO(chan_close_wakes_receivers) = {OF_THREE(chan_close_wakes_receivers),
					.mutants = {SIM_MUTANT(MUT_CHAN_TOUCH_READIED)}};

PLAN(chan_close_wakes_senders, .cap = {1},
     .ops = {{DO_CLOSE(0)}, {DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_SEND(0, 9)}})
SCENARIO(chan_close_wakes_senders) = {OF_THREE(chan_close_wakes_senders),
				      .mutants = {SIM_MUTANT(MUT_CHAN_TOUCH_READIED)}};

PLAN(chan_close_twice, .ops = {{DO_CLOSE(0)}, {DO_CLOSE(0)}, {DO_SEND(0, 7)}})
SCENARIO(chan_close_twice) = {OF_THREE(chan_close_twice)};
SCENARIO(chan_close_twice_in_time) = {IN_TIME_THREE(chan_close_twice)};

/* ---- those who do not wait */

PLAN(chan_try, .ops = {{DO_TRY_SEND(0, 7), DO_TRY_SEND(0, 8)}, {DO_RECV(0)}, {DO_TRY_RECV(0)}})
SCENARIO(chan_try) = {OF_THREE(chan_try)};
SCENARIO(chan_try_in_time) = {IN_TIME_THREE(chan_try)};

PLAN(chan_try_1, .cap = {1},
     .ops = {
	 {DO_TRY_SEND(0, 7), DO_TRY_SEND(0, 8)}, {DO_SEND(0, 9)}, {DO_TRY_RECV(0), DO_TRY_RECV(0)}})
SCENARIO(chan_try_1) = {OF_THREE(chan_try_1)};
SCENARIO(chan_try_1_in_time) = {IN_TIME_THREE(chan_try_1)};

PLAN(chan_try_close_1, .cap = {1},
     .ops = {
	 {DO_TRY_SEND(0, 7), DO_CLOSE(0)}, {DO_TRY_RECV(0), DO_TRY_RECV(0)}, {DO_TRY_SEND(0, 9)}})
SCENARIO(chan_try_close_1) = {OF_THREE(chan_try_close_1)};
SCENARIO(chan_try_close_1_in_time) = {IN_TIME_THREE(chan_try_close_1)};

/* ---- a cancel: the value is delivered, or still with its sender */

/* WAIT-4: nobody else ends this wait. */
PLAN(chan_cancel_alone, .grouped = {true}, .ops = {{DO_RECV(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_cancel_alone) = {OF_TWO(chan_cancel_alone),
			       .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)}};
SCENARIO(chan_cancel_alone_arm) = {OF_TWO(chan_cancel_alone), .model = SIM_ARM,
				   .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)}};

PLAN(chan_cancel_recv, .grouped = {true},
     .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}, {DO_CANCEL(0), DO_RECV(0)}})
SCENARIO(chan_cancel_recv) = {OF_THREE(chan_cancel_recv),
			      .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};
SCENARIO(chan_cancel_recv_in_time) = {IN_TIME_THREE(chan_cancel_recv)};

PLAN(chan_cancel_send, .grouped = {true}, .ops = {{DO_SEND(0, 7)}, {DO_RECV(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_cancel_send) = {
    OF_THREE(chan_cancel_send),
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS), SIM_MUTANT(MUT_WAITER_READ_LATE)}};

PLAN(chan_cancel_send_1, .cap = {1}, .grouped = {true},
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0), DO_TRY_RECV(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_cancel_send_1) = {OF_THREE(chan_cancel_send_1),
				.mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

PLAN(chan_cancel_close, .grouped = {true}, .ops = {{DO_RECV(0)}, {DO_CLOSE(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_cancel_close) = {OF_THREE(chan_cancel_close),
			       .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

/* One in line is cancelled, the other is not. */
PLAN(chan_cancel_in_line, .grouped = {true},
     .ops = {{DO_RECV(0)}, {DO_RECV(0)}, {DO_CANCEL(0), DO_SEND(0, 7)}})
SCENARIO(chan_cancel_in_line) = {OF_THREE(chan_cancel_in_line)};

/* Both are in groups; either may be cancelled first. */
PLAN(chan_cancel_both, .grouped = {true, true},
     .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}, {DO_CANCEL(0), DO_CANCEL(1)}})
SCENARIO(chan_cancel_both) = {OF_THREE(chan_cancel_both),
			      .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)}};

/* ---- biased to the P of party 0: CHAN-5 */

PLAN(chan_bias_1, .cap = {1}, .holds_p = {true}, .biased = 1,
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_bias_1) = {OF_TWO(chan_bias_1), .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER),
							  SIM_MUTANT(MUT_CHAN_TOUCH_UNLOCKED)}};
SCENARIO(chan_bias_1_arm) = {OF_TWO(chan_bias_1), .model = SIM_ARM};

PLAN(chan_bias_two_ps, .cap = {2}, .holds_p = {true, true}, .biased = 1,
     .ops = {{DO_SEND(0, 7), DO_SEND(0, 8), DO_SEND(0, 9)},
	     {DO_RECV(0), DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_bias_two_ps) = {OF_TWO(chan_bias_two_ps),
			      .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

PLAN(chan_bias_three, .holds_p = {true, true}, .biased = 1,
     .ops = {{DO_SEND(0, 7)}, {DO_RECV(0)}, {DO_CLOSE(0)}})
SCENARIO(chan_bias_three) = {OF_THREE(chan_bias_three),
			     .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};
SCENARIO(chan_bias_three_arm) = {OF_THREE(chan_bias_three), .model = SIM_ARM, .max_bound = 1};

PLAN(chan_bias_senders_1, .cap = {1}, .holds_p = {true, true}, .biased = 1,
     .ops = {{DO_SEND(0, 7)}, {DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_bias_senders_1) = {OF_THREE(chan_bias_senders_1),
				 .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

PLAN(chan_bias_try_1, .cap = {1}, .holds_p = {true, true}, .biased = 1,
     .ops = {{DO_TRY_SEND(0, 7), DO_TRY_RECV(0)}, {DO_TRY_SEND(0, 8), DO_TRY_RECV(0)}})
SCENARIO(chan_bias_try_1) = {OF_TWO(chan_bias_try_1),
			     .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

PLAN(chan_bias_cancel, .holds_p = {true, true}, .biased = 1, .grouped = {true},
     .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}, {DO_CANCEL(0)}})
SCENARIO(chan_bias_cancel) = {OF_THREE(chan_bias_cancel)};

/* ---- what the receiver did before is seen by the sender after: k-th receive, k + cap-th send */

static struct wf_chan *back_ch;
static char written;

static void
sends_then_reads(void *arg)
{
	int64_t value = 7;

	(void)arg;
	wf_m_set(&rig.m[0]);
	for (uint64_t i = 0; i <= back_ch->cap; i++)
		SIM_CHECK(weft_chan_send(back_ch, &value) == 0);
	sim_plain_read(&written);
}

static void
writes_then_receives(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[1]);
	sim_plain_write(&written);
	SIM_CHECK(weft_chan_recv(back_ch, NULL) == 1);
}

static void
setup_back(size_t cap)
{
	parties_reset(2);
	back_ch = make_chan(cap);
	sim_name(&written, "written");
}

static void
setup_back_0(void)
{
	setup_back(0);
}

static void
setup_back_1(void)
{
	setup_back(1);
}

SCENARIO(chan_orders_back) = {
    .setup = setup_back_0,
    .threads = {{sends_then_reads, NULL, false}, {writes_then_receives, NULL, false}}};
SCENARIO(chan_orders_back_arm) = {
    .setup = setup_back_0,
    .threads = {{sends_then_reads, NULL, false}, {writes_then_receives, NULL, false}},
    .model = SIM_ARM};
SCENARIO(chan_orders_back_1) = {
    .setup = setup_back_1,
    .threads = {{sends_then_reads, NULL, false}, {writes_then_receives, NULL, false}}};

/* ---- the end of a run beside a plain thread that was just woken, or still waits */

void
wf_gpool_each(void (*fn)(struct wf_g *g, void *arg), void *arg)
{
	(void)fn, (void)arg;
}

/* As wf_ms_end does: nobody is inside, but for those at rest. */
static void
ends_run(unsigned i)
{
	struct wf_m *other = &rig.m[0];

	at_store_rel(&wf_sched.phase, WF_ENDING);
	fence_seq();
	while (at_load_acq(&other->in_rt) && !at_load_acq(&other->at_rest))
		cpu_relax();
	wf_chans_flush(&rig.m[i]);
}

static void
acts_and_ends_run(void *arg)
{
	party(arg);
	ends_run((unsigned)(uintptr_t)arg);
}

PLAN(chan_end_of_run, .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}})
SCENARIO(chan_end_of_run) = {.setup = setup_chan_end_of_run,
			     OF_PARTIES(PARTY(0), {acts_and_ends_run, (void *)1, false})};

/* Nobody sends: it is told that the run is over, and has left every line. */
static void
only_ends_run(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	ends_run(i);
	h.over[i] = true;
}

static void
check_told(void)
{
	SIM_CHECK(h.over[0] && h.over[1] && h.done[0][0].rc == -ENOTSUP);
	for (int i = 0; i < CHANS; i++)
		SIM_CHECK(!(h.ch[i]->state.v & (WF_CH_LOCKED | WF_CH_RECVS)) &&
			  !h.ch[i]->recvs.first);
}

PLAN(chan_run_over, .ops = {{DO_RECV(0)}})
SCENARIO(chan_run_over) = {.setup = setup_chan_run_over,
			   .threads = {PARTY(0), {only_ends_run, (void *)1, false}},
			   .check_end = check_told};

PLAN(chan_run_over_select, .ops = {{DO_SELECT(CASE(RECV(0)), CASE(RECV(1)))}})
SCENARIO(chan_run_over_select) = {.setup = setup_chan_run_over_select,
				  .threads = {PARTY(0), {only_ends_run, (void *)1, false}},
				  .check_end = check_told};

/* It was just cancelled. */
PLAN(chan_run_over_cancelled, .grouped = {true}, .ops = {{DO_RECV(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_run_over_cancelled) = {.setup = setup_chan_run_over_cancelled,
				     OF_PARTIES(PARTY(0), {acts_and_ends_run, (void *)1, false})};

/* ---- a goroutine beside plain threads: the commit runs while it already goes on elsewhere */

GO_PLAN(chan_go_recv, .ops = {{DO_RECV(0), DO_GONE(0)}, {DO_SEND(0, 7)}})
SCENARIO(chan_go_recv) = {GO_TWO(chan_go_recv), .mutants = {SIM_MUTANT(MUT_CHAN_READY_LOCKED),
							    SIM_MUTANT(MUT_PARK_READY_EARLY),
							    SIM_MUTANT(MUT_PARK_UNSAID)}};

GO_PLAN(chan_go_send_1, .cap = {1}, .biased = 1,
	.ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_go_send_1) = {GO_TWO(chan_go_send_1),
			    .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

/* It waits in a channel of its P's bias, which the other takes away. */
GO_PLAN(chan_go_bias_recv, .biased = 1, .ops = {{DO_RECV(0), DO_GONE(0)}, {DO_SEND(0, 7)}})
SCENARIO(chan_go_bias_recv) = {GO_TWO(chan_go_bias_recv),
			       .mutants = {SIM_MUTANT(MUT_PARK_READY_EARLY),
					   SIM_MUTANT(MUT_PARK_UNSAID),
					   SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

GO_PLAN(chan_go_bias_send, .biased = 1, .ops = {{DO_SEND(0, 7)}, {DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_go_bias_send) = {
    GO_TWO(chan_go_bias_send),
    .mutants = {SIM_MUTANT(MUT_PARK_READY_EARLY), SIM_MUTANT(MUT_PARK_UNSAID)}};

GO_PLAN(chan_go_close, .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}, {DO_CLOSE(0)}})
SCENARIO(chan_go_close) = {GO_THREE(chan_go_close), .max_bound = 1, .random = 20000};

GO_PLAN(chan_go_cancel, .grouped = {true}, .ops = {{DO_RECV(0)}, {DO_SEND(0, 7)}, {DO_CANCEL(0)}})
SCENARIO(chan_go_cancel) = {GO_THREE(chan_go_cancel), .max_bound = 1, .random = 20000,
			    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)}};

GO_PLAN(chan_go_cancel_alone, .grouped = {true}, .ops = {{DO_RECV(0)}, {DO_CANCEL(0)}})
SCENARIO(chan_go_cancel_alone) = {
    GO_TWO(chan_go_cancel_alone),
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY), SIM_MUTANT(MUT_PARK_COMMIT_EARLY)}};

GO_GO_PLAN(chan_go_go, .cap = {1}, .biased = 1,
	   .ops = {{DO_SEND(0, 7), DO_SEND(0, 8)}, {DO_RECV(0), DO_RECV(0), DO_GONE(0)}})
SCENARIO(chan_go_go) = {GO_GO(chan_go_go), .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER)}};

GO_GO_PLAN(chan_go_go_0, .biased = 1,
	   .ops = {{DO_SEND(0, 7), DO_RECV(0), DO_GONE(0)}, {DO_RECV(0), DO_SEND(0, 8)}})
SCENARIO(chan_go_go_0) = {GO_GO(chan_go_go_0), .mutants = {SIM_MUTANT(MUT_CHAN_NO_MEMBARRIER),
							   SIM_MUTANT(MUT_PARK_READY_EARLY),
							   SIM_MUTANT(MUT_PARK_UNSAID)}};

/* From hand to hand, beside a thief. */
GO_SAME_PLAN(chan_go_same, .biased = 1,
	     .ops = {{DO_SEND(0, 7), DO_RECV(0), DO_GONE(0)}, {DO_RECV(0), DO_SEND(0, 8)}})
SCENARIO(chan_go_same) = {GO_GO(chan_go_same), .mutants = {SIM_MUTANT(MUT_CHAN_RESULT_LATE),
							   SIM_MUTANT(MUT_PARK_READY_EARLY),
							   SIM_MUTANT(MUT_PARK_UNSAID)}};
