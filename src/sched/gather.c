/* SPDX-License-Identifier: MIT */
/*
 * gather.c: goroutines that are faster together on one P.
 *
 * A second P helps goroutines that compute. Those that do little but use the same channels in turn
 * it slows down: each use waits for cache lines of the other core, which takes longer than the use
 * itself, and both cores are busy waiting. No look at one goroutine tells the two kinds apart, so
 * this is measured: the P that took goroutines from another, its home, counts how often it uses a
 * channel that another P had used last. Many of these in a short time are a suspicion; then it lays
 * its goroutines down for others and goes idle, and home keeps what it has for a trial. If all Ps
 * together now use channels as often as they did before, the second P was of no use, and home keeps
 * its work for a while, longer each time, as long as that stays so; if not, they part, and nobody
 * asks again for a time.
 *
 * Goroutines that end at once are the same case: started by one P, and run by another that has to fetch
 * all of them first. So those that a P gets from the global queue before they have begun count as
 * bounces too, and each end of a goroutine as a use. What does not fit into the ring of a P that keeps
 * its work, and has not begun, stays in its fork queue.
 *
 *     apart: P and home          trial: home alone            kept: home alone
 *     many bounces, rate r  -->  rate r' --  r' >= r  ------> four times as long as the last --+
 *            ^                           \-  r' < r: not again for a time                      |
 *            +----------------------------+----------------------------------------------------+
 *
 * Rejected: a limit on the time between two bounces: a microsecond of work between them, for which
 * two Ps are worth it, looks the same as a microsecond of waiting.
 *
 * GATH-1: nobody is woken for what is queued at a P that keeps it, and nobody takes it; but a P that
 *         stands still, or whose holder has not looked for long, keeps nothing (the monitor); what it
 *         puts into the global queue is anybody's; who
 *         takes from another keeps nothing; and the end of the time is seen at the fairness
 *         tick of its holder, who then wakes somebody as any submitter would.
 * GATH-2: what a P lays down is found: home was seen running after it was published and need_spinning
 *         set, so home's holder looks before it sleeps; else the P is taken again.
 */
#include "sched/gather.h"
#include "base/mutant.h"
#include "sched/sched.h"

#if defined(WF_TINY) || defined(WF_TORTURE)
static const int64_t APART_NS = 1, TRIAL_NS = 1;
static const int64_t KEEP_MIN_NS = 1, KEEP_MAX_NS = 1, PART_MIN_NS = 1, PART_MAX_NS = 1;
#else
static const int64_t APART_NS = 100000; /* long enough to know the rate */
static const int64_t TRIAL_NS = 200000; /* and for home to come by what was laid down */
static const int64_t KEEP_MIN_NS = 400000, KEEP_MAX_NS = 100000000;
static const int64_t PART_MIN_NS = 1000000, PART_MAX_NS = 32000000;
#endif
static const int64_t STALE_NS = 2000000; /* a look is due every 200 us */
static const int64_t BOUNCE_NS = 4000;   /* a few cache lines' time, and little work beside it */

enum {
#if defined(WF_TINY) || defined(WF_TORTURE)
	WORSE_LOOKS = 1,
	USES_FEW = 2,
#else
	WORSE_LOOKS = 2, /* in a row: it is no accident */
	USES_FEW = 100,  /* in a window: nothing to compare with */
#endif
};

/* Uses of channels, and ends of goroutines, by all. */
static uint64_t
uses(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) /* rlx: samples */
		n += at_load_rlx(&wf_sched.allp[i]->n_uses) +
		     at_load_rlx(&wf_sched.allp[i]->n_exited);
	return n;
}

static void
begin_window(struct wf_p *p, int64_t now)
{
	p->apart.since = now;
	p->apart.uses = uses();
	p->apart.bounces = p->bounces;
}

void
wf_gather_apart(struct wf_p *p, struct wf_p *home)
{
	if (p->apart.home)
		return;
	p->apart.home = home;
	p->apart.settled = false;
	begin_window(p, os_now_ns());
}

static bool
may_try(const struct wf_p *home, int64_t now)
{
	/* rlx: heuristics */
	return !wf_gather_keeps(home) && now >= (int64_t)at_load_rlx(&home->keep.until) &&
	       at_load_rlx(&home->state) == WF_P_RUNNING;
}

/* Its goroutines meet those of others all the time, and nobody knows that it is for the better. */
static bool
suspicious(const struct wf_p *p, int64_t now)
{
	const struct wf_p *home = p->apart.home;
	int64_t bounces = p->bounces - p->apart.bounces;

	return now - p->apart.since < bounces * BOUNCE_NS && may_try(home, now);
}

static void
begin_trial(struct wf_p *p, struct wf_p *home, int64_t now)
{
	uint64_t n = uses();

	/* rlx: samples; who reads them sees this trial or another */
	at_store_rlx(&home->keep.before, n - p->apart.uses);
	at_store_rlx(&home->keep.before_ns, (uint64_t)(now - p->apart.since));
	at_store_rlx(&home->keep.uses, n);
	at_store_rlx(&home->keep.since, (uint64_t)now); /* rlx: as above */
	at_store_rel(&home->keep.state, WF_TRIAL);      /* rel: after the samples */
	at_add_acqrel(&home->n_gathers, 1);             /* acqrel: only a count */
}

