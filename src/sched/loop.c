/* SPDX-License-Identifier: MIT */
/*
 * loop.c: what an M does on g0: find a runnable goroutine, run it, again. In reading order.
 *
 * LOOP-1: on g0, in_rt is 1 and m->g is NULL.
 * LOOP-2: an M looks for work only with a P; without one it sleeps (thread.c).
 */
#include "sched/gather.h"
#include "sched/netpoll.h"
#include "sched/pin.h"
#include "sched/switch.h"

#ifdef WF_TINY
enum { FORK_EVERY = 2, FORK_TURNS = 4, OLDEST_TURNS = 2 };
#else
enum {
	FORK_EVERY = 4,  /* schedules between looks at the fork queue, while the ring is busy */
	FORK_TURNS = 32, /* of those, one is for the global queue */
	/* fairness ticks beside an empty ring, one for the oldest fork: it opens a part of its tree */
	OLDEST_TURNS = 64,
};
#endif

/* The next of the urgent class, unless it is the others' turn; with alone, if there are none. */
static struct wf_g *
pick_urgent(struct wf_p *p, bool alone)
{
	return unlikely(wf_globq_size(&wf_urgentq) > 0) ? wf_urgent_get(p, alone) : NULL;
}

static void
shuffle(struct wf_m *m, struct wf_glist *l)
{
	struct wf_glist a = {0};

	for (struct wf_g *g; (g = wf_glist_pop(l));)
		if (wf_rand64(&m->rand) & 1)
			wf_glist_push_head(&a, g);
		else
			wf_glist_push(&a, g);
	*l = a;
}

/* How many to take from the global queue: half a ring, or what fits; it is not filled up, for then the
   next that comes would send half of it back. */
static uint32_t
room(const struct wf_p *p)
{
	const uint32_t max = WF_RUNQ_SIZE / 2 < WF_GLOBQ_BATCH ? WF_RUNQ_SIZE / 2 : WF_GLOBQ_BATCH;
	uint32_t taken = wf_runq_len(&p->runq) + WF_RUNQ_SIZE / 16;
	uint32_t left =
	    taken < WF_RUNQ_SIZE ? WF_RUNQ_SIZE - taken : 1; /* one will not be put there */

	return left < max ? left : max;
}

/* A share of the global queue: the first is returned, the rest goes to the end of the local ring. */
static struct wf_g *
pick_global(struct wf_m *m, struct wf_p *p)
{
	struct wf_glist batch = {0};
	struct wf_g *g;

	/* rlx: procs changes only while the world is stopped */
	wf_gather_took(
	    p, wf_globq_get_batch(&wf_globq, at_load_rlx(&wf_sched.procs), room(p), &batch));
	if (unlikely(wf_sched.randomize))
		shuffle(m, &batch);
	g = wf_glist_pop(&batch);
	if (batch.size > 0) { /* GLOBQ-2 */
		wf_runq_put_batch(&p->runq, &batch);
		CHECK(batch.size == 0); /* thieves only make room */
		/* Who looked while they were on their way has seen none. A spinner tells when it stops. */
		if (!m->spinning && !wf_gather_keeps(p) && !WF_MUTANT(MUT_IDLE_BATCH_MUTE))
			wf_submitted(m);
	}
	return g;
}

/* A busy ring hides the fork queue: mostly it is the turn of its newest, depth first, but once of its
   oldest, and once of the global queue. */
static struct wf_g *
pick_beside_ring(struct wf_p *p)
{
	uint32_t turn = ++p->fork_turns % FORK_TURNS;

	if (turn == 0)
		return wf_globq_get(&wf_globq);
	return turn == FORK_TURNS / 2 ? wf_forkq_oldest(&p->forkq) : wf_forkq_pop(&p->forkq);
}

/* As a busy ring does: goroutines that take turns in runnext, at a P that nobody takes from. */
static bool
hides_forks(const struct wf_p *p)
{
	/* rlx: only thieves change it */
	return unlikely(wf_gather_keeps(p)) && at_load_rlx(&p->runq.next) != NULL;
}

/* A ring that is refilled from its own side (by those who give way, by timers) would leave one in sixty-one
   turns to the global queue, however many wait there: hence a share of it, not one. But one where forks
   wait here too: each that is begun opens a part of its tree. */
