/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.h: one hook at each change of state of a G, an M or a P. Off, it costs one load
 * and one branch that is never taken. The execution trace, the test oracle and the debug ring
 * are users of the hook.
 */
#ifndef WF_CORE_TRACEPOINT_H
#define WF_CORE_TRACEPOINT_H

#include "base/compiler.h"

enum wf_trace_kind { WF_TR_G, WF_TR_M, WF_TR_P };

typedef void wf_trace_fn(enum wf_trace_kind kind, int state, const void *what);

WF_EXTERN wf_trace_fn *wf_trace_hook; /* set while no runtime runs */

#define wf_trace(kind, state, what)                                                                \
	(unlikely(wf_trace_hook != NULL) ? wf_trace_hook(kind, state, what) : (void)0)

#endif
