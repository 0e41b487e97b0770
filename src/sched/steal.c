/* SPDX-License-Identifier: MIT */
/*
 * steal.c: victims and their order. Four passes over all busy Ps, each in a random order: a
 * random start and a random stride coprime to their number, drawn independently.
 *
 * STEAL-1: each pass visits every P exactly once.
 * STEAL-2: a lone G of the ring or runnext is taken only in the last pass, after a grace
 *          (runq.h), a short one if the thief was asleep until now. The fork queue knows no grace:
 *          what stands there is a whole subtree.
 */
#include "sched/steal.h"
#include "sched/gather.h"
#include "sched/sched.h"

enum {
	PASSES = 4,
	GRACE = WF_GRACE,
#ifdef WF_TINY
	GRACE_MAX = 1,
#else
	GRACE_MAX = 1024, /* pauses: 15 to 45 us */
#endif
	SHORT_NS = 500, /* a goroutine's run: a few transfers of cache lines between cores */
};

static struct {
	uint32_t n, count;
	uint16_t coprime[WF_PROCS_MAX];
} order; /* const while the world runs */

static uint32_t
gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* World stopped. */
void
wf_steal_order_init(uint32_t procs)
{
	order.n = procs;
	order.count = 0;
	for (uint32_t i = 1; i <= procs; i++)
		if (gcd(i, procs) == 1)
			order.coprime[order.count++] = (uint16_t)i;
}

void
wf_steal_walk_begin(struct wf_steal_walk *w, uint32_t r1, uint32_t r2)
{
	w->left = order.n;
	w->at = r1 % order.n;
	w->stride = order.coprime[r2 % order.count];
}

bool
wf_steal_walk_next(struct wf_steal_walk *w, uint32_t *p)
{
	if (w->left == 0)
		return false;
	w->left--;
	*p = w->at;
	w->at = (w->at + w->stride) % order.n;
	return true;
}

static struct wf_g *
steal_from(struct wf_m *m, struct wf_p *p, struct wf_p *victim, bool last, uint32_t grace)
{
	uint32_t n;
	struct wf_g *g = wf_runq_steal(&p->runq, &victim->runq, last, grace, &n); /* STEAL-2 */

	if (!g && (g = wf_forkq_steal(&victim->forkq)))
		n = 1;
	if (!g)
		return NULL;
	if (last && n == 1)
		at_store_rlx(&victim->lone_local, 0); /* rlx: a heuristic, see wf_submit */
	at_bump(&p->n_steals, 1);                     /* rlx: counters */
	at_bump(&p->n_stolen, n);
	m->stole_ns = os_now_ns();
	m->stole_tick = at_load_rlx(&p->tick); /* rlx: our own */
	if (!WF_MUTANT(MUT_GATHER_THIEF_KEEPS))
		at_store_rlx(&p->keep.state, 0); /* rlx: a heuristic, GATH-1 */
	wf_gather_apart(p, victim);
	return g;
}

/*
 * Out of work again after a theft: was it worth it? Goroutines that are over in less time than
 * their cache lines need to change cores are better left where they are. Then the next theft waits
 * longer, and leaves more, so that what it moves is worth the trip. Those that pass an object back
 * and forth with the core they came from are gather.c's.
 */
static void
learn_grace(struct wf_m *m, struct wf_p *p)
{
	uint32_t ran = at_load_rlx(&p->tick) - m->stole_tick; /* rlx: our own */
	int64_t took;

	if (m->stole_ns == 0 || ran == 0)
		return;
	took = os_now_ns() - m->stole_ns;
	if (took / ran < SHORT_NS)
		m->grace = m->grace < GRACE_MAX ? m->grace * 2 : GRACE_MAX;
	else
		m->grace = m->grace > GRACE ? m->grace / 2 : GRACE;
	m->stole_ns = 0;
}

/* To wake up takes longer than the longest grace: what has been there since then has had it. The shortest
   is left, to see whether the victim takes turns. */
static uint32_t
grace_of(struct wf_m *m)
{
	bool awoken = m->awoken;

	m->awoken = false;
	return awoken ? GRACE : m->grace;
}

/* On g0, spinning, with P p whose queue is empty. */
struct wf_g *
wf_steal(struct wf_m *m, struct wf_p *p)
{
	uint32_t grace;

	learn_grace(m, p);
	grace = grace_of(m);
	for (int pass = 0; pass < PASSES; pass++) {
		struct wf_steal_walk w;
		uint32_t i;

		wf_steal_walk_begin(&w, (uint32_t)wf_rand64(&m->rand),
				    (uint32_t)wf_rand64(&m->rand));
		while (wf_steal_walk_next(&w, &i)) {
			struct wf_p *victim = wf_sched.allp[i];
			struct wf_g *g;

			if (at_load_acq(&wf_sched.stopping)) /* acq: as in find_runnable */
				return NULL;
			/* rlx: a hint; idle Ps have empty queues */
			if (victim == p || at_load_rlx(&victim->state) != WF_P_RUNNING ||
			    wf_gather_keeps(victim))
				continue;
			if ((g = steal_from(m, p, victim, pass == PASSES - 1, grace)))
				return g;
		}
	}
	return NULL;
}

/* Only a runnext, on a P that has run its last ones itself: see wf_submit. */
static bool
lone_local(const struct wf_p *p)
{
	/* rlx: a heuristic */
	return at_load_rlx(&p->lone_local) && wf_runq_ring_empty(&p->runq) &&
	       wf_forkq_empty(&p->forkq);
}

static bool
any_global(void)
{
	/* acq: the idle class first; what ageing has moved from it is seen in the global queue then,
	   GLOBQ-3 */
	return at_load_acq(&wf_idleq.size) > 0 || wf_globq_size(&wf_globq) > 0 ||
	       (wf_globq_size(&wf_urgentq) > 0 && !WF_MUTANT(MUT_IDLE_NO_URGENT)) ||
	       wf_globq_size(&wf_pinq) > 0;
}

static bool
any_local(bool to_take)
{
	uint32_t n = at_load_rlx(&wf_sched.procs); /* rlx: changes while the world is stopped */

	for (uint32_t i = 0; i < n; i++) {
		const struct wf_p *p = wf_sched.allp[i];

		if (!wf_p_empty(p) && !(to_take && (lone_local(p) || wf_gather_keeps(p))))
			return true;
	}
	return false;
}

/* Any thread. */
bool
wf_any_queued(void)
{
	return any_global() || any_local(false);
}

/* Any thread. After a full fence this is the re-check of the idle protocol (idle.c). A thread may
   sleep beside a lone G that its P keeps running, as nobody is woken for one. */
bool
wf_any_to_take(void)
{
	return any_global() || any_local(true);
}

/* The same without the global queue, which a P that keeps its work will come by. */
bool
wf_any_beside_global(void)
{
	return wf_globq_size(&wf_urgentq) > 0 || wf_globq_size(&wf_pinq) > 0 || any_local(true);
}
