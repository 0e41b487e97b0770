/* SPDX-License-Identifier: MIT */
/*
 * iocall.h: a call on a descriptor from begin to end, inline: read and write are made a straight
 * path of it, with the function that tries in its place. A server does little else. What is rare
 * (foreign descriptors, turns that others have, closing) is in fd.c, which also has the same for
 * everybody else.
 */
#ifndef WF_WAIT_IOCALL_H
#define WF_WAIT_IOCALL_H

#include "base/sanitizer.h"
#include "wait/fd.h"

#include <errno.h>

/* f->use, below the generation; see fd.c */
enum {
	WF_USE_OURS = 1,
	WF_USE_CLOSING = 2,
	WF_USE_BUSY = 4,  /* << dir */
	WF_USE_LINE = 16, /* << dir: somebody may be in line */
	WF_USE_ONE = 256, /* use */
};

/* Is it known that a try would say "not now"? In the runtime, io->count just read. */
typedef bool wf_io_known_fn(const struct wf_io *io);

/* True: the turn was free, and is the caller's; else wf_io_begin knows more. */
WF_INLINE bool
wf_io_take(struct wf_io *io, int fd, enum wf_dir dir)
{
	struct wf_fd *f = wf_fd_find(fd);
	uint64_t use = f ? at_load_acq(&f->use) : 0; /* acq: pairs with wf_fd_make */
	const uint64_t busy = (uint64_t)WF_USE_BUSY << dir;

	if (unlikely((use & (WF_USE_OURS | WF_USE_CLOSING | busy)) != WF_USE_OURS))
		return false;
	if (unlikely(!at_cas_acqrel(&f->use, &use, (use | busy) + WF_USE_ONE))) /* acqrel: FD-2 */
		return false;
	io->f = f;
	io->fd = fd;
	io->dir = dir;
	io->ours = true;
	io->blocks = f->kind & WF_FD_FILE;
	io->generation = (uint32_t)(use >> 32);
	return true;
}

/* The end of a turn. */
WF_INLINE void
wf_io_give(struct wf_m **m, struct wf_io *io, enum wf_dir dir)
{
	struct wf_fd *f = io->f;
	const uint64_t busy = (uint64_t)WF_USE_BUSY << dir, line = (uint64_t)WF_USE_LINE << dir;
	uint64_t use = at_load_rlx(&f->use); /* rlx: the CAS decides */

	wf_tsan_release(f);
	/* acqrel: what was done in the turn; FD-2 */
	if (unlikely(!io->ours || (uint32_t)(use >> 32) != io->generation ||
		     (use & (line | WF_USE_CLOSING)) ||
		     !at_cas_acqrel(&f->use, &use, (use & ~busy) - WF_USE_ONE)))
		wf_io_end(m, io);
}

/* As wf_io_do. dir is io's, for the compiler to know; known NULL: nothing ever is. */
WF_INLINE ssize_t
wf_io_tries(struct wf_m **m, struct wf_io *io, enum wf_dir dir, wf_io_fn *try, void *arg,
	    wf_io_known_fn *known)
{
	wf_a32 *count = &io->f->count[dir];

	for (;;) {
		ssize_t n;
		int rc;

		io->count = at_load_acq(count); /* acq: before the try: FD-3 */
		if (!known || !known(io)) {
			wf_leave(*m);
			n = try(io, arg);
			*m = wf_enter(WF_CALL_B);
			if (WF_MUTANT(MUT_POLL_COUNT_LATE)) /* acq: a mutant */
				io->count = at_load_acq(count);
			if (n != -EAGAIN)
				return n;
		}
		rc = wf_io_wait(m, io);
		if (rc < 0)
			return rc;
	}
}

WF_INLINE ssize_t
wf_io_whole(int fd, enum wf_dir dir, wf_io_fn *try, void *arg, wf_io_known_fn *known)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_io io;
	ssize_t rc = 0;

	if (unlikely(!m))
		return -ENOTSUP;
	if (unlikely(!wf_io_take(&io, fd, dir)))
		rc = wf_io_begin(&m, &io, fd, dir);
	if (likely(rc == 0)) {
		rc = wf_io_tries(&m, &io, dir, try, arg, known);
		wf_io_give(&m, &io, dir);
	}
	if (likely(m))
		wf_leave(m);
	return rc;
}

#endif
