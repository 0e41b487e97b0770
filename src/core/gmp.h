/* SPDX-License-Identifier: MIT */
/*
 * gmp.h: M, P and the scheduler's own state. Fields stand in groups named after who may touch
 * them. (The G is in g.h.)
 *
 * GMP-1: a P is held by at most one M, or by nobody and then its idle bit is set, or by the one
 *        who stopped the world or took it and has not yet passed it on. On offer it is still held.
 * GMP-2: m->p, p->m and the data of a P are the holder's; a holder in user code holds by lease
 *        only and touches neither (handoff.h).
 */
#ifndef WF_CORE_GMP_H
#define WF_CORE_GMP_H

#include "base/lock.h"
#include "base/rand.h"
#include "core/forkq.h"
#include "core/gstatus.h"
#include "core/runq.h"
#include "core/timer.h"

#ifdef WF_TINY
enum { WF_GRACE = 1 };
#else
/* Pauses of 15 to 45 ns, so 1 to 3 us: what another core needs to begin with a lone G. */
enum { WF_GRACE = 64 };
#endif

enum {
	WF_PROCS_MAX = 1024,
	WF_MASK_WORDS = WF_PROCS_MAX / 64,
	WF_STACK_CLASSES = 15, /* slots of 16 KiB << class: up to 256 MiB */
};

/* What a birth needs, in hand: each P has one, and each M for the time it has no P. */
struct wf_cache {
	struct wf_g *gfree;  /* free Gs, linked: see gpool.h */
	struct wf_g *gspare; /* a full magazine of them, or NULL */
	uint32_t gfree_count;
	uint32_t
	    credit[WF_STACK_CLASSES]; /* promised stacks: a birth that got one cannot fail later */
	int64_t id_next, id_end;      /* goroutine ids ... */
	uint64_t id_run;              /* ... of this run; a P begins without any */
};

/* What an M owes to the context it left; done first by the context it arrives in. */
enum wf_pending {
	WF_PEND_NONE,
	WF_PEND_YIELD,   /* the G goes to the tail of the local queue */
	WF_PEND_GLOBAL,  /* the G goes to the global queue */
	WF_PEND_PARK,    /* the G waits; then the commit runs */
	WF_PEND_PARKING, /* the G waits, and others have found it already: PARK-4 */
	WF_PEND_DEAD,    /* the G is over: its stack and itself go back */
	WF_PEND_OVER,    /* the G is dropped: its run has ended */
};

typedef void wf_commit_fn(struct wf_g *g, void *arg);

/* States of the lease: see handoff.h. */
#define WF_LEASES(X)                                                                               \
	X(WF_NONE, "none")       /* has no P; plain threads always */                              \
	X(WF_HELD, "held")       /* has its P */                                                   \
	X(WF_FENCED, "fenced")   /* as HELD, where entering needs a real fence */                  \
	X(WF_URGED, "urged")     /* has its P and is asked to give it up */                        \
	X(WF_ASKED, "asked")     /* a requester is about to decide */                              \
	X(WF_TAKEN, "taken")     /* the P was taken; only the owner ends this */                   \
	X(WF_ASLEEP, "asleep")   /* as TAKEN, from a thread that slept: it does not compute */     \
	X(WF_OFFERED, "offered") /* blocks, P to be had: its id stands above, LEASE-7 */           \
	X(WF_FORKED, "forked")   /* in a forked child: no runtime here */                          \
	X(WF_OVER, "over")       /* the run it belonged to has ended */

enum wf_lease {
#define X(id, text) id,
	WF_LEASES(X)
#undef X
};

enum { WF_LEASE_BITS = 8 }; /* of the lease word; the rest is the id of a P on offer */

