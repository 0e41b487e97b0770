/* SPDX-License-Identifier: MIT */
/*
 * io.c: read and write, pipes, and waiting for a descriptor.
 *
 * A read that returned less than there was room for has emptied a TCP socket: the next one need not
 * ask the kernel to be told "not now", it waits at once. That saves a system call for each request
 * of a server. It holds only for a socket that weft has made, of TCP and without a protocol on top of
 * it, whose peer has not closed, that has had no error and no urgent data; in all other cases (data
 * and end in one report, urgent data, unix sockets, packets in a pipe) there may be more to read
 * and no further report. Writes always go on until the kernel says "not now".
 *
 * IO-1: who waits for a socket to be readable without having asked has seen, since the count had the
 *       value it has, that the socket was empty.
 */
#include "wait/iocall.h"

#include <errno.h>

enum {
	WINDOW = 16,     /* of a list that does not begin at a whole piece */
	IOV_MOST = 1024, /* the kernel's limit */
	CHECKS = 16,     /* short reads after which a socket is asked for what sits on top of it */
};

/* What is left of a list of pieces. */
struct rest {
	const struct iovec *iov;
	int n;
	size_t skip; /* of the first */
	size_t done;
};

static void
advance(struct rest *r, size_t bytes)
{
	r->done += bytes;
	r->skip += bytes;
	while (r->n > 0 && r->skip >= r->iov->iov_len) {
		r->skip -= r->iov->iov_len;
		r->iov++;
		r->n--;
	}
}

/* The next pieces, as one system call takes them. */
static const struct iovec *
window(const struct rest *r, struct iovec *copy, int *n)
{
	if (r->skip == 0) {
		*n = r->n < IOV_MOST ? r->n : IOV_MOST;
		return r->iov;
	}
	*n = r->n < WINDOW ? r->n : WINDOW;
	for (int i = 0; i < *n; i++)
		copy[i] = r->iov[i];
	copy[0].iov_base = (char *)copy[0].iov_base + r->skip;
	copy[0].iov_len -= r->skip;
	return copy;
}

