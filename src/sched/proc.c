/* SPDX-License-Identifier: MIT */
/* proc.c: Ps: acquire, release, make and unmake. A P is never freed: stale readers stay safe. */
#include "core/gpool.h"
#include "core/stack.h"
#include "sched/sched.h"

#include <errno.h>
#include <string.h>

/* On m's own thread, in the runtime, m without a P, P in hand. */
void
wf_p_acquire(struct wf_m *m, struct wf_p *p)
{
	ASSERT(wf_m_p(m) == NULL && at_load_rlx(&m->lease) == WF_NONE); /* rlx: our own; GMP-1 */
	ASSERT(at_load_rlx(&p->m) == NULL);                             /* rlx: in hand; GMP-1 */
	at_store_rlx(&p->m, m); /* rlx: requesters confirm it by the lease, LEASE-3 */
	at_store_rlx(&p->state, WF_P_RUNNING); /* rlx: a hint */
	at_store_rlx(&m->p, p);                /* rlx: published by the lease */
	m->old_p = p;
	m->said_p = NULL;
	at_store_rel(&m->lease, wf_sched.held); /* rel: m->p before a requester can ask */
	wf_trace(WF_TR_P, WF_P_RUNNING, p);
}

/* On m's own thread, in the runtime. The P is in the caller's hand. */
struct wf_p *
wf_p_release(struct wf_m *m)
{
	struct wf_p *p = wf_m_p(m);
	/* acqrel: a requester that had asked loses; its CAS fails */
	uint32_t was = at_xchg_acqrel(&m->lease, WF_NONE);

	ASSERT(was == WF_HELD || was == WF_FENCED || was == WF_URGED || was == WF_ASKED);
	if (was == WF_URGED)
		wf_preempt_word_add(-1);
	at_store_rlx(&m->p, NULL); /* rlx: our own */
	at_store_rlx(&p->m, NULL); /* rlx: a hint for requesters */
	return p;
}

static struct wf_p *
p_make(uint32_t id)
{
	size_t page = os_page_bytes();
	size_t bytes = (sizeof(struct wf_p) + page - 1) / page * page;
	struct wf_p *p;

	if (os_reserve(bytes, page, (void **)&p) < 0)
		return NULL;
	p->id = id;
	wf_heap_init(&p->timers);
	at_store_rlx(&p->state, WF_P_DEAD); /* rlx: not yet reachable */
	return p;
}

/* The P comes into service, in the caller's hand. */
static void
p_begin(struct wf_p *p)
{
	wf_door_init(&p->runq.door, wf_sched.fenced);
	wf_door_init(&p->forkq.door, wf_sched.fenced);
	wf_door_prop(&p->timers.door, wf_sched.fenced); /* others serve it also without a P */
	p->cache.id_next = p->cache.id_end = 0;         /* those of an earlier run */
	at_store_rlx(&p->state, WF_P_STOPPED);          /* rlx: the world is stopped */
}

/* The P leaves service: everything it holds goes where others find it. */
static void
p_unmake(struct wf_p *p)
{
	struct wf_glist l = {0};

	wf_p_drain(p, &l);
	if (l.size > 0)
		wf_globq_put_head(&wf_globq, &l);
	wf_stack_flush(p);
	wf_gpool_flush(&p->cache);
	at_store_rlx(&p->keep.state, 0); /* rlx: the world is stopped */
	p->apart.home = NULL;
	at_store_rlx(&p->state, WF_P_DEAD); /* rlx: as above */
	wf_trace(WF_TR_P, WF_P_DEAD, p);
}

/* World stopped, all Ps in the stopper's hand; or before the first M. 0 or -ENOMEM: then nothing
   has changed. New Ps are in the caller's hand, STOPPED. */
int
wf_p_resize(uint32_t n)
{
	uint32_t old = at_load_rlx(&wf_sched.procs); /* rlx: the world is stopped */

	if (n > old && wf_stack_provide(n) < 0)
		return -ENOMEM;
	for (; wf_sched.np_made < n; wf_sched.np_made++)
		if (!(wf_sched.allp[wf_sched.np_made] = p_make(wf_sched.np_made)))
			return -ENOMEM;
	for (uint32_t i = old; i < n; i++)
		p_begin(wf_sched.allp[i]);
	for (uint32_t i = n; i < old; i++)
		p_unmake(wf_sched.allp[i]);
	wf_steal_order_init(n);
	at_store_rlx(&wf_sched.procs, n); /* rlx: as above */
	return 0;
}
