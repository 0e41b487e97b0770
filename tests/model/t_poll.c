/* SPDX-License-Identifier: MIT */
/*
 * t_poll.c: descriptors: the real poll.c, fd.c, netpoll.c and timers.c, with a kernel that a scenario
 * plays: bytes arrive, and are reported once.
 *
 * Nobody waits for bytes that are there, one of several wakers wins, turns are passed on, a late
 * event means nothing, and a break reaches the one it is meant for.
 * (POLL-1 to POLL-4, FD-1 to FD-3, NETP-1, NETP-2)
 * sources: tests/model/mark.c src/wait/?*.c src/sched/timers.c src/sched/netpoll.c src/sched/deadlock.c src/core/poll.c tests/model/mark.c src/core/timer.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/blocking.c src/sched/idle.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--wrap=os_close_fd,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#define RIG_TIMERS_C
#define RIG_NETPOLL_C
#include "parties.h"

#include "wait/fd.h"

enum { THREADS = 4, NOT_YET = 77, SPAN = 1000, FAR = 2000000000, FD = 3 };

static struct {
	wf_a32 bytes; /* that have arrived: the kernel's */
	struct weft_group group;
	wf_a32 open; /* the group is */
	int result[THREADS];
	unsigned over;
	int closed;
	wf_a32 number_free; /* the number may come again */
	bool suspected;
} s;

int __wrap_os_close_fd(int fd);

int
__wrap_os_close_fd(int fd)
{
	SIM_CHECK(fd == FD);
	SIM_CHECK(s.closed++ == 0); /* FD-1 */
	at_store_rel(&s.number_free, 1);
	return 0;
}

static struct wf_fd *
f(void)
{
	return wf_fd_of(FD);
}

/* ---- parties */

/* The system call. */
static ssize_t
take_byte(struct wf_io *io, void *arg)
{
	uint32_t n = at_load_acq(&s.bytes);

	(void)arg;
	if (!io->ours)
		return -EBADF;    /* who comes after it was closed */
	SIM_CHECK(s.closed == 0); /* FD-1 */
	do {
		if (n == 0)
			return -EAGAIN;
	} while (!at_cas_acqrel(&s.bytes, &n, n - 1));
	return 1;
}

static void
reads(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	s.result[i] = (int)wf_io_call(FD, WF_READ, take_byte, NULL);
	forget_frames();
	s.over |= 1u << i;
}

static void
reads_in_group(void *arg)
{
	wf_m_set(&rig.m[0]);
	weft_group_open(&s.group, NULL, "here");
	at_store_rel(&s.open, 1);
	reads(arg);
	weft_group_close(&s.group);
}

static void
cancels(void *arg)
{
	wf_m_set(&rig.m[(uintptr_t)arg]);
	while (!at_load_acq(&s.open))
		cpu_relax();
	weft_cancel(&s.group);
	forget_frames();
}

static void
closes(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	s.result[i] = weft_close_fd(FD);
	forget_frames();
	s.over |= 1u << i;
}

/* The kernel: a byte, then the report of it. */
static void
arrives(void *arg)
{
	uint64_t tag = (uint64_t)at_load_rlx(&f()->generation) << 32 | FD;

	(void)arg;
	at_add_acqrel(&s.bytes, 1);
	os_sim_event(tag, OS_IN);
}

static void
naps(void *arg)
{
	struct wf_m *m = &rig.m[(uintptr_t)arg];

	wf_m_set(m);
	at_store_rel(&m->at_rest, 1);
	wf_netpoll_nap(m, 100 * SPAN, false);
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

/* ---- set-up */

/* The descriptor is weft's; somebody attends from the start, for a timer that is far away. */
static void
setup(void)
{
	parties_reset(THREADS);
	memset(&s, 0, sizeof(s));
	for (int k = 0; k < THREADS; k++)
		s.result[k] = NOT_YET;
	for (uint32_t i = 0; i < RIG_PS; i++)
		wf_heap_init(&rig.p[i].timers);
	rig_hold(&rig.m[5], &rig.p[0]); /* computes for ever */
	in_use(&rig.m[ATTENDS]);
	wf_sched.nm = 1;
	wf_signal_hook = wf_signals_deliver;
	wf_m_set(&rig.m[RIG_MS - 1]);
	SIM_CHECK(wf_fd_make(&rig.m[RIG_MS - 1], FD, 0) == FD);
	wf_m_set(NULL);
	wf_timer_by(&rig.p[0].timers, &rig.g[0].timer, os_now_ns() + FAR);
	sim_name(&wf_sched.attend_until, "attend_until");
	sim_name(&f()->use, "use");
	sim_name(&f()->count[WF_READ], "count");
	sim_name(&f()->lock.word, "fd.lock");
	sim_name(&s.bytes, "bytes");
}

#define THREAD(fn, i)                                                                              \
	{                                                                                          \
		fn, (void *)(uintptr_t)(i), false                                                  \
	}

/* ---- a byte arrives while somebody is about to wait: POLL-2, FD-3 */

static void
check_read(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == 1);
	SIM_CHECK(wf_poll.waiters.v == 0); /* POLL-4 */
}

