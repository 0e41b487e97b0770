/* SPDX-License-Identifier: MIT */
/*
 * idle.c: spinning Ms, idle Ps, and the rule that no work is forgotten. The only writer of
 * nmspinning, need_spinning, idle_mask and npidle.
 *
 * Waking a thread costs thousands of switches, so submitters wake none while one already spins
 * (looks for work). The race between "I publish work and see a spinner" and "I saw no work and
 * stop spinning" is closed by a store and a load on each side with a full fence in between:
 *
 *     submit                               stop looking
 *     publish the G                        set the idle bit of the P   (read-modify-write)
 *     fence                                nmspinning--                (read-modify-write)
 *     no spinner? wake one                 fence
 *                                          look at every queue again
 *
 * An M that was not spinning does not look again (that would cost a scan for each P dropped).
 * For it there is need_spinning, set by a submitter that found neither a spinner nor an idle P:
 *
 *     submit, no idle P                    drop a P, not spinning
 *     need_spinning = 1                    set the idle bit
 *     fence                                fence
 *     an idle P now? wake one              need_spinning? then take a P and look
 *
 * Rejected: waking on every submit (a futex call each); letting every M re-check (Go #43997).
 *
 * IDLE-1: after a submit returns, the G is run, or an M is spinning or about to re-check, or all
 *         Ps are busy and need_spinning is set; or it is the lone runnext of a P that has run its
 *         last ones itself (p->lone_local), and the monitor wakes somebody if it stays; or it is at
 *         a P that keeps its work (GATH-1).
 * IDLE-2: a set idle bit means that nobody holds the P and its queue is empty; whoever clears
 *         the bit holds the P.
 * IDLE-3: nmspinning counts the Ms with m->spinning, and those being started so.
 * IDLE-4: the last M to stop spinning because it found work wakes the next one.
 * IDLE-5: a goroutine that is put beside two others, where nobody can have taken them meanwhile, is no
 *         submit: the queue was not empty since the second of those was put, for which there was
 *         one, and whoever has looked since then has seen somebody. (Of the first in a queue nobody may
 *         have been told: IDLE-1.)
 */
#include "sched/gather.h"
#include "sched/sched.h"

enum {
#ifdef WF_TINY
	ROUND_PAUSES = 1,
	ROUNDS_MAX = 1,
	PROBE_EVERY = 1,
	MISSES_MAX = 0,
	MISSES_ENOUGH = 1,
#else
	ROUND_PAUSES = 32, /* 0.5 to 1.5 us: see WF_GRACE */
	ROUNDS_MAX = 16,   /* less than a sleep and a wake-up together */
	PROBE_EVERY = 16,  /* waits; a power of two */
	MISSES_MAX = 5,    /* doublings of the pauses between two looks */
	/* misses in a row, a tenth of a millisecond, after which it had better look away */
	MISSES_ENOUGH = MISSES_MAX + 4,
#endif
};

static void
mask_of(uint32_t id, wf_a64 **word, uint64_t *bit)
{
	*word = &wf_sched.idle_mask[id / 64];
	*bit = UINT64_C(1) << id % 64;
}

/* P in hand, its queue empty: it becomes idle. */
void
wf_idle_put(struct wf_p *p)
{
	wf_a64 *word;
	uint64_t bit;

	mask_of(p->id, &word, &bit);
	CHECK(wf_p_empty(p));               /* IDLE-2 */
	at_store_rlx(&p->state, WF_P_IDLE); /* rlx: published by the bit */
	at_store_rlx(&p->keep.state, 0);    /* rlx: it has nothing to keep */
	wf_trace(WF_TR_P, WF_P_IDLE, p);
	at_add_acqrel(&wf_sched.npidle, 1); /* acqrel: only a count */
	/* acqrel: all we did with the P is visible to the next holder */
	CHECK((at_or_acqrel(word, bit) & bit) == 0);
}

