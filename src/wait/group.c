/* SPDX-License-Identifier: MIT */
/*
 * group.c: groups: a block that ends when its children have ended, and cancels them when one fails.
 *
 * The count of children is a wait group; the tree of those who wait is described in scope.h.
 *
 * GROUP-1: the group is gone once its owner has seen the count at zero: a child's countdown is
 *          its last access to it (SYNC-1, WG-1).
 * GROUP-2: the wait at the end of the block is ended by nothing but the last child; the end of
 *          an outer scope cancels the children, and it goes on waiting.
 */
#include "core/glist.h"
#include "sched/spawn.h"
#include "wait/scope.h"
#include "wait/waitq.h"
#include "wait/wg.h"

#include <errno.h>

enum { TREE_LOCKS = 64 }; /* trees are independent; these are hashed by the root's address */

static struct wf_lock tree_locks[TREE_LOCKS] = {
    [0 ... TREE_LOCKS - 1] = WF_LOCK_INIT(WF_RANK_SCOPE),
};

/* ---- the tree */

/* Under the tree's lock: gr and the groups above it can be found from the root. */
static void
link_group(struct weft_group *gr)
{
	for (struct wf_group *p = wf_group_of(gr); p->up && !p->linked;
	     gr = p->up, p = wf_group_of(gr)) {
		struct wf_group *up = wf_group_of(p->up);

		p->linked = true;
		p->prev = NULL;
		p->next = up->subs;
		if (up->subs)
			wf_group_of(up->subs)->prev = gr;
		up->subs = gr;
	}
}

static void
unlink_group(struct weft_group *gr)
{
	struct wf_group *p = wf_group_of(gr), *up;

	if (!p->linked)
		return;
	up = wf_group_of(p->up);
	wf_lock(p->lock);
	if (p->prev)
		wf_group_of(p->prev)->next = p->next;
	else
		up->subs = p->next;
	if (p->next)
		wf_group_of(p->next)->prev = p->prev;
	p->linked = false;
	wf_unlock(p->lock);
}

static void
link_member(struct wf_member *mb)
{
	struct wf_group *p = wf_group_of(mb->group);

	wf_lock(p->lock);
	mb->linked = true;
	mb->prev = NULL;
	mb->next = p->members;
	if (mb->next)
		mb->next->prev = mb;
	p->members = mb;
	link_group(mb->group);
	wf_unlock(p->lock);
}

static void
unlink_member(struct wf_member *mb)
{
	struct wf_group *p = wf_group_of(mb->group);

	if (!mb->linked)
		return;
	wf_lock(p->lock);
	if (mb->prev)
		mb->prev->next = mb->next;
	else
		p->members = mb->next;
	if (mb->next)
		mb->next->prev = mb->prev;
	mb->linked = false;
	wf_unlock(p->lock);
}

bool
wf_scope_enlist(struct wf_g *g)
{
	struct weft_scope *s = g->scope;

	if (s->kind_ == WEFT_SCOPE_SHIELD)
		return false;
	while (s->up_)
		s = s->up_;
	if (s->kind_ == WEFT_SCOPE_MEMBER) {
		struct wf_member *mb = container_of(s, struct wf_member, scope);

		if (!mb->linked)
			link_member(mb); /* SCOPE-2 */
	}
	return true;
}

/* ---- cancel */

/* Under the tree's lock. A claimed goroutine waits for nothing else: its link is free. WAIT-2: its
   waiter is not touched. */
static void
claim_into(struct wf_glist *woken, struct wf_g *g)
{
	if (wf_claim_scoped(g))
		wf_glist_push(woken, g);
}

static void
flag_group(struct weft_group *gr, struct wf_glist *woken)
{
	struct wf_group *p = wf_group_of(gr);

	if (at_load_rlx(&p->cancelled)) /* rlx: under the lock */
		return;
	at_xchg_acqrel(&p->cancelled, 1); /* acqrel: WAIT-4, before the looks at the claims */
	for (struct wf_member *mb = p->members; mb; mb = mb->next)
		claim_into(woken, mb->g);
}

/* The next group after gr in the tree below root, or NULL. */
static struct weft_group *
next_below(struct weft_group *gr, struct weft_group *root)
{
	if (wf_group_of(gr)->subs)
		return wf_group_of(gr)->subs;
	for (; gr != root; gr = wf_group_of(gr)->up)
		if (wf_group_of(gr)->next)
			return wf_group_of(gr)->next;
	return NULL;
}

