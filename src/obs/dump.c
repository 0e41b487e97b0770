/* SPDX-License-Identifier: MIT */
/*
 * dump.c: every goroutine: id, state, why and how long it waits, where it was started, and the
 * stack of those that do not run. The grammar is Go's, so that tools and eyes know it.
 */
#include "arch/ctx.h"
#include "core/gpool.h"
#include "core/stack.h"
#include "obs/lint.h"
#include "obs/obs.h"
#include "obs/sink.h"
#include "obs/waits.h"
#include "sched/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHOWN_MAX = 1000,        /* goroutines that weft_dump prints in full ... */
	SHOWN_ON_FATAL = 50,     /* ... and the end of the process: its reason must stay in sight */
	BUFFER_BYTES = 64 << 20, /* address space: only what is written is used */
};

static const char *const state_text[] = {
#define X(id, text) text,
    WF_GSTATES(X)
#undef X
};
static const char *const reason_text[] = {
#define X(id, text) text,
    WF_REASONS(X)
#undef X
};
static const char *const lease_text[] = {
#define X(id, text) text,
    WF_LEASES(X)
#undef X
};

const char *
wf_reason_name(unsigned reason)
{
	return reason < countof(reason_text) ? reason_text[reason] : "?";
}

const char *
wf_lease_name(unsigned lease)
{
	lease %= 1u << WF_LEASE_BITS; /* without the P on offer */
	return lease < countof(lease_text) ? lease_text[lease] : "?";
}

/* A goroutine that does not run: its context stands at g->sp. */
WF_NO_ASAN static void
say_stack(struct wf_sink *o, struct wf_g *g)
{
	uintptr_t lo = (uintptr_t)g->stack, hi = lo + wf_stack_bytes(g->stack_class);
	uintptr_t sp = (uintptr_t)g->sp;

	if (sp < lo || sp + WF_CTX_BYTES > hi)
		return;
	wf_sink_frame(o, *(uintptr_t *)(sp + WF_CTX_PC_OFF));
	wf_sink_frames(o, *(uintptr_t *)(sp + WF_CTX_FP_OFF), lo, hi);
}

static void
say_wait(struct wf_sink *o, const struct wf_g *g)
{
	char text[900];

	wf_describe_wait(g, text, sizeof(text));
	if (text[0])
		wf_sink_say(o, "\t%s", text);
}

static const char *
class_text(const struct wf_g *g)
{
	if (g->flags & WF_G_URGENT)
		return ", urgent class";
	return g->flags & WF_G_IDLE ? ", idle class" : "";
}

struct tally {
	struct wf_sink *o;
	int64_t now;
	uint64_t seen, shown;
};

static void
say_g(struct wf_g *g, void *arg)
{
	struct tally *t = arg;
	enum wf_gstate state = wf_g_state_told(g);
	char why[96];
	int64_t age;

	if (state == WF_FREE || !g->site || (g->flags & WF_G_OVER))
		return;
	if (++t->seen > t->o->most)
		return;
	t->shown++;
	snprintf(why, sizeof(why), "%s", state_text[state]);
	if (state == WF_WAITING) {
		age = (t->now - g->since_ns) / 1000000000;
		if (age > 0)
			snprintf(why, sizeof(why), "%s, %lld s", wf_reason_name(g->reason),
				 (long long)age);
		else
			snprintf(why, sizeof(why), "%s", wf_reason_name(g->reason));
	}
	wf_sink_say(t->o, "goroutine %lld [%s%s%s]:%s%s", (long long)g->id, why, class_text(g),
		    g->flags & WF_G_PINNED ? ", locked to thread" : "", g->name ? " " : "",
		    g->name ? g->name : "");
	if (state == WF_WAITING)
		say_wait(t->o, g);
	if (state == WF_RUNNING && wf_m()->g == g) /* our own */
		wf_sink_frames(t->o, (uintptr_t)__builtin_frame_address(0), (uintptr_t)g->stack,
			       (uintptr_t)g->stack + wf_stack_bytes(g->stack_class));
	else if (state == WF_RUNNING)
		wf_sink_say(t->o, "\t(running: its stack is not shown)");
	else if (g->stack)
		say_stack(t->o, g);
	wf_sink_birth(t->o, g->site, g->parent);
	wf_sink_say(t->o, "%s", "");
}

