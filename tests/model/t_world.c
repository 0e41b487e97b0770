/* SPDX-License-Identifier: MIT */
/*
 * t_world.c: whole runs of tiny programs on the whole library (all files but base/os.c).
 *
 * What must hold: the program ends with its result, each goroutine has run once, nobody sleeps
 * for ever, no CHECK fails (LOOP-1, LOOP-2 and all others stand in the code), no deadlock is reported where there is none. While the monitor looks
 * every M sleeps only if nothing is queued: what it could repair is a violation here.
 * The library's variables are put back before each execution, so that all begin alike.
 * sources: tests/model/mark.c src/init.c src/base/lock.c src/base/cgroup.c src/core/?*.c src/obs/?*.c src/sched/?*.c src/wait/?*.c tests/model/mark.c tests/model/os_sim.c src/arch/x86_64.S -Wl,--wrap=os_sleep_ns,--wrap=os_thread_count,--wrap=wf_deadlock_report
 */
#include "explore.h"
#include "mark.h"
#include "os_sim.h"

#include "core/self.h"
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

/* ---- the library's variables, as the process found them */

static struct {
	char *lo, *hi, *copy;
} vars[2]; /* .data, .bss */

void
mark_add(char *in_data, char *in_bss)
{
	char *at[2] = {in_data, in_bss};

	for (int i = 0; i < 2; i++) {
		if (!vars[i].lo || at[i] < vars[i].lo)
			vars[i].lo = at[i];
		if (at[i] > vars[i].hi)
			vars[i].hi = at[i];
	}
}

static void
vars_reset(void)
{
	for (int i = 0; i < 2; i++) {
		size_t bytes = (size_t)(vars[i].hi - vars[i].lo);

		if (!vars[i].copy) {
			vars[i].copy = malloc(bytes);
			memcpy(vars[i].copy, vars[i].lo, bytes);
		} else {
			memcpy(vars[i].lo, vars[i].copy, bytes);
		}
	}
}

/* ---- what stands outside of the library here */

void (*wf_fatal_dump_hook)(int fd, bool internal);

struct wf_m *
wf_m(void)
{
	struct wf_m *m = *sim_local();
	return m ? m : &wf_m_unknown;
}

void
wf_m_set(struct wf_m *m)
{
	*sim_local() = m;
}

void
wf_say(const char *fmt, ...)
{
	sim_note("says %s", fmt);
}

void
wf_say_to(int fd, const char *fmt, ...)
{
	(void)fd;
	sim_note("says %s", fmt);
}

static bool helped; /* by a thread of the program, also while the monitor sleeps */

void __real_os_sleep_ns(int64_t ns);
void __wrap_os_sleep_ns(int64_t ns);

/* A sleep that ends by time ends when nobody can run. Then, if every M sleeps: IDLE-1. */
void
__wrap_os_sleep_ns(int64_t ns)
{
	__real_os_sleep_ns(ns);
	if (helped || wf_sched.phase.v != WF_UP || wf_sched.nmidle != wf_sched.nm ||
	    wf_sched.stopping.v)
		return;
	if (wf_globq.list.size > 0)
		sim_fail("every M sleeps, and the global queue has %u", wf_globq.list.size);
	for (uint32_t i = 0; i < wf_sched.procs.v; i++) {
		struct wf_runq *q = &wf_sched.allp[i]->runq;

		if (q->head.v != q->tail.v || q->next.v)
			sim_fail("every M sleeps, and the queue of P %u is not empty", i);
	}
}

/* ---- the rig */

static struct weft_site sites[8];
static unsigned nsites;
static struct {
	struct weft_wg wg, wg2;
	int ran, results;
	wf_a32 up; /* goroutine 1 runs */
	int plain; /* threads of the program, but for the one that calls weft_run */
	wf_a32 deadlocked;
} s;

