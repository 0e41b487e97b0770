/* SPDX-License-Identifier: MIT */
/*
 * selready.h: which channel cases of a select seem ready, by a look without locks, and one of them, chosen
 * evenly. Whether it is ready only a try under the channel's lock can tell.
 */
#ifndef WF_WAIT_SELREADY_H
#define WF_WAIT_SELREADY_H

#include "base/rand.h"
#include "wait/chan.h"

WF_INLINE bool
wf_case_looks_ready(const struct weft_case *c, uint64_t s)
{
	return wf_chan_can(c->chan_, s, c->kind_ == WEFT_CASE_SEND);
}

WF_INLINE uint64_t
wf_case_state(const struct weft_case *c)
{
	return at_load_acq(&((struct wf_chan *)c->chan_)->state); /* acq: as the lock would */
}

/* Which of at most 64 cases are ready, a bit for each, and how many: without jumps, since nobody can
   foretell which they are. What others see of a locked channel is its state before; what its holder
   sees is the same. */
WF_INLINE uint64_t
wf_cases_look(const struct weft_case *cases, int n, uint32_t *ready)
{
	uint64_t mask = 0;
	uint32_t count = 0;

	for (int i = 0; i < n; i++) {
		const struct weft_case *c = &cases[i];
		bool is = likely(wf_case_is_chan(c)) && wf_case_looks_ready(c, wf_case_state(c));

		mask |= (uint64_t)is << i;
		count += is;
	}
	*ready = count;
	return mask;
}

/* The nth bit that is set. The first few steps are without jumps: n is random. */
WF_INLINE int
wf_nth_bit(uint64_t mask, uint32_t n)
{
	enum { STEPS = 3 };

	for (uint32_t k = 0; k < STEPS; k++)
		mask &= mask - (n > k); /* one bit less, or the same */
	for (; unlikely(n > STEPS); n--)
		mask &= mask - 1;
	return __builtin_ctzll(mask);
}

/* A ready case, each with the same chance; -1: none. */
static inline int
wf_cases_pick(struct wf_m *m, const struct weft_case *cases, int n)
{
	uint32_t before = 0, ready;
	int pick = -1;

	for (int at = 0; at < n; at += 64) {
		uint64_t mask = wf_cases_look(cases + at, n - at < 64 ? n - at : 64, &ready);
		uint32_t r = before + ready > 1 ? wf_rand_below(&m->rand, before + ready) : 0;

		if (r < ready) /* else it stays with one of those before */
			pick = at + wf_nth_bit(mask, r);
		before += ready;
	}
	return pick;
}

/* How many there are for it to choose from. */
static inline uint32_t
wf_cases_count(const struct weft_case *cases, int n)
{
	uint32_t all = 0, ready;

	for (int at = 0; at < n; at += 64, all += ready)
		wf_cases_look(cases + at, n - at < 64 ? n - at : 64, &ready);
	return all;
}

#endif
