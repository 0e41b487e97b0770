/* SPDX-License-Identifier: MIT */
/*
 * thread.c: Ms: create, sleep, wake, end; and the M of a plain thread.
 *
 * M-1: an M is on the idle list (a pinned one: asleep), or has or is handed a P, or runs user code
 *      without one. The first holds exactly while m->idle is set, under sched.lock.
 * M-2: struct wf_m is never freed, only reused: the lease words stay valid (LEASE-1).
 * M-3: nm counts the threads of this run, from before they exist until they are past the last
 *      use of anything but their own M.
 */
#include "arch/fpstate.h"
#include "core/gpool.h"
#include "core/stack.h"
#include "base/sanitizer.h"
#include "sched/netpoll.h"
#include "sched/pin.h"
#include "sched/sched.h"

#include <errno.h>
#include <stdio.h>

enum {
	MS_PER_MAP = 32,
};

struct wf_m wf_m_unknown; /* lease NONE; shared by all threads that have not called yet */
#ifndef WF_SIM
__thread struct wf_m *wf_self = &wf_m_unknown;
#endif

/* ---- records */

static struct wf_m *
take_free_record(void)
{
	wf_assert_held(&wf_sched.lock);
	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		if (!m->in_use) {
			m->in_use = true;
			m->uses++;
			/* rlx: under the lock. Born inside; until it is outside its tid may be another's */
			at_store_rlx(&m->in_rt, 1);
			return m;
		}
	return NULL;
}

/*
 * A plain thread may call in its last breath, after the hook that gives its record back: from a
 * destructor of thread-specific data that comes again in every round. Such records are looked for
 * when others are needed. True: one was found, and is free.
 */
static bool
find_lost_record(void)
{
	struct wf_m *m;

	wf_lock(&wf_sched.lock);
	m = wf_sched.all_ms;
	wf_unlock(&wf_sched.lock);
	for (; m; m = m->all_next) {
		struct wf_locals *locals = NULL;
		uint64_t uses;
		bool found;

		wf_lock(&wf_sched.lock);
		uses = m->uses;
		/* acq: outside, so its tid is that of the thread that has it now */
		found = m->in_use && m->plain && at_load_acq(&m->in_rt) == 0;
		wf_unlock(&wf_sched.lock);
		if (!found || !os_thread_gone(m->tid))
			continue;
		wf_lock(&wf_sched.lock);
		found = m->in_use && m->uses == uses; /* M-2: of the thread that is gone */
		if (found) {
			locals = m->locals;
			m->locals = NULL;
			m->in_use = false;
		}
		wf_unlock(&wf_sched.lock);
		if (locals)
			wf_locals_free_hook(locals);
		if (found)
			return true;
	}
	return false;
}

static bool
add_records(void)
{
	size_t page = os_page_bytes();
	size_t bytes = (MS_PER_MAP * sizeof(struct wf_m) + page - 1) / page * page;
	static uint32_t next_id; /* under sched.lock */
	struct wf_m *ms;

	if (os_reserve(bytes, page, (void **)&ms) < 0) /* never given back: M-2, LEASE-1 */
		return false;
	wf_lsan_root(ms, bytes);
	wf_lock(&wf_sched.lock);
	for (int i = 0; i < MS_PER_MAP; i++) {
		ms[i].id = next_id++;
		ms[i].all_next = wf_sched.all_ms;
		wf_sched.all_ms = &ms[i];
	}
	wf_unlock(&wf_sched.lock);
	return true;
}

/* A record for a thread, or NULL. Any thread. */
struct wf_m *
wf_m_alloc(bool plain)
{
	struct wf_m *m;

	do {
		wf_lock(&wf_sched.lock);
		m = take_free_record();
		wf_unlock(&wf_sched.lock);
	} while (!m && (find_lost_record() || add_records()));
	if (!m)
		return NULL;
	m->plain = plain;
	m->run = at_load_rlx(&wf_sched.run); /* rlx: set before anybody runs */
	m->g = NULL;
	m->nextp = NULL;
	m->old_p = NULL;
	m->pending = WF_PEND_NONE;
	m->spinning = false;
	m->grace = WF_GRACE;
	m->awoken = true;
	m->stole_ns = 0;
	m->starts_fast = false;
	m->starts_ns = 0;
	m->spin_rounds = 8;
	m->spin_misses = 0;
	m->futexes = 0;
	m->held_ranks = 0;
	m->blocking = false;
	wf_door_prop(&m->door, wf_sched.fenced);
	m->pinned = m->pin_over = m->foreign = false;
	m->exact = false;
	m->thread_g.flags = WF_G_THREAD;
	m->thread_g.scope = NULL; /* its last thread may have ended inside one */
	at_store_rlx(&m->thread_g.status, WF_RUNNING); /* rlx: not yet reachable */
	m->rand.s = wf_sched.seed + m->id * UINT64_C(0x9e3779b97f4a7c15) + m->run;
	/* Ours have yet to begin. rlx: who takes a plain thread for one at rest is early: it fences before
	   it uses anything (wf_enter_slow) */
	at_store_rlx(&m->at_rest, !plain);
	at_store_rlx(&m->p, NULL);        /* rlx: as above */
	at_store_rel(&m->lease, WF_NONE); /* rel: all of the above */
	wf_note_clear(&m->note);
	return m;
}

