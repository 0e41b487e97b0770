/* SPDX-License-Identifier: MIT */
/* file.c: reads and writes at a place of a file, sendfile. They may block the thread: in a section, so
   that others go on. */
#include "wait/fd.h"

#include <errno.h>

struct piece {
	char *buf;
	size_t n, done;
	int64_t at, *at_out;
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

static ssize_t
try_sendfile(struct wf_io *io, void *arg)
{
	struct piece *a = arg;
	ssize_t rc;

	wf_section_begin();
	do {
		rc = os_sendfile(io->fd, a->in, a->at_out, a->n - a->done);
		a->done += rc > 0 ? (size_t)rc : 0;
	} while (rc > 0 && a->done < a->n);
	wf_section_end();
	return rc < 0 ? rc : (ssize_t)a->done;
}

/* Places do not move, so nobody takes turns. */
static ssize_t
call(int fd, wf_io_fn *fn, struct piece *a)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	struct wf_fd *f;
	struct wf_io io = {.fd = fd};
	uint32_t generation;
	bool ours;
	ssize_t rc;

	if (!m)
		return -ENOTSUP;
	f = wf_fd_of(fd);
	ours = f && wf_fd_hold(f, &generation);
	wf_leave(m);
	rc = fn(&io, a);
	if (!ours)
		return rc;
	m = wf_enter(WF_CALL_B);
	wf_fd_release(&m, f, generation);
	if (m)
		wf_leave(m);
	return rc;
}

WF_EXPORT ssize_t
weft_pread(int fd, void *buf, size_t n, off_t at)
{
	struct piece a = {.buf = buf, .n = n, .at = at};

	return call(fd, try_pread, &a);
}

WF_EXPORT ssize_t
weft_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	struct piece a = {.buf = (char *)(uintptr_t)buf, .n = n, .at = at};

	return call(fd, try_pwrite, &a);
}

WF_EXPORT ssize_t
weft_sendfile(int out, int in, off_t *at, size_t n)
{
	int64_t place = at ? *at : 0;
	struct piece a = {.in = in, .n = n, .at_out = at ? &place : NULL};
	ssize_t rc = wf_io_call(out, WF_WRITE, try_sendfile, &a);

	if (at)
		*at = place;
	return rc;
}
