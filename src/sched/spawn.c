/* SPDX-License-Identifier: MIT */
/*
 * spawn.c: birth and death of goroutines.
 *
 * A new G has no stack. It gets one when it first runs: mostly the hot one that the goroutine
 * before it has just left, without even a switch (wf_g_main loops). weft_go only makes sure that
 * there will be a stack (STK-1), so that nothing can fail later.
 *
 * SPAWN-1: a G is published complete: everything is written before wf_submit.
 * SPAWN-2: the dying G's stack is given back by whoever arrives next, never by itself.
 * SPAWN-3: who starts many in a row without a P, and finds an idle one, takes that: each start would wake
 *          a thread for it, and cost several cache lines between two cores. But who starts one now and
 *          then computes in between: those it starts would wait for it.
 */
#include "core/gclaim.h"
#include "core/gpool.h"
#include "core/wgword.h"
#include "sched/inplace.h"
#include "sched/pin.h"
#include "sched/save.h"

#include <errno.h>
#include <string.h>

enum {
	ID_BATCH = 16,       /* goroutine ids a P fetches at once */
	JOIN_KIDS_MAX = 16,  /* more children before a wait than this are a batch, not a fork */
	JOIN_TURNS = 8,      /* fairness ticks of a P that runs children where their parents wait */
	SAMPLE_EVERY = 1024, /* deaths between two measurements of stack use, per P */
};

uint8_t wf_default_class;
wf_aptr wf_sites;
void (*wf_wg_fell_hook)(struct wf_m *m, struct weft_wg *wg, uint64_t word);
int (*wf_member_call_hook)(struct wf_g *g);
void (*wf_member_done_hook)(struct wf_m *m, struct wf_g *g, int rc);
void (*wf_scope_exit_hook)(struct wf_g *g);
int (*wf_locals_copy_hook)(struct wf_locals *from, struct wf_locals **to);
void (*wf_locals_free_hook)(struct wf_locals *l);
void (*wf_main_done_hook)(int rc);

static WF_NOINLINE void
fetch_ids(struct wf_cache *c)
{
	c->id_next = (int64_t)at_add_rlx(&wf_sched.id_next, ID_BATCH); /* rlx: only unique */
	c->id_end = c->id_next + ID_BATCH;
	c->id_run = at_load_rlx(&wf_sched.run); /* rlx: set before anybody runs */
}

/* c: of p, which has none of an earlier run; or of a thread without one. */
WF_INLINE int64_t
next_id(const struct wf_p *p, struct wf_cache *c)
{
	/* rlx: as above */
	if (unlikely(c->id_next == c->id_end || (!p && c->id_run != at_load_rlx(&wf_sched.run))))
		fetch_ids(c);
	return c->id_next++;
}

/* Small structs mostly: cheaper than a call of memcpy, which TSan would see besides. */
WF_INLINE void
copy_arg(char *to, const char *from, size_t bytes)
{
	if (bytes < 8) {
		while (bytes-- > 0)
			*to++ = *from++;
		return;
	}
	for (size_t at = 0; at + 8 < bytes; at += 8)
		__builtin_memcpy(to + at, from + at, 8);
	__builtin_memcpy(to + bytes - 8, from + bytes - 8, 8); /* perhaps some once more */
}

static int
set_attr(struct wf_g *g, const struct weft_attr *a)
{
	if (a->stack_bytes) {
		int class = wf_stack_class(a->stack_bytes);

		if (class < 0)
			return class;
		g->stack_class = (uint8_t) class;
	}
	if (a->prio == WEFT_IDLE)
		g->flags |= WF_G_IDLE;
	else if (a->prio == WEFT_URGENT)
		g->flags |= WF_G_URGENT;
	else if (a->prio != WEFT_NORMAL)
		return -EINVAL;
	if (a->save & ~(WEFT_SAVE_FP | WEFT_SAVE_CXX))
		return -EINVAL;
	if (!wf_all_zero(a->reserved_, countof(a->reserved_)))
		return -EINVAL; /* of a later version, which we do not know */
	g->save = (uint8_t)a->save;
	g->name = a->name;
	g->flags |= WF_G_ATTR;
	return 0;
}

wf_a8 wf_joins[WF_JOINS];

/* parent starts a goroutine: remember for wf_learn_joins. True if goroutines of this site are known
   to be waited for soon. */
