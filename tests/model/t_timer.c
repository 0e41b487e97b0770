/* SPDX-License-Identifier: MIT */
/*
 * t_timer.c: timers against those who sleep, stop and deliver: the real timer.c, timers.c, sleep.c,
 * time.c and scope.c.
 *
 * One simulated M attends (ATT-1); its timed sleeps end when nobody else can run, or earlier where
 * the scenario says so. Parties are plain threads. Nobody sleeps for ever who has a time, a wait ends
 * once, by its value or its deadline or a cancel, and what a stop says is what happens.
 * (ATT-2, ATT-3, TIMER-4, TIME-1, TIME-2, WAIT-4)
 * sources: tests/model/mark.c src/wait/?*.c src/sched/timers.c tests/model/mark.c src/core/timer.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/prio.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#define RIG_TIMERS_C
#include "parties.h"

#include "sched/steal.h"
#include "wait/time.h"

enum { THREADS = 3, NOT_YET = 77, SPAN = 1000, FAR = 2000000000 };

static struct {
	struct wf_chan *ch;
	struct weft_scope scope;
	struct weft_group group;
	int result[THREADS];
	int64_t value, due;
	unsigned over;
} s;

static void
setup(void)
{
	uint32_t i = 0;

	parties_reset(THREADS);
	memset(&s, 0, sizeof(s));
	for (int k = 0; k < THREADS; k++)
		s.result[k] = NOT_YET;
	wf_timer_fire_hook = wf_timer_fire;
	for (; i < RIG_PS; i++)
		wf_heap_init(&rig.p[i].timers);
	rig_hold(&rig.m[5], &rig.p[0]); /* computes for ever */
	in_use(&rig.m[ATTENDS]);
	wf_sched.nm = 1;
	sim_name(&wf_sched.attend_until, "attend_until");
}

/* A timer that is far away, so that somebody attends from the start. */
static void
setup_far(void)
{
	setup();
	wf_timer_by(&rig.p[0].timers, &rig.g[0].timer, os_now_ns() + FAR);
}

static void
sleeps(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	s.result[i] = weft_sleep(SPAN);
	forget_frames();
	s.over |= 1u << i;
}

#define THREAD(fn, i)                                                                              \
	{                                                                                          \
		fn, (void *)(uintptr_t)(i), false                                                  \
	}

/* ---- a sleeper's timer is earlier than what the one that attends sleeps for: ATT-2, ATT-3 */

static void
check_slept(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == 0);
}

SCENARIO(timer_new_earlier) = {
    .setup = setup_far,
    .threads = {THREAD(attends, 0), THREAD(sleeps, 0)},
    .check_end = check_slept,
    .mutants = {SIM_MUTANT(MUT_ATTEND_NO_FENCE), SIM_MUTANT(MUT_ATTEND_NO_RECHECK),
		SIM_MUTANT(MUT_ATTEND_NO_BREAK)},
    .blocked_ok = true,
};

SCENARIO(timer_new_earlier_arm) = {
    .setup = setup_far,
    .threads = {THREAD(attends, 0), THREAD(sleeps, 0)},
    .check_end = check_slept,
    .mutants = {SIM_MUTANT(MUT_ATTEND_NO_FENCE), SIM_MUTANT(MUT_ATTEND_NO_RECHECK)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

static void
check_two_slept(void)
{
	SIM_CHECK((s.over & 3) == 3 && s.result[0] == 0 && s.result[1] == 0);
}

SCENARIO(timer_two_sleepers) = {
    .setup = setup_far,
    .threads = {THREAD(attends, 0), THREAD(sleeps, 0), THREAD(sleeps, 1)},
    .check_end = check_two_slept,
    .max_bound = 1,
    .random = 20000,
    .early = 1,
    .blocked_ok = true,
};

/* ---- a P goes, and with it a timer that is earlier: ATT-2 */

/* False: an M that was started does already. */
static bool
begin_attending(void)
{
	bool mine;

	wf_lock(&wf_sched.lock);
	mine = wf_attend_begin(&rig.m[ATTENDS]);
	wf_unlock(&wf_sched.lock);
	return mine;
}

static void
setup_goes(void)
{
	setup_far();
	wf_sched.procs.v = wf_sched.np_made = 2;
	wf_steal_order_init(2);
	rig_hold(&rig.m[0], &rig.p[1]);
	s.due = os_now_ns() + SPAN;
	rig.spare[rig.spares++] = &rig.m[2];
	SIM_CHECK(begin_attending());
}

/* As the holder of a P whose goroutine waits with a deadline, and then blocks its thread. */
static void
goes(void *arg)
{
	struct wf_m *m = &rig.m[0];

	(void)arg;
	wf_m_set(m);
	wf_timer_by(&rig.p[1].timers, &rig.g[1].timer, s.due);
	wf_handoff(m, wf_p_release(m));
	s.over |= 1;
}

static void
attends_in_time(void *arg)
{
	struct wf_m *m = &rig.m[ATTENDS];

	(void)arg;
	wf_m_set(m);
	do {
		if (wf_attend(m))
			wf_idle_put(wf_p_release(m));
	} while (!(s.over & 1 && wf_heap_next(&rig.p[1].timers) == WF_NEVER) && begin_attending());
	SIM_CHECK(os_now_ns() < s.due + FAR / 2);
	s.over |= 2;
}

static void
check_both(void)
{
	SIM_CHECK((s.over & 3) == 3);
}

SCENARIO(timer_of_a_p_that_goes) = {
    .setup = setup_goes,
    .threads = {THREAD(attends_in_time, 0), THREAD(goes, 0)},
    .check_end = check_both,
    .mutants = {SIM_MUTANT(MUT_HANDOFF_MUTE)},
    .blocked_ok = true,
};

/* ---- a deadline, a value, and a cancel: one of them ends the wait */

static void
receives(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[0]);
	s.result[0] = weft_chan_recv(s.ch, &s.value);
	forget_frames();
	weft_scope_close(&s.scope);
	s.over |= 1;
}

static void
sends(void *arg)
{
	int64_t value = 7;

	(void)arg;
	wf_m_set(&rig.m[1]);
	s.result[1] = weft_chan_send(s.ch, &value);
	forget_frames();
	s.over |= 2;
}

static void
cancels(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[2]);
	SIM_CHECK(weft_cancel(&s.group) == 0);
	forget_frames();
	s.over |= 4;
}