void
wf_group_cancel(struct wf_m *m, struct weft_group *root)
{
	struct wf_group *p = wf_group_of(root);
	struct wf_glist woken = {0};
	struct wf_g *g;

	if (at_load_acq(&p->cancelled)) /* acq: whoever set it does the rest */
		return;
	wf_lock(p->lock);
	for (struct weft_group *gr = root; gr; gr = next_below(gr, root))
		flag_group(gr, &woken);
	claim_into(&woken, p->owner); /* the body belongs to the group */
	wf_unlock(p->lock);
	while ((g = wf_glist_pop(&woken)))
		wf_ready(m, g); /* SCOPE-3 */
}

/* In the runtime: was it opened in this run? If not its children are gone, or never were. */
static bool
is_open(struct weft_group *gr)
{
	struct wf_group *p = wf_group_of(gr);

	return p->owner && p->run == at_load_rlx(&wf_sched.run); /* rlx: const while it lasts */
}

WF_EXPORT int
weft_cancel(struct weft_group *gr)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	int rc = -ENOTSUP;

	if (!m)
		return rc;
	if (is_open(gr)) {
		wf_group_cancel(m, gr);
		rc = 0;
	}
	wf_leave(m);
	return rc;
}

/* ---- the block */

/* What is in force for a group opened in scope s: the group its cancellation comes from. */
static struct weft_group *
group_around(struct weft_scope *s)
{
	for (; s; s = s->up_) {
		if (s->kind_ == WEFT_SCOPE_SHIELD)
			return NULL;
		if (s->kind_ == WEFT_SCOPE_GROUP)
			return container_of(s, struct weft_group, scope_);
		if (s->kind_ == WEFT_SCOPE_MEMBER)
			return container_of(s, struct wf_member, scope)->group;
	}
	return NULL;
}

WF_EXPORT struct weft_group *
weft_group_open(struct weft_group *gr, int *rc, const char *where)
{
	struct wf_group *p = wf_group_of(gr);
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct wf_g *g;

	*gr = (struct weft_group){.rc_out_ = rc, .where_ = where};
	if (!m) {
		at_store_rlx(&p->rc, (uint32_t)-ENOTSUP); /* rlx: nobody else knows it */
		return gr;
	}
	g = wf_me(m);
	p->up = group_around(g->scope);
	p->lock = p->up ? wf_group_of(p->up)->lock : &tree_locks[((uintptr_t)gr >> 6) % TREE_LOCKS];
	p->owner = g;
	p->run = at_load_rlx(&wf_sched.run); /* rlx: const while it lasts */
	gr->scope_.kind_ = WEFT_SCOPE_GROUP;
	gr->scope_.up_ = g->scope;
	g->scope = &gr->scope_;
	wf_leave(m);
	return gr;
}

static const char *
opened_at(const struct weft_group *gr)
{
	return gr->where_ ? gr->where_ : "an unknown place";
}

static void
set_rc(struct weft_group *gr, int rc)
{
	uint32_t none = 0;

	at_cas_acqrel(&wf_group_of(gr)->rc, &none, (uint32_t)rc); /* acqrel: the first one stays */
}

/* In the runtime, the group's own scope left: its end. */
static void
join(struct wf_m **m, struct weft_group *gr)
{
	int rc = is_open(gr) ? wf_wg_join(m, &gr->wg_, WF_WAIT_GROUP, true) : -ENOTSUP;

	if (rc < 0)
		set_rc(gr, rc);
	if (rc < 0 && rc != -ENOTSUP) { /* GROUP-2 */
		wf_group_cancel(*m, gr);
		rc = wf_wg_join(m, &gr->wg_, WF_WAIT_GROUP, false);
	}
	if (rc != -ENOTSUP) /* else: a plain thread; the run is over, and the tree with it */
		unlink_group(gr);
}

WF_EXPORT void
weft_group_close(struct weft_group *gr)
{
	struct wf_group *p = wf_group_of(gr);
	struct wf_m *m = wf_m();

	if (p->owner) {
		if (unlikely(wf_me(m) != p->owner || p->owner->scope != &gr->scope_))
			wf_fatal("the group opened at %s was left out of order, or by another "
				 "goroutine: leave scopes by }, break, return or goto",
				 opened_at(gr));
		p->owner->scope = gr->scope_.up_;
		m = wf_enter(WF_CALL_B);
		if (m) {
			join(&m, gr);
			wf_leave(m);
		} else {
			set_rc(gr, -ENOTSUP);
		}
	}
	if (gr->rc_out_)
		*gr->rc_out_ = (int)at_load_acq(&p->rc); /* acq: as the child set it */
}

/* ---- children */

/* In user code, as the goroutine: its function is called through another type than its own. */
__attribute__((no_sanitize("undefined"))) int
wf_member_call(struct wf_g *g)
{
	struct wf_member mb = {.scope = {.kind_ = WEFT_SCOPE_MEMBER},
			       .group = container_of(g->wg, struct weft_group, wg_),
			       .g = g};
	int rc;

	g->scope = &mb.scope;
	rc = g->site->fn(g->arg);
	g->scope = NULL;
	if (mb.linked) { /* inside: if the run is over, and the group gone, we do not return */
		struct wf_m *m = wf_enter(WF_CALL_N);

		unlink_member(&mb);
		if (m)
			wf_leave(m);
	}
	return rc;
}

