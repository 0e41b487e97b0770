/* SPDX-License-Identifier: MIT */
/*
 * sysmon.c: the monitor, a thread without a P. It looks at the clock so that nobody else must.
 *
 * At each look: work that waits while a P idles gets a thread (the backstop of the lone rule, IDLE-1,
 * and of failed thread starts); who has had a P for a slice while work waits is urged to give way at
 * its next call, and if there was none by the next look the P is taken back (handoff.h); one whose
 * thread sleeps in the kernel, by two looks (the first may see its tick for the first time, where looks
 * are seldom), at once, and so are as many as urgent goroutines wait. Who has waited long in the idle class gets a
 * turn (prio.c). Looks are 50 us apart while something happens and back off to 10 ms; with every P idle the
 * monitor sleeps until one is not.
 *
 * Whether a thread sleeps is asked of /proc: its CPU clock stands still also when it is only waiting
 * for a CPU. Without /proc only the slice counts.
 *
 * A look after an oversleep (stopped process, throttled CPU) judges nobody: the samples are taken
 * anew.
 *
 * MON-1: asleep for good only if monitor_sleeps was set, a fence passed, and all Ps were idle.
 * MON-2: in a long nap only if `naps` was set, a fence passed, and no urgent goroutine was queued.
 */
#include "core/calm.h"
#include "core/stack.h"
#include "sched/gather.h"
#include "sched/netpoll.h"
#include "sched/sched.h"

#include <errno.h>

static const int64_t TRIM_NS =
    INT64_C(2000000000); /* a stack unused for this long gives its pages back */
static const int64_t LOOK_MIN_NS = 50000, LOOK_MAX_NS = 10000000;
/* When a hidden deadlock is looked for: soon, and then less and less often. */
#ifdef WF_SIM
static const int64_t WATCH_FIRST_NS = INT64_C(2000000000); /* not in place of those who have to */
#else
static const int64_t WATCH_FIRST_NS = 10000000;
#endif
static const int64_t WATCH_SOON_NS = 200000000, WATCH_NS = INT64_C(30000000000);
static const int64_t NAP_NS = 1000000; /* sleeps from here on can be ended: see nap */
static const int64_t SELDOM_NS =
    1000000; /* looks so far apart: one more file to read costs nothing */
#ifdef WF_TORTURE
static const int64_t SLICE_NS = 0; /* take whatever can be taken */
static const int64_t CALM_NS = 0;
#else
static const int64_t CALM_NS =
    50000000; /* that, or twice that, without a wait for a mutex: the calm */
static const int64_t SLICE_NS = 10000000; /* Go's forcePreemptNS */
#endif
enum {
	BLOCKED_LOOKS = 2, /* in a row, with the same tick: it is no passing wait */
	QUIET_LOOKS = 50,  /* looks without an event before backing off */
	IDLE_COUNTS = 8,   /* a quiet look with every P idle counts for so many */
	HURRY_LOOKS = 2,   /* at once, after a nap that was cut short; then back off again */
	STILL_LOOKS = 2,   /* in a row, since which nobody has run: then it may sleep */
	TRIM_SLOTS = 512,  /* stacks that give their pages back in one look: about a millisecond */
	COMPUTING_MAX = 256, /* threads that compute without a P */
};

int64_t (*wf_watch_hook)(int64_t delay);
void (*wf_retaken_hook)(struct wf_m *m);

static struct {
	struct wf_note note; /* wakes the monitor from its deep sleep, or to end */
	struct wf_note ended;
	struct wf_note hurry; /* ends a long nap */
	wf_a32 naps;
	wf_a32 stop;
	struct wf_m *m;
	int64_t seen;
	int64_t marked; /* see give_back */
	bool trims, trimmed;
	int64_t calm_ns;            /* when it last looked for waits */
	int64_t trim_ns;            /* when the Ps' caches were emptied last */
	int64_t watch_at, watch_ns; /* see watch_for_deadlock */
	uint32_t still;             /* looks since then */
	bool said_full;
	bool seldom;     /* who sleeps for less than two looks has another tick at each */
	uint32_t urgent; /* Ps that this look may still take for urgent goroutines */
} mon;

/* "Work waits" as far as this P is concerned. */
static bool
work_waits(const struct wf_p *p)
{
#ifdef WF_TORTURE
	(void)p;
	return true;
#else
	return !wf_p_empty(p) || wf_globq_size(&wf_globq) > 0 || wf_globq_size(&wf_urgentq) > 0 ||
	       wf_globq_size(&wf_pinq) > 0;
#endif
}

