/* SPDX-License-Identifier: MIT */
/*
 * selfd.c: descriptors in a select.
 *
 * Whether one is ready only the kernel knows: it is asked first, and if no case is ready the select
 * stands in the lines of the records, as those who read do (fd.c), under all locks of all its
 * cases. An event says that it is worth while to ask again, no more.
 *
 * The fields of such a case that are a channel's otherwise: chan_ is the record, elem_ the count of
 * events before the kernel was asked, ok_ the generation, with one bit more if the record is held.
 *
 * SELFD-1: a select waits for a descriptor only if the kernel has said, since the count had the
 *          value it has, that it is not ready (POLL-2).
 */
#include "wait/selfd.h"
#include "base/rand.h"

#include <errno.h>

static const uintptr_t HELD = (uintptr_t)1 << 32;

static struct wf_fd *
record(const struct weft_case *c)
{
	return c->chan_;
}

static enum wf_dir
direction(const struct weft_case *c)
{
	return c->kind_ == WEFT_CASE_READABLE ? WF_READ : WF_WRITE;
}

static uint32_t
generation(const struct weft_case *c)
{
	return (uint32_t)(uintptr_t)c->ok_;
}

static bool
is_held(const struct weft_case *c)
{
	return (uintptr_t)c->ok_ & HELD;
}

/* ---- begin and end */

static int
begin(struct weft_case *c, bool waits)
{
	int fd = c->arg_ < 0 || c->arg_ > INT32_MAX ? -1 : (int)c->arg_;
	struct wf_fd *f = wf_fd_of(fd);
	uintptr_t held = 0;
	uint32_t gen;

	c->chan_ = f;
	if (!f)
		return -EBADF;
	if (waits && wf_fd_hold(f, &gen))
		held = HELD;
	else
		gen = at_load_rlx(&f->generation); /* rlx: of a foreign one, or it is only asked */
	c->ok_ = (int *)(held | gen);
	return 0;
}

int
wf_select_begin_fds(struct wf_m **m, struct wf_select *sel, bool waits)
{
	int rc = 0;

	for (int i = 0; i < sel->n; i++) {
		if (!wf_select_is_fd(&sel->cases[i]))
			continue;
		sel->cases[i].chan_ = NULL;
		sel->cases[i].ok_ = NULL;
		sel->fds++;
		if (rc == 0)
			rc = begin(&sel->cases[i], waits);
	}
	if (rc < 0)
		wf_select_end_fds(m, sel, waits);
	return rc;
}

void
wf_select_end_fds(struct wf_m **m, struct wf_select *sel, bool waits)
{
	for (int i = 0; waits && i < sel->n; i++)
		if (wf_select_is_fd(&sel->cases[i]) && is_held(&sel->cases[i]))
			wf_fd_release(m, record(&sel->cases[i]), generation(&sel->cases[i]));
}

/* ---- ask */

int
wf_select_look_fds(struct wf_m *m, struct wf_select *sel)
{
	uint32_t ready = 0;
	int pick = WF_PENDING;

	for (int i = 0; i < sel->n; i++) {
		struct weft_case *c = &sel->cases[i];
		enum wf_dir dir = direction(c);
		int rc;

		if (!wf_select_is_fd(c))
			continue;
		/* acq: before the kernel is asked: SELFD-1, FD-3 */
		c->elem_ = (void *)(uintptr_t)at_load_acq(&record(c)->count[dir]);
		rc = os_poll_now(record(c)->fd, dir == WF_READ ? OS_IN : OS_OUT);
		if (rc < 0)
			return rc;
		if (rc > 0 && (++ready == 1 || wf_rand_below(&m->rand, ready) == 0))
			pick = i;
	}
	return pick;
}

int
wf_select_watch_fds(struct wf_select *sel)
{
	int rc = wf_netpoll_open();

	for (int i = 0; rc == 0 && i < sel->n; i++)
		if (wf_select_is_fd(&sel->cases[i]) && !is_held(&sel->cases[i]))
			rc = wf_poll_watch(record(&sel->cases[i]), generation(&sel->cases[i]),
					   false);
	return rc;
}

/* ---- the lines */

/* The next distinct record from *k on, in the order of addresses. */
static struct wf_fd *
next_fd(struct wf_select *sel, int *k, const struct wf_fd *before)
{
	while (*k < sel->n) {
		struct weft_case *c = &sel->cases[wf_case_waiter(&sel->cases[(*k)++])->order];

		if (wf_select_is_fd(c) && record(c) != before)
			return record(c);
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

bool
wf_select_fds_changed(struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++) {
		struct weft_case *c = &sel->cases[i];

		/* rlx: under the lock. SELFD-1 */
		if (wf_select_is_fd(c) && (at_load_rlx(&record(c)->count[direction(c)]) !=
					       (uint32_t)(uintptr_t)c->elem_ ||
					   at_load_rlx(&record(c)->generation) != generation(c)))
			return true;
	}
	return false;
}

bool
wf_select_closed(struct wf_select *sel)
{
	for (int i = 0; i < sel->n; i++) {
		struct weft_case *c = &sel->cases[i];

		if (!wf_select_is_fd(c))
			continue;
		if (at_load_rlx(&record(c)->generation) != generation(c)) /* rlx: no way back */
			return true;
	}
	return false;
}

void
wf_select_enqueue_fd(struct weft_case *c)
{
	wf_fd_link(record(c), direction(c), wf_case_waiter(c));
}

void
wf_select_dequeue_fd(struct weft_case *c)
{
	struct wf_waiter *w = wf_case_waiter(c);
	struct wf_fd *f = record(c);

	wf_lock(&f->lock);
	if (at_load_rlx(&w->linked)) /* rlx: under the lock. WAIT-1 */
		wf_fd_unlink(f, direction(c), w);
	wf_unlock(&f->lock);
}
