/* SPDX-License-Identifier: MIT */
/* waits.c: what a goroutine waits for, in words; see waits.h. */
#include "obs/waits.h"
#include "base/os.h"
#include "wait/chan.h"
#include "wait/locks.h"
#include "wait/selfd.h"
#include "core/gpool.h"
#include "core/stack.h"
#include "core/wgword.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	CASES_SHOWN = 6,
	LINE_COUNTED = 1000, /* waiters that are counted in a line before it is called long */
	THREAD_STACK_MAX = 64 << 20, /* how far from a known address a thread's stack may reach */
};

struct text {
	char *at;
	size_t left;
};

WF_PRINTF(2, 3) static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

/* A place in a source, byte by byte: it may stand at the end of what is readable. */
static void
peek_string(const char *from, char *to, size_t bytes)
{
	size_t i = 0;

	while (from && i < bytes - 1 && os_peek(from + i, &to[i], 1) == 0 && to[i])
		i++;
	to[i] = '\0';
	if (i == 0)
		snprintf(to, bytes, "an unknown place");
}

/* ---- channels */

static int
line_length(const struct wf_waitlist *l)
{
	struct wf_waiter w = {.next = l->first};
	int n = 0;

	while (w.next && n < LINE_COUNTED && os_peek(w.next, &w, sizeof(w)) == 0)
		n++;
	return n;
}

static void
add_chan(struct text *t, const struct wf_chan *at)
{
	struct wf_chan ch;
	char where[128];
	uint64_t s;

	if (!at || os_peek(at, &ch, offsetof(struct wf_chan, ring)) < 0) {
		add(t, "a channel at %p", (const void *)at);
		return;
	}
	peek_string(ch.where, where, sizeof(where));
	s = at_load_rlx(&ch.state); /* rlx: a copy */
	if (s & WF_CH_FREED) {      /* where the capacity was is a link now */
		add(t, "a channel made at %s that was freed", where);
		return;
	}
	add(t, "the channel made at %s (%llu of %llu buffered%s", where,
	    (unsigned long long)wf_chan_fill(s), (unsigned long long)ch.cap,
	    s & WF_CH_CLOSED ? ", closed" : "");
	if (ch.recvs.first)
		add(t, "; %d waiting to receive", line_length(&ch.recvs));
	if (ch.sends.first)
		add(t, "; %d waiting to send", line_length(&ch.sends));
	add(t, ")");
}

static void
add_chan_wait(struct text *t, const struct wf_g *g, const char *what)
{
	struct wf_chan_wait wait;

	if (os_peek(g->wait_on, &wait, sizeof(wait)) < 0)
		return;
	add(t, "waits to %s ", what);
	add_chan(t, wait.ch);
}

/* ---- descriptors */

/* "fd 7 (tcp 127.0.0.1:80 <- 127.0.0.1:5123)"; the arrow is the way that the bytes go. */
static void
add_fd(struct text *t, int fd, const char *arrow)
{
	char what[256];

	os_fd_text(fd, arrow, what, sizeof(what));
	if (what[0])
		add(t, "fd %d (%s)", fd, what);
	else
		add(t, "fd %d", fd);
}

/* The record whose line, or word, this is the address of. Records are never freed, and do not
   straddle their own size. */
static const struct wf_fd *
record_of(const void *inside)
{
	return (const void *)((uintptr_t)inside & ~(uintptr_t)(sizeof(struct wf_fd) - 1));
}

static void
add_fd_wait(struct text *t, const struct wf_g *g)
{
	const struct wf_fd *f = record_of(g->wait_on);
	bool writes = g->reason == WF_WAIT_FD_WRITE ||
		      (g->reason == WF_WAIT_FD_TURN && g->wait_on == &f->line[WF_WRITE]);
	const char *arrow = writes ? "->" : "<-";
	int fd;

	if (os_peek(&f->fd, &fd, sizeof(fd)) < 0)
		return;
	if (g->reason == WF_WAIT_FD_CLOSE)
		add(t, "waits until nobody uses ");
	else if (g->reason == WF_WAIT_FD)
		add(t, "waits for an event of ");
	else if (!writes && os_is_listener(fd))
		add(t, "waits %sto accept from ",
		    g->reason == WF_WAIT_FD_TURN ? "for its turn " : "");
	else
		add(t, "waits %sto %s ", g->reason == WF_WAIT_FD_TURN ? "for its turn " : "",
		    writes ? "write to" : "read from");
	add_fd(t, fd, g->reason == WF_WAIT_FD || g->reason == WF_WAIT_FD_CLOSE ? "<->" : arrow);
}

