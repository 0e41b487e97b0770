/* SPDX-License-Identifier: MIT */
/* ossock.c: sockets and names on Linux; see osio.h. */
#define _GNU_SOURCE 1
#include "base/osio.h"
#include "base/oscall.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel's number, for a libc that does not know it. */
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

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
	default:
		return -ENOENT; /* no such host or service */
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
os_is_stream(int fd)
{
	return get_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM;
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
