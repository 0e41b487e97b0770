/* SPDX-License-Identifier: MIT */
/*
 * check.h: what must hold. CHECK is always on and cheap; ASSERT only with WF_DEBUG.
 *
 * wf_fatal ends the process with status 2 after a message that says what happened and what to
 * try. It allocates nothing. The dump hook (set by init.c) prints the goroutines first.
 */
#ifndef WF_BASE_CHECK_H
#define WF_BASE_CHECK_H

#include "base/compiler.h"

enum { WF_FATAL_STATUS = 2 }; /* as Go */

/* The program misused the library or nobody can run: message, dump, status 2. Any thread. */
WF_COLD WF_NORETURN WF_PRINTF(1, 2) void wf_fatal(const char *fmt, ...);
/* The library itself is wrong: message with the place, dump, abort. Any thread. */
WF_COLD WF_NORETURN void wf_broken(const char *file, int line, const char *what);
/* One line on stderr, without malloc. Any thread. */
WF_COLD WF_PRINTF(1, 2) void wf_say(const char *fmt, ...);
WF_COLD WF_PRINTF(2, 3) void wf_say_to(int fd, const char *fmt, ...);

WF_EXTERN void (*wf_fatal_dump_hook)(int fd, bool internal);

#define CHECK(cond) (likely(cond) ? (void)0 : wf_broken(__FILE__, __LINE__, #cond))

#ifdef WF_DEBUG
#define ASSERT(cond) CHECK(cond)
#else
#define ASSERT(cond) ((void)sizeof(!(cond)))
#endif

#endif
