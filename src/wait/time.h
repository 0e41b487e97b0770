/* SPDX-License-Identifier: MIT */
/* time.h: what a timer of the program does when it fires, for those who run timers. */
#ifndef WF_WAIT_TIME_H
#define WF_WAIT_TIME_H

#include "core/timer.h"

struct wf_m;

void wf_timer_fire(struct wf_m *m, struct wf_timer_object *o, int64_t when, uint64_t number);
void wf_timer_gone(struct wf_timer_object *o);

#endif
