/* SPDX-License-Identifier: MIT */
/* wg.h: what the death of a goroutine calls; the rest of wg.c is public. */
#ifndef WF_WAIT_WG_H
#define WF_WAIT_WG_H

#include "base/sanitizer.h"
#include "sched/handoff.h"

void wf_wg_done(struct wf_m *m, struct weft_wg *wg);

#endif
