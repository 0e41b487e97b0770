/* SPDX-License-Identifier: MIT */
/*
 * init.c: configuration, the start and the end of a run, and the wiring between layers: the only
 * file that sees all of them.
 *
 * A run: DOWN -> STARTING -> UP -> ENDING -> DOWN. The caller of weft_run sleeps while it is UP.
 *
 * RUN-1: one run at a time in the process.
 * RUN-2: nothing of an ended run is reachable from the next: queues are emptied, waiters
 *        forgotten, threads gone or marked OVER.
 */
#include "base/sanitizer.h"
#include "core/gpool.h"
#include "core/stack.h"
#include "obs/debug.h"
#include "obs/lint.h"
#include "obs/obs.h"
#include "sched/pin.h"
#include "sched/sched.h"
#include "wait/chan.h"
#include "wait/fd.h"
#include "wait/local.h"
#include "wait/locks.h"
#include "wait/time.h"
#include "wait/waitq.h"
#include "wait/wg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STACK_DEFAULT = 256 << 10,
	THREADS_DEFAULT = 10000, /* Go's limit */
	START_TRIES = 20,        /* for the first threads of a run, while the kernel refuses ... */
	START_TRIES_MAX = 2000,  /* ... and while those of the last run still count ... */
};
static const int64_t START_WAIT_NS = 1000000; /* ... so far apart */

struct wf_sched wf_sched = {.lock = WF_LOCK_INIT(WF_RANK_SCHED)};
wf_trace_fn *wf_trace_hook;

static struct weft_config config; /* as set by weft_configure */
static struct {
	struct wf_note done; /* goroutine 1 is over */
	struct wf_m *here;   /* the caller's thread runs it; NULL: it sleeps */
	int rc;
} main_g;

/* ---- the environment: a malformed value ends the process with a clear message */

static WF_NORETURN void
bad_env(const char *name, const char *value, const char *want)
{
	wf_say_to(2, "weft: %s=%.64s: %s", name, value, want);
	os_exit(WF_FATAL_STATUS);
}

/* A whole number in [lo, hi], or the value it had. */
static int64_t
env_number(const char *name, int64_t lo, int64_t hi, int64_t otherwise, const char *want)
{
	const char *s = os_getenv(name);
	char *end;
	long long n;

	if (!s)
		return otherwise;
	if (*s < '0' || *s > '9')
		bad_env(name, s, want);
	n = strtoll(s, &end, 10);
	if (*end == 'k' || *end == 'K') {
		n = n > (1LL << 50) ? INT64_MAX : n * 1024;
		end++;
	} else if (*end == 'm' || *end == 'M') {
		n = n > (1LL << 40) ? INT64_MAX : n * 1024 * 1024;
		end++;
	}
	if (*end || n < lo || n > hi || n == INT64_MAX) /* that is also: too large for strtoll */
		bad_env(name, s, want);
	return n;
}

/* ---- set-up, once per process */

static uint32_t *
held_ranks(void)
{
	struct wf_m *m = wf_m();

	return m == &wf_m_unknown ? NULL : &m->held_ranks;
}

static void
main_done(int rc)
{
	main_g.rc = rc;
	wf_tsan_release(&main_g);
	at_store_rel(&wf_sched.main_done,
		     1); /* rel: from now on sleepers are no deadlock, DEAD-1 */
	wf_note_wake(&main_g.done);
}

/* In a forked child there is no runtime: this thread's calls say -ENOTSUP. */
static void
in_forked_child(void)
{
	struct wf_m *m = wf_m();

	/* Goroutine-locals and scopes need a record also here. rlx: one thread; the list of records
	   is whole at any moment */
	at_store_rlx(&wf_sched.lock.word, 0);
	if (m != &wf_m_unknown)
		m->tid = os_tid(); /* or its record would be taken for that of a lost thread */
	wf_calm_fork();
	/* rlx: as above. The other locks and queues are as their threads left them: for good */
	if (at_load_rlx(&wf_sched.phase) == WF_DOWN)
		return;
	wf_sched.forked = true;
	at_store_rlx(&wf_sched.phase, WF_ENDING); /* rlx: as above; never UP again */
	wf_preempt_word_add(1);
	if (m != &wf_m_unknown)
		wf_lease_fork(m);
	wf_fatal_dump_hook = NULL;
}

/* A plain thread that has called weft ends. */
static void
plain_thread_ends(void *arg)
{
	struct wf_m *m = arg;

	wf_locals_free(m->locals);
	m->locals = NULL;
	wf_m_set(&wf_m_unknown);
	if (!wf_sched.forked) /* else the pools may be locked, by a thread that is not here */
		wf_m_free(m);
}

