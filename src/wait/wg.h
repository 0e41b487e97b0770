/* SPDX-License-Identifier: MIT */
/* wg.h: what the death of a goroutine and the end of a group call; the rest of wg.c is public. */
#ifndef WF_WAIT_WG_H
#define WF_WAIT_WG_H

#include "base/sanitizer.h"
#include "core/wgword.h"
#include "sched/handoff.h"

/* The word has become one that wf_wg_matters. */
void wf_wg_fell(struct wf_m *m, struct weft_wg *wg, uint64_t word);
void wf_wg_done(struct wf_m *m, struct weft_wg *wg);
/* Waits until the count is zero; scoped: or until a scope ends the wait. 0 or -errno. */
int wf_wg_join(struct wf_m **m, struct weft_wg *wg, enum wf_reason why, bool scoped);

#endif
