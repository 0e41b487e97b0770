/* SPDX-License-Identifier: MIT */
/* pin.h: pinned goroutines, for the rest of the scheduler: see pin.c. */
#ifndef WF_SCHED_PIN_H
#define WF_SCHED_PIN_H

#include "core/gmp.h"

void wf_pin_submit(struct wf_m *m, struct wf_p *p, struct wf_g *g, bool next);
void wf_pin_hand(struct wf_m *m, struct wf_g *g, struct wf_p *p);
bool wf_pin_serve(struct wf_m *m);
bool wf_pin_next(struct wf_m *m, struct wf_p *p);
bool wf_pin_any(struct wf_p *p);
struct wf_g *wf_pinned_next(struct wf_m *m);
void wf_pin_died(struct wf_m *m, const struct wf_g *g);
void wf_pin_to(struct wf_m *m, struct wf_g *g);
bool wf_pin_end_one(void);
void wf_pin_reset(void);

/* template.c: makes threads for those that may not */
int wf_template_begin(void);
void wf_template_ask(struct wf_m *t);
bool wf_template_runs(void);
void wf_template_end(void);

#endif