/* When the library is loaded: a goroutine-local may be used before the first run. By its priority it
   comes before the constructors of a program that is linked with the static library. */
__attribute__((constructor(101))) static void
set_up(void)
{
	wf_stack_init();
	os_thread_exit_hook(plain_thread_ends);
	os_on_fork_child(in_forked_child);
	wf_held_ranks_hook = held_ranks;
	wf_wg_fell_hook = wf_wg_fell;
	wf_member_call_hook = wf_member_call;
	wf_member_done_hook = wf_member_done;
	wf_scope_exit_hook = wf_scope_exit;
	wf_locals_copy_hook = wf_locals_copy;
	wf_locals_free_hook = wf_locals_free;
	wf_main_done_hook = main_done;
	wf_timer_fire_hook = wf_timer_fire;
	wf_timer_gone_hook = wf_timer_gone;
	wf_signal_hook = wf_signals_deliver;
}

/* ---- the start of a run */

static uint64_t
pick_seed(void)
{
	uint64_t seed =
	    (uint64_t)env_number("WEFT_SEED", 1, INT64_MAX, (int64_t)config.seed,
				 "a seed is a positive whole number, at most 9223372036854775806");

	return seed ? seed : (uint64_t)os_now_ns();
}

static void
configure_run(void)
{
	int64_t stack;

	wf_debug_read();
	stack = env_number("WEFT_STACK", WF_STACK_MIN, INT64_C(1) << 28,
			   config.stack_bytes ? (int64_t)config.stack_bytes : STACK_DEFAULT,
			   "a stack is 16k to 256m; k and m are understood");
	wf_default_class = (uint8_t)wf_stack_class((size_t)stack);
	wf_sched.max_threads =
	    (int)env_number("WEFT_MAX_THREADS", 1, 1000000,
			    config.max_threads ? config.max_threads : THREADS_DEFAULT,
			    "the number of threads is 1 to 1000000");
	wf_sched.seed = pick_seed();
	wf_sched.randomize = wf_debug.shuffle;
	wf_sched.debug = wf_debug.say;
	wf_sched.reap_ns = wf_debug.reap_ms * 1000000;
#ifdef WF_TORTURE
	wf_sched.randomize = true;
#endif
	wf_sched.fenced = wf_debug.fence || os_membarrier_register() < 0;
	wf_sched.held = wf_sched.fenced ? WF_FENCED : WF_HELD;
	wf_calm_init(wf_sched.fenced);
	if (wf_debug.guard >= 0)
		wf_stack_force_guard((enum wf_guard)wf_debug.guard);
	if (wf_debug.say)
		wf_say("entering by %s, stacks of %lld KiB, seed %llu",
		       wf_sched.fenced ? "fence" : "membarrier", (long long)stack / 1024,
		       (unsigned long long)wf_sched.seed);
}

/* What the monitor does for those who watch. */
static int64_t
watch(int64_t delay)
{
	int64_t now = os_now_ns();

	if (wf_debug.schedtrace)
		delay = wf_schedtrace_look(now, delay);
	if (wf_debug.lint)
		delay = wf_lint_look(now, delay);
	return delay;
}

static void
start_watching(void)
{
	wf_watch_hook = wf_debug.schedtrace || wf_debug.lint ? watch : NULL;
	wf_retaken_hook = NULL;
	if (wf_debug.schedtrace)
		wf_schedtrace_start();
	if (wf_debug.lint)
		wf_lint_start();
}

static uint32_t
pick_procs(void)
{
	return wf_autoprocs_start((uint32_t)env_number("WEFT_PROCS", 1, WF_PROCS_MAX, config.procs,
						       "the number of procs is 1 to 1024"));
}

/* With main_thread the caller's thread is an M as well, beside those that max_threads counts. */
static int
take_this_thread(void)
{
	main_g.here = NULL;
	if (!config.main_thread)
		return 0;
	if (wf_template_begin() < 0)
		return -EAGAIN;
	main_g.here = wf_m_alloc(false);
	if (!main_g.here) {
		wf_template_end();
		return -ENOMEM;
	}
	main_g.here->foreign = true;
	wf_sched.max_threads++;
	return 0;
}

static void
give_this_thread_back(void)
{
	if (main_g.here)
		wf_m_free(main_g.here);
	main_g.here = NULL;
	wf_template_end();
}

