/* SPDX-License-Identifier: MIT */
/*
 * lint.c: goroutines that compute for long and never give way; and what all lints share.
 *
 * How long is told by the CPU clock of the thread: one that sleeps, or waits for a CPU, is not at
 * fault. But a loop that calls weft_checkpoint keeps its P as well as long as nobody asks for it.
 * So the monitor asks: after half the time the lease is URGED, as if others waited. Whoever has
 * made no call that notices it (m->answers is as it was) after as much again is named, with the
 * stack of the moment. The monitor itself may be kept from its CPU between any two of its looks.
 *
 * Only the thread itself knows its stack: it gets a signal, and its handler writes the sample.
 *
 *   IDLE -> ASKED     the monitor, and sends the signal
 *   ASKED -> FILLING  the handler          ASKED -> IDLE   the monitor: no answer came
 *   FILLING -> DONE   the handler          DONE -> IDLE    the monitor, after it has read it
 *
 * LINT-1: the fields of a sample are the handler's while FILLING, and else the monitor's.
 * LINT-3: the clock is read after the request, and later before the look for an answer: all the time
 *         between the two was used after it was asked and before it answered.
 * LINT-4: between two looks no more counts than lies between them if all is well: on a virtual
 *         machine the clock of a thread also goes on while its processor is another's. What was taken
 *         so since the request, from any processor, does not count.
 */
#include "obs/lint.h"
#include "base/probe.h"
#include "core/stack.h"
#include "obs/debug.h"
#include "obs/symbols.h"
#include "sched/sched.h"

enum {
	MS_MAX = 1 << 14,    /* threads that are watched */
	PLACES_MAX = 1 << 10 /* that can be remembered as said */
};
static const int64_t MS = 1000000, PATIENCE_NS = INT64_C(200000000); /* for an answer */

/* A thread's goroutine, since it began to run or was last seen to do something. The monitor's. */
struct stretch {
	const struct wf_g *g;
	int64_t id;
	const struct wf_p *p;
	uint64_t switches; /* of p, by then */
	uint32_t answers;  /* of the thread, by then */
	int64_t cpu_ns;    /* of the thread, by then */
	int64_t seen_ns;   /* the same at the last look */
	int64_t used_ns;   /* what counts of it since, or since it was asked to give way ... */
	bool asked;        /* ... if it was */
	int64_t stolen_ns; /* by then: os_stolen_ns */
};

static struct {
	struct stretch *of; /* by the M's id */
	int64_t next_ns;    /* of the next look */
	bool samples;       /* a signal could be had */
} lint;

static struct {
	wf_a32 state;
	/* the monitor's */
	int64_t since_ns;
	int64_t cpu_ns; /* of the goroutine */
	int64_t of_thread_ns;
	bool taken;
	/* LINT-1 */
	int tid;
	uint32_t answers;
	bool inside;
	struct wf_who who;
	uintptr_t ret; /* where its function returns to, should that have no frame */
	int n;
	uintptr_t pc[WF_LINT_FRAMES];
} sample;
enum { SAMPLE_IDLE, SAMPLE_ASKED, SAMPLE_FILLING, SAMPLE_DONE };

/* ---- once for a place */

static wf_a64 places[PLACES_MAX]; /* atomic: hashes; 0: free */

/* Its slot, or the free one where it would stand; NULL: the table is full. */
static wf_a64 *
find_place(uint64_t hash)
{
	for (uint32_t i = 0; i < PLACES_MAX; i++) {
		wf_a64 *at = &places[(hash + i) % PLACES_MAX];
		uint64_t is = at_load_rlx(at); /* rlx: a word by itself */

		if (is == hash || is == 0)
			return at;
	}
	return NULL;
}

static uint64_t
hash_of(enum wf_lint kind, const void *place, uint64_t more)
{
	uint64_t h = (uint64_t)(uintptr_t)place * UINT64_C(0x9e3779b97f4a7c15) ^ more;

	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + kind;
	return h ? h : 1;
}

