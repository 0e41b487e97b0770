/* SPDX-License-Identifier: MIT */
/*
 * lintcall.c: a goroutine slept in a system call, others waited, and its P was taken: the name of
 * the call, and what does the same without a thread.
 *
 * The thread is not disturbed: /proc tells the call and the stack pointer. Where it was called from
 * is the first word up the stack that a call outside the call's own library can have left there.
 */
#define _GNU_SOURCE 1
#include "base/os.h"
#include "base/probe.h"
#include "core/stack.h"
#include "obs/lint.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 512 }; /* of a stack that are looked at */

/* What parks the goroutine alone. */
static const struct {
	const char *call, *instead;
} better[] = {
    {"read", "weft_read()"},
    {"readv", "weft_readv()"},
    {"write", "weft_write()"},
    {"writev", "weft_writev()"},
    {"pread64", "weft_pread()"},
    {"pwrite64", "weft_pwrite()"},
    {"recvfrom", "weft_recvfrom() or weft_read()"},
    {"sendto", "weft_sendto() or weft_write()"},
    {"sendfile", "weft_sendfile()"},
    {"accept", "weft_accept()"},
    {"accept4", "weft_accept()"},
    {"connect", "weft_dial()"},
    {"poll", "weft_wait_fd() or weft_select()"},
    {"ppoll", "weft_wait_fd() or weft_select()"},
    {"select", "weft_wait_fd() or weft_select()"},
    {"pselect6", "weft_wait_fd() or weft_select()"},
    {"nanosleep", "weft_sleep()"},
    {"clock_nanosleep", "weft_sleep()"},
    {"futex", "weft_mutex and weft_cond where pthread's are used"},
    {"wait4", "weft_waitpid()"},
    {"waitid", "weft_waitpid()"},
};

static const char *
instead_of(const char *call)
{
	for (size_t i = 0; i < countof(better); i++)
		if (strcmp(better[i].call, call) == 0)
			return better[i].instead;
	return NULL;
}

static uintptr_t
library_of(uintptr_t pc)
{
	Dl_info i;

	return dladdr((void *)pc, &i) ? (uintptr_t)i.dli_fbase : 0;
}

/* Where the library that made the call was called from; 0: not found. */
static uintptr_t
caller_of(const struct os_call *call, uintptr_t hi)
{
	uintptr_t words[WORDS_MAX], inner = library_of(call->pc);
	size_t n = hi > call->sp ? (hi - call->sp) / sizeof(*words) : 0;

	n = n < WORDS_MAX ? n : WORDS_MAX;
	if (n == 0 || os_peek((const void *)call->sp, words, n * sizeof(*words)) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		uintptr_t in = library_of(words[i]);

		if (in && in != inner && os_returns_to(words[i]))
			return words[i];
	}
	return 0;
}

static void
report(const struct wf_who *who, const struct os_call *call, uintptr_t caller)
{
	const char *name = call->number < 0 ? "a page fault" : os_call_name(call->number);
	char number[32], advice[200], buf[WF_LINT_BYTES];
	const char *instead = name ? instead_of(name) : NULL;
	struct wf_sink o;

	if (!name) {
		snprintf(number, sizeof(number), "system call %ld", call->number);
		name = number;
	}
	wf_lint_begin(&o, buf, who);
	wf_sink_say(&o, "lost its P in %s%s: its thread slept while others waited", name,
		    name == number || call->number < 0 ? "" : "()");
	wf_sink_frame(&o, call->pc);
	if (caller)
		wf_sink_frame(&o, caller);
	if (call->number < 0)
		snprintf(advice, sizeof(advice),
			 "weft_blocking around the code that touches memory of a slow file or "
			 "swap");
	else
		snprintf(advice, sizeof(advice), "%s%sweft_blocking around the call",
			 instead ? instead : "", instead ? "; or " : "");
	wf_lint_end(&o, who, advice);
}

void
wf_lint_call(struct wf_m *m)
{
	struct wf_g *g = m->g;
	struct os_call call;
	struct wf_who who;
	uintptr_t hi;

	if (!g || !g->site)
		return;
	who = wf_who(g);
	hi = (uintptr_t)g->stack + wf_stack_bytes(g->stack_class);
	if (os_thread_call(m->tid, &call) != 1 ||
	    wf_lint_said(WF_LINT_CALL, who.site, (uint64_t)call.number))
		return;
	uintptr_t caller = caller_of(&call, hi);

	/* acq: as long as the P is missing the goroutine has made no call, so all that was its own */
	uint32_t lease = at_load_acq(&m->lease);

	if ((lease == WF_TAKEN || lease == WF_ASLEEP) && m->g == g && g->id == who.id &&
	    wf_lint_first(WF_LINT_CALL, who.site, (uint64_t)call.number))
		report(&who, &call, caller);
}
