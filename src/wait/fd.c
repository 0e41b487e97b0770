/* SPDX-License-Identifier: MIT */
/*
 * fd.c: turns, waits, and the end of a descriptor; see fd.h.
 *
 * The word `use` of a record: flags, the number of uses, and the generation they belong to, so that
 * a use that outlives its descriptor (it was closed by close(2), and the number came again) ends
 * without an effect. Who comes while a turn is taken stands in line at the address table, and is
 * given the turn, with its use, by the one before.
 *
 *     begin   no flag of mine: BUSY and one use more           by CAS
 *             BUSY: LINE, and in line                          under the bucket's lock
 *     end     no LINE: not BUSY, one use less                  by CAS
 *             LINE: the first in line has the turn, or LINE goes, under the bucket's lock
 *     close   CLOSING; all lines are sent away; the last use closes
 */
#include "wait/iocall.h"
#include "wait/locks.h"

#include <errno.h>

enum {
	OURS = WF_USE_OURS,
	CLOSING = WF_USE_CLOSING,
	BUSY = WF_USE_BUSY,
	LINE = WF_USE_LINE,
	ONE = WF_USE_ONE,
	USES = 0xffffff00,
};

static uint32_t
generation_of(uint64_t use)
{
	return (uint32_t)(use >> 32);
}

static const void *
line_key(const struct wf_fd *f, enum wf_dir dir)
{
	return &f->line[dir];
}

/* ---- the end */

/* In the runtime, or *m is NULL. Nobody uses it any more: FD-1. */
static int
finish(struct wf_m **m, struct wf_fd *f, uint64_t use)
{
	int rc;

	if (*m) {
		wf_leave(*m);
		wf_poll_forget(f);
	}
	rc = os_close_fd(f->fd); /* from here on the number may be another's */
	if (*m)
		*m = wf_enter(WF_CALL_B);
	if (WF_MUTANT(MUT_POLL_FINISH_BLIND))
		at_store_rel(&f->use, 0); /* a mutant */
	/* acqrel: as wf_fd_make, which may have been here */
	at_cas_acqrel(&f->use, &use, use & ~(uint64_t)UINT32_MAX);
	return rc;
}

/* One use less. True: it was the last, and the caller has closed it: *rc says how. */
static bool
drop(struct wf_m **m, struct wf_fd *f, uint32_t generation, uint64_t flags, int *rc)
{
	uint64_t use = at_load_rlx(&f->use), next; /* rlx: the CAS decides */

	wf_tsan_release(f);
	do {
		if (generation_of(use) != generation)
			return false;
		ASSERT((use & USES) >= ONE);
		next = (use & ~flags) - ONE;
	} while (!at_cas_acqrel(&f->use, &use, next)); /* acqrel: all uses before the close: FD-1 */
	if (!(next & CLOSING) || ((next & USES) && !WF_MUTANT(MUT_POLL_CLOSE_EARLY)))
		return false;
	wf_tsan_acquire(f);
	*rc = finish(m, f, next);
	return true;
}

/* Who has called weft_close_fd waits for the last use. */
static void
wake_closer(struct wf_m *m, struct wf_fd *f)
{
	struct wf_bucket *b = wf_bucket_of(&f->use);
	struct wf_at *a;

	wf_lock(&b->lock);
	a = wf_at_pop_all(b, &f->use);
	wf_unlock(&b->lock);
	wf_at_wake_all(m, a, WF_GIVEN);
}

bool
wf_fd_hold(struct wf_fd *f, uint32_t *generation)
{
	uint64_t use = at_load_rlx(&f->use); /* rlx: the CAS decides */

	do {
		if (!(use & OURS) || (use & CLOSING))
			return false;
	} while (!at_cas_acqrel(&f->use, &use, use + ONE)); /* acqrel: FD-1 */
	*generation = generation_of(use);
	return true;
}

