/* SPDX-License-Identifier: MIT */
/*
 * select.c: wait for the first of several channel operations. Descriptors among the cases are for
 * selfd.c.
 *
 * A look without locks comes first: if cases seem ready, one of them, chosen evenly, is tried
 * under its own channel's lock alone. Only when none is does a select lock all its channels, in
 * the order of their addresses, look again, stand in all their lines, and park. What that takes
 * is on the stack of the one that selects; only for more than MANY cases is it allocated.
 *
 * SEL-1: exactly one case fires: who delivers has won the claim (CLAIM-1), and a case done at once
 *        is done before any other is enqueued.
 * SEL-2: the look under all locks and the enqueueing are one section: nothing becomes ready
 *        in between unseen.
 * SEL-3: the commit reads the next channel before it unlocks one: with the last unlock the frame
 *        may be gone.
 * SEL-4: before it returns a select has left every line, or has seen that it was taken out: then the
 *        channel may be gone, and is not touched (WAIT-1, LIMBO-1).
 * SEL-5: a default is taken only if there was a moment when no case was ready: every state is read
 *        twice, and none has changed between the two rounds.
 * SEL-6: a WEFT_AFTER counts from the call, and fires only if no channel was ready when its time had
 *        come; of several the earliest fires.
 * SEL-7: a select that parks has locked a channel or a descriptor, and who takes it out, or leaves, locks
 *        that too: its frame stays until the commit has unlocked the last. With a time alone it is
 *        a sleep (SLEEP-2).
 */
#include "wait/chan.h"
#include "base/rand.h"
#include "sched/gather.h"
#include "wait/atonce.h"
#include "wait/selfd.h"
#include "wait/selready.h"

#include <errno.h>
#include <stdlib.h>

enum {
	CASES_MAX = 65535,
	FEW = 8,
	MANY = 64, /* a smallest stack has room for so many places */
};

/* The default may be taken: SEL-5. One channel need not be read twice. */
static bool
pick_default(struct wf_select *sel)
{
	for (int round = 0; round < (sel->chans > 1 ? 2 : 1); round++)
		for (int i = 0; i < sel->n; i++) {
			const struct weft_case *c = &sel->cases[i];
			uint64_t s;

			if (!wf_case_is_chan(c))
				continue;
			s = wf_case_state(c);
			if (wf_case_looks_ready(c, s) || (round > 0 && s != sel->places[i].seen))
				return false;
			sel->places[i].seen = s;
		}
	return true;
}

/* The case's channel is locked, with state *s. */
static int
do_case(struct weft_case *c, uint64_t *s, struct wf_waiter **peer)
{
	return wf_chan_do(c->chan_, s, c->elem_, c->kind_ == WEFT_CASE_SEND, peer);
}

/* What select returns when case i has fired with this result: SEL-1. */
static int
fired(struct weft_case *cases, int i, int result)
{
	if (result < 0)
		return result; /* a send on a closed channel */
	if (cases[i].kind_ == WEFT_CASE_RECV && cases[i].ok_)
		*cases[i].ok_ = result;
	return i;
}

/* ---- the channels in the order of their addresses */

static struct weft_case *
nth(struct wf_select *sel, int k)
{
	return &sel->cases[sel->places[k].order];
}

static uintptr_t
address(const struct wf_select *sel, int k)
{
	int i = sel->places[k].order;

	return (uintptr_t)(wf_select_is_fd(&sel->cases[i]) ? (void *)sel->places[i].fd
							   : sel->cases[i].chan_);
}

static bool
comes_after(const struct wf_select *sel, int a, int b)
{
	return address(sel, a) > address(sel, b);
}

static void
swap(struct wf_select *sel, int a, int b)
{
	uint16_t t = sel->places[a].order;

	sel->places[a].order = sel->places[b].order;
	sel->places[b].order = t;
}

