/* SPDX-License-Identifier: MIT */
/* selfd.h: WEFT_READABLE and WEFT_WRITABLE, for select.c; see selfd.c. */
#ifndef WF_WAIT_SELFD_H
#define WF_WAIT_SELFD_H

#include "wait/chan.h"
#include "wait/fd.h"

WF_INLINE bool
wf_select_is_fd(const struct weft_case *c)
{
	return c->kind_ == WEFT_CASE_READABLE || c->kind_ == WEFT_CASE_WRITABLE;
}

/* Finds the records; they stay what they are until the end, if it waits. 0 or -errno. */
int wf_select_begin_fds(struct wf_m **m, struct wf_select *sel);
void wf_select_end_fds(struct wf_m **m, struct wf_select *sel);
/* The kernel is asked: a case that is ready, of *ready each with the same chance; WF_PENDING: none; -errno. */
int wf_select_look_fds(struct wf_m *m, struct wf_select *sel, uint32_t *ready);
/* Before the locks: foreign ones are watched. 0 or -errno. */
int wf_select_watch_fds(struct wf_select *sel);

/* ---- sorted by address, all channels locked */
void wf_select_lock_fds(struct wf_select *sel);
void wf_select_unlock_fds(struct wf_select *sel);
bool wf_select_fds_changed(struct wf_select *sel); /* since they were asked */
bool wf_select_closed(struct wf_select *sel);      /* one of them was */
void wf_select_enqueue_fd(struct wf_select *sel, int i);
void wf_select_dequeue_fd(struct wf_select *sel, int i); /* no lock held */

#endif
