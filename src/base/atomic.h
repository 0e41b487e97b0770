/* SPDX-License-Identifier: MIT */
/*
 * atomic.h: every atomic of the library, the memory order in each name.
 *
 * An atomic word is a struct around a plain value, so that a plain access does not compile by
 * accident. Three back ends stand behind the same names:
 *   production   the compiler's builtins, nothing else
 *   WF_CHAOS     the same, with a random delay or yield before some of them (torture build)
 *   WF_SIM       each operation is a choice point of the interleaving explorer (tests/model),
 *                which gives stores a buffer: a store that is not a release may be delayed past
 *                later ones, fence_seq and read-modify-writes drain it, membarrier drains all
 *
 * fence_rmw() is fence_seq() for use right after a read-modify-write, which on x86 is one already.
 *
 * light_barrier() is the cheap half of the asymmetric pair whose heavy half is
 * os_membarrier(): it stops the compiler only.
 */
#ifndef WF_BASE_ATOMIC_H
#define WF_BASE_ATOMIC_H

#include "base/compiler.h"

/* As the builtins have it, an atomic may be part of an object of another type. */
typedef uint8_t __attribute__((may_alias)) wf_u8_;
typedef uint32_t __attribute__((may_alias)) wf_u32_;
typedef uint64_t __attribute__((may_alias)) wf_u64_;
typedef void *__attribute__((may_alias)) wf_ptr_;

typedef struct {
	wf_u8_ v;
} wf_a8;
typedef struct {
	wf_u32_ v;
} wf_a32;
typedef struct {
	wf_u64_ v;
} wf_a64;
typedef struct {
	wf_ptr_ v;
} wf_aptr;

#if defined(WF_SIM)

enum sim_order { SIM_RLX, SIM_ACQ, SIM_REL, SIM_AR };
enum sim_op { SIM_XCHG, SIM_ADD, SIM_AND, SIM_OR };
uint64_t sim_load(const void *addr, unsigned bytes, enum sim_order);
void sim_store(void *addr, unsigned bytes, uint64_t value, enum sim_order);
uint64_t sim_rmw(void *addr, unsigned bytes, enum sim_op, uint64_t operand);
bool sim_cas(void *addr, unsigned bytes, uint64_t *expected, uint64_t desired);
void sim_fence(void);
void sim_light(void);
void sim_relax(void);

#define WF_AT_T(a)         __typeof__((a)->v)
#define WF_LOAD_(a, o)     ((WF_AT_T(a))(uintptr_t)sim_load(&(a)->v, sizeof((a)->v), o))
#define WF_STORE_(a, x, o) sim_store(&(a)->v, sizeof((a)->v), (uint64_t)(uintptr_t)(x), o)
#define WF_RMW_(op, a, x)                                                                          \
	((WF_AT_T(a))(uintptr_t)sim_rmw(&(a)->v, sizeof((a)->v), op, (uint64_t)(uintptr_t)(x)))
#define at_load_rlx(a)       WF_LOAD_(a, SIM_RLX)
#define at_load_acq(a)       WF_LOAD_(a, SIM_ACQ)
#define at_store_rlx(a, x)   WF_STORE_(a, x, SIM_RLX)
#define at_store_rel(a, x)   WF_STORE_(a, x, SIM_REL)
#define at_xchg_acqrel(a, x) WF_RMW_(SIM_XCHG, a, x)
#define at_add_acqrel(a, x)  WF_RMW_(SIM_ADD, a, x)
#define at_add_rlx(a, x)     WF_RMW_(SIM_ADD, a, x)
#define at_and_acqrel(a, x)  WF_RMW_(SIM_AND, a, x)
#define at_or_acqrel(a, x)   WF_RMW_(SIM_OR, a, x)
#define at_cas_acqrel(a, expected, x)                                                              \
	__extension__({                                                                            \
		uint64_t wf_e_ = (uint64_t)(uintptr_t) * (expected);                               \
		bool wf_ok_ = sim_cas(&(a)->v, sizeof((a)->v), &wf_e_, (uint64_t)(uintptr_t)(x));  \
		*(expected) = (WF_AT_T(a))(uintptr_t)wf_e_;                                        \
		wf_ok_;                                                                            \
	})
