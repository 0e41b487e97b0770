/* SPDX-License-Identifier: MIT */
/*
 * weft/io.h: descriptors. They are ordinary ones; any works. Where a plain call would block its
 * thread, these let the goroutine wait: others run meanwhile, and scopes end the wait with
 * -ETIMEDOUT or -ECANCELED.
 *
 * Descriptors that weft has made (weft_listen, weft_accept, weft_dial, weft_pipe), or that were given
 * to it (weft_adopt_fd), do not block and are closed by weft_close_fd: nobody waits for a number
 * that means another file by then. All others are left as they are, O_NONBLOCK included.
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/chan.h>
#include <weft/core.h>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- read and write. Several goroutines on one descriptor take turns, first come, first served. */
WEFT_API ssize_t weft_read(int fd, void *buf, size_t n);        /* B; > 0, 0 end, or -errno */
WEFT_API ssize_t weft_read_full(int fd, void *buf, size_t n);   /* B; n, or fewer at the end */
WEFT_API ssize_t weft_write(int fd, const void *buf, size_t n); /* B; n, or -errno */
WEFT_API ssize_t weft_readv(int fd, const struct iovec *iov, int count);  /* B; as weft_read */
WEFT_API ssize_t weft_writev(int fd, const struct iovec *iov, int count); /* B; all, or -errno */

/* B; as POSIX: at a place of a file, and from a file to any descriptor. Others go on meanwhile. */
WEFT_API ssize_t weft_pread(int fd, void *buf, size_t n, off_t at);
WEFT_API ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at); /* n, or -errno */
WEFT_API ssize_t weft_sendfile(int out, int in, off_t *at, size_t n); /* n, or fewer at the end */

/* B; the events of POLLIN, POLLPRI, POLLOUT that have come, with POLLERR and POLLHUP; or -errno. */
WEFT_API int weft_wait_fd(int fd, int events);

/* ---- sockets. net is "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6" or "unix". addr is HOST:PORT, as
   "127.0.0.1:0", "[::1]:80", "example.com:http", ":80" (all addresses of this host to listen, the
   host itself to dial), or the path of a unix socket ("@name": one without a file). -EINVAL: it
   makes no sense, and weft_addr_error says why; -ENOENT: no such host or service. */
WEFT_API int weft_listen(const char *net, const char *addr); /* B; a socket, or -errno */
WEFT_API int weft_listen_with(const char *net, const char *addr, int backlog,
			      int flags); /* B; the same; backlog 0: the most there may be */
enum { WEFT_REUSEPORT = 1 };              /* others may listen there too */
WEFT_API int weft_accept(int listener);   /* B; a connection, or -errno */
WEFT_API int weft_dial(const char *net, const char *addr); /* B; a connection, or -errno */
WEFT_API const char *weft_addr_error(const char *net,
				     const char *addr); /* N; NULL: it is well formed */

/* N; as text, its length or -errno. -ERANGE: the buffer is too small. */
WEFT_API int weft_local_addr(int fd, char *buf, size_t n);
WEFT_API int weft_peer_addr(int fd, char *buf, size_t n);

/* B; as recvfrom and sendto. */
WEFT_API ssize_t weft_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from,
			       socklen_t *len);
WEFT_API ssize_t weft_sendto(int fd, const void *buf, size_t n, int flags,
			     const struct sockaddr *to, socklen_t len);

/* ---- open and close */
WEFT_API int weft_pipe(int fds[2]); /* B; 0 or -errno; [0] reads what [1] writes */
WEFT_API int weft_adopt_fd(int fd); /* B; fd, from now on weft's, or -errno */
WEFT_API int weft_close_fd(int fd); /* B; who waits for it returns -ECANCELED */

/* ---- children and signals */

/* B; starts a program, found as a shell does; fds are to be its 0, 1 and 2 (NULL, or -1: the caller's).
   envp NULL: the caller's. Its process id, or -errno. */
WEFT_API pid_t weft_spawnp(const char *file, char *const argv[], char *const envp[],
			   const int fds[3]);
WEFT_API pid_t weft_waitpid(pid_t pid, int *status); /* B; pid, or -errno */

/* N; a channel of int that receives signo each time it comes (those that come while it is full are
   one). NULL: no such signal, or no memory. To free it ends that. */
WEFT_API void *weft_signal_chan(int signo);

#ifdef __cplusplus
}
#else
#define weft_signal_chan(signo) ((weft_chan(int))weft_signal_chan(signo))
#endif
#endif
