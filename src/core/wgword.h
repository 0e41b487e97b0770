/* SPDX-License-Identifier: MIT */
/*
 * wgword.h: the one word of a wait group: the count in the upper 63 bits, and a bit that says
 * that somebody waits in the address table. See wait/wg.c.
 */
#ifndef WF_CORE_WGWORD_H
#define WF_CORE_WGWORD_H

#include "base/atomic.h"
#include "base/sanitizer.h"

#include <weft.h>

enum { WF_WG_WAITED = 1, WF_WG_ONE = 2 };

WF_INLINE wf_a64 *
wf_wg_word(struct weft_wg *wg)
{
	return (wf_a64 *)&wg->word_;
}

/* Any thread. Adds n; what the word is then. The object may be gone, unless that is wf_wg_matters. */
WF_INLINE uint64_t
wf_wg_count(struct weft_wg *wg, int64_t n)
{
	uint64_t delta = (uint64_t)n * WF_WG_ONE;

	wf_tsan_release(wg);
	/* acqrel: what was done before the count fell is visible to the waiter; WG-1 */
	return at_add_acqrel(wf_wg_word(wg), delta) + delta;
}

/* Is there more to do? Somebody waits for this, or it is negative. */
WF_INLINE bool
wf_wg_matters(uint64_t word)
{
	return word == WF_WG_WAITED || (int64_t)word < 0;
}

#endif
