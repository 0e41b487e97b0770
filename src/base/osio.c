/* SPDX-License-Identifier: MIT */
/* osio.c: descriptors, files, children and signals on Linux; see osio.h. Sockets are in ossock.c. */
#define _GNU_SOURCE 1
#include "base/osio.h"
#include "base/check.h"
#include "base/oscall.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
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
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* The kernel's numbers, for a libc that does not know them. */
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100 /* Linux 6.18 */
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

/* -errno: -EINTR for one */
static int
wait_for(int poller, struct epoll_event *e, int n, int64_t left)
{
	static wf_a32 no_pwait2; /* 1: this kernel has none */
	struct timespec ts = {left / 1000000000, left % 1000000000};
	int rc = -ENOSYS;

	/* rlx: only this word matters */
	if (!at_load_rlx(&no_pwait2) && left > 0 && !fault("pwait2"))
		rc = (int)result(syscall(SYS_epoll_pwait2, poller, e, n,
					 left == INT64_MAX ? NULL : &ts, NULL, 0));
	if (rc == -ENOSYS || rc == -EPERM) { /* the latter from a filter that knows it not */
		if (left > 0)
			at_store_rlx(&no_pwait2, 1); /* rlx: as above */
		rc = wait_ms(poller, e, n, left);
	}
	return rc;
}

static int64_t
left_until(int64_t until_ns)
{
	int64_t left = until_ns == INT64_MAX ? until_ns
		       : until_ns <= 0       ? 0
					     : until_ns - os_now_ns();

	return left < 0 ? 0 : at_most(left);
}

/* The kernel allows itself to be late by a thousandth of such a wait: a long one ends before, and a short one
   follows. */
int
os_poll_wait(int poller, struct os_event *events, int n, int64_t until_ns)
{
	enum { MOST = 128, LONG_NS = 8 * 1000 * 1000, EARLY = 256 };
	struct epoll_event e[MOST];
	int64_t left = left_until(until_ns);
	bool is_long = left >= LONG_NS && left < INT64_MAX;
	int rc;

	n = n > MOST ? MOST : n;
	if (fault("epoll_wait"))
		return 0; /* as if a signal had come */
	os_tsan_signals();
	rc = wait_for(poller, e, n, is_long ? left - left / EARLY : left);
	if (rc == 0 && is_long)
		rc = wait_for(poller, e, n, left_until(until_ns));
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

bool
os_reads_as_polled(int fd, size_t n)
{
	struct termios t;

	return tcgetattr(fd, &t) != 0 || (t.c_lflag & ICANON) ||
	       (t.c_cc[VMIN] > 0 && t.c_cc[VMIN] <= n);
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
#define RECV(fd, buf, n, flags) recv(fd, buf, n, flags)
#define SEND(fd, buf, n, flags) send(fd, buf, n, flags)
#else
#define READ(fd, buf, n)        syscall(SYS_read, fd, buf, n)
#define RECV(fd, buf, n, flags) syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL)
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
os_readv(int fd, const struct iovec *iov, int n, bool socket)
{
	/* The shorter way to a socket: read(2) goes by way of the files. (Of no bytes it says 0 at once.) */
	if (likely(socket && n == 1 && iov->iov_len > 0))
		return RETRY(RECV(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT));
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

int64_t
os_seek(int fd, int64_t at)
{
	return result(lseek(fd, at < 0 ? 0 : at, at < 0 ? SEEK_CUR : SEEK_SET));
}

bool
os_is_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_NONBLOCK);
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