static bool
may_take_more(void)
{
	if (at_load_rlx(&wf_sched.computing) < COMPUTING_MAX) /* rlx: a limit */
		return true;
	if (!mon.said_full)
		wf_say("%d goroutines compute without giving way; others wait for them. Call "
		       "weft_checkpoint() in long loops",
		       COMPUTING_MAX);
	mon.said_full = true;
	return false;
}

/* The thread of m, which has p, sleeps in the kernel, and not on the runtime's behalf: who naps beside a
   lock is back before it could be taken from, and looks at it would only bring more naps about. */
static bool
sleeps(struct wf_p *p, const struct wf_m *m)
{
	int rc;

	if (at_load_rlx(&m->in_rt)) /* rlx: a hint; the decision looks again */
		return false;
	if (p->watch_tid != m->tid) {
		if (p->watch_fd > 0)
			os_close(p->watch_fd);
		p->watch_tid = m->tid;
		p->watch_fd = os_thread_watch(m->tid);
	}
	if (p->watch_fd <= 0) /* gone, or no /proc */
		return false;
	rc = os_thread_blocked(p->watch_fd);
	if (rc < 0) {
		os_close(p->watch_fd);
		p->watch_fd = p->watch_tid = 0;
	}
	return rc > 0;
}

static void
stop_watching(void)
{
	for (uint32_t i = 0; i < wf_sched.np_made; i++) {
		struct wf_p *p = wf_sched.allp[i];

		if (p->watch_fd > 0)
			os_close(p->watch_fd);
		p->watch_fd = p->watch_tid = 0;
	}
}

/* As far as the monitor has seen. */
static void
begin_slice(struct wf_p *p, int64_t now)
{
	p->seen_ns = now;
	p->seen_blocked = 0;
	p->seen_urged = false;
}

/* A P past its slice, or with a thread that sleeps: a candidate. No lock held. */
static bool
overdue(struct wf_p *p, int64_t now)
{
	uint32_t tick = at_load_rlx(&p->tick);     /* rlx: compared only; confirmed after the ask */
	const struct wf_m *m = at_load_acq(&p->m); /* acq: its tid; confirmed by the decision */
	bool runs = at_load_rlx(&p->state) == WF_P_RUNNING; /* rlx: a hint */

	if (!runs || tick != p->seen_tick) {
		p->seen_tick = tick;
		begin_slice(p, now);
		if (runs && mon.seldom && m && work_waits(p))
			p->seen_blocked = sleeps(p, m); /* the first of BLOCKED_LOOKS */
		return false;
	}
	if (now - p->seen_ns >= SLICE_NS && wf_offer_take_this(p)) {
		wf_handoff(mon.m, p); /* so that it counts as idle */
		return false;
	}
	if (!m || !work_waits(p))
		return false;
	if (now - p->seen_ns >= SLICE_NS)
		return true;
	p->seen_blocked = sleeps(p, m) ? p->seen_blocked + 1 : 0;
	if (p->seen_blocked > 0)
		return p->seen_blocked >= BLOCKED_LOOKS;
	return mon.urgent > 0 && !wf_spared(p);
}

/* The slice is over, and nothing else is wrong: politely first. A goroutine that calls the runtime
   now and then changes places with the next one there, and holds no lock of its short sections. */
static bool
only_urged(struct wf_p *p, struct wf_m *m, int64_t now)
{
	if (p->seen_urged || p->seen_blocked > 0 || now - p->seen_ns < SLICE_NS)
		return false;
	p->seen_urged = wf_lease_urge(m);
	return true;
}

