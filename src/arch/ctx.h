/* SPDX-License-Identifier: MIT */
/*
 * ctx.h: three operations on stacks.
 *
 * A suspended context is one pointer, to the words at the end of its stack: the frame pointer and the
 * address to go on at (aarch64: all callee-saved registers). `pass` travels in a register from
 * the side that leaves to the side that arrives: the M, which must never be cached across a switch.
 *
 * On x86-64 wf_ctx_switch is part of its caller: it names all registers as lost, so those that matter
 * are saved once, by the caller's prologue, and not a second time. The words are in the red zone, where
 * signals leave them alone; its callers call others too, so the compiler has nothing there, and the
 * build forbids it. Between two such callers it is a jump, and the return predictor, which remembers the calls
 * of the side that is left, is right if both were called from the same few places. (A function that
 * ends in a jump would leave one prediction too many behind, and every return after it would miss:
 * 51 ns against 25 for a yield, measured.) The other two are in assembly, for both machines.
 */
#ifndef WF_ARCH_CTX_H
#define WF_ARCH_CTX_H

#if defined(__x86_64__)
#define WF_CTX_BYTES  16 /* rbp, and the address */
#define WF_CTX_FP_OFF 0  /* where the saved frame pointer stands ... */
#define WF_CTX_PC_OFF 8  /* ... and the address to go on at: for dumps */
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
#if defined(__x86_64__)
/* What a call would not preserve either, in builds that have it. */
#ifdef __AVX512F__
#define WF_LOST_AVX512                                                                             \
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",         \
	    "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", \
	    "k4", "k5", "k6", "k7"
#else
#define WF_LOST_AVX512
#endif
#ifdef __APX_F__
#define WF_LOST_APX                                                                                \
	, "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27",      \
	    "r28", "r29", "r30", "r31"
#else
#define WF_LOST_APX
#endif

static inline __attribute__((always_inline)) void *
wf_ctx_switch(void **save_sp, void *to_sp, void *pass)
{
	__asm__ volatile("leaq	1f(%%rip), %%rax\n\t"
			 "leaq	-16(%%rsp), %%rcx\n\t"
			 "movq	%%rbp, (%%rcx)\n\t"
			 "movq	%%rax, 8(%%rcx)\n\t"
			 "movq	%%rcx, (%%rdi)\n\t"
			 "movq	(%%rsi), %%rbp\n\t"
			 "leaq	16(%%rsi), %%rsp\n\t"
			 "jmpq	*8(%%rsi)\n"
			 "1:"
			 : "+D"(save_sp), "+S"(to_sp), "+d"(pass)
			 :
			 : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
			   "cc", "memory" WF_LOST_AVX512 WF_LOST_APX);
	return pass;
}
#else
void *wf_ctx_switch(void **save_sp, void *to_sp, void *pass);
#endif

/* Save this context in *save_sp and call fn(pass) on an empty stack that ends at top. Returns what
   fn returns: a call like any other, but that the thread may be another one by then. Or somebody
   switches to *save_sp, and never to the other stack again: then as wf_ctx_switch. */
void *wf_ctx_call(void **save_sp, void *top, void *(*fn)(void *pass), void *pass);

/* Save this context in *save_sp and call entry(pass) on an empty stack that ends at top (16-byte
   aligned). entry never returns. Returns as wf_ctx_switch. */
void *wf_ctx_start(void **save_sp, void *top, void (*entry)(void *pass), void *pass);

#endif
#endif