WF_INLINE bool
expects_join(struct wf_g *parent, struct weft_site *site)
{
	if (parent->kids < UINT8_MAX)
		parent->kids++;
	parent->kid_site = wf_joins_of(site);
	return at_load_rlx(parent->kid_site) != 0; /* rlx: a heuristic */
}

/* g has started goroutines and is about to wait, for a wait group or to receive. A few children, at
   least `few`, and then a wait: that is fork-join; many: a batch, which the ring serves better. */
void
wf_learn_joins(struct wf_g *g, uint32_t few)
{
	bool now = few <= g->kids && g->kids <= JOIN_KIDS_MAX;

	if (at_load_rlx(g->kid_site) != now) /* rlx: a heuristic */
		at_store_rlx(g->kid_site, now);
	g->kids = 0;
}

/* wf_submit for a goroutine that has just been made: SPAWN-1. */
WF_INLINE void
submit_new(struct wf_m *m, struct wf_p *p, struct wf_g *parent, struct wf_g *g)
{
	enum wf_put put = WF_PUT_FULL;

	if (likely(p && !m->pinned && !(g->flags & WF_G_CLASSES))) {
		if (parent && expects_join(parent, g->site))
			put = wf_put_fork(p, g);
		if (put == WF_PUT_FULL)
			put = wf_put_new(p, g);
	}
	if (unlikely(put == WF_PUT_FULL))
		wf_submit(m, p, g, false);
	else if (unlikely(put == WF_PUT_TELL))
		wf_submitted(m);
}

/* p and parent are the caller's, or NULL. Inline: who knows that they are not saves the questions. */
WF_INLINE int64_t
spawn(struct wf_m *m, struct wf_p *p, struct wf_g *parent, struct weft_site *site,
      const struct weft_attr *attr, struct weft_wg *wg, const void *arg, size_t bytes,
      unsigned flags)
{
	struct wf_cache *c = p ? &p->cache : &m->cache;
	struct wf_locals *locals = parent ? parent->locals : m->locals;
	struct wf_g *g;
	int rc = -EINVAL;

	if (unlikely(bytes > WEFT_ARG_MAX || !site || !site->fn))
		return -EINVAL;
	g = wf_gpool_get(c);
	if (unlikely(!g))
		return -ENOMEM;
	g->stack = NULL;
	g->stack_class = wf_default_class;
	g->flags = (uint8_t)flags;
	if (unlikely(attr != NULL) && (rc = set_attr(g, attr)) < 0)
		goto out_g;
	if (unlikely((rc = wf_stack_reserve(c, g->stack_class)) < 0))
		goto out_g;
	if (unlikely(locals != NULL) && (rc = wf_locals_copy_hook(locals, &g->locals)) < 0)
		goto out_stack;
	if (wg) /* acqrel: before it can end; and before the stores below, which it would wait for */
		at_add_acqrel(wf_wg_word(wg), (uint64_t)WF_WG_ONE);
	copy_arg(g->arg, arg, bytes);
	g->site = site;
	g->errno_saved = 0;
	g->kids = 0;
	g->wg = wg;
	g->parent = parent ? parent->id : 0;
	g->id = flags & WF_G_MAIN ? 1 : next_id(p, c);
	wf_count(p, n_spawned, 1);
	wf_tsan_release(g);
	wf_g_born(g);
	int64_t id = g->id; /* it may be over before we return */
	submit_new(m, p, parent, g);
	return id;

out_stack:
	wf_stack_unreserve(c, g->stack_class);
out_g:
	g->name = NULL;
	g->save = 0;
	wf_gpool_put(c, g);
	return rc;
}

WF_NOINLINE int64_t
wf_spawn(struct wf_m *m, struct weft_site *site, const struct weft_attr *attr, struct weft_wg *wg,
	 const void *arg, size_t bytes, unsigned flags)
{
	if (unlikely(!wf_m_p(m) && m->g))
		wf_starts_without(m); /* SPAWN-3 */
	return spawn(m, wf_m_p(m), m->g, site, attr, wg, arg, bytes, flags);
}

