/* SPDX-License-Identifier: MIT */
/*
 * handoff.h: entering and leaving the runtime: the P is only on lease.
 *
 * While user code runs, its M's P may be taken at any instruction, because user code touches no
 * data of the P. Entering says so in in_rt and then looks at the lease; a requester changes the
 * lease, makes every thread's stores visible (membarrier), and then looks at in_rt. One of the
 * two sees the other. The owner pays no locked instruction and no fence.
 *
 *        owner                                     requester (under lease_lock)
 *   enter:  in_rt = 1                          ask:     CAS HELD|URGED -> ASKED
 *           compiler barrier                            membarrier
 *           lease == HELD ?                    decide:  in_rt == 0 ?  CAS ASKED -> TAKEN
 *   slow:   CAS ASKED -> URGED                                   else CAS ASKED -> URGED
 *
 *   from -> to             function                        by
 *   NONE -> HELD           wf_p_acquire                    owner
 *   HELD, URGED,
 *     ASKED -> NONE        wf_p_release                    owner (in the runtime)
 *   HELD, URGED -> ASKED   wf_lease_ask                    requester
 *   ASKED -> URGED         wf_enter_slow; wf_lease_decide  owner; requester
 *   ASKED -> HELD          wf_lease_decide                 requester: not the slice it meant
 *   ASKED -> TAKEN         wf_lease_decide                 requester
 *   URGED -> HELD          wf_enter_slow                   owner, which then gives way
 *   URGED -> TAKEN         wf_enter_slow                   owner, in a call that may not switch
 *   TAKEN -> NONE          wf_rejoin, regain               owner
 *   TAKEN -> OVER          leave_the_rest                  the end of the run, under lease_lock
 *   HELD, URGED, ASKED
 *     -> OFFERED or ASLEEP wf_leave_blocking               owner, in a blocking section
 *   OFFERED -> HELD        wf_offer_back                   owner
 *   OFFERED -> ASLEEP      wf_offer_take_this              whoever needs a P
 *   any -> FORKED          in_forked_child                 the only thread of a forked child
 * FENCED stands for HELD where membarrier is missing: it differs from HELD only in that every
 * enter takes the slow path, where the fence is. ASLEEP stands for TAKEN where the thread was not
 * computing; the two are left in the same way.
 *
 * LEASE-1: the words are per M, in type-stable memory.
 * LEASE-2: one requester at a time, from ask to decision.
 * LEASE-3: m->p and its tick count only if read after the membarrier and CAS to TAKEN succeeds;
 *          TAKEN is ended by the owner alone, or by the end of the run.
 * LEASE-4: in_rt belongs to the M: 1 on g0 and across switches, cleared by whoever leaves on it.
 * LEASE-5: entering twice is fatal: library functions do not call public ones.
 * LEASE-6: a request carries the tick it was made for and is ignored at another.
 * LEASE-7: in a blocking section the P is passed on if it has work, else it is on offer; the word
 *          names the P, so that a taker's CAS is for that one or fails. See blocking.c.
 */
#ifndef WF_SCHED_HANDOFF_H
#define WF_SCHED_HANDOFF_H

#include "core/self.h"

/* The two kinds of call: B may block and switch, N does neither. */
enum wf_kind { WF_CALL_N, WF_CALL_B };

#ifdef WF_TORTURE
void wf_torture_urge(struct wf_m *m); /* now and then, as if the P had just been asked for */
#endif
struct wf_m *wf_enter_slow(struct wf_m *m, enum wf_kind kind, bool nested);

/*
 * Enter the runtime; the first act of every public call. Returns the M, or NULL where no runtime
 * runs (then the caller has not entered). After WF_CALL_B: m->p is set, or m->plain. After
 * WF_CALL_N: m->p may be NULL, and the caller does what a plain thread does.
 */
WF_INLINE struct wf_m *
wf_enter(enum wf_kind kind)
{
	struct wf_m *m = wf_m();
	bool nested = at_load_rlx(&m->in_rt); /* rlx: only we write it */

	at_store_rlx(&m->in_rt, 1); /* rlx: ordered by light_barrier against membarrier */
#ifdef WF_TORTURE
	wf_torture_urge(m);
#endif
	light_barrier(); /* pairs with os_membarrier in wf_lease_barrier */
	/* rlx: HELD was stored by us, or put back by a requester that gave up */
	if (likely(at_load_rlx(&m->lease) == WF_HELD && !nested))
		return m;
	return wf_enter_slow(m, kind, nested);
}

