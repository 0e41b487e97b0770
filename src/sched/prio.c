/* SPDX-License-Identifier: MIT */
/*
 * prio.c: the three classes. A normal goroutine that becomes runnable goes to the local queue; an
 * urgent one to wf_urgentq, which every P looks at first; an idle one to wf_idleq, looked at last.
 *
 * Urgent. wf_sched.due takes the place of `stopping` in the test that every pick makes anyway, so
 * that normal goroutines pay nothing: nonzero sends the pick to g0, which finds the urgent one. All
 * Ps see the word, so the first to come by takes it. If none does, weft_checkpoint gives way, and
 * the monitor takes a P at its next look. Urgent is the moment it becomes runnable: who gives way,
 * or has used up a slice, goes behind the others like anybody.
 *
 * Idle. The monitor moves the oldest to the global queue when they have waited long. A goroutine
 * is moved for one turn; after that it is of the idle class again.
 *
 * PRIO-1: due counts `stopping` and each G of wf_urgentq, from before it is queued until after it
 *         is taken. Nothing is lost with a 0 seen late: no P idles without the look of idle.c.
 * PRIO-2: after URGENT_RUNS urgent turns in a row on a P others have one there, if any can run; and
 *         neither that turn nor an urgent one is cut short for urgent work.
 * PRIO-3: while the eldest of the idle class has waited AGE_NS, one of them, and one more in
 *         AGE_SHARE, get a turn every AGE_NS: the k-th is moved after AGE_SHARE * ln(1 + k /
 *         AGE_SHARE) times AGE_NS at the latest.
 */
#include "sched/sched.h"

enum {
#ifdef WF_TINY
	URGENT_RUNS = 2,
#else
	URGENT_RUNS = 16, /* a burst passes; a storm leaves the others a 17th of the turns */
#endif
	/* A few hogs get a tenth of one P; 10,000 are through in half a minute. */
	AGE_SHARE = 64,
};
#ifdef WF_TORTURE
static const int64_t AGE_NS = 0; /* whoever waits at all */
#else
static const int64_t AGE_NS = 100000000; /* ten slices */
#endif

wf_a64 wf_n_aged;
static int64_t aged_ns; /* the monitor's: the last time anybody was given a turn */

/* ---- urgent */

/* Before it is queued, after it is taken: PRIO-1. */
static void
count_due(int n)
{
	at_add_rlx(&wf_sched.due, (uint32_t)n); /* rlx: a hint, PRIO-1 */
	wf_preempt_word_add(n);
}

/* Any thread. A G of the urgent or idle class, RUNNABLE and in hand. */
void
wf_class_submit(struct wf_m *m, struct wf_g *g)
{
	if (g->flags & WF_G_IDLE) {
		g->since_ns = (int64_t)at_load_rlx(&wf_sched.coarse_ns); /* rlx: its age, roughly */
		wf_globq_put(&wf_idleq, g);
		wf_submitted(m);
		return;
	}
	count_due(1);
	wf_globq_put(&wf_urgentq, g);
	wf_submitted(m);
	/* rlx: hints; in vain it costs the monitor a look */
	if (at_load_rlx(&wf_sched.nmspinning) == 0 && !wf_idle_any())
		wf_monitor_hurry();
}

/* Holder of p, on g0: the urgent goroutine whose turn it is, or NULL; alone: nobody else can run
   here. */
struct wf_g *
wf_urgent_get(struct wf_p *p, bool alone)
{
	/* rlx: the holder's own words */
	uint64_t turn = at_load_rlx(&p->n_switches) + 1; /* that this pick begins */
	struct wf_g *g;

	if (at_load_rlx(&p->spared) + 1 != turn)       /* rlx: as above */
		p->urgent_runs = 0;                    /* somebody else had a turn since */
	if (p->urgent_runs >= URGENT_RUNS && !alone) { /* PRIO-2 */
		p->urgent_runs = 0;
		at_store_rlx(&p->spared, turn); /* rlx: a hint for the monitor */
		return NULL;
	}
	g = wf_globq_get(&wf_urgentq);
	if (!g)
		return NULL;
	count_due(-1);
	p->urgent_runs++;
	at_store_rlx(&p->spared, turn); /* rlx: as above */
	return g;
}

bool
wf_spared(const struct wf_p *p)
{
	return at_load_rlx(&p->spared) == at_load_rlx(&p->n_switches); /* rlx: a hint; PRIO-2 */
}

bool
wf_urgent_wants(struct wf_m *m)
{
	return wf_globq_size(&wf_urgentq) > 0 && !(m->g->flags & WF_G_URGENT) &&
	       !wf_spared(wf_m_p(m));
}

/* The monitor: urgent goroutines beyond those that a spinner, or a P on its way to an M, takes. */
uint32_t
wf_urgent_unserved(void)
{
	uint32_t n = wf_globq_size(&wf_urgentq);

	if (n == 0)
		return 0;
	/* rlx throughout: looked at again soon */
	if (at_load_rlx(&wf_sched.nmspinning) > 0 || wf_idle_any())
		return 0;
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) {
		const struct wf_p *p = wf_sched.allp[i];

		/* rlx: as above */
		if (at_load_rlx(&p->state) == WF_P_RUNNING && !at_load_rlx(&p->m))
			n -= n > 0;
	}
	return n;
}

/* The end of a run, world stopped. */
void
wf_urgent_flush(struct wf_glist *l)
{
	uint32_t before = l->size;

	wf_globq_get_batch(&wf_urgentq, 1, UINT32_MAX, l);
	count_due((int)before - (int)l->size);
	/* rlx: nobody else runs. PRIO-1 */
	CHECK(at_load_rlx(&wf_sched.due) == at_load_rlx(&wf_sched.stopping));
}

/* ---- idle */

/* The monitor has slept: those who were queued meanwhile look older than they are. */
void
wf_idle_age_later(int64_t now)
{
	aged_ns = now;
}

/* The monitor. True if somebody got a turn. */
bool
wf_idle_age(struct wf_m *m, int64_t now)
{
	uint32_t n = wf_globq_size(&wf_idleq);

	if (n == 0 || now - aged_ns < AGE_NS)
		return false;
	n = wf_globq_move(&wf_idleq, &wf_globq, 1 + n / AGE_SHARE, now - AGE_NS); /* PRIO-3 */
	if (n == 0)
		return false;
	aged_ns = now;
	at_add_rlx(&wf_n_aged, n); /* rlx: a counter */
	wf_submitted(m);
	return true;
}
