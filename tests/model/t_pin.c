/* SPDX-License-Identifier: MIT */
/*
 * t_pin.c: pinned goroutines, in whole runs of the library.
 *
 * What must hold: a pinned goroutine is on its own M whenever it runs, and nobody else is while it
 * is pinned (PIN-1: looked at by the trace of every status change); it is handed a P each time
 * it is made runnable (PIN-2: nobody sleeps for ever); its M counts as idle just while it sleeps
 * (PIN-3: no deadlock is reported where there is none, and one where there is); the threads that it
 * needs are made by another (PIN-4).
 * sources: tests/model/mark.c src/init.c src/base/lock.c src/base/cgroup.c src/core/?*.c src/obs/?*.c src/sched/?*.c src/wait/?*.c tests/model/mark.c tests/model/os_sim.c src/arch/x86_64.S -Wl,--wrap=os_sleep_ns,--wrap=os_thread_count,--wrap=os_thread_start
 */
#include "world.h"

int __real_os_thread_start(void *(*fn)(void *), void *arg);
int __wrap_os_thread_start(void *(*fn)(void *), void *arg);

/* PIN-4 */
int
__wrap_os_thread_start(void *(*fn)(void *), void *arg)
{
	SIM_CHECK(!wf_m()->pinned);
	return __real_os_thread_start(fn, arg);
}

/* PIN-1: whoever begins to run is pinned neither elsewhere nor here. */
static void
on_run(enum wf_trace_kind kind, int state, const void *what)
{
	const struct wf_g *g = what;
	const struct wf_m *m = wf_m();

	on_change(kind, state, what);
	if (kind != WF_TR_G || state != WF_RUNNING || m->plain)
		return;
	if (g->flags & WF_G_PINNED)
		SIM_CHECK(g->home == m);
	else
		SIM_CHECK(!m->pinned);
}

static void
reset_pin(void)
{
	reset();
	wf_trace_hook = on_run;
}

static void
reset_pin_plain(void)
{
	reset_pin();
	s.plain = 1;
}

static void
lock_thread(void)
{
	SIM_CHECK(weft_lock_thread() == 0);
}

/* ---- a pinned goroutine is readied while its M is about to sleep, by another M */

static int
done_once(void *arg)
{
	(void)arg;
	s.ran++;
	weft_wg_done(&s.wg2);
	return 0;
}

static int
main_readied(void *arg)
{
	(void)arg;
	lock_thread();
	weft_wg_add(&s.wg2, 1);
	loud();
	go(done_once, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg2) == 0);
	SIM_CHECK(weft_unlock_thread() == 0);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	return 0;
}

WORLD(readied, 2) = {WORLD_LIMITS, .setup = reset_pin, .threads = {{run_readied, NULL, false}},
		     .random = 5000,
		     .mutants = {SIM_MUTANT(MUT_PIN_QUEUED), SIM_MUTANT(MUT_PIN_P_LATE),
				 SIM_MUTANT(MUT_PIN_STILL_IDLE)}};

static void
run_readied_by_one_p(void *arg)
{
	(void)arg;
	run_world(main_readied, 1);
}

SCENARIO(readied_by_one_p) = {WORLD_LIMITS, .setup = reset_pin,
			      .threads = {{run_readied_by_one_p, NULL, false}}, .random = 5000,
			      .mutants = {SIM_MUTANT(MUT_PIN_KEEPS_P)}};

/* ---- it has started others before it locks: they wait in the queue of its P */

static int
main_locks_late(void *arg)
{
	(void)arg;
	loud();
	go(child, &s.wg);
	go(child, &s.wg);
	lock_thread();
	weft_yield();
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 2);
	return 0;
}

WORLD(locks_late, 1) = {WORLD_LIMITS, .setup = reset_pin,
			.threads = {{run_locks_late, NULL, false}}, .random = 5000,
			.mutants = {SIM_MUTANT(MUT_PIN_DIRECT)}};

/* ---- by a thread of the program, when all Ps may be idle, or busy */

static void
plain_waker(void *arg)
{
	(void)arg;
	while (!at_load_acq(&s.up))
		sim_futex_wait(&s.up, 0, false);
	weft_wg_done(&s.wg2);
	s.plain--;
}

static int
main_plain_wakes(void *arg)
{
	(void)arg;
	lock_thread();
	weft_wg_add(&s.wg2, 1);
	go(child, &s.wg);
	loud();
	SIM_CHECK(weft_wg_wait(&s.wg2) == 0);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 1);
	return 0;
}

