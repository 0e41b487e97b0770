/* SPDX-License-Identifier: MIT */
/*
 * timers.c: who runs timers that are due, and who sleeps until the next one is.
 *
 * A P's timers are run by its holder, each time it looks for work. A thief that finds nothing else
 * runs those of all others. While the holder computes, and nobody looks for work, the monitor runs
 * what is overdue. Heaps of Ps that have left service stay where they are and are served like the
 * one for threads without a P.
 *
 * When there is nothing to do one M attends: it sleeps without a P until the earliest time of all
 * heaps. The others sleep without a limit. It is not on the list of idle Ms, so that work does not
 * take it away from there; if there is no P for it when the time has come, it runs the timers
 * without one, and what they make runnable goes to the global queue. If several are due within
 * SLACK_NS of its last wake-up it wakes once for all of them: a wake-up costs more than the switches
 * to a hundred goroutines.
 *
 *     arm a timer                          attend
 *     publish the heap's earliest time     publish until when it sleeps
 *     fence                                fence
 *     it sleeps longer? break its sleep    look at every heap again
 *
 * Who arms the timer of a wait and holds a P need not do so: its M comes to look for work, and
 * before it sleeps it looks whether the one that attends has it right. If nobody attends it does so
 * itself. Only the sleep of a goroutine does it at once, to be in time when its M goes on to
 * compute for another.
 *
 * ATT-1: at most one M attends; it is sched.attending, changed under sched.lock.
 * ATT-2: while a timer is armed and all Ps are idle, the one that attends sleeps no longer than
 *        until then (and SLACK_NS, if several are due), or is about to look again; or an M is on its
 *        way to look.
 * ATT-3: attend_until goes from a time to AWAKE by CAS or exchange: if another than the sleeper
 *        did that, it alone wakes the sleeper, who waits for it (NOTE-1).
 */
#include "sched/timers.h"
#include "base/sanitizer.h"
#include "sched/netpoll.h"
#include "sched/sched.h"

/* attend_until: one of these, or a time */
enum { NOBODY = WF_ATTEND_NOBODY, AWAKE = 1 };

static const int64_t OVERDUE_NS = 300000; /* the holder of the P, or who attends, had its chance */
static const int64_t SLACK_NS = 250000;   /* a wake-up costs as much as ten sleepers */

static struct wf_heap orphans = {
    .lock = WF_LOCK_INIT(WF_RANK_TIMER), .ownerless = true, .door.state.v = WF_DOOR_OPEN};

void (*wf_timer_fire_hook)(struct wf_m *m, struct wf_timer_object *o, int64_t when,
			   uint64_t number);
void (*wf_timer_gone_hook)(struct wf_timer_object *o);

/* ---- the heaps */

/* All of them in turn, *i from 0 on; NULL: no more. Ps are never freed. */
static struct wf_heap *
next_heap(uint32_t *i)
{
	uint32_t n = (*i)++;

	if (n == 0)
		return &orphans;
	return n <= wf_sched.np_made ? &wf_sched.allp[n - 1]->timers : NULL;
}

struct wf_heap *
wf_timers_mine(const struct wf_m *m)
{
	struct wf_p *p = wf_m_p(m);

	return p ? &p->timers : &orphans;
}

int64_t
wf_timers_nearest(void)
{
	int64_t nearest = WF_NEVER;
	struct wf_heap *h;

	for (uint32_t i = 0; (h = next_heap(&i));)
		if (wf_heap_next(h) < nearest)
			nearest = wf_heap_next(h);
	return nearest;
}

bool
wf_timers_live(void)
{
	struct wf_heap *h;

	for (uint32_t i = 0; (h = next_heap(&i));)
		if (wf_heap_live(h))
			return true;
	return false;
}

/* ---- run */

static void
give_up_all(struct wf_timer *gone)
{
	while (gone) {
		struct wf_timer *next = gone->next;

		wf_timer_gone_hook(container_of(gone, struct wf_timer_object, t));
		gone = next;
	}
}

void
wf_timers_flush(void)
{
	struct wf_heap *h;

	for (uint32_t i = 0; (h = next_heap(&i));)
		give_up_all(wf_heap_flush(h));
	at_store_rlx(&wf_sched.attend_until, NOBODY); /* rlx: nobody runs */
}

/* To the end of the queue of p, the caller's, or NULL: of the global one; so that those who are due first
   run first. */
void
wf_ready_all(struct wf_m *m, struct wf_p *p, struct wf_glist *l)
{
	struct wf_glist normal = {0};
	struct wf_g *g;

	while ((g = wf_glist_pop(l))) {
		if (g->flags & WF_G_THREAD) {
			wf_ready(m, g);
			continue;
		}
		wf_tsan_release(g);
		__builtin_prefetch(g->sp); /* it has slept long, and others run before it */
		wf_g_readied(g);           /* CLAIM-2 */
		wf_count(wf_m_p(m), n_readies, 1);
		if (unlikely(g->flags & (WF_G_CLASSES | WF_G_PINNED)))
			wf_submit(m, wf_m_p(m), g, false);
		else
			wf_glist_push(&normal, g);
	}
	wf_submit_all(m, p, &normal);
}

