/* SPDX-License-Identifier: MIT */
/* child.c: programs that are started and waited for. A descriptor tells that one has ended, so that
   the wait is as any other. */
#include "wait/fd.h"

#include <errno.h>

/* What a child reads or writes does not say "not now": most programs would take it for an error. */
static void
make_blocking(int fd)
{
	struct wf_fd *f = wf_fd_of(fd);
	uint32_t generation;
	struct wf_m *m;

	if (!f || !wf_fd_hold(f, &generation))
		return;
	os_set_blocking(fd);
	f->kind |= WF_FD_FILE;
	m = wf_enter(WF_CALL_B);
	wf_fd_release(&m, f, generation);
	if (m)
		wf_leave(m);
}

WF_EXPORT pid_t
weft_spawnp(const char *file, char *const argv[], char *const envp[], const int fds[3])
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc;

	if (!m)
		return -ENOTSUP;
	wf_leave(m);
	for (int i = 0; fds && i < 3; i++)
		if (fds[i] > 2)
			make_blocking(fds[i]);
	wf_section_begin();
	rc = os_spawn(file, argv, envp, fds);
	wf_section_end();
	return rc;
}

static int
wait_blocking(pid_t pid, int *status)
{
	int rc;

	wf_section_begin();
	rc = os_waitpid(pid, status, true);
	wf_section_end();
	return rc;
}

WF_EXPORT pid_t
weft_waitpid(pid_t pid, int *status)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int fd, rc;

	if (!m)
		return -ENOTSUP;
	wf_leave(m);
	if (pid <= 0)
		return -EINVAL;
	rc = os_waitpid(pid, status, false);
	if (rc != 0)
		return rc;
	fd = os_pidfd(pid);
	if (fd < 0) /* an old kernel: the thread waits */
		return wait_blocking(pid, status);
	m = wf_enter(WF_CALL_B);
	rc = m ? wf_fd_make(m, fd, 0) : -ENOTSUP;
	if (m)
		wf_leave(m);
	if (rc < 0)
		return rc;
	do {
		rc = weft_wait_fd(fd, OS_IN);
		if (rc > 0)
			rc = os_waitpid(pid, status, false);
	} while (rc == 0);
	weft_close_fd(fd);
	return rc;
}
