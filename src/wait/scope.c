/* SPDX-License-Identifier: MIT */
/* scope.c: deadlines and shields, and what all scopes of a goroutine say together; see scope.h. */
#include "wait/scope.h"

#include <errno.h>

static struct wf_member *
member_of(struct weft_scope *s)
{
	return container_of(s, struct wf_member, scope);
}

static bool
is_cancelled(struct weft_scope *s)
{
	struct weft_group *gr = container_of(s, struct weft_group, scope_);

	return at_load_acq(&wf_group_of(gr)->cancelled); /* acq: pairs with flag_group */
}

static bool
group_cancelled(struct weft_group *gr)
{
	for (; gr; gr = wf_group_of(gr)->up)
		if (at_load_acq(&wf_group_of(gr)->cancelled)) /* acq: pairs with flag_group */
			return true;
	return false;
}

int
wf_scope_verdict(const struct wf_g *g)
{
	if (unlikely(g->flags & WF_G_OVER))
		return -ENOTSUP; /* a plain thread; the run has ended meanwhile */
	for (struct weft_scope *s = g->scope; s; s = s->up_) {
		switch ((enum weft_scope_kind)s->kind_) {
		case WEFT_SCOPE_SHIELD:
			return 0;
		case WEFT_SCOPE_DEADLINE:
			if (os_now_ns() >= s->deadline_ns_)
				return -ETIMEDOUT;
			break;
		case WEFT_SCOPE_GROUP:
			if (is_cancelled(s))
				return -ECANCELED;
			break;
		case WEFT_SCOPE_MEMBER:
			return group_cancelled(member_of(s)->group) ? -ECANCELED : 0;
		}
	}
	return 0;
}

bool
wf_scope_cancelled(const struct wf_g *g)
{
	for (struct weft_scope *s = g->scope; s && s->kind_ != WEFT_SCOPE_SHIELD; s = s->up_) {
		if (s->kind_ == WEFT_SCOPE_MEMBER)
			return group_cancelled(member_of(s)->group);
		if (s->kind_ == WEFT_SCOPE_GROUP && is_cancelled(s))
			return true;
	}
	return false;
}

int64_t
wf_scope_deadline(const struct wf_g *g)
{
	int64_t nearest = WF_NEVER;

	for (struct weft_scope *s = g->scope; s && s->kind_ != WEFT_SCOPE_SHIELD; s = s->up_)
		if (s->kind_ == WEFT_SCOPE_DEADLINE && s->deadline_ns_ < nearest)
			nearest = s->deadline_ns_;
	return nearest;
}

bool
wf_wait_by(struct wf_g *g, int64_t until)
{
	bool scoped = g->scope && wf_scope_enlist(g);

	if (scoped) {
		int64_t deadline = wf_scope_deadline(g);

		until = deadline < until ? deadline : until;
	}
	if (until == WF_NEVER) {
		at_store_rlx(&g->wake_at, 0); /* rlx: published by the claim, TIMER-4 */
		return scoped;
	}
	until = until > 0 ? until : 1;
	at_store_rlx(&g->wake_at, (uint64_t)until); /* rlx: as above */
	/* A time that is past needs no timer: the commit sees that there is none. */
	if (wf_timer_when(&g->timer) > until && os_now_ns() < until)
		wf_timers_wake_by(wf_m(), g, until);
	return true;
}

/* ---- open and close: only the caller's own chain is touched, so nobody need enter (SCOPE-1) */

static struct wf_g *
me(void)
{
	struct wf_m *m = wf_m();

	if (unlikely(m == &wf_m_unknown)) {
		m = wf_m_attach();
		wf_leave(m);
	}
	return wf_me(m);
}

static void
push(struct weft_scope *s, enum weft_scope_kind kind)
{
	struct wf_g *g = me();

	s->kind_ = (int)kind;
	s->up_ = g->scope;
	g->scope = s;
}

WF_EXPORT void
weft_scope_open_deadline(struct weft_scope *s, int64_t abs_ns)
{
	s->deadline_ns_ = abs_ns;
	push(s, WEFT_SCOPE_DEADLINE);
}

WF_EXPORT void
weft_scope_open_timeout(struct weft_scope *s, int64_t ns)
{
	int64_t now = os_now_ns();

	weft_scope_open_deadline(s, ns > INT64_MAX - now ? INT64_MAX : now + ns);
}

WF_EXPORT void
weft_scope_open_shield(struct weft_scope *s)
{
	push(s, WEFT_SCOPE_SHIELD);
}

WF_EXPORT void
weft_scope_close(struct weft_scope *s)
{
	struct wf_g *g = me();

	if (unlikely(g->scope != s))
		wf_fatal("a scope was left out of order, or by another goroutine than opened it: "
			 "leave scopes by }, break, return or goto, never by longjmp");
	g->scope = s->up_;
}

WF_EXPORT bool
weft_cancelled(void)
{
	struct wf_m *m = wf_m();
	bool over;

	if (m == &wf_m_unknown || !wf_me(m)->scope)
		return false;
	if (m->plain) { /* all its scopes are its own */
		m->thread_g.flags = WF_G_THREAD;
		return wf_scope_verdict(&m->thread_g) != 0;
	}
	m = wf_enter(WF_CALL_N); /* the groups above are there while the run lasts */
	if (!m)
		return false;
	over = wf_scope_verdict(m->g) != 0;
	wf_leave(m);
	return over;
}