bool
wf_lint_said(enum wf_lint kind, const void *place, uint64_t more)
{
	uint64_t hash = hash_of(kind, place, more);
	wf_a64 *at = find_place(hash);

	return !at || at_load_rlx(at) == hash; /* rlx: a word by itself */
}

bool
wf_lint_first(enum wf_lint kind, const void *place, uint64_t more)
{
	uint64_t hash = hash_of(kind, place, more), is = 0;
	wf_a64 *at;

	while ((at = find_place(hash)) && at_load_rlx(at) != hash) { /* rlx: a word by itself */
		if (at_cas_acqrel(at, &is, hash)) /* acqrel: one of us is the first */
			return true;
		is = 0;
	}
	return false;
}

/* ---- reports */

struct wf_who
wf_who(const struct wf_g *g)
{
	return (struct wf_who){.id = g->id, .parent = g->parent, .site = g->site, .name = g->name};
}

void
wf_lint_begin(struct wf_sink *o, char buf[WF_LINT_BYTES], const struct wf_who *who)
{
	*o = (struct wf_sink){.fd = 2, .buf = buf, .room = WF_LINT_BYTES};
	wf_sink_add(o, "weft: lint: goroutine %lld%s%s%s ", (long long)who->id,
		    who->name ? " (" : "", who->name ? who->name : "", who->name ? ")" : "");
}

void
wf_lint_end(struct wf_sink *o, const struct wf_who *who, const char *advice)
{
	wf_sink_no_more_frames(o);
	if (o->unnamed)
		wf_sink_say(o, "\t(for a frame FILE(+0xN): addr2line -f -e FILE 0xN)");
	wf_sink_birth(o, who->site, who->parent);
	wf_sink_say(o, "\ttry: %s", advice);
	wf_sink_write(o);
}

/* A function that calls nothing may have no frame of its own: then the walk misses its caller. */
static void
say_stack(struct wf_sink *o)
{
	char name[WF_SYMBOL_BYTES];
	uintptr_t offset;

	wf_sink_frame(o, sample.pc[0]);
	if ((sample.n == 1 || sample.ret != sample.pc[1]) &&
	    wf_symbol_of(sample.pc[0], name, &offset) &&
	    os_returns_from(sample.ret, sample.pc[0] - offset))
		wf_sink_frame(o, sample.ret);
	for (int i = 1; i < sample.n; i++)
		wf_sink_frame(o, sample.pc[i]);
}

static void
report(bool sampled)
{
	struct wf_who *who = &sample.who;
	struct wf_sink o;
	char buf[WF_LINT_BYTES];

	if (!who->site || !wf_lint_first(WF_LINT_COMPUTES, who->site, 0))
		return;
	wf_lint_begin(&o, buf, who);
	wf_sink_say(&o, "has computed for %lld ms without giving way%s",
		    (long long)(sample.cpu_ns / MS),
		    sample.taken ? "; others waited for its P until it was taken" : "");
	if (sampled)
		say_stack(&o);
	else
		wf_sink_say(&o, "\t(its stack is not known: its thread answers no signal)");
	wf_lint_end(&o, who,
		    "call weft_checkpoint() in the loop; for code that is not yours, "
		    "weft_blocking around the call. It holds up others for 10 ms each time");
}

/* ---- samples */

