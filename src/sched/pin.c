/* SPDX-License-Identifier: MIT */
/*
 * pin.c: goroutines that stay on their thread: weft_lock_thread.
 *
 * A pinned goroutine never enters a ring, runnext or the global queue, where any M would find it.
 * When it becomes runnable its M is handed an idle P at once; if there is none it waits in
 * wf_pinq, and the next M or requester with a P in hand that looks there passes that P on.
 *
 *   when                                     function         what
 *   readied, yielded, back without a P       wf_pin_submit    idle P -> its M, else wf_pinq
 *   an M with a P looks for work             wf_pin_serve     its P -> the M of the first in wf_pinq
 *   a P without an M is passed on            wf_pin_next      the same
 *   a pinned goroutine has left its M        wf_pinned_next   its P goes on; sleep until handed one
 *
 * The P travels in nextp with the note, as to any other M. The M need not sleep yet: a note that
 * was woken before is found woken.
 *
 * In turn: who is readied comes next, as with runnext, since the waker makes its P look (p->fair);
 * but after a chain of these, and for those that yield, only when the fairness tick comes by.
 *
 * Rejected: pinned goroutines in the ordinary queues, as in Go: each direct switch would have to
 * look at what it has picked, and a P would pass through one thread more.
 *
 * PIN-1: a pinned G runs on its own M only, and that M runs no other G.
 * PIN-2: each time a pinned G becomes runnable its M is handed one P: written before the note is
 *        woken, and taken by nobody else.
 * PIN-3: a pinned M without its G holds no P; it counts as idle from then until it is handed one.
 * PIN-4: a pinned M makes no threads: template.c does.
 */
#include "sched/pin.h"
#include "sched/sched.h"

#include <errno.h>

enum {
#ifdef WF_TINY
	ROUND_PAUSES = 1,
	ROUNDS_MAX = 1,
#else
	ROUND_PAUSES = 32, /* one to two microseconds */
	ROUNDS_MAX = 16,   /* as long as a sleep and a wake-up */
#endif
};

static wf_a32 looking; /* pinned Ms that look at their note before they sleep */
static int cpus;       /* const while a run is up */

/* ---- handing over */

/* P in hand: the M of g, which is RUNNABLE and in hand too, goes on with both. PIN-2 */
void
wf_pin_hand(struct wf_m *m, struct wf_g *g, struct wf_p *p)
{
	struct wf_m *t = g->home;

	ASSERT(t->pinned && t->pinned_g == g); /* PIN-1 */
	wf_lock(&wf_sched.lock);
	if (!WF_MUTANT(MUT_PIN_P_LATE))
		t->nextp = p;
	if (t->idle && !WF_MUTANT(MUT_PIN_STILL_IDLE)) { /* PIN-3 */
		t->idle = false;
		wf_sched.nmidle--;
		wf_sched.idle_seq++;
	}
	wf_unlock(&wf_sched.lock);
	if (wf_note_set(&t->note)) {
		wf_count(m ? wf_m_p(m) : NULL, n_futexes, 1);
		wf_note_kick(&t->note);
	}
	if (WF_MUTANT(MUT_PIN_P_LATE))
		t->nextp = p;
}

/* A pinned G, RUNNABLE and in hand. next: it was readied, by the holder of p or without one. */
void
wf_pin_submit(struct wf_m *m, struct wf_p *p, struct wf_g *g, bool next)
{
	struct wf_p *idle = wf_idle_take();

	if (idle && !wf_stop_take(idle)) {
		wf_pin_hand(m, g, idle);
		return;
	}
	wf_globq_put(&wf_pinq, g);
	if (p && next) {
		if (p->chain < WF_CHAIN_MAX) {
			p->chain++;
			p->fair = 0;
			p->pin_turn = true;
		} else {
			p->chain = 0;
		}
	}
	if (!WF_MUTANT(MUT_PIN_NO_WAKE))
		wf_submitted(m);
}

/* Holder of p: is it the turn of the first in wf_pinq? */
static struct wf_g *
pick(struct wf_p *p)
{
	bool turn = p->fair == 0 && p->pin_turn;

	if (!turn && (!wf_p_empty(p) || wf_globq_size(&wf_globq) > 0))
		return NULL;
	p->pin_turn = false; /* until the tick has served the global queue */
	return wf_globq_get(&wf_pinq);
}

/* On g0 with a P that pinned goroutines wait for. True: it is theirs now. */
bool
wf_pin_serve(struct wf_m *m)
{
	struct wf_p *p = wf_m_p(m);
	struct wf_g *g = pick(p);

	if (!g)
		return false;
	if (m->spinning)
		wf_spin_found(m);
	wf_p_release(m);
	wf_pin_hand(m, g, p);
	return true;
}

/* P in hand, its holder gone. True: a pinned goroutine has it now. */
bool
wf_pin_next(struct wf_m *m, struct wf_p *p)
{
	struct wf_g *g;

	if (at_load_acq(&p->safepoint)) /* acq: as in wf_handoff; for an M that runs it */
		return false;
	g = pick(p);
	if (g)
		wf_pin_hand(m, g, p);
	return g != NULL;
}

/* P in hand, and no thread to be had: a pinned goroutine has one. True: it has the P as well now. */
bool
wf_pin_any(struct wf_p *p)
{
	struct wf_g *g = wf_globq_get(&wf_pinq);

	if (g)
		wf_pin_hand(NULL, g, p);
	return g != NULL;
}