static void
make_room(struct wf_heap *mine)
{
	if (unlikely(at_load_rlx(&mine->crowd) > 0)) /* rlx: a hint */
		wf_heap_grow(mine, mine);
}

/* More of them would push what is queued here to the global queue, behind all others; they are not
   lost where they are. */
static bool
is_full(const struct wf_p *p)
{
	return p && wf_runq_len(&p->runq) + WF_DUE_MAX > WF_RUNQ_SIZE;
}

static void
run(struct wf_m *m, struct wf_heap *h, int64_t now)
{
	struct wf_due due;

	do {
		wf_heap_run(wf_timers_mine(m), h, now, &due);
		wf_ready_all(m, wf_m_p(m), &due.ready);
		for (uint32_t i = 0; i < due.n; i++)
			wf_timer_fire_hook(m, due.object[i].o, due.object[i].when,
					   due.object[i].number);
		give_up_all(due.gone);
	} while (due.more && !is_full(wf_m_p(m)));
}

void
wf_timers_run_own(struct wf_m *m, struct wf_p *p)
{
	int64_t now = os_now_ns();

	make_room(&p->timers);
	if (wf_heap_next(&p->timers) <= now)
		run(m, &p->timers, now);
}

/* Those that are due by then. A thread without a P counts itself: what it has taken from a heap and
   not yet submitted is neither a timer nor queued. */
static bool
run_until(struct wf_m *m, int64_t then, int64_t now)
{
	bool any = false;
	struct wf_heap *h;

	for (uint32_t i = 0; (h = next_heap(&i));) {
		if (wf_heap_next(h) > then)
			continue;
		if (!any)
			at_add_acqrel(&wf_sched.firing, 1); /* acqrel: before it takes any */
		any = true;
		run(m, h, now);
	}
	if (any)
		at_add_acqrel(&wf_sched.firing, (uint32_t)-1); /* acqrel: all are submitted */
	return any;
}

bool
wf_timers_run_due(struct wf_m *m)
{
	int64_t now;

	if (wf_timers_nearest() == WF_NEVER)
		return false;
	now = os_now_ns();
	return run_until(m, now, now);
}

void
wf_timers_run_overdue(struct wf_m *m, int64_t now)
{
	run_until(m, now - OVERDUE_NS, now);
}

/* ---- attend */

/* True: somebody slept longer than until `when`, and is woken. */
static bool
take_until(int64_t when)
{
	uint64_t until = at_load_rlx(&wf_sched.attend_until); /* rlx: the caller fences */

	while (until > AWAKE && (int64_t)until > when)
		if (at_cas_acqrel(&wf_sched.attend_until, &until, AWAKE)) /* acqrel: ATT-3 */
			return true;
	return false;
}

/* No lock held. */
void
wf_attend_break(int64_t when)
{
	struct wf_m *m;

	if (WF_MUTANT(MUT_ATTEND_NO_BREAK) || !take_until(when))
		return;
	/* ATT-1: it stays what it is until it has heard of us */
	wf_lock(&wf_sched.lock);
	m = wf_sched.attending;
	wf_unlock(&wf_sched.lock);
	wf_note_wake(&m->note);
	wf_poll_break();
}

int64_t
wf_timers_unattended(void)
{
	/* rlx: the caller fences, or looks again soon */
	return at_load_rlx(&wf_sched.attend_until) == NOBODY ? wf_timers_nearest() : WF_NEVER;
}

bool
wf_attend_begin(struct wf_m *m)
{
	wf_assert_held(&wf_sched.lock);
	if (wf_sched.attending || (wf_timers_nearest() == WF_NEVER && !wf_poll_waited_for()))
		return false;
	wf_sched.attending = m; /* ATT-1 */
	wf_sched.nmidle++;
	at_store_rlx(&wf_sched.attend_until, AWAKE); /* rlx: whoever sees NOBODY does too much */
	return true;
}

/* sched.lock held. The look at the heaps that follows is ordered behind it: ATT-2 */
static void
end_attending(void)
{
	wf_assert_held(&wf_sched.lock);
	wf_sched.attending = NULL;
	wf_sched.nmidle--;
	wf_sched.idle_seq++;
	at_store_rlx(&wf_sched.attend_until, NOBODY); /* rlx: fenced */
	fence_seq();                                  /* pairs with wf_timers_armed */
}

