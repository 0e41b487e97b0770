/* SPDX-License-Identifier: MIT */
/* weft/core.h: run, go, yield, procs, statistics and goroutine-locals. */
#ifndef WEFT_CORE_H
#define WEFT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION       "0.1.0"

#define WEFT_API __attribute__((visibility("default")))

#define WEFT_US  INT64_C(1000)
#define WEFT_MS  INT64_C(1000000)
#define WEFT_SEC INT64_C(1000000000)

#define WEFT_ARG_MAX 128 /* bytes of a goroutine's argument struct */

/* "file:line" of the place that uses a macro */
#define WEFT_WHERE_      __FILE__ ":" WEFT_TEXT_(__LINE__)
#define WEFT_TEXT_(...)  WEFT_TEXT2_(__VA_ARGS__)
#define WEFT_TEXT2_(...) #__VA_ARGS__

/* ---- records the macros fill in; fields ending in _ belong to the library */

/* One per place in the source that starts goroutines. */
struct weft_site {
	int (*fn)(void *arg);
	const char *name; /* of fn */
	const char *file;
	int line;
	uint32_t stack_used_; /* most stack that a sampled goroutine of this site has used, bytes */
	struct weft_site *next_;
};

enum weft_prio {
	WEFT_NORMAL = 0,
	WEFT_URGENT = 1, /* started or woken, it runs before the normal ones that are queued */
	WEFT_IDLE = 2,   /* runs when a P would otherwise idle, or once it has waited long */
};

struct weft_attr {
	size_t stack_bytes; /* 0: the default; rounded up to a power of two, guard included */
	const char *name;   /* shown in dumps; must outlive the goroutine */
	int prio;           /* enum weft_prio */
	unsigned save;      /* WEFT_SAVE_ bits: thread state that follows the goroutine */
	uintptr_t reserved_[4];
};
#define WEFT_SAVE_FP  1u /* floating-point control: rounding mode, exception masks */
#define WEFT_SAVE_CXX 2u /* C++ exceptions in flight: needed to yield inside a catch block */

struct weft_config {
	int procs;          /* goroutines that run at once; 0: the CPUs this process may use */
	size_t stack_bytes; /* default stack, 0: 256 KiB */
	int max_threads;    /* 0: 10000 */
	int main_thread;    /* 1: goroutine 1 stays on the thread that calls weft_run */
	uint64_t seed;      /* of every random choice; 0: taken from the clock */
	uintptr_t reserved_[8];
};

struct weft_proc_stats {
	uint64_t spawned;       /* goroutines started */
	uint64_t exited;        /* goroutines ended */
	uint64_t switches;      /* goroutine to goroutine, or from the scheduler to one */
	uint64_t steals;        /* successful steals by this P ... */
	uint64_t stolen;        /* ... and the goroutines they brought */
	uint64_t parks;         /* goroutines that began to wait */
	uint64_t readies;       /* goroutines made runnable again */
	uint64_t wakes;         /* idle Ps given a thread */
	uint64_t spins;         /* times a thread began to look for work */
	uint64_t futexes;       /* futex calls to sleep and to wake threads */
	uint64_t overflows;     /* batches moved from the full local queue to the global one */
	uint64_t retakes;       /* times this P was taken from code that kept it */
	uint64_t handoffs;      /* times this P was given up by a blocking section */
	uint64_t stacks_cached; /* free stacks kept here */
};

struct weft_stats {
	size_t size; /* set by the caller to sizeof(struct weft_stats) */
	int procs;
	int idle_procs;
	int threads;
	int idle_threads;
	int spinning;
	int64_t goroutines;
	int64_t runqueue; /* goroutines in the global queues, those of the classes included */
	uint64_t stacks_in_use;
	uint64_t stacks_cached;           /* in all caches and the depot */
	struct weft_proc_stats total;     /* all Ps, and the threads that had none */
	struct weft_proc_stats *per_proc; /* NULL, or room for per_proc_max of them */
	int per_proc_max;
	uintptr_t reserved_[8];
};

struct weft_wg;

/* ---- the untyped functions under the macros, for other languages too */
WEFT_API int weft_run_site(struct weft_site *, const void *arg, size_t bytes); /* B */
WEFT_API int64_t weft_spawn(struct weft_site *, const struct weft_attr *, struct weft_wg *,
			    const void *arg, size_t bytes); /* N */
WEFT_API void weft_checkpoint_slow(void);
WEFT_API void weft_blocking_enter(void); /* N */
WEFT_API void weft_blocking_leave(void); /* B */

/* ---- run */
WEFT_API int weft_configure(const struct weft_config *); /* N; before weft_run; -EBUSY inside */
WEFT_API int weft_procs(void);                           /* N */
WEFT_API int weft_set_procs(int n);                      /* B; the old number, -EINVAL or -ENOMEM */
WEFT_API const char *weft_version(void);                 /* N */

/* ---- goroutines */
WEFT_API void weft_yield(void);                            /* B */
WEFT_API void weft_exit(int rc) __attribute__((noreturn)); /* B; ends this goroutine */
WEFT_API int64_t weft_id(void);                            /* N; 0 outside a goroutine */
WEFT_API int64_t weft_count(void);                         /* N */
/* This goroutine runs on its thread alone, and that thread runs no other, until as many unlocks
   have followed. If it ends locked, so does the thread. On a plain thread both do nothing. */
WEFT_API int weft_lock_thread(void);   /* B; 0 or -EAGAIN: no thread is left for the others */
WEFT_API int weft_unlock_thread(void); /* B; 0 or -EPERM: it was not locked */

extern WEFT_API uint32_t weft_preempt_word, weft_detour_word;

