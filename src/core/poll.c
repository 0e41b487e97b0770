/* SPDX-License-Identifier: MIT */
/* poll.c: records of descriptors, and what the kernel says of them; see poll.h. */
#include "core/poll.h"

#include "base/sanitizer.h"

#include <errno.h>

enum { AHEAD = 16 }; /* records that are fetched while others are looked at */

struct wf_poll wf_poll;
wf_aptr wf_fd_table[WF_FD_CHUNKS];
static wf_a32 table_end; /* chunks that may exist */

/* ---- the records */

static struct wf_fd *
add_chunk(uint32_t i)
{
	size_t page = os_page_bytes(),
	       bytes = (WF_FD_CHUNK * sizeof(struct wf_fd) + page - 1) / page * page;
	struct wf_fd *chunk;
	void *none = NULL;
	uint32_t end;

	if (os_reserve(bytes, page, (void **)&chunk) < 0)
		return NULL;
	for (uint32_t k = 0; k < WF_FD_CHUNK; k++) {
		chunk[k].lock = (struct wf_lock)WF_LOCK_INIT(WF_RANK_POLL);
		chunk[k].fd = (int)(i * WF_FD_CHUNK + k);
	}
	if (!at_cas_acqrel(&wf_fd_table[i], &none, chunk)) { /* acqrel: the records, either way */
		os_release(chunk, bytes);
		return none;
	}
	wf_lsan_root(chunk, bytes);
	end = at_load_rlx(&table_end); /* rlx: a bound; read when nobody runs */
	while (end <= i && !at_cas_acqrel(&table_end, &end, i + 1)) /* acqrel: as above */
		;
	return chunk;
}

struct wf_fd *
wf_fd_of(int fd)
{
	uint32_t i = (uint32_t)fd / WF_FD_CHUNK;
	struct wf_fd *f = wf_fd_find(fd), *chunk;

	if (likely(f) || i >= WF_FD_CHUNKS)
		return f;
	chunk = add_chunk(i);
	return chunk ? &chunk[(uint32_t)fd % WF_FD_CHUNK] : NULL;
}

void
wf_fd_each(void (*fn)(struct wf_fd *f, void *arg), void *arg)
{
	for (uint32_t i = 0; i < at_load_acq(&table_end); i++) {    /* acq: pairs with add_chunk */
		struct wf_fd *chunk = at_load_acq(&wf_fd_table[i]); /* acq: as above */

		for (uint32_t k = 0; chunk && k < WF_FD_CHUNK; k++)
			fn(&chunk[k], arg);
	}
}

/* ---- the kernel */

static int
poller(void)
{
	return (int)(at_load_acq(&wf_poll.open) >> 32); /* acq: pairs with wf_poll_open */
}

int
wf_poll_open(void)
{
	uint64_t none = 0;
	int breaker = -1, fd;

	if (wf_poll_is_open())
		return 0;
	fd = os_poll_open(&breaker);
	if (fd < 0)
		return fd;
	/* acqrel: the first one stays; it is open before anybody is told */
	if (at_cas_acqrel(&wf_poll.open, &none, (uint64_t)fd << 32 | (uint32_t)breaker))
		return 1;
	os_close(breaker);
	os_close(fd);
	return 0;
}

int
wf_poll_watch(struct wf_fd *f, uint32_t generation, bool first)
{
	uint64_t data = (uint64_t)generation << 32 | (uint32_t)f->fd;

	ASSERT(data != UINT64_MAX); /* that is the break's; numbers are not that large */
	return first ? os_poll_watch(poller(), f->fd, data) : os_poll_again(poller(), f->fd, data);
}

void
wf_poll_forget(struct wf_fd *f)
{
	if (wf_poll_is_open())
		os_poll_forget(poller(), f->fd);
}

void
wf_poll_collect(struct wf_events *events, int64_t until)
{
	events->n = os_poll_wait(poller(), events->event, WF_EVENTS, until);
}

void
wf_poll_break(void)
{
	uint64_t open = at_load_acq(&wf_poll.open); /* acq: pairs with wf_poll_open */

	if (open)
		os_poll_break((int)(uint32_t)open);
}

void
wf_poll_count(int n)
{
	at_add_acqrel(&wf_poll.waiters, (uint32_t)n); /* acqrel: POLL-4 */
}

/* ---- the lines */

void
wf_fd_link(struct wf_fd *f, enum wf_dir dir, struct wf_waiter *w)
{
	wf_assert_held(&f->lock);
	wf_waiter_push(&f->line[dir], w);   /* WAIT-1 */
	at_add_acqrel(&wf_poll.waiters, 1); /* acqrel: POLL-4, before its thread looks who polls */
}

