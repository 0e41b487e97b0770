/* SPDX-License-Identifier: MIT */
/* obs.h: the functions of this folder that init.c wires in. */
#ifndef WF_OBS_OBS_H
#define WF_OBS_OBS_H

#include "base/compiler.h"

struct weft_stats;

/* dump.c: goroutines, Ms and Ps to fd, without stopping anybody and without locks: for the way
   down, when everything else may be broken. */
void wf_debug_dump(int fd);
void wf_fatal_dump(int fd,
		   bool internal); /* as above; briefer unless the library itself is wrong */
bool wf_overflow_report(void *addr, void *ucontext); /* SIGSEGV: true never returns */
void wf_stack_census(int fd);                        /* most stack used, by start function */
const char *wf_reason_name(unsigned reason);         /* enum wf_reason */
const char *wf_lease_name(unsigned lease);           /* a lease word */

void wf_stats_fill(struct weft_stats *s); /* stats.c; in the runtime or the monitor */

/* schedtrace.c: before the monitor starts; then by the monitor before it sleeps: prints what is due
   and returns how long to sleep, at most delay. */
void wf_schedtrace_start(void);
int64_t wf_schedtrace_look(int64_t now, int64_t delay);

#endif