/* One membarrier serves all candidates of a look. True if a P was taken, or soon may be. */
static bool
retake(int64_t now)
{
	static struct {
		struct wf_m *m;
		struct wf_p *p;
		enum wf_lease as;
	} asked[WF_PROCS_MAX]; /* the monitor's */
	uint32_t candidates = 0, n = 0, taken = 0;
	bool suspicion = false;

	if (at_load_acq(&wf_sched.stopping)) /* acq: the stopper does the asking then */
		return false;
	mon.urgent = wf_urgent_unserved();
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs);
	     i++) { /* rlx: a stale number is harmless */
		struct wf_p *p = wf_sched.allp[i];

		if (overdue(p, now)) {
			asked[candidates++].p = p;
			mon.urgent -= mon.urgent > 0;
		}
		suspicion |= p->seen_blocked > 0;
	}
	if (candidates == 0)
		return suspicion;
	wf_lock(&wf_lease_lock);
	for (uint32_t i = 0; i < candidates; i++) {
		struct wf_p *p = asked[i].p;
		struct wf_m *m = at_load_acq(&p->m); /* acq: confirmed by the decision */
		bool asleep = p->seen_blocked >= BLOCKED_LOOKS;

		if (m && only_urged(p, m, now))
			suspicion = true;
		else if (m && (asleep || may_take_more()) && wf_lease_ask(m)) {
			asked[n].m = m;
			asked[n].as = asleep ? WF_ASLEEP : WF_TAKEN;
			asked[n++].p = p;
		}
	}
	if (n > 0)
		wf_lease_barrier();
	for (uint32_t i = 0; i < n; i++) {
		struct wf_p *p = asked[i].p;

		if (wf_lease_decide(asked[i].m, p, p->seen_tick, true, asked[i].as)) {
			at_bump(&p->n_retakes, 1); /* rlx: ours for the moment */
			asked[taken].m = asked[i].m;
			asked[taken++].p = p;
		}
	}
	wf_unlock(&wf_lease_lock);
	for (uint32_t i = 0; i < taken; i++) {
		begin_slice(asked[i].p, now);
		wf_handoff(mon.m, asked[i].p);
		if (unlikely(wf_retaken_hook != NULL))
			wf_retaken_hook(asked[i].m);
	}
	return taken > 0 || suspicion;
}

/* Something is queued at p, and its M has not switched since the last look: the next lone G there
   is to wake somebody at once. */
static bool
stands_still(struct wf_p *p)
{
	uint64_t switches = at_load_rlx(&p->n_switches); /* rlx: compared only */
	bool moved = switches != p->seen_switches;

	p->seen_switches = switches;
	if (moved)
		mon.still = 0;
	if ((moved && !wf_gather_is_stale(p, mon.seen)) || wf_p_empty(p))
		return false;
	at_store_rlx(&p->lone_local, 0); /* rlx: a heuristic */
	at_store_rlx(&p->keep.state, 0); /* rlx: the same; GATH-1 */
	return true;
}

/* Work and an idle P, and nobody on the way: see to it. */
static bool
wake_for_waiting_work(void)
{
	bool waits = false;

	mon.still++;
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) /* rlx: a heuristic */
		waits |= stands_still(wf_sched.allp[i]);
	if (waits)
		fence_seq(); /* kept no more, before the look: as a submitter, GATH-1 */
	/* rlx: looked at again soon */
	if (at_load_rlx(&wf_sched.stopping) || at_load_rlx(&wf_sched.nmspinning) != 0 ||
	    (!waits && !wf_any_to_take()))
		return false;
	if (!wf_idle_any()) { /* this opens doors, so it comes last */
		if (waits)
			wf_submitted(mon.m); /* who drops a P is to look */
		return false;
	}
	wf_wake_one(mon.m);
	/* rlx: a hint. Without threads it tries now and then only. */
	return !at_load_rlx(&wf_sched.starved);
}

static void
forget_samples(int64_t now)
{
	for (uint32_t i = 0; i < wf_sched.np_made; i++)
		begin_slice(wf_sched.allp[i], now);
	wf_idle_age_later(now);
}

static bool
all_idle(void)
{
	/* rlx: fenced by MON-1 */
	return at_load_rlx(&wf_sched.npidle) == at_load_rlx(&wf_sched.procs);
}

/* Nothing happens: until somebody takes a P, or for limit_ns, -1: no limit. True: somebody has.
   MON-1 */
static bool
deep_sleep(int64_t limit_ns)
{
	uint64_t futexes = 0;
	bool woken = false;

	at_store_rlx(&wf_sched.monitor_sleeps, 1); /* rlx: the fence orders it */
	fence_seq();                               /* pairs with the RMW that takes a P */
	if (all_idle() && wf_timers_unattended() == WF_NEVER && !wf_netpoll_unattended() &&
	    !at_load_acq(&mon.stop)) /* acq: nothing, but stop is final */
		woken = wf_note_sleep(&mon.note, limit_ns, &futexes);
	if (!woken) {
		if (at_xchg_acqrel(&wf_sched.monitor_sleeps, 0) ==
		    1) /* acqrel: one of us ends it */
			return false;
		wf_note_sleep(&mon.note, -1, &futexes); /* somebody is about to wake us */
	}
	wf_note_clear(&mon.note);
	forget_samples(os_now_ns());
	return true;
}

/* Any thread that has taken a P while the monitor sleeps. */
void
wf_monitor_wake(void)
{
	if (at_xchg_acqrel(&wf_sched.monitor_sleeps, 0) == 1) /* acqrel: one waker, NOTE-1 */
		wf_note_wake(&mon.note);
}

