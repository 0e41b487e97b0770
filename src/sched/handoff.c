/* SPDX-License-Identifier: MIT */
/* handoff.c: the slow half of the lease, both sides; the protocol is in handoff.h. */
#include "sched/netpoll.h"
#include "sched/pin.h"
#include "sched/sched.h"

#if defined(WF_TINY) || defined(WF_TORTURE) || defined(WF_ASAN) || defined(WF_TSAN)
enum { STARTS_MANY = 1 }; /* more often; and sanitizers are slow */
#define STARTS_MANY_NS INT64_MAX
#else
enum {
	STARTS_MANY = 32,           /* starts of goroutines by one that has no P: SPAWN-3 ... */
	STARTS_MANY_NS = 64 * 1000, /* ... so fast: it does little else */
};
#endif

struct wf_lock wf_lease_lock = WF_LOCK_INIT(WF_RANK_LEASE);

WF_EXPORT uint32_t weft_preempt_word = 1, weft_detour_word = 1; /* no run is up */

void
wf_preempt_word_add(int n)
{
	at_add_rlx((wf_a32 *)&weft_preempt_word, (uint32_t)n); /* rlx: hints */
	at_add_rlx((wf_a32 *)&weft_detour_word, (uint32_t)n);
}

void
wf_asleep_add(int n)
{
	at_add_rlx((wf_a32 *)&weft_preempt_word, (uint32_t)n); /* rlx: a hint for weft_checkpoint */
}

/* Ps have become idle, and their holders have not looked for work as wf_idle_drop does. */
void
wf_idle_unseen(struct wf_m *m)
{
	fence_seq(); /* the idle bits before the look; pairs with wf_submitted */
	if (wf_any_queued() || wf_timers_unattended() != WF_NEVER || wf_netpoll_unattended())
		wf_wake_one(m);
	else if (!WF_MUTANT(MUT_HANDOFF_MUTE))
		wf_attend_recheck(); /* ATT-2: who attends may not know what was armed there */
}

/* P in hand, its holder gone to user code or asleep. Must agree with find_runnable: if that
   would find something for this P, an M is started. */
void
wf_handoff(struct wf_m *m, struct wf_p *p)
{
	at_store_rlx(&p->m, NULL); /* rlx: a hint for requesters */
	if (wf_stop_take(p) || (wf_globq_size(&wf_pinq) > 0 && wf_pin_next(m, p)))
		return;
	/* acq: the function to run */
	if (!wf_p_empty(p) || wf_globq_size(&wf_globq) > 0 || wf_globq_size(&wf_urgentq) > 0 ||
	    at_load_acq(&p->safepoint)) {
		wf_m_start(m, p, false);
		return;
	}
	wf_idle_put(p);
	wf_idle_unseen(m);
}

/* ---- the owner's side */

/* A thread of a run that has ended: its goroutine is dropped and the thread ends. */
static WF_NORETURN void
abandoned(struct wf_m *m)
{
	wf_lock(&wf_sched.lock); /* OVER is followed by a write to our goroutine: leave_the_rest */
	wf_unlock(&wf_sched.lock);
	at_store_rlx(&m->p, NULL); /* rlx: our own */
	m->old_p = NULL;
	wf_yield(m, WF_PEND_OVER);
	wf_broken(__FILE__, __LINE__, "an abandoned goroutine does not run");
}

/* TAKEN or ASLEEP becomes `as`, and is no longer counted; false: it was neither. LEASE-3: by the
   owner, or by the end of the run. */
bool
wf_taken_ends(struct wf_m *m, enum wf_lease as)
{
	uint32_t taken = WF_TAKEN, asleep = WF_ASLEEP;

	/* acqrel: owner and end of the run: one of them ends it */
	if (!at_cas_acqrel(&m->lease, &taken, as)) {
		if (!at_cas_acqrel(&m->lease, &asleep, as)) /* acqrel: as above */
			return false;
		wf_asleep_add(-1);
		return true;
	}
	at_add_rlx(&wf_sched.computing, (uint32_t)-1); /* rlx: a limit */
	wf_preempt_word_add(-1);
	return true;
}

