/* SPDX-License-Identifier: MIT */
/* weft/sync.h: what goroutines and plain threads wait on. Static zero initialises each object. */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <weft/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A counter that can be waited for. May be freed or reused as soon as weft_wg_wait has returned
   to everybody who called it. */
struct weft_wg {
	uint64_t word_;
};

WEFT_API void weft_wg_add(struct weft_wg *, int64_t n); /* N */
WEFT_API void weft_wg_done(struct weft_wg *);           /* N */
WEFT_API int weft_wg_wait(struct weft_wg *);            /* B; 0 or -errno */

#ifdef __cplusplus
}
#else
/* Adds one, starts fn, and counts down when fn returns. */
#define weft_wg_go(wg, ...) WEFT_GO_(NULL, wg, __VA_ARGS__, ) /* N */
#endif

#endif