/* The stack, if any, and the G go back. Not on that stack. p: m's, or NULL. */
WF_INLINE void
bury(struct wf_m *m, struct wf_p *p, struct wf_g *g)
{
	struct wf_cache *c = p ? &p->cache : &m->cache;

	if (g->stack) {
		wf_asan_unpoison(g->stack, wf_stack_bytes(g->stack_class));
#ifdef WF_TSAN
		os_renew((char *)g->stack + wf_stack_guard_bytes(g->stack_class),
			 wf_stack_bytes(g->stack_class) - wf_stack_guard_bytes(g->stack_class));
#endif
		wf_stack_give(p, g->stack_class, g->stack);
		wf_tsan_destroy(g->san);
		g->stack = NULL;
	}
	wf_stack_unreserve(c, g->stack_class);
	if (unlikely(g->flags & (WF_G_ATTR | WF_G_PINNED))) {
		g->name = NULL;
		g->save = 0;
		wf_pin_died(m, g);
	}
	wf_g_freed(g);
	wf_gpool_put(c, g);
}

void
wf_g_bury(struct wf_m *m, struct wf_g *g)
{
	bury(m, wf_m_p(m), g);
}

static void
list_site(struct weft_site *site)
{
	void *head = at_load_acq(&wf_sites); /* acq: as the CAS below */

	do
		site->next_ = head;
	while (!at_cas_acqrel(&wf_sites, &head, (void *)site)); /* acqrel: publishes next_ */
}

/* How deep did it go? Asking the kernel costs more than a goroutine. */
static WF_NOINLINE void
measure_stack(struct wf_p *p, struct wf_g *g)
{
	size_t used;

	p->stack_sample = SAMPLE_EVERY;
	used = wf_stack_used(g->stack, g->stack_class);
	/* acqrel: the first one to measure a site lists it */
	if (at_xchg_acqrel((wf_a32 *)&g->site->stack_used_,
			   used > g->site->stack_used_ ? (uint32_t)used : g->site->stack_used_) ==
	    0)
		list_site(g->site);
}

static WF_COLD void
overrun(const struct wf_g *g)
{
	wf_fatal("stack overflow in goroutine %lld (%s): its stack of %zu bytes was overrun. "
		 "Give it more with weft_go_with(WEFT_ATTR(.stack_bytes = %zu), ...)",
		 (long long)g->id, g->site->name, wf_stack_bytes(g->stack_class),
		 4 * wf_stack_bytes(g->stack_class));
}

static WF_NOINLINE void
end_saving(struct wf_m *m, struct wf_g *g)
{
	struct wf_saved state;

	wf_save(g, &state); /* leaves the thread with the default */
	wf_blocking_ends(m, g);
}

WF_INLINE void
count_end(struct wf_m *m, struct weft_wg *wg)
{
	uint64_t word = wf_wg_count(wg, -1);

	if (unlikely(wf_wg_matters(word)))
		wf_wg_fell_hook(m, wg, word);
}

/* The running goroutine is over: everybody is told. Its stack is still in use. */
WF_INLINE void
finish(struct wf_m *m, struct wf_p *p, struct wf_g *g, int rc)
{
	if (unlikely(g->locals != NULL)) {
		wf_locals_free_hook(g->locals);
		g->locals = NULL;
	}
	if (unlikely(g->flags & WF_G_MAIN))
		wf_main_done_hook(rc);
	at_bump(&p->n_exited, 1); /* rlx: a counter; before anybody can see that it is over */
	if (unlikely(g->flags & WF_G_MEMBER))
		wf_member_done_hook(m, g, rc);
	else if (g->wg)
		count_end(m, g->wg);
	if (unlikely(!wf_stack_intact(g->stack, g->stack_class)))
		overrun(g);
	if (unlikely(g->save))
		end_saving(m, g);
	if (unlikely(p->stack_sample == 0 || g->site->stack_used_ == 0))
		measure_stack(p, g);
	else
		p->stack_sample--;
	wf_g_dies(g);
}

/*
 * The running goroutine is over. With at_base (nothing but wf_g_main below us on this stack) it
 * may return: then m->g is a fresh goroutine that takes over the stack.
 */
