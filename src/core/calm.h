/* SPDX-License-Identifier: MIT */
/*
 * calm.h: has anybody had to wait for a mutex lately? If not, an unlock needs no locked instruction.
 *
 * In the calm an unlock stores the free word, and then looks whether the calm still lasts. Who is
 * about to wait ends it first, makes every thread's stores visible (membarrier), and then looks at
 * the mutex: one of the two sees the other. A barrier takes microseconds, so the calm does not come
 * back with the end of the last wait but when the monitor has seen none for a while; until then
 * unlocks are locked instructions, and waits need no barrier.
 *
 *        unlock                          wait
 *        word = free                     counted in
 *        compiler barrier                membarrier, unless FENCED; FENCED
 *        calm ?  no: is one in line ?    word free ?  no: in line, and sleep
 *
 * CALM-1: whoever looks at a mutex in order to wait for it is counted, and a membarrier has passed
 *         since the word was 0 last. (In a run without membarrier it never is.)
 * CALM-2: the word becomes 0 only while nobody is counted.
 *
 * The word is the program's too (weft/sync.h). Not here: what an unlock does that comes late, and
 * the word itself (wait/mutex.c).
 */
#ifndef WF_CORE_CALM_H
#define WF_CORE_CALM_H

#include "base/atomic.h"
#include "base/mutant.h"
#include "base/os.h"

#include <weft.h>

enum {
	WF_CALM_FENCED = 1, /* CALM-1: the membarrier has passed */
	WF_CALM_SEEN = 2,   /* by the monitor, and nobody has come since */
	WF_CALM_THREAD = 4, /* a plain thread that waits */
};
#define WF_CALM_GOROUTINE (UINT64_C(1) << 32) /* a goroutine: gone with its run */

WF_INLINE wf_a64 *
wf_calm_word(void)
{
	return (wf_a64 *)weft_mutex_waits_word;
}

WF_INLINE bool
wf_calm(void)
{
	return at_load_rlx(wf_calm_word()) == 0; /* rlx: CALM-1 orders it */
}

/* Before the look that decides to wait; no lock held. one: WF_CALM_THREAD or WF_CALM_GOROUTINE. */
static inline void
wf_calm_end(uint64_t one)
{
	uint64_t w = at_add_acqrel(wf_calm_word(), one); /* acqrel: CALM-1, or who fenced */

	if (!(w & WF_CALM_FENCED)) {
		if (!WF_MUTANT(MUT_CALM_NO_MEMBARRIER))
			os_membarrier();
		at_or_acqrel(wf_calm_word(), (uint64_t)WF_CALM_FENCED); /* rel: it has passed */
	}
	if (w & WF_CALM_SEEN)
		at_and_acqrel(wf_calm_word(), ~(uint64_t)WF_CALM_SEEN); /* acqrel: others count */
}

/* That one waits no more. */
static inline void
wf_calm_waited(uint64_t one)
{
	at_add_acqrel(wf_calm_word(), -one); /* acqrel: as above */
}

/* Now and then, by the monitor: the second time that it finds nobody, the calm is back. */
static inline void
wf_calm_look(void)
{
	uint64_t w = at_load_rlx(wf_calm_word()); /* rlx: the CAS decides */

	if (w == WF_CALM_FENCED)
		at_cas_acqrel(wf_calm_word(), &w, w | WF_CALM_SEEN); /* acqrel: as above */
	else if (WF_MUTANT(MUT_CALM_EARLY) ? (w & WF_CALM_SEEN) != 0
					   : w == (WF_CALM_FENCED | WF_CALM_SEEN))
		at_cas_acqrel(wf_calm_word(), &w, UINT64_C(0)); /* acqrel: CALM-2 */
}

/* A run begins; for_ever: there is no membarrier, and never a calm. */
static inline void
wf_calm_init(bool for_ever)
{
	if (for_ever)
		at_or_acqrel(wf_calm_word(), (uint64_t)WF_CALM_FENCED); /* acqrel: threads count */
}

/* A run is over, and with it the waits of its goroutines. */
static inline void
wf_calm_flush(void)
{
	at_and_acqrel(wf_calm_word(), WF_CALM_GOROUTINE - 1); /* acqrel: as above */
}

/* A forked child: whoever was counted is not here. */
static inline void
wf_calm_fork(void)
{
	at_store_rlx(wf_calm_word(), (uint64_t)WF_CALM_FENCED); /* rlx: one thread */
}

#endif