static void
sift_down(struct wf_select *sel, int at, int n)
{
	for (int kid = 2 * at + 1; kid < n; at = kid, kid = 2 * at + 1) {
		if (kid + 1 < n && comes_after(sel, kid + 1, kid))
			kid++;
		if (!comes_after(sel, kid, at))
			return;
		swap(sel, at, kid);
	}
}

/* Heap sort: no memory, no bad case. A case without a channel comes first. */
static void
sort_by_address(struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++)
		sel->places[i].order = (uint16_t)i;
	for (int i = sel->n / 2 - 1; i >= 0; i--)
		sift_down(sel, i, sel->n);
	for (int i = sel->n - 1; i > 0; i--) {
		swap(sel, 0, i);
		sift_down(sel, 0, i);
	}
}

/* The next distinct channel from *k on, in order; NULL: there is none. */
static struct wf_chan *
next_chan(struct wf_select *sel, int *k, const struct wf_chan *before)
{
	while (*k < sel->n) {
		struct weft_case *c = nth(sel, (*k)++);

		if (wf_case_is_chan(c) && c->chan_ != before)
			return c->chan_;
	}
	return NULL;
}

/* Biased to p, all of them: then saying so is enough. */
static bool
lock_all_biased(struct wf_p *p, struct wf_select *sel)
{
	if (!p)
		return false;
	at_store_rlx(&p->in_chan, WF_ALL_CHANS); /* rlx: as in wf_chan_lock */
	light_barrier();                         /* pairs with the membarrier in unbias */
	for (int i = 0; i < sel->n; i++) {
		struct wf_chan *ch = sel->cases[i].chan_;

		if (wf_case_is_chan(&sel->cases[i]) &&
		    at_load_rlx(&ch->owner) != p) {      /* rlx: as there */
			at_store_rel(&p->in_chan, NULL); /* rel: nothing was done in there */
			return false;
		}
	}
	return true;
}

static void
lock_all(struct wf_select *sel)
{
	int k = 0;

	sel->biased = sel->fds == 0 && lock_all_biased(sel->p, sel);
	if (sel->biased)
		return;
	sort_by_address(sel);
	for (struct wf_chan *ch = NULL; (ch = next_chan(sel, &k, ch));)
		/* rlx: it is ours; BIASED, if it was just earned, is published by the unlock */
		at_store_rlx(&ch->state, wf_chan_lock_shared(sel->p, ch) | WF_CH_LOCKED);
}

/* From the last unlock on, sel and its cases may be gone: SEL-3. */
static void
unlock_all(struct wf_select *sel)
{
	int k = 0;
	struct wf_chan *ch, *next;

	if (sel->biased) {
		at_store_rel(&sel->p->in_chan, NULL); /* rel: as in wf_chan_unlock */
		return;
	}
	ch = next_chan(sel, &k, NULL);
	if (sel->fds > 0)
		wf_select_unlock_fds(sel); /* without a channel, sel may be gone */
	for (; ch; ch = next) {
		uint64_t s = at_load_rlx(&ch->state); /* rlx: it is ours */

		next = WF_MUTANT(MUT_CHAN_COMMIT_LATE) ? NULL : next_chan(sel, &k, ch);
		wf_chan_unlock(NULL, ch, s & ~(uint64_t)WF_CH_LOCKED);
		if (WF_MUTANT(MUT_CHAN_COMMIT_LATE)) {
			light_barrier(); /* a choice point */
			next = next_chan(sel, &k, ch);
		}
	}
}

/* ---- the three passes */

/* How many goroutines this one has readied by its selects in this turn of its P. */
static void
count_readied(struct wf_p *p)
{
	uint64_t turn = at_load_rlx(&p->n_switches); /* rlx: our own */

	if (p->select_turn != turn)
		p->select_readied = 0;
	p->select_turn = turn;
	p->select_readied++;
}

/* In the ring is nobody but those whom this goroutine has just readied by its selects, and what they
   do next is most likely what it would wait for. Only where that wakes no other P; and not for who
   would not stand in the ring with them, or leaves memory behind if the run ends meanwhile. */
