/* SPDX-License-Identifier: MIT */
/*
 * g.h: struct wf_g, a goroutine. Type-stable: the memory of a G is only ever a G, so a stale
 * pointer finds a G with another id, never something else.
 */
#ifndef WF_CORE_G_H
#define WF_CORE_G_H

#include "core/gtimer.h"

#ifndef WEFT_NO_INLINE
#define WEFT_NO_INLINE /* the library has the functions themselves */
#endif
#include <weft.h>

struct wf_locals;
struct wf_m;
struct weft_scope;

/* Why a goroutine waits: one list, so that the number and the text cannot differ. */
#define WF_REASONS(X)                                                                              \
	X(WF_WAIT_NONE, "")                                                                        \
	X(WF_WAIT_WG, "wait group")                                                                \
	X(WF_WAIT_JOIN, "wait group, running its child")                                           \
	X(WF_WAIT_GROUP, "end of group")                                                           \
	X(WF_WAIT_LIMIT, "group limit")                                                            \
	X(WF_WAIT_SEND, "chan send")                                                               \
	X(WF_WAIT_RECV, "chan receive")                                                            \
	X(WF_WAIT_SELECT, "select")                                                                \
	X(WF_WAIT_NIL_SEND, "chan send (nil chan)")                                                \
	X(WF_WAIT_NIL_RECV, "chan receive (nil chan)")                                             \
	X(WF_WAIT_NO_CASE, "select (no cases)")                                                    \
	X(WF_WAIT_MUTEX, "mutex lock")                                                             \
	X(WF_WAIT_RLOCK, "rwmutex read lock")                                                      \
	X(WF_WAIT_WLOCK, "rwmutex write lock")                                                     \
	X(WF_WAIT_COND, "cond wait")                                                               \
	X(WF_WAIT_SEM, "semaphore acquire")                                                        \
	X(WF_WAIT_ONCE, "once")                                                                    \
	X(WF_WAIT_BARRIER, "barrier")                                                              \
	X(WF_WAIT_FD_READ, "IO read")                                                              \
	X(WF_WAIT_FD_WRITE, "IO write")                                                            \
	X(WF_WAIT_FD, "IO wait")                                                                   \
	X(WF_WAIT_FD_TURN, "IO, others first")                                                     \
	X(WF_WAIT_FD_CLOSE, "close of a descriptor in use")                                        \
	X(WF_WAIT_SLEEP, "sleep")                                                                  \
	X(WF_WAIT_TEST, "test")

enum wf_reason {
#define X(id, text) id,
	WF_REASONS(X)
#undef X
};

enum wf_gflag {
	WF_G_IDLE = 1,     /* idle class: runs when a P would otherwise idle, or has aged: prio.c */
	WF_G_ATTR = 2,     /* was started with attributes */
	WF_G_MAIN = 4,     /* goroutine 1: its end ends the run */
	WF_G_OVER = 8,     /* its run has ended, its thread has not */
	WF_G_MEMBER = 16,  /* child of a group: wg is that of the group */
	WF_G_THREAD = 32,  /* stands for a plain thread: part of its M */
	WF_G_PINNED = 64,  /* runs on its own M only: see pin.c */
	WF_G_URGENT = 128, /* urgent class: made runnable, it goes before the others */
	WF_G_CLASSES = WF_G_IDLE | WF_G_URGENT, /* those with a queue of their own */
};

/*
 * A switch and a wait touch the first line only, a spawn and a short life with few arguments the
 * second too. name, locals, save, scope, onces and blocking are cleared at death by those who set
 * them, so that birth need not write them.
 */
struct wf_g {
	/* the holder's: the M that runs it, or whoever took it from its queue */
	void *sp;          /* saved context while it does not run; before: see WF_RUNQ_AHEAD */
	struct wf_g *link; /* its place in a list or queue: GLIST-1 */
	uint8_t stack_class;
	uint8_t flags;  /* enum wf_gflag */
	uint8_t reason; /* enum wf_reason, while it waits */
	uint8_t save;   /* WEFT_SAVE_ bits, and one of blocking.c */
	int16_t errno_saved;
	uint8_t kids;  /* started since it last waited for such: see wf_learn_joins */
	uint8_t onces; /* functions of a weft_once that it is in */
	/* atomic */
	wf_a32 status; /* written through gstatus.h only */
	wf_a32 claim;  /* wait number and state: one waker wins; see gclaim.h */
	/* the holder's again */
	void *stack;         /* lowest address of its slot; NULL until it first runs */
	int64_t since_ns;    /* coarse clock: began to wait, or was queued as idle class */
	const void *wait_on; /* what it waits for: the object, or the record of a channel wait */
	struct weft_scope *scope; /* the innermost open scope: see wait/scope.h */

	int64_t id;
	struct weft_site *site;
	struct weft_wg *wg; /* counted down when it ends */
	int64_t parent;     /* id of its creator, 0: a plain thread */
	struct wf_locals *locals;
	struct wf_g *joiner; /* the parent that runs it while it waits for it, or NULL */
	char arg[WEFT_ARG_MAX] WF_ALIGNED(16);
	const char *name;
	wf_a8 *kid_site; /* where it last started a goroutine: an element of wf_joins */

	void *san;         /* a sanitizer's record: TSan's fiber, or ASan's fake stack while away */
	struct wf_m *home; /* WF_G_PINNED: its M */
	uint32_t blocking; /* depth of blocking sections: see blocking.c */
	wf_a64
	    wake_at; /* its wait is to end at this time, 0: at none; written by itself: TIMER-4 */
	struct wf_timer timer; /* and this sees to it */
} WF_ALIGNED(64);

_Static_assert(sizeof(struct wf_g) == 320, "five cache lines; a million goroutines count");
_Static_assert(offsetof(struct wf_g, id) == 64, "the hot fields are one line");
_Static_assert(offsetof(struct wf_g, san) == 256, "and those of a timer are one");

#endif
