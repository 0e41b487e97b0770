/* SPDX-License-Identifier: MIT */
/*
 * waiting.h: who waits, and for what: a test that needs a goroutine asleep waits until it is,
 * instead of sleeping itself.
 */
#ifndef WEFT_TEST_WAITING_H
#define WEFT_TEST_WAITING_H

#include "integ/helpers.h"

#include "core/gpool.h"
#include "wait/chan.h"

struct waiting_tally {
	enum wf_reason why;
	int n;
};

/* WAITING is published after the reason is written; whoever is counted has decided to sleep, and
   holds the lock of what it waits for until it does. */
__attribute__((unused)) static void
waiting_one(struct wf_g *g, void *arg)
{
	struct waiting_tally *t = arg;

	if (wf_g_state(g) != WF_WAITING)
		return;
	t->n += g->reason == t->why ||
		(g->reason == WF_WAIT_JOIN && (t->why == WF_WAIT_WG || t->why == WF_WAIT_GROUP));
}

/* Goroutines and plain threads that wait for this; one that runs the child it waits for counts. */
__attribute__((unused)) static int
waiting(enum wf_reason why)
{
	struct waiting_tally t = {.why = why};

	wf_gpool_each(waiting_one, &t);
	for (struct wf_m *m = wf_sched.all_ms; m; m = m->all_next)
		if (m->in_use && m->plain)
			waiting_one(&m->thread_g, &t);
	return t.n;
}

__attribute__((unused)) static void
await_waiting(enum wf_reason why, int n)
{
	while (waiting(why) < n)
		weft_yield();
}

/* Of one channel: those in a line, also select's. Those records are in the frames of others, and
   the lock is not one that ThreadSanitizer knows. */
__attribute__((unused, noinline, no_sanitize("thread"))) static int
in_line(void *channel, bool sends)
{
	struct wf_chan *ch = channel;
	uint64_t s = wf_chan_lock_shared(NULL, ch); /* takes the bias away */
	int n = 0;

	for (struct wf_waiter *w = sends ? ch->sends.first : ch->recvs.first; w; w = w->next)
		n++;
	wf_chan_unlock(NULL, ch, s);
	return n;
}

__attribute__((unused)) static void
await_receivers(void *ch, int n)
{
	while (in_line(ch, false) != n)
		weft_yield();
}

__attribute__((unused)) static void
await_senders(void *ch, int n)
{
	while (in_line(ch, true) != n)
		weft_yield();
}

/* Nobody waits in it, and its word says so: CHAN-4. */
__attribute__((unused)) static void
expect_idle(void *channel)
{
	struct wf_chan *ch = channel;

	EXPECT_EQ(at_load_acq(&ch->state) & (WF_CH_LOCKED | WF_CH_RECVS | WF_CH_SENDS), 0);
	EXPECT(ch->recvs.first == NULL);
	EXPECT(ch->sends.first == NULL);
}

#endif