/* On its clock, or in the kernel beside those who wait for descriptors. */
static bool
sleeps_for(int64_t ns)
{
	uint64_t futexes = 0;

	ns = wf_netpoll_nap(mon.m, ns, mon.still == 0);
	return ns > 0 && wf_note_sleep(&mon.hurry, ns, &futexes);
}

/* Between two looks. True: it was cut short, for somebody is in a hurry. */
static bool
nap(int64_t ns)
{
	uint64_t futexes = 0;

	if (ns < NAP_NS) {
		ns = wf_netpoll_nap(mon.m, ns, mon.still == 0);
		if (ns > 0)
			os_sleep_ns(ns);
		return false;
	}
	at_store_rlx(&mon.naps, 1); /* rlx: the fence orders it */
	fence_seq();                /* pairs with wf_monitor_hurry: MON-2 */
	if (wf_globq_size(&wf_urgentq) > 0 || at_load_acq(&mon.stop)) /* acq: final */
		ns = LOOK_MIN_NS;
	if (!sleeps_for(ns)) {
		if (at_xchg_acqrel(&mon.naps, 0) == 1) /* acqrel: one of us ends it */
			return ns == LOOK_MIN_NS;
		wf_note_sleep(&mon.hurry, -1, &futexes); /* somebody is about to wake us */
	}
	wf_note_clear(&mon.hurry);
	return true;
}

/* Any thread: something waits that the monitor would not look at for long. */
void
wf_monitor_hurry(void)
{
	fence_seq(); /* what waits before the look; pairs with nap: MON-2 */
	/* rlx: fenced; acqrel: one waker, NOTE-1 */
	if (at_load_rlx(&mon.naps) && at_xchg_acqrel(&mon.naps, 0) == 1) {
		wf_note_wake(&mon.hurry);
		wf_poll_break(); /* it may be there */
	}
}

/* Nothing happens: what the Ps keep for the next burst goes where it can cool. */
static void
trim(void)
{
	if (!wf_world_try())
		return;
	wf_each_p(mon.m, wf_stack_flush);
	wf_world_done();
}

/* Stacks that a burst has left, and nobody needed since: a few at each look. Asleep for good only
   when there are none. */
static void
give_back(int64_t now)
{
	if (now - mon.marked >= TRIM_NS) {
		mon.marked = now;
		mon.trims = true;
		wf_stack_mark();
	}
	if (mon.trims)
		mon.trims = wf_stack_trim(TRIM_SLOTS) > 0;
}

/* A thread of the program on its way out may have hidden a deadlock when the last M went to sleep: it
   is looked for again before the monitor rests, and later. */
static void
watch_for_deadlock(int64_t now)
{
	if (now < mon.watch_at || !all_idle())
		return;
	mon.watch_at = now + mon.watch_ns;
	mon.watch_ns = mon.watch_ns < WATCH_NS ? WATCH_NS : 2 * mon.watch_ns;
	wf_lock(&wf_sched.lock);
	wf_m_unlock_and_check();
}

/* All Ps are idle, and nobody has run for a while. True: somebody took a P while it slept. A wake-up
   only for what is worth one: it costs more than all that is done here. */
static bool
rest(int64_t now)
{
	int64_t limit = INT64_MAX, watch = mon.watch_at > now ? mon.watch_at - now : LOOK_MAX_NS;

	if (!mon.trimmed && now - mon.trim_ns >= TRIM_NS) {
		trim();
		mon.trim_ns = now;
		mon.trimmed = true;
	}
	if (!mon.trimmed) /* not after each of many short rests */
		limit = mon.trim_ns + TRIM_NS - now;
	else if (mon.trims)
		limit = LOOK_MAX_NS;
	else if (wf_stack_warm())
		limit = TRIM_NS;
	return deep_sleep(limit < watch ? limit : watch);
}

/* Of Ps whose holders compute, when nobody attends. It is not at rest: a timer may have a channel. */
static void
run_overdue_timers(int64_t now)
{
	if (wf_timers_nearest() > now)
		return;
	wf_rest_over(mon.m);
	wf_timers_run_overdue(mon.m, now);
	wf_rest(mon.m);
}

/* Nobody waits for a mutex, nor did at the last of these looks, nor has since. */
static void
calm_down(int64_t now)
{
	if (now - mon.calm_ns < CALM_NS || wf_sched.fenced)
		return;
	mon.calm_ns = now;
	wf_calm_look();
}