static void
say_goroutines(struct wf_sink *o)
{
	struct tally t = {.o = o, .now = os_now_ns()};

	wf_gpool_each(say_g, &t);
	for (const struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		if (m->in_use && m->plain && wf_g_state(&m->thread_g) == WF_WAITING) {
			wf_sink_say(o, "thread %d [%s]:", m->tid,
				    wf_reason_name(m->thread_g.reason));
			say_wait(o, &m->thread_g);
			wf_sink_say(o, "%s", "");
		}
	if (t.seen > t.shown)
		wf_sink_say(o, "... and %llu more goroutines",
			    (unsigned long long)(t.seen - t.shown));
	if (t.seen == 0)
		wf_sink_say(o, "no goroutines");
	if (o->unnamed)
		wf_sink_say(o, "(for a frame FILE(+0xN): addr2line -f -e FILE 0xN)");
}

static void
say_machine(struct wf_sink *o)
{
	/* rlx throughout: a snapshot for people */
	wf_sink_say(
	    o,
	    "sched: phase=%u procs=%u idle=%u spinning=%u need_spinning=%u stopping=%u "
	    "stop_wait=%u "
	    "threads=%u idlethreads=%u runqueue=%u urgent=%u idleclass=%u pinned=%u computing=%u",
	    at_load_rlx(&wf_sched.phase), at_load_rlx(&wf_sched.procs),
	    at_load_rlx(&wf_sched.npidle), at_load_rlx(&wf_sched.nmspinning),
	    at_load_rlx(&wf_sched.need_spinning), at_load_rlx(&wf_sched.stopping),
	    wf_sched.stop_wait, wf_sched.nm, wf_sched.nmidle, wf_globq_size(&wf_globq),
	    wf_globq_size(&wf_urgentq), wf_globq_size(&wf_idleq), wf_globq_size(&wf_pinq),
	    at_load_rlx(&wf_sched.computing));
	for (uint32_t i = 0; i < at_load_rlx(&wf_sched.procs); i++) {
		const struct wf_p *p = wf_sched.allp[i];
		const struct wf_m *m = at_load_rlx(&p->m);

		wf_sink_say(o, "  P%u: status=%u schedtick=%u m=%d runq=%u runnext=%p", i,
			    at_load_rlx(&p->state), at_load_rlx(&p->tick), m ? (int)m->id : -1,
			    wf_runq_len(&p->runq), at_load_rlx(&p->runq.next));
	}
	for (const struct wf_m *m = wf_sched.all_ms; m; m = m->all_next) {
		const struct wf_p *p = at_load_rlx(&m->p);

		if (m->in_use)
			wf_sink_say(o,
				    "  M%u: tid=%d p=%d curg=%lld lease=%s in_rt=%u spinning=%d "
				    "idle=%d%s%s",
				    m->id, m->tid, p ? (int)p->id : -1,
				    m->g ? (long long)m->g->id : 0LL,
				    wf_lease_name(at_load_rlx(&m->lease)), at_load_rlx(&m->in_rt),
				    m->spinning, m->idle, m->plain ? " plain" : "",
				    m->pinned ? " pinned" : "");
	}
}

void
wf_debug_dump(int fd)
{
	struct wf_sink o = {.fd = fd, .most = SHOWN_MAX};

	say_goroutines(&o);
	say_machine(&o);
}

static void
say_line(void *sink, const char *line)
{
	wf_sink_say(sink, "%s", line);
}

/* A mistake of the program's: the scheduler's own state would only be noise. */
void
wf_fatal_dump(int fd, bool internal)
{
	struct wf_sink o = {.fd = fd, .most = SHOWN_ON_FATAL};

	wf_lint_last_words(); /* it may be the reason */
	say_goroutines(&o);
	if (wf_sched.deadlocked)
		wf_describe_cycle(say_line, &o);
	if (internal || wf_sched.debug)
		say_machine(&o);
}

WF_EXPORT void
weft_dump(int fd)
{
	struct wf_sink o = {.fd = fd, .room = BUFFER_BYTES, .most = SHOWN_MAX};
	struct wf_m *m = wf_enter(WF_CALL_B);

	if (!m || !(m = wf_world_lock(m))) {
		wf_sink_say(&o, "weft is not running");
		return;
	}
	os_reserve(BUFFER_BYTES, os_page_bytes(), (void **)&o.buf); /* failed: straight, then */
	wf_world_stop(m);
	say_goroutines(&o);
	wf_world_start(m);
	wf_world_done();
	wf_leave(m);
	if (o.buf) {
		wf_sink_write(&o);
		os_release(o.buf, BUFFER_BYTES);
	}
}

void
wf_stack_census(int fd)
{
	struct wf_sink o = {.fd = fd};

	wf_sink_say(&o, "%10s  %s", "stack", "start function (sampled; pages touched)");
	/* acq: sites are complete once listed */
	for (const struct weft_site *s = at_load_acq(&wf_sites); s; s = s->next_)
		wf_sink_say(&o, "%8u K  %s (%s:%d)", s->stack_used_ / 1024, s->name, s->file,
			    s->line);
}

/* ---- stack overflow */

static void
say_overflow_advice(struct wf_sink *o, const struct wf_g *g)
{
	size_t more = 4 * wf_stack_bytes(g->stack_class),
	       most = wf_stack_bytes(WF_STACK_CLASSES - 1);

	if (o->unnamed)
		wf_sink_say(o, "(for a frame FILE(+0xN): addr2line -f -e FILE 0xN)");
	if (more > most)
		more = most;
	if (wf_stack_bytes(g->stack_class) == most)
		wf_sink_say(o, "this is the largest stack there is: look for endless recursion");
	else if (g->flags & WF_G_MAIN)
		wf_sink_say(o, "give it more: WEFT_STACK=%zu, or stack_bytes in weft_configure",
			    more);
	else
		wf_sink_say(
		    o,
		    "give it more: weft_go_with(WEFT_ATTR(.stack_bytes = %zu), %s, ...), or "
		    "WEFT_STACK=%zu for all",
		    more, g->site->name, more);
}

bool
wf_overflow_report(void *addr, void *ucontext)
{
	struct wf_sink o = {.fd = 2};
	struct wf_m *m = wf_m();
	struct wf_g *g = m->g;
	uintptr_t lo, at = (uintptr_t)addr;

	if (!g || !g->stack)
		return false;
	lo = (uintptr_t)g->stack;
	if (at < lo || at >= lo + wf_stack_guard_bytes(g->stack_class))
		return false;
	wf_sink_say(&o,
		    "fatal: stack overflow in goroutine %lld: %s() used up its stack of %zu KiB",
		    (long long)g->id, g->site->name, wf_stack_bytes(g->stack_class) / 1024);
	wf_sink_say(&o, "goroutine %lld [running]:%s%s", (long long)g->id, g->name ? " " : "",
		    g->name ? g->name : "");
	wf_sink_frames(&o, os_interrupted_fp(ucontext), lo, lo + wf_stack_bytes(g->stack_class));
	wf_sink_birth(&o, g->site, g->parent);
	say_overflow_advice(&o, g);
	os_exit(WF_FATAL_STATUS);
}
