/* SPDX-License-Identifier: MIT */
/* sched.h: the functions of this folder, by file; the types are in core/gmp.h. */
#ifndef WF_SCHED_SCHED_H
#define WF_SCHED_SCHED_H

#include "core/globq.h"
#include "sched/park.h"
#include "sched/spawn.h"
#include "sched/timers.h"

/* Runnext runs in a row before the rest of the queue gets its turn; the slice bounds them too, but only
   once the monitor has looked. */
enum { WF_CHAIN_MAX = 64 };

/* spawn.c: birth and death */
void wf_g_main(void *m);                        /* first-run trampoline */
void wf_g_bury(struct wf_m *m, struct wf_g *g); /* stack and G go back; off its stack */
void wf_g_drop(struct wf_m *m, struct wf_g *g);
struct wf_m *wf_g_exit(struct wf_m *m, int rc, bool at_base);
WF_EXTERN uint8_t wf_default_class;
WF_EXTERN wf_aptr wf_sites; /* struct weft_site: those whose stack use is known */
WF_EXTERN void (*wf_wg_fell_hook)(struct wf_m *m, struct weft_wg *wg, uint64_t word);
WF_EXTERN int (*wf_member_call_hook)(struct wf_g *g);
WF_EXTERN void (*wf_member_done_hook)(struct wf_m *m, struct wf_g *g, int rc);
WF_EXTERN void (*wf_scope_exit_hook)(struct wf_g *g);
WF_EXTERN int (*wf_locals_copy_hook)(struct wf_locals *from, struct wf_locals **to);
WF_EXTERN void (*wf_locals_free_hook)(struct wf_locals *l);
WF_EXTERN void (*wf_main_done_hook)(int rc);

/* park.c: the switch and what follows it */
void wf_arrived_rare(struct wf_m *m, enum wf_pending what);
void wf_requeue_rare(struct wf_m *m, struct wf_p *p, struct wf_g *g);
bool wf_overflow(struct wf_p *p, struct wf_glist *over); /* a full ring's half goes elsewhere */
struct wf_m *wf_yield(struct wf_m *m, enum wf_pending how);
void wf_submit(struct wf_m *m, struct wf_p *p, struct wf_g *g, bool next);
void wf_submit_all(struct wf_m *m, struct wf_p *p, struct wf_glist *l); /* to the end */

#ifdef WF_TINY
enum { WF_FAIR_EVERY = 4 };
#else
enum {
	WF_FAIR_EVERY = 61, /* schedules between looks at the global queue; prime, so that periodic
			       spawners do not fall in step; Go's value */
};
#endif

/* loop.c: schedule, find_runnable, execute */
void wf_m_loop(struct wf_m *m);

/* steal.c */
struct wf_g *wf_steal(struct wf_m *m, struct wf_p *p);
bool wf_any_queued(void);  /* any P's ring, the global queue, the classes */
bool wf_any_to_take(void); /* the same without what wf_submit wakes nobody for */
bool wf_any_beside_global(void);
void wf_steal_order_init(uint32_t procs);

/* prio.c: the classes */
void wf_class_submit(struct wf_m *m, struct wf_g *g); /* of the urgent or idle class, in hand */
struct wf_g *wf_urgent_get(struct wf_p *p, bool alone);
bool wf_urgent_wants(struct wf_m *m); /* the running goroutine is to give way */
uint32_t wf_urgent_unserved(void);    /* those for whom no P is on its way */
bool wf_spared(const struct wf_p *p); /* what runs there is not disturbed for urgent work */
void wf_urgent_flush(struct wf_glist *l);
bool wf_idle_age(struct wf_m *m, int64_t now); /* the monitor */
void wf_idle_age_later(int64_t now);
WF_EXTERN wf_a64 wf_n_aged; /* goroutines of the idle class that got a turn by age */

