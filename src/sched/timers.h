/* SPDX-License-Identifier: MIT */
/* timers.h: arming timers, and seeing to it that somebody wakes up in time; see timers.c. */
#ifndef WF_SCHED_TIMERS_H
#define WF_SCHED_TIMERS_H

#include "sched/handoff.h"

/* The heap for what this thread arms. */
struct wf_heap *wf_timers_mine(const struct wf_m *m);

/* The timer of g, who is about to wait, fires at `when` or before. Any lock may be held: who calls
   this goes on to park, and so comes by a place where the sleep of others is looked at. */
void wf_timers_wake_by(struct wf_m *m, struct wf_g *g, int64_t when);
/* The same without a lock: also a sleep that would last longer is cut short. */
void wf_timers_sleep_by(struct wf_m *m, struct wf_g *g, int64_t when);
/* No lock held: a timer was armed for `when`, which is the earliest of its heap (WF_NEVER: it is
   not), and the caller goes on. Somebody will be there. */
void wf_timers_armed(struct wf_m *m, int64_t when);

/* What fired, by who runs it: set by init.c. */
WF_EXTERN void (*wf_timer_fire_hook)(struct wf_m *m, struct wf_timer_object *o, int64_t when,
				     uint64_t number);
WF_EXTERN void (*wf_timer_gone_hook)(struct wf_timer_object *o); /* nobody has it any more */

/* ---- for sched/ and the end of a run */
enum { WF_ATTEND_NOBODY = 0 };                                         /* sched.attend_until */
void wf_ready_all(struct wf_m *m, struct wf_p *p, struct wf_glist *l); /* to the end of p's queue */
int64_t wf_timers_nearest(void); /* ordered by the caller's fence */
bool wf_timers_live(void);       /* will any of them do something? */
void wf_timers_flush(void);      /* nobody runs: all are out */
void wf_timers_run_own(struct wf_m *m, struct wf_p *p);
bool wf_timers_run_due(struct wf_m *m); /* of all heaps; true: there were some */
void wf_timers_run_overdue(struct wf_m *m, int64_t now);
int64_t wf_timers_unattended(void);   /* the earliest, if nobody attends; else WF_NEVER */
bool wf_attend_begin(struct wf_m *m); /* sched.lock held */
bool wf_attend(struct wf_m *m);       /* true: a P is in hand */
void wf_attend_recheck(void);         /* this M sleeps without a limit: may it? */
struct wf_m *wf_attend_take(void);    /* sched.lock held: the M, for other work */
void wf_attend_break(int64_t when);

/* Is a timer of p due? One load where there are none. */
WF_INLINE bool
wf_timers_due(const struct wf_p *p)
{
	int64_t next = wf_heap_next(&p->timers);

	return unlikely(next != WF_NEVER) && os_now_ns() >= next;
}

#endif
