/* SPDX-License-Identifier: MIT */
/*
 * explore.c: the interleaving explorer; explore.h says what it simulates.
 *
 * Search is stateless: an execution is a list of picks (chosen, of how many), and the next one
 * repeats a prefix of it and then differs. A pick list is also what a failure prints.
 *
 * Invariants:
 *   SIM-1  the options of a pick depend on the picks before it and the scenario only, never on
 *          a bound or a strategy; so any pick list replays, whoever found it
 *   SIM-2  option 0 costs nothing
 *   SIM-3  a buffered store leaves after every entry that must go before it
 */
#include "explore.h"

#include "base/check.h"

#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if !defined(__x86_64__)
#error "the explorer's stack switch is written for x86-64"
#endif

enum {
	STACK_BYTES = 256 * 1024, /* of a simulated thread; the runtime's g0 paths fit */
	BUFFER = 16,              /* stores a thread may hold back */
	PAST = 4,                 /* values of a word that a load may still see */
	LOCS = 2048,              /* addresses per execution, a power of two */
	PICKS = 1 << 16,
	OPTIONS = 32, /* of one pick: bits of its cost masks */
	TRACE = 200,
	NAMES = 256,
	STEPS_DEFAULT = 2000,
	STEPS_LIMIT = 30000, /* the clocks have 16 bits */
	DELAYS_DEFAULT = 3,
	RELAXES_HELD = 2, /* cpu_relax calls of its thread that a store may outlast */
};

/* Saves the callee-saved registers on the current stack and continues another one. */
void sim_switch(void **save, void *to);
__asm__(".text\n"
	".globl sim_switch\n"
	".type sim_switch, @function\n"
	"sim_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size sim_switch, .-sim_switch\n");

/* A vector clock: component i is the number of releases of thread i that are known. */
typedef int16_t clk __attribute__((vector_size(2 * SIM_THREADS)));

struct loc {
	const void *addr;
	uint32_t execution; /* the slot is free if this is not the current one */
	uint8_t bytes;
	uint8_t pending; /* buffered stores to it, of all threads */
	int8_t writer;   /* plain: last writer, -1 none */
	int16_t written; /* plain: its clock then */
	clk clock;       /* atomic: what its value publishes; plain: the reads since the write */
};

/* SIM_ARM: the values a word had, newest first; [0] is the one in memory. */
struct past {
	uint32_t execution;
	unsigned count;
	uint32_t
	    floor[SIM_THREADS]; /* each thread's last read or own write: it sees no older one */
	struct {
		uint64_t value;
		clk clock;
		uint32_t since; /* x.writes when it was written */
	} was[PAST];
};

struct entry {
	struct loc *loc;
	uint64_t value;
	clk clock;
	bool live, release, leaving;
	uint8_t relaxes;
};

enum state { ST_READY, ST_BLOCKED, ST_ENDED };

struct thread {
	void *sp;
	void *stack;
	void (*fn)(void *);
	void *arg;
	void *local;
	enum state state;
	bool daemon, timed;
	enum sim_reason reason;
	const void *key;
	unsigned slept;   /* x.sleeps when it fell asleep */
	unsigned entries; /* used part of buffer, dead ones included */
	unsigned live;
	clk now;    /* what this thread knows */
	clk seen;   /* what its relaxed loads saw: a fence adds it to now */
	clk fenced; /* what its relaxed stores publish: now at the last fence */
	int priority;
	uint32_t horizon; /* SIM_ARM: its loads see nothing overwritten before this */
	struct entry buffer[BUFFER];
};

struct pick {
	uint8_t chosen, of;
	uint8_t preempts, delays;      /* spent before this pick */
	uint32_t preempting, delaying; /* bit c: option c costs one */
};

enum strategy { BY_DFS, BY_RANDOM, BY_PCT, BY_REPLAY };
enum outcome { OUT_OK, OUT_FAILED, OUT_LIVELOCK };

struct traced {
	int thread;
	char text[88];
};

static struct {
	struct sim_scenario *scenario;
	enum sim_model model;
	enum strategy strategy;
	unsigned bound, delay_bound;

	/* one execution */
	uint32_t execution;
	struct thread *cur;
	void *main_sp;
	unsigned threads, unfinished;     /* unfinished: not ended and not daemon */
	uint32_t ready, relaxed, blocked; /* bit i: thread i */
	unsigned steps, max_steps, early_left;
	unsigned depth, prefix, preempts, delays;
	uint32_t writes; /* to memory, so far: the time of SIM_ARM */
	unsigned sleeps;
	enum outcome outcome;
	char message[256];
	uint8_t option[OPTIONS]; /* thread of each option, for PCT */

	/* random and PCT */
	uint64_t rng;
	unsigned stay; /* of 16: chance to go on with the same thread */
	unsigned change[16];
	unsigned changes;
	int lowest;

	bool quiet;
	bool tracing;
	unsigned traced;
	uint64_t executions, livelocks, total_steps;
	unsigned deepest;
} x;

static struct thread threads[SIM_THREADS];
static struct loc locs[LOCS];
static struct past pasts[LOCS]; /* of the loc with the same index */
static struct pick picks[PICKS];
static struct traced trace[TRACE];
static struct {
	const void *addr;
	char text[40];
} names[NAMES];
static unsigned named;
static struct sim_scenario *scenarios;
static sigjmp_buf crash_exit;
int wf_mutant;

#define BIT(i) (1u << (i))

/* An error of the scenario or of the engine, not of the code under test. */
static void __attribute__((noreturn)) WF_PRINTF(1, 2) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "explore: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, " (scenario %s)\n", x.scenario ? x.scenario->name : "none");
	va_end(ap);
	exit(2);
}

static int
self(const struct thread *t)
{
	return (int)(t - threads);
}

static inline clk
join(clk a, clk b)
{
	clk more = a > b;
	return (a & more) | (b & ~more);
}

