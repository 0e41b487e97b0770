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
#include "world.h"

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

/* ---- the P is taken from a goroutine that computes; who starts others takes it back: SPAWN-3 */

static int
main_starts_many(void *arg)
{
	(void)arg;
	go(child, &s.wg);
	loud();
	while (s.ran == 0)
		cpu_relax();
	go(child, &s.wg);
	go(child, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 3);
	return 0;
}

static void
check_starts_many(void)
{
	SIM_CHECK(wf_sched.computing.v == 0);
	SIM_CHECK(weft_preempt_word == 1); /* no run is up */
}

WORLD(starts_many, 1) = {WORLD_LIMITS,
			 .setup = reset,
			 .threads = {{run_starts_many, NULL, false}},
			 .check_end = check_starts_many,
			 .random = 20000,
			 .mutants = {SIM_MUTANT(MUT_REGAIN_UNCOUNTED)}};

static void
run_starts_many_two_ps(void *arg)
{
	(void)arg;
	run_world(main_starts_many, 2);
}

SCENARIO(starts_many_two_ps) = {WORLD_LIMITS, .setup = reset,
				.threads = {{run_starts_many_two_ps, NULL, false}},
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

/* ---- urgent work, spawned and readied; a plain thread brings some */

static int
main_urgent_class(void *arg)
{
	(void)arg;
	loud();
	SIM_CHECK(
	    weft_spawn(site_of(child, false), WEFT_ATTR(.prio = WEFT_URGENT), &s.wg, NULL, 0) > 0);
	go(child, &s.wg);
	weft_checkpoint();
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

static void
check_urgent_class(void)
{
	SIM_CHECK(wf_sched.due.v == 0);    /* PRIO-1 */
	SIM_CHECK(weft_preempt_word == 1); /* no run is up */
}

WORLD(urgent_class, 2) = {WORLD_LIMITS, .setup = reset,
			  .threads = {{run_urgent_class, NULL, false}},
			  .check_end = check_urgent_class, .random = 20000};
