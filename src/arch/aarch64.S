/* SPDX-License-Identifier: MIT */
/* aarch64.S: wf_ctx_switch, wf_ctx_call and wf_ctx_start for AAPCS64; see ctx.h. */
#include "arch/ctx.h"

	.text

.macro save_callee_saved
	sub	sp, sp, #WF_CTX_BYTES
	.cfi_adjust_cfa_offset WF_CTX_BYTES
	stp	x19, x20, [sp, #0]
	.cfi_rel_offset x19, 0
	.cfi_rel_offset x20, 8
	stp	x21, x22, [sp, #16]
	.cfi_rel_offset x21, 16
	.cfi_rel_offset x22, 24
	stp	x23, x24, [sp, #32]
	.cfi_rel_offset x23, 32
	.cfi_rel_offset x24, 40
	stp	x25, x26, [sp, #48]
	.cfi_rel_offset x25, 48
	.cfi_rel_offset x26, 56
	stp	x27, x28, [sp, #64]
	.cfi_rel_offset x27, 64
	.cfi_rel_offset x28, 72
	stp	x29, x30, [sp, #WF_CTX_FP_OFF]
	.cfi_rel_offset x29, 80
	.cfi_rel_offset x30, 88
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	str	x9, [x0]
.endm

.macro restore_callee_saved
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #WF_CTX_FP_OFF]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #WF_CTX_BYTES
	.cfi_adjust_cfa_offset -WF_CTX_BYTES
.endm

/* void *wf_ctx_switch(void **save_sp x0, void *to_sp x1, void *pass x2) */
	.globl	wf_ctx_switch
	.hidden	wf_ctx_switch
	.type	wf_ctx_switch, %function
	.p2align 5
wf_ctx_switch:
	.cfi_startproc
	save_callee_saved
	mov	sp, x1			/* the other context has the same frame: the CFI goes on */
	mov	x0, x2
	restore_callee_saved
	ret
	.cfi_endproc
	.size	wf_ctx_switch, . - wf_ctx_switch

/* void *wf_ctx_call(void **save_sp x0, void *top x1, void *(*fn)(void *) x2, void *pass x3) */
	.globl	wf_ctx_call
	.hidden	wf_ctx_call
	.type	wf_ctx_call, %function
	.p2align 5
wf_ctx_call:
	.cfi_startproc
	save_callee_saved
	mov	x19, sp			/* fn keeps it, on whichever thread it returns */
	.cfi_remember_state
	.cfi_def_cfa_register x19
	.cfi_undefined x30		/* as in wf_ctx_start */
	mov	sp, x1
	mov	x29, #0
	mov	x0, x3
	blr	x2
	mov	sp, x19
	.cfi_restore_state
	restore_callee_saved
	ret
	.cfi_endproc
	.size	wf_ctx_call, . - wf_ctx_call

/* void *wf_ctx_start(void **save_sp x0, void *top x1, void (*entry)(void *) x2, void *pass x3) */
	.globl	wf_ctx_start
	.hidden	wf_ctx_start
	.type	wf_ctx_start, %function
	.p2align 5
wf_ctx_start:
	.cfi_startproc
	save_callee_saved
	mov	sp, x1
	.cfi_undefined x30		/* nothing called a goroutine: unwinding ends here */
	mov	x29, #0			/* so does a walk over frame pointers */
	mov	x30, #0
	mov	x0, x3
	blr	x2
	brk	#0			/* entry never returns */
	.cfi_endproc
	.size	wf_ctx_start, . - wf_ctx_start

	.section .note.GNU-stack, "", %progbits
