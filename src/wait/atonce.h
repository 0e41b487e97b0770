/* SPDX-License-Identifier: MIT */
/*
 * atonce.h: channel operations that are done at once, in a channel of the P's bias and with a value of
 * a word or half of one. Whatever is not as usual is refused, with nothing done, so that there is no
 * call but at the very end: who uses these saves no registers.
 */
#ifndef WF_WAIT_ATONCE_H
#define WF_WAIT_ATONCE_H

#include "base/sanitizer.h"
#include "sched/inplace.h"
#include "wait/chan.h"

WF_INLINE bool
wf_chan_of_words(const struct wf_chan *ch)
{
	return likely(ch->elem_bytes == 8 || ch->elem_bytes == 4);
}

WF_INLINE void
wf_chan_copy_word(const struct wf_chan *ch, void *to, const void *from)
{
	if (likely(ch->elem_bytes == 8))
		__builtin_memcpy(to, from, 8);
	else
		__builtin_memcpy(to, from, 4);
}

/*
 * The channel is p's by its bias, with state s and not closed, and somebody waits on the other side: the
 * value goes from hand to hand, they run next, and the channel is left. False: nothing was done. *wake:
 * wf_submitted is to be called.
 */
WF_INLINE bool
wf_chan_hand_over(struct wf_m *m, struct wf_p *p, struct wf_chan *ch, uint64_t s, void *elem,
		  bool sends, bool *wake)
{
	struct wf_waitlist *line = sends ? &ch->recvs : &ch->sends;
	struct wf_waiter *w = line->first;
	struct wf_g *g;

	if (unlikely(!w || w->number != 0 || !w->elem || (!sends && ch->cap > 0) || wf_trace_hook ||
		     !wf_is_plain_next(m, p, w->g) || WF_MUTANT(MUT_CHAN_READY_LOCKED) ||
		     WF_MUTANT(MUT_CHAN_TOUCH_UNLOCKED)))
		return false;
	g = w->g;
	wf_tsan_acquire(g);
	wf_waiter_remove_first(line, w);
	wf_chan_copy_word(ch, sends ? w->elem : elem, sends ? elem : w->elem);
	if (!WF_MUTANT(MUT_CHAN_RESULT_LATE))
		w->result = sends;
	s &= ~(uint64_t)(sends ? WF_CH_RECVS : WF_CH_SENDS);
	if (line->first)
		s |= sends ? WF_CH_RECVS : WF_CH_SENDS; /* CHAN-4 */
	wf_chan_count(p, w);
	wf_chan_unlock(p, ch, s); /* CHAN-2 */
	wf_let_leave(g);
	*wake = wf_ready_untraced(p, g);
	if (WF_MUTANT(MUT_CHAN_RESULT_LATE)) {
		light_barrier(); /* a choice point */
		w->result = sends;
	}
	return true;
}

#endif