static uint64_t
rng_next(void)
{
	x.rng += 0x9e3779b97f4a7c15u; /* splitmix64 */
	uint64_t z = x.rng;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* ---- trace */

static const char *
name_of(const void *addr)
{
	static char buf[4][64];
	static unsigned turn;
	char *out = buf[turn++ % 4];
	uintptr_t best = 65; /* a name covers the cache line behind it */
	unsigned at = 0;

	for (unsigned i = 0; i < named; i++) {
		uintptr_t off = (uintptr_t)addr - (uintptr_t)names[i].addr;
		if (off < best) {
			best = off;
			at = i;
		}
	}
	if (best == 65)
		snprintf(out, sizeof(buf[0]), "%p", addr);
	else if (best == 0)
		snprintf(out, sizeof(buf[0]), "%s", names[at].text);
	else
		snprintf(out, sizeof(buf[0]), "%s+%u", names[at].text, (unsigned)best);
	return out;
}

static void WF_COLD WF_PRINTF(1, 2) trace_add(const char *fmt, ...)
{
	struct traced *t = &trace[x.traced++ % TRACE];
	va_list ap;

	va_start(ap, fmt);
	t->thread = x.cur ? self(x.cur) : -1;
	vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
}
#define TRACED(...)                                                                                \
	do {                                                                                       \
		if (unlikely(x.tracing))                                                           \
			trace_add(__VA_ARGS__);                                                    \
	} while (0)

void
sim_name(const void *addr, const char *fmt, ...)
{
	va_list ap;

	if (!x.tracing || named == NAMES)
		return;
	va_start(ap, fmt);
	names[named].addr = addr;
	vsnprintf(names[named++].text, sizeof(names[0].text), fmt, ap);
	va_end(ap);
}

void
sim_note(const char *fmt, ...)
{
	char text[80];
	va_list ap;

	if (!x.tracing)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	trace_add("-- %s", text);
}

/* ---- picks */

static void __attribute__((noreturn)) leave(enum outcome outcome);

static unsigned
pick_random(unsigned of, bool scheduling)
{
	uint64_t r = rng_next();

	if (scheduling && (r & 15) < x.stay)
		return 0;
	return (unsigned)((r >> 8) % of);
}

static unsigned
pick_pct(unsigned of, bool scheduling)
{
	unsigned best = 0;

	if (!scheduling)
		return pick_random(of, false);
	for (unsigned i = 0; i < x.changes; i++)
		if (x.steps >= x.change[i] && x.cur) {
			x.cur->priority = --x.lowest;
			x.change[i] = UINT32_MAX; /* once */
		}
	for (unsigned c = 1; c < of; c++)
		if (threads[x.option[c]].priority > threads[x.option[best]].priority)
			best = c;
	return best;
}

/* One of `of` options; the masks say which cost a preemption or a delay. */
static unsigned
pick(unsigned of, uint32_t preempting, uint32_t delaying, bool scheduling)
{
	struct pick *k = &picks[x.depth];
	unsigned c = 0;

	if (of == 1)
		return 0;
	if (x.depth + 1 == PICKS) {
		if (!x.cur)
			die("more than %d picks", PICKS);
		leave(OUT_LIVELOCK);
	}
	if (x.depth < x.prefix) {
		c = k->chosen;
		if (x.strategy == BY_DFS && unlikely(k->of != of))
			die("not deterministic: pick %u had %u options, now %u", x.depth, k->of,
			    of);
		if (c >= of)
			c = 0; /* a shrunk list may no longer fit; it is tried all the same */
	} else if (x.strategy == BY_RANDOM) {
		c = pick_random(of, scheduling);
	} else if (x.strategy == BY_PCT) {
		c = pick_pct(of, scheduling);
	}
	*k = (struct pick){(uint8_t)c,        (uint8_t)of, (uint8_t)x.preempts,
			   (uint8_t)x.delays, preempting,  delaying};
	x.depth++;
	x.preempts += preempting >> c & 1;
	x.delays += delaying >> c & 1;
	return c;
}

unsigned
sim_choose(unsigned n)
{
	unsigned c;

	if (n == 0 || n > OPTIONS)
		die("sim_choose(%u)", n);
	c = pick(n, 0, 0, false);
	TRACED("choose %u of %u", c, n);
	return c;
}

/* Makes the next execution of the depth-first order; false when there is none. */
static bool
dfs_next(void)
{
	for (unsigned d = x.depth; d-- > 0;) {
		struct pick *k = &picks[d];
		for (unsigned c = k->chosen + 1u; c < k->of; c++) {
			if (k->preempts + (k->preempting >> c & 1) > x.bound ||
			    k->delays + (k->delaying >> c & 1) > x.delay_bound)
				continue;
			k->chosen = (uint8_t)c;
			x.prefix = d + 1;
			return true;
		}
	}
	return false;
}

/* ---- threads and scheduling */

/* Ends the execution: back to the main stack, every thread is abandoned where it stands. */
static void __attribute__((noreturn)) leave(enum outcome outcome)
{
	void *ignored;

	x.outcome = outcome;
	x.cur = NULL;
	sim_switch(&ignored, x.main_sp);
	__builtin_unreachable();
}

void
sim_fail(const char *fmt, ...)
{
	va_list ap;

	if (x.outcome != OUT_FAILED) {
		va_start(ap, fmt);
		vsnprintf(x.message, sizeof(x.message), fmt, ap);
		va_end(ap);
		TRACED("!! %s", x.message);
	}
	x.outcome = OUT_FAILED;
	if (x.cur)
		leave(OUT_FAILED);
}

static void
continue_with(struct thread *t)
{
	struct thread *from = x.cur;

	x.relaxed &= ~BIT(self(t));
	if (t == from)
		return;
	x.cur = t;
	sim_switch(from ? &from->sp : &x.main_sp, t->sp);
}

static void
unblock(struct thread *t, enum sim_reason reason)
{
	t->state = ST_READY;
	t->reason = reason;
	x.blocked &= ~BIT(self(t));
	x.ready |= BIT(self(t));
}

/* Nobody can run: all is done, or those who sleep sleep for ever. */
static void
all_stopped(void)
{
	if (x.unfinished && !x.scenario->blocked_ok) {
		char who[64] = "";
		for (unsigned i = 0; i < x.threads; i++)
			if (threads[i].state == ST_BLOCKED && !threads[i].daemon)
				snprintf(who + strlen(who), sizeof(who) - strlen(who), " T%u", i);
		sim_fail("deadlock: asleep for ever:%s", who);
	}
	leave(x.outcome);
}

enum why { AT_STEP, AT_RELAX, AT_STOP };

static unsigned
add_options(unsigned n, uint32_t set)
{
	for (; set && n < OPTIONS; set &= set - 1)
		x.option[n++] = (uint8_t)__builtin_ctz(set);
	return n;
}

/* Who sleeps longest is offered first: two that wait by time take turns. */
static unsigned
add_sleepers(unsigned n, uint32_t set)
{
	while (set) {
		uint32_t first = (uint32_t)__builtin_ctz(set);

		for (uint32_t b = set; b; b &= b - 1)
			if (threads[__builtin_ctz(b)].slept < threads[first].slept)
				first = (uint32_t)__builtin_ctz(b);
		n = add_options(n, BIT(first));
		set &= ~BIT(first);
	}
	return n;
}

static uint32_t
timed_sleepers(void)
{
	uint32_t set = 0;

	for (uint32_t b = x.blocked; b; b &= b - 1)
		if (threads[__builtin_ctz(b)].timed)
			set |= b & -b;
	return set;
}

/*
 * Picks who runs next. The caller's own state is already set; AT_STEP it could go on, so leaving
 * it is a preemption. Returns when the caller is picked again.
 */
static void
reschedule(enum why why)
{
	uint32_t me = x.cur ? BIT(self(x.cur)) : 0;
	uint32_t others = x.ready & ~me & ~x.relaxed, sleepers = 0;
	unsigned n = 0, c;

	if (!others && why != AT_STEP) {
		x.relaxed = 0;
		others = x.ready & ~me;
	}
	if (!others && why != AT_STEP)
		sleepers = timed_sleepers(); /* time moves when nobody can */
	else if (x.early_left)
		sleepers = x.blocked;
	if (why == AT_STEP)
		x.option[n++] = (uint8_t)self(x.cur);
	n = add_options(n, others);
	n = add_sleepers(n, sleepers);
	if (why == AT_RELAX && !others)
		x.option[n++] = (uint8_t)self(x.cur);
	if (n == 0)
		all_stopped();
	c = pick(n, why == AT_STEP || (!others && sleepers) ? ~1u : 0, 0, true);
	struct thread *t = &threads[x.option[c]];
	if (t->state == ST_BLOCKED) {
		if (others || why == AT_STEP)
			x.early_left--;
		if (x.strategy == BY_PCT)
			t->priority = --x.lowest; /* as after cpu_relax: who polls goes last */
		unblock(t, t->timed ? SIM_TIMEOUT : SIM_EARLY);
		TRACED("T%d wakes: %s", self(t), t->timed ? "time-out" : "no reason");
	}
	continue_with(t);
}

/* A choice point: called before each operation of a thread. */
static inline void
point(void)
{
	if (unlikely(++x.steps > x.max_steps))
		leave(OUT_LIVELOCK);
	if (x.scenario->check_step)
		x.scenario->check_step();
	if (x.quiet)
		return;
	if ((x.ready & ~x.relaxed & ~BIT(self(x.cur))) || (x.early_left && x.blocked))
		reschedule(AT_STEP);
}

static void buffer_empty(struct thread *t);

void
sim_exit(void)
{
	struct thread *t = x.cur;

	point(); /* its stores may wait until here, so others must have their chance before */
	TRACED("ends");
	buffer_empty(t);
	t->state = ST_ENDED;
	x.ready &= ~BIT(self(t));
	if (!t->daemon && --x.unfinished == 0)
		leave(x.outcome);
	x.relaxed = 0;
	reschedule(AT_STOP);
	__builtin_unreachable();
}

static void
thread_main(void)
{
	x.cur->fn(x.cur->arg);
	sim_exit();
}

int
sim_thread(void (*fn)(void *), void *arg)
{
	if (x.cur)
		point();
	if (x.threads == SIM_THREADS)
		die("more than %d threads", SIM_THREADS);
	struct thread *t = &threads[x.threads];
	void *stack = t->stack;
	if (!stack) {
		stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (stack == MAP_FAILED || mprotect(stack, 4096, PROT_NONE))
			die("no stack");
	}
	t->stack = stack;
	t->fn = fn;
	t->arg = arg;
	t->local = NULL;
	t->state = ST_READY;
	t->daemon = false;
	t->entries = t->live = 0;
	t->now = t->seen = t->fenced = (clk){0};
	t->priority = (int)(rng_next() >> 33);
	if (x.cur) { /* creation publishes all that the creator did */
		buffer_empty(x.cur);
		t->now = t->fenced = x.cur->now;
		x.cur->now[self(x.cur)]++;
	}
	t->now[self(t)] = 1;
	t->horizon = x.writes;
	/* entered by the switch's ret: six registers, the entry, a null return address */
	void **sp = (void **)((char *)stack + STACK_BYTES) - 8;
	memset(sp, 0, 8 * sizeof(*sp));
	sp[6] = (void *)(uintptr_t)thread_main;
	t->sp = sp;
	x.ready |= BIT(x.threads);
	x.unfinished++;
	return (int)x.threads++;
}

void
sim_quiet(bool quiet)
{
	x.quiet = quiet;
}

int
sim_self(void)
{
	return x.cur ? self(x.cur) : -1;
}

void **
sim_local(void)
{
	static void *outside; /* setup and checks */
	return x.cur ? &x.cur->local : &outside;
}

void
sim_daemon(void)
{
	if (!x.cur->daemon) {
		x.cur->daemon = true;
		if (--x.unfinished == 0)
			leave(x.outcome);
	}
}

/* ---- store buffers */

static struct loc *
loc_find(const void *addr)
{
	uint32_t h = (uint32_t)(((uintptr_t)addr * 0x9e3779b97f4a7c15u) >> 40);

	for (unsigned i = 0; i < LOCS; i++) {
		struct loc *l = &locs[(h + i) & (LOCS - 1)];
		if (l->execution != x.execution) {
			*l = (struct loc){.addr = addr, .execution = x.execution, .writer = -1};
			return l;
		}
		if (l->addr == addr)
			return l;
	}
	die("more than %d addresses", LOCS);
}

static inline struct loc *
loc_of(const void *addr, unsigned bytes)
{
	struct loc *l = loc_find(addr);

	if (l->bytes != bytes) {
		if (l->bytes)
			sim_fail("accesses of %u and %u bytes at %s", l->bytes, bytes,
				 name_of(addr));
		l->bytes = (uint8_t)bytes;
	}
	return l;
}

static inline uint64_t
mem_read(const struct loc *l)
{
	uint64_t v = 0;

	switch (l->bytes) {
	case 1:
		return *(const uint8_t *)l->addr;
	case 4:
		return *(const uint32_t *)l->addr;
	default:
		memcpy(&v, l->addr, sizeof(v));
		return v;
	}
}

/* The past of l; it begins with what memory holds at the first look. */
static struct past *
past_of(const struct loc *l)
{
	struct past *p = &pasts[l - locs];

	if (p->execution != x.execution) {
		memset(p, 0, sizeof(*p));
		p->execution = x.execution;
		p->count = 1;
		p->was[0].value = mem_read(l);
	}
	return p;
}

static void
past_add(const struct loc *l, const struct thread *writer, uint64_t v, clk clock)
{
	struct past *p = past_of(l);

	memmove(&p->was[1], &p->was[0], sizeof(p->was) - sizeof(p->was[0]));
	if (p->count < PAST)
		p->count++;
	p->was[0].value = v;
	p->was[0].clock = clock;
	p->was[0].since = ++x.writes;
	p->floor[self(writer)] = x.writes;
}

/*
 * SIM_ARM: the value that a load of t sees, and what it publishes. A load may be satisfied at any
 * time since the last fence or acquire of its thread; an acquire moves that time forward.
 */
static uint64_t
past_load(struct thread *t, const struct loc *l, bool acquire, bool newest, clk *clock)
{
	struct past *p = past_of(l);
	unsigned n = 1, c = 0;

	while (n < p->count && p->was[n - 1].since > t->horizon &&
	       p->was[n].since >= p->floor[self(t)])
		n++;
	if (!newest)
		c = pick(n, 0, ~1u, false);
	p->floor[self(t)] = p->was[c].since;
	if (acquire && p->was[c].since > t->horizon)
		t->horizon = p->was[c].since;
	*clock = p->was[c].clock;
	return p->was[c].value;
}

static inline void
mem_write(const struct loc *l, uint64_t v)
{
	void *to = (void *)(uintptr_t)l->addr;

	switch (l->bytes) {
	case 1:
		*(uint8_t *)to = (uint8_t)v;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)v;
		break;
	default:
		memcpy(to, &v, sizeof(v));
	}
}

