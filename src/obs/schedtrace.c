/* SPDX-License-Identifier: MIT */
/*
 * schedtrace.c: WEFT_DEBUG=schedtrace=ms: the scheduler's state every so often, in Go's words, so
 * that what reads Go's lines reads ours; what only we have comes after them. scheddetail=1 adds
 * lines for Ps, Ms and Gs.
 *
 * By the monitor, while everything runs: each number is right, together they are a blur. Each block
 * is one write; nothing is allocated.
 */
#include "core/gpool.h"
#include "obs/debug.h"
#include "obs/obs.h"
#include "obs/sink.h"
#include "sched/sched.h"

enum {
	BUFFER_BYTES = 8 << 20, /* address space: only what is written is used */
	SHOWN_MAX = 1000,       /* goroutines in a block */
};

static struct {
	struct wf_sink out;
	int64_t begin_ns, last_ns, next_ns;
	struct weft_proc_stats last; /* the counters as of the last line */
} trace;

/* Go's numbers; 5 was given up there. */
static const uint8_t go_gstatus[] = {
    [WF_FREE] = 0, [WF_RUNNABLE] = 1, [WF_RUNNING] = 2, [WF_WAITING] = 4, [WF_DEAD] = 6};
static const uint8_t go_pstatus[] = {
    [WF_P_IDLE] = 0, [WF_P_RUNNING] = 1, [WF_P_STOPPED] = 3, [WF_P_DEAD] = 4};

/* A field that is a number, or nil below zero. */
static void
add_id(const char *name, int64_t id)
{
	if (id < 0)
		wf_sink_add(&trace.out, " %s=nil", name);
	else
		wf_sink_add(&trace.out, " %s=%lld", name, (long long)id);
}

static uint32_t
queued(const struct wf_p *p)
{
	/* rlx throughout: a blur */
	int32_t kids = (int32_t)(at_load_rlx(&p->forkq.bottom) - at_load_rlx(&p->forkq.top));

	return wf_runq_len(&p->runq) + (at_load_rlx(&p->runq.next) != NULL) +
	       (uint32_t)(kids > 0 ? kids : 0);
}

/* Ms are never unlinked, so only the head needs the lock. */
static const struct wf_m *
first_m(void)
{
	const struct wf_m *m;

	wf_lock(&wf_sched.lock);
	m = wf_sched.all_ms;
	wf_unlock(&wf_sched.lock);
	return m;
}

/* ---- the line */

static void
add_go_fields(const struct weft_stats *s, int64_t now)
{
	wf_sink_add(&trace.out,
		    "SCHED %lldms: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d "
		    "needspinning=%u idlethreads=%d runqueue=%lld",
		    (long long)(now - trace.begin_ns) / 1000000, s->procs, s->idle_procs,
		    s->threads, s->spinning, at_load_rlx(&wf_sched.need_spinning), /* rlx: a blur */
		    s->idle_threads, (long long)s->runqueue);
}

static void
add_queues(uint32_t procs)
{
	wf_sink_add(&trace.out, " [ ");
	for (uint32_t i = 0; i < procs; i++)
		wf_sink_add(&trace.out, "%u ", queued(wf_sched.allp[i]));
	wf_sink_add(&trace.out, "] schedticks=[ ");
	for (uint32_t i = 0; i < procs; i++) /* rlx: a blur */
		wf_sink_add(&trace.out, "%u ", at_load_rlx(&wf_sched.allp[i]->tick));
	wf_sink_add(&trace.out, "]");
}

/* What Go does not print: counts since the last line. */
static void
add_own_fields(const struct weft_stats *s, int64_t now)
{
	const struct weft_proc_stats *t = &s->total, *l = &trace.last;
	int64_t past = now - trace.last_ns, live = s->goroutines < 0 ? 0 : s->goroutines;
	double rate = past > 0 ? (double)(t->switches - l->switches) * 1e9 / (double)past : 0;

	wf_sink_say(&trace.out,
		    " goroutines=%lld computing=%u switches/s=%.0f spawned=%llu parks=%llu "
		    "steals=%llu retakes=%llu handoffs=%llu wakes=%llu futexes=%llu",
		    (long long)live, at_load_rlx(&wf_sched.computing), /* rlx: a blur */
		    rate, (unsigned long long)(t->spawned - l->spawned),
		    (unsigned long long)(t->parks - l->parks),
		    (unsigned long long)(t->steals - l->steals),
		    (unsigned long long)(t->retakes - l->retakes),
		    (unsigned long long)(t->handoffs - l->handoffs),
		    (unsigned long long)(t->wakes - l->wakes),
		    (unsigned long long)(t->futexes - l->futexes));
}

/* ---- the details */

