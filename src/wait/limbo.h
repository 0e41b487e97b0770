/* SPDX-License-Identifier: MIT */
/*
 * limbo.h: memory that a program has freed while somebody may still be on the way out of it.
 *
 * A select that has fired, or a wait that was cancelled, leaves the lines of its other channels
 * only when its goroutine runs again. If such a channel is freed first, the free takes those waiters
 * out itself, and who comes to leave finds itself unlinked and does not touch the channel; except
 * one that is just past that look. So the memory waits here.
 *
 * LIMBO-1: memory is given back only when every M that was inside the runtime after it was put
 *          here has been seen outside, or at rest (wf_rest). One that the kernel keeps off its CPU
 *          anywhere else inside holds up all of it.
 */
#ifndef WF_WAIT_LIMBO_H
#define WF_WAIT_LIMBO_H

#include "sched/handoff.h"

struct wf_limbo { /* lies in the memory itself */
	struct wf_limbo *next;
};

/* In the runtime. Returns what can be given back now: the caller does it, outside. */
struct wf_limbo *wf_limbo_put(struct wf_m *m, void *memory, size_t bytes);
/* The same for who does not leave the runtime: another will give it back. Any thread. */
void wf_limbo_add(void *memory, size_t bytes);
/* The end of a run: nobody is inside. */
struct wf_limbo *wf_limbo_empty(void);
void wf_limbo_free(struct wf_limbo *list); /* outside the runtime: the allocator is the program's */

#endif
