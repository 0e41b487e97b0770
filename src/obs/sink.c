/* SPDX-License-Identifier: MIT */
/* sink.c: see sink.h. No malloc, no stdio streams, no locks. */
#define _GNU_SOURCE 1
#include "obs/sink.h"
#include "base/os.h"
#include "obs/symbols.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	FRAMES_MAX = 32,
	LINE_BYTES = 1024,
};

static void
put(struct wf_sink *o, const char *text, size_t n)
{
	if (!o->buf) {
		os_write_all(o->fd, text, n);
	} else if (n <= o->room - o->len) {
		memcpy(o->buf + o->len, text, n);
		o->len += n;
	}
}

void
wf_sink_say(struct wf_sink *o, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	put(o, line, (size_t)n);
}

void
wf_sink_add(struct wf_sink *o, const char *fmt, ...)
{
	char part[LINE_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(o, part, (size_t)n < sizeof(part) ? (size_t)n : sizeof(part) - 1);
}

void
wf_sink_write(struct wf_sink *o)
{
	if (o->buf && o->len > 0)
		os_write_all(o->fd, o->buf, o->len);
	o->len = 0;
}

/* ---- stacks */

void
wf_sink_no_more_frames(struct wf_sink *o)
{
	if (o->repeats > 0)
		wf_sink_say(o, "\t... the same frame %llu times more: recursion?",
			    (unsigned long long)o->repeats);
	o->repeats = 0;
	o->pc = 0;
}

void
wf_sink_frame(struct wf_sink *o, uintptr_t pc)
{
	char name[WF_SYMBOL_BYTES];
	uintptr_t offset;
	Dl_info i;

	if (pc == o->pc) {
		o->repeats++;
		return;
	}
	wf_sink_no_more_frames(o);
	o->pc = pc;
	if (wf_symbol_of(pc, name, &offset)) {
		wf_sink_say(o, "\t%s+0x%lx", name, (unsigned long)offset);
		return;
	}
	o->unnamed = true;
	if (pc && dladdr((void *)pc, &i) && i.dli_fname)
		wf_sink_say(o, "\t%s(+0x%lx)", i.dli_fname,
			    (unsigned long)(pc - (uintptr_t)i.dli_fbase));
	else
		wf_sink_say(o, "\t0x%lx", (unsigned long)pc);
}

/* The frame at *fp: its return address, 0 at the end; *fp moves up. */
WF_NO_ASAN static uintptr_t
step(uintptr_t *fp, uintptr_t lo, uintptr_t hi)
{
	uintptr_t pc, next;

	if (*fp < lo || *fp + 16 > hi || *fp % 8 != 0)
		return 0;
	next = ((uintptr_t *)*fp)[0];
	pc = ((uintptr_t *)*fp)[1];
	*fp = next > *fp ? next : 0;
	return pc;
}

void
wf_sink_frames(struct wf_sink *o, uintptr_t fp, uintptr_t lo, uintptr_t hi)
{
	uintptr_t pc;

	for (int shown = 0; shown < FRAMES_MAX && (pc = step(&fp, lo, hi)) != 0;) {
		shown += pc != o->pc;
		wf_sink_frame(o, pc);
	}
	wf_sink_no_more_frames(o);
}

int
wf_frames(uintptr_t fp, uintptr_t lo, uintptr_t hi, uintptr_t *pcs, int max)
{
	int n = 0;

	while (n < max && (pcs[n] = step(&fp, lo, hi)) != 0)
		n++;
	return n;
}

void
wf_sink_birth(struct wf_sink *o, const struct weft_site *site, int64_t parent)
{
	if (parent)
		wf_sink_say(o, "%s(), created by goroutine %lld at %s:%d", site->name,
			    (long long)parent, site->file, site->line);
	else
		wf_sink_say(o, "%s(), created by a plain thread at %s:%d", site->name, site->file,
			    site->line);
}
