/* SPDX-License-Identifier: MIT */
/*
 * time.c: timers of the program: one that starts a goroutine, one that sends once, one that ticks.
 *
 * A timer fires when it is taken from its heap; what it then does, it does without the heap's lock.
 * For a function that is a new goroutine: once fired, it runs. What is sent can be taken back until
 * somebody has received it, so stop and reset look at the channel too: a value that waits there
 * goes, and one that is still on its way is void. The channel's lock decides which it is; the
 * heap's is taken inside it.
 *
 * TIME-1: when a stop or reset returns 1, nothing that the timer was armed for before is delivered
 *         after it; 0: it was delivered before, or the timer was not armed.
 * TIME-2: fires are delivered in their order, each at most once; those up to void_to are not.
 * TIME-3: the memory of a timer goes when no heap has it, and nobody is inside who could (LIMBO-1).
 */
#include "wait/chan.h"
#include "base/sanitizer.h"
#include "sched/spawn.h"
#include "sched/timers.h"
#include "wait/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t RETRY_NS = 1000000; /* no memory for a goroutine: soon there may be */

struct weft_timer {
	struct wf_limbo limbo; /* TIME-3 */
	struct wf_timer_object o;
	/* const */
	struct wf_chan *ch; /* or NULL: it starts a goroutine */
	bool ticks;
	struct weft_site *site;
	size_t bytes;
	/* under the channel's lock, under which it is also armed and stopped */
	uint64_t void_to; /* fires up to this one are not delivered, or have been */
	char arg[WEFT_ARG_MAX] WF_ALIGNED(16);
};

/* ---- fire */

static void
deliver(struct wf_m *m, struct weft_timer *t, int64_t when, uint64_t number)
{
	struct wf_waiter *peer = NULL;
	uint64_t s = wf_chan_lock(wf_m_p(m), t->ch);

	if (number > t->void_to || WF_MUTANT(MUT_TIME_NO_VOID)) { /* TIME-2 */
		if (!WF_MUTANT(MUT_TIME_UNORDERED))
			t->void_to = number; /* a late one does not come after it */
		/* Full: the last one has not been received yet, and stands for this one too. */
		if (!(s & WF_CH_CLOSED))
			wf_chan_do_send(t->ch, &s, &when, &peer);
	}
	wf_chan_unlock(wf_m_p(m), t->ch, s);
	if (peer)
		wf_ready(m, peer->g);
}

void
wf_timer_fire(struct wf_m *m, struct wf_timer_object *o, int64_t when, uint64_t number)
{
	struct weft_timer *t = container_of(o, struct weft_timer, o);

	wf_tsan_acquire(t); /* what was done before it was armed */
	if (t->ch)
		deliver(m, t, when, number);
	else if (wf_spawn(m, t->site, NULL, NULL, t->arg, t->bytes, 0) < 0)
		wf_timer_again(o, wf_time_after(os_now_ns(), RETRY_NS));
}

void
wf_timer_gone(struct wf_timer_object *o)
{
	wf_limbo_add(container_of(o, struct weft_timer, o), sizeof(struct weft_timer));
}

/* ---- make */

static struct weft_timer *
make(struct wf_chan *ch, bool ticks)
{
	struct weft_timer *t = aligned_alloc(WF_CACHE_LINE, (sizeof(*t) + WF_CACHE_LINE - 1) /
								WF_CACHE_LINE * WF_CACHE_LINE);

	if (!t)
		return NULL;
	*t = (struct weft_timer){.ch = ch, .ticks = ticks};
	t->o.t.object = true;
	if (ch) {
		ch->timer = t;
		ch->patience = UINT32_MAX; /* never biased: timers fire on any P */
	}
	return t;
}

/* In the runtime, its channel locked: it is armed. True: it was. Then, with nothing locked,
   wf_timers_armed with *when. */
WF_INLINE bool
arm(struct wf_m *m, struct weft_timer *t, int64_t ns, int64_t *when)
{
	bool earlier, was;

	wf_tsan_release(t);
	*when = wf_time_after(os_now_ns(), ns);
	was = wf_timer_set(wf_timers_mine(m), &t->o, *when, t->ticks ? ns : 0, &earlier);
	if (!earlier)
		*when = WF_NEVER;
	return was;
}

static struct weft_timer *
start(struct weft_timer *t, int64_t ns)
{
	struct wf_m *m;
	int64_t when;

	if (!t)
		return NULL;
	m = wf_enter(WF_CALL_N);
	if (!m) {
		free(t->ch);
		free(t);
		return NULL;
	}
	arm(m, t, ns, &when);
	wf_timers_armed(m, when);
	wf_leave(m);
	return t;
}

static struct weft_timer *
start_with_chan(int64_t ns, bool ticks, const char *what)
{
	struct wf_chan *ch;
	struct weft_timer *t;

	if (at_load_acq(&wf_sched.phase) != WF_UP) /* acq: looked at again by start */
		return NULL;
	ch = wf_chan_new(sizeof(int64_t), 1, what);
	if (!ch)
		return NULL;
	t = make(ch, ticks);
	if (!t)
		free(ch);
	return start(t, ns);
}