/* SIM-3: must entry a (the earlier) leave before entry b of the same thread? */
static bool
goes_before(const struct entry *a, const struct entry *b)
{
	if (x.model == SIM_TSO || b->release || a->loc == b->loc)
		return true;
	return a->release && x.model == SIM_WEAK;
}

/* Can entry i leave, with those before it, while some others are in the middle of leaving? */
static bool
can_leave(const struct thread *t, unsigned i)
{
	if (!t->buffer[i].live || t->buffer[i].leaving)
		return false;
	for (unsigned j = 0; j < i; j++)
		if (t->buffer[j].live && goes_before(&t->buffer[j], &t->buffer[i]) &&
		    !can_leave(t, j))
			return false;
	return true;
}

struct foreign {
	struct thread *t;
	unsigned i;
};

/* Entries of threads other than t, for l, that can leave now. */
static unsigned
foreign_entries(const struct thread *t, const struct loc *l, struct foreign *out)
{
	unsigned n = 0;

	for (struct thread *o = threads; o < threads + x.threads; o++) {
		if (o == t || !o->live)
			continue;
		for (unsigned i = 0; i < o->entries && n < OPTIONS - 1; i++)
			if (o->buffer[i].loc == l && can_leave(o, i))
				out[n++] = (struct foreign){o, i};
	}
	return n;
}

