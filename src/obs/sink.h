/* SPDX-License-Identifier: MIT */
/*
 * sink.h: where the text of a report goes, and stacks in words.
 *
 * Straight to a descriptor on the way down; else to memory first, because a write may block and
 * must not while the world is stopped, and because one write is not torn apart by other writers.
 */
#ifndef WF_OBS_SINK_H
#define WF_OBS_SINK_H

#include "core/g.h"

struct wf_sink {
	int fd;
	char *buf; /* NULL: straight */
	size_t len, room;
	uint64_t most;    /* goroutines shown in full; the rest is counted */
	bool unnamed;     /* a frame was shown without the name of its function */
	uintptr_t pc;     /* the last frame shown ... */
	uint64_t repeats; /* ... and how often it came again */
};

/* A line; its end is added. What does not fit is left out. */
WF_PRINTF(2, 3) void wf_sink_say(struct wf_sink *o, const char *fmt, ...);
/* A part of a line. Only with a buffer. */
WF_PRINTF(2, 3) void wf_sink_add(struct wf_sink *o, const char *fmt, ...);
void wf_sink_write(struct wf_sink *o); /* what is in the buffer, by one write */

void wf_sink_frame(struct wf_sink *o, uintptr_t pc);
/* Frames from a frame pointer up, as long as they stay inside [lo, hi): code built without frame
   pointers gives fewer frames, never a fault. */
void wf_sink_frames(struct wf_sink *o, uintptr_t fp, uintptr_t lo, uintptr_t hi);
/* The same as addresses: how many. Safe in a signal handler. */
int wf_frames(uintptr_t fp, uintptr_t lo, uintptr_t hi, uintptr_t *pcs, int max);
void wf_sink_no_more_frames(struct wf_sink *o); /* after the last wf_sink_frame */
void wf_sink_birth(struct wf_sink *o, const struct weft_site *site, int64_t parent);

#endif
