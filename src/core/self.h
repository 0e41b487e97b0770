/* SPDX-License-Identifier: MIT */
/*
 * self.h: which M is this? The one thread-local of the library, read by one instruction pair
 * that the compiler can neither cache nor move across a switch: after a switch the goroutine
 * may stand on another thread.
 *
 * SELF-1: the result is never kept across a call that may switch.
 */
#ifndef WF_CORE_SELF_H
#define WF_CORE_SELF_H

#include "core/gmp.h"

#if defined(WF_SIM)
struct wf_m *wf_m(void);
void wf_m_set(struct wf_m *m);
#else

/* Initially &wf_m_unknown, whose lease is NONE: a thread's first call takes the slow path. */
extern __thread struct wf_m *wf_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

WF_INLINE struct wf_m *
wf_m(void)
{
	struct wf_m *m;
#if defined(__x86_64__)
	__asm__ volatile("movq wf_self@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(m));
#elif defined(__aarch64__)
	uintptr_t tp;
	__asm__ volatile("mrs %0, tpidr_el0\n\t"
			 "adrp %1, :gottprel:wf_self\n\t"
			 "ldr %1, [%1, #:gottprel_lo12:wf_self]\n\t"
			 "ldr %1, [%0, %1]"
			 : "=&r"(tp), "=&r"(m));
#endif
	return m;
}

WF_INLINE void
wf_m_set(struct wf_m *m)
{
	wf_self = m;
	__asm__ volatile("" ::: "memory");
}
#endif

WF_EXTERN struct wf_m wf_m_unknown;

#endif