/* The P's goroutines go where home finds them. False: there is other work for the P. */
static bool
lay_down(struct wf_m *m, struct wf_p *p, const struct wf_p *home)
{
	struct wf_glist l = {0};

	if (m->spinning) { /* others rely on it: not before a look at what they have */
		wf_spin_stop(m);
		if (wf_any_to_take() && !WF_MUTANT(MUT_GATHER_BLIND)) {
			wf_submitted(m); /* who was told nothing because of us */
			return false;
		}
	}
	wf_p_drain(p, &l);
	if (l.size > 0)
		wf_globq_put_batch(&wf_globq, &l);
	if (wf_idle_drop(m))
		wf_idle_entrust(m, home); /* GATH-2 */
	return true;
}

/* On g0, at the fairness tick or out of work. True: the P is gone; find_runnable goes on. */
bool
wf_gather_here(struct wf_m *m, struct wf_p *p)
{
	struct wf_p *home = p->apart.home;
	int64_t now = os_now_ns();

	if (now - p->apart.since < APART_NS)
		return false;
	if (!suspicious(p, now)) {
		p->apart.home = NULL;
		return false;
	}
	if (!p->apart.settled) { /* the loss of the channels' bias is no part of the rate */
		p->apart.settled = true;
		begin_window(p, now);
		return false;
	}
	begin_trial(p, home, now);
	p->apart.home = NULL;
	return lay_down(m, p, home);
}

/* The holder of p spins, and has seen goroutines that it could not take: they take turns faster than a
   theft, and each look slows them down. That is tried out in the same way. */
void
wf_gather_missed(struct wf_p *p, bool first, bool enough)
{
	int64_t now;

	if (first && !p->apart.home)
		begin_window(p, os_now_ns());
	if (!enough)
		return;
	now = os_now_ns();
	p->apart.home = NULL;
	/* A window that is older belongs to another time, and few uses cannot be compared. rlx: a hint */
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs) && now - p->apart.since < STALE_NS &&
			     uses() - p->apart.uses >= USES_FEW;
	     i++) {
		struct wf_p *home = wf_sched.allp[i];

		if (home == p || !may_try(home, now) || wf_p_empty(home))
			continue;
		begin_trial(p, home, now);
		break;
	}
	begin_window(p, now);
}

/* Are channels used as often as they were apart, or nearly, since the last look? A whole P for an
   eighth more is a bad bargain. */
static bool
no_worse(struct wf_p *p, int64_t now)
{
	uint64_t n = uses();
	/* rlx: the caller has acquired them */
	double used = (double)(n - at_load_rlx(&p->keep.uses));
	double took = (double)(now - (int64_t)at_load_rlx(&p->keep.since));

	at_store_rlx(&p->keep.uses, n); /* rlx: as above */
	at_store_rlx(&p->keep.since, (uint64_t)now);
	return 8 * used * (double)at_load_rlx(&p->keep.before_ns) >= /* rlx: as above */
	       7 * took * (double)at_load_rlx(&p->keep.before);
}

static void
part(struct wf_m *m, struct wf_p *p, int64_t not_before)
{
	at_store_rlx(&p->keep.until, (uint64_t)not_before); /* rlx: a heuristic */
	at_store_rlx(&p->keep.state, WF_PARTED);            /* rlx: the submitter's fence follows */
	if (!wf_p_empty(p) && !WF_MUTANT(MUT_GATHER_PARTS_MUTE))
		wf_submitted(m); /* GATH-1 */
}

static int64_t
longer(int64_t ns, int64_t times, int64_t min, int64_t max)
{
	return ns < min ? min : times * ns < max ? times * ns : max;
}

bool
wf_gather_is_stale(const struct wf_p *p, int64_t now)
{
	return wf_gather_keeps(p) &&
	       now - (int64_t)at_load_rlx(&p->keep.since) >= STALE_NS; /* rlx: a sample */
}

/* On g0, at the fairness tick of a P that keeps what it has. */
void
wf_gather_tick(struct wf_m *m, struct wf_p *p)
{
	bool trial = at_load_acq(&p->keep.state) == WF_TRIAL; /* acq: the samples */
	int64_t now = os_now_ns();

	if (now - (int64_t)at_load_rlx(&p->keep.since) < TRIAL_NS) /* rlx: as acquired */
		return;
	if (!no_worse(p, now)) {
		if (!trial && ++p->keep.worse < WORSE_LOOKS)
			return; /* the kernel may have run something else here */
		p->keep.worse = 0;
		p->keep.next_ns /= 4;
		if (trial)
			p->keep.part_ns = longer(p->keep.part_ns, 2, PART_MIN_NS, PART_MAX_NS);
		part(m, p, trial ? now + p->keep.part_ns : 0);
		return;
	}
	p->keep.worse = 0;
	if (trial) {
		p->keep.next_ns = longer(p->keep.next_ns, 4, KEEP_MIN_NS, KEEP_MAX_NS);
		p->keep.part_ns = 0;
		/* rlx: our own */
		at_store_rlx(&p->keep.until, (uint64_t)(now + p->keep.next_ns));
		at_store_rlx(&p->keep.state, WF_KEPT);
	} else if (now >= (int64_t)at_load_rlx(&p->keep.until)) { /* rlx: our own */
		part(m, p, 0);                                    /* how is it apart, by now? */
	}
}
