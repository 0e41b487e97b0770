/* SPDX-License-Identifier: MIT */
/* timer.c: heaps of timers; see timer.h. */
#include "core/timer.h"
#include "core/gclaim.h"

enum {
	ARITY = 4,  /* the children of a node are one cache line, ... */
	BEFORE = 3, /* ... with room for so many before the root, as the second begins a line */
#ifdef WF_TINY
	CAP_MIN = 2,
	SWEEP_MIN = 4,
#else
	CAP_MIN = 256 - BEFORE, /* entries: a page */
	SWEEP_MIN = 64,         /* fewer are not worth it */
#endif
};

void
wf_heap_init(struct wf_heap *h)
{
	h->lock.rank = WF_RANK_TIMER;
	wf_door_prop(&h->door, true); /* it has no owner yet */
}

/* ---- in and out. mine: as in timer.h, or NULL: none of the caller's */

static WF_NOINLINE void
enter_locked(struct wf_heap *h, const struct wf_heap *mine)
{
	if (!h->ownerless) {
		if (h == mine)
			wf_door_earn(&h->door);
		else if (!WF_MUTANT(MUT_TIMER_NO_DOOR))
			wf_door_insist(&h->door);
	}
	wf_lock(&h->lock);
}

static WF_NOINLINE void
leave_locked(struct wf_heap *h, const struct wf_heap *mine)
{
	wf_unlock(&h->lock);
	if (!h->ownerless && h != mine && !WF_MUTANT(MUT_TIMER_NO_DOOR))
		wf_door_leave(&h->door);
}

WF_INLINE void
enter(struct wf_heap *h, const struct wf_heap *mine)
{
	if (likely(h == mine && wf_door_alone(&h->door))) {
		wf_rank_taken(&h->lock);
		h->alone = true;
	} else {
		enter_locked(h, mine);
	}
}

WF_INLINE void
leave(struct wf_heap *h, const struct wf_heap *mine)
{
	if (likely(h->alone)) {
		h->alone = false;
		wf_rank_dropped(&h->lock);
		wf_door_done(&h->door);
	} else {
		leave_locked(h, mine);
	}
}

/* ---- the array */

WF_INLINE void
sift_up(struct wf_heap *h, uint32_t i)
{
	struct wf_timer_entry e = h->entry[i];

	while (i > 0 && e.when < h->entry[(i - 1) / ARITY].when) {
		h->entry[i] = h->entry[(i - 1) / ARITY];
		i = (i - 1) / ARITY;
	}
	h->entry[i] = e;
}

static void
sift_down(struct wf_heap *h, uint32_t i)
{
	struct wf_timer_entry e = h->entry[i];

	for (;;) {
		uint32_t kid = i * ARITY + 1, least = kid;

		if (kid >= h->n)
			break;
		for (uint32_t k = 0; k < ARITY; k++) /* one of these is next */
			__builtin_prefetch(&h->entry[(kid + k) * ARITY + 1], 1);
		for (uint32_t k = kid + 1; k < kid + ARITY && k < h->n; k++)
			if (h->entry[k].when < h->entry[least].when)
				least = k;
		if (e.when <= h->entry[least].when)
			break;
		h->entry[i] = h->entry[least];
		i = least;
	}
	h->entry[i] = e;
}

WF_INLINE void
push(struct wf_heap *h, struct wf_timer *t, int64_t when)
{
	h->entry[h->n++] = (struct wf_timer_entry){when, t};
	t->entries++;
	sift_up(h, h->n - 1);
}

static struct wf_timer_entry
pop(struct wf_heap *h)
{
	struct wf_timer_entry e = h->entry[0];

	h->entry[0] = h->entry[--h->n];
	if (h->n > 1)
		sift_down(h, 0);
	e.t->entries--;
	return e;
}

WF_INLINE bool
counts(struct wf_timer_entry e)
{
	return e.when == wf_timer_when(e.t) && !e.t->listed;
}

