/* SPDX-License-Identifier: MIT */
/* stats.c: the counters, read while everything runs: each is exact, together they are a blur. */
#include "core/stack.h"
#include "obs/obs.h"
#include "sched/sched.h"

#include <errno.h>
#include <string.h>

static void
read_p(const struct wf_p *p, struct weft_proc_stats *s)
{
	/* rlx: written by the holder, one word each */
	*s = (struct weft_proc_stats){
	    .spawned = at_load_rlx(&p->n_spawned),
	    .exited = at_load_rlx(&p->n_exited),
	    .switches = at_load_rlx(&p->n_switches),
	    .steals = at_load_rlx(&p->n_steals),
	    .stolen = at_load_rlx(&p->n_stolen),
	    .parks = at_load_rlx(&p->n_parks),
	    .readies = at_load_rlx(&p->n_readies),
	    .wakes = at_load_rlx(&p->n_wakes),
	    .spins = at_load_rlx(&p->n_spins),
	    .futexes = at_load_rlx(&p->n_futexes),
	    .overflows = at_load_rlx(&p->n_overflows),
	    .retakes = at_load_rlx(&p->n_retakes),
	    .handoffs = at_load_rlx(&p->n_handoffs),
	};
	for (int c = 0; c < WF_STACK_CLASSES; c++)
		s->stacks_cached += p->stacks[c].count;
}

static void
add(struct weft_proc_stats *sum, const struct weft_proc_stats *s)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)s;

	_Static_assert(sizeof(*s) % sizeof(uint64_t) == 0, "all counters are of one type");
	for (size_t i = 0; i < sizeof(*s) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

void
wf_stats_fill(struct weft_stats *s)
{
	uint32_t procs = at_load_rlx(&wf_sched.procs); /* rlx: a snapshot */

	s->procs = (int)procs;
	s->idle_procs = (int)at_load_rlx(&wf_sched.npidle);   /* rlx: a snapshot */
	s->spinning = (int)at_load_rlx(&wf_sched.nmspinning); /* rlx: a snapshot */
	wf_lock(&wf_sched.lock);
	s->threads = (int)wf_sched.nm;
	s->idle_threads = (int)wf_sched.nmidle;
	wf_unlock(&wf_sched.lock);
	s->runqueue = wf_globq_size(&wf_globq) + wf_globq_size(&wf_idleq) +
		      wf_globq_size(&wf_urgentq) + wf_globq_size(&wf_pinq);
	s->total = (struct weft_proc_stats){
	    .spawned = at_load_rlx(&wf_sched.n_spawned), /* rlx: counters */
	    .exited = at_load_rlx(&wf_sched.n_exited),
	    .readies = at_load_rlx(&wf_sched.n_readies),
	    .wakes = at_load_rlx(&wf_sched.n_wakes),
	    .futexes = at_load_rlx(&wf_sched.n_futexes),
	};
	for (uint32_t i = 0; i < wf_sched.np_made; i++) {
		struct weft_proc_stats one;

		read_p(wf_sched.allp[i], &one);
		add(&s->total, &one);
		if (s->per_proc && (int)i < s->per_proc_max)
			s->per_proc[i] = one;
	}
	wf_stack_count(&s->stacks_in_use, &s->stacks_cached);
	s->stacks_in_use -= s->total.stacks_cached;
	s->stacks_cached += s->total.stacks_cached;
	s->goroutines = (int64_t)(s->total.spawned - s->total.exited);
}

WF_EXPORT int
weft_stats(struct weft_stats *s)
{
	struct wf_m *m;

	if (!s || s->size < sizeof(*s))
		return -EINVAL;
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	wf_stats_fill(s);
	wf_leave(m);
	return 0;
}

/* Ends first, then births: a goroutine whose end was counted has its birth counted too. */
WF_EXPORT int64_t
weft_count(void)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	uint64_t exited, spawned;

	if (!m)
		return -ENOTSUP;
	exited = at_load_acq(&wf_sched.n_exited); /* acq: before the loads of n_spawned */
	for (uint32_t i = 0; i < wf_sched.np_made; i++)
		exited += at_load_acq(&wf_sched.allp[i]->n_exited); /* acq: as above */
	spawned = at_load_rlx(&wf_sched.n_spawned);                 /* rlx: counters */
	for (uint32_t i = 0; i < wf_sched.np_made; i++)
		spawned += at_load_rlx(&wf_sched.allp[i]->n_spawned);
	wf_leave(m);
	return (int64_t)(spawned - exited);
}

WF_EXPORT int
weft_procs(void)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	int n;

	if (!m)
		return -ENOTSUP;
	n = (int)at_load_rlx(&wf_sched.procs); /* rlx: a snapshot */
	wf_leave(m);
	return n;
}