static void
setup_deadline(void)
{
	setup_far();
	s.ch = make_chan(0);
	wf_m_set(&rig.m[0]);
	weft_group_open(&s.group, NULL, "here");
	weft_scope_open_timeout(&s.scope, SPAN);
	wf_m_set(NULL);
	sim_name(&rig.m[0].thread_g.timer.when, "timer.when");
	sim_name(&rig.m[0].thread_g.wake_at, "wake_at");
}

static void
check_timed_out(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == -ETIMEDOUT);
	SIM_CHECK(!s.ch->recvs.first);
}

/* TIMER-4: the timer fires when it likes, also on the way into the wait. */
SCENARIO(timer_deadline) = {
    .setup = setup_deadline,
    .threads = {THREAD(attends, 0), THREAD(receives, 0)},
    .check_end = check_timed_out,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY), SIM_MUTANT(MUT_TIMER_CLAIM_READ)},
    .early = 2,
    .blocked_ok = true,
};

SCENARIO(timer_deadline_arm) = {
    .setup = setup_deadline,
    .threads = {THREAD(attends, 0), THREAD(receives, 0)},
    .check_end = check_timed_out,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY), SIM_MUTANT(MUT_TIMER_CLAIM_READ)},
    .model = SIM_ARM,
    .max_bound = 1,
    .early = 2,
    .blocked_ok = true,
};

static void
check_one_of_three(void)
{
	SIM_CHECK(s.over & 1);
	if (s.result[0] == 1)
		SIM_CHECK(s.value == 7 && s.result[1] == 0);
	else
		SIM_CHECK((s.result[0] == -ETIMEDOUT || s.result[0] == -ECANCELED) &&
			  s.result[1] == NOT_YET && s.value == 0);
	SIM_CHECK(!s.ch->recvs.first);
}

SCENARIO(timer_deadline_or_value) = {
    .setup = setup_deadline,
    .threads = {THREAD(attends, 0), THREAD(receives, 0), THREAD(sends, 1)},
    .check_end = check_one_of_three,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .max_bound = 1,
    .random = 20000,
    .early = 2,
    .blocked_ok = true,
};

SCENARIO(timer_deadline_value_or_cancel) = {
    .setup = setup_deadline,
    .threads = {THREAD(attends, 0), THREAD(receives, 0), THREAD(sends, 1), THREAD(cancels, 2)},
    .check_end = check_one_of_three,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .max_bound = 1,
    .random = 20000,
    .early = 2,
    .blocked_ok = true,
};

/* ---- stop and reset against fire: TIME-1, TIME-2 */

static void
setup_after(void)
{
	struct wf_m *m = &rig.m[RIG_MS - 1];

	setup_far();
	m->in_rt.v = 0;
	wf_m_set(m);
	s.ch = weft_after(SPAN);
	s.due = os_now_ns() + SPAN;
	m->in_rt.v = 1;
	wf_m_set(NULL);
	sim_name(&s.ch->state, "ch.state");
}

static void
stops(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[0]);
	s.result[0] = weft_timer_stop(s.ch->timer);
	forget_frames();
	s.over |= 1;
}

static void
check_stopped(void)
{
	uint64_t left = wf_chan_fill(s.ch->state.v);

	SIM_CHECK(s.over & 1);
	if (s.result[0] == 1)
		SIM_CHECK(left == 0);
	else
		sim_fail("nobody received, but stop said %d", s.result[0]);
}

/* Nobody receives, so whatever has fired can be taken back. */
SCENARIO(timer_stop) = {
    .setup = setup_after,
    .threads = {THREAD(attends, 0), THREAD(stops, 0)},
    .check_end = check_stopped,
    .mutants = {SIM_MUTANT(MUT_TIME_NO_VOID), SIM_MUTANT(MUT_TIME_NO_TAKE_BACK)},
    .early = 1,
    .blocked_ok = true,
};