#undef weft_after
WF_EXPORT void *
weft_after(int64_t ns)
{
	struct weft_timer *t = start_with_chan(ns, false, "weft_after");

	return t ? t->ch : NULL;
}

WF_EXPORT struct weft_timer *
weft_ticker(int64_t ns)
{
	return ns > 0 ? start_with_chan(ns, true, "weft_ticker") : NULL;
}

WF_EXPORT struct weft_timer *
weft_timer_start(struct weft_site *site, int64_t ns, const void *arg, size_t bytes)
{
	struct weft_timer *t;

	if (bytes > WEFT_ARG_MAX || !site || !site->fn)
		return NULL;
	t = make(NULL, false);
	if (!t)
		return NULL;
	t->site = site;
	t->bytes = bytes;
	memcpy(t->arg, arg, bytes);
	return start(t, ns);
}

#undef weft_timer_chan
WF_EXPORT void *
weft_timer_chan(struct weft_timer *t)
{
	return t ? t->ch : NULL;
}

/* ---- stop and reset */

/* Its channel, if it has one, is locked with state *s: what it has fired and nobody has received yet
   is void. True: something was pending that now is not. TIME-1 */
WF_INLINE bool
stop(struct wf_m *m, struct weft_timer *t, uint64_t *s)
{
	uint64_t fires;
	bool was = wf_timer_cancel(wf_timers_mine(m), &t->o, &fires);

	if (!t->ch)
		return was;
	was |= fires > t->void_to; /* one is on its way */
	t->void_to = fires;
	if (!WF_MUTANT(MUT_TIME_NO_TAKE_BACK))
		was |= wf_chan_take_back(t->ch, s);
	return was;
}

WF_INLINE uint64_t
lock_chan(struct wf_m *m, struct weft_timer *t)
{
	return t->ch ? wf_chan_lock(wf_m_p(m), t->ch) : 0;
}

WF_INLINE void
unlock_chan(struct wf_m *m, struct weft_timer *t, uint64_t s)
{
	if (t->ch)
		wf_chan_unlock(wf_m_p(m), t->ch, s);
}

WF_EXPORT int
weft_timer_stop(struct weft_timer *t)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	uint64_t s;
	int was;

	if (!m)
		return -ENOTSUP;
	s = lock_chan(m, t);
	was = stop(m, t, &s);
	unlock_chan(m, t, s);
	wf_leave(m);
	return was;
}

WF_EXPORT int
weft_timer_reset(struct weft_timer *t, int64_t ns)
{
	struct wf_m *m;
	int64_t when;
	int was = 0;
	uint64_t s;

	if (t->ticks && ns <= 0)
		return -EINVAL;
	m = wf_enter(WF_CALL_N);
	if (!m)
		return -ENOTSUP;
	s = lock_chan(m, t);
	if (t->ch)
		was = stop(m, t, &s);
	was |= arm(m, t, ns, &when);
	unlock_chan(m, t, s);
	wf_timers_armed(m, when);
	wf_leave(m);
	return was;
}

/* ---- free */

static struct wf_limbo *
join(struct wf_limbo *a, struct wf_limbo *b)
{
	struct wf_limbo **end = &a;

	while (*end)
		end = &(*end)->next;
	*end = b;
	return a;
}

/* No run is up, or it is just ending. */
static void
free_outside(struct weft_timer *t)
{
	struct wf_timer *gone, *next;

	if (at_load_acq(&wf_sched.phase) == WF_DOWN) { /* acq: no heap has it */
		free(t->ch);
		free(t);
	} else if (!wf_sched.forked) {
		if (t->ch) { /* it may fire yet */
			uint64_t s = wf_chan_lock(NULL, t->ch);

			wf_chan_unlock(NULL, t->ch, s | WF_CH_CLOSED | WF_CH_FREED);
			wf_limbo_add(t->ch, sizeof(*t->ch));
		}
		for (gone = wf_timer_drop(NULL, &t->o); gone; gone = next) {
			next = gone->next;
			wf_timer_gone(container_of(gone, struct wf_timer_object, t));
		}
	}
}

WF_EXPORT void
weft_timer_free(struct weft_timer *t)
{
	struct wf_limbo *done = NULL;
	struct wf_timer *gone, *next;
	struct wf_m *m;

	if (!t)
		return;
	m = wf_enter(WF_CALL_N);
	if (!m) {
		free_outside(t);
		return;
	}
	if (t->ch) {
		uint64_t s = lock_chan(m, t);

		stop(m, t, &s);
		unlock_chan(m, t, s);
		done = wf_chan_end(m, t->ch);
	}
	for (gone = wf_timer_drop(wf_timers_mine(m), &t->o); gone; gone = next) {
		struct wf_timer_object *o = container_of(gone, struct wf_timer_object, t);

		next = gone->next;
		done =
		    join(wf_limbo_put(m, container_of(o, struct weft_timer, o), sizeof(*t)), done);
	}
	wf_leave(m);
	wf_limbo_free(done);
}

void
wf_timer_chan_free(struct wf_chan *ch)
{
	if (ch->timer->ticks)
		wf_fatal(
		    "weft_free of a channel that belongs to a ticker. Call weft_timer_free for "
		    "the timer, which frees both");
	weft_timer_free(ch->timer);
}
