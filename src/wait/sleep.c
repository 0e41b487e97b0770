/* SPDX-License-Identifier: MIT */
/*
 * sleep.c: weft_now and weft_sleep. A sleeper is in no queue: its timer, and whoever cancels a group,
 * find the goroutine itself.
 *
 * SLEEP-1: a sleep of ns nanoseconds that returns 0 has lasted that long.
 * SLEEP-2: no queue's lock keeps a sleeper that was claimed from going on while its commit still looks
 *          at its scopes, which are on its stack: it waits for the commit itself.
 */
#include "wait/scope.h"

#include <errno.h>

struct sleep {
	uint32_t number;
	wf_a32 committed;
};

/* The sleeper's context is saved: PARK-1. */
static void
commit(struct wf_g *g, void *arg)
{
	struct sleep *s = arg;
	uint32_t number = s->number;
	int64_t until = wf_or_never(at_load_rlx(&g->wake_at)); /* rlx: stored before the park */
	bool ends;

	wf_claim_open(g, number); /* WAIT-4 */
	ends = g->scope && wf_scope_cancelled(g);
	at_store_rel(&s->committed,
		     1); /* rel: after the look. SLEEP-2: from here on g may be gone */
	if (unlikely(ends))
		wf_wait_end(g, number);
	else if (until != WF_NEVER)
		wf_timers_sleep_by(wf_m(), g, until); /* if it is, the timer finds nothing to do */
}

/* SLEEP-2 */
static void
await_commit(struct sleep *s)
{
	for (unsigned tries = 0; !at_load_acq(&s->committed); tries++) /* acq: the look is over */
		if (WF_MUTANT(MUT_SLEEP_LEAVES))
			return;
		else
			wf_back_off(tries);
}

int
wf_sleep_until(struct wf_m **m, int64_t until)
{
	struct wf_g *g = wf_me(*m);
	int rc = g->scope ? wf_scope_verdict(g) : 0; /* it never completes at once */

	while (rc == 0) {
		bool scoped = g->scope && wf_scope_enlist(g);
		int64_t deadline = scoped ? wf_scope_deadline(g) : WF_NEVER;
		int64_t end = deadline < until ? deadline : until;
		struct sleep s = {.number = wf_claim_next(g, true)};

		at_store_rlx(&g->wake_at, (uint64_t)(end > 0 ? end : 1)); /* rlx: TIMER-4 */
		*m = wf_park(*m, commit, &s, WF_WAIT_SLEEP, NULL);
		await_commit(&s);
		if (os_now_ns() >= until) /* SLEEP-1 */
			return 0;
		rc = wf_scope_verdict(g);
		if (rc == 0 && wf_run_over(*m))
			rc = -ENOTSUP;
	}
	return rc;
}

WF_EXPORT int64_t
weft_now(void)
{
	return os_now_ns();
}

WF_EXPORT int
weft_sleep(int64_t ns)
{
	struct wf_m *m;
	int rc;

	m = wf_enter(WF_CALL_B);
	if (unlikely(!m))
		return -ENOTSUP;
	if (ns > 0) {
		rc = wf_sleep_until(&m, wf_time_after(os_now_ns(), ns));
	} else {
		m = wf_give_way(m);
		rc = 0;
	}
	wf_leave(m);
	return rc;
}
