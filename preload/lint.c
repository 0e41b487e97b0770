/* SPDX-License-Identifier: MIT */
/*
 * lint.c: libweft-lint.so, loaded by LD_PRELOAD: stands before the pthread locks, and remembers for
 * each thread which ones it holds and where they were locked. libweft asks for them when a goroutine
 * stops running (src/obs/lintlock.c).
 *
 * A wait for a condition unlocks and locks again in one call, which parks no goroutine in between:
 * there is nothing to do for it.
 */
#define _GNU_SOURCE 1
#include "obs/lintlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* The thread's: no switch of goroutines happens while this file runs. */
static __thread struct {
	struct weft_lint_lock lock[WEFT_LINT_LOCKS]; /* oldest first */
	int n;
} mine __attribute__((tls_model("initial-exec")));

static void (*told)(int n);

static void
tell(void)
{
	void (*holds)(int) = __atomic_load_n(&told, __ATOMIC_ACQUIRE);

	if (holds)
		holds(mine.n);
}

static void
locked(const void *lock, const void *where)
{
	if (mine.n == WEFT_LINT_LOCKS) { /* the oldest is the least likely to be the mistake */
		memmove(mine.lock, mine.lock + 1, sizeof(mine.lock) - sizeof(mine.lock[0]));
		mine.n--;
	}
	mine.lock[mine.n++] = (struct weft_lint_lock){lock, where};
	tell();
}

/* The newest entry goes: a recursive lock has several. */
static void
unlocked(const void *lock)
{
	int i = mine.n;

	while (i > 0 && mine.lock[i - 1].lock != lock)
		i--;
	if (i == 0)
		return; /* locked before we looked, or by another thread */
	memmove(&mine.lock[i - 1], &mine.lock[i], (size_t)(mine.n - i) * sizeof(mine.lock[0]));
	mine.n--;
	tell();
}

/* ---- for libweft */

EXPORT void
weft_lint_attach(void (*holds)(int n))
{
	__atomic_store_n(&told, holds, __ATOMIC_RELEASE);
}

EXPORT int
weft_lint_take(struct weft_lint_lock locks[WEFT_LINT_LOCKS])
{
	int n = mine.n;

	memcpy(locks, mine.lock, (size_t)n * sizeof(*locks));
	mine.n = 0;
	return n;
}

EXPORT void
weft_lint_give(const struct weft_lint_lock *locks, int n)
{
	memcpy(mine.lock, locks, (size_t)n * sizeof(*locks));
	mine.n = n;
}

/* ---- the pthread functions */

/* The next one of this name: libc's, or a sanitizer's. */
static void *
next(void **keep, const char *name)
{
	void *fn = __atomic_load_n(keep, __ATOMIC_RELAXED);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, name);
		if (!fn)
			abort();
		__atomic_store_n(keep, fn, __ATOMIC_RELAXED);
	}
	return fn;
}

static int
note_lock(int rc, const void *lock, const void *where)
{
	if (rc == 0 || rc == EOWNERDEAD)
		locked(lock, where);
	return rc;
}

#define LOCK(name, type, parameters, ...)                                                          \
	EXPORT int name parameters;                                                                \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		static void *keep;                                                                 \
		int(*fn) parameters = (int(*) parameters)next(&keep, #name);                       \
		return note_lock(fn(__VA_ARGS__), l, __builtin_return_address(0));                 \
	}

#define UNLOCK(name, type)                                                                         \
	EXPORT int name(type *l)                                                                   \
	{                                                                                          \
		static void *keep;                                                                 \
		int (*fn)(type *) = (int (*)(type *))next(&keep, #name);                           \
		unlocked(l); /* before another can have it */                                      \
		return fn(l);                                                                      \
	}

LOCK(pthread_mutex_lock, mutex, (pthread_mutex_t * l), l)
LOCK(pthread_mutex_trylock, mutex, (pthread_mutex_t * l), l)
LOCK(pthread_mutex_timedlock, mutex, (pthread_mutex_t * l, const struct timespec *t), l, t)
LOCK(pthread_mutex_clocklock, mutex, (pthread_mutex_t * l, clockid_t c, const struct timespec *t),
     l, c, t)
UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, rwlock, (pthread_rwlock_t * l), l)
LOCK(pthread_rwlock_tryrdlock, rwlock, (pthread_rwlock_t * l), l)
LOCK(pthread_rwlock_wrlock, rwlock, (pthread_rwlock_t * l), l)
LOCK(pthread_rwlock_trywrlock, rwlock, (pthread_rwlock_t * l), l)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