/* sched.lock held: there is no other idle M. It is in the caller's hand, to be given a P. */
struct wf_m *
wf_attend_take(void)
{
	struct wf_m *m = wf_sched.attending;

	wf_assert_held(&wf_sched.lock);
	if (!m || !take_until(INT64_MIN))
		return NULL;
	end_attending();
	return m;
}

/* Several of one heap are due by then. */
static bool
are_many(int64_t then)
{
	struct wf_heap *h;

	for (uint32_t i = 0; (h = next_heap(&i));)
		if (wf_heap_many_by(h, then))
			return true;
	return false;
}

/* Nothing will be due before `nearest`: for who arms a timer, it sleeps until then. */
static void
sleep_until(struct wf_m *m, int64_t nearest, int64_t until, struct wf_events *events)
{
	bool woken = false;

	at_store_rlx(&wf_sched.attend_until, (uint64_t)nearest); /* rlx: fenced */
	if (!WF_MUTANT(MUT_ATTEND_NO_FENCE))
		fence_seq(); /* pairs with who arms a timer: ATT-2 */
	if (WF_MUTANT(MUT_ATTEND_NO_RECHECK) || wf_timers_nearest() >= nearest) {
		wf_rest(m);
		if (wf_poll_is_open())
			wf_poll_collect(events, until);
		else
			woken = wf_note_sleep_until(&m->note, until, &m->futexes);
		wf_rest_over(m);
	}
	if (!woken) {
		/* acqrel: ATT-3 */
		if (at_xchg_acqrel(&wf_sched.attend_until, AWAKE) != AWAKE)
			return;
		wf_note_sleep(&m->note, -1, &m->futexes);
	}
	wf_note_clear(&m->note);
}

/* It attends no more. What it has collected is taken in, and what is due is run: with a P, if there
   is one for it. True: it has one. */
static bool
back_to_work(struct wf_m *m, struct wf_p *p, const struct wf_events *events)
{
	wf_netpoll_begin();
	if (!p && (events->n > 0 || wf_timers_nearest() <= os_now_ns()))
		p = m->old_p && wf_idle_take_this(m->old_p) ? m->old_p : wf_idle_take();
	if (!m->nextp) { /* else wf_attend_take has ended it */
		wf_lock(&wf_sched.lock);
		end_attending();
		wf_unlock(&wf_sched.lock);
	}
	m->nextp = NULL;
	if (p)
		wf_p_acquire(m, p);
	wf_netpoll_end(m, events);
	wf_timers_run_due(m);
	return p != NULL;
}

/* On g0, without a P, sched.attending. False: there is none for it, and it attends no more. */
bool
wf_attend(struct wf_m *m)
{
	int64_t nearest = wf_timers_nearest(), until = nearest;
	int64_t later = (int64_t)at_load_rlx(&wf_sched.attended) + SLACK_NS; /* rlx: a hint */
	struct wf_events events;

	events.n = 0;
	if (!m->exact)
		os_timer_slack();
	m->exact = true;
	if ((nearest != WF_NEVER || wf_poll_waited_for()) && nearest > os_now_ns()) {
		if (nearest < later && are_many(later))
			until = later;
		sleep_until(m, nearest, until, &events);
		at_store_rlx(&wf_sched.attended, (uint64_t)os_now_ns()); /* rlx: a hint */
	}
	return back_to_work(m, m->nextp, &events);
}

/* No lock held, on the way to a sleep without a limit, the P given back: ATT-2 */
void
wf_attend_recheck(void)
{
	int64_t nearest = wf_timers_nearest();

	if (nearest != WF_NEVER)
		wf_attend_break(nearest);
}

/* ---- arm */

void
wf_timers_wake_by(struct wf_m *m, struct wf_g *g, int64_t when)
{
	wf_timer_by(wf_timers_mine(m), &g->timer, when);
}

void
wf_timers_sleep_by(struct wf_m *m, struct wf_g *g, int64_t when)
{
	struct wf_heap *h = wf_timers_mine(m);
	bool earlier = wf_timer_by(h, &g->timer, when); /* from here on g may be gone */

	if (!wf_m_p(m)) {
		wf_timers_armed(m, earlier ? when : WF_NEVER);
		return;
	}
	make_room(h);
	if (!earlier)
		return;
	fence_seq(); /* the heap's earliest before the look; pairs with sleep_until */
	wf_attend_break(when);
}

void
wf_timers_armed(struct wf_m *m, int64_t when)
{
	make_room(wf_timers_mine(m));
	if (when == WF_NEVER)
		return;
	fence_seq(); /* as above, and with the idle bit of who drops a P: ATT-2 */
	if (at_load_rlx(&wf_sched.attend_until) != NOBODY) /* rlx: fenced */
		wf_attend_break(when);
	else if (wf_idle_any())
		wf_wake_one(m);
}
