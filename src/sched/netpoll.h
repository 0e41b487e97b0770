/* SPDX-License-Identifier: MIT */
/* netpoll.h: who asks the kernel which descriptors are ready; see netpoll.c. */
#ifndef WF_SCHED_NETPOLL_H
#define WF_SCHED_NETPOLL_H

#include "core/poll.h"
#include "sched/timers.h"

/* Before a descriptor is first waited for: 0 or -errno. No lock held. */
int wf_netpoll_open(void);
/* A plain thread has stood in line: somebody will look. No lock held. */
void wf_netpoll_joined(struct wf_m *m);

/* After a break that a signal may have caused: set by init.c. */
WF_EXTERN void (*wf_signal_hook)(struct wf_m *m);

/* ---- for sched/ */
bool wf_netpoll_unattended(void);     /* somebody waits, and nobody is in the kernel for it */
bool wf_netpoll(struct wf_m *m);      /* a look without a wait; true: it woke some */
void wf_netpoll_tick(struct wf_m *m); /* the same, if the last look is long ago */
/* The monitor wants to sleep: here, if nobody else is, and then 0; else how long it may do so elsewhere.
   moves: goroutines have run in turn since it looked. */
int64_t wf_netpoll_nap(struct wf_m *m, int64_t ns, bool moves);
/* Around what wf_poll_collect gave to one without a P: DEAD-1. */
void wf_netpoll_begin(void);
void wf_netpoll_end(struct wf_m *m, const struct wf_events *events);

#endif