static void
took(struct wf_p *p)
{
	at_add_acqrel(&wf_sched.npidle, (uint32_t)-1); /* acqrel: only a count */
	at_store_rlx(&p->state, WF_P_RUNNING);         /* rlx: a hint for thieves */
	wf_trace(WF_TR_P, WF_P_RUNNING, p);
	fence_seq(); /* the P before the look; pairs with the monitor's deep sleep, MON-1 */
	if (at_load_rlx(&wf_sched.monitor_sleeps)) /* rlx: fenced */
		wf_monitor_wake();
}

/* Any thread: take this idle P. */
bool
wf_idle_take_this(struct wf_p *p)
{
	wf_a64 *word;
	uint64_t bit;

	mask_of(p->id, &word, &bit);
	/* rlx: confirmed by the RMW; acqrel: pairs with wf_idle_put */
	if (!(at_load_rlx(word) & bit) || !(at_and_acqrel(word, ~bit) & bit))
		return false;
	took(p);
	return true;
}

static uint32_t
mask_words(void)
{
	/* rlx: changes while the world is stopped */
	return (at_load_rlx(&wf_sched.procs) + 63) / 64;
}

/* Any thread: take any P that is idle or, if there is none, on offer; or NULL. */
struct wf_p *
wf_idle_take(void)
{
	for (uint32_t w = 0, n = mask_words(); w < n; w++) {
		uint64_t word;

		/* rlx: confirmed by wf_idle_take_this */
		while ((word = at_load_rlx(&wf_sched.idle_mask[w])) != 0) {
			struct wf_p *p = wf_sched.allp[w * 64 + (uint32_t)__builtin_ctzll(word)];

			if (wf_idle_take_this(p))
				return p;
		}
	}
	return wf_offer_take();
}

/* Any thread; ordered by the caller's fence. */
bool
wf_idle_any(void)
{
	for (uint32_t w = 0, n = mask_words(); w < n; w++)
		if (at_load_rlx(&wf_sched.idle_mask[w]) != 0) /* rlx: the caller fences */
			return true;
	return wf_offer_any();
}

/* One idle P gets a spinning M, unless somebody spins already. Any thread. */
void
wf_wake_one(struct wf_m *m)
{
	for (;;) {
		uint32_t none = 0;
		struct wf_p *p;

		/* rlx, then acqrel: IDLE-3; the CAS lets one of many submitters through */
		if (at_load_rlx(&wf_sched.nmspinning) != 0 ||
		    !at_cas_acqrel(&wf_sched.nmspinning, &none, 1))
			return;
		p = wf_idle_take();
		if (p) {
			wf_count(m ? wf_m_p(m) : NULL, n_wakes, 1);
			wf_m_start(m, p, true);
			return;
		}
		/* First not spinning any more, then need_spinning: the other way round a spinner
		   could clear it and, not being the last one, wake nobody. The fence is for the
		   look below; pairs with wf_idle_drop. */
		at_add_acqrel(&wf_sched.nmspinning, (uint32_t)-1); /* acqrel: IDLE-3 */
		at_store_rlx(&wf_sched.need_spinning, 1);          /* rlx: the fence orders it */
		fence_seq();
		if (!wf_idle_any())
			return;
	}
}

/* A G was published: IDLE-1. Any thread, no lock of rank SCHED or below held. */
void
wf_submitted(struct wf_m *m)
{
	/* rlx: with one P, and that one ours, nobody can be idle */
	if (at_load_rlx(&wf_sched.procs) == 1 && wf_m_p(m))
		return;
	if (!WF_MUTANT(MUT_IDLE_SUBMIT_NO_FENCE))
		fence_seq(); /* the G before the look at the spinners; pairs with wf_idle_drop */
	if (at_load_rlx(&wf_sched.nmspinning) != 0) /* rlx: fenced */
		return;
	/* rlx: fenced. need_spinning already set, nobody idle: nothing to add */
	if (at_load_rlx(&wf_sched.need_spinning) && !wf_idle_any())
		return;
	wf_wake_one(m);
}

/* Any thread with a P to give away, after a fence: work waits that nobody may be looking for. The
   caller then passes its P on; if the word was out of date, it is no longer set. */
