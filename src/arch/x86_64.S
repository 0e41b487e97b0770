/* SPDX-License-Identifier: MIT */
/* x86_64.S: wf_ctx_call and wf_ctx_start for the System V ABI; wf_ctx_switch is in ctx.h. */
#include "arch/ctx.h"

	.text

.macro save_callee_saved
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
.endm

.macro restore_callee_saved
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
.endm

/* As wf_ctx_switch leaves it, in the red zone. The frame pointer stands for this
   function too: what was saved above makes a frame of it, for dumps. */
.macro save_context
	leaq	9f(%rip), %rax
	leaq	40(%rsp), %r8
	movq	%r8, -16(%rsp)
	movq	%rax, -8(%rsp)
	leaq	-16(%rsp), %rax
	movq	%rax, (%rdi)
.endm

/* void *wf_ctx_call(void **save_sp %rdi, void *top %rsi, void *(*fn)(void *) %rdx, void *pass %rcx) */
	.globl	wf_ctx_call
	.hidden	wf_ctx_call
	.type	wf_ctx_call, @function
	.p2align 5
wf_ctx_call:
	.cfi_startproc
	save_callee_saved
	save_context
	movq	%rsp, %rbx		/* fn keeps it, on whichever thread it returns */
	.cfi_remember_state
	.cfi_def_cfa_register rbx
	.cfi_undefined rip		/* as in wf_ctx_start */
	movq	%rsi, %rsp
	xorl	%ebp, %ebp
	movq	%rcx, %rdi
	callq	*%rdx
	leaq	48(%rbx), %rsp		/* fn has kept the others too */
	movq	40(%rbx), %rbp
	movq	32(%rbx), %rbx
	.cfi_def_cfa rsp, 8
	.cfi_restore rip
	.cfi_restore rbp
	.cfi_restore rbx
	.cfi_restore r12
	.cfi_restore r13
	.cfi_restore r14
	.cfi_restore r15
	ret
	.cfi_restore_state
9:	movq	%rdx, %rax
	restore_callee_saved
	ret
	.cfi_endproc
	.size	wf_ctx_call, . - wf_ctx_call

/* void *wf_ctx_start(void **save_sp %rdi, void *top %rsi, void (*entry)(void *) %rdx, void *pass %rcx) */
	.globl	wf_ctx_start
	.hidden	wf_ctx_start
	.type	wf_ctx_start, @function
	.p2align 5
wf_ctx_start:
	.cfi_startproc
	save_callee_saved
	save_context
	.cfi_remember_state
	movq	%rsi, %rsp
	.cfi_undefined rip		/* nothing called a goroutine: unwinding ends here */
	xorl	%ebp, %ebp		/* so does a walk over frame pointers */
	movq	%rcx, %rdi
	callq	*%rdx
	ud2				/* entry never returns */
	.cfi_restore_state
9:	movq	%rdx, %rax
	restore_callee_saved
	ret
	.cfi_endproc
	.size	wf_ctx_start, . - wf_ctx_start

	.section .note.GNU-stack, "", @progbits