WORLD(plain_wakes, 2) = {WORLD_LIMITS, .setup = reset_pin_plain,
			 .threads = {{run_plain_wakes, NULL, false}, {plain_waker, NULL, false}},
			 .random = 5000, .mutants = {SIM_MUTANT(MUT_PIN_NO_WAKE)}};

/* ---- two pinned ones and one P: it goes from one to the other */

static int
pinned_yields(void *arg)
{
	(void)arg;
	lock_thread();
	weft_yield();
	s.ran++;
	return 0; /* locked: its thread ends */
}

static int
main_two_pinned(void *arg)
{
	(void)arg;
	lock_thread();
	loud();
	go(pinned_yields, &s.wg);
	weft_yield();
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 1);
	return 0;
}

WORLD(two_pinned, 1) = {WORLD_LIMITS, .setup = reset_pin,
			.threads = {{run_two_pinned, NULL, false}}, .random = 5000};

static void
run_two_pinned_two_ps(void *arg)
{
	(void)arg;
	run_world(main_two_pinned, 2);
}

SCENARIO(two_pinned_two_ps) = {WORLD_LIMITS, .setup = reset_pin,
			       .threads = {{run_two_pinned_two_ps, NULL, false}}, .random = 5000};

/* ---- the parent that runs its child while it waits does not go on where that has locked */

static int
locks_and_ends(void *arg)
{
	(void)arg;
	lock_thread();
	s.ran++;
	return 0;
}

static int
main_child_locks(void *arg)
{
	(void)arg;
	loud();
	fork_one(locks_and_ends, &s.wg);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	SIM_CHECK(s.ran == 1);
	return 0;
}

WORLD(child_locks, 2) = {WORLD_LIMITS, .setup = reset_pin,
			 .threads = {{run_child_locks, NULL, false}}, .random = 5000};

/* ---- the monitor takes the P of a pinned goroutine that blocks; it queues for one again */

static int
main_pinned_blocks(void *arg)
{
	(void)arg;
	lock_thread();
	go(unblocker, &s.wg);
	loud();
	if (s.ran == 0)
		sim_block(&s.ran);
	SIM_CHECK(s.ran == 1);
	weft_yield();
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	return 0;
}

WORLD(pinned_blocks, 1) = {WORLD_LIMITS, .setup = reset_pin,
			   .threads = {{run_pinned_blocks, NULL, false}}, .random = 5000};

/* ---- the world stops beside a pinned goroutine */

static int
main_pinned_resize(void *arg)
{
	(void)arg;
	lock_thread();
	loud();
	go(pinned_yields, &s.wg);
	SIM_CHECK(weft_set_procs(1) == 2);
	SIM_CHECK(weft_set_procs(2) == 1);
	SIM_CHECK(weft_wg_wait(&s.wg) == 0);
	return 0;
}

WORLD(pinned_resize, 2) = {WORLD_LIMITS, .setup = reset_pin,
			   .threads = {{run_pinned_resize, NULL, false}}, .random = 5000};

/* ---- the end of the run beside pinned ones that wait */

static int
waits_pinned(void *arg)
{
	(void)arg;
	lock_thread();
	weft_wg_wait(&s.wg2);
	sim_fail("nobody ends this wait");
	return 0;
}

static int
main_ends_beside_pinned(void *arg)
{
	(void)arg;
	weft_wg_add(&s.wg2, 1);
	loud();
	go(waits_pinned, NULL);
	weft_yield();
	return 0;
}

WORLD(ends_beside_pinned, 2) = {WORLD_LIMITS, .setup = reset_pin,
				.threads = {{run_ends_beside_pinned, NULL, false}}, .random = 5000,
				.mutants = {SIM_MUTANT(MUT_PIN_NO_END)}};

/* ---- goroutine 1 on the thread of the caller */

static void
run_main_thread(void *arg)
{
	struct weft_config c = {.procs = 2, .stack_bytes = 65536, .seed = 1, .main_thread = 1};

	(void)arg;
	sim_quiet(true);
	SIM_CHECK(weft_configure(&c) == 0);
	SIM_CHECK(weft_run_site(site_of(main_two_pinned, false), NULL, 0) == 0);
}

SCENARIO(main_thread) = {WORLD_LIMITS, .setup = reset_pin,
			 .threads = {{run_main_thread, NULL, false}}, .random = 5000};
