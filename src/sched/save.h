/* SPDX-License-Identifier: MIT */
/*
 * save.h: thread state that follows a goroutine which asked for it (weft_attr.save). It is kept
 * on the goroutine's own stack while it is away, and the thread gets the default meanwhile:
 * goroutines that did not ask run with the default, always.
 */
#ifndef WF_SCHED_SAVE_H
#define WF_SCHED_SAVE_H

#include "arch/fpstate.h"
#include "core/g.h"

/* What the C++ ABI keeps per thread of exceptions that are caught or in flight. */
struct wf_cxa_globals {
	void *caught;
	unsigned int uncaught;
};

/* In g->save, beside the bits of weft_attr and that of blocking.c: its thread holds pthread locks.
   Only set by lint. */
#define WF_SAVE_LOCKS 0x40u

struct wf_saved {
	struct wf_fpstate fp;
	struct wf_cxa_globals cxa;
	const void *locks[32]; /* see obs/lintlock.c */
	int n_locks;
};

WF_EXTERN void (*wf_save_locks_hook)(struct wf_g *g, struct wf_saved *s);
WF_EXTERN void (*wf_restore_locks_hook)(const struct wf_saved *s);

void wf_save(struct wf_g *g, struct wf_saved *s);          /* about to leave the thread */
void wf_restore(const struct wf_g *g, struct wf_saved *s); /* on a thread again */

#endif