void
wf_fd_release(struct wf_m **m, struct wf_fd *f, uint32_t generation)
{
	int rc;

	if (drop(m, f, generation, 0, &rc) && *m)
		wake_closer(*m, f);
}

/* ---- turns */

/* The turn is taken: 1 if it was given to us, 0: look again, or -errno. */
static int
stand_in_line(struct wf_m **m, struct wf_fd *f, enum wf_dir dir)
{
	const void *key = line_key(f, dir);
	struct wf_bucket *b = wf_bucket_of(key);
	uint64_t use;
	struct wf_at a;

	wf_lock(&b->lock);
	use = at_load_acq(&f->use); /* acq: as the CAS below */
	do {
		if (!(use & OURS) || (use & CLOSING) || !(use & (uint64_t)BUSY << dir)) {
			wf_unlock(&b->lock);
			return 0;
		}
		/* acqrel: seen by the end of the turn, or it is over */
	} while (!at_cas_acqrel(&f->use, &use, use | (uint64_t)LINE << dir));
	return wf_wait_at(m, b, key, &a, WF_WAIT_FD_TURN, true);
}

/* LINE is set. True: the turn, with its use, is another's. */
static bool
hand_over(struct wf_m *m, struct wf_fd *f, enum wf_dir dir)
{
	const void *key = line_key(f, dir);
	struct wf_bucket *b = wf_bucket_of(key);
	struct wf_at *a;

	wf_lock(&b->lock);
	a = wf_at_pop(b, key); /* FD-2 */
	if (!a)
		at_and_acqrel(&f->use,
			      ~(uint64_t)((uint64_t)LINE << dir)); /* acqrel: under the lock */
	wf_unlock(&b->lock);
	if (a)
		wf_at_wake(m, a, WF_GIVEN);
	return a != NULL;
}

static int
begin_foreign(struct wf_io *io)
{
	io->ours = false;
	io->generation = at_load_rlx(&io->f->generation); /* rlx: of a descriptor not ours */
	return 0;
}

int
wf_io_begin(struct wf_m **m, struct wf_io *io, int fd, enum wf_dir dir)
{
	struct wf_fd *f = wf_fd_of(fd);
	uint64_t use;
	int rc;

	if (unlikely(!f))
		return fd < 0 ? -EBADF : -ENOMEM;
	*io = (struct wf_io){.f = f, .fd = fd, .dir = dir};
	use = at_load_acq(&f->use); /* acq: pairs with wf_fd_make */
	for (;;) {
		if (unlikely(!(use & OURS)))
			return begin_foreign(io);
		if (unlikely(use & CLOSING))
			return -EBADF;
		if (unlikely(use & (uint64_t)BUSY << dir)) {
			rc = stand_in_line(m, f, dir);
			if (rc < 0)
				return rc;
			if (rc == 0 && wf_run_over(*m))
				return -ENOTSUP;
			use = at_load_acq(&f->use); /* acq: as above */
			if (rc > 0)
				break;
			continue;
		}
		/* acqrel: FD-2 */
		if (likely(at_cas_acqrel(&f->use, &use, (use | (uint64_t)BUSY << dir) + ONE)))
			break;
	}
	io->ours = true;
	io->generation = generation_of(use);
	io->blocks = f->kind & WF_FD_FILE;
	return 0;
}

void
wf_io_end(struct wf_m **m, struct wf_io *io)
{
	struct wf_fd *f = io->f;
	uint64_t use = at_load_rlx(&f->use); /* rlx: the CAS decides */

	if (!io->ours)
		return;
	wf_tsan_release(f);
	while (generation_of(use) == io->generation) {
		if (unlikely(use & (uint64_t)LINE << io->dir) && !WF_MUTANT(MUT_POLL_TURN_LOST)) {
			if (*m && hand_over(*m, f, io->dir))
				return;
			if (!*m) /* no run is up: nobody is in line */
				at_and_acqrel(&f->use,
					      ~((uint64_t)LINE << io->dir)); /* acqrel: as there */
			use = at_load_rlx(&f->use);                          /* rlx: as above */
			continue;
		}
		if (unlikely(use & CLOSING)) {
			int rc;

			if (drop(m, f, io->generation, (uint64_t)BUSY << io->dir, &rc) && *m)
				wake_closer(*m, f);
			return;
		}
		/* acqrel: what was done in the turn; FD-2 */
		if (at_cas_acqrel(&f->use, &use,
				  (use & ~(uint64_t)((uint64_t)BUSY << io->dir)) - ONE))
			return;
	}
}

