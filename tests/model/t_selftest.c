/* SPDX-License-Identifier: MIT */
/*
 * t_selftest.c: small programs with known answers, which prove the explorer itself.
 *
 * Each mutant takes one necessary thing out of a right program; the explorer must see it. The
 * scenarios named *_allowed run a wrong-looking program in a model that forbids the bad outcome:
 * an explorer that is too eager would fail them.
 * sources: none
 */
#include "explore.h"

#include <string.h>

enum {
	NO_FENCE = 1,
	NO_MEMBARRIER,
	FLAG_RELAXED,
	FLAG_READ_RELAXED,
	NO_RMW,
	LOCK_ORDER,
	NO_RECHECK,
	NO_WAKE,
	LIVELOCK,
	CRASH,
	IF_NOT_WHILE,
	FENCE_PAIR_DROPPED,
	RELAXED_PASSES_RELEASE,
	RMW_IS_NO_FENCE,
	STORES_PASS,
};

static struct {
	wf_a32 x, y, flag, lock[2];
	wf_a64 data;
	uint32_t saw[2];
	int plain, inside;
	unsigned seen; /* outcomes so far, over all executions */
} s;

static void
reset(void)
{
	unsigned seen = s.seen;

	memset(&s, 0, sizeof(s));
	s.seen = seen;
	sim_name(&s.x, "x");
	sim_name(&s.y, "y");
	sim_name(&s.flag, "flag");
	sim_name(&s.lock[0], "lock0");
	sim_name(&s.lock[1], "lock1");
	sim_name(&s.data, "data");
	sim_name(&s.plain, "plain");
}

/* ---- store buffering: each stores its own word, then reads the other's */

static void
sb(void *arg)
{
	bool second = arg != NULL;

	at_store_rlx(second ? &s.y : &s.x, 1u);
	if (!WF_MUTANT(NO_FENCE))
		fence_seq();
	s.saw[second] = at_load_rlx(second ? &s.x : &s.y);
}

static void
sb_check(void)
{
	SIM_CHECK(s.saw[0] || s.saw[1]);
}

