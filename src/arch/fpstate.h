/* SPDX-License-Identifier: MIT */
/* fpstate.h: the floating-point control words, which the ABI preserves across calls and a switch
   does not: only goroutines that ask for it (WEFT_SAVE_FP) pay for them. */
#ifndef WF_ARCH_FPSTATE_H
#define WF_ARCH_FPSTATE_H

#include <stdint.h>

struct wf_fpstate {
	uint64_t control;
};

#if defined(__x86_64__)
/* MXCSR in the low half, the x87 control word above it. */
static inline void
wf_fpstate_get(struct wf_fpstate *s)
{
	uint32_t mxcsr;
	uint16_t x87;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	s->control = mxcsr | (uint64_t)x87 << 32;
}

static inline void
wf_fpstate_set(const struct wf_fpstate *s)
{
	uint32_t mxcsr = (uint32_t)s->control;
	uint16_t x87 = (uint16_t)(s->control >> 32);

	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
	__asm__ volatile("fldcw %0" : : "m"(x87));
}

static const struct wf_fpstate wf_fpstate_default = {0x1f80 | UINT64_C(0x37f) << 32};
#else
static inline void
wf_fpstate_get(struct wf_fpstate *s)
{
	__asm__ volatile("mrs %0, fpcr" : "=r"(s->control));
}

static inline void
wf_fpstate_set(const struct wf_fpstate *s)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(s->control));
}

static const struct wf_fpstate wf_fpstate_default = {0};
#endif

#endif