SCENARIO(poll_event) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(arrives, 0)},
    .check_end = check_read,
    .mutants = {SIM_MUTANT(MUT_POLL_COUNT_LATE), SIM_MUTANT(MUT_POLL_NO_RECHECK)},
    .blocked_ok = true,
};

SCENARIO(poll_event_arm) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(arrives, 0)},
    .check_end = check_read,
    .mutants = {SIM_MUTANT(MUT_POLL_COUNT_LATE)},
    .model = SIM_ARM,
    .blocked_ok = true,
};

/* ---- ready, close, and a scope: three wakers, one sleeper. POLL-1, FD-1 */

static void
check_one_won(void)
{
	SIM_CHECK((s.over & 3) == 3);
	SIM_CHECK(s.result[0] == 1 || s.result[0] == -ECANCELED || s.result[0] == -EBADF);
	SIM_CHECK(s.result[0] != 1 || s.bytes.v == 0); /* what was read is gone, else it is there */
	SIM_CHECK(s.result[0] == 1 || s.bytes.v == 1);
	SIM_CHECK(s.result[1] == 0 && s.closed == 1);
	SIM_CHECK(wf_poll.waiters.v == 0);
	SIM_CHECK(!f()->line[0].first && !f()->line[1].first);
}

SCENARIO(poll_three_wakers) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads_in_group, 0), THREAD(arrives, 0),
		THREAD(closes, 1), THREAD(cancels, 2)},
    .check_end = check_one_won,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* ---- two readers: the turn is passed on. FD-2 */

static void
check_turns(void)
{
	SIM_CHECK((s.over & 3) == 3 && s.result[0] == 1 && s.result[1] == 1);
	SIM_CHECK((f()->use.v & 0xfffffffc) == 0);
}

SCENARIO(poll_turns) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(reads, 1), THREAD(arrives, 0),
		THREAD(arrives, 0)},
    .check_end = check_turns,
    .mutants = {SIM_MUTANT(MUT_POLL_TURN_LOST)},
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* Close, while one reads and one is in line: both return, then it is closed. */
static void
check_all_sent_away(void)
{
	SIM_CHECK((s.over & 7) == 7 && s.closed == 1 && s.result[2] == 0);
	for (int i = 0; i < 2; i++)
		SIM_CHECK(s.result[i] == 1 || s.result[i] == -ECANCELED || s.result[i] == -EBADF);
}

SCENARIO(poll_close_line) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(reads, 1), THREAD(closes, 2)},
    .check_end = check_all_sent_away,
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* ---- close, while one reads: the wait that it is about to begin is void, and the end comes after
   the last use */

static void
check_closed(void)
{
	SIM_CHECK((s.over & 3) == 3 && s.closed == 1 && s.result[1] == 0);
	SIM_CHECK(s.result[0] == -ECANCELED || s.result[0] == -EBADF);
	SIM_CHECK(wf_poll.waiters.v == 0);
}

SCENARIO(poll_close) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(closes, 1)},
    .check_end = check_closed,
    .mutants = {SIM_MUTANT(MUT_POLL_STALE_WAIT), SIM_MUTANT(MUT_POLL_CLOSE_EARLY)},
    .blocked_ok = true,
};

/* The number comes again, as soon as it is free. */
static void
reuses(void *arg)
{
	struct wf_m *m = &rig.m[RIG_MS - 1];

	(void)arg;
	wf_m_set(m);
	while (!at_load_acq(&s.number_free))
		cpu_relax();
	SIM_CHECK(wf_fd_make(m, FD, 0) == FD);
	s.over |= 4;
}

static void
check_reused(void)
{
	SIM_CHECK((s.over & 6) == 6 && s.closed == 1);
	SIM_CHECK(f()->use.v == ((uint64_t)f()->generation.v << 32 | 1)); /* weft's, and unused */
}

