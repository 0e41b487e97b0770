/* SPDX-License-Identifier: MIT */
/* save.c: see save.h. On the goroutine's own stack; the thread may differ between the two. */
#include "sched/save.h"

/* Of the C++ run-time library, where the program has one. */
struct wf_cxa_globals *__cxa_get_globals(void) __attribute__((weak));

void (*wf_save_locks_hook)(struct wf_g *g, struct wf_saved *s);
void (*wf_restore_locks_hook)(const struct wf_saved *s);

void
wf_save(struct wf_g *g, struct wf_saved *s)
{
	if (g->save & WF_SAVE_LOCKS)
		wf_save_locks_hook(g, s);
	if (g->save & WEFT_SAVE_FP) {
		wf_fpstate_get(&s->fp);
		wf_fpstate_set(&wf_fpstate_default);
	}
	if ((g->save & WEFT_SAVE_CXX) && __cxa_get_globals) {
		struct wf_cxa_globals *now = __cxa_get_globals();

		s->cxa = *now;
		*now = (struct wf_cxa_globals){0};
	}
}

void
wf_restore(const struct wf_g *g, struct wf_saved *s)
{
	if (g->save & WEFT_SAVE_FP)
		wf_fpstate_set(&s->fp);
	if ((g->save & WEFT_SAVE_CXX) && __cxa_get_globals)
		*__cxa_get_globals() = s->cxa;
	if (g->save & WF_SAVE_LOCKS)
		wf_restore_locks_hook(s);
}
