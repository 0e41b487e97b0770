/* SPDX-License-Identifier: MIT */
/* gtimer.h: the record of one timer; what is done with it is in timer.h. */
#ifndef WF_CORE_GTIMER_H
#define WF_CORE_GTIMER_H

#include "base/atomic.h"

struct wf_timer {
	wf_aptr heap;          /* the heap it is, or was last, in: TIMER-1 */
	wf_a64 when;           /* it is armed for this time, 0: it is not; written under the lock */
	struct wf_timer *next; /* in a list: under the lock, or the caller's */
	uint32_t entries;      /* in the array: under the lock, as the rest */
	bool listed;           /* in the list of those that have no entry */
	bool object;           /* part of a wf_timer_object; else of a G */
	bool freed;            /* goes when its last entry has gone */
	bool seen;
};

#endif
