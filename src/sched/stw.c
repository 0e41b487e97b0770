/* SPDX-License-Identifier: MIT */
/*
 * stw.c: stop the world (nobody holds a P but the stopper), and a function on every P.
 *
 * The stopper is one more requester of leases: Ps of Ms in user code are taken, idle Ps are
 * taken, and Ms in the runtime bring theirs when they next come to find_runnable. Code in the
 * middle of a long computation goes on undisturbed; it only finds no P when it calls.
 *
 * STW-1: one at a time: world_lock.
 * STW-2: stop_wait counts the Ps not yet in the stopper's hand; under sched.lock.
 * STW-3: while stopping is set, no P passes from hand to hand but to the stopper.
 */
#include "sched/sched.h"

#include <errno.h>

static const int64_t ASK_AGAIN_NS = 100000; /* an M may have left the runtime since it was asked */

static struct wf_lock world_lock = WF_LOCK_INIT(WF_RANK_WORLD);

bool
wf_world_try(void)
{
	return wf_try_lock(&world_lock); /* STW-1 */
}

/* Not one of ours, or without a P: may sleep. */
void
wf_world_wait(void)
{
	wf_lock(&world_lock);
}

void
wf_world_done(void)
{
	wf_unlock(&world_lock);
}

static void
stopped(struct wf_p *p)
{
	wf_assert_held(&wf_sched.lock);
	at_store_rlx(&p->state, WF_P_STOPPED); /* rlx: a hint for thieves */
	at_store_rlx(&p->m, NULL);             /* rlx: a hint for requesters */
	wf_trace(WF_TR_P, WF_P_STOPPED, p);
	CHECK(wf_sched.stop_wait > 0); /* STW-2 */
	wf_sched.stop_wait--;
}

/* P in hand. If the world is being stopped the stopper has it now. */
bool
wf_stop_take(struct wf_p *p)
{
	bool last;

	if (!at_load_acq(&wf_sched.stopping)) /* acq: what the stopper set up */
		return false;
	wf_lock(&wf_sched.lock);
	if (!at_load_rlx(&wf_sched.stopping)) { /* rlx: under the lock */
		wf_unlock(&wf_sched.lock);
		return false;
	}
	stopped(p); /* STW-3 */
	last = wf_sched.stop_wait == 0;
	if (last)
		wf_note_set(&wf_sched.stop_note); /* under the lock: the next stop clears it */
	wf_unlock(&wf_sched.lock);
	if (last)
		wf_note_kick(&wf_sched.stop_note);
	return true;
}

/* On g0 with a P: bring it to the stopper; without one the loop sleeps. */
void
wf_stop_here(struct wf_m *m)
{
	struct wf_p *p = wf_p_release(m);

	wf_spin_stop(m);
	if (!wf_stop_take(p))
		wf_p_acquire(m, p); /* it was over before we came */
}

/* Ask every M that has a P but our own; take those that are in user code. */
static void
take_leases(const struct wf_m *self)
{
	static struct {
		struct wf_m *m;
		struct wf_p *p;
	} asked[WF_PROCS_MAX]; /* under world_lock */
	uint32_t n = 0;

	wf_lock(&wf_lease_lock);
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) { /* rlx: ours to change */
		struct wf_p *p = wf_sched.allp[i];
		struct wf_m *m = at_load_acq(&p->m); /* acq: M-2; confirmed by the decision */

		if (m && m != self && at_load_rlx(&p->state) == WF_P_RUNNING &&
		    wf_lease_ask(m)) { /* rlx: a hint */
			asked[n].m = m;
			asked[n++].p = p;
		}
	}
	if (n > 0)
		wf_lease_barrier();
	for (uint32_t i = 0; i < n; i++) {
		struct wf_p *p = wf_lease_decide(asked[i].m, asked[i].p, 0, false, WF_TAKEN);

		if (!p)
			continue;
		wf_lock(&wf_sched.lock);
		stopped(p);
		wf_unlock(&wf_sched.lock);
	}
	wf_unlock(&wf_lease_lock);
}

/* World lock held. m: the caller's M, whose P (if any) it keeps. Returns with all Ps in hand. */
void
wf_world_stop(struct wf_m *m)
{
	struct wf_p *own = m ? wf_m_p(m) : NULL;
	uint64_t futexes = 0;

	wf_note_clear(&wf_sched.stop_note);
	wf_lock(&wf_sched.lock);
	wf_sched.stop_wait = at_load_rlx(&wf_sched.procs) - (own != NULL); /* rlx: ours to change */
	at_store_rel(&wf_sched.stopping, 1);                               /* rel: stop_wait */
	at_add_rlx(&wf_sched.due, 1); /* rlx: PRIO-1; seen late, we ask again */
	wf_unlock(&wf_sched.lock);
	for (;;) {
		struct wf_p *p;
		bool all;

		while ((p = wf_idle_take())) {
			wf_lock(&wf_sched.lock);
			stopped(p);
			wf_unlock(&wf_sched.lock);
		}
		take_leases(m);
		wf_lock(&wf_sched.lock);
		all = wf_sched.stop_wait == 0;
		wf_unlock(&wf_sched.lock);
		if (all)
			break;
		wf_note_sleep(&wf_sched.stop_note, ASK_AGAIN_NS, &futexes);
	}
}

