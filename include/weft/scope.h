/* SPDX-License-Identifier: MIT */
/* weft/scope.h: groups, deadlines, shields, and clean-up at the end of a block. */
#ifndef WEFT_SCOPE_H
#define WEFT_SCOPE_H

#include <weft/core.h>
#include <weft/sync.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- records the macros put on the stack; fields ending in _ belong to the library */

enum weft_scope_kind {
	WEFT_SCOPE_GROUP,
	WEFT_SCOPE_DEADLINE,
	WEFT_SCOPE_SHIELD,
	WEFT_SCOPE_MEMBER,
};

struct weft_scope {
	struct weft_scope *up_;
	int kind_; /* enum weft_scope_kind */
	int64_t deadline_ns_;
};

struct weft_group {
	struct weft_scope scope_;
	struct weft_wg wg_;
	int *rc_out_;
	const char *where_;
	uintptr_t private_[14];
};

/* ---- the untyped functions under the macros, for other languages too. Scopes are closed in the
   reverse order of opening, by the goroutine or thread that opened them. */
WEFT_API struct weft_group *weft_group_open(struct weft_group *, int *rc,
					    const char *where); /* N */
WEFT_API void weft_group_close(struct weft_group *);            /* B; waits for every child */
WEFT_API void weft_scope_open_deadline(struct weft_scope *, int64_t abs_ns); /* N */
WEFT_API void weft_scope_open_timeout(struct weft_scope *, int64_t ns);      /* N */
WEFT_API void weft_scope_open_shield(struct weft_scope *);                   /* N */
WEFT_API void weft_scope_close(struct weft_scope *);                         /* N */
WEFT_API int64_t weft_spawn_in(struct weft_site *, const struct weft_attr *, struct weft_group *,
			       const void *arg, size_t bytes); /* N; B when limited */

/* ---- groups */
WEFT_API int weft_cancel(struct weft_group *); /* N */
WEFT_API bool weft_cancelled(void);            /* N */

/* At most n children at once; weft_go_in then waits for one to end. 0: no limit. Before the first
   child. */
WEFT_API int weft_group_limit(struct weft_group *, int n); /* N; 0, -EINVAL or -EBUSY */

/* ---- clean-up at the end of a block */

/* weft_autofd int fd = ...; closes fd, if it is >= 0, when the block of fd ends.
   weft_autofree char *p = ...; frees p when the block of p ends. */
#define weft_autofd   __attribute__((cleanup(weft_autofd_end_), unused))
#define weft_autofree __attribute__((cleanup(weft_autofree_end_), unused))

WEFT_API int weft_close_fd(int fd); /* B; see weft/io.h */

static inline void
weft_autofd_end_(int *fd)
{
	if (*fd >= 0)
		(void)weft_close_fd(*fd);
}

static inline void
weft_autofree_end_(void *at) /* of a pointer of any type */
{
	void *p;

	__builtin_memcpy(&p, at, sizeof(p));
	__builtin_free(p);
}

#ifdef __cplusplus
}
#else

/*
 * The scopes are statements: weft_timeout(ns) { ... }. They are left by }, break, continue, goto
 * or return; break and continue end only the scope. They nest, and the nearest deadline wins. To
 * enter one is N; to leave a group is B.
 *
 * weft_timeout(ns), weft_deadline(abs_ns): blocking calls inside return -ETIMEDOUT when it passes.
 * weft_shield: blocking calls inside know of no cancellation and no deadline outside.
 * weft_group(g, &rc): g is a struct weft_group *. Leaving the block waits for every goroutine
 * that weft_go_in(g, fn, args...) started. The first that returns < 0 sets rc and cancels the
 * rest; rc, which may be NULL instead, is written when the block has been left.
 */
#define weft_timeout(ns)      WEFT_SCOPE_(__COUNTER__, weft_scope_open_timeout, , ns)
#define weft_deadline(abs_ns) WEFT_SCOPE_(__COUNTER__, weft_scope_open_deadline, , abs_ns)
#define weft_shield           WEFT_SCOPE_(__COUNTER__, weft_scope_open_shield, )
#define weft_group(g, rc)     WEFT_GROUP_(__COUNTER__, g, rc)

/* N; B when the group is limited. As weft_go: the id, or -errno. */
#define weft_go_in(g, ...)    WEFT_GO_IN_(g, __VA_ARGS__, )

/*
 * weft_defer(fn, ptr); calls fn(ptr) when the enclosing block ends; ptr is evaluated at once. fn
 * takes a pointer to an object of any type and returns anything.
 */
#define weft_defer(fn, ptr)   WEFT_DEFER_(__COUNTER__, fn, ptr)

#define WEFT_GO_IN_(g, ...) WEFT_CALL_(__COUNTER__, WEFT_SPAWN_IN_CALL_, NULL, g, __VA_ARGS__)
#define WEFT_SPAWN_IN_CALL_(site, attr, group, arg, bytes)                                         \
	weft_spawn_in(site, attr, group, arg, bytes)

/*
 * A for statement is the one place where a macro can declare a variable for the statement that
 * follows it. The last initialiser jumps into the body and the condition is a plain 0, so that
 * compilers see that the body runs exactly once: they do not warn of variables that are set only
 * inside. Labels belong to the function; their numbers keep them apart.
 */
#define WEFT_SCOPE_(n, ...) WEFT_SCOPE2_(n, __VA_ARGS__)
#define WEFT_SCOPE2_(n, open, ...)                                                                 \
	for (struct weft_scope weft_scope_##n __attribute__((cleanup(weft_scope_close))),          \
	     *weft_enter_##n __attribute__((unused)) = __extension__({                             \
		     open(&weft_scope_##n __VA_ARGS__);                                            \
		     goto weft_body_##n;                                                           \
		     &weft_scope_##n;                                                              \
	     });                                                                                   \
	     (0);)                                                                                 \
	weft_body_##n:

#define WEFT_GROUP_(n, g, rc) WEFT_GROUP2_(n, g, rc)
#define WEFT_GROUP2_(n, g, rc)                                                                     \
	for (struct weft_group weft_group_##n __attribute__((cleanup(weft_group_close))),          \
		 *const g                                                                          \
		 __attribute__((unused)) = weft_group_open(&weft_group_##n, rc, WEFT_WHERE_),      \
		 *weft_enter_##n __attribute__((unused)) = __extension__({                         \
			 goto weft_body_##n;                                                       \
			 &weft_group_##n;                                                          \
		 });                                                                               \
	     (0);)                                                                                 \
	weft_body_##n:

struct weft_deferred {
	void (*fn_)(const volatile void *);
	const volatile void *ptr_;
};

#ifdef __clang__ /* fn_ is not of the type it is called by: clang's -fsanitize=function */
__attribute__((no_sanitize("function")))
#endif
static inline void
weft_defer_end_(struct weft_deferred *d)
{
	d->fn_(d->ptr_);
}

/* The sizeof checks that fn(ptr) is a valid call. */
#define WEFT_DEFER_(n, fn, ptr) WEFT_DEFER2_(n, fn, ptr)
#define WEFT_DEFER2_(n, fn, ptr)                                                                   \
	struct weft_deferred weft_defer_##n __attribute__((cleanup(weft_defer_end_), unused)) = {  \
	    (0 * sizeof(__typeof__(((void)(fn)(ptr), 0))))                                         \
		? NULL                                                                             \
		: (void (*)(const volatile void *))(void (*)(void))(fn),                           \
	    (ptr)}

#endif /* __cplusplus */
#endif
