/* SPDX-License-Identifier: MIT */
/*
 * fd.h: descriptors that goroutines wait for: the upper half of core/poll.h.
 *
 * A descriptor is weft's (made or adopted: watched from the start, non-blocking, used in turns) or
 * foreign (nothing is known of it: watched anew before each wait). A call on it is a struct wf_io,
 * and a function that makes the system call, outside the runtime.
 *
 * FD-1: a descriptor of weft's is closed when nobody uses it any more; so its number means the same
 *       file from the begin of a use to its end.
 * FD-2: one use per direction at a time, first come, first served.
 * FD-3: the count of events is read before the system call that says "not now" (POLL-2).
 */
#ifndef WF_WAIT_FD_H
#define WF_WAIT_FD_H

#include "sched/netpoll.h"
#include "wait/waitq.h"

/* f->kind */
enum {
	WF_FD_SOCKET = 1,
	WF_FD_TCP = 2,  /* a plain stream: a short read has emptied it */
	WF_FD_FILE = 4, /* cannot be watched: always ready, or blocks */
};

struct wf_io {
	struct wf_fd *f;
	int fd;
	enum wf_dir dir;
	bool ours;   /* weft's */
	bool blocks; /* the next try may block: it cannot be watched */
	uint32_t generation;
	uint32_t count; /* of events, before the try */
};

/* One try, outside the runtime; -EAGAIN: not now. */
typedef ssize_t wf_io_fn(struct wf_io *io, void *arg);

/* In the runtime; *m is the M it goes on with, NULL: the run has ended. Tries until it is done. */
ssize_t wf_io_do(struct wf_m **m, struct wf_io *io, wf_io_fn *try, void *arg);

/* In the runtime, or *m is NULL, after a try that said "not now": 0: try again, or -errno. */
int wf_io_wait(struct wf_m **m, struct wf_io *io);

/* The use of a descriptor in one direction: 0, or -errno and there is none to end. */
int wf_io_begin(struct wf_m **m, struct wf_io *io, int fd, enum wf_dir dir);
void wf_io_end(struct wf_m **m, struct wf_io *io);

/* All of it, as the whole of a public call. */
ssize_t wf_io_call(int fd, enum wf_dir dir, wf_io_fn *try, void *arg);

/* The same by one try, which waits for nothing, not for a turn either. */
ssize_t wf_io_now(int fd, enum wf_dir dir, wf_io_fn *once, void *arg);

/* By one try at a place of its own, so without a turn: only the number is sure to stay what it is. */
ssize_t wf_io_at(int fd, wf_io_fn *once, void *arg);

/* A new descriptor becomes weft's, or is closed: fd or -errno. In the runtime. */
int wf_fd_make(struct wf_m *m, int fd, uint32_t kind);

/* A system call that may block, outside the runtime: between these two. */
void wf_section_begin(void);
void wf_section_end(void);

/* A use without a turn: the number stays what it is. False: it is foreign, or closed. */
bool wf_fd_hold(struct wf_fd *f, uint32_t *generation);
void wf_fd_release(struct wf_m **m, struct wf_fd *f, uint32_t generation);

/* sigchan.c: what has come goes to the channels; the end of a run. */
void wf_signals_deliver(struct wf_m *m);
void wf_signals_flush(void);

/* The end of a run: nobody waits, nobody has a turn. */
void wf_fds_flush(struct wf_m *m);

#endif
