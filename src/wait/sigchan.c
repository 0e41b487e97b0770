/* SPDX-License-Identifier: MIT */
/*
 * sigchan.c: signals as channels.
 *
 * The handler sets a bit and breaks the poller, which is all that a handler may do. Whoever is in the
 * kernel for descriptors then sends to the channels. An open signal channel counts as one who waits
 * for a descriptor: somebody looks, and to wait for a signal is no deadlock.
 *
 * SIG-1: a signal that comes after weft_signal_chan has returned is sent to the channel, unless that
 *        is full.
 */
#include "wait/chan.h"
#include "wait/fd.h"

#include <errno.h>
#include <stdlib.h>

enum { ROOM = 8, SIGNALS = 65 };

struct wf_sigchan {
	struct wf_sigchan *next; /* under lock, as all of it */
	struct wf_chan *ch;
	int signo;
	bool linked;
};

static struct wf_lock lock = WF_LOCK_INIT(WF_RANK_SIGNAL);
static struct wf_sigchan *all; /* under lock */
static wf_a64 pending;         /* a bit for each signal that has come */

/* In a signal handler. */
static void
caught(int signo)
{
	at_or_acqrel(&pending, UINT64_C(1) << (signo - 1)); /* acqrel: before the break */
	wf_poll_break();
}

void
wf_signals_deliver(struct wf_m *m)
{
	struct wf_glist ready = {0};
	uint64_t come;

	if (at_load_rlx(&pending) == 0) /* rlx: a break after it brings us again */
		return;
	wf_lock(&lock);
	come = at_xchg_acqrel(&pending, 0); /* acqrel: as in caught */
	for (struct wf_sigchan *c = all; c; c = c->next) {
		struct wf_waiter *peer = NULL;
		uint64_t s;

		if (!(come >> (c->signo - 1) & 1))
			continue;
		s = wf_chan_lock(NULL, c->ch);
		if (!(s & WF_CH_CLOSED))
			wf_chan_do_send(c->ch, &s, &c->signo, &peer); /* SIG-1 */
		wf_chan_unlock(NULL, c->ch, s);
		if (peer)
			wf_glist_push(&ready, peer->g);
	}
	wf_unlock(&lock);
	for (struct wf_g *g; (g = wf_glist_pop(&ready));)
		wf_ready(m, g);
}

/* lock held. */
static bool
is_wanted(int signo)
{
	for (struct wf_sigchan *c = all; c; c = c->next)
		if (c->signo == signo)
			return true;
	return false;
}

/* Linked, with the handler in place: 0 or -errno. No lock held; to set a handler is not done under
   one, so two at once may both do it. */
static int
subscribe(struct wf_sigchan *c)
{
	bool first;
	int rc = 0;

	wf_lock(&lock);
	first = !is_wanted(c->signo);
	c->next = all;
	c->linked = true;
	all = c;
	wf_unlock(&lock);
	wf_poll_count(1);
	if (first)
		rc = os_signal_catch(c->signo, caught);
	return rc;
}

static void
unsubscribe(struct wf_sigchan *c)
{
	bool last = false, was;

	wf_lock(&lock);
	was = c->linked;
	for (struct wf_sigchan **at = &all; was && *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	c->linked = false;
	last = was && !is_wanted(c->signo);
	wf_unlock(&lock);
	if (last)
		os_signal_release(c->signo);
	if (was)
		wf_poll_count(-1);
}

void
wf_signal_chan_free(struct wf_chan *ch)
{
	struct wf_sigchan *c = ch->signal;
	struct wf_limbo *done;
	struct wf_m *m;

	unsubscribe(c);
	free(c); /* outside the runtime: the allocator is not ours */
	m = wf_enter(WF_CALL_N);
	if (!m) {
		free(ch);
		return;
	}
	done = wf_chan_end(m, ch);
	wf_leave(m);
	wf_limbo_free(done);
}

/* The end of a run: the channels stay, and nothing comes any more. */
void
wf_signals_flush(void)
{
	struct wf_sigchan *c;

	while ((c = all)) {
		all = c->next;
		c->linked = false;
		if (!is_wanted(c->signo))
			os_signal_release(c->signo);
		wf_poll_count(-1);
	}
}

#undef weft_signal_chan
WF_EXPORT void *
weft_signal_chan(int signo)
{
	struct wf_m *m;
	struct wf_chan *ch;
	struct wf_sigchan *c;

	if (signo < 1 || signo >= SIGNALS ||
	    at_load_acq(&wf_sched.phase) != WF_UP) /* acq: as below */
		return NULL;
	ch = wf_chan_new(sizeof(int), ROOM, "weft_signal_chan");
	c = malloc(sizeof(*c));
	m = ch && c ? wf_enter(WF_CALL_N) : NULL;
	if (!m) {
		free(ch);
		free(c);
		return NULL;
	}
	*c = (struct wf_sigchan){.ch = ch, .signo = signo};
	ch->signal = c;
	ch->patience = UINT32_MAX; /* never biased: any thread sends here */
	if (wf_netpoll_open() < 0 || subscribe(c) < 0) {
		wf_leave(m);
		wf_signal_chan_free(ch);
		return NULL;
	}
	wf_netpoll_joined(m);
	wf_leave(m);
	return ch;
}