/* t has lost an entry, or its place in the list. */
static void
check_gone(struct wf_heap *h, struct wf_timer *t)
{
	if (unlikely(t->freed && t->entries == 0 && !t->listed)) {
		t->next = h->gone;
		h->gone = t;
	}
}

static struct wf_timer *
take_gone(struct wf_heap *h)
{
	struct wf_timer *gone = h->gone;

	h->gone = NULL;
	return gone;
}

/* ---- the list of those for which the array had no room */

static void
list_put(struct wf_heap *h, struct wf_timer *t, int64_t when)
{
	if (!t->listed) {
		t->listed = true;
		t->next = h->list;
		h->list = t;
		at_bump(&h->crowd, 1); /* rlx: under the lock; a hint for others */
	}
	if (when < h->list_when || at_load_rlx(&h->crowd) == 1) /* rlx: as above */
		h->list_when = when;
}

static struct wf_timer *
list_take(struct wf_heap *h)
{
	struct wf_timer *t = h->list;

	h->list = t->next;
	t->listed = false;
	at_bump(&h->crowd, (uint32_t)-1); /* rlx: as in list_put */
	return t;
}

static void
list_remove(struct wf_heap *h, struct wf_timer *t)
{
	struct wf_timer **at = &h->list;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->listed = false;
	at_bump(&h->crowd, (uint32_t)-1); /* rlx: as in list_put */
	h->list_when = WF_NEVER;
	for (t = h->list; t; t = t->next)
		if (wf_timer_when(t) < h->list_when)
			h->list_when = wf_timer_when(t);
}

/* As many as there is room for. */
static void
absorb(struct wf_heap *h)
{
	while (h->list && h->n < h->cap) {
		struct wf_timer *t = list_take(h);

		push(h, t, wf_timer_when(t));
	}
}

/* t is armed for `when` now. */
WF_INLINE void
insert(struct wf_heap *h, struct wf_timer *t, int64_t when)
{
	at_store_rlx(&t->when, (uint64_t)when); /* rlx: under the lock; TIMER-4 for who is not */
	if (likely(h->n < h->cap && !t->listed))
		push(h, t, when);
	else
		list_put(h, t, when);
}

/* Its entry becomes a dead one. True: it was armed. */
WF_INLINE bool
disarm(struct wf_heap *h, struct wf_timer *t)
{
	if (wf_timer_when(t) == WF_NEVER)
		return false;
	at_store_rlx(&t->when, 0); /* rlx: as in insert */
	if (unlikely(t->listed))
		list_remove(h, t);
	else
		h->dead++;
	return true;
}

/* ---- dead entries */

static void
sweep(struct wf_heap *h)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		struct wf_timer_entry e = h->entry[i];

		if (counts(e) && !e.t->seen) { /* one of several with the same time will do */
			e.t->seen = true;
			h->entry[kept++] = e;
		} else {
			e.t->entries--;
			check_gone(h, e.t);
		}
	}
	h->n = kept;
	h->dead = 0;
	for (uint32_t i = 0; i < kept; i++)
		h->entry[i].t->seen = false;
	for (uint32_t i = kept / ARITY + 1; i-- > 0;)
		if (i < kept)
			sift_down(h, i);
}

/* See h->many. */
static uint64_t
many_by(const struct wf_heap *h)
{
	int64_t by = 0;

	if (likely(h->n < WF_TIMERS_MANY))
		return 0;
	for (uint32_t i = 0; i < WF_TIMERS_MANY; i++)
		by = h->entry[i].when > by ? h->entry[i].when : by;
	return (uint64_t)by;
}