static bool
may_let_go_first(const struct wf_m *m, const struct wf_select *sel)
{
	const struct wf_p *p = wf_m_p(m);

	/* rlx: our own, and hints; a thief may have taken some */
	if (!p || p->select_readied == 0 || p->select_turn != at_load_rlx(&p->n_switches))
		return false;
	if (wf_runq_len(&p->runq) + (at_load_rlx(&p->runq.next) != NULL) != p->select_readied)
		return false; /* rlx: as above */
	return wf_is_quiet(p) && !sel->heap && !m->pinned &&
	       !(m->g->flags & (WF_G_CLASSES | WF_G_PINNED));
}

/* One case under its own lock: its index, or WF_PENDING if it was not ready after all. */
static int
try_one(struct wf_m *m, struct weft_case *cases, int i)
{
	struct wf_chan *ch = cases[i].chan_;
	struct wf_waiter *peer;
	uint64_t s = wf_chan_lock(wf_m_p(m), ch);
	int rc = do_case(&cases[i], &s, &peer);

	if (likely(rc != WF_PENDING))
		wf_chan_count(wf_m_p(m), peer);
	wf_chan_unlock(wf_m_p(m), ch, s); /* CHAN-2 */
	if (peer) {
		wf_ready(m, peer->g);
		if (likely(wf_m_p(m) != NULL))
			count_readied(wf_m_p(m));
	}
	return rc == WF_PENDING ? rc : fired(cases, i, rc);
}

/* All channels are locked: a ready case is done, and all are unlocked; or WF_PENDING. */
static int
try_locked(struct wf_m *m, struct wf_select *sel)
{
	int i = WF_MUTANT(MUT_CHAN_NO_RECHECK) ? -1 : wf_cases_pick(m, sel->cases, sel->n);

	while (i >= 0) { /* waiters that others have woken can make it look ready: once each */
		struct wf_chan *ch = sel->cases[i].chan_;
		struct wf_waiter *peer;
		/* rlx: it is ours */
		uint64_t s = at_load_rlx(&ch->state);
		int rc = do_case(&sel->cases[i], &s, &peer);

		at_store_rlx(&ch->state, s + WF_CH_VERSION); /* rlx: published by the unlock */
		if (rc != WF_PENDING) {
			wf_chan_count(sel->p, peer);
			unlock_all(sel);
			if (peer)
				wf_ready(m, peer->g);
			return fired(sel->cases, i, rc);
		}
		i = wf_cases_pick(m, sel->cases, sel->n);
	}
	return WF_PENDING;
}

/* All channels are locked: stand in each line. */
static void
enqueue(struct wf_select *sel, struct wf_g *g)
{
	for (int i = 0; i < sel->n; i++) {
		struct weft_case *c = &sel->cases[i];
		struct wf_chan *ch = c->chan_;
		struct wf_waiter *w = &sel->places[i].w;
		bool sends = c->kind_ == WEFT_CASE_SEND;
		uint64_t flag = sends ? WF_CH_SENDS : WF_CH_RECVS;

		wf_waiter_init(w, g, sel->number);
		if (unlikely(!wf_case_is_chan(c))) {
			if (wf_select_is_fd(c))
				wf_select_enqueue_fd(sel, i);
			continue;
		}
		w->elem = c->elem_;
		wf_waiter_push(sends ? &ch->sends : &ch->recvs, w); /* WAIT-1 */
		/* rlx: it is ours; CHAN-4 */
		at_store_rlx(&ch->state, (at_load_rlx(&ch->state) | flag) + WF_CH_VERSION);
	}
}

static void
commit(struct wf_g *g, void *arg)
{
	struct wf_select *sel = arg;
	uint32_t number = sel->number;
	bool ends = wf_wait_open(g, number), fds = sel->fds > 0;

	unlock_all(sel);
	if (unlikely(ends))
		wf_wait_end(g, number);
	if (unlikely(fds && wf_m()->plain))
		wf_netpoll_joined(wf_m());
}

