/* SPDX-License-Identifier: MIT */
/*
 * blocking.c: blocking sections: code that the program says will block its thread.
 *
 * A goroutine in user code may lose its P at any time, but only once the monitor has seen that its
 * thread sleeps. In a section the P goes beforehand. If work waits, it is passed on at once. If not,
 * it is on offer: it stays with the section, which mostly ends before anybody needs it, and whoever
 * needs a P and finds none idle takes it, without the monitor.
 *
 *        owner                                  who needs a P
 *   offer:  lease = OFFERED, P                  publish the work
 *           fence                               fence
 *           hint of P, unless it is set         no idle P; a hint, and its lease is OFFERED, P ?
 *           work, a request ?                       CAS OFFERED, P -> ASLEEP: has the P
 *             then CAS back, and pass it on     else need_spinning = 1, fence, look again
 *   back:   CAS OFFERED, P -> HELD
 *
 * The two sides are those of the idle protocol (idle.c), with the offer in place of the idle bit:
 * one of them sees the other. Hints are left set, so that a loop of sections does not write them;
 * who finds one out of date clears it.
 *
 * A loop of short sections that nobody looks at makes its offers, and takes them back, by plain
 * stores and without a fence: the M's lease has a door (door.h), which its owner shuts after a while.
 * Who needs a P and sees the hint opens the door first, and then sees the offer, or the owner sees
 * the work. All others who change the lease come in by the door as well.
 *
 * A library call inside ends the section and begins it anew: entering takes the P back, or does
 * what a call without a P does; leaving (wf_leave) offers it again. If the goroutine changes its
 * thread in such a call, m->blocking goes with it (wf_leave_saving).
 *
 * OFFER-1: a P on offer has an empty queue, and its owner does not touch it.
 * OFFER-2: a P on offer has its hint set, or its owner is about to set it, or somebody who has
 *          cleared it is about to look at the lease once more.
 * OFFER-3: while the door of an M is shut nobody but its owner changes its lease from HELD or OFFERED;
 *          what the owner said while it was shut, who opens it sees.
 */
#include "sched/sched.h"

enum { SAVE_BLOCKING = 0x80 }; /* in g->save, above the bits of weft_attr: see wf_leave_saving */

static uint32_t
offer_of(const struct wf_p *p)
{
	return WF_OFFERED | p->id << WF_LEASE_BITS;
}

/* ---- who needs a P */

/* Any thread; ordered by the caller's fence. */
static bool
is_offered(const struct wf_p *p)
{
	struct wf_m *m = at_load_acq(&p->m); /* acq: M-2; the lease confirms it */

	if (!m)
		return false;
	if (!wf_door_is_open(&m->door) && !WF_MUTANT(MUT_OFFER_NO_DOOR)) { /* OFFER-3 */
		wf_door_insist(&m->door);
		wf_door_leave(&m->door);
	}
	return at_load_rlx(&m->lease) == offer_of(p); /* rlx: a CAS decides */
}

/* Any thread: the P that m offers is in the caller's hand. */
static bool
take_from(struct wf_m *m, uint32_t offered)
{
	uint32_t lease = at_load_rlx(&m->lease); /* rlx: confirmed by the CAS */
	bool got;

	if (WF_MUTANT(MUT_OFFER_NO_ID) && (lease & 255) == WF_OFFERED)
		offered = lease; /* a mutant: whatever it offers now */
	if (lease != offered)
		return false;
	if (WF_MUTANT(MUT_OFFER_TAKE_OUTSIDE))
		return at_cas_acqrel(&m->lease, &offered, WF_ASLEEP); /* a mutant */
	wf_door_insist(&m->door);                                     /* OFFER-3 */
	got = at_cas_acqrel(&m->lease, &offered,
			    WF_ASLEEP); /* acqrel: the P changes hands, LEASE-7 */
	wf_door_leave(&m->door);
	return got;
}

/* Any thread: this P, if it is on offer, is in the caller's hand. */
bool
wf_offer_take_this(struct wf_p *p)
{
	struct wf_m *m = at_load_acq(&p->m); /* acq: as above */

	if (!m || !take_from(m, offer_of(p)))
		return false;
	wf_asleep_add(1);
	at_store_rlx(&p->m, NULL);  /* rlx: a hint for requesters */
	at_bump(&p->n_handoffs, 1); /* rlx: ours for the moment */
	return true;
}