static void
add_fd_case(struct text *t, const struct weft_case *c)
{
	bool writes = c->kind_ == WEFT_CASE_WRITABLE;

	add(t, "%s ", writes ? "write to" : "read from");
	add_fd(t, (int)c->arg_, writes ? "->" : "<-");
}

static void
add_sleep(struct text *t, const struct wf_g *g)
{
	int64_t until = (int64_t)at_load_rlx(&g->wake_at); /* rlx: it sleeps */
	int64_t left = until - os_now_ns();

	if (until == 0)
		add(t, "sleeps for ever");
	else
		add(t, "sleeps for another %lld ms", left > 0 ? (long long)(left / 1000000) : 0LL);
}

static void
add_select(struct text *t, const struct wf_g *g)
{
	struct wf_select sel;
	struct weft_case c;
	int shown = 0;

	if (os_peek(g->wait_on, &sel, sizeof(sel)) < 0)
		return;
	add(t, "waits in a select of %d case%s: ", sel.n, sel.n == 1 ? "" : "s");
	for (int i = 0; i < sel.n; i++) {
		if (os_peek(&sel.cases[i], &c, sizeof(c)) < 0 ||
		    (!wf_case_is_chan(&c) && !wf_select_is_fd(&c)))
			continue;
		if (shown++ == CASES_SHOWN) {
			add(t, ", ...");
			break;
		}
		if (shown > 1)
			add(t, ", or ");
		if (wf_select_is_fd(&c)) {
			add_fd_case(t, &c);
			continue;
		}
		add(t, "%s ", c.kind_ == WEFT_CASE_SEND ? "send on" : "receive from");
		add_chan(t, c.chan_);
	}
}

/* ---- the rest */

static void
add_holder(struct text *t, const struct wf_g *g)
{
	int64_t id = wf_waited_holder(g);

	if (id > 0)
		add(t, ", held by goroutine %lld", (long long)id);
	else if (id == WF_HOLDER_UNKNOWN)
		add(t, ", held by a thread");
	else if (id < 0)
		add(t, ", held by thread %lld", -(long long)id);
}

static void
add_group(struct text *t, const struct wf_g *g)
{
	struct weft_group gr;
	unsigned long long kids;
	bool limit = g->reason == WF_WAIT_LIMIT;
	char where[128];

	if (os_peek(container_of(wf_waited_wg(g), struct weft_group, wg_), &gr, sizeof(gr)) < 0) {
		add(t, "waits for %s of a group", limit ? "room beside the children" : "the end");
		return;
	}
	peek_string(gr.where_, where, sizeof(where));
	kids = gr.wg_.word_ / WF_WG_ONE;
	add(t, "waits for %s%llu %s of the group opened at %s", limit ? "room beside the " : "",
	    kids, kids == 1 ? "child" : "children", where);
}

/* What is done to the object of an address-keyed wait. */
static const char *
deed(enum wf_reason why)
{
	switch (why) {
	case WF_WAIT_MUTEX:
		return "to lock the mutex";
	case WF_WAIT_RLOCK:
		return "to read-lock the rwmutex";
	case WF_WAIT_WLOCK:
		return "to write-lock the rwmutex";
	case WF_WAIT_COND:
		return "for a signal of the condition";
	case WF_WAIT_SEM:
		return "to acquire the semaphore";
	case WF_WAIT_ONCE:
		return "for the first caller of the once";
	case WF_WAIT_BARRIER:
		return "for the others at the barrier";
	default:
		return "for the wait group";
	}
}

