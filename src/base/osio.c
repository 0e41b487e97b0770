/* SPDX-License-Identifier: MIT */
/* osio.c: Linux; see osio.h. Beside os.c the only file that reads errno. */
#define _GNU_SOURCE 1
#include "base/osio.h"
#include "base/check.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The kernel's numbers, for a libc that does not know them. */
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100 /* Linux 6.18 */
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* Linux 5.3 */
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* Linux 5.11 */
#endif
#define SAME(ours, its) _Static_assert((int)(ours) == (int)(its), "the kernel's number")
SAME(OS_IN, EPOLLIN);
SAME(OS_PRI, EPOLLPRI);
SAME(OS_OUT, EPOLLOUT);
SAME(OS_ERR, EPOLLERR);
SAME(OS_HUP, EPOLLHUP);
SAME(OS_RDHUP, EPOLLRDHUP);
SAME(OS_IN, POLLIN);
SAME(OS_PRI, POLLPRI);
SAME(OS_OUT, POLLOUT);
SAME(OS_ERR, POLLERR);
SAME(OS_HUP, POLLHUP);

#ifdef WF_FAULT
#define fault(name) os_fault(name)
#else
#define fault(name) false
#endif

static ssize_t
result(ssize_t rc)
{
	return rc < 0 ? -errno : rc;
}

#define RETRY(call)                                                                                \
	__extension__({                                                                            \
		ssize_t rc_;                                                                       \
		do                                                                                 \
			rc_ = fault("eintr") ? -EINTR : result(call);                              \
		while (rc_ == -EINTR);                                                             \
		rc_;                                                                               \
	})

/* ---- readiness. Not by the C library's functions: ThreadSanitizer would see a race in the use of
   a descriptor that another thread has opened. */

static int
control(int poller, int op, int fd, uint32_t how, uint64_t data)
{
	struct epoll_event e = {.events = how | EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI};

	e.data.u64 = data;
	return (int)result(syscall(SYS_epoll_ctl, poller, op, fd, &e));
}

int
os_poll_open(int *breaker)
{
	int poller, rc;

	if (fault("epoll"))
		return -EMFILE;
	poller = (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC);
	if (poller < 0)
		return -errno;
	rc = fault("eventfd") ? -EMFILE
			      : (int)result(syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
	*breaker = rc;
	if (rc >= 0)
		rc = os_poll_watch(poller, *breaker, UINT64_MAX);
	if (rc == 0)
		return poller;
	if (*breaker >= 0)
		close(*breaker);
	close(poller);
	return rc;
}

int
os_poll_watch(int poller, int fd, uint64_t data)
{
	int rc;

	if (fault("epoll_ctl"))
		return -ENOSPC;
	rc = control(poller, EPOLL_CTL_ADD, fd, EPOLLET, data);
	if (rc == -EEXIST)
		rc = control(poller, EPOLL_CTL_MOD, fd, EPOLLET, data);
	return rc;
}

int
os_poll_again(int poller, int fd, uint64_t data)
{
	int rc;

	if (fault("epoll_again"))
		return -ENOMEM;
	rc = control(poller, EPOLL_CTL_MOD, fd, EPOLLET, data);
	if (rc == -ENOENT)
		rc = control(poller, EPOLL_CTL_ADD, fd, EPOLLET, data);
	return rc;
}

void
os_poll_forget(int poller, int fd)
{
	/* It may not have been watched, or be of a kind that is not. */
	syscall(SYS_epoll_ctl, poller, EPOLL_CTL_DEL, fd, NULL);
}

static int
wait_ms(int poller, struct epoll_event *e, int n, int64_t left_ns)
{
	int64_t ms = left_ns / 1000000 + (left_ns % 1000000 != 0); /* not too early */

	if (left_ns == INT64_MAX)
		ms = -1;
	else if (ms > INT32_MAX)
		ms = INT32_MAX;
	return (int)result(syscall(SYS_epoll_pwait, poller, e, n, (int)ms, NULL, 0));
}

/* How long a wait may be, of what is left; early returns are fine. */
static int64_t
at_most(int64_t left)
{
#ifdef WF_TSAN
	return left < OS_TSAN_NAP_NS ? left : OS_TSAN_NAP_NS;
#else
	return left;
#endif
}

int
os_poll_wait(int poller, struct os_event *events, int n, int64_t until_ns)
{
	enum { MOST = 128 };
	static wf_a32 no_pwait2; /* 1: this kernel has none */
	struct epoll_event e[MOST];
	int64_t left = until_ns == INT64_MAX ? until_ns
		       : until_ns <= 0       ? 0
					     : until_ns - os_now_ns();
	struct timespec ts;
	int rc;

	left = left < 0 ? 0 : at_most(left);
	ts = (struct timespec){left / 1000000000, left % 1000000000};
	n = n > MOST ? MOST : n;
	rc = -ENOSYS;
	if (fault("epoll_wait"))
		return 0; /* as if a signal had come */
	os_tsan_signals();
	/* rlx: only this word matters */
	if (!at_load_rlx(&no_pwait2) && left > 0 && !fault("pwait2"))
		rc = (int)result(syscall(SYS_epoll_pwait2, poller, e, n,
					 left == INT64_MAX ? NULL : &ts, NULL, 0));
	if (rc == -ENOSYS || rc == -EPERM) { /* the latter from a filter that knows it not */
		if (left > 0)
			at_store_rlx(&no_pwait2, 1); /* rlx: as above */
		rc = wait_ms(poller, e, n, left);
	}
	os_tsan_signals();
	if (rc == -EINTR)
		return 0;
	CHECK(rc >= 0);
	for (int i = 0; i < rc; i++)
		events[i] = (struct os_event){e[i].events, e[i].data.u64};
	return rc;
}

void
os_poll_break(int breaker)
{
	uint64_t one = 1;

	CHECK(syscall(SYS_write, breaker, &one, sizeof(one)) == sizeof(one));
}

/* ---- descriptors */

int
os_poll_now(int fd, int events)
{
	struct pollfd p = {.fd = fd, .events = (short)events};
	int rc = (int)RETRY(poll(&p, 1, 0));

	if (rc <= 0)
		return rc;
	return p.revents & POLLNVAL ? -EBADF : p.revents;
}

int
os_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK)
		return 1;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