/* In a signal handler on the thread that was asked: no locks, no system calls. */
WF_NO_ASAN static void
answer(const struct os_regs *r)
{
	struct wf_m *m = wf_m();
	struct wf_g *g = m->g;
	uint32_t asked = SAMPLE_ASKED;

	/* acq: tid; a signal that comes too late finds another's */
	if (at_load_acq(&sample.state) != SAMPLE_ASKED || sample.tid != m->tid ||
	    !at_cas_acqrel(&sample.state, &asked, SAMPLE_FILLING)) /* acqrel: LINT-1 */
		return;
	sample.n = 0;
	/* rlx: this thread's own. In a blocking section it may compute. With an answer it is no longer
	   at fault, and may be another goroutine */
	sample.inside = !g || !g->stack || m->blocking || at_load_rlx(&m->in_rt) ||
			at_load_rlx(&m->answers) != sample.answers || g->id != sample.who.id;
	if (!sample.inside) {
		uintptr_t lo = (uintptr_t)g->stack, hi = lo + wf_stack_bytes(g->stack_class);

		sample.who = wf_who(g);
		sample.pc[0] = r->pc;
		sample.n = 1;
		sample.ret = r->ret;
		if (r->sp >= lo && r->sp + 8 <= hi && r->sp % 8 == 0) {
			if (!r->ret)
				sample.ret = *(uintptr_t *)r->sp;
			sample.n += wf_frames(r->fp, r->sp, hi, sample.pc + 1, WF_LINT_FRAMES - 1);
		}
	}
	at_store_rel(&sample.state, SAMPLE_DONE); /* rel: the fields, LINT-1 */
}

static void
ask_for_sample(struct wf_m *m, const struct wf_g *g, const struct stretch *s, int64_t now,
	       int64_t cpu, bool taken)
{
	struct os_call call;

	if (at_load_acq(&sample.state) != SAMPLE_IDLE || /* acq: LINT-1, the last one is read */
	    os_thread_call(m->tid, &call) == 1)          /* no signal shall end its call */
		return;
	sample.tid = m->tid;
	sample.answers = s->answers;
	sample.since_ns = now;
	sample.cpu_ns = cpu - s->cpu_ns;
	sample.of_thread_ns = cpu;
	sample.taken = taken;
	sample.who = wf_who(g);
	if (!lint.samples) {
		report(false);
		return;
	}
	at_store_rel(&sample.state, SAMPLE_ASKED); /* rel: tid, LINT-1 */
	if (os_sample(m->tid) < 0) {
		uint32_t asked = SAMPLE_ASKED;

		at_cas_acqrel(&sample.state, &asked, SAMPLE_IDLE); /* acqrel: it is gone */
	}
}

static void
take_answer(int64_t now)
{
	uint32_t state = at_load_acq(&sample.state); /* acq: the fields, LINT-1 */

	if (state == SAMPLE_DONE) {
		if (!sample.inside)
			report(true);
		at_store_rel(&sample.state, SAMPLE_IDLE); /* rel: read */
	} else if (state == SAMPLE_ASKED && now - sample.since_ns > PATIENCE_NS &&
		   at_cas_acqrel(&sample.state, &state, SAMPLE_IDLE)) { /* acqrel: LINT-1 */
		/* one that had no CPU since could not answer: it is asked again */
		if (os_thread_cpu_ns(sample.tid) - sample.of_thread_ns >= MS)
			report(false);
	}
}

/* ---- who computes */

static bool
is_taken(uint32_t lease)
{
	return lease == WF_TAKEN || lease == WF_ASLEEP;
}

static void
begin_anew(struct stretch *s, const struct wf_m *m, const struct wf_g *g, const struct wf_p *p)
{
	/* rlx: compared with itself later */
	*s = (struct stretch){.g = g,
			      .id = g->id,
			      .p = p,
			      .switches = at_load_rlx(&p->n_switches),
			      .answers = at_load_rlx(&m->answers)};
	s->cpu_ns = s->seen_ns =
	    os_thread_cpu_ns(m->tid); /* last: what came before is not counted */
}