/* Writes entry i of t to memory, first those that must precede it. */
static void
entry_leave(struct thread *t, unsigned i)
{
	struct entry *e = &t->buffer[i];
	struct foreign f[OPTIONS];
	unsigned n, c;

	e->leaving = true;
	for (unsigned j = 0; j < i; j++)
		if (t->buffer[j].live && !t->buffer[j].leaving && goes_before(&t->buffer[j], e))
			entry_leave(t, j);
	/* The order of two writes to one address shows: others' may go first. */
	while (e->loc->pending > 1 && (n = foreign_entries(t, e->loc, f)) > 0) {
		c = pick(n + 1, 0, ~1u, false);
		if (c == 0)
			break;
		entry_leave(f[c - 1].t, f[c - 1].i);
	}
	if (x.model == SIM_ARM)
		past_add(e->loc, t, e->value, e->clock);
	mem_write(e->loc, e->value);
	e->loc->clock = e->clock;
	e->loc->pending--;
	e->live = e->leaving = false;
	x.relaxed = 0;
	if (--t->live == 0)
		t->entries = 0;
	TRACED("T%d's store reaches memory: %s = 0x%llx", self(t), name_of(e->loc->addr),
	       (unsigned long long)e->value);
}

static void
buffer_empty(struct thread *t)
{
	for (unsigned i = 0; t->live && i < t->entries; i++)
		if (t->buffer[i].live && !t->buffer[i].leaving)
			entry_leave(t, i);
}

static void
buffer_add(struct thread *t, struct loc *l, uint64_t value, bool release)
{
	if (t->entries == BUFFER) {
		buffer_empty(t); /* a bound of the model: no delay is longer than this */
	}
	struct entry *e = &t->buffer[t->entries++];
	*e = (struct entry){.loc = l, .value = value, .live = true, .release = release};
	if (release) {
		e->clock = t->now;
		t->now[self(t)]++;
	} else {
		e->clock = t->fenced;
	}
	t->live++;
	l->pending++;
}

/* The thread is about to touch l in memory: which waiting stores arrive before it does? True if
   any did. */
static inline bool
settle(struct thread *t, struct loc *l)
{
	struct foreign f[OPTIONS];
	unsigned n, c;
	bool arrived = false;

	while (unlikely(l->pending) && (n = foreign_entries(t, l, f)) > 0) {
		c = pick(n + 1, 0, BIT(n), false);
		if (c == n) {
			TRACED("overtakes a waiting store to %s", name_of(l->addr));
			break;
		}
		entry_leave(f[c].t, f[c].i);
		arrived = true;
	}
	return arrived;
}

/* ---- the operations of base/atomic.h; x.cur is NULL in setup and checks, which just act */

uint64_t
sim_load(const void *addr, unsigned bytes, enum sim_order order)
{
	struct thread *t = x.cur;

	if (t)
		point();
	struct loc *l = loc_of(addr, bytes);
	if (!t)
		return mem_read(l);
	if (t->live && l->pending)
		for (unsigned i = t->entries; i-- > 0;)
			if (t->buffer[i].live && t->buffer[i].loc == l) {
				TRACED("load  %s: 0x%llx (own buffer)", name_of(addr),
				       (unsigned long long)t->buffer[i].value);
				return t->buffer[i].value;
			}
	bool arrived = settle(t, l);
	clk clock = l->clock;
	uint64_t v =
	    x.model == SIM_ARM ? past_load(t, l, order == SIM_ACQ, arrived, &clock) : mem_read(l);
	if (order == SIM_ACQ)
		t->now = join(t->now, clock);
	else
		t->seen = join(t->seen, clock);
	TRACED("load%s  %s: 0x%llx%s", order == SIM_ACQ ? ".acq" : "", name_of(addr),
	       (unsigned long long)v, v == mem_read(l) ? "" : " (old)");
	return v;
}

void
sim_store(void *addr, unsigned bytes, uint64_t value, enum sim_order order)
{
	struct thread *t = x.cur;

	if (t)
		point();
	struct loc *l = loc_of(addr, bytes);
	if (!t) {
		mem_write(l, value);
		return;
	}
	x.relaxed = 0;
	TRACED("store%s  %s = 0x%llx", order == SIM_REL ? ".rel" : "", name_of(addr),
	       (unsigned long long)value);
	buffer_add(t, l, value, order == SIM_REL);
	if (x.model == SIM_SC)
		buffer_empty(t);
}

