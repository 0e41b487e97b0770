/* SPDX-License-Identifier: MIT */
/*
 * capture.h: this process's standard error as a text that it can read while it runs: a test waits
 * until something was said, whatever the time it takes.
 */
#ifndef WEFT_TEST_CAPTURE_H
#define WEFT_TEST_CAPTURE_H

#include "integ/helpers.h"

static char said[1 << 18];
static int said_fd = -1, stderr_fd;

__attribute__((unused)) static void
capture_begin(void)
{
	FILE *f = tmpfile();

	EXPECT(f != NULL);
	said_fd = fileno(f);
	stderr_fd = dup(2);
	EXPECT(dup2(said_fd, 2) == 2);
}

/* All that was said so far. One thread at a time. */
__attribute__((unused)) static const char *
capture_read(void)
{
	ssize_t n = pread(said_fd, said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = 0;
	return said;
}

/* From here on failures are seen again. */
__attribute__((unused)) static const char *
capture_end(void)
{
	dup2(stderr_fd, 2);
	return capture_read();
}

#endif
