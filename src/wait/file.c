/* SPDX-License-Identifier: MIT */
/* file.c: reads and writes at a place of a file, sendfile. They may block the thread: in a section, so
   that others go on. */
#include "wait/fd.h"

#include <errno.h>

enum { COPY_BYTES = 4096 };

struct piece {
	char *buf;
	size_t n, done;
	int64_t at;
	int64_t *from; /* where the next is read, kept by each try; NULL: where in stands */
	int in;
};

static ssize_t
try_pread(struct wf_io *io, void *arg)
{
	struct piece *a = arg;
	ssize_t rc;

	wf_section_begin();
	rc = os_pread(io->fd, a->buf, a->n, a->at);
	wf_section_end();
	return rc;
}

static ssize_t
try_pwrite(struct wf_io *io, void *arg)
{
	struct piece *a = arg;
	ssize_t rc;

	wf_section_begin();
	do {
		rc = os_pwrite(io->fd, a->buf + a->done, a->n - a->done, a->at + (int64_t)a->done);
		a->done += rc > 0 ? (size_t)rc : 0;
	} while (rc > 0 && a->done < a->n);
	wf_section_end();
	return rc < 0 ? rc : (ssize_t)a->done;
}

/* To a foreign descriptor that blocks, and that sendfile cannot be told not to wait for: a piece at a
   time. -EOPNOTSUPP: that cannot be done with these, or not to the end, and sendfile is to go on. */
static ssize_t
copy_now(struct wf_io *io, struct piece *a)
{
	int64_t start = a->from ? *a->from : os_seek(a->in, -1), at = start;
	char buf[COPY_BYTES];
	ssize_t rc = 0;

	if (start < 0)
		return -EOPNOTSUPP;
	while (a->done < a->n) {
		struct iovec piece = {.iov_base = buf};
		size_t left = a->n - a->done;

		wf_section_begin();
		rc = os_pread(a->in, buf, left < sizeof(buf) ? left : sizeof(buf), at);
		wf_section_end();
		if (rc <= 0) {
			rc = rc == -EINVAL ? -EOPNOTSUPP : rc; /* O_DIRECT has wishes */
			break;
		}
		piece.iov_len = (size_t)rc;
		rc = os_writev_now(io->fd, &piece, 1);
		if (rc < 0)
			break;
		at += rc;
		a->done += (size_t)rc;
	}
	if (a->from)
		*a->from = at;
	else if (at != start)
		os_seek(a->in, at);
	return rc < 0 ? rc : (ssize_t)a->done;
}

static ssize_t
try_sendfile(struct wf_io *io, void *arg)
{
	struct piece *a = arg;
	ssize_t rc;

	if (!io->ours && !io->blocks && os_is_blocking(io->fd) &&
	    (rc = copy_now(io, a)) != -EOPNOTSUPP)
		return rc;
	wf_section_begin();
	do {
		rc = os_sendfile(io->fd, a->in, a->from, a->n - a->done);
		a->done += rc > 0 ? (size_t)rc : 0;
	} while (rc > 0 && a->done < a->n);
	wf_section_end();
	return rc < 0 ? rc : (ssize_t)a->done;
}

WF_EXPORT ssize_t
weft_pread(int fd, void *buf, size_t n, off_t at)
{
	struct piece a = {.buf = buf, .n = n, .at = at};

	return wf_io_at(fd, try_pread, &a); /* places do not move, so nobody takes turns */
}

WF_EXPORT ssize_t
weft_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	struct piece a = {.buf = (char *)(uintptr_t)buf, .n = n, .at = at};

	return wf_io_at(fd, try_pwrite, &a);
}

WF_EXPORT ssize_t
weft_sendfile(int out, int in, off_t *at, size_t n)
{
	int64_t place = at ? *at : 0;
	struct piece a = {.in = in, .n = n, .from = at ? &place : NULL};
	ssize_t rc = wf_io_call(out, WF_WRITE, try_sendfile, &a);

	if (at)
		*at = place;
	return rc;
}