/* What a read-modify-write does before it acts. */
static struct loc *
rmw_begin(void *addr, unsigned bytes)
{
	struct thread *t = x.cur;

	if (t) {
		point();
		buffer_empty(t);
	}
	struct loc *l = loc_of(addr, bytes);
	if (t) {
		clk clock;
		settle(t, l);
		if (x.model == SIM_ARM)
			past_load(t, l, true, true, &clock);
		t->now = join(t->now, l->clock);
	}
	return l;
}

static void
rmw_write(struct loc *l, uint64_t v)
{
	struct thread *t = x.cur;

	if (t) {
		x.relaxed = 0;
		l->clock = join(l->clock, t->now); /* continues the release sequence */
		t->now[self(t)]++;
		if (x.model == SIM_ARM)
			past_add(l, t, v, l->clock);
	}
	mem_write(l, v);
}

uint64_t
sim_rmw(void *addr, unsigned bytes, enum sim_op op, uint64_t operand)
{
	static const char *const op_name[] = {"xchg", "add", "and", "or"};
	struct loc *l = rmw_begin(addr, bytes);
	uint64_t old = mem_read(l), v = operand;

	if (op == SIM_ADD)
		v = old + operand;
	else if (op == SIM_AND)
		v = old & operand;
	else if (op == SIM_OR)
		v = old | operand;
	if (bytes < 8)
		v &= (1ull << (8 * bytes)) - 1;
	rmw_write(l, v);
	TRACED("%s  %s 0x%llx: 0x%llx, was 0x%llx", op_name[op], name_of(addr),
	       (unsigned long long)operand, (unsigned long long)mem_read(l),
	       (unsigned long long)old);
	return old;
}

bool
sim_cas(void *addr, unsigned bytes, uint64_t *expected, uint64_t desired)
{
	struct loc *l = rmw_begin(addr, bytes);
	uint64_t old = mem_read(l), want = *expected;

	if (bytes < 8)
		want &= (1ull << (8 * bytes)) - 1;
	TRACED("cas  %s 0x%llx to 0x%llx: %s 0x%llx", name_of(addr), (unsigned long long)want,
	       (unsigned long long)desired, old == want ? "done, was" : "failed, is",
	       (unsigned long long)old);
	*expected = old;
	if (old != want)
		return false;
	rmw_write(l, desired);
	return true;
}

/* What a fence makes known and publishes, apart from emptying the buffer. */
static void
fence_clock(struct thread *t)
{
	t->now = join(t->now, t->seen);
	t->fenced = t->now;
	t->now[self(t)]++;
	t->horizon = x.writes;
}

void
sim_fence(void)
{
	if (!x.cur)
		return;
	point();
	TRACED("fence");
	buffer_empty(x.cur);
	fence_clock(x.cur);
}

void
sim_light(void)
{
	if (x.cur)
		point();
}

void
sim_membarrier(void)
{
	clk all = {0};

	if (!x.cur)
		return;
	point();
	TRACED("membarrier");
	for (unsigned i = 0; i < x.threads; i++) {
		buffer_empty(&threads[i]);
		all = join(all, join(threads[i].now, threads[i].seen));
	}
	clk mine = x.cur->now;
	for (unsigned i = 0; i < x.threads; i++) {
		threads[i].now = join(threads[i].now, &threads[i] == x.cur ? all : mine);
		fence_clock(&threads[i]);
	}
}

void
sim_relax(void)
{
	struct thread *t = x.cur;

	if (!t)
		return;
	if (++x.steps > x.max_steps)
		leave(OUT_LIVELOCK);
	for (unsigned i = 0; t->live && i < t->entries; i++)
		if (t->buffer[i].live && ++t->buffer[i].relaxes > RELAXES_HELD)
			entry_leave(t, i);
	if (x.strategy == BY_PCT)
		t->priority = --x.lowest;
	x.relaxed |= BIT(self(t));
	TRACED("relax");
	reschedule(AT_RELAX);
}

/* ---- sleeping */

static enum sim_reason
sleep_on(const void *key, bool timed)
{
	struct thread *t = x.cur;

	buffer_empty(t);
	TRACED("sleeps on %s", name_of(key));
	t->key = key;
	t->timed = timed;
	t->slept = ++x.sleeps;
	t->state = ST_BLOCKED;
	x.ready &= ~BIT(self(t));
	x.blocked |= BIT(self(t));
	reschedule(AT_STOP);
	t->horizon = x.writes; /* the kernel has been through its locks */
	TRACED("awake");
	return t->reason;
}

enum sim_reason
sim_block(const void *key)
{
	return sleep_on(key, false);
}

enum sim_reason
sim_block_timed(const void *key)
{
	return sleep_on(key, true);
}

enum sim_reason
sim_futex_wait(const void *word, uint32_t value, bool timed)
{
	struct loc *l = rmw_begin((void *)(uintptr_t)word, 4);

	if (mem_read(l) != value) {
		TRACED("futex_wait  %s: no longer 0x%x", name_of(word), value);
		return SIM_DIFFERS;
	}
	return sleep_on(word, timed);
}

int
sim_wake(const void *key, int n)
{
	int woken = 0;

	if (x.cur) {
		point();
		buffer_empty(x.cur);
		x.cur->horizon = x.writes;
	}
	while (woken < n) {
		uint32_t set = 0;
		for (uint32_t b = x.blocked; b; b &= b - 1)
			if (threads[__builtin_ctz(b)].key == key)
				set |= b & -b;
		if (!set)
			break;
		/* all of them go: the order of waking them does not show */
		unsigned of = (unsigned)__builtin_popcount(set);
		for (unsigned c = pick((unsigned)(n - woken) < of ? of : 1, 0, 0, false); c; c--)
			set &= set - 1;
		unblock(&threads[__builtin_ctz(set)], SIM_WOKEN);
		woken++;
	}
	x.relaxed = 0;
	TRACED("wakes %d of %d on %s", woken, n, name_of(key));
	return woken;
}

/* ---- plain memory */

/* Keys apart from the atomics' own: plain and atomic use of one address do not mix. */
static struct loc *
plain_of(const void *obj)
{
	return loc_find((const void *)((uintptr_t)obj ^ (uintptr_t)1 << 63));
}

static void
plain_check_writer(const struct loc *l, const void *obj, const char *what)
{
	if (l->writer >= 0 && l->written > x.cur->now[l->writer])
		sim_fail("race: T%d %s %s, nothing orders it after the write of T%d", self(x.cur),
			 what, name_of(obj), l->writer);
}

