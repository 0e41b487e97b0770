/* SPDX-License-Identifier: MIT */
/*
 * wgword.h: the one word of a wait group: the count in the upper 63 bits, and a bit that says
 * that somebody waits in the address table. See wait/wg.c.
 */
#ifndef WF_CORE_WGWORD_H
#define WF_CORE_WGWORD_H

#include "base/atomic.h"

#include <weft.h>

enum { WF_WG_WAITED = 1, WF_WG_ONE = 2 };

WF_INLINE wf_a64 *
wf_wg_word(struct weft_wg *wg)
{
	return (wf_a64 *)&wg->word_;
}

#endif
