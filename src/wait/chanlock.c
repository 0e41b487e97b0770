/* SPDX-License-Identifier: MIT */
/* chanlock.c: the word of a channel, taken by those it is not biased to; how a bias is earned and lost. */
#include "sched/gather.h"
#include "wait/chan.h"

#ifdef WF_TINY
enum { PATIENCE_ALONE = 1, PATIENCE_MIN = 1, PATIENCE_MAX = 2, UNBIAS_BOUNCES = 1, KEPT_SHARE = 1 };
#else
enum {
	PATIENCE_ALONE = 64, /* uses in a row by one P before it gets the bias: the only P, ... */
	PATIENCE_MIN = 1024, /* ... one of several, ... */
	PATIENCE_MAX =
	    65536, /* ... four times as many after each loss: that costs up to 70 us, ... */
	UNBIAS_BOUNCES = 16, /* ... as much as so many uses in turn: see gather.c */
	KEPT_SHARE =
	    16, /* patience is less by this for a P that keeps its work: nobody else comes */
};
#endif

/* It is biased to another P: takes the bias away, and LOCKED. False: look again. CHAN-5 */
static bool
unbias(struct wf_chan *ch, uint64_t *s)
{
	void *owner = at_load_acq(&ch->owner); /* acq: looked at again by the CAS */
	void *marked = (char *)owner + 1;
	struct wf_p *p = owner;

	if (((uintptr_t)owner & 3) || !owner ||         /* marked, or nobody's any more */
	    !at_cas_acqrel(&ch->owner, &owner, marked)) /* acqrel: one of us does it */
		return false;
	if (!WF_MUTANT(MUT_CHAN_NO_MEMBARRIER))
		os_membarrier();
	for (unsigned tries = 0;; tries++) {
		void *in = at_load_acq(&p->in_chan); /* acq: what it did in there */

		if (in != ch && in != WF_ALL_CHANS)
			break;
		wf_back_off(tries);
	}
	for (unsigned tries = 0;; tries++) {  /* it may have LOCKED by a select */
		*s = at_load_rlx(&ch->state); /* rlx: the CAS decides */
		if (!(*s & WF_CH_LOCKED) &&
		    at_cas_acqrel(&ch->state, s, (*s & ~(uint64_t)WF_CH_BIASED) | WF_CH_LOCKED))
			break; /* acq: as in wf_chan_lock_shared */
		wf_back_off(tries);
	}
	*s &= ~(uint64_t)WF_CH_BIASED;
	at_store_rel(&ch->owner, WF_CHAN_LAST(p)); /* rel: after BIASED is gone */
	ch->patience = ch->patience < PATIENCE_MAX ? 4 * ch->patience : PATIENCE_MAX;
	ch->streak = 0;
	return true;
}

/* So many uses earn it. UINT32_MAX: none do. */
static uint32_t
patience(const struct wf_p *p, const struct wf_chan *ch)
{
	return wf_gather_kept(p) && ch->patience <= PATIENCE_MAX ? ch->patience / KEPT_SHARE
								 : ch->patience;
}

/* LOCKED is ours: does p use it alone? Then it is biased from the unlock on. */
static uint64_t
earned(struct wf_p *p, struct wf_chan *ch, uint64_t s)
{
	if (s & WF_CH_BIASED)
		return s;
	if (at_load_rlx(&ch->owner) != WF_CHAN_LAST(p)) {  /* rlx: under LOCKED */
		at_store_rlx(&ch->owner, WF_CHAN_LAST(p)); /* rlx: nobody else looks at it now */
		ch->streak = 0;
		wf_gather_bounced(p, 1);
	} else if (p && !wf_sched.fenced && ++ch->streak >= patience(p, ch)) {
		at_store_rel(&ch->owner, p); /* rel: published by the unlock, with BIASED */
		s |= WF_CH_BIASED;
	}
	return s;
}

uint64_t
wf_chan_lock_shared(struct wf_p *p, struct wf_chan *ch)
{
	if (p)
		at_store_rel(&p->in_chan, NULL); /* rel: nothing was done in there */
	for (unsigned tries = 0;; tries++) {
		uint64_t s = at_load_acq(&ch->state); /* acq: before the look at the owner */

		if (s & WF_CH_LOCKED)
			;
		else if ((s & WF_CH_BIASED) && at_load_acq(&ch->owner) != p) { /* acq: as set */
			if (unbias(ch, &s)) {
				wf_gather_bounced(p, UNBIAS_BOUNCES);
				return earned(p, ch, s);
			}
			/* acq: what the last holder did */
		} else if (at_cas_acqrel(&ch->state, &s, s | WF_CH_LOCKED)) {
			return earned(p, ch, s);
		}
		wf_back_off(tries);
	}
}

uint32_t
wf_chan_patience(void)
{
	/* rlx: as it is now; a matter of cost */
	return at_load_rlx(&wf_sched.procs) == 1 ? PATIENCE_ALONE : PATIENCE_MIN;
}