/* ---- waits */

struct wait {
	struct wf_waiter w;
	struct wf_fd *f;
};

/* The sleeper's context is saved: PARK-1. */
static void
commit(struct wf_g *g, void *arg)
{
	struct wait *a = arg;
	uint32_t number = a->w.number;
	struct wf_fd *f = a->f;
	bool ends = wf_wait_open(g, number);

	wf_unlock(&f->lock); /* from here on a and g may be gone */
	if (unlikely(ends))
		wf_wait_end(g, number);
	if (unlikely(wf_m()->plain))
		wf_netpoll_joined(wf_m());
}

/* Not now: wait for an event after io->count. 0: try again, or -errno. */
static int
wait_for_event(struct wf_m **m, struct wf_io *io)
{
	struct wf_g *g = wf_me(*m);
	struct wf_fd *f = io->f;
	struct wait a = {.f = f};
	bool linked;
	int rc;

	wf_waiter_init(&a.w, g, wf_scoped(g) ? wf_claim_next(g, true) : 0);
	wf_lock(&f->lock);
	/* rlx: under the lock. POLL-2 */
	rc = at_load_rlx(&f->generation) != io->generation ? -ECANCELED : 0;
	if (WF_MUTANT(MUT_POLL_STALE_WAIT))
		rc = 0;
	/* rlx: as above */
	if (rc < 0 ||
	    (at_load_rlx(&f->count[io->dir]) != io->count && !WF_MUTANT(MUT_POLL_NO_RECHECK))) {
		wf_unlock(&f->lock);
		return rc;
	}
	wf_fd_link(f, io->dir, &a.w);
	*m = wf_park(*m, commit, &a, io->dir == WF_READ ? WF_WAIT_FD_READ : WF_WAIT_FD_WRITE, f);
	if (likely(a.w.result != WF_PENDING))
		return a.w.result;
	rc = wf_scope_verdict(g);
	wf_lock(&f->lock);
	linked = at_load_rlx(&a.w.linked); /* rlx: under the lock */
	if (linked && !WF_MUTANT(MUT_POLL_STAYS))
		wf_fd_unlink(f, io->dir, &a.w); /* WAIT-1 */
	wf_unlock(&f->lock);
	return rc == 0 && wf_run_over(*m) ? -ENOTSUP : rc;
}

/* A foreign descriptor is watched from now on; what it is ready for is reported at once. */
static int
watch_foreign(struct wf_io *io)
{
	int rc = wf_netpoll_open();

	if (rc == 0)
		rc = wf_poll_watch(io->f, io->generation, false);
	if (rc == -EPERM) {
		io->blocks = true;
		return 0;
	}
	return rc;
}

int
wf_io_wait(struct wf_m **m, struct wf_io *io)
{
	bool blocks = io->blocks;

	if (unlikely(!*m))
		return -ENOTSUP;
	if (unlikely(!io->ours)) {
		int rc = watch_foreign(io);

		if (rc < 0 || (io->blocks && !blocks))
			return rc;
	}
	return wait_for_event(m, io);
}

ssize_t
wf_io_do(struct wf_m **m, struct wf_io *io, wf_io_fn *try, void *arg)
{
	return wf_io_tries(m, io, io->dir, try, arg, NULL);
}