void
wf_fd_unlink(struct wf_fd *f, enum wf_dir dir, struct wf_waiter *w)
{
	wf_assert_held(&f->lock);
	at_add_acqrel(&wf_poll.waiters, (uint32_t)-1); /* acqrel: POLL-4 */
	wf_waiter_remove(&f->line[dir], w);
}

/* Returns how many left the line: the caller has them to count, before any of them is readied. */
static uint32_t
wake_line(struct wf_fd *f, enum wf_dir dir, int result, struct wf_glist *ready)
{
	struct wf_waiter *w;
	uint32_t gone = 0;

	while ((w = f->line[dir].first)) {
		struct wf_g *g = w->g;
		uint32_t number = w->number;

		wf_waiter_remove(&f->line[dir], w);
		gone++;
		if (!wf_waiter_won(g, number)) /* POLL-1 */
			continue;
		w->result = result;
		wf_glist_push(ready, g); /* w is gone as soon as g is readied: WAIT-3 */
	}
	return gone;
}

static void
uncount(uint32_t gone)
{
	if (gone > 0)
		at_add_acqrel(&wf_poll.waiters, -gone); /* acqrel: POLL-4 */
}

uint32_t
wf_fd_renew(struct wf_fd *f, int result, struct wf_glist *ready)
{
	uint32_t generation, gone;

	wf_lock(&f->lock);
	generation = at_load_rlx(&f->generation) + 1; /* rlx: under the lock */
	at_store_rlx(&f->generation, generation);     /* rlx: the same; POLL-3 */
	at_store_rlx(&f->seen, 0);                    /* rlx: a new life; published by the unlock */
	gone = wake_line(f, WF_READ, result, ready);
	gone += wake_line(f, WF_WRITE, result, ready);
	uncount(gone);
	wf_unlock(&f->lock);
	return generation;
}

/* ---- events */

static uint32_t
note_event(struct wf_fd *f, enum wf_dir dir, struct wf_glist *ready)
{
	uint32_t n = at_load_rlx(&f->count[dir]) + 1; /* rlx: under the lock */

	at_store_rel(&f->count[dir],
		     n); /* rel: who sees it and tries finds what has come: POLL-2 */
	return wake_line(f, dir, 0, ready);
}

static const struct wf_fd *
record_of(const struct wf_events *events, int i)
{
	return i < WF_EVENTS && i < events->n ? wf_fd_find((int)(uint32_t)events->event[i].data)
					      : NULL;
}

/* The records of many descriptors do not stay in the nearest cache, nor do the stacks of those who
   wait for them. */
static void
fetch(const struct wf_events *events, int i)
{
	const struct wf_fd *f = record_of(events, i + AHEAD);

	if (f)
		__builtin_prefetch(f, 1);
	f = record_of(events, i + AHEAD / 2);
	if (f) /* rlx: a guess, it is not locked */
		__builtin_prefetch(at_load_rlx((const wf_aptr *)&f->line[WF_READ].first), 1);
}

/* Returns how many left their lines. */
static uint32_t
deliver(const struct os_event *e, struct wf_glist *ready)
{
	const uint32_t both = OS_ERR | OS_HUP;
	uint32_t gone = 0;
	struct wf_fd *f =
	    wf_fd_find((int)(uint32_t)e->data); /* it was made before it was watched */

	wf_lock(&f->lock);
	/* rlx: under the lock; POLL-3 */
	if (at_load_rlx(&f->generation) == (uint32_t)(e->data >> 32) ||
	    WF_MUTANT(MUT_POLL_NO_GENERATION)) {
		at_store_rel(&f->seen,
			     at_load_rlx(&f->seen) | e->events); /* rel: before the count */
		if (e->events & (OS_IN | OS_PRI | OS_RDHUP | both))
			gone += note_event(f, WF_READ, ready);
		if (e->events & (OS_OUT | both))
			gone += note_event(f, WF_WRITE, ready);
	}
	wf_unlock(&f->lock);
	return gone;
}

bool
wf_poll_deliver(const struct wf_events *events, struct wf_glist *ready)
{
	uint32_t gone = 0;
	bool broken = false;

	for (int i = 0; i < events->n; i++) {
		fetch(events, i);
		if (events->event[i].data == UINT64_MAX)
			broken = true;
		else
			gone += deliver(&events->event[i], ready);
	}
	uncount(gone);
	return broken;
}
