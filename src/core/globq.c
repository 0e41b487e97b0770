/* SPDX-License-Identifier: MIT */
/* globq.c: the global queues. Any thread may call; none of this parks. */
#include "core/globq.h"

#include "base/mutant.h"

struct wf_globq wf_globq = {.lock = WF_LOCK_INIT(WF_RANK_GLOBQ), .parts = true};
struct wf_globq wf_idleq = {.lock = WF_LOCK_INIT(WF_RANK_IDLEQ)};
struct wf_globq wf_urgentq = {.lock = WF_LOCK_INIT(WF_RANK_GLOBQ)};
struct wf_globq wf_pinq = {.lock = WF_LOCK_INIT(WF_RANK_GLOBQ)};

static void
publish_size(struct wf_globq *q)
{
	wf_assert_held(&q->lock);
	/* rel: GLOBQ-3; for GLOBQ-1 nothing is needed, submitters fence afterwards */
	at_store_rel(&q->size, q->list.size + q->fresh.size);
}

static struct wf_glist *
line_of(struct wf_globq *q, const struct wf_g *g)
{
	return q->parts && !g->stack ? &q->fresh : &q->list;
}

/* Those in turn: one of each line, as long as there are two. */
static struct wf_g *
take(struct wf_globq *q)
{
	struct wf_g *g;

	q->fresh_turn = !q->fresh_turn;
	g = wf_glist_pop(q->fresh_turn ? &q->fresh : &q->list);
	return g ? g : wf_glist_pop(q->fresh_turn ? &q->list : &q->fresh);
}

/* Who has not begun knows one that stands WF_RUNQ_AHEAD behind it: whatever it is, no harm. */
WF_INLINE void
fetch_ahead(const struct wf_g *g)
{
	if (!g->stack)
		__builtin_prefetch(g->sp, 1);
}

/* The first n of a line, which has as many, to the end of l. */
static void
take_run(struct wf_glist *line, uint32_t n, struct wf_glist *l)
{
	struct wf_glist run = {.head = line->head, .tail = line->head, .size = n};

	if (n == 0)
		return;
	for (fetch_ahead(run.tail); --n > 0; fetch_ahead(run.tail))
		run.tail = run.tail->link;
	line->head = run.tail->link;
	if (!line->head)
		line->tail = NULL;
	line->size -= run.size;
	run.tail->link = NULL;
	wf_glist_join(l, &run);
}

/* All of l: who has not begun goes to the end of *fresh, the others to that of *begun; as many at a time
   as stand together. */
static void
part(struct wf_glist *l, struct wf_glist *begun, struct wf_glist *fresh)
{
	for (struct wf_g *g = l->head; g;) {
		struct wf_glist run = {.head = g};
		const bool is_fresh = !g->stack;

		for (; g && !g->stack == is_fresh; g = g->link, run.size++)
			run.tail = g;
		run.tail->link = NULL;
		wf_glist_join(is_fresh ? fresh : begun, &run);
	}
	*l = (struct wf_glist){0};
}

void
wf_globq_put(struct wf_globq *q, struct wf_g *g)
{
	wf_lock(&q->lock);
	wf_glist_push(line_of(q, g), g);
	publish_size(q);
	wf_unlock(&q->lock);
}

/* Of both kinds: they come first, whatever they are. */
void
wf_globq_put_head(struct wf_globq *q, struct wf_glist *l)
{
	wf_lock(&q->lock);
	wf_glist_join(l, &q->list);
	q->list = *l;
	publish_size(q);
	wf_unlock(&q->lock);
	*l = (struct wf_glist){0};
}

void
wf_globq_put_batch(struct wf_globq *q, struct wf_glist *l)
{
	struct wf_glist fresh = {0}, list = {0};

	if (q->parts)
		part(l, &list, &fresh);
	else
		wf_glist_join(&list, l);
	wf_lock(&q->lock);
	wf_glist_join(&q->list, &list);
	wf_glist_join(&q->fresh, &fresh);
	publish_size(q);
	wf_unlock(&q->lock);
}

struct wf_g *
wf_globq_get(struct wf_globq *q)
{
	struct wf_g *g;

	if (wf_globq_size(q) == 0)
		return NULL;
	wf_lock(&q->lock);
	g = take(q);
	publish_size(q);
	wf_unlock(&q->lock);
	return g;
}

uint32_t
wf_globq_get_batch(struct wf_globq *q, uint32_t procs, uint32_t max, struct wf_glist *l)
{
	uint32_t n, fresh;

	if (wf_globq_size(q) == 0)
		return 0;
	wf_lock(&q->lock);
	fresh = q->fresh.size;
	n = (q->list.size + q->fresh.size) / procs + 1;
	n = n < max ? n : max;
	for (; n > 0 && q->list.size > 0 && q->fresh.size > 0; n--) {
		wf_glist_push(l, take(q));
		fetch_ahead(l->tail);
	}
	n = n < q->list.size + q->fresh.size ? n : q->list.size + q->fresh.size;
	take_run(q->list.size > 0 ? &q->list : &q->fresh, n, l);
	fresh -= q->fresh.size;
	publish_size(q);
	wf_unlock(&q->lock);
	return fresh;
}

uint32_t
wf_globq_move(struct wf_globq *from, struct wf_globq *to, uint32_t n, int64_t since_ns)
{
	struct wf_glist l = {0};
	uint32_t moved;

	wf_lock(&from->lock);
	while (l.size < n && from->list.head && from->list.head->since_ns < since_ns)
		wf_glist_push(&l, wf_glist_pop(&from->list));
	moved = l.size;
	if (WF_MUTANT(MUT_GLOBQ_MOVE_EARLY))
		publish_size(from);
	if (moved > 0)
		wf_globq_put_batch(to, &l);
	publish_size(from); /* GLOBQ-3 */
	wf_unlock(&from->lock);
	return moved;
}
