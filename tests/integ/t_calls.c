/* SPDX-License-Identifier: MIT */
/*
 * t_calls.c: how many system calls an echo takes. procs-2-only not-torture not-tsan not-asan
 *
 * The functions of the C library by which base/os.c and base/osio.c enter the kernel are replaced
 * here by ones that count. The client is run by whoever has written the last answer of a round: it
 * reads them all and asks on all connections. So a round is the same each time, however fast the
 * machine is. With more Ps it would not be: one thread waits while another still answers.
 */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	SIZE = 64,
	CONNS_MOST = 64,
	WARM_UP = 32, /* rounds: more than a socket is asked for protocols on top of it */
	ROUNDS = 500,
};

/* ---- counts */

enum kind { READ, WRITE, WAIT, OTHER, KINDS };

struct counts {
	uint64_t n[KINDS];
};

static struct counts all;        /* of all threads but the monitor */
static __thread bool is_monitor; /* it sleeps on its clock */

static struct {
	int conns;
	int fd[CONNS_MOST];
	uint64_t asked; /* in all */
	uint64_t answered;
	int round;
	struct counts from, to; /* around the rounds that count */
} client;

static void
count(enum kind kind)
{
	if (!is_monitor)
		__atomic_fetch_add(&all.n[kind], 1, __ATOMIC_RELAXED);
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ---- the client */

static void
take_answers(void)
{
	for (int i = 0; i < client.conns; i++) {
		char buf[SIZE];

		for (size_t n = 0; n < SIZE;) {
			ssize_t rc = REAL(recv)(client.fd[i], buf + n, SIZE - n, 0);

			EXPECT(rc > 0);
			n += (size_t)rc;
		}
	}
}

static void
ask_all(void)
{
	static const char request[SIZE] = "how do you do?";

	client.asked += (uint64_t)client.conns; /* before the first is answered */
	for (int i = 0; i < client.conns; i++)
		EXPECT_EQ(REAL(write)(client.fd[i], request, SIZE), SIZE);
}

static void
end_client(void)
{
	for (int i = 0; i < client.conns; i++)
		close(client.fd[i]);
}

/* All answers are written. */
static void
client_turn(void)
{
	if (client.asked > 0)
		take_answers();
	if (client.round == WARM_UP)
		client.from = all;
	if (client.round == WARM_UP + ROUNDS) {
		client.to = all;
		end_client();
	} else {
		ask_all();
	}
	client.round++;
}

static void
answered(void)
{
	/* who counts the last one is alone: the others have been here */
	if (__atomic_add_fetch(&client.answered, 1, __ATOMIC_ACQ_REL) == client.asked)
		client_turn();
}

/* ---- the ways into the kernel */

static bool
is_wait(long number)
{
#ifdef SYS_epoll_pwait2
	if (number == SYS_epoll_pwait2)
		return true;
#endif
	return number == SYS_epoll_pwait;
}

static enum kind
kind_of(long number)
{
	return is_wait(number)                                ? WAIT
	       : number == SYS_read || number == SYS_recvfrom ? READ
	       : number == SYS_sendto                         ? WRITE
							      : OTHER;
}

long
syscall(long number, ...)
{
	long a[6], rc;
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_clock_nanosleep)
		is_monitor = true;
	count(kind_of(number));
	rc = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_sendto && rc == SIZE)
		answered();
	return rc;
}

ssize_t
readv(int fd, const struct iovec *iov, int n)
{
	count(READ);
	return REAL(readv)(fd, iov, n);
}

ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	count(READ);
	return REAL(recvmsg)(fd, msg, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	count(WRITE);
	return REAL(sendmsg)(fd, msg, flags);
}

int
getsockopt(int fd, int level, int name, void *value, socklen_t *n)
{
	count(OTHER);
	return REAL(getsockopt)(fd, level, name, value, n);
}

int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	count(OTHER);
	return REAL(poll)(fds, n, ms);
}

/* ---- the server */

struct echo {
	int fd;
};

static int
echo(struct echo *e)
{
	char buf[1024];
	ssize_t n;

	while ((n = weft_read(e->fd, buf, sizeof(buf))) > 0)
		EXPECT_EQ(weft_write(e->fd, buf, (size_t)n), n);
	weft_close_fd(e->fd);
	return 0;
}

static void
dial(int i, const char *addr)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(strrchr(addr, ':') + 1)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	client.fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	EXPECT_EQ(connect(client.fd[i], (struct sockaddr *)&to, sizeof(to)), 0);
}

static int
serve(void)
{
	struct weft_wg wg = {0};
	char addr[64];
	int listener = listen_local(addr, sizeof(addr));

	for (int i = 0; i < client.conns; i++) {
		int fd;

		dial(i, addr);
		fd = weft_accept(listener);
		EXPECT(fd >= 0);
		EXPECT(weft_wg_go(&wg, echo, fd) >= 0);
	}
	weft_close_fd(listener);
	client_turn(); /* nobody has been asked yet */
	return weft_wg_wait(&wg);
}

static void
run_echoes(int conns, struct counts *took)
{
	client.conns = conns;
	use_procs(1);
	EXPECT_EQ(weft_run(serve), 0);
	EXPECT_EQ(client.round, WARM_UP + ROUNDS + 1);
	for (int i = 0; i < KINDS; i++)
		took->n[i] = client.to.n[i] - client.from.n[i];
	printf("%d echoes: %d reads, %d writes, %d waits, %d others\n", ROUNDS * conns,
	       (int)took->n[READ], (int)took->n[WRITE], (int)took->n[WAIT], (int)took->n[OTHER]);
}

TEST(echo_on_one_connection_takes_three_calls)
{
	struct counts took;

	run_echoes(1, &took);
	EXPECT_EQ(took.n[READ], ROUNDS);
	EXPECT_EQ(took.n[WRITE], ROUNDS);
	EXPECT(took.n[WAIT] <= ROUNDS);
	EXPECT(took.n[OTHER] <= ROUNDS / 50); /* the monitor is woken now and then */
}

TEST(echo_on_many_connections_takes_two_calls_and_a_part_of_one)
{
	struct counts took;

	run_echoes(CONNS_MOST, &took);
	EXPECT_EQ(took.n[READ], ROUNDS * CONNS_MOST);
	EXPECT_EQ(took.n[WRITE], ROUNDS * CONNS_MOST);
	EXPECT(took.n[WAIT] <= ROUNDS * CONNS_MOST / 8);
	EXPECT(took.n[OTHER] <= ROUNDS * CONNS_MOST / 50);
}
