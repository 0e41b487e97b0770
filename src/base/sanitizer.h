/* SPDX-License-Identifier: MIT */
/*
 * sanitizer.h: what the sanitizers must be told when a thread changes its stack. Empty in every
 * other build. The library itself is not instrumented by TSan: only what happens between
 * goroutines is reported to it, so that a switch hides no race of the program (no
 * happens-before edge but spawn, ready and the sync objects).
 */
#ifndef WF_BASE_SANITIZER_H
#define WF_BASE_SANITIZER_H

#include "base/compiler.h"

#if defined(__SANITIZE_ADDRESS__)
#define WF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WF_ASAN 1
#endif
#endif

#ifdef WF_ASAN
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(const volatile void *addr, size_t size);
#define wf_asan_leave(save, lo, bytes)  __sanitizer_start_switch_fiber(save, lo, bytes)
#define wf_asan_arrive(save, lo, bytes) __sanitizer_finish_switch_fiber(save, lo, bytes)
#define wf_asan_unpoison(lo, bytes)     __asan_unpoison_memory_region(lo, bytes)
void __lsan_register_root_region(const void *addr, size_t bytes);
/* What is reachable from here is no leak: our records and the goroutines' stacks are mapped. */
#define wf_lsan_root(addr, bytes) __lsan_register_root_region(addr, bytes)
#else
#define wf_asan_leave(save, lo, bytes)  ((void)0)
#define wf_asan_arrive(save, lo, bytes) ((void)0)
#define wf_asan_unpoison(lo, bytes)     ((void)0)
#define wf_lsan_root(addr, bytes)       ((void)0)
#endif

/* Valgrind guesses switches from large changes of the stack pointer; a registered stack it knows.
   The macro is a few no-op instructions outside Valgrind. */
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define wf_valgrind_stack(lo, hi) ((void)VALGRIND_STACK_REGISTER(lo, hi))
#endif
#endif
#ifndef wf_valgrind_stack
#define wf_valgrind_stack(lo, hi) ((void)(lo), (void)(hi))
#endif

#ifdef WF_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define WF_STACK_TAKEN_OVER    false /* each goroutine is a fiber of its own */
#define wf_tsan_current()      __tsan_get_current_fiber()
#define wf_tsan_create()       __tsan_create_fiber(0)
#define wf_tsan_destroy(fiber) __tsan_destroy_fiber(fiber)
#define wf_tsan_switch(fiber)  __tsan_switch_to_fiber(fiber, 1) /* 1: no synchronisation */
#define wf_tsan_acquire(addr)  __tsan_acquire(addr)
#define wf_tsan_release(addr)  __tsan_release(addr)
#else
#define WF_STACK_TAKEN_OVER    true /* a goroutine may go on on the stack of the one before it */
#define wf_tsan_current()      NULL
#define wf_tsan_create()       NULL
#define wf_tsan_destroy(fiber) ((void)(fiber))
#define wf_tsan_switch(fiber)  ((void)(fiber))
#define wf_tsan_acquire(addr)  ((void)(addr))
#define wf_tsan_release(addr)  ((void)(addr))
#endif

#endif
