/* SPDX-License-Identifier: MIT */
/*
 * waits.h: what a goroutine waits for, in words, and who waits for whom in a circle.
 *
 * Both read records on the stacks of others, without locks: on the way down nobody may be asked
 * to stop. All of it is read through os_peek, which cannot fault.
 */
#ifndef WF_OBS_WAITS_H
#define WF_OBS_WAITS_H

#include "core/g.h"

#include <stddef.h>

/* One line without its end: "waits to send on the channel made at a.c:7 (0 of 4 buffered)". */
void wf_describe_wait(const struct wf_g *g, char *text, size_t bytes);

/* The objects g waits for, at most max of them; the number. */
int wf_waited_objects(const struct wf_g *g, const void **objects, int max);

/* The id of who holds the lock that g waits for: a goroutine's, minus a thread's, or 0: nobody. */
#define WF_HOLDER_UNKNOWN INT64_MIN /* some thread */
int64_t wf_waited_holder(const struct wf_g *g);

/* The wait group any of whose goroutines could let g go on by ending, or NULL. A group's too, and
   that of a group whose limit is reached. */
const struct weft_wg *wf_waited_wg(const struct wf_g *g);

/* cycle.c: everybody sleeps: tells through say(arg, line) who waits for whom in a circle. */
void wf_describe_cycle(void (*say)(void *arg, const char *line), void *arg);

#endif
