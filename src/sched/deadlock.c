/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c: nobody can ever run again.
 *
 * DEAD-1: suspected only when every thread of the run sleeps, goroutines exist, none is queued, no
 *         timer is left that would do something, nobody waits for a descriptor, and goroutine 1 has not ended. A waker is itself a thread that does not sleep, so it is never in between.
 * DEAD-2: threads of the program that are not ours could still wake somebody: with any of them
 *         in the process, or if that cannot be known, it is only a debug line.
 */
#include "sched/netpoll.h"
#include "sched/sched.h"

static int64_t
live_goroutines(void)
{
	/* rlx: nobody runs */
	uint64_t n = at_load_rlx(&wf_sched.n_spawned) - at_load_rlx(&wf_sched.n_exited);

	for (uint32_t i = 0; i < wf_sched.np_made; i++) {
		struct wf_p *p = wf_sched.allp[i];

		n += at_load_rlx(&p->n_spawned) - at_load_rlx(&p->n_exited); /* rlx: as above */
	}
	return (int64_t)n;
}

/* In this order: a timer that was just taken is counted as firing until what it made is queued. */
static bool
nothing_comes(void)
{
	/* acq: what it has submitted */
	return !wf_poll_waited_for() && !wf_timers_live() &&
	       (WF_MUTANT(MUT_DEAD_NO_FIRING) || !at_load_acq(&wf_sched.firing)) &&
	       !wf_any_queued();
}

/* sched.lock held; this M has just become idle. */
bool
wf_deadlock_suspected(void)
{
	wf_assert_held(&wf_sched.lock);
	/* acq: main_done is set before the caller of weft_run is woken; rlx: under the lock. DEAD-1 */
	return !at_load_acq(&wf_sched.main_done) && wf_sched.nmidle == wf_sched.nm &&
	       at_load_rlx(&wf_sched.phase) == WF_UP && !at_load_rlx(&wf_sched.stopping) &&
	       live_goroutines() > 0 && nothing_comes();
}

/* No lock held; it was suspected when idle_seq had this value. */
void
wf_deadlock_report(uint64_t idle_seq)
{
	static bool said;
	int ours, all = os_thread_count();
	bool still;

	/* Looked at again after the count: a thread that is gone by now has done what it did. If
	   somebody ran meanwhile, the last one to sleep again looks for itself. */
	wf_lock(&wf_sched.lock);
	ours = wf_threads_ours();
	still = wf_deadlock_suspected() && wf_sched.idle_seq == idle_seq;
	wf_unlock(&wf_sched.lock);
	if (!still)
		return;
	wf_sched.deadlocked = all >= 0 && all <= ours;
	if (wf_sched.deadlocked)
		wf_fatal("all goroutines are asleep - deadlock!");
	/* DEAD-2 */
	if (wf_sched.debug && !said)
		wf_say("all goroutines are asleep; other threads of the program may wake them");
	said = true;
}