bool
os_is_socket(int fd)
{
	int type;
	socklen_t n = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0;
}

int
os_close_fd(int fd)
{
	return (int)result(close(fd)); /* EINTR too: on Linux it is closed */
}

int
os_close_foreign(int fd)
{
	/* Not close(): who reads at the same time, and is told that it is closed, is no race for
	   ThreadSanitizer to report */
	return (int)result(syscall(SYS_close, fd));
}

int
os_pipe(int fds[2])
{
	return fault("pipe") ? -EMFILE : (int)result(pipe2(fds, O_NONBLOCK | O_CLOEXEC));
}

/* The C library's functions may be cancelled, and prepare for that; they take as long for it as we do
   for the rest. The sanitizers know only them. */
#if defined(WF_TSAN) || defined(WF_ASAN)
#define READ(fd, buf, n)        read(fd, buf, n)
#define SEND(fd, buf, n, flags) send(fd, buf, n, flags)
#else
#define READ(fd, buf, n)        syscall(SYS_read, fd, buf, n)
#define SEND(fd, buf, n, flags) syscall(SYS_sendto, fd, buf, n, flags, NULL, 0)
#endif

/* At the file's own position. Not every C library has them. */
#ifdef __GLIBC__
#define READV2(fd, iov, n, flags)  preadv2(fd, iov, n, -1, flags)
#define WRITEV2(fd, iov, n, flags) pwritev2(fd, iov, n, -1, flags)
#else
#define READV2(fd, iov, n, flags)  syscall(SYS_preadv2, fd, iov, n, -1L, -1L, flags)
#define WRITEV2(fd, iov, n, flags) syscall(SYS_pwritev2, fd, iov, n, -1L, -1L, flags)
#endif

ssize_t
os_readv(int fd, const struct iovec *iov, int n)
{
	if (likely(n == 1))
		return RETRY(READ(fd, iov->iov_base, iov->iov_len));
	return RETRY(readv(fd, iov, n));
}

static ssize_t
send_now(int fd, const struct iovec *iov, int n)
{
	const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	struct msghdr msg;

	if (likely(n == 1))
		return RETRY(
		    SEND(fd, iov->iov_base, fault("short_write") ? 1 : iov->iov_len, flags));
	msg = (struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
	return RETRY(sendmsg(fd, &msg, flags));
}

/* A pipe whose reader is gone raises a signal for the thread. It is held back and taken away, unless
   one was there before. */
static void
hold_sigpipe(sigset_t *old, bool *before)
{
	sigset_t pipe_only, waiting;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&waiting);
	*before = sigismember(&waiting, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, old);
}

