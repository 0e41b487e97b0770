/* SPDX-License-Identifier: MIT */
/* steal.h: the random walk over the Ps, apart so that its test can see it. */
#ifndef WF_SCHED_STEAL_H
#define WF_SCHED_STEAL_H

#include "base/compiler.h"

struct wf_steal_walk {
	uint32_t left, at, stride;
};

/* STEAL-1: visits each of the Ps once; r1 chooses the start, r2 the stride. */
void wf_steal_walk_begin(struct wf_steal_walk *w, uint32_t r1, uint32_t r2);
bool wf_steal_walk_next(struct wf_steal_walk *w, uint32_t *p);

#endif