/* A site of its own each time: what the library learns of it is part of an execution. */
static struct weft_site *
site_of(int (*fn)(void *), bool joined)
{
	struct weft_site *site = &sites[nsites++ % countof(sites)];

	*site = (struct weft_site){.fn = fn, .name = "a goroutine", .joins_ = joined};
	return site;
}

static void
go(int (*fn)(void *), struct weft_wg *wg)
{
	SIM_CHECK(weft_spawn(site_of(fn, false), NULL, wg, NULL, 0) > 0);
}

/* As go, for a goroutine that is known to be waited for. */
static void
fork_one(int (*fn)(void *), struct weft_wg *wg)
{
	SIM_CHECK(weft_spawn(site_of(fn, true), NULL, wg, NULL, 0) > 0);
}

int __wrap_os_thread_count(void);

/* The monitor, the caller of weft_run, the Ms, and those of the program. */
int
__wrap_os_thread_count(void)
{
	int n = 2 + s.plain;

	for (const struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		n += m->in_use && !m->plain;
	return n;
}

/* No goroutine is born outside of a run; the first one while it starts. */
static void
on_change(enum wf_trace_kind kind, int state, const void *what)
{
	(void)what;
	if (kind == WF_TR_G && state == WF_RUNNABLE)
		SIM_CHECK(wf_sched.phase.v != WF_DOWN);
}

static void
reset(void)
{
	os_sim_reset();
	vars_reset();
	memset(&s, 0, sizeof(s));
	helped = false;
	nsites = 0;
	wf_trace_hook = on_change;
	sim_name(&wf_sched.nmspinning, "nmspinning");
	sim_name(&wf_sched.need_spinning, "need_spinning");
	sim_name(&wf_sched.idle_mask[0], "idle_mask");
	sim_name(&wf_sched.npidle, "npidle");
	sim_name(&wf_sched.phase, "phase");
	sim_name(&wf_sched.stopping, "stopping");
	sim_name(&wf_sched.lock.word, "sched.lock");
	sim_name(&wf_globq.lock.word, "globq.lock");
	sim_name(&wf_globq.size, "globq.size");
	sim_name(&wf_lease_lock.word, "lease_lock");
	sim_name(&weft_preempt_word, "preempt_word");
}

static void
reset_plain(void)
{
	reset();
	s.plain = 1;
}

/* Runs fn as goroutine 1; quiet until that says loud(). */
static void
run_world(int (*fn)(void *), int procs)
{
	sim_quiet(true);
	SIM_CHECK(weft_configure(
		      &(struct weft_config){.procs = procs, .stack_bytes = 65536, .seed = 1}) == 0);
	SIM_CHECK(weft_run_site(site_of(fn, false), NULL, 0) == 0);
	s.results++;
}

static void
loud(void)
{
	at_store_rel(&s.up, 1);
	sim_wake(&s.up, SIM_THREADS);
	sim_quiet(false);
}

#define WORLD(id, procs)                                                                           \
	static void run_##id(void *arg)                                                            \
	{                                                                                          \
		(void)arg;                                                                         \
		run_world(main_##id, procs);                                                       \
	}                                                                                          \
	SCENARIO(id)

#define WORLD_LIMITS .max_steps = 20000, .max_bound = 1, .delays = 1

static int
child(void *arg)
{
	(void)arg;
	s.ran++;
	return 0;
}

/* ---- children and a wait group */

static int
main_join_two(void *arg)
{
	(void)arg;
	loud();
	go(child, &s.wg);
	go(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(join_two,
      2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_join_two, NULL, false}}, .random = 20000,
	    .mutants = {SIM_MUTANT(MUT_PARK_TRAMPOLINE), SIM_MUTANT(MUT_PARK_COMMIT_EARLY)}};

static int
main_fork_two(void *arg)
{
	(void)arg;
	loud();
	fork_one(child, &s.wg);
	fork_one(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(fork_two, 2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_fork_two, NULL, false}},
		      .random = 20000};

/* Children with children of their own, which they wait for. */
static int
parent(void *arg)
{
	struct weft_wg wg = {0};

	(void)arg;
	fork_one(child, &wg);
	fork_one(child, &wg);
	SIM_CHECK(weft_wg_wait(&wg) == 0);
	return 0;
}

static int
main_fork_tree(void *arg)
{
	(void)arg;
	loud();
	fork_one(parent, &s.wg);
	fork_one(parent, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 4);
	return 0;
}

WORLD(fork_tree, 2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_fork_tree, NULL, false}},
		       .random = 20000};