struct wf_m {
	/* the lease: atomic, written by the owner and by requesters */
	wf_a32 in_rt;        /* 1 inside the runtime; written by the owner */
	wf_a32 lease;        /* enum wf_lease */
	wf_a32 urged_tick;   /* LEASE-6: the P's tick that the request was made for */
	wf_aptr p;           /* written by the owner; read by requesters: LEASE-3 */
	struct wf_p *old_p;  /* owner only: the P it had last */
	wf_a32 answers;      /* calls that found that something was asked of it; the owner's */
	struct wf_door door; /* through which others come to the lease: OFFER-3 */
	struct wf_p *said_p; /* owner only: the P that others know it has, see offer */
	bool blocking;       /* owner only: its goroutine is in a blocking section, LEASE-7 */
	bool pinned;         /* owner only: runs pinned_g and nothing else; see pin.c */

	/* owner only */
	struct wf_g *g; /* the goroutine that runs, NULL on g0 */
	void *g0_sp;    /* g0's context while a goroutine runs */
	enum wf_pending pending;
	struct wf_g *pending_g;
	wf_commit_fn *commit;
	void *commit_arg;
	int *errno_address;   /* of this thread */
	const char *on_stack; /* somewhere on this thread's own stack */
	struct wf_rand rand;
	bool spinning;
	bool awoken;         /* it has slept until now, and looks for work for the first time */
	uint32_t grace;      /* pauses before it takes little: see learn_grace */
	uint32_t stole_tick; /* its P's tick at its last theft ... */
	int64_t stole_ns;    /* ... and the time; 0: judged */
	uint8_t spin_rounds, spin_waits; /* how long to go on looking: see wf_spin_more */
	uint8_t spin_misses;             /* looks in a row that saw work and got none */
	uint32_t lock_pauses;            /* while it spins for a mutex, ... */
	uint64_t lock_ns;                /* ... by the coarse clock at the last of them */
	uint32_t starts;                 /* of goroutines, while it had no P: SPAWN-3 ... */
	int64_t starts_ns;               /* ... when it last looked at the clock, ... */
	bool starts_fast;                /* ... and what it saw */
	bool plain;                      /* not ours: a thread of the program */
	bool exact;                      /* its sleeps are not rounded */
	wf_a32 at_rest;                  /* it sleeps, spins or begins: see wf_rest */
	uint32_t held_ranks;             /* LOCK-1 */
	uint64_t run;                    /* the run it belongs to */
	void *altstack;
	void *asan_stack;
	const void *g0_lo; /* g0's stack, for the sanitizers */
	size_t g0_bytes;
	void *tsan_fiber;
	struct wf_locals *locals; /* of a plain thread */
	struct wf_cache cache;    /* while it has no P */
	uint64_t futexes;
	struct wf_g *pinned_g;
	uint32_t pins;        /* calls of weft_lock_thread that are open */
	bool pin_over;        /* pinned_g has ended: so does the thread */
	bool foreign;         /* the thread that called weft_run, for goroutine 1: not made by us */
	struct wf_g thread_g; /* a plain thread waits as this: WF_G_THREAD */

	/* handed over through the note */
	struct wf_p *nextp;
	struct wf_note note;

	/* under sched.lock */
	struct wf_m *idle_next, *idle_prev;
	struct wf_m *all_next;
	bool idle;         /* asleep without a P; on the list, unless it is pinned */
	bool in_use;       /* false: free for another thread */
	uint64_t uses;     /* threads it has served */
	int left_tid;      /* the last of them that is on its way out, or gone */
	uint64_t seen_out; /* see limbo.c */

	/* const after start */
	uint32_t id;
	int tid;
} WF_ALIGNED(WF_CACHE_LINE);

enum wf_pstate { WF_P_IDLE, WF_P_RUNNING, WF_P_STOPPED, WF_P_DEAD };

#ifdef WF_TINY
enum { WF_STACK_CACHE = 2 };
#else
enum { WF_STACK_CACHE = 32 }; /* free stacks a P keeps per class: hot, last in, first out */
#endif

struct wf_stack_cache {
	uint32_t count;
	void *slot[WF_STACK_CACHE];
};

/* What a P knows since it took goroutines of another: gather.c. */
struct wf_apart {
	struct wf_p *home; /* whose; NULL: nobody's */
	bool settled;      /* the first window is over */
	int64_t since;
	uint64_t uses;    /* of channels, by all */
	uint32_t bounces; /* its own */
};