/* What it kept for births goes back. */
static void
flush(struct wf_m *m)
{
	wf_gpool_flush(&m->cache);
	wf_stack_flush_credit(&m->cache);
}

void
wf_m_free(struct wf_m *m)
{
	flush(m);
	wf_lock(&wf_sched.lock);
	m->left_tid = m->foreign ? 0 : m->tid;
	m->in_use = false;
	wf_unlock(&wf_sched.lock);
}

static void
set_up_this_thread(struct wf_m *m)
{
	m->errno_address = os_errno_address();
	m->tid = os_tid();
	m->thread_g.id = -m->tid;
	m->on_stack = __builtin_frame_address(0);
	m->tsan_fiber = wf_tsan_current();
	wf_m_set(m);
}

/* A plain thread calls for the first time: it gets a record, and is inside the runtime. */
struct wf_m *
wf_m_attach(void)
{
	struct wf_m *m = wf_m_alloc(true);

	if (!m)
		wf_fatal("out of memory for the record of a thread that calls weft");
	set_up_this_thread(m);
	os_thread_on_exit(m);
	return m;
}

/* ---- the life of an M's thread */

static void
m_life(struct wf_m *m)
{
	bool counted;

	set_up_this_thread(m);
	wf_fpstate_set(&wf_fpstate_default); /* not that of the goroutine that started us */
	os_altstack_install(&m->altstack);
	if (!m->foreign)
		os_thread_begin(true); /* from here on handlers find all they need */
	os_stack_bounds(&m->g0_lo, &m->g0_bytes);
	wf_trace(WF_TR_M, 1, m);
	wf_rest_over(m);
	if (!m->pinned) {
		wf_p_acquire(m, m->nextp);
		m->nextp = NULL;
	}
	wf_m_loop(m);
	wf_trace(WF_TR_M, 0, m);
	os_altstack_remove(m->altstack);
	flush(m);
	/* What libc calls when the thread ends is a plain thread's: the record is another's soon. */
	wf_m_set(&wf_m_unknown);
	wf_lock(&wf_sched.lock);
	counted = at_load_rlx(&m->lease) != WF_OVER; /* rlx: our own; M-3 */
	if (counted) {
		wf_sched.nm--;
		wf_sched.npinned -= m->pinned && !m->foreign;
	}
	m->left_tid = m->foreign ? 0 : m->tid;
	m->in_use = false;
	wf_unlock(&wf_sched.lock);
}

static void *
m_main(void *arg)
{
	struct wf_m *m = arg;
	char name[16];

	snprintf(name, sizeof(name), "weft-m%u", m->id);
	os_thread_name(name);
	m_life(m);
	return NULL;
}

/* The thread that called weft_run is m's for this run, which goroutine 1 is pinned to. It goes back
   as it was. */
void
wf_m_here(struct wf_m *m)
{
	struct wf_m *outside = wf_m();
	struct wf_fpstate fp;
	bool cancellable = os_cancellable(false);

	wf_fpstate_get(&fp);
	m_life(m);
	wf_fpstate_set(&fp);
	os_cancellable(cancellable);
	wf_m_set(outside);
}

static void
idle_unlink(struct wf_m *m)
{
	wf_assert_held(&wf_sched.lock);
	if (m->idle_prev)
		m->idle_prev->idle_next = m->idle_next;
	else
		wf_sched.idle_ms = m->idle_next;
	if (m->idle_next)
		m->idle_next->idle_prev = m->idle_prev;
	m->idle = false;
	wf_sched.nmidle--;
	wf_sched.idle_seq++;
}

static void
idle_link(struct wf_m *m)
{
	wf_assert_held(&wf_sched.lock);
	m->idle_prev = NULL;
	m->idle_next = wf_sched.idle_ms;
	if (m->idle_next)
		m->idle_next->idle_prev = m;
	wf_sched.idle_ms = m;
	m->idle = true; /* M-1 */
	wf_sched.nmidle++;
}