/* Before the lock is dropped: dead entries go from both ends, or all of them, and next is right. */
static void
tidy(struct wf_heap *h)
{
	int64_t next;

	/* a look at a timer is a cache miss: none without need */
	while (h->dead > 0 && h->n > 0 && !counts(h->entry[h->n - 1])) {
		struct wf_timer *t = h->entry[--h->n].t;

		h->dead--;
		t->entries--;
		check_gone(h, t);
	}
	while (h->dead > 0 && h->n > 0 && !counts(h->entry[0])) {
		struct wf_timer *t = pop(h).t;

		h->dead--;
		check_gone(h, t);
	}
	if (h->dead > h->n / 4 && h->n >= SWEEP_MIN)
		sweep(h);
	next = h->n > 0 ? h->entry[0].when : WF_NEVER;
	if (unlikely(h->list != NULL) && h->list_when < next)
		next = h->list_when;
	at_store_rlx(&h->next, next == WF_NEVER ? 0 : (uint64_t)next); /* rlx: TIMER-2 */
	at_store_rlx(&h->many, many_by(h));                            /* rlx: a hint */
}

/* ---- which heap */

/* Inside the heap of t, or h if it is in none. h may be NULL: then NULL if it never was in one. */
WF_INLINE struct wf_heap *
enter_heap(struct wf_timer *t, struct wf_heap *h, const struct wf_heap *mine)
{
	bool moved = false;

	for (;;) {
		void *now = at_load_acq(&t->heap); /* acq: it is initialised */
		struct wf_heap *in = now;

		if (!in) {
			if (!h)
				return NULL;
			at_cas_acqrel(&t->heap, &now, (void *)h); /* acqrel: one of several */
			continue;
		}
		enter(in, mine);
		if (at_load_rlx(&t->heap) == in) { /* rlx: under the lock. TIMER-1 */
			if (in == h || !h || moved || t->entries > 0 || t->listed)
				return in;
			at_store_rel(&t->heap, h); /* rel: TIMER-1, we are done with `in` */
			moved = true;
		}
		leave(in, mine);
	}
}

/* ---- arm and disarm */

bool
wf_timer_by(struct wf_heap *mine, struct wf_timer *t, int64_t when)
{
	struct wf_heap *h = enter_heap(t, mine, mine);
	int64_t before = wf_heap_next(h);

	ASSERT(!t->object && when > 0 && when < WF_NEVER);
	if (when < wf_timer_when(t)) {
		disarm(h, t);
		insert(h, t, when);
		tidy(h);
	}
	leave(h, mine);
	return when < before;
}

bool
wf_timer_set(struct wf_heap *mine, struct wf_timer_object *o, int64_t when, int64_t period,
	     bool *earlier)
{
	struct wf_heap *h = enter_heap(&o->t, mine, mine);
	bool was;

	ASSERT(when > 0 && when < WF_NEVER && !o->t.freed);
	*earlier = when < wf_heap_next(h);
	was = disarm(h, &o->t);
	insert(h, &o->t, when);
	o->period = period;
	tidy(h);
	leave(h, mine);
	return was;
}

void
wf_timer_again(struct wf_timer_object *o, int64_t when)
{
	struct wf_heap *h = enter_heap(&o->t, NULL, NULL);

	if (!o->t.freed && wf_timer_when(&o->t) == WF_NEVER) {
		insert(h, &o->t, when);
		tidy(h);
	}
	leave_locked(h, NULL);
}

bool
wf_timer_cancel(struct wf_heap *mine, struct wf_timer_object *o, uint64_t *fires)
{
	struct wf_heap *h = enter_heap(&o->t, NULL, mine);
	bool was;

	*fires = 0;
	if (!h)
		return false;
	was = disarm(h, &o->t);
	*fires = o->fires;
	if (was)
		tidy(h);
	leave(h, mine);
	return was;
}

