/* SPDX-License-Identifier: MIT */
/*
 * park.h: the one way to block and the one way to be made runnable.
 *
 * The race "woken before it has finished going to sleep" is closed as in Go: what makes the
 * sleeper reachable for its wakers (the commit, mostly the unlock of a wait queue) runs only
 * when its context is saved and its status published. With a direct switch to the next
 * goroutine it runs on that one's side, as its first act.
 *
 * PARK-1: the commit runs after the context is saved and the status is WAITING.
 * PARK-2: every arriving context, resumed or started, first does what m->pending says.
 * PARK-3: a goroutine is readied by the one waker that claimed it.
 * PARK-4: a wait that nothing but its waker ends needs no commit. It is in line, says PARKING, and
 *         unlocks before it switches: others use the queue meanwhile, and only its own waker waits
 *         until it has left its stack (GST-4).
 */
#ifndef WF_SCHED_PARK_H
#define WF_SCHED_PARK_H

#include "sched/handoff.h"

/* The running goroutine, or plain thread, waits until readied. commit(g, arg) makes it reachable;
   it may not park, and cannot refuse: if there is no need to wait it readies g itself. Returns the M it goes on with. */
struct wf_m *wf_park(struct wf_m *m, wf_commit_fn *commit, void *arg, enum wf_reason why,
		     const void *object);
/* Make a waiting goroutine runnable; the caller has claimed it. m may be without a P. No lock of
   rank above SCHED may be held. */
void wf_ready(struct wf_m *m, struct wf_g *g);

/* Others go first, if there are any. Returns the M the caller goes on with. */
struct wf_m *wf_give_way(struct wf_m *m);

/* Before a wait for wg. The newest child that was started here for wg and has not begun runs now,
   and the caller goes on when it has ended, with the M that is returned; NULL: there is none, or
   others are due. */
struct wf_m *wf_join_child(struct wf_m *m, const struct weft_wg *wg);
void wf_learn_joins(struct wf_g *g, uint32_t few);

/* Are goroutines started at a place soon waited for? Learned. By a hash, and not in the site itself:
   that may be gone, with its library, before its goroutine waits. */
enum { WF_JOINS = 1024 };
WF_EXTERN wf_a8 wf_joins[WF_JOINS];

WF_INLINE wf_a8 *
wf_joins_of(const struct weft_site *site)
{
	return &wf_joins[(uintptr_t)site / 8 % WF_JOINS];
}

#endif
