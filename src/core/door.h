/* SPDX-License-Identifier: MIT */
/*
 * door.h: a queue that its owner uses without locked instructions while nobody else wants in.
 *
 * Mostly nobody steals from a queue, and then the owner's compare-and-swap, which costs more than
 * the rest of a switch, decides a race that nobody runs. So a queue has a door. While it is shut the
 * owner is alone, and takes by plain stores; it only says that it is at it. A thief opens the door
 * first: it changes the state, makes every thread's stores visible (membarrier), and waits until the
 * owner, which may have seen the door shut, is done. While the door is open the owner does as
 * thieves do. When nobody has come in for a while the owner shuts it, and each time later than the
 * last, since opening costs microseconds. An owner that loses its CPU while it is busy, for a few
 * instructions, keeps thieves out until it is back.
 *
 *        owner                                  thief
 *        busy = 1                               SHUT -> OPENING
 *        compiler barrier                       membarrier
 *        SHUT ?  yes: plain stores              -> AJAR; busy ?  wait, or come again
 *        busy = 0                               -> OPEN, and one inside
 *
 * DOOR-1: while the owner is busy and has seen the door shut, nobody is inside.
 * DOOR-2: only the owner shuts the door, and only while nobody is inside.
 * DOOR-3: AJAR has its own number each time: a thief that saw the owner idle opens this door, and
 *         not one that was shut and set ajar again meanwhile.
 */
#ifndef WF_CORE_DOOR_H
#define WF_CORE_DOOR_H

#include "base/lock.h"
#include "base/mutant.h"

enum {
	WF_DOOR_SHUT,
	WF_DOOR_OPENING, /* a thief is at it: its membarrier is to come */
	WF_DOOR_AJAR,    /* it came, and the owner may be busy still */
	WF_DOOR_OPEN,
	WF_DOOR_MODE = 3,
	WF_DOOR_VISITED = 4, /* since the owner looked last */
	WF_DOOR_ONE = 8,     /* a thief inside */
};
#define WF_DOOR_NUMBER (UINT64_C(1) << 24) /* how often it was opened: DOOR-3 */

#if defined(WF_TINY) || defined(WF_TORTURE)
enum { WF_DOOR_MIN = 1, WF_DOOR_MAX = 2, WF_DOOR_TRIES = 1, WF_DOOR_USES = 1 };
#else
enum {
	WF_DOOR_MIN =
	    16, /* looks of the owner without a visit, until it is shut: a thousand turns */
	WF_DOOR_MAX = 1024, /* twice as many each time, up to this */
	WF_DOOR_TRIES = 64,
	WF_DOOR_USES = 16, /* between two looks, where no tick of a P counts them */
};
#endif

/* So many others in a queue are enough for one that is put beside them: see IDLE-5. */
enum { WF_BESIDE = 2 };

struct wf_door {
	wf_a64 state;             /* atomic: the owner's and the thieves' */
	wf_a32 busy;              /* atomic: written by the owner */
	uint32_t quiet, patience; /* owner only: looks without a visit, and how many will do */
	uint32_t uses;            /* owner only: see wf_door_earn */
};

/* Nobody uses it: thieves hold a P, and the world is stopped. for_ever: open, where there is no
   membarrier. */
static inline void
wf_door_init(struct wf_door *d, bool for_ever)
{
	at_store_rlx(&d->state, for_ever ? WF_DOOR_OPEN : WF_DOOR_SHUT); /* rlx: nobody looks yet */
	d->quiet = 0;
	d->patience = for_ever ? UINT32_MAX : WF_DOOR_MIN;
}

/* It has no owner at the moment, but thieves may come: it is open until an owner shuts it. for_ever:
   as above. */
static inline void
wf_door_prop(struct wf_door *d, bool for_ever)
{
	uint64_t s = at_load_rlx(&d->state); /* rlx: the CAS decides */

	if ((s & WF_DOOR_MODE) == WF_DOOR_SHUT)
		at_cas_acqrel(&d->state, &s, s | WF_DOOR_OPEN); /* acqrel: or a thief opens it */
	d->quiet = 0;
	d->patience = for_ever ? UINT32_MAX : WF_DOOR_MIN;
}

/* ---- owner */

/* True: alone until wf_door_done. */
WF_INLINE bool
wf_door_alone(struct wf_door *d)
{
	at_store_rlx(&d->busy, 1); /* rlx: ordered by light_barrier */
	light_barrier();           /* pairs with the membarrier in wf_door_enter */
	/* rlx: only we make it SHUT */
	if (likely((at_load_rlx(&d->state) & WF_DOOR_MODE) == WF_DOOR_SHUT))
		return true;
	at_store_rel(&d->busy, 0); /* rel: nothing was done */
	return false;
}