/* ---- yields */

static int
yielder(void *arg)
{
	(void)arg;
	weft_yield();
	s.ran++;
	return 0;
}

static int
main_yields(void *arg)
{
	(void)arg;
	loud();
	go(yielder, &s.wg);
	go(yielder, &s.wg);
	weft_yield();
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(yields, 2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_yields, NULL, false}},
		    .random = 20000};

/* ---- a thread of the program starts a goroutine, and waits for it */

static void
plain_thread(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.up))
		sim_futex_wait(&s.up, 0, false);
	go(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran >= 1);
	weft_wg_done(&s.wg2);
	s.plain--;
}

static int
main_plain(void *arg)
{
	(void)arg;
	weft_wg_add(&s.wg2, 1);
	loud();
	SIM_CHECK(weft_wg_wait(&s.wg2) == 0);
	sim_quiet(true);
	return 0;
}

WORLD(plain, 2) = {WORLD_LIMITS, .setup = reset_plain,
		   .threads = {{run_plain, NULL, false}, {plain_thread, NULL, false}},
		   .random = 20000};

/* ---- the end of a run while others wait: that is no deadlock */

static int
waiter(void *arg)
{
	(void)arg;
	weft_wg_wait(&s.wg2);
	sim_fail("nobody ends this wait");
	return 0;
}

static int
main_ends_beside_waiter(void *arg)
{
	(void)arg;
	weft_wg_add(&s.wg2, 1);
	loud();
	go(waiter, NULL);
	weft_yield();
	return 0;
}

WORLD(ends_beside_waiter, 2) = {WORLD_LIMITS, .setup = reset,
				.threads = {{run_ends_beside_waiter, NULL, false}},
				.random = 20000};

/* ---- procs change under running goroutines */

static int
main_resize(void *arg)
{
	(void)arg;
	loud();
	go(yielder, &s.wg);
	SIM_CHECK(weft_set_procs(1) == 2);
	go(child, &s.wg);
	SIM_CHECK(weft_set_procs(2) == 1);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(resize, 2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_resize, NULL, false}},
		    .random = 20000};

/* ---- procs follow the system: the monitor is the one who stops the world */

static int
main_procs_follow(void *arg)
{
	(void)arg;
	os_sim_cpus(1);
	loud();
	go(yielder, &s.wg);
	go(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	os_sim_cpus(3);
	weft_yield();
	SIM_CHECK(weft_procs() >= 1 && weft_procs() <= 3);
	return 0;
}

WORLD(procs_follow, 0) = {WORLD_LIMITS, .setup = reset,
			  .threads = {{run_procs_follow, NULL, false}}, .early = 2,
			  .random = 20000};

/* PROCS-1, PROCS-2: whatever the monitor is about to do, a number that was named stays. */
static int
main_procs_named(void *arg)
{
	int old;

	(void)arg;
	os_sim_cpus(1);
	loud();
	old = weft_set_procs(2);
	SIM_CHECK(old == 1 || old == 2);
	go(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(weft_procs() == 2);
	return 0;
}

WORLD(procs_named, 0) = {WORLD_LIMITS, .setup = reset,  .threads = {{run_procs_named, NULL, false}},
			 .early = 1,   .random = 20000, .mutants = {SIM_MUTANT(MUT_PROCS_STALE)}};

/* Goroutine 1 may go to sleep while the monitor has stopped the world: all the same it is seen that
   nobody can run. The one who sees it is given help here, instead of the end. */

void __real_wf_deadlock_report(uint64_t seq);
void __wrap_wf_deadlock_report(uint64_t seq);

void
__wrap_wf_deadlock_report(uint64_t seq)
{
	if (!helped) {
		__real_wf_deadlock_report(seq);
		return;
	}
	at_store_rel(&s.deadlocked, 1);
	sim_wake(&s.deadlocked, SIM_THREADS);
}

static void
helper(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.deadlocked))
		sim_futex_wait(&s.deadlocked, 0, false);
	weft_wg_done(&s.wg2);
}

