/* SPDX-License-Identifier: MIT */
/* check.c: the way down. No malloc, no stdio streams, no locks: the caller may hold any. */
#include "base/check.h"
#include "base/atomic.h"
#include "base/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 1024 };

void (*wf_fatal_dump_hook)(int fd, bool internal);

static wf_a32 going_down; /* the first thread to fail speaks; others wait for the end */

static void
say_v(int fd, const char *prefix, const char *fmt, va_list ap)
{
	char buf[LINE_BYTES];
	int n = snprintf(buf, sizeof(buf), "%s", prefix);
	int more = vsnprintf(buf + n, sizeof(buf) - (size_t)n - 1, fmt, ap);
	size_t len = (size_t)n + (more < 0 ? 0 : (size_t)more);

	if (len > sizeof(buf) - 2)
		len = sizeof(buf) - 2;
	buf[len++] = '\n';
	os_write_all(fd, buf, len);
}

void
wf_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(2, "weft: ", fmt, ap);
	va_end(ap);
}

void
wf_say_to(int fd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(fd, "", fmt, ap);
	va_end(ap);
}

static void
go_down_alone(void)
{
	/* acqrel: only uniqueness matters */
	if (at_xchg_acqrel(&going_down, 1) == 0)
		return;
	for (;;)
		os_sleep_ns(INT64_C(1000000000));
}

/* True if there was one. */
static bool
dump_if_possible(bool internal)
{
	void (*dump)(int, bool) = wf_fatal_dump_hook;

	wf_fatal_dump_hook = NULL; /* a failure inside the dump must not dump again */
	if (dump)
		dump(2, internal);
	return dump != NULL;
}

void
wf_fatal(const char *fmt, ...)
{
	va_list ap, again;

	go_down_alone();
	va_start(ap, fmt);
	va_copy(again, ap);
	say_v(2, "fatal: ", fmt, ap);
	if (dump_if_possible(false)) /* the reason is what people look for at the end */
		say_v(2, "ended by: ", fmt, again);
	va_end(again);
	va_end(ap);
	os_exit(WF_FATAL_STATUS);
}

void
wf_broken(const char *file, int line, const char *what)
{
	go_down_alone();
	wf_say("internal check failed at %s:%d: %s. This is a bug in weft; please report it with "
	       "the lines below.",
	       file, line, what);
	dump_if_possible(true);
	abort();
}