/* The running goroutine has no P: it gets its old one, an idle one, or queues globally while
   this M sleeps. Returns the M it goes on with. */
struct wf_m *
wf_rejoin(struct wf_m *m)
{
	struct wf_p *p = m->old_p;

	if (!wf_taken_ends(m, WF_NONE))
		abandoned(m);
	at_store_rlx(&m->p, NULL); /* rlx: our own */
	m->starts_fast = false;
	m->starts_ns = 0;
	if ((p && wf_idle_take_this(p)) || (p = wf_idle_take())) {
		wf_p_acquire(m, p);
		return m;
	}
	return wf_yield(m, WF_PEND_GLOBAL);
}

/* In a call that may not switch: the running goroutine, whose P was taken, gets another, if there is one
   to be had. The P first, then the end of TAKEN: with a P in hand the run cannot end under it. */
static bool
regain(struct wf_m *m)
{
	struct wf_p *p = m->old_p;
	bool ended;

	/* rlx: a hint. PIN-1: it would queue globally all the same */
	if (at_load_rlx(&wf_sched.npidle) == 0 || m->blocking || m->pinned)
		return false;
	if (!(p && wf_idle_take_this(p)) && !(p = wf_idle_take()))
		return false;
	ended = WF_MUTANT(MUT_REGAIN_UNCOUNTED) || wf_taken_ends(m, WF_NONE);
	CHECK(ended); /* it was TAKEN or ASLEEP: leave_the_rest comes when no P is in use */
	wf_p_acquire(m, p);
	return true;
}

void
wf_starts_without(struct wf_m *m)
{
	if (++m->starts % STARTS_MANY == 0) {
		int64_t before = m->starts_ns;

		m->starts_ns = os_now_ns();
		m->starts_fast = m->starts_ns - before < STARTS_MANY_NS;
	}
	if (m->starts_fast && regain(m))
		m->starts_fast = false;
}

/* URGED: true if the request was for an earlier slice, and is void. */
static bool
urge_is_stale(struct wf_m *m)
{
	/* rlx: written before URGED was; our own P */
	return at_load_rlx(&m->urged_tick) != at_load_rlx(&wf_m_p(m)->tick);
}

/* The lease is URGED. A call that may switch gives way; another gives the P and goes on. */
static struct wf_m *
give_way(struct wf_m *m, enum wf_kind kind)
{
	bool stale = urge_is_stale(m); /* LEASE-6 */
	bool give_p = !stale && kind == WF_CALL_N;
	uint32_t urged = WF_URGED;
	struct wf_p *p = wf_m_p(m);

	/* acqrel: a requester may turn URGED into ASKED meanwhile; then the caller looks again */
	if (!at_cas_acqrel(&m->lease, &urged, give_p ? (uint32_t)WF_TAKEN : wf_sched.held))
		return m;
	if (give_p) { /* the preempt word stays: one urged less, one without a P more */
		at_store_rlx(&m->p, NULL);          /* rlx: our own */
		at_add_rlx(&wf_sched.computing, 1); /* rlx: a limit */
		at_bump(&p->n_retakes, 1);          /* rlx: a counter */
		wf_handoff(m, p);
		return m;
	}
	wf_preempt_word_add(-1);
	/* Behind all others: it has had its share, and those that yield of themselves have not. */
	return stale || !m->g ? m : wf_yield(m, WF_PEND_GLOBAL);
}

WF_COLD static WF_NORETURN void
entered_twice(void)
{
	wf_fatal("weft was called from inside itself. A signal handler may not call weft: let it "
		 "write to a pipe or set a flag, and act on it in a goroutine");
}

WF_COLD void
wf_forked_say(void)
{
	static bool said; /* one thread */

	if (!said)
		wf_say("this is a forked child, and it has no runtime: this call and those after "
		       "it return -ENOTSUP. Call exec or _exit here, or fork before weft_run");
	said = true;
}

