/* SPDX-License-Identifier: MIT */
/* spawn.h: the birth of a goroutine, for weft_go and for groups. */
#ifndef WF_SCHED_SPAWN_H
#define WF_SCHED_SPAWN_H

#include "core/gmp.h"

/* Any thread in the runtime; never parks. flags: WF_G_MAIN, WF_G_MEMBER. Returns the id, or
   -ENOMEM, -EINVAL. */
int64_t wf_spawn(struct wf_m *m, struct weft_site *site, const struct weft_attr *attr,
		 struct weft_wg *wg, const void *arg, size_t bytes, unsigned flags);

#endif
