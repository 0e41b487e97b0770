/* SPDX-License-Identifier: MIT */
/*
 * template.c: a thread that does nothing but make threads.
 *
 * A new thread inherits much from the one that makes it: signal mask, CPU affinity, name spaces,
 * working directory, capabilities. A pinned goroutine may have changed these for its own thread,
 * and they must not reach others. So a pinned M lets this thread make Ms for it: it is made by the
 * first goroutine that pins itself, before that can change anything, and runs no goroutine.
 *
 * TEMPLATE-1: what is asked for is made, or has failed and is undone, before wf_template_end
 *             returns.
 */
#include "sched/pin.h"
#include "sched/sched.h"

#include <errno.h>

enum { NONE, STARTING, RUNS };

static struct {
	wf_a32 state;
	/* under sched.lock */
	struct wf_m *asked; /* by idle_next, which Ms not yet begun do not need */
	bool asleep, stop;
	/* its own */
	struct wf_note note;
	struct wf_note ended;
} tmpl;

/* sched.lock held: true if it must be woken after it. */
static bool
rouse(void)
{
	bool asleep = tmpl.asleep;

	wf_assert_held(&wf_sched.lock);
	tmpl.asleep = false;
	return asleep;
}

static struct wf_m *
next_asked(bool *stop)
{
	struct wf_m *t;

	wf_lock(&wf_sched.lock);
	t = tmpl.asked;
	if (t)
		tmpl.asked = t->idle_next;
	*stop = !t && tmpl.stop; /* TEMPLATE-1 */
	tmpl.asleep = !t && !tmpl.stop;
	wf_unlock(&wf_sched.lock);
	return t;
}

static void *
template_main(void *arg)
{
	uint64_t futexes = 0;
	bool stop;

	(void)arg;
	os_thread_begin(false);
	os_thread_name("weft-template");
	for (;;) {
		struct wf_m *t = next_asked(&stop);

		if (stop)
			break;
		if (t) {
			wf_m_launch(t);
			continue;
		}
		wf_note_sleep(&tmpl.note, -1, &futexes);
		wf_note_clear(&tmpl.note);
	}
	wf_note_wake(&tmpl.ended);
	return NULL;
}

/* 0: it runs; 1: another thread is about to start it; -EAGAIN: it cannot be had. */
int
wf_template_begin(void)
{
	uint32_t none = NONE;
	int rc;

	/* acq: as the store below; acqrel: one of us starts it */
	if (at_load_acq(&tmpl.state) == RUNS)
		return 0;
	if (!at_cas_acqrel(&tmpl.state, &none, STARTING))
		return none == STARTING;
	wf_note_clear(&tmpl.note);
	wf_note_clear(&tmpl.ended);
	tmpl.asleep = tmpl.stop = false;
	rc = os_thread_start(template_main, NULL);
	at_store_rel(&tmpl.state, rc < 0 ? NONE : RUNS); /* rel: the words above */
	return rc < 0 ? -EAGAIN : 0;
}

/* Any thread: t, complete but for its thread, gets one. */
void
wf_template_ask(struct wf_m *t)
{
	bool wake;

	wf_lock(&wf_sched.lock);
	t->idle_next = tmpl.asked;
	tmpl.asked = t;
	wake = rouse();
	wf_unlock(&wf_sched.lock);
	if (wake)
		wf_note_wake(&tmpl.note);
}

bool
wf_template_runs(void)
{
	/* acq: as in wf_template_begin; for a count it would not matter */
	return at_load_acq(&tmpl.state) != NONE;
}

/* The end of a run: nobody is left to ask. */
void
wf_template_end(void)
{
	uint64_t futexes = 0;
	bool wake;

	if (!wf_template_runs())
		return;
	wf_lock(&wf_sched.lock);
	tmpl.stop = true;
	wake = rouse();
	wf_unlock(&wf_sched.lock);
	if (wake)
		wf_note_wake(&tmpl.note);
	wf_note_sleep(&tmpl.ended, -1, &futexes);
	at_store_rel(&tmpl.state, NONE); /* rel: it is gone */
}