struct wf_m *
wf_g_exit(struct wf_m *m, int rc, bool at_base)
{
	struct wf_g *g = m->g, *next;
	struct wf_p *p = wf_m_p(m);

	finish(m, p, g, rc);
	next = g->joiner;
	if (next) { /* back to the parent that has waited for just this */
		g->joiner = NULL;
		wf_g_readied(next);
		if (unlikely(m->pinned)) { /* not here: PIN-1 */
			wf_submit(m, p, next, true);
			next = NULL;
		}
	} else {
		next = wf_pick_direct(m, p);
	}
	if (next) {
		wf_g_runs(next);
		at_bump(&p->n_switches, 1); /* rlx: a counter */
		m->g = next;
		if (WF_STACK_TAKEN_OVER && at_base && !next->stack &&
		    next->stack_class == g->stack_class) {
			next->stack = g->stack;
			g->stack = NULL;
			bury(m, p, g);
			return m;
		}
	}
	m->pending = WF_PEND_DEAD; /* SPAWN-2 */
	m->pending_g = g;
	if (next) {
		wf_switch_to_g(m, &g->sp, NULL, next);
	} else {
		m->g = NULL;
		wf_switch_to_g0(m, &g->sp, NULL);
	}
	wf_broken(__FILE__, __LINE__, "a dead goroutine does not run");
}

/* The end of a run drops g, or its thread has outlived the run: what death would have cleared. */
void
wf_g_drop(struct wf_m *m, struct wf_g *g)
{
	wf_tsan_acquire(g);
	wf_locals_free_hook(g->locals);
	g->locals = NULL;
	g->joiner = NULL;
	g->scope = NULL;
	g->reason = WF_WAIT_NONE;
	g->onces = 0;
	g->save = 0;
	g->blocking = 0;
	wf_claim_void(g);
	wf_g_bury(m, g);
}

/* Entry and deferred functions are called through another pointer type than their own. */
__attribute__((no_sanitize("undefined"))) static int
call_entry(struct wf_g *g)
{
	if (unlikely(g->flags & WF_G_MEMBER))
		return wf_member_call_hook(g);
	return g->site->fn(g->arg);
}

/* Back from the goroutine's function, on another thread perhaps. */
static struct wf_m *
returned(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	if (unlikely(!m))
		wf_fatal("a goroutine's function returned in a forked child, where nothing can go "
			 "on: end it with _exit, or call exec");
	return m;
}

/* The other base of a goroutine's stack: it is called by the parent that waits for it, and returns
   to it, with the M it has ended on. */
static void *
kid_main(void *arg)
{
	struct wf_m *m = arg;
	struct wf_g *kid = m->g, *parent;
	struct wf_p *p;

	wf_asan_arrive(NULL, NULL, NULL);
	wf_g_waits(kid->joiner); /* PARK-1; nobody can wake it but kid, which has not begun */
	wf_tsan_acquire(kid);
	*m->errno_address = 0;
	wf_leave(m);
	int rc = call_entry(kid);
	m = returned();
	if (unlikely(m->pinned)) /* the parent does not go on here: PIN-1 */
		wf_g_exit(m, rc, false);
	p = wf_m_p(m);
	finish(m, p, kid, rc);
	parent = kid->joiner;
	kid->joiner = NULL;
	wf_g_resumes(parent);
	at_bump(&p->n_switches, 1); /* rlx: a counter */
	m->g = parent;
	m->pending = WF_PEND_DEAD; /* SPAWN-2 */
	m->pending_g = kid;
	wf_asan_leave(NULL, parent->stack, wf_stack_bytes(parent->stack_class));
	wf_tsan_switch(parent->san);
	return m;
}

/* Holder of p, on the running goroutine g, whose context goes to g->sp: kid, fresh and RUNNING,
   runs until it ends. Returns the M that g goes on with. */
WF_INLINE struct wf_m *
call_kid(struct wf_m *m, struct wf_p *p, struct wf_g *g, struct wf_g *kid)
{
	wf_bind_stack(p, kid);
	wf_asan_leave(&g->san, kid->stack, wf_stack_bytes(kid->stack_class));
	wf_tsan_switch(kid->san);
	m = wf_ctx_call(&g->sp, wf_stack_top(kid->stack, kid->stack_class), kid_main, m);
	/* as wf_resumed, where mostly the kid is to be buried; SELF-1 */
	g = m->g;
	wf_asan_arrive(g->san, NULL, NULL);
	p = wf_m_p(m);
	if (likely(m->pending == WF_PEND_DEAD && p)) { /* PARK-2 */
		m->pending = WF_PEND_NONE;
		bury(m, p, m->pending_g);
	} else {
		wf_arrived(m);
	}
	wf_tsan_acquire(g);
	*m->errno_address = g->errno_saved;
	return m;
}