static void
say_p(const struct wf_p *p)
{
	/* rlx throughout: a blur */
	const struct wf_m *m = at_load_rlx(&p->m);

	wf_sink_add(&trace.out, "  P%u: status=%u schedtick=%u syscalltick=0", p->id,
		    go_pstatus[at_load_rlx(&p->state) % countof(go_pstatus)],
		    at_load_rlx(&p->tick));
	add_id("m", m ? (int64_t)m->id : -1);
	wf_sink_say(&trace.out,
		    " runqsize=%u gfreecnt=%u timerslen=%u switches=%llu steals=%llu stolen=%llu "
		    "retakes=%llu gathers=%llu",
		    queued(p), p->cache.gfree_count, p->timers.n,
		    (unsigned long long)at_load_rlx(&p->n_switches),
		    (unsigned long long)at_load_rlx(&p->n_steals),
		    (unsigned long long)at_load_rlx(&p->n_stolen),
		    (unsigned long long)at_load_rlx(&p->n_retakes),
		    (unsigned long long)at_load_rlx(&p->n_gathers));
}

static void
say_m(const struct wf_m *m)
{
	/* rlx throughout: a blur */
	uint32_t lease = at_load_rlx(&m->lease);
	bool lost = lease == WF_TAKEN || lease == WF_ASLEEP;
	const struct wf_p *p = lost ? NULL : at_load_rlx(&m->p);
	const struct wf_g *g = m->g, *pinned = m->pinned_g;

	wf_sink_add(&trace.out, "  M%u:", m->id);
	add_id("p", p ? (int64_t)p->id : -1);
	add_id("curg", g ? g->id : -1);
	wf_sink_add(&trace.out,
		    " mallocing=0 throwing=0 preemptoff= locks=0 dying=0 spinning=%s blocked=%s",
		    m->spinning ? "true" : "false", m->idle ? "true" : "false");
	add_id("lockedg", pinned ? pinned->id : -1);
	wf_sink_say(&trace.out, " tid=%d lease=%s in_rt=%u%s", m->tid, wf_lease_name(lease),
		    at_load_rlx(&m->in_rt), m->plain ? " plain" : "");
}

static int64_t
thread_of(const struct wf_g *g)
{
	for (const struct wf_m *m = first_m(); m; m = m->all_next)
		if (m->in_use && m->g == g)
			return m->id;
	return -1;
}

static void
say_g(struct wf_g *g, void *arg)
{
	uint64_t *seen = arg;
	enum wf_gstate state = wf_g_state_told(g);
	const struct weft_site *site = g->site;

	if (state == WF_FREE || !site || (g->flags & WF_G_OVER) || ++*seen > SHOWN_MAX)
		return;
	wf_sink_add(&trace.out, "  G%lld: status=%u(%s)", (long long)g->id,
		    go_gstatus[state % countof(go_gstatus)],
		    state == WF_WAITING ? wf_reason_name(g->reason) : "");
	add_id("m", state == WF_RUNNING ? thread_of(g) : -1);
	add_id("lockedm", g->flags & WF_G_PINNED ? (int64_t)g->home->id : -1);
	wf_sink_say(&trace.out, " fn=%s at=%s:%d", site->name, site->file, site->line);
}

static void
say_details(uint32_t procs)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < procs; i++)
		say_p(wf_sched.allp[i]);
	for (const struct wf_m *m = first_m(); m; m = m->all_next)
		if (m->in_use)
			say_m(m);
	wf_gpool_each(say_g, &seen);
	if (seen > SHOWN_MAX)
		wf_sink_say(&trace.out, "  ... and %llu more goroutines",
			    (unsigned long long)(seen - SHOWN_MAX));
}

/* ---- when */

static void
say_all(int64_t now)
{
	struct weft_stats s = {.size = sizeof(s)};

	wf_stats_fill(&s);
	add_go_fields(&s, now);
	if (wf_debug.scheddetail) /* rlx: a blur */
		wf_sink_add(&trace.out, " gcwaiting=%s nmidlelocked=0 stopwait=%u sysmonwait=false",
			    at_load_rlx(&wf_sched.stopping) ? "true" : "false", wf_sched.stop_wait);
	else
		add_queues((uint32_t)s.procs);
	add_own_fields(&s, now);
	if (wf_debug.scheddetail)
		say_details((uint32_t)s.procs);
	wf_sink_write(&trace.out);
	trace.last = s.total;
	trace.last_ns = now;
}

int64_t
wf_schedtrace_look(int64_t now, int64_t delay)
{
	int64_t every = wf_debug.schedtrace * 1000000;

	if (now >= trace.next_ns && trace.out.buf) {
		say_all(now);
		trace.next_ns += every;
		if (trace.next_ns <= now) /* overslept */
			trace.next_ns = now + every;
	}
	return delay < trace.next_ns - now ? delay : trace.next_ns - now;
}

void
wf_schedtrace_start(void)
{
	void *buf = trace.out.buf;

	trace.begin_ns = trace.last_ns = trace.next_ns = os_now_ns();
	trace.last = (struct weft_proc_stats){0};
	if (!buf && os_reserve(BUFFER_BYTES, os_page_bytes(), &buf) < 0) {
		wf_say("no memory for schedtrace: it stays off");
		return;
	}
	trace.out = (struct wf_sink){.fd = 2, .buf = buf, .room = BUFFER_BYTES};
}