SCENARIO(poll_reuse) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(closes, 1), THREAD(reuses, 0)},
    .check_end = check_reused,
    .mutants = {SIM_MUTANT(MUT_POLL_FINISH_BLIND)},
    .blocked_ok = true,
};

/* ---- only a scope wakes it: it is seen, and leaves the line. WAIT-1, WAIT-4 */

static void
check_cancelled(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == -ECANCELED);
	SIM_CHECK(wf_poll.waiters.v == 0 && !f()->line[0].first); /* POLL-4 */
}

SCENARIO(poll_cancel) = {
    .setup = setup,
    .threads = {THREAD(attends, 0), THREAD(reads_in_group, 0), THREAD(cancels, 2)},
    .check_end = check_cancelled,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY), SIM_MUTANT(MUT_POLL_STAYS)},
    .blocked_ok = true,
};

/* ---- an event of the file that had the number before: POLL-3 */

static void
setup_late(void)
{
	setup();
	os_sim_event((uint64_t)(f()->generation.v - 1) << 32 | FD, OS_IN | OS_RDHUP);
}

static void
check_late(void)
{
	check_read();
	SIM_CHECK(f()->count[WF_READ].v <= 1 && !(f()->seen.v & OS_RDHUP));
}

SCENARIO(poll_late_event) = {
    .setup = setup_late,
    .threads = {THREAD(attends, 0), THREAD(reads, 0), THREAD(arrives, 0)},
    .check_end = check_late,
    .mutants = {SIM_MUTANT(MUT_POLL_NO_GENERATION)},
    .max_bound = 1,
    .blocked_ok = true,
};

/* ---- a break comes to another who is in the kernel: NETP-2 */

static void
setup_waited(void)
{
	setup();
	wf_poll.waiters.v = 1;
}

static void
check_slept(void)
{
	SIM_CHECK((s.over & 1) && s.result[0] == 0);
}

SCENARIO(poll_break) = {
    .setup = setup_waited,
    .threads = {THREAD(naps, 1), THREAD(attends, 0), THREAD(sleeps, 0)},
    .check_end = check_slept,
    .mutants = {SIM_MUTANT(MUT_POLL_NO_FORWARD), SIM_MUTANT(MUT_ATTEND_NO_FENCE)},
    .blocked_ok = true,
};

/* ---- nobody attends, a P is idle, and a thread stands in line: somebody is woken to look. NETP-1.
   Whom wf_wake_one starts attends. */

static void
setup_unattended(void)
{
	setup();
	wf_heap_flush(&rig.p[0].timers);
	wf_sched.np_made = wf_sched.procs.v = 2;
	wf_steal_order_init(2);
	rig_idle(&rig.p[1]);
	rig.spare[rig.spares++] = &rig.m[ATTENDS];
}

SCENARIO(poll_joined) = {
    .setup = setup_unattended,
    .threads = {THREAD(reads, 0), THREAD(arrives, 0)},
    .check_end = check_read,
    .mutants = {SIM_MUTANT(MUT_POLL_JOIN_SILENT)},
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* ---- all Ms sleep, and the monitor has heard of an event: whoever it wakes is in line, in its
   hands, or queued. DEAD-1 */

static struct wf_waiter waits;

static void
setup_in_line(void)
{
	setup();
	wf_heap_flush(&rig.p[0].timers);
	wf_sched.nmidle = 1;
	wf_sched.n_spawned.v = 1;
	rig.g[1].status.v = WF_WAITING;
	wf_waiter_init(&waits, &rig.g[1], 0);
	wf_m_set(&rig.m[RIG_MS - 1]);
	wf_lock(&f()->lock);
	wf_fd_link(f(), WF_READ, &waits);
	wf_unlock(&f()->lock);
	wf_m_set(NULL);
}

static void
becomes_idle(void *arg)
{
	wf_m_set(&rig.m[(uintptr_t)arg]);
	wf_lock(&wf_sched.lock);
	s.suspected = wf_deadlock_suspected();
	wf_unlock(&wf_sched.lock);
	s.over |= 1;
}

static void
check_no_deadlock(void)
{
	SIM_CHECK((s.over & 1) && !s.suspected);
	SIM_CHECK(wf_globq.size.v == 1);
}

SCENARIO(poll_deadlock) = {
    .setup = setup_in_line,
    .threads = {THREAD(naps, 1), THREAD(arrives, 0), THREAD(becomes_idle, 2)},
    .check_end = check_no_deadlock,
    .mutants = {SIM_MUTANT(MUT_DEAD_NO_FIRING)},
    .blocked_ok = true,
};