/* The fairness tick is due: may the newest child run all the same? Not if others have waited long
   enough; those below it in the fork queue less often. */
static WF_NOINLINE bool
may_go_on(struct wf_p *p)
{
	if (wf_runq_len(&p->runq) > 0 || wf_globq_size(&wf_globq) > 0 || wf_gather_keeps(p) ||
	    (wf_forkq_len(&p->forkq) > 1 && ++p->join_turns % JOIN_TURNS == 0))
		return false;
	p->fair = WF_FAIR_EVERY;
	return true;
}

struct wf_m *
wf_join_child(struct wf_m *m, const struct weft_wg *wg)
{
	struct wf_p *p = wf_m_p(m);
	struct wf_g *g = m->g, *kid = wf_forkq_peek(&p->forkq);

	/* kid->wg: a hint, it may be stolen already; looked at again below. rlx: as in
	   wf_pick_direct */
	if (!kid || kid->wg != wg || g->save || m->pinned || at_load_rlx(&m->lease) > WF_FENCED ||
	    at_load_rlx(&wf_sched.due))
		return NULL;
	if (p->fair == 0 && !may_go_on(p))
		return NULL;
	kid = wf_forkq_pop(&p->forkq);
	if (!kid)
		return NULL;
	if (kid->wg != wg || kid->stack) { /* the peek was out of date */
		wf_submit(m, p, kid, false);
		return NULL;
	}
	p->fair -= p->fair > 0;
	at_bump(&p->tick, 1);       /* rlx: the monitor only compares */
	at_bump(&p->n_switches, 1); /* rlx: a counter */
	at_bump(&p->n_parks, 1);    /* rlx: a counter */
	kid->joiner = g;
	g->reason = WF_WAIT_JOIN;
	g->wait_on = wg;
	g->since_ns = (int64_t)at_load_rlx(&wf_sched.coarse_ns); /* rlx: only shown to people */
	g->errno_saved = (int16_t)*m->errno_address;
	wf_tsan_release(g); /* as in wf_switch_away */
	wf_g_runs(kid);
	m->g = kid;
	return call_kid(m, p, g, kid);
}

/* First-run trampoline: the base of every goroutine stack. */
void
wf_g_main(void *arg)
{
	struct wf_m *m = arg;

	wf_asan_arrive(NULL, NULL, NULL);
	if (!WF_MUTANT(MUT_PARK_TRAMPOLINE))
		wf_arrived(m); /* PARK-2 */
	for (;;) {
		struct wf_g *g = m->g;
		int rc;

		wf_tsan_acquire(g); /* what the spawner did before */
		*m->errno_address = 0;
		wf_leave(m);
		rc = call_entry(g);
		m = returned();
		m = wf_g_exit(m, rc, true);
	}
}

WF_EXPORT int64_t
weft_spawn(struct weft_site *site, const struct weft_attr *attr, struct weft_wg *wg,
	   const void *arg, size_t bytes)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_g *me;
	struct wf_p *p;
	int64_t id;

	if (unlikely(!m))
		return -ENOTSUP;
	p = wf_m_p(m);
	me = m->g;
	if (likely(p && me && !attr))
		id = spawn(m, p, me, site, NULL, wg, arg, bytes, 0);
	else
		id = wf_spawn(m, site, attr, wg, arg, bytes, 0);
	wf_leave(m);
	return id;
}

WF_EXPORT void
weft_exit(int rc)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	if (wf_sched.forked)
		wf_fatal("weft_exit was called in a forked child, where nothing can go on: call "
			 "_exit or exec");
	if (!m || m->plain)
		wf_fatal(
		    "weft_exit was called outside a goroutine; return from the thread instead");
	wf_scope_exit_hook(m->g);
	wf_g_exit(m, rc, false);
	wf_broken(__FILE__, __LINE__, "weft_exit returned");
}

WF_EXPORT int64_t
weft_id(void)
{
	struct wf_m *m = wf_m();

	/* no runtime data but our own G is read: no need to enter */
	return m->g ? m->g->id : 0;
}
