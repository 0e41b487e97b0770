/* SPDX-License-Identifier: MIT */
/*
 * selfd.c: descriptors in a select.
 *
 * Whether one is ready only the kernel knows: it is asked first, and if no case is ready the select
 * stands in the lines of the records, as those who read do (fd.c), under all locks of all its
 * cases. An event says that it is worth while to ask again, no more.
 *
 * SELFD-1: a select waits for a descriptor only if the kernel has said, since the count had the
 *          value it has, that it is not ready (POLL-2).
 */
#include "wait/selfd.h"
#include "base/rand.h"

#include <errno.h>

static enum wf_dir
direction(const struct weft_case *c)
{
	return c->kind_ == WEFT_CASE_READABLE ? WF_READ : WF_WRITE;
}

/* ---- begin and end */

static int
begin(struct wf_place *at, int64_t number, bool waits)
{
	int fd = number < 0 || number > INT32_MAX ? -1 : (int)number;
	struct wf_fd *f = wf_fd_of(fd);

	at->fd = f;
	if (!f)
		return -EBADF;
	at->held = waits && wf_fd_hold(f, &at->generation);
	if (!at->held) /* rlx: of a foreign one, or it is only asked */
		at->generation = at_load_rlx(&f->generation);
	return 0;
}

int
wf_select_begin_fds(struct wf_m **m, struct wf_select *sel)
{
	int rc = 0;

	for (int i = 0; i < sel->n; i++) {
		if (!wf_select_is_fd(&sel->cases[i]))
			continue;
		sel->places[i].held = false;
		if (rc == 0)
			rc = begin(&sel->places[i], sel->cases[i].arg_, sel->otherwise < 0);
	}
	if (rc < 0)
		wf_select_end_fds(m, sel);
	return rc;
}

void
wf_select_end_fds(struct wf_m **m, struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++)
		if (wf_select_is_fd(&sel->cases[i]) && sel->places[i].held)
			wf_fd_release(m, sel->places[i].fd, sel->places[i].generation);
}

/* ---- ask */

int
wf_select_look_fds(struct wf_m *m, struct wf_select *sel, uint32_t *ready)
{
	int pick = WF_PENDING;

	*ready = 0;
	for (int i = 0; i < sel->n; i++) {
		struct wf_place *at = &sel->places[i];
		enum wf_dir dir = direction(&sel->cases[i]);
		int rc;

		if (!wf_select_is_fd(&sel->cases[i]))
			continue;
		/* acq: before the kernel is asked: SELFD-1, FD-3 */
		at->seen = at_load_acq(&at->fd->count[dir]);
		rc = os_poll_now(at->fd->fd, dir == WF_READ ? OS_IN : OS_OUT);
		if (rc < 0)
			return rc;
		if (rc > 0 && (++*ready == 1 || wf_rand_below(&m->rand, *ready) == 0))
			pick = i;
	}
	return pick;
}

int
wf_select_watch_fds(struct wf_select *sel)
{
	int rc = wf_netpoll_open();

	for (int i = 0; rc == 0 && i < sel->n; i++)
		if (wf_select_is_fd(&sel->cases[i]) && !sel->places[i].held)
			rc = wf_poll_watch(sel->places[i].fd, sel->places[i].generation, false);
	return rc;
}

/* ---- the lines */

/* The next distinct record from *k on, in the order of addresses. */
static struct wf_fd *
next_fd(struct wf_select *sel, int *k, const struct wf_fd *before)
{
	while (*k < sel->n) {
		int i = sel->places[(*k)++].order;

		if (wf_select_is_fd(&sel->cases[i]) && sel->places[i].fd != before)
			return sel->places[i].fd;
	}
	return NULL;
}

void
wf_select_lock_fds(struct wf_select *sel)
{
	int k = 0;
	struct wf_fd *f = next_fd(sel, &k, NULL);

	wf_lock(&f->lock);
	while ((f = next_fd(sel, &k, f)))
		wf_lock_more(&f->lock);
}

/* With the last unlock sel may be gone: SEL-3. */
void
wf_select_unlock_fds(struct wf_select *sel)
{
	int k = 0;
	struct wf_fd *next;

	for (struct wf_fd *f = next_fd(sel, &k, NULL); f; f = next) {
		next = next_fd(sel, &k, f);
		if (next)
			wf_unlock_more(&f->lock);
		else
			wf_unlock(&f->lock);
	}
}

/* It is another one by now, or none. */
static bool
is_gone(const struct wf_place *at)
{
	return at_load_rlx(&at->fd->generation) != at->generation; /* rlx: no way back */
}

bool
wf_select_fds_changed(struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++) {
		const struct wf_place *at = &sel->places[i];
		const struct weft_case *c = &sel->cases[i];

		/* rlx: under the lock. SELFD-1 */
		if (wf_select_is_fd(c) &&
		    (at_load_rlx(&at->fd->count[direction(c)]) != at->seen || is_gone(at)))
			return true;
	}
	return false;
}

bool
wf_select_closed(struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++)
		if (wf_select_is_fd(&sel->cases[i]) && is_gone(&sel->places[i]))
			return true;
	return false;
}

void
wf_select_enqueue_fd(struct wf_select *sel, int i)
{
	wf_fd_link(sel->places[i].fd, direction(&sel->cases[i]), &sel->places[i].w);
}

void
wf_select_dequeue_fd(struct wf_select *sel, int i)
{
	struct wf_waiter *w = &sel->places[i].w;
	struct wf_fd *f = sel->places[i].fd;

	wf_lock(&f->lock);
	if (at_load_rlx(&w->linked)) /* rlx: under the lock. WAIT-1 */
		wf_fd_unlink(f, direction(&sel->cases[i]), w);
	wf_unlock(&f->lock);
}