/* SEL-4. Returns the case that fired, or -1. */
static int
dequeue(struct wf_p *p, struct wf_select *sel)
{
	int winner = -1;

	for (int i = 0; i < sel->n; i++) {
		struct weft_case *c = &sel->cases[i];
		struct wf_waiter *w = &sel->places[i].w;

		if (sel->fds > 0 && wf_select_is_fd(c))
			wf_select_dequeue_fd(sel, i);
		if (w->result != WF_PENDING)
			winner = i;
		else if (wf_case_is_chan(c) && !WF_MUTANT(MUT_CHAN_LOSER_STAYS))
			wf_chan_leave(p, c->chan_, c->kind_ == WEFT_CASE_SEND, w);
	}
	return winner;
}

static bool
is_due(const struct wf_select *sel)
{
	return sel->until != WF_NEVER && os_now_ns() >= sel->until;
}

/* Nothing seems ready: wait. WF_PENDING: to be tried again. */
WF_INLINE int
wait_for_any(struct wf_m **m, struct wf_select *sel)
{
	struct wf_g *g = wf_me(*m);
	bool scoped = sel->until != WF_NEVER ? wf_wait_by(g, sel->until) : wf_scoped(g);
	int rc;

	sel->p = wf_m_p(*m);
	if (sel->fds > 0 && (rc = wf_select_watch_fds(sel)) < 0)
		return rc;
	ASSERT(sel->chans + sel->fds > 0); /* SEL-7 */
	lock_all(sel);
	if (sel->fds > 0)
		wf_select_lock_fds(sel);
	/* SEL-2. What is biased to our P was so all along, and nobody else has been there since the
	   look that found nothing ready. */
	if (!sel->biased && (rc = try_locked(*m, sel)) != WF_PENDING)
		return rc;
	if (sel->fds > 0 && wf_select_fds_changed(sel)) { /* SEL-2 */
		unlock_all(sel);
		if (!wf_select_closed(sel))
			return WF_PENDING;
		return wf_run_over(*m) ? -ENOTSUP : -ECANCELED;
	}
	sel->number = wf_claim_next(g, scoped);
	enqueue(sel, g);
	*m = wf_park(*m, commit, sel, WF_WAIT_SELECT, sel);
	rc = dequeue(wf_m_p(*m), sel);
	if (rc >= 0 && wf_select_is_fd(&sel->cases[rc])) /* an event, or -errno: it was closed */
		return sel->places[rc].w.result < 0 ? sel->places[rc].w.result : WF_PENDING;
	if (rc >= 0)
		return fired(sel->cases, rc, sel->places[rc].w.result);
	if (is_due(sel) && sel->until <= wf_scope_deadline(g)) /* of two that are past, the first */
		return sel->after;
	rc = wf_scope_verdict(g);
	if (rc == 0 && wf_run_over(*m))
		rc = -ENOTSUP;
	return rc < 0 ? rc : WF_PENDING;
}

/* A case that is neither a receive nor a send. 0 or -EINVAL. */
static WF_NOINLINE int
survey_other(struct wf_select *sel, int i)
{
	const struct weft_case *c = &sel->cases[i];

	switch ((enum weft_case_kind)c->kind_) {
	case WEFT_CASE_DEFAULT:
		if (sel->otherwise >= 0)
			return -EINVAL;
		sel->otherwise = i;
		return 0;
	case WEFT_CASE_NEVER:
		return 0;
	case WEFT_CASE_AFTER:
		if (sel->after < 0 || c->arg_ < sel->cases[sel->after].arg_)
			sel->after = i;
		return 0;
	case WEFT_CASE_READABLE:
	case WEFT_CASE_WRITABLE:
		sel->fds++;
		return 0;
	default:
		return -EINVAL;
	}
}