static void
drop_sigpipe(const sigset_t *old, bool raised)
{
	static const struct timespec none;
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	while (raised && sigtimedwait(&pipe_only, NULL, &none) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

static ssize_t
writev_masked(int fd, const struct iovec *iov, int n, int flags)
{
	sigset_t old;
	bool before;
	ssize_t rc;

	hold_sigpipe(&old, &before);
	rc = RETRY(WRITEV2(fd, iov, n, flags));
	drop_sigpipe(&old, rc == -EPIPE && !before);
	return rc;
}

static ssize_t
writev_silent(int fd, const struct iovec *iov, int n, int flags)
{
	static wf_a32 no_flag; /* 1: this kernel has no RWF_NOSIGNAL */
	ssize_t rc;

	if (!at_load_rlx(&no_flag)) { /* rlx: only this word matters */
		rc = RETRY(WRITEV2(fd, iov, n, flags | RWF_NOSIGNAL));
		if (rc != -EOPNOTSUPP && rc != -EINVAL)
			return rc;
		if (flags == 0) /* nothing else could be meant */
			at_store_rlx(&no_flag, 1);
	}
	return writev_masked(fd, iov, n, flags);
}

ssize_t
os_writev(int fd, const struct iovec *iov, int n, bool socket)
{
	struct iovec one;

	if (!socket && fault("short_write") && iov->iov_len > 0) {
		one = (struct iovec){iov->iov_base, 1};
		return writev_silent(fd, &one, 1, 0);
	}
	return socket ? send_now(fd, iov, n) : writev_silent(fd, iov, n, 0);
}

ssize_t
os_readv_now(int fd, const struct iovec *iov, int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
	ssize_t rc = RETRY(READV2(fd, iov, n, RWF_NOWAIT));

	if (rc == -EOPNOTSUPP) /* of a kind that does not know of it: perhaps a socket */
		rc = RETRY(recvmsg(fd, &msg, MSG_DONTWAIT));
	return rc == -ENOTSOCK ? -EOPNOTSUPP : rc;
}

ssize_t
os_writev_now(int fd, const struct iovec *iov, int n)
{
	ssize_t rc = send_now(fd, iov, n);

	return rc == -ENOTSOCK ? writev_silent(fd, iov, n, RWF_NOWAIT) : rc;
}

/* ---- sockets */

static int
resolve_error(int rc)
{
	switch (rc) {
	case EAI_SYSTEM:
		return -errno;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EHOSTUNREACH; /* no name server answers */
	case EAI_SERVICE:
		return -EINVAL;
	default:
		return -ENOENT; /* no such host */
	}
}

int
os_resolve(const char *host, const char *port, enum os_family family, bool datagram, bool listens,
	   struct os_addr *out, int n)
{
	static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
	struct addrinfo hints = {.ai_family = families[family],
				 .ai_socktype = datagram ? SOCK_DGRAM : SOCK_STREAM,
				 .ai_flags = listens ? AI_PASSIVE : 0};
	struct addrinfo *all, *a;
	int count = 0, rc = getaddrinfo(host, port, &hints, &all);

	if (rc != 0)
		return resolve_error(rc);
	for (a = all; a && count < n; a = a->ai_next) {
		if (a->ai_addrlen > sizeof(out->as))
			continue;
		out[count].len = a->ai_addrlen;
		memcpy(&out[count++].as, a->ai_addr, a->ai_addrlen);
	}
	freeaddrinfo(all);
	return count > 0 ? count : -ENOENT;
}

bool
os_is_numeric(const char *host)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *all;

	if (getaddrinfo(host, NULL, &hints, &all) != 0)
		return false;
	freeaddrinfo(all);
	return true;
}

int
os_unix_addr(const char *path, struct os_addr *out)
{
	struct sockaddr_un *u = (struct sockaddr_un *)&out->as;
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(u->sun_path))
		return len == 0 ? -EINVAL : -ENAMETOOLONG;
	memset(u, 0, sizeof(*u));
	u->sun_family = AF_UNIX;
	memcpy(u->sun_path, path, len);
	out->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] != '@'));
	if (path[0] == '@')
		u->sun_path[0] = '\0';
	return 0;
}