/* A hint, as found: true if the P is on offer; if not the hint goes. OFFER-2 */
static bool
hint_holds(wf_a64 *word, uint64_t bit, const struct wf_p *p)
{
	if (is_offered(p))
		return true;
	at_and_acqrel(word, ~bit); /* acqrel: other bits' owners count on theirs */
	if (WF_MUTANT(MUT_OFFER_HINT_LOST))
		return false;
	fence_rmw(); /* the hint before the lease; pairs with offer */
	if (!is_offered(p))
		return false;
	at_or_acqrel(word, bit); /* acqrel: as above */
	return true;
}

/* The first P on offer, or NULL. */
static struct wf_p *
first_offer(void)
{
	uint32_t words = (at_load_rlx(&wf_sched.procs) + 63) / 64; /* rlx: as in wf_idle_take */

	for (uint32_t w = 0; w < words; w++) {
		uint64_t word = at_load_rlx(&wf_sched.offer_mask[w]); /* rlx: the caller fences */

		for (; word != 0; word &= word - 1) {
			struct wf_p *p = wf_sched.allp[w * 64 + (uint32_t)__builtin_ctzll(word)];

			/* rlx: our own is not on offer, and its hint is for later */
			if (at_load_rlx(&p->m) != wf_m() &&
			    hint_holds(&wf_sched.offer_mask[w], word & -word, p))
				return p;
		}
	}
	return NULL;
}

bool
wf_offer_any(void)
{
	return first_offer() != NULL;
}

/* Any thread: a P that was on offer, in the caller's hand, or NULL. */
struct wf_p *
wf_offer_take(void)
{
	struct wf_p *p;

	while ((p = first_offer()))
		if (wf_offer_take_this(p))
			return p;
	return NULL;
}

/* ---- the owner */

/* The lease goes from one of HELD and OFFERED to the other, by a plain store. False: it is not so, or
   the door is not shut. OFFER-3 */
WF_INLINE bool
change_alone(struct wf_m *m, uint32_t from, uint32_t to)
{
	bool is;

	if (!wf_door_alone(&m->door))
		return false;
	is = at_load_rlx(&m->lease) == from; /* rlx: nobody else changes it */
	if (is)
		at_store_rel(&m->lease, to); /* rel: all we did with the P: OFFER-1 */
	wf_door_done(&m->door);
	return is;
}

/* In the runtime, lease as read: the P is ours again. False: look again. */
WF_INLINE bool
take_back(struct wf_m *m, uint32_t lease)
{
	if (WF_MUTANT(MUT_OFFER_BACK_BLIND)) {
		at_store_rel(&m->lease, wf_sched.held); /* a mutant: somebody may have it */
		return true;
	}
	/* acqrel: owner or taker, LEASE-7 */
	return change_alone(m, lease, WF_HELD) || at_cas_acqrel(&m->lease, &lease, wf_sched.held);
}

bool
wf_offer_back(struct wf_m *m, uint32_t lease)
{
	return take_back(m, lease);
}

/* Somebody wants this P, or work waits that it could be used for. */
WF_INLINE bool
wanted(const struct wf_p *p)
{
#ifdef WF_TORTURE
	if (wf_rand_below(&wf_m()->rand, 4) == 0)
		return true;
#endif
	/* rlx: fenced by offer; what is queued here we have queued, and `due` is urgent work or a stop */
	if (wf_runq_len(&p->runq) > 0 || at_load_rlx(&p->runq.next) || at_load_rlx(&wf_sched.due))
		return true;
	/* acq: as in wf_handoff; rlx: fenced */
	return !wf_forkq_empty(&p->forkq) || wf_globq_size(&wf_globq) > 0 ||
	       wf_globq_size(&wf_pinq) > 0 || at_load_acq(&p->safepoint) ||
	       (at_load_rlx(&wf_sched.need_spinning) && wf_spin_needed()); /* rlx: fenced */
}

/* An offer where others may look on; what the lease was. */
static uint32_t
offer_openly(struct wf_m *m, wf_a64 *word, uint64_t bit, uint32_t offered)
{
	uint32_t was;

	wf_door_earn(&m->door);
	was = at_xchg_acqrel(&m->lease, offered); /* acqrel: as in change_alone */
	if (was == WF_URGED)
		wf_preempt_word_add(-1);
	fence_rmw();                      /* the offer before the looks; see the head */
	if (!(at_load_rlx(word) & bit)) { /* rlx: fenced; OFFER-2 */
		at_or_acqrel(word, bit);  /* acqrel: as in hint_holds */
		fence_rmw();              /* the hint too before the looks */
	}
	m->said_p = wf_m_p(m); /* p->m was stored before the fence */
	return was;
}