SCENARIO(store_buffering) = {
    .setup = reset,
    .threads = {{sb, NULL, false}, {sb, &s, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(NO_FENCE)},
};

SCENARIO(store_buffering_tso) = {
    .setup = reset,
    .threads = {{sb, NULL, false}, {sb, &s, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(NO_FENCE)},
    .model = SIM_TSO,
};

static void
sb_bare(void *arg)
{
	bool second = arg != NULL;

	at_store_rel(second ? &s.y : &s.x, 1u);
	s.saw[second] = at_load_acq(second ? &s.x : &s.y);
}

SCENARIO(store_buffering_sc_allowed) = {
    .setup = reset,
    .threads = {{sb_bare, NULL, false}, {sb_bare, &s, false}},
    .check_end = sb_check,
    .model = SIM_SC,
};

/* ---- the asymmetric pair: one side light, the other a membarrier */

static void
asym_light(void *arg)
{
	(void)arg;
	at_store_rlx(&s.x, 1u);
	light_barrier();
	s.saw[0] = at_load_rlx(&s.y);
}

static void
asym_heavy(void *arg)
{
	(void)arg;
	at_store_rlx(&s.y, 1u);
	if (WF_MUTANT(NO_MEMBARRIER))
		fence_seq();
	else
		sim_membarrier();
	s.saw[1] = at_load_rlx(&s.x);
}

SCENARIO(asymmetric) = {
    .setup = reset,
    .threads = {{asym_light, NULL, false}, {asym_heavy, NULL, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(NO_MEMBARRIER)},
};

/* ---- message passing: by value (the store order), and by happens-before (a plain payload) */

static void
mp_send(void *arg)
{
	(void)arg;
	sim_plain_write(&s.plain);
	s.plain = 1;
	at_store_rlx(&s.data, 42u);
	if (WF_MUTANT(FLAG_RELAXED))
		at_store_rlx(&s.flag, 1u);
	else
		at_store_rel(&s.flag, 1u);
}

static void
mp_receive(void *arg)
{
	(void)arg;
	if (at_load_acq(&s.flag))
		SIM_CHECK(at_load_rlx(&s.data) == 42);
}

static void
mp_receive_plain(void *arg)
{
	(void)arg;
	if (WF_MUTANT(FLAG_READ_RELAXED) ? at_load_rlx(&s.flag) : at_load_acq(&s.flag)) {
		sim_plain_read(&s.plain);
		SIM_CHECK(s.plain == 1);
	}
}

static void
mp_receive_fence(void *arg)
{
	(void)arg;
	if (at_load_rlx(&s.flag)) {
		if (!WF_MUTANT(NO_FENCE))
			fence_seq();
		sim_plain_read(&s.plain);
	}
}

SCENARIO(message) = {
    .setup = reset,
    .threads = {{mp_send, NULL, false}, {mp_receive, NULL, false}},
    .mutants = {SIM_MUTANT(FLAG_RELAXED)},
};

SCENARIO(message_plain) = {
    .setup = reset,
    .threads = {{mp_send, NULL, false}, {mp_receive_plain, NULL, false}},
    .mutants = {SIM_MUTANT(FLAG_RELAXED), SIM_MUTANT(FLAG_READ_RELAXED)},
};

SCENARIO(message_fence) = {
    .setup = reset,
    .threads = {{mp_send, NULL, false}, {mp_receive_fence, NULL, false}},
    .mutants = {SIM_MUTANT(FLAG_RELAXED), SIM_MUTANT(NO_FENCE)},
};

static void
mp_send_relaxed(void *arg)
{
	(void)arg;
	at_store_rlx(&s.data, 42u);
	at_store_rlx(&s.flag, 1u);
}

SCENARIO(message_relaxed_tso_allowed) = {
    .setup = reset,
    .threads = {{mp_send_relaxed, NULL, false}, {mp_receive, NULL, false}},
    .model = SIM_TSO,
};

/* A relaxed store behind a release: overtakes it in the arm model only. */
static void
behind_release(void *arg)
{
	(void)arg;
	at_store_rel(&s.data, 42u);
	at_store_rlx(&s.flag, 1u);
}

SCENARIO(behind_release_weak_allowed) = {
    .setup = reset,
    .threads = {{behind_release, NULL, false}, {mp_receive, NULL, false}},
};

static void
behind_release_arm(void *arg)
{
	(void)arg;
	at_store_rel(&s.data, 42u);
	if (WF_MUTANT(RELAXED_PASSES_RELEASE))
		at_store_rlx(&s.flag, 1u);
	else
		at_store_rel(&s.flag, 1u);
}

SCENARIO(behind_release_arm) = {
    .setup = reset,
    .threads = {{behind_release_arm, NULL, false}, {mp_receive, NULL, false}},
    .mutants = {SIM_MUTANT(RELAXED_PASSES_RELEASE)},
    .model = SIM_ARM,
};

/* A flag read without acquire: the loads may be satisfied in the other order (arm only). */
static void
mp_receive_relaxed(void *arg)
{
	(void)arg;
	if (WF_MUTANT(FLAG_READ_RELAXED) ? at_load_rlx(&s.flag) : at_load_acq(&s.flag))
		SIM_CHECK(at_load_rlx(&s.data) == 42);
}

SCENARIO(message_arm) = {
    .setup = reset,
    .threads = {{mp_send, NULL, false}, {mp_receive_relaxed, NULL, false}},
    .mutants = {SIM_MUTANT(FLAG_RELAXED), SIM_MUTANT(FLAG_READ_RELAXED)},
    .model = SIM_ARM,
};

static void
mp_receive_rlx(void *arg)
{
	(void)arg;
	if (at_load_rlx(&s.flag))
		SIM_CHECK(at_load_rlx(&s.data) == 42);
}

SCENARIO(message_read_relaxed_tso_allowed) = {
    .setup = reset,
    .threads = {{mp_send, NULL, false}, {mp_receive_rlx, NULL, false}},
    .model = SIM_TSO,
};

/* Store buffering with read-modify-writes: enough on x86, not on arm without a fence. */
static void
sb_rmw(void *arg)
{
	bool second = arg != NULL;

	(void)at_xchg_acqrel(second ? &s.y : &s.x, 1u);
	if (!WF_MUTANT(RMW_IS_NO_FENCE))
		fence_seq();
	s.saw[second] = at_load_acq(second ? &s.x : &s.y);
}

SCENARIO(store_buffering_rmw_arm) = {
    .setup = reset,
    .threads = {{sb_rmw, NULL, false}, {sb_rmw, &s, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(RMW_IS_NO_FENCE)},
    .model = SIM_ARM,
};

static void
sb_rmw_bare(void *arg)
{
	bool second = arg != NULL;

	(void)at_xchg_acqrel(second ? &s.y : &s.x, 1u);
	s.saw[second] = at_load_acq(second ? &s.x : &s.y);
}

SCENARIO(store_buffering_rmw_tso_allowed) = {
    .setup = reset,
    .threads = {{sb_rmw_bare, NULL, false}, {sb_rmw_bare, &s, false}},
    .check_end = sb_check,
    .model = SIM_TSO,
};

SCENARIO(store_buffering_arm) = {
    .setup = reset,
    .threads = {{sb, NULL, false}, {sb, &s, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(NO_FENCE)},
    .model = SIM_ARM,
};

SCENARIO(asymmetric_arm) = {
    .setup = reset,
    .threads = {{asym_light, NULL, false}, {asym_heavy, NULL, false}},
    .check_end = sb_check,
    .mutants = {SIM_MUTANT(NO_MEMBARRIER)},
    .model = SIM_ARM,
};

/* ---- two writers of two words, in opposite order: each word ends with its first writer's */

static void
cross_write(void *arg)
{
	bool second = arg != NULL;

	at_store_rlx(second ? &s.y : &s.x, 1u);
	if (WF_MUTANT(STORES_PASS))
		at_store_rlx(second ? &s.x : &s.y, 2u);
	else
		at_store_rel(second ? &s.x : &s.y, 2u);
}

static void
cross_check(void)
{
	SIM_CHECK(!(s.x.v == 1 && s.y.v == 1));
}

SCENARIO(cross_writes) = {
    .setup = reset,
    .threads = {{cross_write, NULL, false}, {cross_write, &s, false}},
    .check_end = cross_check,
    .mutants = {SIM_MUTANT(STORES_PASS)},
};

/* ---- two readers never disagree on the order of two independent writes (all loads acquire) */

static void
write_one(void *arg)
{
	at_store_rel((wf_a32 *)arg, 1u);
}

static void
read_two(void *arg)
{
	bool second = arg != NULL;
	uint32_t a = at_load_acq(second ? &s.y : &s.x);
	uint32_t b = at_load_acq(second ? &s.x : &s.y);

	s.saw[second] = a && !b;
}

static void
iriw_check(void)
{
	SIM_CHECK(!(s.saw[0] && s.saw[1]));
}

SCENARIO(independent_writes) = {
    .setup = reset,
    .threads = {{write_one, &s.x, false},
		{write_one, &s.y, false},
		{read_two, NULL, false},
		{read_two, &s, false}},
    .check_end = iriw_check,
};

SCENARIO(independent_writes_arm) = {
    .setup = reset,
    .threads = {{write_one, &s.x, false},
		{write_one, &s.y, false},
		{read_two, NULL, false},
		{read_two, &s, false}},
    .check_end = iriw_check,
    .model = SIM_ARM,
};

/* ---- coherence: one word never goes back, a buffered store is seen by its own thread */

static void
coherence_write(void *arg)
{
	(void)arg;
	at_store_rlx(&s.x, 1u);
	SIM_CHECK(at_load_rlx(&s.x) == 1);
	at_store_rlx(&s.x, 2u);
	SIM_CHECK(at_load_rlx(&s.x) == 2);
}

static void
coherence_read(void *arg)
{
	(void)arg;
	uint32_t a = at_load_rlx(&s.x), b = at_load_rlx(&s.x);
	SIM_CHECK(a <= b);
}

SCENARIO(coherence) = {
    .setup = reset,
    .threads = {{coherence_write, NULL, false},
		{coherence_read, NULL, false},
		{coherence_read, NULL, false}},
};

SCENARIO(coherence_arm) = {
    .setup = reset,
    .threads = {{coherence_write, NULL, false},
		{coherence_read, NULL, false},
		{coherence_read, NULL, false}},
    .model = SIM_ARM,
};

/* ---- every outcome that the model allows must be reached: the last one fails the mutant run */

static void
outcome_check(void)
{
	if (!WF_MUTANT(NO_FENCE))
		return;
	s.seen |= 1u << (s.saw[0] * 2 + s.saw[1]);
	if (s.seen == 0xf)
		sim_fail("all four outcomes were seen");
}

static void
outcome_thread(void *arg)
{
	bool second = arg != NULL;

	if (!WF_MUTANT(NO_FENCE))
		return;
	at_store_rlx(second ? &s.y : &s.x, 1u);
	s.saw[second] = at_load_rlx(second ? &s.x : &s.y);
}

SCENARIO(all_outcomes) = {
    .setup = reset,
    .threads = {{outcome_thread, NULL, false}, {outcome_thread, &s, false}},
    .check_end = outcome_check,
    .mutants = {SIM_MUTANT(NO_FENCE)},
};

/* ---- lost update */

static void
add_one(void *arg)
{
	(void)arg;
	if (WF_MUTANT(NO_RMW))
		at_store_rel(&s.x, at_load_acq(&s.x) + 1);
	else
		at_add_acqrel(&s.x, 1u);
}

static void
add_check(void)
{
	SIM_CHECK(s.x.v == 3);
}

SCENARIO(lost_update) = {
    .setup = reset,
    .threads = {{add_one, NULL, false}, {add_one, NULL, false}, {add_one, NULL, false}},
    .check_end = add_check,
    .mutants = {SIM_MUTANT(NO_RMW)},
};

/* ---- locks: a futex mutex; two of them in two orders are a deadlock */

static void
lock(wf_a32 *l)
{
	uint32_t free = 0;

	if (at_cas_acqrel(l, &free, 1u))
		return;
	while (at_xchg_acqrel(l, 2u) != 0)
		sim_futex_wait(l, 2, false);
}

static void
unlock(wf_a32 *l)
{
	if (WF_MUTANT(NO_WAKE))
		at_store_rel(l, 0u);
	else if (at_xchg_acqrel(l, 0u) == 2)
		sim_wake(l, 1);
}

static void
lock_both(void *arg)
{
	int first = arg != NULL && WF_MUTANT(LOCK_ORDER);

	lock(&s.lock[first]);
	lock(&s.lock[!first]);
	sim_plain_write(&s.plain);
	SIM_CHECK(s.inside++ == 0);
	light_barrier(); /* a choice point inside */
	s.inside--;
	unlock(&s.lock[!first]);
	unlock(&s.lock[first]);
}

SCENARIO(mutex) = {
    .setup = reset,
    .threads = {{lock_both, NULL, false}, {lock_both, &s, false}, {lock_both, NULL, false}},
    .mutants = {SIM_MUTANT(LOCK_ORDER), SIM_MUTANT(NO_WAKE)},
    .early = 1,
};

/* ---- sleep: announce, fence, look again, sleep; the waker's store, fence, look */

static void
sleeper(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.flag)) {
		uint32_t ticket = at_load_rlx(&s.y);
		at_store_rlx(&s.x, 1u);
		if (!WF_MUTANT(FENCE_PAIR_DROPPED))
			fence_seq();
		if (!WF_MUTANT(NO_RECHECK) && at_load_acq(&s.flag))
			break;
		sim_futex_wait(&s.y, ticket, false);
		if (WF_MUTANT(IF_NOT_WHILE))
			break;
	}
	SIM_CHECK(at_load_acq(&s.flag));
}

static void
waker(void *arg)
{
	(void)arg;
	at_store_rel(&s.flag, 1u);
	fence_seq();
	if (at_load_rlx(&s.x)) {
		if (!WF_MUTANT(NO_RECHECK))
			at_add_acqrel(&s.y, 1u);
		sim_wake(&s.y, 1);
	}
}

SCENARIO(sleep_wake) = {
    .setup = reset,
    .threads = {{sleeper, NULL, false}, {waker, NULL, false}},
    .mutants = {SIM_MUTANT(NO_RECHECK), SIM_MUTANT(FENCE_PAIR_DROPPED), SIM_MUTANT(IF_NOT_WHILE)},
    .early = 1,
};

SCENARIO(sleep_wake_arm) = {
    .setup = reset,
    .threads = {{sleeper, NULL, false}, {waker, NULL, false}},
    .mutants = {SIM_MUTANT(NO_RECHECK), SIM_MUTANT(FENCE_PAIR_DROPPED), SIM_MUTANT(IF_NOT_WHILE)},
    .model = SIM_ARM,
    .early = 1,
};

/* ---- spinning ends, and a spin that cannot end is seen; so is a crash */

static void
spin(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.flag) || WF_MUTANT(LIVELOCK))
		cpu_relax();
	sim_plain_read(&s.plain);
	if (WF_MUTANT(CRASH))
		*(int *)(uintptr_t)arg = 1;
}

static void
spin_end(void *arg)
{
	(void)arg;
	sim_plain_write(&s.plain);
	at_store_rel(&s.flag, 1u);
	while (!at_load_acq(&s.x)) /* holds its store back as long as it may */
		cpu_relax();
}

static void
spin_answer(void *arg)
{
	spin(arg);
	at_store_rel(&s.x, 1u);
}

SCENARIO(spinning) = {
    .setup = reset,
    .threads = {{spin, NULL, false}, {spin_end, NULL, false}, {spin_answer, NULL, false}},
    .mutants = {SIM_MUTANT(LIVELOCK), SIM_MUTANT(CRASH)},
};

/* ---- threads made by threads, daemons, timed sleeps: the daemon's clock moves when all sleep */

static void
ticker(void *arg)
{
	(void)arg;
	for (;;) {
		sim_block_timed(&s.y);
		at_store_rel(&s.flag, at_load_rlx(&s.flag) + 1);
		sim_wake(&s.flag, 1);
	}
}

static void
child(void *arg)
{
	(void)arg;
	sim_plain_read(&s.plain); /* written by the parent before the start */
	while (at_load_acq(&s.flag) < 2)
		sim_block(&s.flag);
	*sim_local() = &s;
}

static void
parent(void *arg)
{
	(void)arg;
	sim_plain_write(&s.plain);
	sim_thread(child, NULL);
	SIM_CHECK(*sim_local() == NULL);
}

SCENARIO(daemon_and_child) = {
    .setup = reset,
    .threads = {{ticker, NULL, true}, {parent, NULL, false}},
};

/* ---- the code under test changes stacks: a fiber that starts on one thread, ends on another */

void sim_switch(void **save, void *to); /* the explorer's own serves as the fiber's */

static struct {
	char stack[16384] WF_ALIGNED(16);
	void *sp, *back;
	int ran_on[2];
} fiber;

static void
fiber_main(void)
{
	(void)at_add_acqrel(&s.x, 1u);
	at_store_rel(&s.y, 7u);
	fiber.ran_on[0] = sim_self();
	sim_switch(&fiber.sp, fiber.back);
	(void)at_add_acqrel(&s.x, 1u);
	fiber.ran_on[1] = sim_self();
	sim_switch(&fiber.sp, fiber.back);
}

static void
fiber_reset(void)
{
	reset();
	void **sp = (void **)(void *)(fiber.stack + sizeof(fiber.stack)) - 8;
	memset(sp, 0, 8 * sizeof(*sp));
	sp[6] = (void *)(uintptr_t)fiber_main;
	fiber.sp = sp;
}

static void
fiber_start(void *arg)
{
	(void)arg;
	sim_plain_write(&fiber);
	sim_switch(&fiber.back, fiber.sp);
	if (WF_MUTANT(FLAG_RELAXED))
		at_store_rlx(&s.flag, 1u);
	else
		at_store_rel(&s.flag, 1u);
}

static void
fiber_end(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.flag))
		cpu_relax();
	sim_plain_write(&fiber);
	sim_switch(&fiber.back, fiber.sp);
	SIM_CHECK(at_load_rlx(&s.y) == 7 && at_load_rlx(&s.x) >= 2);
	SIM_CHECK(fiber.ran_on[0] == 0 && fiber.ran_on[1] == 1);
}

SCENARIO(other_stacks) = {
    .setup = fiber_reset,
    .threads = {{fiber_start, NULL, false}, {fiber_end, NULL, false}, {add_one, NULL, false}},
    .mutants = {SIM_MUTANT(FLAG_RELAXED)},
};
