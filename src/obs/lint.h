/* SPDX-License-Identifier: MIT */
/*
 * lint.h: WEFT_DEBUG=lint=1: what a goroutine does that holds up others, said once for a place, with
 * what to do about it. Three lints, a file each: lint.c (computes and never gives way), lintcall.c
 * (sleeps in a system call), lintlock.c (waits while it holds a pthread lock).
 */
#ifndef WF_OBS_LINT_H
#define WF_OBS_LINT_H

#include "core/gmp.h"
#include "obs/sink.h"

enum { WF_LINT_FRAMES = 16 };

enum wf_lint { WF_LINT_COMPUTES = 1, WF_LINT_CALL, WF_LINT_LOCK };

/* Whom a report is about; copied, since the goroutine goes on. */
struct wf_who {
	int64_t id, parent;
	const struct weft_site *site;
	const char *name;
};
struct wf_who wf_who(const struct wf_g *g);

/* Lints and a run's start. */
void wf_lint_start(void);
int64_t wf_lint_look(int64_t now, int64_t delay); /* the monitor, before it sleeps; as schedtrace */
void wf_lint_stop(void); /* the monitor has ended: what was found and not yet said */

/* True for the first caller with this place: it may speak. Any thread. */
bool wf_lint_first(enum wf_lint kind, const void *place, uint64_t more);
bool wf_lint_said(enum wf_lint kind, const void *place, uint64_t more);

/* A report: lines into o, between these two. */
enum { WF_LINT_BYTES = 8192 };
void wf_lint_begin(struct wf_sink *o, char buf[WF_LINT_BYTES], const struct wf_who *who);
void wf_lint_end(struct wf_sink *o, const struct wf_who *who, const char *advice);

/* lintlock.c */
void wf_lint_start_locks(void);
void wf_lint_print_locks(void);
void wf_lint_last_words(void); /* on the way down */
void wf_lint_stop_locks(void);

/* lintcall.c: the monitor has taken the P of m, whose thread slept. */
void wf_lint_call(struct wf_m *m);

#endif