/* A thread without a P of the runtime, at the door. */
static struct wf_m *
enter_plain(struct wf_m *m)
{
	fence_seq(); /* in_rt before the look at phase; pairs with the end of the run */
	if (at_load_acq(&wf_sched.phase) == WF_UP) /* acq: everything the start set up */
		return m;
	wf_leave(m);
	return NULL;
}

#ifdef WF_TORTURE
void
wf_torture_urge(struct wf_m *m)
{
	uint32_t held = wf_sched.held;
	struct wf_p *p = wf_m_p(m);

	if (m->plain || !p || wf_rand_below(&m->rand, 8) != 0)
		return;
	at_store_rlx(&m->urged_tick, at_load_rlx(&p->tick)); /* rlx: our own */
	wf_preempt_word_add(1);
	if (!at_cas_acqrel(&m->lease, &held, WF_URGED)) /* acqrel: as wf_lease_decide */
		wf_preempt_word_add(-1);
}
#endif

struct wf_m *
wf_enter_slow(struct wf_m *m, enum wf_kind kind, bool nested)
{
	if (m == &wf_m_unknown) { /* in_rt of this one means nothing */
		if (at_load_acq(&wf_sched.phase) !=
		    WF_UP) { /* acq: looked at again, fenced, below */
			if (wf_sched.forked)
				wf_forked_say();
			return NULL;
		}
		m = wf_m_attach();
	} else if (nested && !WF_MUTANT(MUT_LEASE_NESTED)) {
		entered_twice(); /* LEASE-5 */
	}
	at_bump(&m->answers, 1); /* rlx: the monitor compares */
	for (;;) {
		uint32_t lease = at_load_acq(&m->lease); /* acq: the requester's decision */

		switch ((enum wf_lease)(lease & ((1u << WF_LEASE_BITS) - 1))) {
		case WF_HELD:
			return m;
		case WF_FENCED:
			fence_seq(); /* in_rt before the lease, where no membarrier does it */
			if (at_load_acq(&m->lease) == WF_FENCED) /* acq: as above */
				return m;
			break;
		case WF_ASKED: /* acqrel: exactly one of owner and requester wins; the request stays */
			wf_preempt_word_add(1);
			if (!at_cas_acqrel(&m->lease, &lease, WF_URGED))
				wf_preempt_word_add(-1);
			break;
		case WF_URGED:
			m = give_way(m, kind);
			break;
		case WF_OFFERED:
			if (wf_offer_back(m, lease))
				return m;
			break;
		case WF_TAKEN:
		case WF_ASLEEP:
			at_store_rlx(&m->p, NULL); /* rlx: our own; it is another's P */
			if (kind == WF_CALL_B)
				return wf_rejoin(m);
			if (!WF_MUTANT(MUT_END_NO_FENCE))
				fence_seq(); /* in_rt before the lease; pairs with leave_the_rest */
			if (at_load_acq(&m->lease) != WF_OVER) /* acq: the run has not ended */
				return m;
			break;
		case WF_NONE:
			return enter_plain(m);
		case WF_FORKED:
			wf_forked_say();
			wf_leave(m);
			return NULL;
		case WF_OVER:
			abandoned(m);
		}
	}
}

void
wf_lease_fork(struct wf_m *m)
{
	if (!WF_MUTANT(MUT_LEASE_FORK))
		at_store_rlx(&m->lease, WF_FORKED); /* rlx: one thread */
	if (!WF_MUTANT(MUT_FORK_OFFERS))
		m->blocking = false; /* there is no P to offer */
}

/* ---- the requester's side; wf_lease_lock held */

static bool
may_ask(uint32_t lease)
{
	return lease == WF_HELD || lease == WF_FENCED || lease == WF_URGED;
}

static void
leave_door(struct wf_m *m)
{
	if (!WF_MUTANT(MUT_LEASE_NO_DOOR))
		wf_door_leave(&m->door);
}