void
wf_scope_exit(struct wf_g *g)
{
	if (g->onces > 0)
		wf_fatal(
		    "weft_exit inside the function of a weft_once: those who wait for it would "
		    "wait for ever. Let the function return");
	for (struct weft_scope *s = g->scope; s; s = s->up_) {
		if (s->kind_ == WEFT_SCOPE_GROUP)
			wf_fatal("weft_exit inside the group opened at %s: its children could not "
				 "be waited for. Leave the block first, or return",
				 opened_at(container_of(s, struct weft_group, scope_)));
		if (s->kind_ == WEFT_SCOPE_MEMBER)
			unlink_member(container_of(s, struct wf_member, scope));
	}
	g->scope = NULL;
}

/* A child is over: one less of a limited number. */
static void
give_slot(struct wf_m *m, struct wf_group *p)
{
	struct wf_bucket *b;
	struct wf_at *a;

	if (likely(at_load_acq(&p->limit) == 0)) /* acq: set before the first limited child */
		return;
	if (!(at_add_acqrel(&p->slots, (uint64_t)-2) & 1)) /* acqrel: pairs with take_slot */
		return;
	b = wf_bucket_of(&p->slots);
	wf_lock(&b->lock);
	a = wf_at_pop(b, &p->slots);
	if (!wf_at_first(b, &p->slots))
		at_and_acqrel(&p->slots, ~UINT64_C(1)); /* acqrel: under the bucket's lock */
	wf_unlock(&b->lock);
	if (a)
		wf_at_wake(m, a, 0);
}

void
wf_member_done(struct wf_m *m, struct wf_g *g, int rc)
{
	struct weft_group *gr = container_of(g->wg, struct weft_group, wg_);

	if (unlikely(rc < 0)) {
		set_rc(gr, rc);
		wf_group_cancel(m, gr);
	}
	give_slot(m, wf_group_of(gr));
	wf_wg_done(m, &gr->wg_); /* GROUP-1 */
}

/* Room for one more child: 0, or what the caller's scopes say. */
static int
take_slot(struct wf_m **m, struct wf_group *p)
{
	uint32_t limit = at_load_acq(&p->limit); /* acq: as in give_slot */
	uint64_t s = at_load_acq(&p->slots);     /* acq: as the CAS below */
	struct wf_bucket *b = wf_bucket_of(&p->slots);

	for (;;) {
		if (s / 2 < limit) {
			if (at_cas_acqrel(&p->slots, &s, s + 2)) /* acqrel: a child ended before */
				return 0;
			continue;
		}
		wf_lock(&b->lock);
		s = at_or_acqrel(&p->slots, 1) | 1; /* acqrel: from now on who ends comes here */
		if (s / 2 >= limit) {
			struct wf_at a = {0};
			int rc = wf_wait_at(m, b, &p->slots, &a, WF_WAIT_LIMIT, true);

			if (rc < 0)
				return rc;
		} else {
			wf_unlock(&b->lock);
		}
		s = at_load_acq(&p->slots); /* acq: as above */
	}
}

WF_EXPORT int
weft_group_limit(struct weft_group *gr, int n)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	int rc = 0;

	if (!m)
		return -ENOTSUP;
	if (!is_open(gr))
		rc = -ENOTSUP;
	else if (n < 0)
		rc = -EINVAL;
	else if (at_load_acq(wf_wg_word(&gr->wg_)) != 0) /* acq: children were not counted */
		rc = -EBUSY;
	else
		at_store_rel(&wf_group_of(gr)->limit, (uint32_t)n); /* rel: before the first */
	wf_leave(m);
	return rc;
}

WF_EXPORT int64_t
weft_spawn_in(struct weft_site *site, const struct weft_attr *attr, struct weft_group *gr,
	      const void *arg, size_t bytes)
{
	struct wf_group *p = wf_group_of(gr);
	bool limited = at_load_acq(&p->limit) != 0; /* acq: as in give_slot */
	struct wf_m *m = wf_enter(limited ? WF_CALL_B : WF_CALL_N);
	int64_t id;

	if (!m)
		return -ENOTSUP;
	id = !is_open(gr) ? -ENOTSUP : limited ? take_slot(&m, p) : 0;
	if (id == 0) {
		id = wf_spawn(m, site, attr, &gr->wg_, arg, bytes, WF_G_MEMBER);
		if (id < 0 && limited)
			give_slot(m, p);
	}
	wf_leave(m);
	return id;
}
