/* SPDX-License-Identifier: MIT */
/*
 * ctx.h: three operations on stacks, written in assembly so that no compiler reasons about them.
 *
 * A suspended context is one stack pointer; below it stand the callee-saved registers and the
 * address to go on at, in the order of the enum. `pass` travels in a register from the side
 * that leaves to the side that arrives: the M, which must never be cached across a switch.
 *
 * wf_ctx_start enters the other context by a jump. wf_ctx_switch ends in a return: both sides
 * have called it from the same few places, so the return predictor, which remembers the calls of
 * the side that is left, is right; a jump would leave one prediction too many behind, and every
 * return after it would miss (measured: 51 ns against 25 for a yield).
 */
#ifndef WF_ARCH_CTX_H
#define WF_ARCH_CTX_H

#if defined(__x86_64__)
#define WF_CTX_BYTES  56 /* r15 r14 r13 r12 rbx rbp, and the address */
#define WF_CTX_FP_OFF 40 /* where the saved frame pointer stands ... */
#define WF_CTX_PC_OFF 48 /* ... and the address to go on at: for dumps */
#elif defined(__aarch64__)
#define WF_CTX_BYTES  160 /* x19-x28, x29, x30, d8-d15 */
#define WF_CTX_FP_OFF 80
#define WF_CTX_PC_OFF 88
#else
#error "weft runs on x86-64 and aarch64"
#endif

#ifndef __ASSEMBLER__

_Static_assert(WF_CTX_PC_OFF == WF_CTX_FP_OFF + 8, "a frame record: frame pointer, then address");
_Static_assert(WF_CTX_PC_OFF + 8 <= WF_CTX_BYTES, "inside the frame");

/* Save this context in *save_sp and go on with to_sp. Returns, when somebody switches back, what
   that one passed. */
void *wf_ctx_switch(void **save_sp, void *to_sp, void *pass);

/* Save this context in *save_sp and call fn(pass) on an empty stack that ends at top. Returns what
   fn returns: a call like any other, but that the thread may be another one by then. Or somebody
   switches to *save_sp, and never to the other stack again: then as wf_ctx_switch. */
void *wf_ctx_call(void **save_sp, void *top, void *(*fn)(void *pass), void *pass);

/* Save this context in *save_sp and call entry(pass) on an empty stack that ends at top (16-byte
   aligned). entry never returns. Returns as wf_ctx_switch. */
void *wf_ctx_start(void **save_sp, void *top, void (*entry)(void *pass), void *pass);

#endif
#endif