void
sim_plain_read(const void *obj)
{
	if (!x.cur)
		return;
	struct loc *l = plain_of(obj);
	TRACED("plain read of %s", name_of(obj));
	plain_check_writer(l, obj, "reads");
	l->clock[self(x.cur)] = x.cur->now[self(x.cur)];
}

void
sim_plain_write(const void *obj)
{
	if (!x.cur)
		return;
	struct loc *l = plain_of(obj);
	TRACED("plain write of %s", name_of(obj));
	plain_check_writer(l, obj, "writes");
	for (int i = 0; i < (int)x.threads; i++)
		if (l->clock[i] > x.cur->now[i])
			sim_fail("race: T%d writes %s, nothing orders it after the read of T%d",
				 self(x.cur), name_of(obj), i);
	l->writer = (int8_t)self(x.cur);
	l->written = x.cur->now[self(x.cur)];
	l->clock = (clk){0};
}

void
sim_forget(const void *addr, size_t bytes)
{
	for (unsigned i = 0; i < LOCS; i++) {
		struct loc *l = &locs[i];
		uintptr_t a = (uintptr_t)l->addr & ~((uintptr_t)1 << 63);
		if (l->execution != x.execution || a - (uintptr_t)addr >= bytes)
			continue;
		if (l->pending)
			sim_fail("freed with a store under way: %s", name_of(l->addr));
		l->bytes = 0;
		l->writer = -1;
		l->clock = (clk){0};
	}
}

/* ---- failures of the code under test: base/check.c is not linked, or it ends the search */

__attribute__((weak)) void
wf_broken(const char *file, int line, const char *what)
{
	sim_fail("%s:%d: CHECK(%s)", file, line, what);
	die("%s:%d: CHECK(%s) outside of a thread", file, line, what);
}

__attribute__((weak)) void
wf_fatal(const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	sim_fail("fatal: %s", what);
	die("fatal outside of a thread: %s", what);
}

/* ---- one execution */

static void
start_random(unsigned depth)
{
	static const uint8_t stays[] = {0, 4, 8, 12, 14};

	x.stay = stays[rng_next() % countof(stays)];
	x.changes = depth ? depth - 1 : 0;
	for (unsigned i = 0; i < x.changes; i++)
		x.change[i] = 1 + (unsigned)(rng_next() % (x.deepest ? x.deepest : 20));
	x.lowest = 0;
}

static void
run_threads(void)
{
	const struct sim_start *s = x.scenario->threads;

	for (unsigned i = 0; i < SIM_THREADS && s[i].fn; i++) {
		int id = sim_thread(s[i].fn, s[i].arg);
		if (s[i].daemon) {
			threads[id].daemon = true;
			x.unfinished--;
		}
	}
	if (x.threads == 0)
		die("no threads");
	reschedule(AT_STOP); /* back by leave() */
}

static enum outcome
run_one(void)
{
	if (++x.execution == 0) { /* stamps of the last round would look current */
		memset(locs, 0, sizeof(locs));
		x.execution = 1;
	}
	x.cur = NULL;
	x.threads = x.unfinished = 0;
	x.ready = x.relaxed = x.blocked = 0;
	x.steps = x.depth = x.preempts = x.delays = x.writes = x.sleeps = 0;
	x.early_left = x.scenario->early;
	x.quiet = false;
	x.outcome = OUT_OK;
	x.traced = named = 0;
	if (x.scenario->setup)
		x.scenario->setup();
	if (x.outcome == OUT_OK)
		run_threads();
	if (x.outcome == OUT_OK) {
		for (unsigned i = 0; i < x.threads; i++)
			buffer_empty(&threads[i]);
		if (x.scenario->check_end)
			x.scenario->check_end();
	}
	x.executions++;
	x.total_steps += x.steps;
	if (x.steps > x.deepest)
		x.deepest = x.steps;
	if (x.outcome == OUT_LIVELOCK) {
		x.livelocks++;
		if (!x.scenario->livelock_ok) {
			x.outcome = OUT_OK;
			sim_fail("no end after %u operations", x.max_steps);
		}
	}
	return x.outcome;
}

/* A crash of the code under test is a violation like any other. */
static void
on_crash(int sig)
{
	snprintf(x.message, sizeof(x.message), "crash: %s in T%d", strsignal(sig), sim_self());
	TRACED("!! %s", x.message);
	siglongjmp(crash_exit, 1);
}

static void
crash_handlers(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
	stack_t ss = {.ss_size = 64 * 1024};

	ss.ss_sp = malloc(ss.ss_size);
	if (!ss.ss_sp || sigaltstack(&ss, NULL))
		die("no signal stack");
	for (unsigned i = 0; i < countof(fatal); i++)
		sigaction(fatal[i], &sa, NULL);
}

/* ---- searches */

static double
now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* it may run where others go first */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct result {
	bool failed, exhausted;
	uint64_t executions;
	unsigned deepest;
	unsigned length; /* of the failing pick list, which is in picks */
};

struct budget {
	enum strategy strategy;
	unsigned bound, delays, depth;
	uint64_t seed, count; /* 0 count: no limit */
	double until;
};

/* Runs executions until one fails, the space or the budget is at its end. */
static struct result
search(const struct budget *b)
{
	static struct result r; /* survives the siglongjmp of a crash */
	static struct budget limit;
	static uint64_t done;

	r = (struct result){0};
	limit = *b;
	done = 0;
	x.strategy = b->strategy;
	x.bound = b->bound;
	x.delay_bound = b->delays;
	x.prefix = 0;
	x.deepest = 0;
	if (sigsetjmp(crash_exit, 0)) {
		x.cur = NULL;
		x.outcome = OUT_FAILED;
		done++;
		r.failed = true;
	}
	while (!r.failed) {
		if (limit.strategy != BY_DFS) {
			x.rng = limit.seed + done;
			start_random(limit.strategy == BY_PCT ? limit.depth : 0);
		}
		r.failed = run_one() == OUT_FAILED;
		done++;
		if (r.failed)
			break;
		if (limit.strategy == BY_DFS && !dfs_next()) {
			r.exhausted = true;
			break;
		}
		if ((limit.count && done == limit.count) ||
		    ((done & 1023) == 0 && now_s() > limit.until))
			break;
	}
	r.executions = done;
	r.deepest = x.deepest;
	r.length = x.depth;
	return r;
}

/* Runs the first n picks, then option 0 throughout. */
static bool
replay(unsigned n)
{
	static bool failed;

	x.strategy = BY_REPLAY;
	x.prefix = n;
	failed = true;
	if (!sigsetjmp(crash_exit, 0))
		failed = run_one() == OUT_FAILED;
	else
		x.cur = NULL;
	return failed;
}