static void
takes(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[1]);
	s.result[1] = weft_chan_recv(s.ch, &s.value);
	forget_frames();
	s.over |= 2;
}

static void
check_stopped_or_taken(void)
{
	SIM_CHECK((s.over & 1) && wf_chan_fill(s.ch->state.v) == 0);
	if (s.result[0] == 1)
		SIM_CHECK(s.result[1] == NOT_YET);
	else
		SIM_CHECK(s.result[0] == 0 && s.result[1] == 1 && s.value == s.due);
}

SCENARIO(timer_stop_or_receive) = {
    .setup = setup_after,
    .threads = {THREAD(attends, 0), THREAD(stops, 0), THREAD(takes, 1)},
    .check_end = check_stopped_or_taken,
    .mutants = {SIM_MUTANT(MUT_TIME_NO_VOID), SIM_MUTANT(MUT_TIME_UNORDERED)},
    .random = 20000,
    .early = 1,
    .blocked_ok = true,
};

/* The reset is to a later time: what is received then is of that time. */
static void
resets(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[0]);
	s.result[0] = weft_timer_reset(s.ch->timer, 3 * SPAN);
	forget_frames();
	s.result[2] = weft_chan_recv(s.ch, &s.value);
	forget_frames();
	s.over |= 1;
}

static void
check_reset(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == 1 && s.result[2] == 1);
	SIM_CHECK(s.value > s.due && wf_chan_fill(s.ch->state.v) == 0);
}

SCENARIO(timer_reset) = {
    .setup = setup_after,
    .threads = {THREAD(attends, 0), THREAD(resets, 0)},
    .check_end = check_reset,
    .mutants = {SIM_MUTANT(MUT_TIME_NO_VOID)},
    .early = 2,
    .blocked_ok = true,
};

/* ---- the heap of a P: its holder, alone or not, and two others who look into it (TIMER-1, TIMER-3) */

static struct {
	struct wf_timer_object o[2];
	unsigned armed[2], stopped[2], fired[2];
} own;

static void
setup_own(void)
{
	setup();
	memset(&own, 0, sizeof(own));
	for (int i = 0; i < 2; i++)
		own.o[i].t.object = true;
	wf_heap_grow(&rig.p[0].timers, &rig.p[0].timers);
	rig.p[0].timers.door.state.v = WF_DOOR_SHUT;
	rig.p[0].timers.door.patience = 1;
	sim_name(&rig.p[0].timers.next, "next");
	sim_name(&rig.p[0].timers.door.state, "door");
	sim_name(&rig.p[0].timers.door.busy, "busy");
	sim_name(&own.o[0].t.when, "o0.when");
	sim_name(&own.o[1].t.when, "o1.when");
}

static void
arm_own(int i, int64_t when)
{
	bool earlier;

	own.stopped[i] += wf_timer_set(&rig.p[0].timers, &own.o[i], when, 0, &earlier);
	own.armed[i]++;
}

static void
holder(void *arg)
{
	uint64_t fires;

	(void)arg;
	wf_m_set(&rig.m[5]);
	arm_own(0, 10);
	arm_own(1, 20);
	own.stopped[0] += wf_timer_cancel(&rig.p[0].timers, &own.o[0], &fires);
	arm_own(0, 30);
}

static void
looks_in(void *arg)
{
	struct wf_due due;

	wf_m_set(&rig.m[(uintptr_t)arg]);
	wf_heap_run(NULL, &rig.p[0].timers, 100, &due);
	for (uint32_t i = 0; i < due.n; i++)
		own.fired[due.object[i].o - own.o]++;
}

static void
stops_anothers(void *arg)
{
	uint64_t fires;

	wf_m_set(&rig.m[(uintptr_t)arg]);
	own.stopped[1] += wf_timer_cancel(NULL, &own.o[1], &fires);
}

static void
check_own(void)
{
	const struct wf_heap *h = &rig.p[0].timers;
	unsigned entries = 0;

	for (unsigned i = 0; i < 2; i++) {
		unsigned still = wf_timer_when(&own.o[i].t) != WF_NEVER;

		SIM_CHECK(own.armed[i] == own.stopped[i] + own.fired[i] + still);
		SIM_CHECK(own.o[i].fires == own.fired[i]);
		entries += own.o[i].t.entries + own.o[i].t.listed;
	}
	SIM_CHECK(entries == h->n + at_load_rlx(&h->crowd));
}

SCENARIO(timer_heap_door) = {
    .setup = setup_own,
    .threads = {THREAD(holder, 0), THREAD(looks_in, 1), THREAD(stops_anothers, 2)},
    .check_end = check_own,
    .mutants = {SIM_MUTANT(MUT_TIMER_NO_DOOR), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

SCENARIO(timer_heap_door_arm) = {
    .setup = setup_own,
    .threads = {THREAD(holder, 0), THREAD(looks_in, 1)},
    .check_end = check_own,
    .mutants = {SIM_MUTANT(MUT_TIMER_NO_DOOR), SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
    .model = SIM_ARM,
};