/* atomic: written by the holder, and by who gathers here */
struct wf_keep {
	wf_a32 state;             /* 0: it shares with everybody */
	wf_a64 until;             /* then it parts; while it shares: no trial before */
	wf_a64 since, uses;       /* the last look */
	wf_a64 before, before_ns; /* how it was apart */
	int64_t next_ns, part_ns; /* holder only: how long next time */
	uint32_t worse;           /* holder only: looks in a row that found it slower */
};

struct wf_p {
	struct wf_runq runq;
	struct wf_forkq forkq;

	/* holder only */
	uint32_t id WF_ALIGNED(WF_CACHE_LINE);
	uint32_t fair;      /* schedules until the next look at the global queue */
	uint8_t fork_turns; /* of the fork queue beside a busy ring */
	uint8_t join_turns; /* see may_go_on */
	bool pin_turn;      /* when fair is 0: pinned goroutines come first */
	wf_aptr in_chan; /* atomic: the channel it works on by its bias, or WF_ALL_CHANS: chan.h */
	wf_a64 n_uses;   /* atomic: sends and receives of channels done here, for both sides */
	uint32_t chain;  /* runnext runs in a row */
	uint32_t urgent_runs;    /* urgent turns in a row: PRIO-2 */
	uint32_t bounces;        /* uses of what another P had used last: gather.c */
	uint64_t select_turn;    /* by n_switches: the last one in which a select readied ... */
	uint32_t select_readied; /* ... so many goroutines */
	struct wf_apart apart;
	struct wf_cache cache;
	struct wf_stack_cache stacks[WF_STACK_CLASSES];
	struct wf_m *last_m;   /* P-to-M affinity: under sched.lock */
	uint32_t stack_sample; /* deaths until the next stack measurement */

	/* atomic: written by the holder, read by all */
	wf_a32 tick;         /* schedules; a slice that is inherited does not count */
	wf_a32 state;        /* enum wf_pstate */
	wf_a32 safepoint;    /* a function waits to be run on this P */
	wf_a8 lone_local;    /* the last lone G was run here, not stolen: see wf_queued */
	struct wf_keep keep; /* what it has is not for others: gather.c */
	wf_aptr m;           /* the holder */
	wf_a64 n_spawned, n_exited, n_switches, n_steals, n_stolen, n_parks, n_readies, n_wakes,
	    n_spins, n_futexes, n_overflows, n_retakes, n_handoffs, n_gathers;

	wf_a64 spared; /* the turn, by n_switches, that urgent work does not cut short: PRIO-2 */
	struct wf_heap timers; /* of those who were here when they armed them */

	/* the monitor's */
	uint32_t seen_tick;
	int64_t seen_ns;
	uint64_t seen_switches;
	int watch_fd, watch_tid; /* of the thread that held it last; 0: none */
	uint32_t seen_blocked;   /* looks in a row that found it asleep in the kernel */
	bool seen_urged;         /* its holder was asked to give way, in this slice */
} WF_ALIGNED(WF_CACHE_LINE);

enum wf_phase { WF_DOWN, WF_STARTING, WF_UP, WF_ENDING };

struct wf_sched {
	/* atomic: the idle protocol; written through idle.c only */
	wf_a32 nmspinning WF_ALIGNED(WF_CACHE_LINE);
	wf_a32 need_spinning;
	wf_a64 idle_mask[WF_MASK_WORDS] WF_ALIGNED(WF_CACHE_LINE); /* a bit per idle P */
	wf_a32 npidle;
	wf_a64 attended;     /* when somebody woke for timers last */
	wf_a64 attend_until; /* when the M that attends to timers wakes: see sched/timers.c */
	wf_a32 firing;       /* threads without a P that run timers */

	/* atomic: a bit per P that may be on offer; written through blocking.c only */
	wf_a64 offer_mask[WF_MASK_WORDS] WF_ALIGNED(WF_CACHE_LINE);

