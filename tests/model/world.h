/* SPDX-License-Identifier: MIT */
/*
 * world.h: the rig for whole runs of tiny programs on the whole library (all files but base/os.c).
 *
 * No CHECK may fail, and nobody sleep for ever. While the monitor looks every M sleeps only if
 * nothing is queued: what it could repair is a violation here. The library's variables are put
 * back before each execution, so that all begin alike.
 */
#ifndef WF_TESTS_WORLD_H
#define WF_TESTS_WORLD_H

#include "explore.h"
#include "mark.h"
#include "os_sim.h"

#include "core/self.h"
#include "sched/pin.h"
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
	if (wf_globq.size.v > 0 || wf_urgentq.list.size > 0 || wf_idleq.list.size > 0)
		sim_fail("every M sleeps, and the global queues have %u, %u urgent, %u idle",
			 wf_globq.size.v, wf_urgentq.list.size, wf_idleq.list.size);
	if (wf_pinq.list.size > 0)
		sim_fail("every M sleeps, and the queue of pinned ones has %u", wf_pinq.list.size);
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

	*site = (struct weft_site){.fn = fn, .name = "a goroutine"};
	wf_joins_of(site)->v = joined;
	return site;
}

static void
go(int (*fn)(void *), struct weft_wg *wg)
{
	SIM_CHECK(weft_spawn(site_of(fn, false), NULL, wg, NULL, 0) > 0);
}

/* As go, for a goroutine that is known to be waited for. */
__attribute__((unused)) static void
fork_one(int (*fn)(void *), struct weft_wg *wg)
{
	SIM_CHECK(weft_spawn(site_of(fn, true), NULL, wg, NULL, 0) > 0);
}

int __wrap_os_thread_count(void);

/* The monitor, the caller of weft_run, the maker of threads, the Ms, and those of the program. */
int
__wrap_os_thread_count(void)
{
	int n = 2 + wf_template_runs() + s.plain;

	for (const struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		n += m->in_use && !m->plain && !m->foreign;
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
	sim_name(&wf_pinq.size, "pinq.size");
	sim_name(&wf_lease_lock.word, "lease_lock");
	sim_name(&weft_preempt_word, "preempt_word");
}

__attribute__((unused)) static void
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

/* Lets one go that has blocked its thread on s.ran. */
__attribute__((unused)) static int
unblocker(void *arg)
{
	(void)arg;
	s.ran++;
	sim_wake(&s.ran, 1);
	return 0;
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

#endif