/* What the cases are. 0 or -EINVAL. */
WF_INLINE int
survey(struct wf_select *sel)
{
	int chans = 0;

	if (sel->n < 0 || sel->n > CASES_MAX || (!sel->cases && sel->n > 0))
		return -EINVAL;
	for (int i = 0; i < sel->n; i++) {
		const struct weft_case *c = &sel->cases[i];
		int rc;

		if (likely(c->kind_ == WEFT_CASE_RECV || c->kind_ == WEFT_CASE_SEND))
			chans += c->chan_ != NULL;
		else if ((rc = survey_other(sel, i)) < 0)
			return rc;
	}
	sel->chans = chans;
	return 0;
}

/* A descriptor that is ready, unless channels are and it is the turn of one of these: each has the same
   chance. */
static int
try_fds(struct wf_m *m, struct wf_select *sel)
{
	uint32_t fds, chans;
	int i = wf_select_look_fds(m, sel, &fds);

	if (i < 0)
		return i;
	chans = wf_cases_count(sel->cases, sel->n);
	return chans > 0 && wf_rand_below(&m->rand, fds + chans) >= fds ? WF_PENDING : i;
}

/* There is nothing but a time: SEL-7. */
static WF_NOINLINE int
sleep_only(struct wf_m **m, struct wf_select *sel)
{
	int rc = wf_sleep_until(m, sel->until);

	if (rc == 0 && wf_scope_deadline(wf_me(*m)) < sel->until) /* as in wait_for_any */
		rc = wf_scope_verdict(wf_me(*m));
	return rc < 0 ? rc : sel->after;
}

/* A case that is ready at once, or WF_PENDING. */
static int
try_any(struct wf_m *m, struct wf_select *sel)
{
	int rc = sel->fds > 0 ? try_fds(m, sel) : WF_PENDING;

	for (int i; rc == WF_PENDING && (i = wf_cases_pick(m, sel->cases, sel->n)) >= 0;)
		rc = try_one(m, sel->cases, i);
	return rc;
}

/* In the runtime. In the frame of its caller: see await in chan.c. looked: nothing was ready just now. */
WF_INLINE int
select_cases(struct wf_m **m, struct wf_select *sel, bool looked)
{
	int rc;

	do {
		rc = looked ? WF_PENDING : try_any(*m, sel);
		if (rc != WF_PENDING)
			return rc;
		looked = false;
		if (is_due(sel)) /* SEL-6 */
			return sel->after;
		if (sel->otherwise >= 0)
			rc = pick_default(sel) ? sel->otherwise : WF_PENDING;
		else if (may_let_go_first(*m, sel)) /* standing in every line costs more */
			*m = wf_give_way(*m);
		else if (likely(sel->chans + sel->fds > 0))
			rc = wait_for_any(m, sel);
		else
			rc = sel->after >= 0 ? sleep_only(m, sel)
					     : wf_wait_for_ever(m, WF_WAIT_NO_CASE);
	} while (rc == WF_PENDING);
	return rc;
}

/* sel has its places. rc: of the survey. */
WF_INLINE int
surveyed(struct wf_select *sel, int rc)
{
	struct wf_m *m;

	if (sel->after >= 0) /* the clock is read only then */
		sel->until = wf_time_after(os_now_ns(), sel->cases[sel->after].arg_);
	m = wf_enter(sel->otherwise >= 0 ? WF_CALL_N
					 : WF_CALL_B); /* with a default it never waits */
	if (unlikely(!m))
		return -ENOTSUP;
	if (sel->fds > 0 && rc == 0)
		rc = wf_select_begin_fds(&m, sel);
	if (likely(rc == 0)) {
		rc = select_cases(&m, sel, false);
		if (sel->fds > 0)
			wf_select_end_fds(&m, sel);
	}
	if (likely(m))
		wf_leave(m);
	return rc;
}

static WF_NOINLINE int
select_many(struct wf_select *sel, int rc)
{
	struct wf_place many[MANY];

	sel->places = many;
	return surveyed(sel, rc);
}

