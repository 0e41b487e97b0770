/* SPDX-License-Identifier: MIT */
/* local.h: copies and the end of goroutine-locals, called at birth and death. */
#ifndef WF_WAIT_LOCAL_H
#define WF_WAIT_LOCAL_H

#include "core/g.h"

int wf_locals_copy(struct wf_locals *from, struct wf_locals **to); /* 0 or -ENOMEM */
void wf_locals_free(struct wf_locals *l);

#endif