/* Once in a run: no thread can be had, by our own limit or because of the kernel's. */
WF_COLD static void
say_starved(int rc, bool full)
{
	static wf_a64 said;
	uint64_t run = at_load_rlx(&wf_sched.run); /* rlx: const while it runs */

	if (at_xchg_acqrel(&said, run) == run) /* acqrel: only uniqueness matters */
		return;
	if (full)
		wf_say("the limit of %d thread%s is reached: goroutines that block or compute for "
		       "long wait for each other. WEFT_MAX_THREADS raises it",
		       wf_sched.max_threads, wf_sched.max_threads == 1 ? "" : "s");
	else
		wf_say("no more threads can be had (%s): goroutines that block or compute for long "
		       "wait for each other. See RLIMIT_NPROC (ulimit -u), pids.max of the cgroup, "
		       "and memory",
		       rc == -EAGAIN ? "EAGAIN" : "out of memory");
}

/* No thread can be had: the P's work goes where others find it: a thread that comes back for a P, or
   the monitor, which sees work beside an idle P and tries again. */
static int
start_failed(struct wf_p *p, bool spinning, int rc, bool full)
{
	struct wf_glist l = {0};

	say_starved(rc, full);
	at_store_rlx(&wf_sched.starved, 1); /* rlx: a hint for the monitor */
	wf_p_drain(p, &l);
	if (l.size > 0)
		wf_globq_put_head(&wf_globq, &l);
	if (!wf_pin_any(p)) /* that needs no new thread */
		wf_idle_put(p);
	if (spinning)
		wf_spin_cancel();
	return rc;
}

/* 0, or -errno: then the P it was to have is idle. */
int
wf_m_launch(struct wf_m *t)
{
	struct wf_p *p = t->nextp;
	bool spinning = t->spinning;
	int rc = os_thread_start(m_main, t);

	if (rc == 0) {
		at_store_rlx(&wf_sched.starved, 0); /* rlx: a hint for the monitor */
		return 0;
	}
	wf_m_free(t);
	wf_lock(&wf_sched.lock);
	wf_sched.nm--;
	wf_unlock(&wf_sched.lock);
	return start_failed(p, spinning, rc, false);
}

/* P in hand: an idle M, best the one that had this P last, or a new thread runs it. Any thread.
   0, or -errno: then the P is idle and its work in the global queue. */
int
wf_m_start(struct wf_m *m, struct wf_p *p, bool spinning)
{
	struct wf_m *t;

	wf_lock(&wf_sched.lock);
	t = p->last_m;
	if (!t || !t->idle || t->pinned)
		t = wf_sched.idle_ms;
	if (t) {
		idle_unlink(t);
		p->last_m = t;
		t->nextp = p;
		t->spinning = spinning;
		wf_unlock(&wf_sched.lock);
		wf_count(m ? wf_m_p(m) : NULL, n_futexes, 1);
		wf_note_wake(&t->note);
	} else {
		bool full = wf_sched.nm >= (uint32_t)wf_sched.max_threads;

		wf_sched.nm += !full;
		if (full && (t = wf_attend_take())) {
			t->nextp = p;
			t->spinning = spinning;
		}
		wf_unlock(&wf_sched.lock);
		if (t) {
			wf_note_wake(&t->note);
			wf_poll_break();
			return 0;
		}
		if (full)
			return start_failed(p, spinning, -EAGAIN, true);
		t = wf_m_alloc(false);
		if (!t) {
			wf_lock(&wf_sched.lock);
			wf_sched.nm--;
			wf_unlock(&wf_sched.lock);
			return start_failed(p, spinning, -ENOMEM, false);
		}
		p->last_m = t;
		t->nextp = p;
		t->spinning = spinning;
		if (!m || !m->pinned)
			return wf_m_launch(t);
		wf_template_ask(t); /* PIN-4 */
	}
	at_store_rlx(&wf_sched.starved, 0); /* rlx: a hint for the monitor */
	return 0;
}

/* sched.lock held: dropped, after a look whether anybody is left to wake anybody. */
void
wf_m_unlock_and_check(void)
{
	bool suspected = wf_deadlock_suspected();
	uint64_t seq = wf_sched.idle_seq;

	wf_unlock(&wf_sched.lock);
	if (suspected)
		wf_deadlock_report(seq);
}

/* More threads than Ps and a few: those that nobody has used for a while end. */
static bool
are_too_many(void)
{
	wf_assert_held(&wf_sched.lock);
	/* rlx: a limit */
	return wf_sched.nm - wf_sched.npinned > at_load_rlx(&wf_sched.procs) + 2;
}

/* On the list of idle Ms, until handed a P; false: the thread must end. */
static bool
sleep_idle(struct wf_m *m, bool too_many)
{
	if (!wf_note_sleep(&m->note, too_many ? wf_sched.reap_ns : -1, &m->futexes)) {
		bool end;

		wf_lock(&wf_sched.lock);
		end = m->idle && are_too_many();
		if (end)
			idle_unlink(m);
		wf_unlock(&wf_sched.lock);
		if (end)
			return false;
		wf_note_sleep(&m->note, -1, &m->futexes);
	}
	wf_note_clear(&m->note);
	return m->nextp != NULL;
}

