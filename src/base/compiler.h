/* SPDX-License-Identifier: MIT */
/*
 * compiler.h: attributes and small language helpers; knows nothing of goroutines.
 */
#ifndef WF_BASE_COMPILER_H
#define WF_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WF_CACHE_LINE = 64 }; /* bytes; x86-64 and the aarch64 cores in use */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define WF_NOINLINE __attribute__((noinline))
#ifdef __clang__ /* makes no variants of a function for the arguments it finds */
#define WF_NOCLONE WF_NOINLINE
#else
#define WF_NOCLONE __attribute__((noinline, noclone))
#endif
#define WF_FLATTEN      __attribute__((flatten)) /* what it calls is inlined, if it can be */
#define WF_COLD         __attribute__((noinline, cold))
#define WF_INLINE       static inline __attribute__((always_inline))
#define WF_NORETURN     __attribute__((noreturn))
#define WF_UNUSED       __attribute__((unused))
#define WF_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define WF_ALIGNED(n)   __attribute__((aligned(n)))
#define WF_EXPORT       __attribute__((visibility("default")))
/* A variable of ours in another file: it is reached without a table of addresses. */
#ifdef WF_SIM
#define WF_EXTERN extern /* some models leave parts of the library out */
#else
#define WF_EXTERN extern __attribute__((visibility("hidden")))
#endif

/* Code that reads or leaves stacks behind the sanitizers' backs. */
#define WF_NO_ASAN __attribute__((no_sanitize("address")))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define countof(a)                      (sizeof(a) / sizeof((a)[0]))

/* Words that a later version may give a meaning. */
static inline bool
wf_all_zero(const uintptr_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] != 0)
			return false;
	return true;
}

/* A seeded bug for the model tests: false, and gone, in every other build. */
#ifdef WF_SIM
extern int wf_mutant;
#define WF_MUTANT(id) (wf_mutant == (id))
#else
#define WF_MUTANT(id) false
#endif

#endif