/* Goroutine 1, the only one there is, will run on the caller's thread. */
static struct wf_g *
pin_goroutine_1(void)
{
	struct wf_g *g = wf_globq_get(&wf_globq);

	wf_pin_to(main_g.here, g);
	wf_lock(&wf_sched.lock);
	wf_sched.nm++;
	wf_unlock(&wf_sched.lock);
	return g;
}

/* No M could be started for goroutine 1. False: the monitor or a plain thread could, and it runs. */
static bool
take_goroutine_1_back(void)
{
	struct wf_g *g = wf_globq_get(&wf_globq); /* it was the first in there */

	if (g && !(g->flags & WF_G_MAIN)) {
		wf_submit(wf_m(), NULL, g, false);
		g = NULL;
	}
	return g != NULL;
}

/* The kernel has refused a thread this often: give up? */
static bool
enough(int tries)
{
	return tries >= START_TRIES_MAX || (tries >= START_TRIES && !wf_threads_leaving());
}

/* Goroutine 1 into the global queue, all Ps but one idle, and the first M with that one. */
static int
launch(struct wf_m *m, struct weft_site *site, const void *arg, size_t bytes)
{
	uint32_t procs = at_load_rlx(&wf_sched.procs); /* rlx: nobody else runs */
	int64_t id = wf_spawn(m, site, NULL, NULL, arg, bytes, WF_G_MAIN);
	struct wf_g *pinned = NULL;
	int rc;

	if (id < 0)
		return (int)id;
	wf_preempt_word_add(-1);
	if (main_g.here)
		pinned = pin_goroutine_1();
	at_store_rel(&wf_sched.phase, WF_UP); /* rel: everything above, before goroutine 1 runs */
	for (uint32_t i = 1; i < procs; i++)  /* from here on the monitor may start an M with one */
		wf_idle_put(wf_sched.allp[i]);
	if (pinned) {
		wf_pin_hand(m, pinned, wf_sched.allp[0]);
		return 0;
	}
	rc = wf_m_start(m, wf_sched.allp[0], false);
	/* The monitor tries too, as often as it looks. */
	for (int tries = 0; rc < 0 && wf_globq_size(&wf_globq) > 0 && !enough(tries); tries++)
		os_sleep_ns(START_WAIT_NS);
	return rc < 0 && take_goroutine_1_back() ? rc : 0;
}

static int
start_monitor(void)
{
	int rc = wf_monitor_start();

	for (int tries = 0; rc == -EAGAIN && !enough(tries); tries++) {
		os_sleep_ns(START_WAIT_NS);
		rc = wf_monitor_start();
	}
	return rc;
}

static int
start_run(struct wf_m *m, struct weft_site *site, const void *arg, size_t bytes)
{
	int rc;

	configure_run();
	wf_note_clear(&main_g.done);
	wf_sched.ending = false;
	wf_pin_reset();
	at_store_rlx(&wf_sched.main_done, 0); /* rlx: nobody else runs */
	at_store_rlx(&wf_sched.starved, 0);   /* rlx: as above */
	at_store_rlx(&wf_sched.id_next, 2);   /* rlx throughout: nobody else runs; 1 is taken */
	at_add_rlx(&wf_sched.run, 1);
	m->run = at_load_rlx(&wf_sched.run);
	rc = wf_p_resize(pick_procs());
	if (rc < 0)
		return rc;
	start_watching();
	os_signals_remember();
	rc = start_monitor();
	if (rc < 0)
		goto out_procs;
	os_segv_install(wf_overflow_report);
	wf_fatal_dump_hook = wf_fatal_dump;
	rc = take_this_thread();
	if (rc == 0)
		rc = launch(m, site, arg, bytes);
	if (rc == 0 || at_load_rlx(&wf_sched.phase) == WF_UP) /* rlx: UP: end_run cleans up */
		return rc;
	give_this_thread_back();
	wf_fatal_dump_hook = NULL;
	wf_monitor_stop();
out_procs:
	wf_p_resize(0);
	return rc;
}

/* ---- the end of a run */

/* Parked and runnable goroutines are dropped; those of abandoned threads still run. */
static void
drop_goroutine(struct wf_g *g, void *arg)
{
	enum wf_gstate s = wf_g_state(g);

	if (s != WF_WAITING && s != WF_RUNNABLE)
		return;
	wf_g_drop(arg, g);
}

static void
empty_queues(void)
{
	struct wf_glist rest = {0};

	for (uint32_t i = 0; i < wf_sched.np_made; i++)
		wf_p_drain(wf_sched.allp[i], &rest);
	wf_globq_get_batch(&wf_globq, 1, UINT32_MAX, &rest);
	wf_globq_get_batch(&wf_idleq, 1, UINT32_MAX, &rest);
	wf_globq_get_batch(&wf_pinq, 1, UINT32_MAX, &rest);
	wf_urgent_flush(&rest);
}