	/* atomic */
	wf_a32 phase WF_ALIGNED(WF_CACHE_LINE); /* enum wf_phase */
	wf_a32 main_done;                       /* goroutine 1 is over: the run is about to end */
	wf_a32 stopping;                        /* the world is asked to stop */
	wf_a32 due; /* nonzero: the next pick is g0's; counts `stopping` and urgent Gs, PRIO-1 */
	wf_a32 procs;
	wf_a32 auto_procs; /* nobody has named a number: it follows what the system grants */
	wf_a64 run;        /* number of this run */
	wf_a64 id_next;    /* goroutine ids handed out in batches */
	wf_a64 coarse_ns;  /* clock, as of the monitor's last look */
	wf_a32 monitor_sleeps;
	wf_a32 computing; /* Ms in user code whose P was taken */
	wf_aptr
	    overflowed; /* the P that last put more than it had room for into the global queue */
	wf_a32 starved; /* the last P that needed a thread got none */

	/* atomic: counters of threads without a P; nobody reads them in passing */
	wf_a64 n_spawned WF_ALIGNED(WF_CACHE_LINE);
	wf_a64 n_exited, n_readies, n_wakes, n_futexes;

	/* under lock */
	struct wf_lock lock WF_ALIGNED(WF_CACHE_LINE);
	struct wf_m *idle_ms; /* last in, first out */
	struct wf_m *all_ms;
	uint32_t nm;            /* threads of this run, or about to be */
	uint32_t nmidle;        /* with the one that attends */
	uint32_t npinned;       /* Ms with pinned goroutines, but for that of main_thread */
	struct wf_m *attending; /* sleeps until the next timer is due, or NULL */
	uint64_t idle_seq;  /* counts the ends of idleness: tells whether anybody ran meanwhile */
	uint32_t stop_wait; /* Ps the stopper still waits for */
	struct wf_note stop_note;
	bool ending; /* threads that stop are to end */
	bool deadlocked;

	/* const while running */
	struct wf_p *allp[WF_PROCS_MAX];
	uint32_t np_made; /* entries of allp that exist; Ps are never freed */
	int max_threads;
	uint64_t seed;
	bool randomize; /* drop runnext and shuffle batches at random: WEFT_DEBUG=shuffle=1 */
	bool fenced;    /* no membarrier: entering the runtime needs a fence */
	uint32_t held;  /* WF_HELD or WF_FENCED */
	bool debug;
	int64_t reap_ns; /* an idle thread more than needed ends after this */

	bool forked; /* this process is the child of one that had a runtime: one thread */
};

WF_EXTERN struct wf_sched wf_sched;

/* Who calls: the running goroutine, or the plain thread. */
WF_INLINE struct wf_g *
wf_me(struct wf_m *m)
{
	return likely(m->g != NULL) ? m->g : &m->thread_g;
}

/* The running thread's: its P's, or its own. */
WF_INLINE struct wf_cache *
wf_cache_of(struct wf_m *m)
{
	struct wf_p *p = at_load_rlx(&m->p); /* rlx: the owner's own word */

	return likely(p != NULL) ? &p->cache : &m->cache;
}

/* Any M: no G is queued here. As exact as wf_runq_empty. */
WF_INLINE bool
wf_p_empty(const struct wf_p *p)
{
	return wf_runq_empty(&p->runq) && wf_forkq_empty(&p->forkq);
}

/* Holder: everything queued here goes to the end of l. */
static inline void
wf_p_drain(struct wf_p *p, struct wf_glist *l)
{
	struct wf_g *g;

	wf_runq_drain(&p->runq, l);
	while ((g = wf_forkq_pop(&p->forkq)))
		wf_glist_push(l, g);
}

/* Counters: by the holder of p, or by a thread without one. */
#define wf_count(p_, field, n)                                                                     \
	((p_) ? (void)at_bump(&(p_)->field, (uint64_t)(n))                                         \
	      : (void)at_add_rlx(&wf_sched.field, (uint64_t)(n)))

#endif