WF_INLINE void
wf_door_done(struct wf_door *d)
{
	at_store_rel(&d->busy, 0); /* rel: what was done, to who opens: DOOR-1 */
}

/* Now and then, not busy. */
static inline void
wf_door_look(struct wf_door *d)
{
	uint64_t s = at_load_rlx(&d->state), mode = s & WF_DOOR_MODE; /* rlx: a CAS decides */

	if (likely(mode == WF_DOOR_SHUT) || mode == WF_DOOR_OPENING)
		return;
	if (mode == WF_DOOR_AJAR) { /* who left it so may never come again; and we are not busy */
		at_cas_acqrel(&d->state, &s, s | WF_DOOR_OPEN); /* acqrel: as in wf_door_enter */
		d->quiet = 0;
	} else if (s & WF_DOOR_VISITED) {
		at_and_acqrel(&d->state,
			      ~(uint64_t)WF_DOOR_VISITED); /* acqrel: others count in it */
		d->quiet = 0;
	} else if (++d->quiet >= d->patience && d->patience < UINT32_MAX) {
		if (s % WF_DOOR_NUMBER >= WF_DOOR_ONE && !WF_MUTANT(MUT_DOOR_SHUT_IN))
			return;
		/* acqrel: DOOR-2; all that was done inside */
		if (at_cas_acqrel(&d->state, &s, s & ~(uint64_t)WF_DOOR_MODE))
			d->patience = 2 * d->patience < WF_DOOR_MAX ? 2 * d->patience : WF_DOOR_MAX;
		d->quiet = 0;
	}
}

/* The owner was not alone once more, and is not busy. */
WF_INLINE void
wf_door_earn(struct wf_door *d)
{
	if (++d->uses % WF_DOOR_USES == 0)
		wf_door_look(d);
}

/* ---- thieves */

/* The owner is done with what it may have begun while the door was shut. */
static inline bool
wf_door_idle(struct wf_door *d)
{
	for (int i = 0; i < WF_DOOR_TRIES; i++) {
		if (at_load_acq(&d->busy) == 0 || WF_MUTANT(MUT_DOOR_NO_LOOK)) /* acq: DOOR-1 */
			return true;
		cpu_relax();
	}
	os_yield(); /* it has lost its CPU, perhaps to us */
	return false;
}

/* True: inside until wf_door_leave. False: another time. */
static inline bool
wf_door_enter(struct wf_door *d)
{
	uint64_t s = at_load_acq(&d->state); /* acq: as the CAS would */

	for (;;) {
		uint64_t mode = s & WF_DOOR_MODE;

		if (mode == WF_DOOR_OPENING) {
			os_yield(); /* as above */
			return false;
		}
		if (mode == WF_DOOR_SHUT) {
			uint64_t again = WF_MUTANT(MUT_DOOR_NO_NUMBER) ? 0 : WF_DOOR_NUMBER;
			uint64_t opening = s + again + WF_DOOR_OPENING;

			if (!at_cas_acqrel(&d->state, &s, opening)) /* acqrel: one of us does it */
				continue;
			if (!WF_MUTANT(MUT_DOOR_NO_MEMBARRIER))
				os_membarrier();
			s = opening + WF_DOOR_AJAR - WF_DOOR_OPENING;
			at_store_rel(&d->state, s); /* rel: after the membarrier */
			mode = WF_DOOR_AJAR;
		}
		if (mode == WF_DOOR_AJAR && !wf_door_idle(d))
			return false;
		/* acqrel: DOOR-3; what the owner did while it was alone */
		if (at_cas_acqrel(&d->state, &s,
				  (s | WF_DOOR_OPEN | WF_DOOR_VISITED) + WF_DOOR_ONE))
			return true;
	}
}

/* The same, for who cannot come again: as long as it takes the owner, or another thief. */
static inline void
wf_door_insist(struct wf_door *d)
{
	for (unsigned tries = 0; !wf_door_enter(d); tries++)
		wf_back_off(tries);
}

/* Any thread: what the owner did while it was alone is seen. */
WF_INLINE bool
wf_door_is_open(const struct wf_door *d)
{
	return (at_load_acq(&d->state) & WF_DOOR_MODE) == WF_DOOR_OPEN; /* acq: DOOR-1 */
}

static inline void
wf_door_leave(struct wf_door *d)
{
	at_add_acqrel(&d->state, -(uint64_t)WF_DOOR_ONE); /* acqrel: what was done inside: DOOR-2 */
}

#endif