/* How long to sleep: no longer than until a timer that nobody attends to. */
static int64_t
until_timer(int64_t delay)
{
	int64_t next = wf_timers_unattended(), left;

	if (next == WF_NEVER)
		return delay;
	left = next - os_now_ns() + LOOK_MIN_NS;
	return left < LOOK_MIN_NS ? LOOK_MIN_NS : left < delay ? left : delay;
}

static void
begin_busy(int64_t now)
{
	mon.trimmed = false;
	mon.watch_at = now + WATCH_FIRST_NS; /* when it is awake all the same */
	mon.watch_ns = WATCH_SOON_NS;
}

static bool
look(int64_t now, int64_t slept)
{
	bool did;

	at_store_rlx(&wf_sched.coarse_ns, (uint64_t)now); /* rlx: only ages are measured by it */
	if (now - mon.seen > 2 * slept + LOOK_MAX_NS)
		forget_samples(now);
	mon.seen = now;
	mon.seldom = slept >= SELDOM_NS;
	if (!all_idle()) /* a program that sleeps needs no more of them */
		wf_autoprocs_look(mon.m, now);
	give_back(now);
	calm_down(now);
	run_overdue_timers(now); /* no reason to look more often: see until_timer */
	did = wf_idle_age(mon.m, now);
	did |= wake_for_waiting_work();
	did |= retake(now);
	if (did || mon.still == 0)
		begin_busy(now);
	else
		watch_for_deadlock(now);
	return did;
}

static bool
may_rest(void)
{
	return mon.still >= STILL_LOOKS && all_idle() && !wf_watch_hook &&
	       !at_load_rlx(&wf_sched.starved); /* rlx: as set at this look */
}

static void *
monitor_main(void *arg)
{
	int64_t delay = LOOK_MIN_NS;
	bool rested = false;
	int quiet = 0;

	(void)arg;
	os_thread_begin(false);
	wf_m_set(mon.m);
	mon.m->tid = os_tid();
	wf_rest(mon.m); /* it uses no object of the program's */
	mon.m->errno_address = os_errno_address();
	os_thread_name("weft-monitor");
	os_timer_slack();
	mon.seen = os_now_ns();
	while (!at_load_acq(&mon.stop)) { /* acq: final */
		int64_t pause = until_timer(delay);
		bool hurry = false;

		if (!rested)
			hurry = nap(unlikely(wf_watch_hook != NULL) ? wf_watch_hook(pause) : pause);
		rested = false;
		if (look(os_now_ns(), delay))
			quiet = 0;
		else if (hurry)
			quiet = QUIET_LOOKS - HURRY_LOOKS;
		else
			quiet += all_idle() ? IDLE_COUNTS : 1;
#ifdef WF_TORTURE
		continue;
#endif
		if (quiet < QUIET_LOOKS)
			delay = LOOK_MIN_NS;
		else if (delay < LOOK_MAX_NS)
			delay = delay * 2 < LOOK_MAX_NS ? delay * 2 : LOOK_MAX_NS;
		else if (may_rest() && rest(mon.seen)) {
			quiet = QUIET_LOOKS - HURRY_LOOKS;
			delay = LOOK_MIN_NS;
		} else {
			rested = os_now_ns() - mon.seen >= LOOK_MAX_NS;
		}
	}
	stop_watching();
	wf_m_free(mon.m);
	wf_note_wake(&mon.ended);
	return NULL;
}

/* 0 or -errno. */
int
wf_monitor_start(void)
{
	int rc;

	wf_note_clear(&mon.note);
	wf_note_clear(&mon.ended);
	wf_note_clear(&mon.hurry);
	at_store_rlx(&mon.naps, 0);                /* rlx: before its thread exists */
	at_store_rlx(&mon.stop, 0);                /* rlx: before its thread exists */
	at_store_rlx(&wf_sched.monitor_sleeps, 0); /* rlx: as above */
	at_store_rlx(&wf_sched.coarse_ns, (uint64_t)os_now_ns()); /* rlx: as above */
	mon.said_full = false;
	mon.still = 0;
	begin_busy(os_now_ns());
	mon.m = wf_m_alloc(true);
	if (!mon.m)
		return -ENOMEM;
	rc = os_thread_start(monitor_main, NULL);
	if (rc < 0)
		wf_m_free(mon.m);
	return rc;
}

void
wf_monitor_stop(void)
{
	uint64_t futexes = 0;

	at_store_rel(&mon.stop, 1); /* rel: final */
	fence_seq();                /* before the look at monitor_sleeps; pairs with deep_sleep */
	wf_monitor_wake();
	wf_monitor_hurry();
	wf_poll_break();
	wf_note_sleep(&mon.ended, -1, &futexes);
}