/* Inside the door of m. */
static bool
ask(struct wf_m *m)
{
	uint32_t lease = at_load_acq(&m->lease); /* acq: as read by the CAS below */
	struct wf_p *p;

	if (!may_ask(lease))
		return false;
	/* For the owner, should it come by before we decide. rlx: published by the CAS; the P is
	   confirmed by LEASE-3, and Ps are never freed */
	p = at_load_rlx(&m->p);
	at_store_rlx(&m->urged_tick, p ? at_load_rlx(&p->tick) : 0);
	if (!at_cas_acqrel(&m->lease, &lease, WF_ASKED)) /* acqrel: before the look at in_rt */
		return false;
	if (lease == WF_URGED)
		wf_preempt_word_add(-1);
	return true;
}

/* True: to be decided; until then the requester is inside the door: OFFER-3. False: there is nothing
   to ask for, or the owner was faster. */
bool
wf_lease_ask(struct wf_m *m)
{
	wf_assert_held(&wf_lease_lock);
	if (!may_ask(at_load_rlx(&m->lease))) /* rlx: read again */
		return false;
	if (!WF_MUTANT(MUT_LEASE_NO_DOOR) && !wf_door_enter(&m->door))
		return false;
	if (ask(m))
		return true;
	leave_door(m);
	return false;
}

/* Between the asks and the decisions: every in_rt stored before is visible after. */
void
wf_lease_barrier(void)
{
	if (WF_MUTANT(MUT_LEASE_NO_MEMBARRIER))
		return;
	if (wf_sched.fenced)
		fence_seq(); /* the owner has its own fence */
	else
		os_membarrier();
}

/* Inside the door of m. */
static struct wf_p *
decide(struct wf_m *m, struct wf_p *p, uint32_t tick, bool tick_matters, enum wf_lease as)
{
	uint32_t asked = WF_ASKED;

	/* acq: LEASE-3, m->p and the tick as of when the owner left the runtime */
	if (at_load_acq(&m->in_rt) == 0) {
		/* rlx: ordered by the acquire above; confirmed by the CAS */
		bool same =
		    at_load_rlx(&m->p) == p && (!tick_matters || at_load_rlx(&p->tick) == tick);

		same |= WF_MUTANT(MUT_LEASE_P_BEFORE_ASK);
		if (same && at_cas_acqrel(&m->lease, &asked, as)) { /* acqrel: P changes hands */
			if (as == WF_TAKEN) {
				at_add_rlx(&wf_sched.computing, 1); /* rlx: a limit */
				wf_preempt_word_add(1);
			} else {
				wf_asleep_add(1);
			}
			return p;
		}
		if (!same)
			at_cas_acqrel(&m->lease, &asked, wf_sched.held); /* acqrel: as it was */
		return NULL;
	}
	/* In the runtime: it will see the request when it comes by. LEASE-6 */
	at_store_rlx(&m->urged_tick, at_load_rlx(&p->tick)); /* rlx: published by the CAS */
	wf_preempt_word_add(1);
	if (!at_cas_acqrel(&m->lease, &asked, WF_URGED)) /* acqrel: publishes urged_tick */
		wf_preempt_word_add(-1);
	return NULL;
}

struct wf_p *
wf_lease_decide(struct wf_m *m, struct wf_p *p, uint32_t tick, bool tick_matters, enum wf_lease as)
{
	struct wf_p *got = decide(m, p, tick, tick_matters, as);

	leave_door(m);
	return got;
}

/* As if it had been in the runtime when asked; no look at in_rt, so no barrier is needed. */
bool
wf_lease_urge(struct wf_m *m)
{
	uint32_t asked = WF_ASKED;

	if (!wf_lease_ask(m))
		return false;
	wf_preempt_word_add(1);
	if (!at_cas_acqrel(&m->lease, &asked, WF_URGED) && /* acqrel: or the owner has done it */
	    !WF_MUTANT(MUT_LEASE_URGED_TWICE))
		wf_preempt_word_add(-1);
	leave_door(m);
	return true;
}