static int
main_procs_deadlock(void *arg)
{
	(void)arg;
	os_sim_cpus(1);
	helped = true;
	weft_wg_add(&s.wg2, 1);
	loud();
	SIM_CHECK(weft_wg_wait(&s.wg2) == 0);
	SIM_CHECK(at_load_acq(&s.deadlocked));
	sim_quiet(true);
	return 0;
}

WORLD(procs_deadlock, 0) = {WORLD_LIMITS,
			    .setup = reset_plain,
			    .threads = {{run_procs_deadlock, NULL, false}, {helper, NULL, false}},
			    .early = 1,
			    .random = 20000,
			    .mutants = {SIM_MUTANT(MUT_PROCS_UNCHECKED)}};

/* ---- a goroutine that blocks its thread: the monitor takes its P, the other one runs */

static int
unblocker(void *arg)
{
	(void)arg;
	s.ran++;
	sim_wake(&s.ran, 1);
	return 0;
}

static int
main_blocks(void *arg)
{
	(void)arg;
	go(unblocker, &s.wg);
	loud();
	if (s.ran == 0)
		sim_block(&s.ran);
	SIM_CHECK(s.ran == 1);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	return 0;
}

WORLD(blocks, 1) = {WORLD_LIMITS, .setup = reset, .threads = {{run_blocks, NULL, false}},
		    .random = 20000};

/* ---- the run ends while a goroutine computes; it calls later */

static int
computes(void *arg)
{
	(void)arg;
	s.ran = 1;
	for (int i = 0; i < 8; i++)
		light_barrier(); /* choice points in user code */
	weft_spawn(site_of(child, false), NULL, NULL, NULL, 0);
	weft_wg_add(&s.wg2, 1);
	return 0;
}

static int
main_ends_beside_computing(void *arg)
{
	(void)arg;
	go(computes, NULL);
	loud();
	while (s.ran == 0) {
		weft_yield();
		cpu_relax();
	}
	return 0;
}

WORLD(ends_beside_computing, 2) = {WORLD_LIMITS, .setup = reset,
				   .threads = {{run_ends_beside_computing, NULL, false}},
				   .random = 20000};

/* ---- two runs, a goroutine of the first still computing in the second */

static void
run_twice(void *arg)
{
	(void)arg;
	run_world(main_ends_beside_computing, 1);
	s.ran = 0;
	memset(&s.wg, 0, sizeof(s.wg));
	run_world(main_join_two, 1);
}

SCENARIO(two_runs) = {WORLD_LIMITS, .setup = reset, .threads = {{run_twice, NULL, false}},
		      .random = 20000};

/* ---- work of the idle class, a function on every P */

static int
main_idle_class(void *arg)
{
	struct weft_stats st = {.size = sizeof(st)};

	(void)arg;
	loud();
	SIM_CHECK(weft_spawn(site_of(child, false), WEFT_ATTR(.prio = WEFT_IDLE), &s.wg, NULL, 0) >
		  0);
	go(child, &s.wg);
	SIM_CHECK(weft_stats(&st) == 0);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(idle_class, 2) = {WORLD_LIMITS, .setup = reset, .threads = {{run_idle_class, NULL, false}},
			.random = 20000};
