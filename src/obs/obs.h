/* SPDX-License-Identifier: MIT */
/* obs.h: the functions of this folder that init.c wires in. */
#ifndef WF_OBS_OBS_H
#define WF_OBS_OBS_H

#include "base/compiler.h"

/* dump.c: goroutines, Ms and Ps to fd, without stopping anybody and without locks: for the way
   down, when everything else may be broken. */
void wf_debug_dump(int fd);
void wf_fatal_dump(int fd,
		   bool internal); /* as above; briefer unless the library itself is wrong */
bool wf_overflow_report(void *addr, void *ucontext); /* SIGSEGV: true never returns */
void wf_stack_census(int fd);                        /* most stack used, by start function */

#endif