WF_INLINE size_t
total(const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

/* ---- read */

static ssize_t
read_blocking(int fd, const struct iovec *iov, int n)
{
	ssize_t rc;

	wf_section_begin();
	rc = os_readv(fd, iov, n, false);
	wf_section_end();
	return rc;
}

/* IO-1 */
WF_INLINE bool
is_drained(const struct wf_io *io)
{
	const struct wf_fd *f = io->f;

	/* acq: after the count, which was read before */
	return f->drained && f->drained_at == io->count &&
	       !(at_load_acq(&f->seen) & (OS_RDHUP | OS_HUP | OS_ERR | OS_PRI));
}

/* A socket of TCP may be given to a protocol on top of it at any time, and mostly soon after it was
   connected. Who does so later says so by weft_adopt_fd. */
WF_INLINE bool
is_plain(struct wf_fd *f)
{
	if (f->checks < CHECKS) {
		f->checks++;
		if (os_has_upper(f->fd))
			f->kind &= ~(uint32_t)WF_FD_TCP;
	}
	return f->kind & WF_FD_TCP;
}

static ssize_t
read_other(struct wf_io *io, const struct iovec *iov, int n)
{
	ssize_t rc;

	if (!io->ours) {
		rc = io->blocks ? -EOPNOTSUPP : os_readv_now(io->fd, iov, n);
		if (rc != -EOPNOTSUPP)
			return rc;
		/* A terminal cannot be told not to wait: it is asked first whether it would. */
		if (!io->blocks && os_reads_as_polled(io->fd, total(iov, n)) &&
		    os_poll_now(io->fd, OS_IN) == 0)
			return -EAGAIN;
		return read_blocking(io->fd, iov, n);
	}
	return io->f->kind & WF_FD_FILE ? read_blocking(io->fd, iov, n)
					: os_readv(io->fd, iov, n, io->f->kind & WF_FD_SOCKET);
}

WF_INLINE bool
is_tcp(const struct wf_io *io)
{
	return io->ours && (io->f->kind & WF_FD_TCP);
}

WF_INLINE ssize_t
read_once(struct wf_io *io, const struct iovec *iov, int n)
{
	struct wf_fd *f = io->f;
	ssize_t rc;

	if (unlikely(!is_tcp(io)))
		return read_other(io, iov, n);
	rc = os_readv(f->fd, iov, n, true);
	f->drained = rc > 0 && (size_t)rc < total(iov, n) && is_plain(f);
	f->drained_at = io->count;
	return rc;
}

WF_INLINE bool
is_known_empty(const struct wf_io *io)
{
	return is_tcp(io) && is_drained(io);
}

WF_INLINE ssize_t
try_read(struct wf_io *io, void *arg)
{
	struct rest *r = arg;

	return read_once(io, r->iov, r->n < IOV_MOST ? r->n : IOV_MOST);
}

static ssize_t
try_read_full(struct wf_io *io, void *arg)
{
	struct rest *r = arg;
	struct iovec copy[WINDOW];

	while (r->n > 0) {
		int n;
		const struct iovec *iov = window(r, copy, &n);
		ssize_t rc = is_known_empty(io) ? -EAGAIN : read_once(io, iov, n);

		if (rc < 0)
			return rc;
		if (rc == 0)
			break;
		advance(r, (size_t)rc);
	}
	return (ssize_t)r->done;
}

WF_EXPORT ssize_t
weft_readv(int fd, const struct iovec *iov, int count)
{
	struct rest r = {.iov = iov, .n = count};

	return count < 0 ? -EINVAL : wf_io_whole(fd, WF_READ, try_read, &r, is_known_empty);
}

WF_EXPORT ssize_t
weft_read(int fd, void *buf, size_t n)
{
	struct iovec one = {buf, n};
	struct rest r = {.iov = &one, .n = 1};

	return wf_io_whole(fd, WF_READ, try_read, &r, is_known_empty);
}

WF_EXPORT ssize_t
weft_read_full(int fd, void *buf, size_t n)
{
	struct iovec one = {buf, n};
	struct rest r = {.iov = &one, .n = n > 0};

	return wf_io_call(fd, WF_READ, try_read_full, &r);
}

/* ---- write */

static ssize_t
write_blocking(int fd, const struct iovec *iov, int n)
{
	ssize_t rc;

	wf_section_begin();
	rc = os_writev(fd, iov, n, false);
	wf_section_end();
	return rc;
}

static ssize_t
write_other(struct wf_io *io, const struct iovec *iov, int n)
{
	if (!io->ours) {
		ssize_t rc = io->blocks ? -EOPNOTSUPP : os_writev_now(io->fd, iov, n);

		return rc == -EOPNOTSUPP ? write_blocking(io->fd, iov, n) : rc;
	}
	return io->f->kind & WF_FD_FILE ? write_blocking(io->fd, iov, n)
					: os_writev(io->fd, iov, n, false);
}

WF_INLINE ssize_t
write_once(struct wf_io *io, const struct iovec *iov, int n)
{
	if (unlikely(!io->ours || !(io->f->kind & WF_FD_SOCKET)))
		return write_other(io, iov, n);
	return os_writev(io->fd, iov, n, true);
}

static ssize_t
try_write(struct wf_io *io, void *arg)
{
	struct rest *r = arg;
	struct iovec copy[WINDOW];

	do { /* once at least: a datagram may be empty, and a bad descriptor is told */
		int n;
		const struct iovec *iov = window(r, copy, &n);
		ssize_t rc = write_once(io, iov, n);

		if (rc < 0)
			return rc;
		advance(r, (size_t)rc);
		if (rc == 0 && total(r->iov, r->n) == 0)
			break;
	} while (r->n > 0);
	return (ssize_t)r->done;
}

/* Most are written by the first call; then there is nothing to keep account of. */
WF_INLINE ssize_t
try_write_one(struct wf_io *io, void *arg)
{
	struct rest *r = arg;
	ssize_t rc;

	if (unlikely(r->skip > 0))
		return try_write(io, arg);
	rc = write_once(io, r->iov, 1);
	if (likely(rc < 0 || (size_t)rc == r->iov->iov_len))
		return rc;
	advance(r, (size_t)rc);
	return try_write(io, arg);
}

WF_EXPORT ssize_t
weft_writev(int fd, const struct iovec *iov, int count)
{
	struct rest r = {.iov = iov, .n = count};

	return count < 0 ? -EINVAL : wf_io_call(fd, WF_WRITE, try_write, &r);
}

WF_EXPORT ssize_t
weft_write(int fd, const void *buf, size_t n)
{
	struct iovec one = {(void *)(uintptr_t)buf, n};
	struct rest r = {.iov = &one, .n = 1};

	return wf_io_whole(fd, WF_WRITE, try_write_one, &r, NULL);
}

/* ---- wait for events */

struct wait {
	struct wf_waiter w[2];
	struct wf_fd *f;
};

/* As in fd.c. */
static void
commit(struct wf_g *g, void *arg)
{
	struct wait *a = arg;
	struct wf_fd *f = a->f;
	uint32_t number = a->w[0].number;
	bool ends = wf_wait_open(g, number);

	wf_unlock(&f->lock); /* from here on a and g may be gone */
	if (unlikely(ends))
		wf_wait_end(g, number);
	if (unlikely(wf_m()->plain))
		wf_netpoll_joined(wf_m());
}

static bool
waits_for(int events, enum wf_dir dir)
{
	return events & (dir == WF_WRITE ? OS_OUT : OS_IN | OS_PRI);
}

/* f->lock held. WAIT-1 */
static void
leave_lines(struct wait *a)
{
	for (enum wf_dir dir = WF_READ; dir <= WF_WRITE; dir++)
		if (at_load_rlx(&a->w[dir].linked)) /* rlx: under the lock */
			wf_fd_unlink(a->f, dir, &a->w[dir]);
}

/* Until either direction has had another event than it had: 0, or -errno. */
static int
wait_for_events(struct wf_m **m, struct wf_fd *f, int events, uint32_t generation,
		const uint32_t count[2])
{
	struct wf_g *g = wf_me(*m);
	struct wait a = {.f = f};
	uint32_t number = wf_claim_next(g, wf_scoped(g));
	int rc = 0;

	wf_lock(&f->lock);
	if (at_load_rlx(&f->generation) != generation) /* rlx: under the lock, as all here */
		rc = -ECANCELED;
	for (enum wf_dir dir = WF_READ; dir <= WF_WRITE; dir++) {
		wf_waiter_init(&a.w[dir], g, number);
		if (waits_for(events, dir) &&
		    at_load_rlx(&f->count[dir]) != count[dir]) /* POLL-2 */
			rc = rc < 0 ? rc : 1;
	}
	if (rc != 0) {
		wf_unlock(&f->lock);
		return rc < 0 ? rc : 0;
	}
	for (enum wf_dir dir = WF_READ; dir <= WF_WRITE; dir++)
		if (waits_for(events, dir))
			wf_fd_link(f, dir, &a.w[dir]);
	*m = wf_park(*m, commit, &a, WF_WAIT_FD, f);
	wf_lock(&f->lock);
	leave_lines(&a);
	wf_unlock(&f->lock);
	for (enum wf_dir dir = WF_READ; dir <= WF_WRITE; dir++)
		if (a.w[dir].result != WF_PENDING)
			return a.w[dir].result;
	rc = wf_scope_verdict(g);
	return rc == 0 && wf_run_over(*m) ? -ENOTSUP : rc;
}

/* In the runtime; the descriptor is held, or foreign. */
static int
wait_fd(struct wf_m **m, struct wf_fd *f, int events, bool ours, uint32_t generation)
{
	for (;;) {
		uint32_t count[2] = {at_load_acq(&f->count[0]), /* acq: before the look: FD-3 */
				     at_load_acq(&f->count[1])};
		int rc;

		wf_leave(*m);
		rc = os_poll_now(f->fd, events);
		*m = wf_enter(WF_CALL_B);
		if (rc != 0)
			return rc;
		if (!*m)
			return -ENOTSUP;
		if (!ours) {
			rc = wf_netpoll_open();
			if (rc == 0)
				rc = wf_poll_watch(f, generation, false);
		}
		if (rc == 0)
			rc = wait_for_events(m, f, events, generation, count);
		if (rc < 0)
			return rc;
	}
}

WF_EXPORT int
weft_wait_fd(int fd, int events)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	uint32_t generation;
	struct wf_fd *f;
	bool ours;
	int rc;

	if (!m)
		return -ENOTSUP;
	f = wf_fd_of(fd);
	rc = !f ? -EBADF : events == 0 || (events & ~(OS_IN | OS_PRI | OS_OUT)) ? -EINVAL : 0;
	if (rc == 0) {
		ours = wf_fd_hold(f, &generation);
		if (!ours)
			generation = at_load_rlx(&f->generation); /* rlx: of a foreign one */
		rc = wait_fd(&m, f, events, ours, generation);
		if (ours)
			wf_fd_release(&m, f, generation);
	}
	if (m)
		wf_leave(m);
	return rc;
}

/* ---- pipes */

WF_EXPORT int
weft_pipe(int fds[2])
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (!m)
		return -ENOTSUP;
	rc = os_pipe(fds);
	if (rc == 0 && (rc = wf_fd_make(m, fds[0], 0)) < 0)
		os_close(fds[1]);
	if (rc >= 0 && (rc = wf_fd_make(m, fds[1], 0)) < 0) {
		wf_leave(m);
		weft_close_fd(fds[0]);
		return rc;
	}
	wf_leave(m);
	return rc < 0 ? rc : 0;
}