struct wf_timer *
wf_timer_drop(struct wf_heap *mine, struct wf_timer_object *o)
{
	struct wf_heap *h = enter_heap(&o->t, NULL, mine);
	struct wf_timer *gone;

	if (!h)
		return &o->t;
	o->t.freed = true;
	disarm(h, &o->t);
	if (o->t.entries > 0 || o->t.listed)
		tidy(h);
	else
		check_gone(h, &o->t);
	gone = take_gone(h);
	leave(h, mine);
	return gone;
}

/* ---- what is due */

/* TIMER-4. The goroutine is claimed and in due->ready, or its wait ends later, or it is on its way
   into a wait and will see that its timer is not armed, or it has no use for it. */
static void
fire_g(struct wf_heap *h, struct wf_g *g, int64_t now, struct wf_due *due)
{
	uint32_t claim;
	int64_t want;

	if (WF_MUTANT(MUT_TIMER_CLAIM_READ))
		claim = at_load_rlx(&g->claim); /* a mutant */
	else /* acqrel: after the store of `when`, before the look at wake_at: WAIT-4 */
		claim = at_or_acqrel(&g->claim, 0);
	want = wf_or_never(at_load_rlx(&g->wake_at)); /* rlx: after the RMW */
	if (want > now) {
		if (want < WF_NEVER)
			insert(h, &g->timer, want);
	} else if ((claim & WF_CLAIM_OPEN) && (claim & WF_CLAIM_SCOPED) && wf_claim(g, claim)) {
		wf_glist_push(&due->ready, g); /* it waits for nothing else: its link is free */
	}
}

/* The first fire after now; those that were missed are not made up for. */
static int64_t
next_period(const struct wf_timer_object *o, int64_t when, int64_t now)
{
	int64_t late = now > when ? (now - when) / o->period : 0;

	return wf_time_after(when + late * o->period, o->period);
}

static void
fire(struct wf_heap *h, struct wf_timer *t, int64_t now, struct wf_due *due)
{
	int64_t when = wf_timer_when(t);
	struct wf_timer_object *o = container_of(t, struct wf_timer_object, t);

	ASSERT(when <= now);       /* TIMER-3 */
	at_store_rlx(&t->when, 0); /* rlx: under the lock, and before the RMW in fire_g: TIMER-4 */
	if (!t->object) {
		fire_g(h, container_of(t, struct wf_g, timer), now, due);
		return;
	}
	due->object[due->n].o = o;
	due->object[due->n].when = when;
	due->object[due->n++].number = ++o->fires;
	if (o->period > 0)
		insert(h, t, next_period(o, when, now));
}

static bool
full(const struct wf_due *due)
{
	return due->n + due->ready.size >= WF_DUE_MAX;
}

/* The next to fire, perhaps: nobody has looked at it for long. If it is no G's, nothing comes of it. */
WF_INLINE void
fetch_ahead(const struct wf_timer *t)
{
	uintptr_t g = (uintptr_t)t - offsetof(struct wf_g, timer);

	__builtin_prefetch(t, 1);
	__builtin_prefetch((void *)g, 1);
}

static void
fire_top(struct wf_heap *h, int64_t now, struct wf_due *due)
{
	struct wf_timer_entry e = pop(h);

	fetch_ahead(h->entry[0].t);
	if (counts(e)) {
		fire(h, e.t, now, due);
	} else {
		ASSERT(h->dead > 0);
		h->dead--;
		check_gone(h, e.t);
	}
}

/* There was no memory for a larger array: the list is walked for each of them. */
static void
fire_listed(struct wf_heap *h, int64_t now, struct wf_due *due)
{
	struct wf_timer *first = h->list;

	for (struct wf_timer *t = h->list; t; t = t->next)
		if (wf_timer_when(t) < wf_timer_when(first))
			first = t;
	if (wf_timer_when(first) > h->list_when) { /* that was only a bound */
		h->list_when = wf_timer_when(first);
		return;
	}
	list_remove(h, first);
	fire(h, first, now, due);
}