bool
wf_spin_needed(void)
{
	if (!at_load_rlx(&wf_sched.need_spinning)) /* rlx: the caller fences */
		return false;
	at_store_rlx(&wf_sched.need_spinning, 0); /* rlx: the fence orders it */
	fence_seq(); /* cleared before the look; pairs with wf_wake_one, which publishes first */
	if (!wf_any_queued())
		return false;
	at_store_rlx(&wf_sched.need_spinning, 1); /* rlx: as it was */
	return true;
}

/* May this M look for work in other Ps' queues? At most half of the busy Ps' worth may. */
bool
wf_spin_allowed(struct wf_m *m)
{
	uint32_t busy;

	if (m->spinning)
		return true;
	/* rlx: a limit on wasted work, not a matter of correctness */
	busy = at_load_rlx(&wf_sched.procs) - at_load_rlx(&wf_sched.npidle);
	return 2 * at_load_rlx(&wf_sched.nmspinning) < busy;
}

void
wf_spin_begin(struct wf_m *m)
{
	if (m->spinning)
		return;
	m->spinning = true;
	at_add_acqrel(&wf_sched.nmspinning, 1);   /* acqrel: seen by submitters before we look */
	at_store_rlx(&wf_sched.need_spinning, 0); /* rlx: after the count is up */
	at_bump(&wf_m_p(m)->n_spins, 1);          /* rlx: a counter */
}

/* By a spinner: so many rounds of pauses, or until there is work, or the world is to stop. Seen, but not
   to be had before: goroutines that take turns on one P. Each look takes cache lines from them, so
   the looks become rarer, and in the end nobody looks: gather.c. */
static bool
see_work(struct wf_m *m, uint32_t rounds)
{
	int misses = m->spin_misses;
	uint32_t pauses = (uint32_t)ROUND_PAUSES << (misses < MISSES_MAX ? misses : MISSES_MAX);

	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < pauses; i++)
			cpu_relax();
		if (at_load_acq(&wf_sched.stopping)) /* acq: as in find_runnable */
			return false;
		if (wf_any_to_take())
			return true;
	}
	return false;
}

/*
 * A spinner has found nothing. Work often comes in bursts, and to be asleep when the next one
 * starts costs two system calls and the latency of a wake-up; to wait in vain costs the CPU. So
 * it waits for a few rounds of pauses: more if that was a success lately, fewer if not. Now and
 * then it waits long all the same: the waker's system call alone can outlast a short wait, and
 * then every short wait is in vain.
 */
bool
wf_spin_more(struct wf_m *m)
{
	bool probe = (++m->spin_waits & (PROBE_EVERY - 1)) == 0;
	int misses = m->spin_misses;
	bool seen;

	wf_rest(m);
	seen = see_work(m, probe ? ROUNDS_MAX : m->spin_rounds);
	wf_rest_over(m);
	if (at_load_acq(&wf_sched.stopping)) /* acq: as in find_runnable */
		return true;
	if (seen) {
		wf_gather_missed(wf_m_p(m), misses == 0, misses == MISSES_ENOUGH);
		m->spin_misses = misses < MISSES_ENOUGH ? (uint8_t)(misses + 1) : MISSES_MAX;
		if (m->spin_rounds < ROUNDS_MAX)
			m->spin_rounds = (uint8_t)(probe ? ROUNDS_MAX : m->spin_rounds + 1);
		return true;
	}
	if (m->spin_rounds > 0)
		m->spin_rounds--;
	m->spin_misses = 0;
	return false;
}

/* A spinner has found work and will run it. */
void
wf_spin_found(struct wf_m *m)
{
	uint32_t was;

	m->spinning = m->awoken = false;
	m->spin_misses = 0;
	was = at_add_acqrel(&wf_sched.nmspinning, (uint32_t)-1); /* acqrel: IDLE-3 */
	CHECK(was > 0);
	if (was != 1 || WF_MUTANT(MUT_IDLE_LAST_NO_WAKE))
		return;
	fence_rmw(); /* not spinning before the look; pairs with wf_submitted */
	/* IDLE-4. Who keeps its work comes by the global queue itself. */
	if (!wf_gather_keeps(wf_m_p(m)) || wf_any_beside_global())
		wf_wake_one(m);
}