/* What would wait for ever needs no places; nothing else is left behind if its run ends: see
   wf_chans_flush. */
static WF_COLD int
select_more(struct wf_select *sel, int rc)
{
	if (rc == 0 && (sel->chans + sel->fds > 0 || sel->after >= 0)) {
		sel->heap = malloc((size_t)sel->n * sizeof(*sel->places));
		if (!sel->heap)
			return -ENOMEM;
		sel->places = sel->heap;
	}
	rc = surveyed(sel, rc);
	free(sel->heap);
	return rc;
}

static WF_NOINLINE int
select_any(struct weft_case *cases, int n)
{
	struct wf_place few[FEW];
	struct wf_select sel = {
	    .cases = cases, .places = few, .n = n, .otherwise = -1, .after = -1, .until = WF_NEVER};
	int rc = survey(&sel);

	if (likely(n <= FEW || rc < 0))
		return surveyed(&sel, rc);
	return n <= MANY ? select_many(&sel, rc) : select_more(&sel, rc);
}

/* In the runtime; a few cases, all with channels. looked: as above. */
static WF_NOINLINE int
select_entered(struct wf_m *m, struct weft_case *cases, int n, bool looked)
{
	struct wf_place few[FEW];
	struct wf_select sel = {.cases = cases,
				.places = few,
				.n = n,
				.chans = n,
				.otherwise = -1,
				.after = -1,
				.until = WF_NEVER};
	int rc = select_cases(&m, &sel, looked);

	wf_leave(m);
	return rc;
}

static WF_NOINLINE int
submitted(struct wf_m *m, struct weft_case *cases, int i)
{
	wf_submitted(m);
	wf_leave(m);
	return fired(cases, i, cases[i].kind_ == WEFT_CASE_RECV);
}

/* Somebody waits on the other side of a case, in a channel of the P's bias: that is all here, see
   atonce.h. */
WF_INLINE int
select_at_once(struct wf_m *m, struct wf_p *p, struct weft_case *cases, int n, int i)
{
	struct weft_case *c = &cases[i];
	struct wf_chan *ch = c->chan_;
	bool sends = c->kind_ == WEFT_CASE_SEND, wake;
	uint64_t s;

	if (likely(wf_chan_is_mine(p, ch))) {
		s = at_load_rlx(&ch->state); /* rlx: CHAN-5, ours alone */
		if (likely((s & (sends ? WF_CH_RECVS : WF_CH_SENDS)) && !(s & WF_CH_CLOSED) &&
			   wf_chan_of_words(ch) && c->elem_ &&
			   wf_chan_hand_over(m, p, ch, s, c->elem_, sends, &wake))) {
			count_readied(p);
			if (unlikely(wake))
				return submitted(m, cases, i);
			ASSERT(!m->blocking);       /* in a section the lease is another one */
			at_store_rel(&m->in_rt, 0); /* rel: as in wf_leave; LEASE-4 */
			return fired(cases, i, !sends);
		}
	}
	at_store_rel(&p->in_chan, NULL); /* rel: nothing was done in there */
	return select_entered(m, cases, n, false);
}

WF_EXPORT int
weft_selectv(struct weft_case *cases, int n)
{
	struct wf_m *m = wf_m();
	uint32_t ready;
	uint64_t mask;

	if (unlikely(n > FEW || n < 1 || !cases || !wf_enter_at_once(m)))
		return select_any(cases, n);
	for (int i = 0; i < n; i++)
		if (unlikely(!wf_case_is_chan(&cases[i]))) {
			at_store_rel(&m->in_rt, 0); /* rel: nothing was done */
			return select_any(cases, n);
		}
	mask = wf_cases_look(cases, n, &ready);
	if (ready == 0)
		return select_entered(m, cases, n, true);
	return select_at_once(m, wf_m_p(m), cases, n,
			      wf_nth_bit(mask, ready > 1 ? wf_rand_below(&m->rand, ready) : 0));
}
