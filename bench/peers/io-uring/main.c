/* SPDX-License-Identifier: MIT */
/*
 * A bare server on io_uring: one thread, liburing. Like the one on epoll it is a limit.
 *
 * An answer and the next read of a connection are submitted as a chain that completes once, so that
 * a request is one completion, and all that are ready take one system call together.
 */
#define _GNU_SOURCE
#include "../serve.h"

#include <liburing.h>

enum {
	ENTRIES = 4096,
	NOT_HERE = 77, /* the exit status that says so */
};

struct conn {
	int fd;
	char buf[SERVE_BUFFER];
};

static struct io_uring ring;

static struct io_uring_sqe *
next_sqe(void)
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(&ring)) == NULL)
		io_uring_submit(&ring);
	return sqe;
}

static void
open_ring(void)
{
	struct io_uring_params best = {
	    .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	int rc = io_uring_queue_init_params(ENTRIES, &ring, &best);

	if (rc == -EINVAL) /* before Linux 6.1 */
		rc = io_uring_queue_init(ENTRIES, &ring, 0);
	if (rc == 0)
		return;
	fprintf(stderr, "the kernel refuses io_uring: %s\n", strerror(-rc));
	exit(NOT_HERE);
}

static void
submit_accept(int listener)
{
	struct io_uring_sqe *sqe = next_sqe();

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
	io_uring_sqe_set_data(sqe, NULL);
}

static void
submit_read(struct conn *c)
{
	struct io_uring_sqe *sqe = next_sqe();

	io_uring_prep_recv(sqe, c->fd, c->buf, sizeof(c->buf), 0);
	io_uring_sqe_set_data(sqe, c);
}

/* The read that follows fails if this does. */
static void
submit_answer(struct conn *c, int n)
{
	struct io_uring_sqe *sqe;

	while (io_uring_sq_space_left(&ring) < 2) /* a chain is submitted at once */
		io_uring_submit(&ring);
	sqe = next_sqe();
	io_uring_prep_send(sqe, c->fd, c->buf, (size_t)n, MSG_WAITALL | MSG_NOSIGNAL);
	io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
	io_uring_sqe_set_data(sqe, NULL);
	submit_read(c);
}

static void
accepted(int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		row_die("no memory");
	c->fd = fd;
	serve_no_delay(fd);
	submit_read(c);
}

static void
complete(int listener, const struct io_uring_cqe *cqe)
{
	struct conn *c = io_uring_cqe_get_data(cqe);

	if (c == NULL) {
		/* an accept; or a send that failed, whose read is told of it too */
		if (cqe->res >= 0)
			accepted(cqe->res);
		if (cqe->res >= 0 && !(cqe->flags & IORING_CQE_F_MORE))
			submit_accept(listener);
	} else if (cqe->res > 0) {
		submit_answer(c, cqe->res);
	} else {
		close(c->fd);
		free(c);
	}
}

static void
serve_echo(void)
{
	int listener;

	open_ring();
	listener = serve_listen(0);
	submit_accept(listener);
	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned head, n = 0;
		int rc = io_uring_submit_and_wait(&ring, 1);

		if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY) {
			errno = -rc;
			serve_must("io_uring_submit_and_wait", -1);
		}
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			complete(listener, cqe);
			n++;
		}
		io_uring_cq_advance(&ring, n);
	}
}

int
main(int argc, char **argv)
{
	static const struct row_entry table[] = {{"echo 0", serve_echo}, {NULL, NULL}};

	return row_main(argc, argv, "the kernel's by liburing, one thread", table);
}
