/* SPDX-License-Identifier: MIT */
/* weft/time.h: the clock, sleep, and timers. Time is in nanoseconds; see WEFT_US and its like. */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <weft/chan.h>
#include <weft/core.h>

#ifdef __cplusplus
extern "C" {
#endif

WEFT_API int64_t weft_now(void);     /* N; of a clock that never goes back */
WEFT_API int weft_sleep(int64_t ns); /* B; 0, or -errno: before its time. <= 0 yields */

#ifdef __cplusplus
}
#endif
#endif