/* idle.c: spinning, idle Ps, wake-ups */
void wf_idle_put(struct wf_p *p);
struct wf_p *wf_idle_take(void);
bool wf_idle_take_this(struct wf_p *p);
bool wf_idle_any(void);
void wf_submitted(struct wf_m *m); /* work was published: see that somebody runs it */
void wf_wake_one(struct wf_m *m);
void wf_idle_reset(void);
void wf_spin_begin(struct wf_m *m);
void wf_spin_found(struct wf_m *m); /* a spinner has found work */
void wf_spin_cancel(void);          /* a spinner that was counted could not be started */
void wf_spin_stop(struct wf_m *m);  /* a spinner stops for another reason */
bool wf_spin_allowed(struct wf_m *m);
bool wf_spin_needed(void);         /* work waits that nobody may be looking for */
bool wf_spin_more(struct wf_m *m); /* wait a little for work; true: look again */
bool wf_idle_drop(struct wf_m *m); /* drop the P; false: work turned up, P in hand again */
void wf_idle_entrust(struct wf_m *m, const struct wf_p *home); /* what is queued, after a drop */

/* proc.c: Ps */
void wf_p_acquire(struct wf_m *m, struct wf_p *p);
struct wf_p *wf_p_release(struct wf_m *m);
int wf_p_resize(uint32_t n); /* world stopped, or before the first M */

/* thread.c: Ms */
int wf_m_start(struct wf_m *m, struct wf_p *p, bool spinning);
bool wf_m_stop(struct wf_m *m); /* sleep until handed a P; false: end the thread */
struct wf_m *wf_m_alloc(bool plain);
void wf_m_free(struct wf_m *m);
int wf_m_launch(struct wf_m *t); /* a thread for t, which is complete */
void wf_m_here(struct wf_m *m);  /* this thread is m's until its loop ends */
void wf_m_unlock_and_check(void);
void wf_ms_end(void);    /* end of the run: all threads go */
void wf_ms_shrink(void); /* there are fewer Ps now */
bool wf_threads_leaving(void);
int wf_threads_ours(void); /* sched.lock held: threads that the runtime made or knows */

/* handoff.c */
struct wf_m *wf_rejoin(struct wf_m *m); /* a goroutine without a P gets one, or queues */

/* blocking.c: Ps on offer */
bool wf_offer_any(void);
struct wf_p *wf_offer_take(void);
bool wf_offer_take_this(struct wf_p *p);
bool wf_offer_back(struct wf_m *m, uint32_t lease);
void wf_blocking_ends(struct wf_m *m, struct wf_g *g);

/* stw.c */
void wf_world_stop(struct wf_m *m); /* m may be NULL: not one of ours */
void wf_world_start(struct wf_m *m);
bool wf_world_try(void);
void wf_world_wait(void);
struct wf_m *wf_world_lock(struct wf_m *m); /* on a goroutine: yields while it waits */
void wf_world_done(void);
void wf_stop_here(struct wf_m *m); /* on g0: give the P to the stopper, sleep */
bool wf_stop_take(struct wf_p *p); /* P in hand: the stopper wants it? then it has it */
void wf_each_p(struct wf_m *m, void (*fn)(struct wf_p *p));
void wf_safepoint_run(struct wf_p *p);
int wf_world_resize(struct wf_m *m, uint32_t n); /* world lock held; 0 or -ENOMEM */

/* autoprocs.c: the number of Ps when nobody names one */
uint32_t wf_autoprocs_start(uint32_t named);
void wf_autoprocs_look(struct wf_m *m, int64_t now); /* the monitor */

/* sysmon.c */
int wf_monitor_start(void);
void wf_monitor_stop(void);
void wf_monitor_wake(void);
void wf_monitor_hurry(void); /* a look soon, please */
/* Traces and lints; NULL: none. By the monitor before it sleeps; how long it shall: at most delay. */
WF_EXTERN int64_t (*wf_watch_hook)(int64_t delay);
WF_EXTERN void (*wf_retaken_hook)(struct wf_m *m); /* the monitor has taken the P of m */

/* deadlock.c */
bool wf_deadlock_suspected(void);           /* sched.lock held; an M has just become idle */
void wf_deadlock_report(uint64_t idle_seq); /* no lock held; as of the suspicion */

#endif