/* The same by a thread that has its P, if nothing is asked of it. False: nothing was done, and wf_enter
   knows more. */
WF_INLINE bool
wf_enter_at_once(struct wf_m *m)
{
	if (unlikely(at_load_rlx(&m->in_rt))) /* rlx: only we write it */
		return false;
	at_store_rlx(&m->in_rt, 1); /* rlx: as in wf_enter */
#ifdef WF_TORTURE
	wf_torture_urge(m);
#endif
	light_barrier(); /* as there */
	if (likely(at_load_rlx(&m->lease) == WF_HELD) || WF_MUTANT(MUT_LEASE_AT_ONCE))
		return true; /* rlx: as there */
	if (!WF_MUTANT(MUT_LEASE_STAYS_IN))
		at_store_rel(&m->in_rt, 0); /* rel: as if it had not been; nothing was touched */
	return false;
}

void wf_leave_blocking(struct wf_m *m);

/* Leave the runtime: the last act; m was read after any possible switch. */
WF_INLINE void
wf_leave(struct wf_m *m)
{
	if (unlikely(m->blocking)) {
		wf_leave_blocking(m); /* LEASE-7 */
		return;
	}
	/* rel: what we did with the P is visible before a requester can take it; LEASE-4 */
	at_store_rel(&m->in_rt, 0);
}

/* Between these the thread touches nothing that a program may free, though it is inside, and though the
   kernel may keep it off its CPU for long: LIMBO-1. */
WF_INLINE void
wf_rest(struct wf_m *m)
{
	at_store_rel(&m->at_rest, 1); /* rel: it has done with what it did before */
}

WF_INLINE void
wf_rest_over(struct wf_m *m)
{
	at_store_rel(&m->at_rest, 0); /* rel: nor did it since */
	if (!WF_MUTANT(MUT_LIMBO_NO_FENCE))
		fence_seq(); /* before any look; pairs with who takes it to be out: LIMBO-1 */
}

/* A call in a forked child, where no runtime is: said once. */
void wf_forked_say(void);

/* This plain thread gets an M, and is inside the runtime with it. */
struct wf_m *wf_m_attach(void);

WF_INLINE struct wf_p *
wf_m_p(const struct wf_m *m)
{
	return at_load_rlx(&m->p); /* rlx: the owner's own word; GMP-2 */
}

/* The running goroutine, which has no P, starts another: it may have one then. SPAWN-3 */
void wf_starts_without(struct wf_m *m);

/* ---- requesters: hold wf_lease_lock from the first ask to the last decision (LEASE-2) */
WF_EXTERN struct wf_lock wf_lease_lock;
bool wf_lease_ask(struct wf_m *m);
void wf_lease_barrier(void);
/* The P if it is now the requester's; NULL if the owner keeps it. p and tick as seen before the
   ask: they must still hold. tick_matters false: any tick. as: TAKEN, or ASLEEP. */
struct wf_p *wf_lease_decide(struct wf_m *m, struct wf_p *p, uint32_t tick, bool tick_matters,
			     enum wf_lease as);
bool wf_taken_ends(struct wf_m *m, enum wf_lease as);
/* The owner is to give way at its next call, wherever it is now; nothing is taken. */
bool wf_lease_urge(struct wf_m *m); /* false: not now */

/* Any thread, P in hand and its holder gone: give it to an M, or make it idle. */
void wf_handoff(struct wf_m *m, struct wf_p *p);

/* Any thread. Ps were made idle by one that does not look for work itself. */
void wf_idle_unseen(struct wf_m *m);

/* Number of Ms without a P, and of urged ones, of queued urgent goroutines, and one if no run is up:
   what weft_checkpoint looks at. Those whose P was taken while they slept are left out where the
   short ways of locks look (sync.h): they may go on without a P for a while. */
void wf_preempt_word_add(int n);
void wf_asleep_add(int n);

/* The only thread of a forked child: from now on its calls find no runtime. */
void wf_lease_fork(struct wf_m *m);

#endif
