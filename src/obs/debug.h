/* SPDX-License-Identifier: MIT */
/*
 * debug.h: the words of WEFT_DEBUG. Each stands in one list, from which come the parser, the help
 * that an unknown word prints, and the check that docs/man/weft-debug.7 names them all.
 */
#ifndef WF_OBS_DEBUG_H
#define WF_OBS_DEBUG_H

#include "base/compiler.h"

/* word, least, most, value when not given, what it does */
#define WF_DEBUG_WORDS(X)                                                                          \
	X(fence, 0, 1, 0, "enter the runtime with a fence, as without membarrier")                 \
	X(guard, 0, 2, -1, "stack guards: 0 madvise, 1 mprotect, 2 a canary")                      \
	X(lint, 0, 1, 0, "say where a goroutine holds up others, and how to mend it")              \
	X(lint_ms, 1, 60000, 10, "with lint: ms that a goroutine may compute at a stretch")        \
	X(reap_ms, 0, 9999999, 5000, "threads that nobody needs end after so many ms")             \
	X(say, 0, 1, 0, "what was chosen at start, and later")                                     \
	X(scheddetail, 0, 1, 0, "with schedtrace: a line for each P, M and G")                     \
	X(schedtrace, 0, 3600000, 0, "the scheduler's state, every so many ms")                    \
	X(shuffle, 0, 1, 0, "random order of goroutines")                                          \
	X(stacks, 0, 1, 0, "most stack used by each start function, at the end")

struct wf_debug {
#define X(word, least, most, otherwise, help) int64_t word;
	WF_DEBUG_WORDS(X)
#undef X
};

WF_EXTERN struct wf_debug wf_debug;

/* From the environment. A word that is not known, or a value that cannot be, ends the process with
   the list. */
void wf_debug_read(void);

#endif