static void
reset_counters(void)
{
	static wf_a64 *const words[] = {&wf_sched.n_spawned, &wf_sched.n_exited,
					&wf_sched.n_readies, &wf_sched.n_wakes,
					&wf_sched.n_futexes};

	for (size_t i = 0; i < countof(words); i++)
		at_store_rlx(words[i], 0); /* rlx: nobody else runs */
	for (uint32_t i = 0; i < wf_sched.np_made; i++) {
		struct wf_p *p = wf_sched.allp[i];
		wf_a64 *const per[] = {
		    &p->n_spawned,   &p->n_exited,  &p->n_switches, &p->n_steals, &p->n_stolen,
		    &p->n_parks,     &p->n_readies, &p->n_wakes,    &p->n_spins,  &p->n_futexes,
		    &p->n_overflows, &p->n_retakes, &p->n_handoffs, &p->n_gathers};

		for (size_t j = 0; j < countof(per); j++)
			at_store_rlx(per[j], 0);
		at_store_rlx(&p->spared, 0); /* rlx: as above */
		p->last_m = NULL;
	}
}

static void
end_run(struct wf_m *m)
{
	wf_world_wait();
	at_store_rel(&wf_sched.phase, WF_ENDING); /* rel: as read by wf_enter_slow */
	wf_preempt_word_add(1);
	fence_seq(); /* phase before the look at in_rt; pairs with enter_plain */
	wf_monitor_stop();
	if (wf_debug.lint)
		wf_lint_stop();
	wf_world_stop(NULL);
	wf_ms_end();
	wf_template_end();
	wf_timers_flush();
	wf_fds_flush(m);
	wf_signals_flush();
	wf_waitq_flush(m);
	wf_calm_flush();
	wf_chans_flush(m);
	wf_limbo_free(wf_limbo_empty());
	empty_queues();
	wf_gpool_each(drop_goroutine, m);
	if (wf_debug.stacks)
		wf_stack_census(2);
	at_store_rlx(&wf_sched.stopping, 0); /* rlx: nobody else runs */
	at_store_rlx(&wf_sched.due, 0);
	wf_idle_reset();
	wf_p_resize(0);
	reset_counters();
	wf_fatal_dump_hook = NULL;
	wf_world_done();
}

WF_EXPORT int
weft_run_site(struct weft_site *site, const void *arg, size_t bytes)
{
	uint32_t down = WF_DOWN;
	uint64_t futexes = 0;
	struct wf_m *m = wf_m();
	int rc;

	if (wf_sched.forked) {
		wf_forked_say();
		return -ENOTSUP;
	}
	/* acqrel: RUN-1; what the last run left behind */
	if ((m != &wf_m_unknown && m->g) || !at_cas_acqrel(&wf_sched.phase, &down, WF_STARTING))
		return -EBUSY;
	if (m == &wf_m_unknown)
		m = wf_m_attach();
	else
		at_store_rlx(&m->in_rt, 1); /* rlx: our own */
	rc = start_run(m, site, arg, bytes);
	if (rc == 0) {
		at_store_rel(&m->in_rt,
			     0); /* rel: we sleep outside, so that a stop need not ask us */
		if (main_g.here)
			wf_m_here(main_g.here);
		wf_note_sleep(&main_g.done, -1, &futexes);
		wf_tsan_acquire(&main_g);
		rc = main_g.rc;
	}
	at_store_rel(&m->in_rt, 0);                /* rel: outside */
	if (at_load_rlx(&wf_sched.phase) == WF_UP) /* rlx: ours to change */
		end_run(m);
	at_store_rel(&wf_sched.phase, WF_DOWN); /* rel: RUN-2 */
	return rc;
}

WF_EXPORT int
weft_configure(const struct weft_config *c)
{
	if (!c || c->procs < 0 || c->procs > WF_PROCS_MAX || c->max_threads < 0 ||
	    (c->main_thread & ~1) != 0 || (c->stack_bytes && wf_stack_class(c->stack_bytes) < 0) ||
	    !wf_all_zero(c->reserved_, countof(c->reserved_)))
		return -EINVAL;
	if (at_load_acq(&wf_sched.phase) != WF_DOWN) /* acq: the last run is over */
		return -EBUSY;
	config = *c;
	return 0;
}

WF_EXPORT const char *
weft_version(void)
{
	return WEFT_VERSION;
}
