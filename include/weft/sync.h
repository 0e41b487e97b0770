/* SPDX-License-Identifier: MIT */
/* weft/sync.h: what goroutines and plain threads wait on. Static zero initialises each object. */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <weft/core.h>

#if defined(__has_feature) /* clang's way of saying __SANITIZE_THREAD__ */
#if __has_feature(thread_sanitizer) && !defined(WEFT_NO_INLINE)
#define WEFT_NO_INLINE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- wait groups: a counter that can be waited for. May be freed or reused as soon as
   weft_wg_wait has returned to everybody who called it. */
struct weft_wg {
	uint64_t word_;
};

WEFT_API void weft_wg_add(struct weft_wg *, int64_t n); /* N */
WEFT_API void weft_wg_done(struct weft_wg *);           /* N */
WEFT_API int weft_wg_wait(struct weft_wg *);            /* B; 0 or -errno */

/* ---- mutexes. weft_unlock does not touch the mutex any more once another can have locked it,
   so that one may free it. */
struct weft_mutex {
	uint64_t word_;
	uint64_t reserved_;
};

WEFT_API int weft_lock(struct weft_mutex *);        /* B; 0, whatever the scope says */
WEFT_API int weft_lock_scoped(struct weft_mutex *); /* B; 0, -ETIMEDOUT or -ECANCELED */
WEFT_API int weft_try_lock(struct weft_mutex *);    /* N; 1 locked, 0 not */
WEFT_API void weft_unlock(struct weft_mutex *);     /* N */

/* The short ways: a free mutex is locked, and one that nobody waits for unlocked, in the caller. A lock
   guesses what the word is, for to read it first takes longer; unless somebody waits for some mutex,
   or did a moment ago, for then the guess is often wrong. Otherwise, in the calm, an unlock is a store
   and a second look. The word holds an address of the caller's frame: enough to find out, in a
   report, which goroutine has it. */
extern WEFT_API uint64_t
    weft_mutex_waits_word[8]; /* the first is 0: the calm. A cache line of its own */
WEFT_API int weft_lock_slow_(struct weft_mutex *, uint64_t here);
WEFT_API void weft_unlock_slow_(struct weft_mutex *);
WEFT_API void weft_unlock_late_(struct weft_mutex *);
#define WEFT_HERE_ ((uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(15))

#if !defined(WEFT_NO_INLINE) && !defined(__SANITIZE_THREAD__)
extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) int
weft_lock(struct weft_mutex *mx)
{
	uint64_t w = 0;

	if (__builtin_expect(__atomic_load_n(&weft_detour_word, __ATOMIC_RELAXED) != 0, 0))
		return weft_lock_slow_(mx, WEFT_HERE_);
	if (__builtin_expect(__atomic_load_n(weft_mutex_waits_word, __ATOMIC_RELAXED) != 0, 0))
		w = __atomic_load_n(&mx->word_, __ATOMIC_RELAXED);
	while (w <= 7) /* free: no holder stands above the flags */
		if (__builtin_expect(__atomic_compare_exchange_n(&mx->word_, &w, w | WEFT_HERE_, 0,
								 __ATOMIC_ACQUIRE,
								 __ATOMIC_RELAXED),
				     1))
			return 0;
	return weft_lock_slow_(mx, WEFT_HERE_);
}

extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) void
weft_unlock(struct weft_mutex *mx)
{
	uint64_t w = __atomic_load_n(&mx->word_, __ATOMIC_RELAXED), flags;

	if (__builtin_expect(__atomic_load_n(weft_mutex_waits_word, __ATOMIC_RELAXED) == 0 &&
				 w > 7 && (w & 7) == 0,
			     1)) {
		__atomic_store_n(&mx->word_, 0, __ATOMIC_RELEASE);
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* who waits sees to the rest */
		if (__builtin_expect(__atomic_load_n(weft_mutex_waits_word, __ATOMIC_RELAXED) != 0,
				     0))
			weft_unlock_late_(mx);
		return;
	}
	flags =
	    w ^ WEFT_HERE_; /* if we have it: 0: nobody waits; 2 and 3: somebody is awake for it */
	if (__builtin_expect(flags > 3 || flags == 1 ||
				 !__atomic_compare_exchange_n(&mx->word_, &w, flags, 0,
							      __ATOMIC_RELEASE, __ATOMIC_RELAXED),
			     0))
		weft_unlock_slow_(mx);
}
#endif

/* ---- locks that many readers or one writer hold */
struct weft_rwmutex {
	uint64_t word_;
	uint64_t writer_;
	uint64_t reserved_[2];
};

WEFT_API int weft_rlock(struct weft_rwmutex *);        /* B; 0, whatever the scope says */
WEFT_API int weft_rlock_scoped(struct weft_rwmutex *); /* B; 0, -ETIMEDOUT or -ECANCELED */
WEFT_API int weft_try_rlock(struct weft_rwmutex *);    /* N; 1 locked, 0 not */
WEFT_API void weft_runlock(struct weft_rwmutex *);     /* N */
WEFT_API int weft_wlock(struct weft_rwmutex *);        /* B; 0, whatever the scope says */
WEFT_API int weft_wlock_scoped(struct weft_rwmutex *); /* B; 0, -ETIMEDOUT or -ECANCELED */
WEFT_API int weft_try_wlock(struct weft_rwmutex *);    /* N; 1 locked, 0 not */
WEFT_API void weft_wunlock(struct weft_rwmutex *);     /* N */

/* ---- condition variables. weft_wait unlocks the mutex, waits for a signal, and has locked the
   mutex again when it returns, also when it returns -ETIMEDOUT or -ECANCELED. */
struct weft_cond {
	uint64_t word_;
};

WEFT_API int weft_wait(struct weft_cond *, struct weft_mutex *); /* B; 0 or -errno */
WEFT_API void weft_signal(struct weft_cond *);                   /* N; wakes one waiter */
WEFT_API void weft_broadcast(struct weft_cond *);                /* N; wakes every waiter */

/* ---- semaphores; a zero one has nothing to acquire until somebody releases */
struct weft_sem {
	uint64_t word_;
	uint64_t reserved_;
};

WEFT_API int weft_sem_init(struct weft_sem *, int64_t n);    /* N; 0 or -EINVAL */
WEFT_API int weft_acquire(struct weft_sem *, int64_t n);     /* B; 0 or -errno */
WEFT_API int weft_try_acquire(struct weft_sem *, int64_t n); /* N; 1 acquired, 0 not */
WEFT_API void weft_release(struct weft_sem *, int64_t n);    /* N */

/* ---- what is done once. Every caller returns after fn is done, with the result of fn. */
struct weft_once {
	uint64_t word_;
	int result_;
	int reserved_;
};

#ifdef __cplusplus /* a function may share the name of a struct; g++ remarks on it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
WEFT_API int weft_once(struct weft_once *, int (*fn)(void)); /* B */
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* ---- barriers: n callers wait for each other, again and again. A waiter that leaves early, by
   its scope, is not counted. */
struct weft_barrier {
	uint64_t word_;
	uint64_t word2_;
};

WEFT_API int weft_barrier_init(struct weft_barrier *, int64_t n); /* N; 0 or -EINVAL */
WEFT_API int weft_barrier_wait(struct weft_barrier *); /* B; 1 for one of them, 0 or -errno */

#ifdef __cplusplus
}
#else
/* Adds one, starts fn, and counts down when fn returns. */
#define weft_wg_go(wg, ...) WEFT_GO_(NULL, wg, __VA_ARGS__, ) /* N */
#endif

#endif