/* The offer may be a plain store. Who looks for offers comes to the door by p->m, so that must have
   been seen. The hint may be read before the store: who clears it opens the door before it believes
   that there is no offer. */
WF_INLINE bool
offer_alone(struct wf_m *m, struct wf_p *p, uint64_t hints, uint64_t bit)
{
	if (m->said_p != p && !WF_MUTANT(MUT_OFFER_UNSAID))
		return false;
	return (hints & bit) && change_alone(m, WF_HELD, offer_of(p));
}

/* True: the P is no longer ours to use, on offer or taken already. */
WF_INLINE bool
offer(struct wf_m *m, struct wf_p *p)
{
	wf_a64 *word = &wf_sched.offer_mask[p->id / 64];
	uint64_t bit = UINT64_C(1) << p->id % 64;
	uint32_t offered = offer_of(p), was = WF_HELD;

	if (!offer_alone(m, p, at_load_rlx(word), bit)) /* rlx: see there */
		was = offer_openly(m, word, bit, offered);
	if (was == wf_sched.held && (WF_MUTANT(MUT_OFFER_NO_RECHECK) || !wanted(p)))
		return true;
	/* acqrel: as wf_offer_back; who asked has found OFFERED, and waits for no answer */
	return !at_cas_acqrel(&m->lease, &offered, wf_sched.held);
}

/* The P goes to whoever wants it. */
static void
pass_on(struct wf_m *m, struct wf_p *p)
{
	/* acqrel: as wf_p_release; a requester that had asked loses */
	if (at_xchg_acqrel(&m->lease, WF_ASLEEP) == WF_URGED)
		wf_preempt_word_add(-1);
	wf_asleep_add(1);
	at_store_rlx(&m->p, NULL);  /* rlx: our own */
	at_bump(&p->n_handoffs, 1); /* rlx: a counter */
	wf_handoff(m, p);
}

WF_INLINE void
leave_offering(struct wf_m *m)
{
	struct wf_p *p = wf_m_p(m);

	if (p && !offer(m, p))
		pass_on(m, p);
	at_store_rel(&m->in_rt, 0); /* rel: as in wf_leave; LEASE-4 */
}

/* wf_leave for a goroutine in a section. */
void
wf_leave_blocking(struct wf_m *m)
{
	leave_offering(m);
}

/* g, which runs, is in no section any more. */
void
wf_blocking_ends(struct wf_m *m, struct wf_g *g)
{
	g->blocking = 0;
	g->save &= (uint8_t)~SAVE_BLOCKING;
	m->blocking = false;
}

WF_EXPORT void
weft_blocking_enter(void)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	uint32_t taken = WF_TAKEN;

	if (unlikely(!m))
		return;
	if (likely(m->g && m->g->blocking++ == 0)) { /* a plain thread has nothing to give */
		m->g->save |= SAVE_BLOCKING;
		m->blocking = true;
		/* acqrel: as wf_taken_ends. It computed without a P, and now it will not */
		if (!wf_m_p(m) && at_cas_acqrel(&m->lease, &taken, WF_ASLEEP)) {
			at_add_rlx(&wf_sched.computing, (uint32_t)-1); /* rlx: a limit */
			wf_preempt_word_add(-1);
			wf_asleep_add(1);
		}
		leave_offering(m);
		return;
	}
	wf_leave(m);
}

/* Mostly nobody has taken the P, and this is all there is to do. False: nothing was done. */
WF_INLINE bool
leave_at_once(struct wf_m *m)
{
	uint32_t lease = at_load_rlx(&m->lease); /* rlx: the CAS decides */

	if (!m->g || m->g->blocking != 1 || at_load_rlx(&m->in_rt) || /* rlx: our own */
	    (lease & ((1u << WF_LEASE_BITS) - 1)) != WF_OFFERED)
		return false;
	at_store_rlx(&m->in_rt, 1); /* rlx: ordered by the CAS, as in wf_enter */
	if (likely(take_back(m, lease))) {
		wf_blocking_ends(m, m->g);
		at_store_rel(&m->in_rt, 0); /* rel: as in wf_leave; LEASE-4 */
		return true;
	}
	at_store_rlx(&m->in_rt, 0); /* rlx: as if it had not been; there is no P to touch */
	return false;
}

WF_EXPORT void
weft_blocking_leave(void)
{
	struct wf_m *m;

	if (likely(leave_at_once(wf_m())))
		return;
	m = wf_enter(WF_CALL_B);
	if (!m)
		return;
	if (m->g && m->g->blocking > 0 && --m->g->blocking == 0)
		wf_blocking_ends(m, m->g);
	wf_leave(m);
}