void
wf_describe_wait(const struct wf_g *g, char *text, size_t bytes)
{
	struct text t = {text, bytes};

	*text = '\0';
	switch ((enum wf_reason)g->reason) {
	case WF_WAIT_NONE:
	case WF_WAIT_TEST:
		break;
	case WF_WAIT_SEND:
		add_chan_wait(&t, g, "send on");
		break;
	case WF_WAIT_RECV:
		add_chan_wait(&t, g, "receive from");
		break;
	case WF_WAIT_SELECT:
		add_select(&t, g);
		break;
	case WF_WAIT_NIL_SEND:
	case WF_WAIT_NIL_RECV:
		add(&t, "waits for ever: the channel is NULL");
		break;
	case WF_WAIT_NO_CASE:
		add(&t, "waits for ever: the select has no channel");
		break;
	case WF_WAIT_GROUP:
	case WF_WAIT_LIMIT:
		add_group(&t, g);
		break;
	case WF_WAIT_FD_READ:
	case WF_WAIT_FD_WRITE:
	case WF_WAIT_FD:
	case WF_WAIT_FD_TURN:
	case WF_WAIT_FD_CLOSE:
		add_fd_wait(&t, g);
		break;
	case WF_WAIT_SLEEP:
		add_sleep(&t, g);
		break;
	default:
		add(&t, "waits %s at %p", deed((enum wf_reason)g->reason), g->wait_on);
		add_holder(&t, g);
		break;
	}
}

int
wf_waited_objects(const struct wf_g *g, const void **objects, int max)
{
	struct wf_chan_wait wait;
	struct wf_select sel;
	struct weft_case c;
	int n = 0;

	if (g->reason == WF_WAIT_SEND || g->reason == WF_WAIT_RECV) {
		if (os_peek(g->wait_on, &wait, sizeof(wait)) == 0)
			objects[n++] = wait.ch;
	} else if (g->reason == WF_WAIT_SELECT) {
		if (os_peek(g->wait_on, &sel, sizeof(sel)) < 0)
			return 0;
		for (int i = 0; i < sel.n && n < max; i++)
			if (os_peek(&sel.cases[i], &c, sizeof(c)) == 0 && c.chan_ &&
			    (c.kind_ == WEFT_CASE_RECV || c.kind_ == WEFT_CASE_SEND))
				objects[n++] = c.chan_;
	} else if (g->wait_on) {
		objects[n++] = g->wait_on;
	}
	return n;
}

const struct weft_wg *
wf_waited_wg(const struct wf_g *g)
{
	const char *p = g->wait_on;

	switch ((enum wf_reason)g->reason) {
	case WF_WAIT_WG:
	case WF_WAIT_JOIN:
	case WF_WAIT_GROUP:
		return g->wait_on;
	case WF_WAIT_LIMIT:
		p -= offsetof(struct weft_group, private_) + offsetof(struct wf_group, slots);
		return &((const struct weft_group *)p)->wg_;
	default:
		return NULL;
	}
}

struct owner {
	const char *at; /* an address on its stack */
	int64_t id;
};

static void
is_owner(struct wf_g *g, void *arg)
{
	struct owner *o = arg;
	const char *lo = g->stack;

	if (lo && o->at >= lo && o->at < lo + wf_stack_bytes(g->stack_class))
		o->id = g->id;
}

/* The id of the goroutine, or minus that of the thread, on whose stack this is. A thread's stack
   is known by one address on it: the nearest one is taken. */
static int64_t
owner_of(const void *at)
{
	struct owner o = {.at = at, .id = 0};
	size_t nearest = THREAD_STACK_MAX;

	if (!at)
		return 0;
	wf_gpool_each(is_owner, &o);
	if (o.id != 0)
		return o.id;
	for (const struct wf_m *m = wf_sched.all_ms; m; m = m->all_next) {
		size_t off = (size_t)(o.at > m->on_stack ? o.at - m->on_stack : m->on_stack - o.at);

		if (m->in_use && m->plain && off < nearest) {
			nearest = off;
			o.id = -m->tid;
		}
	}
	return o.id ? o.id : WF_HOLDER_UNKNOWN;
}

int64_t
wf_waited_holder(const struct wf_g *g)
{
	uint64_t word;

	switch ((enum wf_reason)g->reason) {
	case WF_WAIT_MUTEX:
		return os_peek(g->wait_on, &word, sizeof(word)) < 0
			   ? 0
			   : owner_of(wf_mutex_holder(word));
	case WF_WAIT_RLOCK:
	case WF_WAIT_WLOCK:
		return os_peek(g->wait_on, &word, sizeof(word)) < 0 ? 0 : wf_rwmutex_writer(word);
	default:
		return 0;
	}
}