/* Replaces picks by option 0 while the list still fails; returns its length. */
static unsigned
shrink(unsigned length)
{
	static struct pick best[PICKS];
	unsigned tries = 4000; /* a failure is printed within about a second */

	memcpy(best, picks, length * sizeof(*best));
	for (unsigned i = length; i-- > 0 && tries;) {
		if (i >= length || best[i].chosen == 0)
			continue;
		memcpy(picks, best, length * sizeof(*best));
		picks[i].chosen = 0;
		tries--;
		if (replay(length)) {
			length = x.depth;
			memcpy(best, picks, length * sizeof(*best));
		}
	}
	memcpy(picks, best, length * sizeof(*best));
	return length;
}

/* ---- pick lists as text: a number is a run of option 0, a letter another option */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char models[] = "wtas"; /* by enum sim_model */
static char text[PICKS + 256];

static const char *
picks_text(unsigned length)
{
	int n = snprintf(text, 200, "%s:%d:%c:", x.scenario->name, wf_mutant, models[x.model]);
	unsigned zeros = 0;

	for (unsigned i = 0; i < length; i++) {
		if (picks[i].chosen == 0) {
			zeros++;
			continue;
		}
		if (zeros)
			n += sprintf(text + n, "%u", zeros);
		zeros = 0;
		text[n++] = letters[picks[i].chosen - 1];
	}
	text[n] = 0;
	return text;
}

static unsigned
picks_parse(const char *s)
{
	unsigned length = 0;

	while (*s && length < PICKS) {
		unsigned zeros = 0;
		const char *l;
		if (*s >= '0' && *s <= '9') {
			zeros = (unsigned)strtoul(s, (char **)(uintptr_t)&s, 10);
			while (zeros-- && length < PICKS)
				picks[length++] = (struct pick){0};
		} else if ((l = strchr(letters, *s++)) != NULL) {
			picks[length++] = (struct pick){.chosen = (uint8_t)(l - letters + 1)};
		} else {
			die("not a choice string, at '%s'", s - 1);
		}
	}
	return length;
}

/* ---- reports and the command line */

static struct {
	const char *program, *filter;
	unsigned bound, delays;
	bool delays_set, model_set, verbose;
	enum sim_model model;
	double seconds;
	uint64_t random_seed, random_count;
	unsigned pct_depth;
} cli = {.bound = 2, .seconds = 60};

static void
print_trace(void)
{
	unsigned n = x.traced < TRACE ? x.traced : TRACE;

	printf("  last %u operations (T = thread; indented by thread):\n", n);
	for (unsigned i = x.traced - n; i < x.traced; i++) {
		const struct traced *t = &trace[i % TRACE];
		printf("  %5u  ", i);
		if (t->thread < 0)
			printf("    %s\n", t->text);
		else
			printf("T%d%*s  %s\n", t->thread, t->thread * 3, "", t->text);
	}
}

/* Shrinks the failing list in picks, shows it twice: the second time must fail as well. */
static void
report_failure(unsigned length)
{
	char message[sizeof(x.message)];

	length = shrink(length);
	picks_text(length);
	x.tracing = true;
	bool again = replay(length);
	memcpy(message, x.message, sizeof(message));
	bool traced = replay(length);
	x.tracing = false;
	printf("  violation: %s\n", message);
	printf("  confirmed: %s\n", again && traced && !strcmp(message, x.message)
					? "fails again, the same way"
					: "NO: the scenario is not deterministic");
	printf("  choices:   %s (%u preemptions, %u delays)\n", text, x.preempts, x.delays);
	print_trace();
	printf("  replay:    %s --replay '%s'\n", cli.program, text);
}

static void
prepare(struct sim_scenario *s, int mutant)
{
	x.scenario = s;
	x.model = cli.model_set ? cli.model : s->model;
	x.max_steps = s->max_steps ? s->max_steps : STEPS_DEFAULT;
	if (x.max_steps > STEPS_LIMIT)
		die("max_steps over %d", STEPS_LIMIT);
	wf_mutant = mutant;
}

static struct budget
dfs_budget(const struct sim_scenario *s, unsigned bound, double seconds)
{
	struct budget b = {.strategy = BY_DFS, .bound = bound, .until = now_s() + seconds};

	if (s->max_bound && b.bound > s->max_bound)
		b.bound = s->max_bound;
	b.delays = cli.delays_set ? cli.delays : s->delays ? s->delays : DELAYS_DEFAULT;
	return b;
}

/* Tries to catch a mutant: the cheapest way first, so that the shortest proof is found; each way for a
   moment, then for longer: how much a CPU does in a second is not to decide what survives. */
static struct result
hunt(struct sim_scenario *s, int mutant)
{
	enum { ROUNDS = 5, LONGER = 4 };
	const struct budget ways[] = {
	    {.strategy = BY_DFS, .bound = 0},         {.strategy = BY_DFS, .bound = 1},
	    {.strategy = BY_PCT, .depth = 3},         {.strategy = BY_RANDOM},
	    {.strategy = BY_DFS, .bound = cli.bound},
	};
	double seconds = cli.seconds / 40;
	struct result r = {0};
	uint64_t total = 0;

	prepare(s, mutant);
	for (unsigned i = 0; i < ROUNDS * countof(ways) && !r.failed; i++) {
		const struct budget *way = &ways[i % countof(ways)];
		struct budget b = dfs_budget(s, way->bound, seconds);

		b.strategy = way->strategy;
		b.depth = way->depth;
		b.seed = 1 + i / countof(ways);
		r = search(&b);
		total += r.executions;
		if (i % countof(ways) == countof(ways) - 1)
			seconds *= LONGER;
	}
	r.executions = total;
	return r;
}

static bool
hunt_all(struct sim_scenario *s, unsigned *killed, unsigned *all)
{
	for (*killed = *all = 0; *all < SIM_MUTANTS && s->mutants[*all].id; ++*all) {
		const struct sim_mutant *m = &s->mutants[*all];
		struct result r = hunt(s, m->id);
		*killed += r.failed;
		if (!r.failed)
			printf("  mutant survived: %s (%d), %llu executions\n", m->name, m->id,
			       (unsigned long long)r.executions);
		else if (cli.verbose)
			printf("  killed %s after %llu executions: %s\n", m->name,
			       (unsigned long long)r.executions, x.message);
	}
	return *killed == *all;
}

/* What the scenario wants to see by chance, after the exhaustive search. */
static void
chance(const struct sim_scenario *s, struct result *r)
{
	static const struct budget ways[] = {
	    {.strategy = BY_PCT, .depth = 3},
	    {.strategy = BY_RANDOM},
	};

	for (unsigned i = 0; i < countof(ways) && s->random && !r->failed; i++) {
		struct budget b = dfs_budget(s, 0, cli.seconds);
		struct result more;

		b.strategy = ways[i].strategy;
		b.depth = ways[i].depth;
		b.count = s->random;
		b.seed = 1;
		more = search(&b);
		more.executions += r->executions;
		more.exhausted = r->exhausted;
		*r = more;
	}
}

