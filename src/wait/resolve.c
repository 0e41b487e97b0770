/* SPDX-License-Identifier: MIT */
/*
 * resolve.c: names to addresses, without stalling anybody.
 *
 * getaddrinfo cannot be interrupted. Outside any scope, and for numbers, the caller itself asks, in a
 * blocking section. Inside a scope a goroutine of its own asks, and the caller waits for the answer:
 * a deadline or a cancel ends that wait, while the question goes on, and its answer is thrown away.
 *
 * RES-1: the question's record is freed by the second of the two that are done with it.
 */
#include "wait/addr.h"
#include "base/sanitizer.h"
#include "wait/fd.h"

#include <errno.h>
#include <stdlib.h>

enum { STACK_BYTES = 256 * 1024 }; /* the C library's needs, whatever the program's default is */

struct question {
	wf_a32 users; /* RES-1 */
	struct wf_question q;
	void *answered; /* a channel of one int: how many, or -errno */
	int most;
	struct os_addr addr[WF_ADDRS];
};

static void
drop(struct question *a)
{
	if (at_add_acqrel(&a->users, (uint32_t)-1) != 1) /* acqrel: RES-1 */
		return;
	wf_tsan_acquire(a);
	weft_chan_free(a->answered);
	free(a);
}

static int
ask(const struct wf_question *q, struct os_addr *out, int n)
{
	int rc;

	wf_section_begin();
	rc = os_resolve(*q->hp.host ? q->hp.host : NULL, q->hp.port, q->family, q->datagram,
			q->listens, out, n);
	wf_section_end();
	return rc;
}

static int
asks(void *arg)
{
	struct question *a = *(struct question **)arg;
	int rc = ask(&a->q, a->addr, a->most);

	weft_chan_try_send(a->answered, &rc); /* there is room: it is the only one */
	wf_tsan_release(a);
	drop(a);
	return 0;
}

/* The answer, or what the scopes of the caller say, in *rc. False: nobody could be sent to ask. */
static bool
ask_by_another(const struct wf_question *q, struct os_addr *out, int n, int *rc)
{
	static struct weft_site site = {.fn = asks, .name = "name lookup", .file = "weft"};
	static const struct weft_attr attr = {.name = "name lookup", .stack_bytes = STACK_BYTES};
	struct question *a = malloc(sizeof(*a));
	int count = 0;

	if (!a)
		return false;
	*a = (struct question){.users = {2}, .q = *q, .most = n};
	a->answered = weft_chan_make(sizeof(int), 1, "a name lookup");
	if (!a->answered || weft_spawn(&site, &attr, NULL, &a, sizeof(a)) < 0) {
		weft_chan_free(a->answered);
		free(a);
		return false;
	}
	*rc = weft_chan_recv(a->answered, &count);
	if (*rc == 1) {
		*rc = count;
		for (int i = 0; i < count; i++)
			out[i] = a->addr[i];
	}
	wf_tsan_release(a);
	drop(a);
	return true;
}

int
wf_resolve(const struct wf_question *q, struct os_addr *out, int n)
{
	struct wf_m *m = wf_enter(WF_CALL_N);
	bool scoped;
	int rc;

	if (!m)
		return -ENOTSUP;
	scoped = wf_me(m)->scope != NULL;
	wf_leave(m);
	if (scoped && *q->hp.host && !os_is_numeric(q->hp.host) &&
	    ask_by_another(q, out, n < WF_ADDRS ? n : WF_ADDRS, &rc))
		return rc;
	return ask(q, out, n);
}