ssize_t
wf_io_call(int fd, enum wf_dir dir, wf_io_fn *try, void *arg)
{
	return wf_io_whole(fd, dir, try, arg, NULL);
}

/* The turn, if it is free: 1. 0: it is foreign. -EAGAIN: another has it. */
static int
take_now(struct wf_io *io, int fd, enum wf_dir dir)
{
	const struct wf_fd *f = wf_fd_find(fd);

	while (!wf_io_take(io, fd, dir)) {
		uint64_t use = f ? at_load_acq(&f->use) : 0; /* acq: as in wf_io_begin */

		if (!(use & OURS))
			return 0;
		if (use & CLOSING)
			return -EBADF;
		if (use & (uint64_t)BUSY << dir)
			return -EAGAIN;
	}
	return 1;
}

ssize_t
wf_io_now(int fd, enum wf_dir dir, wf_io_fn *once, void *arg)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_io io = {.fd = fd};
	ssize_t rc;
	int taken;

	if (!m)
		return -ENOTSUP;
	taken = take_now(&io, fd, dir);
	wf_leave(m);
	rc = taken < 0 ? taken : once(&io, arg);
	if (taken <= 0)
		return rc;
	m = wf_enter(WF_CALL_B);
	wf_io_give(&m, &io, dir);
	if (m)
		wf_leave(m);
	return rc;
}

ssize_t
wf_io_at(int fd, wf_io_fn *once, void *arg)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_io io = {.fd = fd};
	struct wf_fd *f = wf_fd_find(fd);
	uint32_t generation;
	bool ours, closing;
	ssize_t rc;

	if (!m)
		return -ENOTSUP;
	ours = f && wf_fd_hold(f, &generation);
	closing = !ours && f && (at_load_acq(&f->use) & CLOSING); /* acq: as in wf_io_begin */
	wf_leave(m);
	rc = closing ? -EBADF : once(&io, arg);
	if (!ours)
		return rc;
	m = wf_enter(WF_CALL_B);
	wf_fd_release(&m, f, generation);
	if (m)
		wf_leave(m);
	return rc;
}

/* ---- sections */

void
wf_section_begin(void)
{
	weft_blocking_enter();
}

void
wf_section_end(void)
{
	weft_blocking_leave();
}

/* ---- make, adopt, close */

/* As wf_fd_make, but it is not closed if that fails. */
static int
become_ours(struct wf_m *m, int fd, uint32_t kind)
{
	struct wf_fd *f = wf_fd_of(fd);
	struct wf_glist ready = {0};
	uint32_t generation;
	int rc = f ? wf_netpoll_open() : -ENOMEM;

	if (rc < 0)
		return rc;
	/* Who still waits for this number has missed that it was closed behind our back. */
	generation = wf_fd_renew(f, -ECANCELED, &ready);
	wf_ready_all(m, wf_m_p(m), &ready);
	f->drained = false;
	f->checks = 0;
	f->kind = kind;
	at_store_rel(&f->use, (uint64_t)generation << 32 | OURS); /* rel: the fields above */
	rc = wf_poll_watch(f, generation, true);
	if (rc == -EPERM) {
		f->kind |= WF_FD_FILE;
		rc = 0;
	}
	if (rc == 0)
		return fd;
	at_store_rel(&f->use, (uint64_t)generation << 32); /* rel: nobody knows it yet */
	return rc;
}

int
wf_fd_make(struct wf_m *m, int fd, uint32_t kind)
{
	int rc = become_ours(m, fd, kind);

	if (rc < 0)
		os_close(fd);
	return rc;
}

/* In the runtime: everybody who waits for f returns. */
static void
send_away(struct wf_m *m, struct wf_fd *f)
{
	struct wf_glist ready = {0};

	for (enum wf_dir dir = WF_READ; dir <= WF_WRITE; dir++) {
		struct wf_bucket *b = wf_bucket_of(line_key(f, dir));
		struct wf_at *a;

		wf_lock(&b->lock);
		a = wf_at_pop_all(b, line_key(f, dir));
		wf_unlock(&b->lock);
		wf_at_wake_all(m, a, -ECANCELED);
	}
	wf_fd_renew(f, -ECANCELED, &ready);
	wf_ready_all(m, wf_m_p(m), &ready);
}