/* The clean code must have no violation, each mutant one. */
static bool
test_scenario(struct sim_scenario *s)
{
	double t0 = now_s(), t1;
	unsigned killed = 0, all = 0;
	struct budget b = dfs_budget(s, cli.bound, cli.seconds);

	if (cli.random_count) {
		b.strategy = cli.pct_depth ? BY_PCT : BY_RANDOM;
		b.depth = cli.pct_depth;
		b.seed = cli.random_seed;
		b.count = cli.random_count;
	}
	prepare(s, 0);
	x.livelocks = 0;
	struct result r = search(&b);
	if (!r.failed && !cli.random_count)
		chance(s, &r);
	uint64_t livelocks = x.livelocks;
	t1 = now_s();
	bool ok = !r.failed;
	if (!ok)
		report_failure(r.length);
	else if (!cli.random_count)
		ok = hunt_all(s, &killed, &all);
	wf_mutant = 0;
	printf("%-4s %-28s %9llu executions, exhausted %s (bound %u, delays %u), %u steps, ",
	       ok ? "ok" : "FAIL", s->name, (unsigned long long)r.executions,
	       r.exhausted ? "yes" : "no", b.bound, b.delays, r.deepest);
	if (livelocks)
		printf("%llu livelocks, ", (unsigned long long)livelocks);
	printf("mutants %u/%u, %.2f s (%.0f k/s)\n", killed, all, now_s() - t0,
	       (double)r.executions / (t1 - t0) / 1e3);
	fflush(stdout);
	return ok;
}

/* One mutant, as if it were the code; 0 if nothing is found. */
static int
run_mutant(struct sim_scenario *s, int mutant)
{
	struct result r = hunt(s, mutant);

	printf("%s, mutant %d: %s after %llu executions\n", s->name, mutant,
	       r.failed ? "caught" : "survived", (unsigned long long)r.executions);
	if (r.failed)
		report_failure(r.length);
	return r.failed;
}

static int
run_replay(const char *s)
{
	char name[100];
	char model;
	int mutant, at = 0;

	if (sscanf(s, "%99[^:]:%d:%c:%n", name, &mutant, &model, &at) != 3 || !at ||
	    !strchr(models, model))
		die("a choice string is SCENARIO:MUTANT:MODEL:CHOICES");
	for (struct sim_scenario *sc = scenarios; sc; sc = sc->next) {
		if (strcmp(sc->name, name))
			continue;
		prepare(sc, mutant);
		x.model = (enum sim_model)(strchr(models, model) - models);
		x.tracing = true;
		bool failed = replay(picks_parse(s + at));
		printf("%s: %s\n", name, failed ? x.message : "no violation");
		print_trace();
		return failed;
	}
	die("no scenario %s here", name);
}

void
sim_register(struct sim_scenario *s, const char *name)
{
	struct sim_scenario **to = &scenarios;

	s->name = name;
	while (*to)
		to = &(*to)->next;
	*to = s;
}

static const char usage[] =
    "usage: %s [options] [SCENARIO-PART | =SCENARIO]\n"
    "  --list               names and mutants\n"
    "  --bound N            preemptions of the exhaustive search (2)\n"
    "  --delays N           old values read past a waiting store (3, or the scenario's)\n"
    "  --model M            weak, tso, arm or sc, for all scenarios\n"
    "  --random SEED:COUNT  random instead\n"
    "  --pct D:SEED:COUNT   random priorities with D-1 changes instead\n"
    "  --mutant ID          hunt this one only, and show how it fails\n"
    "  --replay STRING      one execution, with its trace\n"
    "  --max-seconds S      per search (60)\n"
    "  --verbose            how each mutant died\n";

static void
list(void)
{
	for (struct sim_scenario *s = scenarios; s; s = s->next) {
		printf("%s\n", s->name);
		for (unsigned i = 0; i < SIM_MUTANTS && s->mutants[i].id; i++)
			printf("  mutant %d: %s\n", s->mutants[i].id, s->mutants[i].name);
	}
}

static bool
parse_model(const char *s)
{
	const char *m = s ? strchr(models, s[0]) : NULL;

	if (!m || !s[0])
		return false;
	cli.model = (enum sim_model)(m - models);
	cli.model_set = true;
	return true;
}

/* One option with its value; false if it is not understood. */
static bool
parse_option(const char *opt, const char *value)
{
	unsigned long long seed, count;

	if (!value)
		return false;
	if (!strcmp(opt, "--bound"))
		return sscanf(value, "%u", &cli.bound) == 1;
	if (!strcmp(opt, "--delays"))
		return cli.delays_set = sscanf(value, "%u", &cli.delays) == 1;
	if (!strcmp(opt, "--max-seconds"))
		return sscanf(value, "%lf", &cli.seconds) == 1;
	if (!strcmp(opt, "--model"))
		return parse_model(value);
	if (!strcmp(opt, "--random")) {
		if (sscanf(value, "%llu:%llu", &seed, &count) != 2)
			return false;
	} else if (!strcmp(opt, "--pct")) {
		if (sscanf(value, "%u:%llu:%llu", &cli.pct_depth, &seed, &count) != 3 ||
		    cli.pct_depth > countof(x.change))
			return false;
	} else {
		return false;
	}
	cli.random_seed = seed;
	cli.random_count = count;
	return true;
}

static bool
chosen(const struct sim_scenario *s)
{
	if (!cli.filter)
		return true;
	return cli.filter[0] == '=' ? !strcmp(s->name, cli.filter + 1)
				    : strstr(s->name, cli.filter) != NULL;
}

int
main(int argc, char **argv)
{
	int failed = 0, mutant = 0;

	cli.program = argv[0];
	crash_handlers();
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(argv[i], "--list"))
			return list(), 0;
		if (!strcmp(argv[i], "--replay") && value)
			return run_replay(value);
		if (!strcmp(argv[i], "--verbose")) {
			cli.verbose = true;
		} else if (!strcmp(argv[i], "--mutant") && value) {
			mutant = atoi(argv[++i]);
		} else if (argv[i][0] != '-') {
			cli.filter = argv[i];
		} else if (parse_option(argv[i], value)) {
			i++;
		} else {
			fprintf(stderr, usage, argv[0]);
			return 2;
		}
	}
	for (struct sim_scenario *s = scenarios; s; s = s->next) {
		if (!chosen(s))
			continue;
		failed += mutant ? run_mutant(s, mutant) : !test_scenario(s);
	}
	return failed != 0;
}
