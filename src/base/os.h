/* SPDX-License-Identifier: MIT */
/*
 * os.h: every system call of the library, and the only place that sees errno.
 *
 * Results are 0 or positive, or -errno. Two implementations: base/os.c (production; with
 * WF_FAULT its calls can be told to fail) and tests/model/os_sim.c (the explorer's kernel).
 */
#ifndef WF_BASE_OS_H
#define WF_BASE_OS_H

#include "base/atomic.h"

/* ---- futex: may return early for no reason; callers re-check their word */
int os_futex_wait(wf_a32 *word, uint32_t value, int64_t timeout_ns);     /* < 0: no limit */
int os_futex_wait_until(wf_a32 *word, uint32_t value, int64_t until_ns); /* by os_now_ns */
#ifdef WF_TSAN
enum { OS_TSAN_NAP_NS = 20000000 };
void os_tsan_signals(void); /* the handlers that TSan has put off run now */
#else
#define os_tsan_signals() ((void)0)
#endif
int os_futex_wake(wf_a32 *word, int count);

/* ---- threads */
int os_thread_start(void *(*fn)(void *), void *arg); /* detached, all signals blocked */
/* By such a thread, when it is set up: it cannot be cancelled, and takes the signals that the caller
   of os_signals_remember took, or none but faults. */
void os_thread_begin(bool signals);
void os_signals_remember(void);
bool os_cancellable(bool may); /* may the calling thread be cancelled? what it was */
bool os_thread_gone(int tid);  /* no thread of the process has this number any more */
int os_tid(void);
void os_thread_name(const char *name);
int os_thread_count(void);         /* threads of the process, or -errno where /proc is missing */
void os_thread_on_exit(void *arg); /* the exit hook will be called with arg on this thread */
int os_thread_exit_hook(void (*hook)(void *arg)); /* once, at start */
void os_yield(void);
int os_cpu_count(void); /* CPUs this process may use: its affinity */
int *os_errno_address(void);
void os_stack_bounds(const void **lo, size_t *bytes); /* of the calling thread's own stack */
int os_on_fork_child(void (*fn)(void));

/* ---- memory; addresses are page-aligned */
size_t os_page_bytes(void);
int os_reserve(size_t bytes, size_t align,
	       void **out); /* readable, writable, not counted until touched */
void os_release(void *addr, size_t bytes);
int os_discard(void *addr, size_t bytes); /* give the pages back; they read as zero */
/* The same part of each of n blocks. */
void os_discard_each(void *const *at, uint32_t n, size_t offset, size_t bytes);
#ifdef WF_TSAN
void os_renew(void *addr, size_t bytes); /* fresh pages that TSan has never seen used */
#endif
int os_guard(void *addr, size_t bytes); /* MADV_GUARD_INSTALL: no extra mapping */
/* At the start of each of n blocks, in one call. False: some have none, os_guard is to be asked. */
bool os_guard_each(void *const *at, uint32_t n, size_t bytes);
int os_protect_none(void *addr, size_t bytes);
void os_hint_hugepage(void *addr, size_t bytes, bool yes);
int os_resident(void *addr, size_t pages, unsigned char *vec); /* mincore */
void os_name_memory(void *addr, size_t bytes, const char *name);

/* ---- ordering: heavy half of light_barrier() */
int os_membarrier_register(void);
void os_membarrier(void);

/* ---- clock */
int64_t os_now_ns(void); /* CLOCK_MONOTONIC */
void os_sleep_ns(int64_t ns);
void os_timer_slack(void); /* this thread's sleeps are not rounded for power saving */

/* ---- the rest */
int os_write_all(int fd, const void *buf, size_t bytes);
/* A descriptor to ask os_thread_blocked through, or -errno; os_close when done. */
int os_thread_watch(int tid);
int os_thread_blocked(int fd); /* 1: it sleeps in the kernel; 0: it runs, or could; or -errno */
/* A file to read from the start: a descriptor, or -errno. os_read: bytes, 0 at the end, -errno. */
int os_open_read(const char *path);
int os_read(int fd, void *buf, size_t bytes);
void os_close(int fd);
void *os_map_file(const char *path, size_t *bytes); /* read-only; NULL: it cannot be */
/* Copies memory that may not be there: 0, or -errno and nothing is known. */
int os_peek(const void *from, void *to, size_t bytes);
const char *os_getenv(const char *name);
void os_exit(int status) __attribute__((noreturn));
int os_altstack_install(void **mem); /* for the calling thread; *mem is given back below */
void os_altstack_remove(void *mem);
typedef bool os_segv_fn(void *addr, void *ucontext); /* false: not ours, pass it on */
int os_segv_install(os_segv_fn *fn);
uintptr_t os_interrupted_fp(void *ucontext); /* frame pointer of the interrupted code */
#ifdef WF_FAULT
bool os_fault(const char *name); /* is this call told to fail? For osio.c */
#endif

#endif