static struct wf_g *
pick_fair(struct wf_m *m, struct wf_p *p)
{
	struct wf_g *g = NULL;

	if (p->fair > 0)
		return NULL;
	p->pin_turn = true; /* the next time */
	p->fair = WF_FAIR_EVERY;
	if (wf_forkq_empty(&p->forkq))
		return pick_global(m, p);
	if (wf_runq_len(&p->runq) > 0 || hides_forks(p)) {
		p->fair = FORK_EVERY;
		g = pick_beside_ring(p);
	} else if (++p->fork_turns % OLDEST_TURNS == 0) { /* newer ones, or runnext, may hide it */
		g = wf_forkq_oldest(&p->forkq);
	}
	return g ? g : wf_globq_get(&wf_globq);
}

/* Another P is in use: there is somebody to steal from. */
static bool
others_run(void)
{
	/* rlx: a matter of cost */
	return at_load_rlx(&wf_sched.npidle) + 1 < at_load_rlx(&wf_sched.procs);
}

/*
 * The next goroutine to run, and whether it inherits the slice; NULL: this thread must end. In
 * order: stop-the-world, safe-point work, timers, pinned goroutines, urgent class, the fairness
 * tick, local, global, descriptors, steal, timers of others, idle class; then the P is dropped,
 * everything is looked at once more, and the thread sleeps.
 */
static struct wf_g *
find_runnable(struct wf_m *m, bool *inherit)
{
	for (;;) {
		struct wf_p *p = wf_m_p(m);
		struct wf_g *g;

		if (!p) { /* LOOP-2 */
			if (!wf_m_stop(m))
				return NULL;
			continue;
		}
		if (at_load_acq(&wf_sched.stopping)) { /* acq: what the stopper set up */
			wf_stop_here(m);
			continue;
		}
		if (at_load_acq(&p->safepoint)) /* acq: the function to run */
			wf_safepoint_run(p);
		if (unlikely(wf_heap_next(&p->timers) != WF_NEVER))
			wf_timers_run_own(m, p);
		if (unlikely(p->fair == 0)) {
			wf_netpoll_tick(m);
			wf_door_look(&p->runq.door);
			wf_door_look(&p->forkq.door);
			if (unlikely(wf_gather_keeps(p)))
				wf_gather_tick(m, p);
			if (unlikely(wf_gather(m, p)))
				continue;
		}
		*inherit = false;
		if (unlikely(wf_globq_size(&wf_pinq) > 0) && wf_pin_serve(m))
			continue;
		if ((g = pick_urgent(p, false)) || (g = pick_fair(m, p)) ||
		    (g = wf_pick_local(p, inherit)) || (g = pick_global(m, p)) ||
		    (g = pick_urgent(p, true)))
			return g;
		if (others_run() && wf_netpoll(m))
			continue;
		if (wf_gather(m, p))
			continue;
		if (wf_spin_allowed(m)) {
			wf_spin_begin(m);
			if ((g = wf_steal(m, p)))
				return g;
			if (wf_timers_run_due(m))
				continue;
		}
		if ((g = wf_globq_get(&wf_idleq)))
			return g;
		if (m->spinning && !wf_netpoll_unattended() && wf_spin_more(m))
			continue;
		if (wf_idle_drop(m) && !wf_m_stop(m))
			return NULL;
	}
}

/* Run g on this M until it, or another goroutine after it, comes back to g0. */
static void
execute(struct wf_m *m, struct wf_g *g, bool inherit)
{
	struct wf_p *p = wf_m_p(m);

	if (!inherit) {
		at_bump(&p->tick, 1); /* rlx: the monitor only compares */
		if (p->fair > 0)
			p->fair--;
	}
	at_bump(&p->n_switches, 1); /* rlx: a counter */
	m->g = g;
	wf_switch_to_g(m, &m->g0_sp, &m->asan_stack, g);
	wf_asan_arrive(m->asan_stack, NULL, NULL);
	ASSERT(m->g == NULL && at_load_rlx(&m->in_rt) == 1); /* rlx: our own; LOOP-1 */
}

/* An M's life; returns when the thread must end. */
void
wf_m_loop(struct wf_m *m)
{
	for (;;) {
		bool inherit = false;
		struct wf_g *g = m->pinned ? wf_pinned_next(m) : find_runnable(m, &inherit);

		if (!g)
			return;
		if (m->spinning)
			wf_spin_found(m);
		wf_g_runs(g);
		execute(m, g, inherit);
		wf_arrived(m); /* PARK-2 */
		/* rlx: our own word; an abandoned thread ends as soon as it is back here */
		if (at_load_rlx(&m->lease) == WF_OVER)
			return;
	}
}