void
wf_heap_run(struct wf_heap *mine, struct wf_heap *h, int64_t now, struct wf_due *due)
{
	due->ready = (struct wf_glist){0};
	due->n = 0;
	if (at_load_rlx(&h->crowd) > 0) /* rlx: a hint */
		wf_heap_grow(mine, h);
	enter(h, mine);
	absorb(h);
	while (!full(due)) { /* TIMER-3 */
		int64_t top = h->n > 0 ? h->entry[0].when : WF_NEVER;
		int64_t listed = h->list ? h->list_when : WF_NEVER;

		if (top > now && listed > now)
			break;
		if (top <= listed)
			fire_top(h, now, due);
		else
			fire_listed(h, now, due);
	}
	tidy(h);
	due->more = wf_heap_next(h) <= now;
	due->gone = take_gone(h);
	leave(h, mine);
}

static size_t
array_bytes(uint32_t cap)
{
	size_t page = os_page_bytes();

	return ((BEFORE + cap) * sizeof(struct wf_timer_entry) + page - 1) / page * page;
}

void
wf_heap_grow(struct wf_heap *mine, struct wf_heap *h)
{
	struct wf_timer_entry *larger, *old;
	size_t bytes, old_bytes;
	uint32_t cap;

	enter(h, mine);
	cap = h->cap ? 2 * h->cap : CAP_MIN;
	while (cap < h->n + at_load_rlx(&h->crowd)) /* rlx: under the lock */
		cap *= 2;
	absorb(h);
	tidy(h);
	leave(h, mine);
	bytes = array_bytes(cap);
	if (at_load_rlx(&h->crowd) == 0 || /* rlx: a hint */
	    os_reserve(bytes, os_page_bytes(), (void **)&larger) < 0)
		return;
	larger += BEFORE;
	enter(h, mine);
	old = larger;
	old_bytes = bytes;
	if (cap > h->cap) {
		for (uint32_t i = 0; i < h->n; i++)
			larger[i] = h->entry[i];
		old = h->entry;
		old_bytes = array_bytes(h->cap);
		h->entry = larger;
		h->cap = cap;
	}
	absorb(h);
	tidy(h);
	leave(h, mine);
	if (old)
		os_release(old - BEFORE, old_bytes);
}

/* ---- the rest */

static bool
will_act(const struct wf_timer *t)
{
	const struct wf_g *g = container_of(t, struct wf_g, timer);
	uint32_t claim;

	if (t->object)
		return true;
	claim = at_load_acq(&g->claim); /* acq: its wake_at; nobody runs who could change it */
	return (claim & WF_CLAIM_OPEN) && (claim & WF_CLAIM_SCOPED) &&
	       at_load_rlx(&g->wake_at) != 0; /* rlx: as above */
}

bool
wf_heap_live(struct wf_heap *h)
{
	bool live = false;

	if (wf_heap_next(h) == WF_NEVER)
		return false;
	enter_locked(h, NULL);
	for (uint32_t i = 0; i < h->n && !live; i++)
		live = counts(h->entry[i]) && will_act(h->entry[i].t);
	for (struct wf_timer *t = h->list; t && !live; t = t->next)
		live = wf_timer_when(t) != WF_NEVER && will_act(t);
	leave_locked(h, NULL);
	return live;
}

struct wf_timer *
wf_heap_flush(struct wf_heap *h)
{
	struct wf_timer *gone;

	enter_locked(h, NULL);
	while (h->list) {
		struct wf_timer *t = list_take(h);

		at_store_rlx(&t->when, 0); /* rlx: under the lock */
		check_gone(h, t);
	}
	for (uint32_t i = 0; i < h->n; i++) {
		struct wf_timer *t = h->entry[i].t;

		t->entries--;
		at_store_rlx(&t->when, 0); /* rlx: under the lock */
		check_gone(h, t);
	}
	h->n = h->dead = 0;
	tidy(h);
	gone = take_gone(h);
	leave_locked(h, NULL);
	return gone;
}
