/* SPDX-License-Identifier: MIT */
/*
 * netpoll.c: who asks the kernel which descriptors are ready.
 *
 * When there is nothing to do, the M that attends to timers sleeps in the kernel for both
 * (timers.c): then nobody else need ask. While all are busy nobody is there. Then an M that has run
 * out of local work asks without waiting, before it steals; a busy one does so now and then (at its
 * fairness tick, if the last look is a millisecond old); and the monitor, when nobody has looked
 * for that long, sleeps in the kernel itself instead of on its clock. Where goroutines run in turn it
 * leaves that to their M for longer: a busy server would lose its events to a thread without a P.
 *
 * If there is nobody to steal from, an M does not ask before it sleeps: the sleep itself asks. That
 * saves a system call for each wake-up of a server with little to do.
 *
 * A break is meant for the M that attends, but the kernel tells one of those who are there: another
 * one passes it on.
 *
 * NETP-1: while somebody waits for a descriptor and all Ps are idle, an M attends, or is on its way
 *         to: each M looks after it has put its P away (ATT-1), and so does the one who waits.
 * NETP-2: a break that comes to one who does not attend is passed on.
 * NETP-3: whom an event wakes goes behind those in the global queue.
 */
#include "sched/netpoll.h"
#include "sched/sched.h"

static const int64_t STALE_NS = 1000000; /* the last look is old */
static const int64_t MOVES_NS =
    4000000; /* the same where goroutines run in turn: their M will look,
					    and more cheaply than the monitor */

void (*wf_signal_hook)(struct wf_m *m);
static wf_a32 polling; /* somebody looks without a wait: one at a time is enough */
static wf_a64 last_ns; /* when somebody last looked */

static bool
nobody_attends(void)
{
	/* rlx: the caller fences, or looks again soon */
	return at_load_rlx(&wf_sched.attend_until) == WF_ATTEND_NOBODY;
}

bool
wf_netpoll_unattended(void)
{
	return unlikely(wf_poll_waited_for()) && nobody_attends();
}

int
wf_netpoll_open(void)
{
	int rc = wf_poll_open();

	if (rc > 0)
		wf_attend_break(INT64_MIN); /* whoever sleeps on a note sleeps there instead */
	return rc < 0 ? rc : 0;
}

void
wf_netpoll_joined(struct wf_m *m)
{
	fence_seq(); /* the line before the look; pairs with end_attending and the idle bit: NETP-1 */
	if (nobody_attends() && wf_idle_any() && !WF_MUTANT(MUT_POLL_JOIN_SILENT))
		wf_wake_one(m);
}

/* ---- looks */

/* Behind all who can run already: a busy P is refilled by its looks before it comes to the global queue,
   and who is there would wait for ever. NETP-3 */
static struct wf_p *
queue_for_ready(const struct wf_m *m)
{
	return wf_globq_size(&wf_globq) > 0 ? NULL : wf_m_p(m);
}

void
wf_netpoll_begin(void)
{
	at_add_acqrel(&wf_sched.firing, 1); /* acqrel: before anybody is taken from a line */
}

void
wf_netpoll_end(struct wf_m *m, const struct wf_events *events)
{
	struct wf_glist ready = {0};

	if (events->n > 0) {
		at_store_rlx(&last_ns, (uint64_t)os_now_ns()); /* rlx: a hint */
		if (wf_poll_deliver(events, &ready))
			wf_signal_hook(m);
		wf_ready_all(m, queue_for_ready(m), &ready);
	}
	at_add_acqrel(&wf_sched.firing, (uint32_t)-1); /* acqrel: all are submitted */
}

/* By one who does not attend. */
static bool
look(struct wf_m *m, int64_t until)
{
	struct wf_glist ready = {0};
	struct wf_events events;
	bool broken, any;

	wf_poll_collect(&events, until);
	wf_rest_over(m); /* of the monitor; and the break before the look: NETP-2 */
	wf_netpoll_begin();
	broken = wf_poll_deliver(&events, &ready);
	any = ready.size > 0 || broken; /* a signal may have made somebody runnable */
	wf_ready_all(m, queue_for_ready(m), &ready);
	if (broken)
		wf_signal_hook(m);
	at_add_acqrel(&wf_sched.firing, (uint32_t)-1); /* acqrel: as above */
	if (broken && !nobody_attends() && !WF_MUTANT(MUT_POLL_NO_FORWARD))
		wf_poll_break();                       /* NETP-2 */
	at_store_rlx(&last_ns, (uint64_t)os_now_ns()); /* rlx: a hint */
	return any;
}

bool
wf_netpoll(struct wf_m *m)
{
	uint32_t none = 0;
	bool any;

	/* acqrel: one at a time; nothing else hangs on it */
	if (!wf_netpoll_unattended() || !at_cas_acqrel(&polling, &none, 1))
		return false;
	any = look(m, 0);
	at_store_rel(&polling, 0); /* rel: as above */
	return any;
}

static bool
is_stale(int64_t now, int64_t after)
{
	return now - (int64_t)at_load_rlx(&last_ns) >= after; /* rlx: a hint */
}

void
wf_netpoll_tick(struct wf_m *m)
{
	if (wf_netpoll_unattended() && is_stale(os_now_ns(), STALE_NS))
		wf_netpoll(m);
}

int64_t
wf_netpoll_nap(struct wf_m *m, int64_t ns, bool moves)
{
	int64_t now, left;

	if (!wf_netpoll_unattended())
		return ns;
	now = os_now_ns();
	left =
	    (int64_t)at_load_rlx(&last_ns) + (moves ? MOVES_NS : STALE_NS) - now; /* rlx: a hint */
	if (left > 0)
		return ns < left ? ns : left;
	look(m, now + ns);
	wf_rest(m); /* as in monitor_main */
	return 0;
}