/* It has done nothing but run since the last look. */
static bool
goes_on(const struct stretch *s, const struct wf_m *m, const struct wf_g *g, const struct wf_p *p)
{
	uint32_t lease = at_load_acq(&m->lease); /* acq: what led to it, the answers with it */

	if (s->g != g || s->id != g->id || s->p != p ||
	    s->answers != at_load_rlx(&m->answers)) /* rlx: as above */
		return false;
	if (is_taken(lease))
		return true; /* m->p is cleared at the first call; the P is another's */
	if (s->asked && lease != WF_URGED && lease != WF_ASKED)
		return false; /* the request was dropped: it knows of none */
	return at_load_rlx(&p->n_switches) == s->switches; /* rlx: it changes at each switch */
}

static bool
has_lost_p(const struct wf_m *m)
{
	return is_taken(at_load_rlx(&m->lease)); /* rlx: a hint */
}

static int64_t
between_looks(void)
{
	int64_t quarter = wf_debug.lint_ms * MS / 4;

	return quarter > MS ? quarter : MS;
}

static void
look_at(struct wf_m *m, int64_t now)
{
	struct stretch *s = &lint.of[m->id];
	const struct wf_p *p = at_load_rlx(&m->p); /* rlx: compared only */
	const struct wf_g *g = m->g;
	int64_t half = wf_debug.lint_ms * MS / 2, cpu;

	/* rlx: the sample is what counts */
	if (!g || !p || m->blocking || at_load_rlx(&m->in_rt) || !g->site ||
	    wf_lint_said(WF_LINT_COMPUTES, g->site, 0)) {
		s->g = NULL;
		return;
	}
	cpu = os_thread_cpu_ns(m->tid); /* before the look for an answer: LINT-3 */
	s->used_ns +=
	    cpu - s->seen_ns < between_looks() ? cpu - s->seen_ns : between_looks(); /* LINT-4 */
	s->seen_ns = cpu;
	if (!goes_on(s, m, g, p)) {
		begin_anew(s, m, g, p);
	} else if (!s->asked && s->used_ns >= half) {
		wf_lock(&wf_lease_lock);
		if (!has_lost_p(m))
			wf_lease_urge(m);
		wf_unlock(&wf_lease_lock);
		s->asked = true;
		s->used_ns = 0;
		s->stolen_ns = os_stolen_ns();
		s->seen_ns = os_thread_cpu_ns(m->tid); /* after the request: LINT-3 */
	} else if (s->asked && s->used_ns >= half &&
		   s->used_ns - half >= os_stolen_ns() - s->stolen_ns) { /* LINT-4 */
		ask_for_sample(m, g, s, now, cpu, has_lost_p(m));
	}
}

int64_t
wf_lint_look(int64_t now, int64_t delay)
{
	struct wf_m *m;

	if (!lint.of)
		return delay;
	take_answer(now);
	wf_lint_print_locks();
	if (now >= lint.next_ns) {
		wf_lock(&wf_sched.lock);
		m = wf_sched.all_ms; /* never unlinked */
		wf_unlock(&wf_sched.lock);
		for (; m; m = m->all_next)
			if (m->in_use && !m->plain && m->id < MS_MAX)
				look_at(m, now);
		lint.next_ns = now + between_looks();
	}
	return delay < lint.next_ns - now ? delay : lint.next_ns - now;
}

void
wf_lint_start(void)
{
	size_t page = os_page_bytes(), bytes = MS_MAX * sizeof(*lint.of) / page * page;
	void *mem;

	wf_lint_start_locks();
	wf_retaken_hook = wf_lint_call;
	at_store_rlx(&sample.state, SAMPLE_IDLE); /* rlx: nobody else runs */
	lint.next_ns = 0;
	if (!lint.of && os_reserve(bytes, page, &mem) == 0)
		lint.of = mem;
	if (!lint.of)
		wf_say("no memory for lint: it stays off");
	else
		os_discard(lint.of, bytes); /* of an earlier run */
	lint.samples = os_sample_install(answer) == 0;
	if (!lint.samples)
		wf_say("lint: the program uses every real-time signal: no stacks of running "
		       "goroutines");
}

void
wf_lint_stop(void)
{
	take_answer(os_now_ns());
	wf_lint_stop_locks();
}
