/* SPDX-License-Identifier: MIT */
/*
 * probe.h: what the lints ask the kernel about a thread of ours. Only they ask: without
 * WEFT_DEBUG=lint=1 nothing here is called and no signal is sent.
 */
#ifndef WF_BASE_PROBE_H
#define WF_BASE_PROBE_H

#include "base/compiler.h"

int64_t os_thread_cpu_ns(int tid); /* CPU time it has used, or -errno */
int64_t os_stolen_ns(void); /* time the CPUs were lent to other machines, of all; 0: nobody says */

struct os_call {
	long number;      /* of the system call; -1: a page fault */
	uintptr_t sp, pc; /* of the code that made it */
};
/* 1: it sleeps, in this call; 0: it runs, or could; or -errno. */
int os_thread_call(int tid, struct os_call *call);
const char *os_call_name(long number); /* NULL: not one of the usual */

/* fn is called on a thread, in a signal handler on its alternate stack, with the registers of the
   code that it interrupted. */
struct os_regs {
	uintptr_t pc, fp, sp;
	uintptr_t ret; /* where a function without a frame returns to; 0: it stands at sp */
};
typedef void os_sample_fn(const struct os_regs *r);
int os_sample_install(os_sample_fn *fn); /* 0, or -EBUSY: the program uses every signal */
int os_sample(int tid);

/* Could a call have pushed pc as the address to return to? */
bool os_returns_to(uintptr_t pc);
/* The same, by a call of the function at fn. */
bool os_returns_from(uintptr_t pc, uintptr_t fn);

#endif
