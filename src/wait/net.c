/* SPDX-License-Identifier: MIT */
/* net.c: listen, accept, dial, and what a datagram needs more. */
#include "wait/addr.h"
#include "wait/fd.h"

#include <errno.h>

static const int64_t SHORTAGE_NS = 1000000; /* before the shortage of something is told, so that a
					       loop around the call does not spin */

/* ---- addresses */

WF_EXPORT const char *
weft_addr_error(const char *net, const char *addr)
{
	struct wf_hostport hp;
	struct os_addr local;
	struct wf_net n;
	const char *why = wf_net_parse(net, &n);

	if (why)
		return why;
	if (!n.local)
		return wf_addr_parse(addr, &hp);
	if (!addr || !*addr)
		return "the path is empty";
	return os_unix_addr(addr, &local) < 0 ? "the path is too long for a socket" : NULL;
}

/* Outside the runtime: how many, or -errno. */
static int
lookup(const char *net, const char *addr, bool listens, struct wf_net *n, struct os_addr *out)
{
	struct wf_hostport hp;
	int rc, more;

	if (wf_net_parse(net, n) || !addr)
		return -EINVAL;
	if (n->local) {
		rc = os_unix_addr(addr, out);
		return rc < 0 ? rc : 1;
	}
	if (wf_addr_parse(addr, &hp))
		return -EINVAL;
	if (!listens || *hp.host || n->family != OS_ANY_FAMILY) {
		struct wf_question q = {hp, n->family, n->datagram, listens};

		return wf_resolve(&q, out, WF_ADDRS);
	}
	/* one socket for both */
	wf_section_begin();
	rc = os_resolve(NULL, hp.port, OS_INET6, n->datagram, true, out, WF_ADDRS / 2);
	rc = rc < 0 ? 0 : rc;
	more = os_resolve(NULL, hp.port, OS_INET, n->datagram, true, out + rc, WF_ADDRS / 2);
	wf_section_end();
	return more >= 0 ? rc + more : rc > 0 ? rc : more;
}

static int
address_of(int fd, bool peer, char *buf, size_t n)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	struct os_addr a;
	int rc;

	if (!m)
		return -ENOTSUP;
	wf_leave(m);
	rc = os_socket_addr(fd, peer, &a);
	return rc < 0 ? rc : os_addr_text(&a, buf, n);
}

WF_EXPORT int
weft_local_addr(int fd, char *buf, size_t n)
{
	return address_of(fd, false, buf, n);
}

WF_EXPORT int
weft_peer_addr(int fd, char *buf, size_t n)
{
	return address_of(fd, true, buf, n);
}

/* ---- listen */

static uint32_t
kind_of(int fd, bool datagram)
{
	return WF_FD_SOCKET | (!datagram && os_is_tcp(fd) ? WF_FD_TCP : 0);
}

/* In the runtime. */
static int
listen_at(struct wf_m *m, const struct os_addr *a, bool datagram, const struct os_listen *how)
{
	int fd = os_socket_for(a, datagram), rc;

	if (fd < 0)
		return fd;
	rc = os_bind(fd, a, datagram, how);
	if (rc < 0) {
		os_close(fd);
		return rc;
	}
	return wf_fd_make(m, fd, kind_of(fd, datagram));
}

WF_EXPORT int
weft_listen_with(const char *net, const char *addr, int backlog, int flags)
{
	struct os_listen how = {.backlog = backlog, .reuse_port = flags & WEFT_REUSEPORT};
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct os_addr a[WF_ADDRS];
	struct wf_net n;
	int count, rc;

	if (!m)
		return -ENOTSUP;
	wf_leave(m);
	if (backlog < 0 || (flags & ~WEFT_REUSEPORT))
		return -EINVAL;
	count = rc = lookup(net, addr, true, &n, a);
	m = wf_enter(WF_CALL_B);
	if (!m)
		return -ENOTSUP;
	for (int i = 0; i < count; i++) {
		rc = listen_at(m, &a[i], n.datagram, &how);
		if (rc >= 0)
			break;
	}
	wf_leave(m);
	return rc;
}

WF_EXPORT int
weft_listen(const char *net, const char *addr)
{
	return weft_listen_with(net, addr, 0, 0);
}

/* ---- accept */

static ssize_t
try_accept(struct wf_io *io, void *arg)
{
	int rc;

	(void)arg;
	if (!io->ours) { /* it may block, and there is no flag that says "not now" */
		rc = os_poll_now(io->fd, OS_IN);
		if (rc <= 0)
			return rc < 0 ? rc : -EAGAIN;
		wf_section_begin();
		rc = os_accept(io->fd);
		wf_section_end();
		return rc;
	}
	do
		rc = os_accept(io->fd);
	while (rc == -ECONNABORTED ||
	       rc == -EPROTO); /* gone before we came; the next may be there */
	return rc;
}

static bool
is_shortage(ssize_t rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM;
}

WF_EXPORT int
weft_accept(int listener)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_io io;
	ssize_t rc;

	if (!m)
		return -ENOTSUP;
	rc = wf_io_begin(&m, &io, listener, WF_READ);
	if (rc == 0) {
		uint32_t kind = io.ours ? io.f->kind : WF_FD_SOCKET;

		rc = wf_io_do(&m, &io, try_accept, NULL);
		wf_io_end(&m, &io);
		if (rc >= 0 && m)
			rc = wf_fd_make(m, (int)rc, kind);
	}
	if (m && is_shortage(rc)) {
		int ends = wf_sleep_until(&m, wf_time_after(os_now_ns(), SHORTAGE_NS));

		rc = ends < 0 ? ends : rc; /* or a loop would spin, and never hear of it */
	}
	if (m)
		wf_leave(m);
	return (int)rc;
}