/* Between two runs: nobody spins, nobody is needed. */
void
wf_idle_reset(void)
{
	at_store_rlx(&wf_sched.nmspinning, 0); /* rlx: nobody runs */
	at_store_rlx(&wf_sched.need_spinning, 0);
	for (int w = 0; w < WF_MASK_WORDS; w++)
		at_store_rlx(&wf_sched.offer_mask[w], 0);
}

/* Not spinning, and every look after it is ordered behind that; pairs with wf_submitted. */
static void
stop_spinning(void)
{
	if (WF_MUTANT(MUT_IDLE_PARK_NO_FENCE)) {
		at_bump(&wf_sched.nmspinning, (uint32_t)-1); /* a mutant: no RMW, no fence */
		return;
	}
	CHECK(at_add_acqrel(&wf_sched.nmspinning, (uint32_t)-1) > 0); /* acqrel: IDLE-3 */
	fence_seq();
}

void
wf_spin_cancel(void)
{
	at_add_acqrel(&wf_sched.nmspinning, (uint32_t)-1); /* acqrel: IDLE-3 */
}

void
wf_spin_stop(struct wf_m *m)
{
	if (!m->spinning)
		return;
	m->spinning = false;
	stop_spinning();
}

/* Take an idle P, any, and look for work again. */
static bool
look_again(struct wf_m *m)
{
	struct wf_p *p = wf_idle_take();

	if (!p)
		return false;
	wf_p_acquire(m, p);
	wf_spin_begin(m);
	return true;
}

/* Work is queued, but the idle P it could run on may just be changing hands: whoever drops the next
   one must know. */
static bool
look_for_queued(struct wf_m *m)
{
	if (look_again(m))
		return true;
	at_store_rlx(&wf_sched.need_spinning, 1); /* rlx: the fence orders it */
	fence_seq();                              /* pairs with wf_idle_drop */
	return look_again(m);
}

/*
 * On g0, nothing found: the P becomes idle. False if work turned up and a P is in hand again,
 * spinning; true if the M is to sleep, without a P.
 */
bool
wf_idle_drop(struct wf_m *m)
{
	struct wf_p *p;
	bool was_spinning = m->spinning;

	/* rlx: a hint that saves the trip; the fenced look below is the one that counts */
	if (!was_spinning && at_load_rlx(&wf_sched.need_spinning)) {
		wf_spin_begin(m);
		return false;
	}
	p = wf_p_release(m);
	if (wf_stop_take(p)) {
		/* the stopper has it now */
	} else {
		wf_idle_put(p);
	}
	if (was_spinning) {
		m->spinning = false;
		stop_spinning();
		return WF_MUTANT(MUT_IDLE_NO_RECHECK) || !wf_any_to_take() || !look_for_queued(m);
	}
	fence_seq(); /* the idle bit before the look; pairs with wf_wake_one */
	if (!WF_MUTANT(MUT_IDLE_NO_NEED_SPINNING) && at_load_rlx(&wf_sched.need_spinning) &&
	    look_again(m)) /* rlx: fenced */
		return false;
	return true;
}

/* After a drop: work is queued that home, if it runs, will come by. GATH-2 */
void
wf_idle_entrust(struct wf_m *m, const struct wf_p *home)
{
	if (!WF_MUTANT(MUT_GATHER_SILENT))
		at_store_rlx(&wf_sched.need_spinning, 1); /* rlx: the fence orders it */
	fence_seq();                                      /* pairs with home's wf_idle_drop */
	/* rlx: fenced. On offer: its holder does not look */
	if (at_load_rlx(&home->state) != WF_P_RUNNING ||
	    (wf_offer_any() && !WF_MUTANT(MUT_GATHER_ON_OFFER)))
		look_again(m);
}