/* Lets a long computation give way: one load of a process-wide word unless somebody waits. */
static inline void
weft_checkpoint(void) /* B */
{
	if (__builtin_expect(__atomic_load_n(&weft_preempt_word, __ATOMIC_RELAXED) != 0, 0))
		weft_checkpoint_slow();
}

/* ---- see */
#ifdef __cplusplus /* a function may share the name of a struct; g++ remarks on it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
WEFT_API int weft_stats(struct weft_stats *); /* N */
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
WEFT_API void weft_dump(int fd); /* B */

/* ---- goroutine-locals */
struct weft_local_key {
	size_t bytes;
	uint32_t index_; /* 0 until first used */
};
WEFT_API void *weft_local_get(struct weft_local_key *); /* N; never NULL */

#ifdef __cplusplus
}
#else

/*
 * weft_go(fn, args...) starts fn as a goroutine and returns its id >= 1, or -errno. fn is the
 * name of a function that takes a pointer to the struct of the same name, or (void), and returns
 * int. The arguments initialise that struct; the goroutine gets a copy.
 */
#define weft_go(...)            WEFT_GO_(NULL, NULL, __VA_ARGS__, )
#define weft_go_with(attr, ...) WEFT_GO_(attr, NULL, __VA_ARGS__, )
#define WEFT_ATTR(...)          (&(const struct weft_attr){__VA_ARGS__})
#define weft_run(...)           WEFT_RUN_(__VA_ARGS__, )

/*
 * weft_blocking stmt; says that stmt, a statement or a block, will block its thread: the others get
 * its processor beforehand, not only when the monitor sees it. Left by }, break, continue, goto or
 * return; break and continue end only the section. Library calls inside are allowed.
 */
#define weft_blocking           WEFT_BLOCKING_(__COUNTER__)

#define WEFT_BLOCKING_(n) WEFT_BLOCKING2_(n)
#define WEFT_BLOCKING2_(n)                                                                         \
	for (char weft_blocking_##n __attribute__((cleanup(weft_blocking_end_))),                  \
	     *weft_enter_##n __attribute__((unused)) = __extension__({                             \
		     weft_blocking_enter();                                                        \
		     goto weft_body_##n;                                                           \
		     &weft_blocking_##n;                                                           \
	     });                                                                                   \
	     (0);)                                                                                 \
	weft_body_##n:

static inline void
weft_blocking_end_(char *section)
{
	(void)section;
	weft_blocking_leave();
}

/* At file scope: *name() is this goroutine's T (or this thread's); zero at first, copied to
   the goroutines it starts. */
#define weft_local(T, name)                                                                        \
	static struct weft_local_key weft_key_##name = {.bytes = sizeof(T)};                       \
	__attribute__((unused)) static __typeof__(T) *name(void)                                   \
	{                                                                                          \
		return (__typeof__(T) *)weft_local_get(&weft_key_##name);                          \
	}                                                                                          \
	_Static_assert(_Alignof(T) <= 16, "weft_local: alignment above 16")

struct weft_none { /* the arguments of a function that takes none */
	char none_;
};

#define WEFT_GO_(attr, wg, ...)                      WEFT_CALL_(__COUNTER__, WEFT_SPAWN_CALL_, attr, wg, __VA_ARGS__)
#define WEFT_RUN_(...)                               WEFT_CALL_(__COUNTER__, WEFT_RUN_CALL_, NULL, NULL, __VA_ARGS__)
#define WEFT_CALL_(n, ...)                           WEFT_CALL2_(n, __VA_ARGS__)
#define WEFT_SPAWN_CALL_(site, attr, wg, arg, bytes) weft_spawn(site, attr, wg, arg, bytes)
#define WEFT_RUN_CALL_(site, attr, wg, arg, bytes)   weft_run_site(site, arg, bytes)
#define WEFT_ARGS_OF_(f)                                                                           \
	__typeof__(*_Generic(&(f), int (*)(void) : (struct weft_none *)0, default : (struct f *)0))

#define WEFT_CALL2_(n, call, attr, wg, f, ...)                                                     \
	__extension__({                                                                            \
		(void)sizeof(struct f *);                                                          \
		_Static_assert(                                                                    \
		    __builtin_types_compatible_p(__typeof__(&(f)), int (*)(void)) ||               \
			__builtin_types_compatible_p(__typeof__(&(f)), int (*)(struct f *)),       \
		    "weft: " #f " must be int " #f "(struct " #f " *) or int " #f "(void)");       \
		_Static_assert(!__builtin_types_compatible_p(__typeof__(&(f)), int (*)(void)) ||   \
				   sizeof(#__VA_ARGS__) == 1,                                      \
			       "weft: " #f " takes no arguments");                                 \
		_Static_assert(sizeof(WEFT_ARGS_OF_(f)) <= WEFT_ARG_MAX,                           \
			       "weft: struct " #f " is larger than WEFT_ARG_MAX; pass a pointer"); \
		_Static_assert(_Alignof(WEFT_ARGS_OF_(f)) <= 16,                                   \
			       "weft: struct " #f " is aligned to more than 16; pass a pointer");  \
		static struct weft_site weft_site_##n = {.fn =                                     \
							     (int (*)(void *))(void (*)(void))(f), \
							 .name = #f,                               \
							 .file = __FILE__,                         \
							 .line = __LINE__};                        \
		_Pragma("GCC diagnostic push")                                                     \
		    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")             \
			const WEFT_ARGS_OF_(f) weft_args_##n = {__VA_ARGS__};                      \
		_Pragma("GCC diagnostic pop")                                                      \
		    call(&weft_site_##n, attr, wg, &weft_args_##n, sizeof(weft_args_##n));         \
	})

#endif /* __cplusplus */
#endif