/* On g0, without a P. Sleep until handed one; false: the thread must end. */
bool
wf_m_stop(struct wf_m *m)
{
	bool too_many, go_on;

	ASSERT(!m->spinning && wf_m_p(m) == NULL);
	for (;;) {
		wf_lock(&wf_sched.lock);
		if (wf_sched.ending) {
			wf_unlock(&wf_sched.lock);
			return false;
		}
		if (!wf_attend_begin(m))
			break;
		wf_m_unlock_and_check();
		if (wf_attend(m))
			return true;
	}
	idle_link(m);
	too_many = are_too_many();
	wf_m_unlock_and_check();
	wf_attend_recheck();
	wf_rest(m);
	go_on = sleep_idle(m, too_many);
	wf_rest_over(m);
	if (!go_on)
		return false;
	m->awoken = m->spinning;
	wf_p_acquire(m, m->nextp);
	wf_count(m->nextp, n_futexes, m->futexes);
	m->futexes = 0;
	m->nextp = NULL;
	return true;
}

int
wf_threads_ours(void)
{
	int n = 2 + wf_template_runs(); /* the monitor, and the caller of weft_run */

	wf_assert_held(&wf_sched.lock);
	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		n += m->in_use && !m->plain && !m->foreign;
	return n;
}

/* Threads that have given their record back are still there for a moment, and count for the kernel. */
bool
wf_threads_leaving(void)
{
	struct wf_m *m;

	wf_lock(&wf_sched.lock);
	m = wf_sched.all_ms;
	wf_unlock(&wf_sched.lock);
	for (; m; m = m->all_next) {
		int tid;

		wf_lock(&wf_sched.lock);
		tid = m->left_tid; /* the record may serve another by now */
		wf_unlock(&wf_sched.lock);
		if (tid && !os_thread_gone(tid))
			return true;
	}
	return false;
}

/* ---- the end of a run: the world is stopped, nobody has a P */

static bool
end_one_idle(void)
{
	struct wf_m *m;

	wf_lock(&wf_sched.lock);
	m = wf_sched.idle_ms;
	if (m) {
		idle_unlink(m);
		m->nextp = NULL;
	}
	wf_unlock(&wf_sched.lock);
	if (m)
		wf_note_wake(&m->note);
	return m != NULL;
}

/* There are fewer Ps: those that sleep without a limit, and are too many now, end. */
void
wf_ms_shrink(void)
{
	uint32_t keep = at_load_rlx(&wf_sched.procs) + 2, n; /* rlx: the caller has set it */

	wf_lock(&wf_sched.lock);
	n = wf_sched.nm - wf_sched.npinned;
	wf_unlock(&wf_sched.lock);
	for (; n > keep && end_one_idle(); n--)
		;
}

/* Threads in user code are left behind: OVER is what they find when they call next. True if all
   threads of the run are gone or left behind, and nobody is inside. */
static bool
leave_the_rest(void)
{
	uint64_t run = at_load_rlx(&wf_sched.run); /* rlx: as set at the start */
	uint32_t left;
	bool inside = false;

	wf_lock(&wf_lease_lock);
	wf_lock(&wf_sched.lock);
	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next) {
		/* acqrel: the owner finds OVER, or was first and comes to sleep */
		if (!m->in_use || m->plain || m->run != run || !wf_taken_ends(m, WF_OVER))
			continue;
		m->g->flags |= WF_G_OVER; /* the owner waits for the lock that we have */
		wf_sched.nm--;
	}
	fence_seq(); /* OVER before the looks at in_rt; pairs with wf_enter_slow */
	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		/* acq: it has done with everything shared */
		if (m->in_use && (m->plain || m->run == run) && at_load_acq(&m->in_rt) &&
		    !at_load_acq(&m->at_rest))
			inside = true;
	left = wf_sched.nm;
	wf_unlock(&wf_sched.lock);
	wf_unlock(&wf_lease_lock);
	return left == 0 && !inside;
}

void
wf_ms_end(void)
{
	wf_lock(&wf_sched.lock);
	wf_sched.ending = true;
	wf_unlock(&wf_sched.lock);
	wf_lease_barrier(); /* every in_rt stored before is visible below */
	while (!leave_the_rest()) {
		while (end_one_idle() || (!WF_MUTANT(MUT_PIN_NO_END) && wf_pin_end_one()))
			;
		wf_attend_break(INT64_MIN);
		os_sleep_ns(20000);
	}
}