/* ---- dial */

struct connect {
	const struct os_addr *a;
	bool asked;
};

static ssize_t
try_connect(struct wf_io *io, void *arg)
{
	struct connect *c = arg;
	int rc;

	if (!c->asked) {
		c->asked = true;
		rc = os_connect(io->fd, c->a);
		return rc == -EINPROGRESS ? -EAGAIN : rc == -EAGAIN ? -EBUSY : rc;
	}
	rc = os_poll_now(io->fd, OS_OUT);
	return rc < 0 ? rc : rc == 0 ? -EAGAIN : os_socket_error(io->fd);
}

/* In the runtime. -EBUSY: the line of a unix socket is full, and nobody will tell when it is not. */
static int
dial_once(struct wf_m **m, const struct os_addr *a, bool datagram)
{
	struct connect c = {.a = a};
	int fd = os_socket_for(a, datagram);
	struct wf_io io;
	ssize_t rc;

	if (fd >= 0)
		fd = wf_fd_make(*m, fd, kind_of(fd, datagram));
	if (fd < 0)
		return fd;
	rc = wf_io_begin(m, &io, fd, WF_WRITE);
	if (rc == 0) {
		rc = wf_io_do(m, &io, try_connect, &c);
		if (rc >= 0 && !datagram && os_connected_to_itself(fd, a))
			rc = -ECONNREFUSED;
		wf_io_end(m, &io);
	}
	if (rc >= 0)
		return fd;
	if (*m)
		wf_leave(*m);
	weft_close_fd(fd);
	*m = wf_enter(WF_CALL_B);
	return (int)rc;
}

static int
dial_at(struct wf_m **m, const struct os_addr *a, bool datagram)
{
	int rc = dial_once(m, a, datagram);

	while (rc == -EBUSY && *m) {
		rc = wf_sleep_until(m, wf_time_after(os_now_ns(), SHORTAGE_NS));
		if (rc == 0)
			rc = dial_once(m, a, datagram);
	}
	return rc;
}

WF_EXPORT int
weft_dial(const char *net, const char *addr)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct os_addr a[WF_ADDRS];
	struct wf_net n;
	int count, rc;

	if (!m)
		return -ENOTSUP;
	wf_leave(m);
	count = rc = lookup(net, addr, false, &n, a);
	m = wf_enter(WF_CALL_B);
	for (int i = 0; m && i < count; i++) {
		rc = dial_at(&m, &a[i], n.datagram);
		if (rc >= 0 || (m && wf_scope_verdict(wf_me(m)) < 0))
			break;
	}
	if (!m)
		return rc < 0 ? rc : -ENOTSUP;
	wf_leave(m);
	return rc;
}

/* ---- datagrams */

struct message {
	char *buf;
	size_t n, done;
	int flags;
	struct sockaddr *addr;
	socklen_t *len;
};

/* MSG_WAITALL is ours to keep, as the kernel is always asked for what is there now. */
static ssize_t
try_recvfrom(struct wf_io *io, void *arg)
{
	struct message *a = arg;

	for (;;) {
		ssize_t rc = os_recvfrom(io->fd, a->buf + a->done, a->n - a->done,
					 a->flags & ~MSG_WAITALL, a->addr, a->len);

		if (rc < 0)
			return rc; /* also after a part: it is said once only, and not to be lost */
		if (rc == 0)
			return (ssize_t)a->done;
		a->done += (size_t)rc;
		if (a->done >= a->n || !(a->flags & MSG_WAITALL) || (a->flags & MSG_PEEK) ||
		    !os_is_stream(io->fd))
			return (ssize_t)a->done;
	}
}

/* Only a stream takes a part. */
static ssize_t
try_sendto(struct wf_io *io, void *arg)
{
	struct message *a = arg;

	do {
		ssize_t rc =
		    os_sendto(io->fd, a->buf + a->done, a->n - a->done, a->flags, a->addr, *a->len);

		if (rc < 0)
			return rc;
		a->done += (size_t)rc;
	} while (a->done < a->n && !(a->flags & MSG_DONTWAIT));
	return (ssize_t)a->done;
}

/* Who does not want to wait does not wait for a turn either. */
static ssize_t
pass(int fd, enum wf_dir dir, wf_io_fn *fn, struct message *a)
{
	if (!(a->flags & MSG_DONTWAIT))
		return wf_io_call(fd, dir, fn, a);
	a->flags &= ~MSG_WAITALL;
	return wf_io_now(fd, dir, fn, a);
}

WF_EXPORT ssize_t
weft_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	struct message a = {.buf = buf, .n = n, .flags = flags, .addr = from, .len = len};

	return pass(fd, WF_READ, try_recvfrom, &a);
}

WF_EXPORT ssize_t
weft_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t len)
{
	struct message a = {.buf = (char *)(uintptr_t)buf,
			    .n = n,
			    .flags = flags,
			    .addr = (struct sockaddr *)(uintptr_t)to,
			    .len = &len};

	return pass(fd, WF_WRITE, try_sendto, &a);
}