/* ---- the pinned M */

/*
 * A goroutine that waits for a short answer goes on sooner if its thread looks for it a few
 * microseconds long instead of sleeping. Only while a CPU is to spare, and for as long as that
 * was a success lately.
 */
static void
look_for_p(struct wf_m *m)
{
	/* rlx: a limit on wasted work */
	uint32_t busy =
	    at_load_rlx(&wf_sched.procs) - at_load_rlx(&wf_sched.npidle) + at_add_rlx(&looking, 1);

	for (uint32_t round = 0; busy < (uint32_t)cpus && round < m->spin_rounds; round++) {
		for (uint32_t i = 0; i < ROUND_PAUSES && !wf_note_woken(&m->note); i++)
			cpu_relax();
		if (wf_note_woken(&m->note)) {
			m->spin_rounds = ROUNDS_MAX;
			goto out;
		}
	}
	if (m->spin_rounds > 1)
		m->spin_rounds--;
out:
	at_add_rlx(&looking, (uint32_t)-1); /* rlx: as above */
}

/* Without a P. Sleep until handed one; false: the run ends. */
static bool
sleep_pinned(struct wf_m *m)
{
	look_for_p(m);
	wf_lock(&wf_sched.lock);
	if (wf_sched.ending) {
		wf_unlock(&wf_sched.lock);
		return false;
	}
	if (!m->nextp) {
		m->idle = true; /* PIN-3, M-1 */
		wf_sched.nmidle++;
		wf_m_unlock_and_check();
	} else {
		wf_unlock(&wf_sched.lock);
	}
	wf_rest(m);
	wf_note_sleep(&m->note, -1, &m->futexes);
	wf_note_clear(&m->note);
	wf_rest_over(m);
	return m->nextp != NULL;
}

/* On g0 of a pinned M, its goroutine has left. Returns it when it is to go on, with a P; NULL: the
   thread must end. */
struct wf_g *
wf_pinned_next(struct wf_m *m)
{
	if (wf_m_p(m) && !WF_MUTANT(MUT_PIN_KEEPS_P))
		wf_handoff(m, wf_p_release(m)); /* PIN-3 */
	if (m->pin_over || !sleep_pinned(m))
		return NULL;
	wf_p_acquire(m, m->nextp);
	wf_count(m->nextp, n_futexes, m->futexes);
	m->futexes = 0;
	m->nextp = NULL;
	return m->pinned_g;
}

/* The end of a run: one that sleeps is woken, to end. */
bool
wf_pin_end_one(void)
{
	struct wf_m *m;

	wf_lock(&wf_sched.lock);
	for (m = wf_sched.all_ms; m && !(m->in_use && m->idle && m->pinned); m = m->all_next)
		;
	if (m) {
		m->idle = false;
		wf_sched.nmidle--;
		wf_sched.idle_seq++;
	}
	wf_unlock(&wf_sched.lock);
	if (m)
		wf_note_wake(&m->note);
	return m != NULL;
}

/* ---- pin and unpin */

/* Between runs. */
void
wf_pin_reset(void)
{
	cpus = os_cpu_count();
	at_store_rlx(&looking, 0); /* rlx: nobody else runs */
	wf_sched.npinned = 0;
}

/* g, which nobody else can reach, will run on m alone. */
void
wf_pin_to(struct wf_m *m, struct wf_g *g)
{
	g->home = m;
	g->flags |= WF_G_PINNED;
	m->pinned_g = g;
	m->pins = 1;
	m->pinned = true;
}

/* The M g is on: g has ended, and with it the thread, which others may not find as g left it. */
void
wf_pin_died(struct wf_m *m, const struct wf_g *g)
{
	if (m->pinned && m->pinned_g == g)
		m->pin_over = true;
}

static int
pin(struct wf_m **mp)
{
	int rc;
	bool full;

	while ((rc = wf_template_begin()) > 0)
		*mp = wf_yield(*mp, WF_PEND_YIELD);
	if (rc < 0)
		return rc;
	wf_lock(&wf_sched.lock);
	full = wf_sched.npinned + 1 >= (uint32_t)wf_sched.max_threads; /* one is for all others */
	wf_sched.npinned += !full;
	wf_unlock(&wf_sched.lock);
	if (full)
		return -EAGAIN;
	wf_pin_to(*mp, (*mp)->g);
	return 0;
}

static void
unpin(struct wf_m *m)
{
	m->pinned = false;
	m->pinned_g = NULL;
	m->g->flags &= (uint8_t)~WF_G_PINNED;
	wf_lock(&wf_sched.lock);
	wf_sched.npinned--;
	wf_unlock(&wf_sched.lock);
}

WF_EXPORT int
weft_lock_thread(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc = 0;

	if (!m)
		return -ENOTSUP;
	if (m->pinned && m->pins == UINT32_MAX)
		rc = -EAGAIN;
	else if (m->pinned)
		m->pins++;
	else if (!m->plain) /* a plain thread is its own */
		rc = pin(&m);
	wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_unlock_thread(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc = 0;

	if (!m)
		return -ENOTSUP;
	if (m->plain)
		rc = 0;
	else if (!m->pinned ||
		 (m->foreign && m->pins == 1)) /* main_thread pins for the whole run */
		rc = -EPERM;
	else if (--m->pins == 0)
		unpin(m);
	wf_leave(m);
	return rc;
}
