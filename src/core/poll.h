/* SPDX-License-Identifier: MIT */
/*
 * poll.h: which descriptors are ready, and who waits for that: the lower half. It returns lists of
 * Gs; who makes them run is for others to say.
 *
 * There is a record for each descriptor number, never freed. The kernel reports each change once
 * (edge-triggered), so a change must not be forgotten while nobody waits. Each direction has a count
 * of reports: whoever is about to try reads it first, tries, and if the kernel says "not now" waits
 * only if the count is still the same. The states of a direction, as one who tries sees them:
 *
 *     ready   the count is not what it was: try again          <- event (any number of times)
 *     nil     it is the same, and nobody is in line            -> wait, under the lock
 *     wait    the lock is held, until the sleeper's context is saved; then it is in line:
 *     G       somebody is in line                              -> ready: all of them are woken
 *
 * A count takes the place of a flag that is cleared, so that several may try at once: none can
 * take a report away from another.
 *
 * Events carry the number and the generation of the record. A descriptor that is closed leaves
 * its generation, so that late events, and those of another file that had the number, are void.
 *
 * POLL-1: a waiter in line is woken by the next event of its direction, by close, by its scopes, or
 *         at the end of the run: by one of them (CLAIM-1).
 * POLL-2: nobody waits who has not looked at the kernel since the count had the value it has.
 * POLL-3: an event of another generation wakes nobody.
 * POLL-4: waiters is the number of those in line: all lines, exact while all locks are free and nobody
 *         takes events in; and of open signal channels. Who is woken finds itself not counted.
 */
#ifndef WF_CORE_POLL_H
#define WF_CORE_POLL_H

#include "base/lock.h"
#include "base/osio.h"
#include "core/glist.h"
#include "core/waiter.h"

enum wf_dir { WF_READ, WF_WRITE };

struct wf_fd {
	wf_a64 use; /* whose it is, and who uses it: see wait/fd.c */
	struct wf_lock lock;
	wf_a32 count[2];   /* of events, per direction; written under lock */
	wf_a32 seen;       /* all events that were ever reported, together; written under lock */
	wf_a32 generation; /* who waits for another returns; written under lock */
	/* const */
	int fd;
	/* const while it is weft's */
	uint32_t kind;
	/* who has the turn to read: see wait/fd.c */
	uint32_t drained_at;
	bool drained;
	uint8_t checks;
	/* under lock */
	struct wf_waitlist line[2];
} WF_ALIGNED(64);
_Static_assert(sizeof(struct wf_fd) == 128, "two lines");
_Static_assert(offsetof(struct wf_fd, line[WF_WRITE]) == 64, "a read needs only the first");

#ifdef WF_TINY
enum { WF_EVENTS = 2 };
#else
enum { WF_EVENTS = 128 }; /* taken at once */
#endif
struct wf_events {
	int n;
	struct os_event event[WF_EVENTS];
};

WF_EXTERN struct wf_poll {
	wf_a64 open;    /* the kernel's descriptors, 0: not yet */
	wf_a32 waiters; /* POLL-4 */
} wf_poll;

#ifdef WF_TINY
enum { WF_FD_CHUNK = 4, WF_FD_CHUNKS = 4096 };
#else
enum {
	WF_FD_CHUNK = 256, /* records */
	WF_FD_CHUNKS =
	    16384, /* four million descriptors: more than the kernel's own limit, mostly */
};
#endif
WF_EXTERN wf_aptr wf_fd_table[WF_FD_CHUNKS]; /* struct wf_fd [WF_FD_CHUNK] */

/* The record of a number, or NULL: there is none yet. */
WF_INLINE struct wf_fd *
wf_fd_find(int fd)
{
	uint32_t i = (uint32_t)fd / WF_FD_CHUNK; /* a negative number is far off too */
	/* acq: pairs with add_chunk */
	struct wf_fd *chunk = i < WF_FD_CHUNKS ? at_load_acq(&wf_fd_table[i]) : NULL;

	return chunk ? &chunk[(uint32_t)fd % WF_FD_CHUNK] : NULL;
}

/* Any thread. 1: it was opened by this call, 0: it was open, or -errno. */
int wf_poll_open(void);
/* The record of a number, or NULL: no memory, or no such number. */
struct wf_fd *wf_fd_of(int fd);

WF_INLINE bool
wf_poll_is_open(void)
{
	return at_load_acq(&wf_poll.open) != 0; /* acq: pairs with wf_poll_open */
}

WF_INLINE bool
wf_poll_waited_for(void)
{
	return at_load_rlx(&wf_poll.waiters) != 0; /* rlx: the caller fences, or looks again */
}

/* No lock held: events of f are reported from now on; first: it was not before. Or -errno; -EPERM:
   this kind of file is always ready. */
int wf_poll_watch(struct wf_fd *f, uint32_t generation, bool first);

/* The number is about to be closed. The file may stay open under another number, or in a child: from
   now on nothing is reported of it. */
void wf_poll_forget(struct wf_fd *f);

/* The thread waits in the kernel, until then. */
void wf_poll_collect(struct wf_events *events, int64_t until);
/* What was collected is taken in: those that it wakes are claimed and at the end of ready. True: the
   wait was broken. */
bool wf_poll_deliver(const struct wf_events *events, struct wf_glist *ready);
/* One that collects, or the next who does, returns. */
void wf_poll_break(void);

/* f->lock held. */
void wf_fd_link(struct wf_fd *f, enum wf_dir dir, struct wf_waiter *w);
void wf_fd_unlink(struct wf_fd *f, enum wf_dir dir, struct wf_waiter *w);

/* Something else than a descriptor that a break tells of is waited for, or n times no more. */
void wf_poll_count(int n);

/* No lock held: the number means another file from now on, or none. Everybody in line returns with
   result. Returns the generation. */
uint32_t wf_fd_renew(struct wf_fd *f, int result, struct wf_glist *ready);

/* Nobody runs: calls fn for every record that was used. */
void wf_fd_each(void (*fn)(struct wf_fd *f, void *arg), void *arg);

#endif