static int
unix_text(const struct os_addr *a, char *buf, size_t n)
{
	const struct sockaddr_un *u = (const struct sockaddr_un *)&a->as;
	size_t len = a->len <= offsetof(struct sockaddr_un, sun_path)
			 ? 0
			 : a->len - offsetof(struct sockaddr_un, sun_path);

	if (len > 0 && u->sun_path[0] == '\0') /* a name of its own, not ended by a zero */
		return snprintf(buf, n, "@%.*s", (int)len - 1, u->sun_path + 1);
	return snprintf(buf, n, "%.*s", (int)len, u->sun_path);
}

int
os_addr_text(const struct os_addr *a, char *buf, size_t n)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->as;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->as;
	char text[INET6_ADDRSTRLEN];
	int len;

	switch (a->as.any.sa_family) {
	case AF_UNIX:
		len = unix_text(a, buf, n);
		break;
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		len = snprintf(buf, n, "%s:%u", text, ntohs(v4->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		if (v6->sin6_scope_id)
			len = snprintf(buf, n, "[%s%%%u]:%u", text, v6->sin6_scope_id,
				       ntohs(v6->sin6_port));
		else
			len = snprintf(buf, n, "[%s]:%u", text, ntohs(v6->sin6_port));
		break;
	default:
		return -EAFNOSUPPORT;
	}
	return (size_t)len < n ? len : -ERANGE;
}

int
os_socket_addr(int fd, bool peer, struct os_addr *out)
{
	out->len = sizeof(out->as);
	return (int)result(peer ? getpeername(fd, &out->as.any, &out->len)
				: getsockname(fd, &out->as.any, &out->len));
}

static int
set_option(int fd, int level, int name, int value)
{
	return (int)result(setsockopt(fd, level, name, &value, sizeof(value)));
}

/* -1: it has none. */
static int
get_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t n = sizeof(value);

	return getsockopt(fd, level, name, &value, &n) < 0 ? -1 : value;
}

bool
os_is_listener(int fd)
{
	return get_option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1;
}

static const char *
socket_kind(int fd)
{
	int type = get_option(fd, SOL_SOCKET, SO_TYPE);

	switch (get_option(fd, SOL_SOCKET, SO_DOMAIN)) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
	case AF_INET6:
		return type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : "ip";
	default:
		return type < 0 ? NULL : "socket";
	}
}

void
os_fd_text(int fd, const char *arrow, char *buf, size_t n)
{
	const char *kind = socket_kind(fd);
	struct os_addr a;
	char path[40], local[128] = "", peer[128] = "";
	ssize_t len;

	buf[0] = '\0';
	if (!kind) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, buf, n - 1);
		buf[len > 0 ? len : 0] = '\0';
		return;
	}
	if (os_socket_addr(fd, false, &a) == 0)
		os_addr_text(&a, local, sizeof(local));
	if (os_socket_addr(fd, true, &a) == 0 && os_addr_text(&a, peer, sizeof(peer)) >= 0)
		snprintf(buf, n, "%s %s%s%s %s", kind, local, local[0] ? " " : "", arrow, peer);
	else
		snprintf(buf, n, "%s %s%s", kind, local, os_is_listener(fd) ? ", listens" : "");
}

int
os_socket_for(const struct os_addr *a, bool datagram)
{
	int family = a->as.any.sa_family;
	int type = (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int fd = fault("socket") ? -EMFILE : (int)result(socket(family, type, 0));

	if (fd >= 0 && !datagram && family != AF_UNIX) /* those that are accepted inherit it */
		set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return fd;
}

int
os_bind(int fd, const struct os_addr *a, bool datagram, const struct os_listen *how)
{
	int rc = 0, family = a->as.any.sa_family;

	if (!datagram && family != AF_UNIX)
		rc = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (rc == 0 && how->reuse_port)
		rc = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (rc == 0 && family == AF_INET6) /* the address of all hosts is also IPv4's */
		rc = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (rc == 0)
		rc = (int)result(bind(fd, &a->as.any, a->len));
	if (rc == 0 && !datagram)
		rc = (int)result(listen(fd, how->backlog > 0 ? how->backlog : SOMAXCONN));
	return rc;
}

int
os_accept(int fd)
{
	if (fault("accept"))
		return -EMFILE;
	if (fault("accept_files"))
		return -ENFILE;
	if (fault("accept_aborted"))
		return -ECONNABORTED;
	if (fault("accept_protocol"))
		return -EPROTO;
	return (int)RETRY(accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int
os_connect(int fd, const struct os_addr *a)
{
	int rc = (int)result(connect(fd, &a->as.any, a->len));

	if (rc == 0 && fault("connect_eintr"))
		rc = -EINTR;
	return rc == -EINTR ? -EINPROGRESS : rc; /* it goes on */
}

static in_port_t
port_of(const struct os_addr *a)
{
	return a->as.any.sa_family == AF_INET    ? ((const struct sockaddr_in *)&a->as)->sin_port
	       : a->as.any.sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)&a->as)->sin6_port
						 : 0;
}

bool
os_connected_to_itself(int fd, const struct os_addr *a)
{
	struct os_addr local, peer;

	if (port_of(a) == 0 || os_socket_addr(fd, false, &local) < 0 ||
	    port_of(&local) != port_of(a))
		return false;
	return os_socket_addr(fd, true, &peer) == 0 && local.len == peer.len &&
	       memcmp(&local.as, &peer.as, local.len) == 0;
}

int
os_socket_error(int fd)
{
	int value = 0;
	socklen_t n = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &n) < 0 ? -errno : -value;
}

