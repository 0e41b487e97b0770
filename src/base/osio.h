/* SPDX-License-Identifier: MIT */
/*
 * osio.h: the system calls of descriptors: readiness, read and write, sockets, children, signals.
 *
 * As in os.h: 0 or positive, or -errno. A call that a signal interrupts is made again. What is
 * called now never waits; what may block says so.
 */
#ifndef WF_BASE_OSIO_H
#define WF_BASE_OSIO_H

#include "base/os.h"

#include <weft/io.h>

/* ---- readiness: the poller's five calls */
enum {
	OS_IN = 0x1,
	OS_PRI = 0x2,
	OS_OUT = 0x4,
	OS_ERR = 0x8,
	OS_HUP = 0x10,
	OS_RDHUP = 0x2000,
};
struct os_event {
	uint32_t events;
	uint64_t data; /* as given when it was watched */
};
int os_poll_open(int *breaker); /* a poller; *breaker: what os_poll_break takes */
int os_poll_watch(int poller, int fd, uint64_t data); /* each change, for good */
int os_poll_again(int poller, int fd, uint64_t data); /* the same, as likely watched before; what
							 has come already is reported again */
void os_poll_forget(int poller, int fd);              /* nothing more is reported of it */
/* How many; 0: it is that late. until_ns by os_now_ns; INT64_MAX: no limit. */
int os_poll_wait(int poller, struct os_event *events, int n, int64_t until_ns);
void os_poll_break(int breaker); /* who waits, or the next to do so, returns: data is UINT64_MAX */

/* ---- descriptors */
int os_poll_now(int fd, int events); /* as poll(2) with no time: the events, or -errno */
/* Does a read of n bytes wait for what poll waits for? A terminal may be told to return before, or with less. */
bool os_reads_as_polled(int fd, size_t n);
int os_set_nonblocking(int fd); /* 1: it was before */
bool os_is_socket(int fd);
int os_close_fd(int fd); /* that nobody uses: ThreadSanitizer forgets who did */
int os_close_foreign(int fd);
int os_pipe(int fds[2]); /* non-blocking */

/* Reads and writes. Where the descriptor is non-blocking or the call is _now: -EAGAIN. SIGPIPE is
   never raised. The _now ones work on any descriptor; -EOPNOTSUPP: its kind cannot tell.
   socket: it is known to be one, and has a shorter way. */
ssize_t os_readv(int fd, const struct iovec *iov, int n, bool socket);
ssize_t os_writev(int fd, const struct iovec *iov, int n, bool socket);
ssize_t os_readv_now(int fd, const struct iovec *iov, int n);
ssize_t os_writev_now(int fd, const struct iovec *iov, int n);

/* ---- sockets; new ones are non-blocking */
struct os_addr {
	socklen_t len;
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} as;
};
struct os_listen {
	int backlog; /* 0: the system's most */
	bool reuse_port;
};
enum os_family { OS_ANY_FAMILY, OS_INET, OS_INET6 };
/* Names and numbers to addresses, of which at most n are given: how many, or -errno. May block,
   unless both are numbers. host NULL: any of ours to listen, or the loopback. */
int os_resolve(const char *host, const char *port, enum os_family family, bool datagram,
	       bool listens, struct os_addr *out, int n);
bool os_is_numeric(const char *host); /* os_resolve need not ask anybody for it */
int os_unix_addr(const char *path, struct os_addr *out);        /* @name: not in the file system */
int os_addr_text(const struct os_addr *a, char *buf, size_t n); /* its length, or -errno */
int os_socket_addr(int fd, bool peer, struct os_addr *out);
bool os_is_listener(int fd);
/* What it is, for people: "tcp 127.0.0.1:80 <- 127.0.0.1:5123", with this arrow, or where it leads;
   "": not known. */
void os_fd_text(int fd, const char *arrow, char *buf, size_t n);
int os_socket_for(const struct os_addr *a, bool datagram);
int os_bind(int fd, const struct os_addr *a, bool datagram, const struct os_listen *how);
int os_accept(int fd);
int os_connect(int fd, const struct os_addr *a); /* -EINPROGRESS: a report will come */
/* It has come to its own socket: nobody listens there, and the port it was given is that one. */
bool os_connected_to_itself(int fd, const struct os_addr *a);
int os_socket_error(int fd); /* as -errno, and it is forgotten */
bool os_is_tcp(int fd);      /* IPv4 or IPv6, and TCP itself */
bool os_is_stream(int fd);
bool os_has_upper(int fd); /* a protocol sits on top: TLS in the kernel */
ssize_t os_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len);
ssize_t os_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		  socklen_t len);

/* ---- files: may block */
ssize_t os_pread(int fd, void *buf, size_t n, int64_t at);
ssize_t os_pwrite(int fd, const void *buf, size_t n, int64_t at);
ssize_t os_sendfile(int out, int in, int64_t *at, size_t n); /* at NULL: where in stands */
int64_t os_seek(int fd, int64_t at); /* at < 0: only says where it stands; or -errno */
int os_set_blocking(int fd);
bool os_is_blocking(int fd);

/* ---- children */
/* fds: what becomes its 0, 1 and 2; -1, or fds NULL: the caller's. Its id, or -errno. */
int os_spawn(const char *file, char *const argv[], char *const envp[], const int fds[3]);
int os_pidfd(int pid);                             /* readable when it has ended */
int os_waitpid(int pid, int *status, bool blocks); /* its id, 0: it runs, or -errno */

/* ---- signals */
int os_signal_catch(int signo, void (*fn)(int signo)); /* fn runs in a signal handler */
void os_signal_release(int signo);                     /* as it was before */

#endif