#define fence_seq()     sim_fence()
#define fence_rmw()     sim_fence()
#define light_barrier() sim_light()
#define cpu_relax()     sim_relax()

#else /* production and chaos */

#ifdef WF_CHAOS
void wf_chaos_point(void);
#else
#define wf_chaos_point() ((void)0)
#endif

#ifdef WF_TSAN
#define at_load_rlx(a)     (wf_chaos_point(), __atomic_load_n(&(a)->v, __ATOMIC_RELAXED))
#define at_store_rlx(a, x) (wf_chaos_point(), __atomic_store_n(&(a)->v, x, __ATOMIC_RELAXED))
#else
/* The same for both compilers, but gcc computes an address apart for its builtins. */
#define WF_WORD_(a)        (*(volatile __typeof__((a)->v) *)&(a)->v)
#define at_load_rlx(a)     (wf_chaos_point(), WF_WORD_(a))
#define at_store_rlx(a, x) (wf_chaos_point(), (void)(WF_WORD_(a) = (x)))
#endif
#define at_load_acq(a)       (wf_chaos_point(), __atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE))
#define at_store_rel(a, x)   (wf_chaos_point(), __atomic_store_n(&(a)->v, x, __ATOMIC_RELEASE))
#define at_xchg_acqrel(a, x) (wf_chaos_point(), __atomic_exchange_n(&(a)->v, x, __ATOMIC_ACQ_REL))
#define at_add_acqrel(a, x)  (wf_chaos_point(), __atomic_fetch_add(&(a)->v, x, __ATOMIC_ACQ_REL))
#define at_add_rlx(a, x)     (wf_chaos_point(), __atomic_fetch_add(&(a)->v, x, __ATOMIC_RELAXED))
#define at_and_acqrel(a, x)  (wf_chaos_point(), __atomic_fetch_and(&(a)->v, x, __ATOMIC_ACQ_REL))
#define at_or_acqrel(a, x)   (wf_chaos_point(), __atomic_fetch_or(&(a)->v, x, __ATOMIC_ACQ_REL))
#define at_cas_acqrel(a, expected, x)                                                              \
	(wf_chaos_point(), __atomic_compare_exchange_n(&(a)->v, expected, x, false,                \
						       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
#define fence_seq()     (wf_chaos_point(), __atomic_thread_fence(__ATOMIC_SEQ_CST))
#define light_barrier() (wf_chaos_point(), __atomic_signal_fence(__ATOMIC_SEQ_CST))

#if defined(__x86_64__)
#define fence_rmw() light_barrier()
#else
#define fence_rmw() fence_seq()
#endif

#if defined(__x86_64__)
#define cpu_relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define cpu_relax() __asm__ volatile("isb" ::: "memory") /* yield is a no-op on many cores */
#else
#define cpu_relax() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif

#endif /* back ends */

/* A counter that one thread writes and others read: a load and a store, no locked instruction. */
#if defined(__x86_64__) && !defined(WF_SIM) && !defined(WF_TSAN)
#define at_bump(a, n)                                                                              \
	__extension__({                                                                            \
		wf_chaos_point();                                                                  \
		_Static_assert(sizeof((a)->v) >= 4, "a counter");                                  \
		if (sizeof((a)->v) == 8)                                                           \
			__asm__("addq %1, %0" : "+m"((a)->v) : "er"((uint64_t)(n)) : "cc");        \
		else                                                                               \
			__asm__("addl %1, %0" : "+m"((a)->v) : "er"((uint32_t)(n)) : "cc");        \
	})
#else
#define at_bump(a, n) at_store_rlx(a, at_load_rlx(a) + (n))
#endif

#endif