/* World stopped by us: each P goes to an M if it has work, else it is idle. */
void
wf_world_start(struct wf_m *m)
{
	struct wf_p *own = m ? wf_m_p(m) : NULL;

	wf_lock(&wf_sched.lock);
	at_store_rel(&wf_sched.stopping, 0);     /* rel: what was done while stopped */
	at_add_rlx(&wf_sched.due, (uint32_t)-1); /* rlx: a hint */
	wf_unlock(&wf_sched.lock);
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) { /* rlx: ours to change */
		struct wf_p *p = wf_sched.allp[i];

		if (p == own)
			continue;
		if (wf_p_empty(p))
			wf_idle_put(p);
		else
			wf_m_start(m, p, false);
	}
	wf_idle_unseen(m);
}

/* ---- a function on every P */

static struct {
	void (*fn)(struct wf_p *p); /* under world_lock */
	wf_a32 left;                /* Ps that have not run it */
} safe;

/* Holder of p: run what is asked for, once. */
void
wf_safepoint_run(struct wf_p *p)
{
	uint32_t asked = 1;

	/* acqrel: once for each request; fn was set before */
	if (!at_cas_acqrel(&p->safepoint, &asked, 0))
		return;
	safe.fn(p);
	at_add_acqrel(&safe.left, (uint32_t)-1); /* acqrel: what fn did, for wf_each_p */
}

static bool
safepoint_by_proxy(struct wf_m *m, struct wf_p *p)
{
	struct wf_m *holder = at_load_acq(&p->m); /* acq: as in take_leases */
	struct wf_p *got = NULL;

	if (wf_idle_take_this(p) || wf_offer_take_this(p)) {
		wf_safepoint_run(p);
		wf_handoff(m, p);
		return true;
	}
	if (!holder)
		return false;
	wf_lock(&wf_lease_lock);
	if (wf_lease_ask(holder)) {
		wf_lease_barrier();
		got = wf_lease_decide(holder, p, 0, false, WF_TAKEN);
	}
	wf_unlock(&wf_lease_lock);
	if (!got)
		return false;
	wf_safepoint_run(p);
	wf_handoff(m, p);
	return true;
}

/* World lock held, world running. fn runs on every P while nobody else uses it: by its M at the
   next schedule, or here for Ps that are idle or in user code. Not all at the same time. */
void
wf_each_p(struct wf_m *m, void (*fn)(struct wf_p *p))
{
	uint32_t n = at_load_rlx(&wf_sched.procs); /* rlx: world_lock */

	safe.fn = fn;
	at_store_rlx(&safe.left, n); /* rlx: published by safepoint */
	for (uint32_t i = 0; i < n; i++)
		at_store_rel(&wf_sched.allp[i]->safepoint, 1); /* rel: fn and left */
	if (m && wf_m_p(m))
		wf_safepoint_run(wf_m_p(m));
	while (at_load_acq(&safe.left) > 0) { /* acq: what fn did */
		for (uint32_t i = 0; i < n; i++)
			if (at_load_rlx(&wf_sched.allp[i]->safepoint)) /* rlx: a hint */
				safepoint_by_proxy(m, wf_sched.allp[i]);
		if (at_load_acq(&safe.left) > 0) /* acq: as above */
			os_sleep_ns(ASK_AGAIN_NS / 2);
	}
}

/* ---- live resize */

/* In a B call: the world lock, without keeping a P from a stopper who waits for it. NULL: the run
   has ended meanwhile, and the caller is outside. */
struct wf_m *
wf_world_lock(struct wf_m *m)
{
	while (!wf_world_try()) {
		if (!m->plain) {
			os_yield(); /* the holder may be the monitor, about to ask for our P */
			m = wf_yield(m, WF_PEND_YIELD);
		} else if (at_load_acq(&wf_sched.phase) == WF_UP) { /* acq: as in enter_plain */
			os_yield();
		} else {
			wf_leave(m); /* the end of the run holds the lock, and waits for us */
			return NULL;
		}
	}
	return m;
}

/* World stopped: the caller's P is going; it goes on with P 0, which is in its hand. */
static void
move_to_p0(struct wf_m *m)
{
	struct wf_p *p = wf_p_release(m);

	at_store_rlx(&p->state, WF_P_STOPPED); /* rlx: the world is stopped */
	wf_trace(WF_TR_P, WF_P_STOPPED, p);
	wf_p_acquire(m, wf_sched.allp[0]);
}

/* World lock held. 0, or -ENOMEM and nothing has changed. */
int
wf_world_resize(struct wf_m *m, uint32_t n)
{
	int rc;

	wf_world_stop(m);
	if (!m->plain && wf_m_p(m)->id >= n)
		move_to_p0(m);
	rc = wf_p_resize(n);
	wf_world_start(m);
	wf_ms_shrink();
	return rc;
}

WF_EXPORT int
weft_set_procs(int n)
{
	struct wf_m *m;
	uint32_t old;
	int rc;

	if (n < 1 || n > WF_PROCS_MAX)
		return -EINVAL;
	m = wf_enter(WF_CALL_B);
	if (!m || !(m = wf_world_lock(m)))
		return -ENOTSUP;
	old = at_load_rlx(&wf_sched.procs); /* rlx: under the world lock */
	rc = wf_world_resize(m, (uint32_t)n);
	if (rc == 0)
		at_store_rlx(&wf_sched.auto_procs, 0); /* rlx: under the world lock, PROCS-1 */
	wf_world_done();
	wf_leave(m);
	return rc < 0 ? rc : (int)old;
}