/* The caller has set CLOSING, and has one use. */
static int
close_ours(struct wf_m **m, struct wf_fd *f, uint32_t generation)
{
	struct wf_bucket *b = wf_bucket_of(&f->use);
	struct wf_at a;
	int rc = 0;

	send_away(*m, f);
	if (drop(m, f, generation, 0, &rc))
		return rc;
	for (;;) {
		uint64_t use;

		wf_lock(&b->lock);
		use = at_load_acq(&f->use); /* acq: the last use has ended */
		if (generation_of(use) != generation || !(use & OURS)) {
			wf_unlock(&b->lock);
			return 0;
		}
		wf_wait_at(m, b, &f->use, &a, WF_WAIT_FD_CLOSE, false);
		if (wf_run_over(*m))
			return 0;
	}
}

WF_EXPORT int
weft_close_fd(int fd)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_fd *f = wf_fd_of(fd);
	uint64_t use = f ? at_load_acq(&f->use) : 0; /* acq: pairs with wf_fd_make */
	int rc;

	while (use & OURS) {
		if (use & CLOSING) {
			rc = -EBADF;
			goto out;
		}
		if (!m) { /* no run is up: nobody uses it */
			at_store_rel(&f->use, use & ~(uint64_t)UINT32_MAX); /* rel: as finish */
			break;
		}
		if (at_cas_acqrel(&f->use, &use, (use | CLOSING) + ONE)) { /* acqrel: one closes */
			rc = close_ours(&m, f, generation_of(use));
			goto out;
		}
	}
	if (m && f)
		send_away(m, f);
	if (m)
		wf_leave(m);
	if (m && f)
		wf_poll_forget(f); /* not in a forked child: the poller is its parent's too */
	return os_close_foreign(fd);
out:
	if (m)
		wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_adopt_fd(int fd)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_fd *f;
	int rc;

	if (!m)
		return -ENOTSUP;
	f = wf_fd_of(fd);
	rc = f ? os_set_nonblocking(fd) : fd < 0 ? -EBADF : -ENOMEM;
	if (rc >= 0 && (at_load_acq(&f->use) & OURS)) { /* acq: pairs with wf_fd_make */
		f->kind &= ~(uint32_t)WF_FD_TCP;        /* it may be more than a plain stream */
		rc = fd;
	} else if (rc >= 0) {
		rc = become_ours(m, fd, os_is_socket(fd) ? WF_FD_SOCKET : 0);
	}
	wf_leave(m);
	return rc;
}

/* ---- the end of a run */

/* Goroutines that had a turn are gone: the descriptor is as new. */
static void
flush_one(struct wf_fd *f, void *arg)
{
	uint64_t use = at_load_rlx(&f->use); /* rlx: nobody runs */
	struct wf_glist ready = {0};
	uint32_t generation;
	struct wf_g *g;

	if (!f->line[0].first && !f->line[1].first && !(use & USES))
		return;
	generation = wf_fd_renew(f, -ENOTSUP, &ready);
	while ((g = wf_glist_pop(&ready)))
		if (g->flags & WF_G_THREAD)
			wf_ready(arg, g);
	if (!(use & OURS))
		return;
	if (use & CLOSING) {
		wf_poll_forget(f);
		os_close(f->fd);
		at_store_rlx(&f->use, (uint64_t)generation << 32); /* rlx: as above */
		return;
	}
	at_store_rlx(&f->use, (uint64_t)generation << 32 | OURS); /* rlx: as above */
	wf_poll_watch(f, generation, false);
}

void
wf_fds_flush(struct wf_m *m)
{
	wf_fd_each(flush_one, m);
}