bool
os_is_tcp(int fd)
{
	int family = get_option(fd, SOL_SOCKET, SO_DOMAIN);

	return (family == AF_INET || family == AF_INET6) &&
	       get_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP;
}

bool
os_has_upper(int fd)
{
	char name[16] = "";
	socklen_t n = sizeof(name);

	/* A kernel that does not know the option has none; without one it gives an empty name. */
	return getsockopt(fd, IPPROTO_TCP, TCP_ULP, name, &n) == 0 && n > 0;
}

ssize_t
os_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	return RETRY(recvfrom(fd, buf, n, flags | MSG_DONTWAIT, from, len));
}

ssize_t
os_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t len)
{
	return RETRY(sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, len));
}

/* ---- files */

ssize_t
os_pread(int fd, void *buf, size_t n, int64_t at)
{
	return RETRY(pread(fd, buf, n, at));
}

ssize_t
os_pwrite(int fd, const void *buf, size_t n, int64_t at)
{
	return RETRY(pwrite(fd, buf, n, at));
}

ssize_t
os_sendfile(int out, int in, int64_t *at, size_t n)
{
	off_t from = at ? *at : 0;
	sigset_t old;
	bool before;
	ssize_t rc;

	hold_sigpipe(&old, &before);
	rc = RETRY(sendfile(out, in, at ? &from : NULL, n));
	drop_sigpipe(&old, !before); /* it may have sent some, and been told of the end too */
	if (at)
		*at = from;
	return rc;
}

int
os_set_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -errno : (int)result(fcntl(fd, F_SETFL, flags & ~O_NONBLOCK));
}

/* ---- children */

/* Out of the way of the numbers that they are to become. */
static int
copies(const int fds[3], int copy[3])
{
	for (int i = 0; i < 3; i++)
		copy[i] = -1;
	for (int i = 0; fds && i < 3; i++)
		if (fds[i] >= 0 && (copy[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3)) < 0)
			return -errno;
	return 0;
}

int
os_spawn(const char *file, char *const argv[], char *const envp[], const int fds[3])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int copy[3], rc = copies(fds, copy);
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	for (int i = 0; rc == 0 && i < 3; i++)
		if (copy[i] >= 0)
			rc = -posix_spawn_file_actions_adddup2(&actions, copy[i], i);
	if (rc == 0)
		rc = -posix_spawnp(&pid, file, &actions, &attr, argv, envp ? envp : environ);
	for (int i = 0; i < 3; i++)
		if (copy[i] >= 0)
			close(copy[i]);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc < 0 ? rc : pid;
}

int
os_pidfd(int pid)
{
	return fault("pidfd") ? -ENOSYS : (int)result(syscall(SYS_pidfd_open, pid, 0));
}

int
os_waitpid(int pid, int *status, bool blocks)
{
	return (int)RETRY(waitpid(pid, status, blocks ? 0 : WNOHANG));
}

/* ---- signals */

static void (*signal_fn)(int signo);
static struct sigaction signal_before[65];

static void
on_signal(int signo)
{
	int saved = errno;

	signal_fn(signo);
	errno = saved;
}

int
os_signal_catch(int signo, void (*fn)(int signo))
{
	struct sigaction ours = {.sa_flags = SA_RESTART | SA_ONSTACK};

	if (signo < 1 || signo > 64)
		return -EINVAL;
	signal_fn = fn;
	ours.sa_handler = on_signal;
	return (int)result(sigaction(signo, &ours, &signal_before[signo]));
}

void
os_signal_release(int signo)
{
	sigaction(signo, &signal_before[signo], NULL);
}
