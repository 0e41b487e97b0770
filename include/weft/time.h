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

/* ---- timers. To arm one is N, and cannot fail once it is made. */
struct weft_timer;

/* The untyped functions under the macros: weft_timer_func(ns, fn, args...), and two that say what
   type of channel it is. NULL: no memory, or no run is up. */
WEFT_API struct weft_timer *weft_timer_start(struct weft_site *, int64_t ns, const void *arg,
					     size_t bytes); /* N */
WEFT_API void *weft_after(int64_t ns);                      /* N */
WEFT_API void *weft_timer_chan(struct weft_timer *);        /* N; NULL: it starts a goroutine */

/* Sends the time when it was due every ns nanoseconds; ns <= 0: NULL. A tick that has not been
   received when the next one is due stands for both. */
WEFT_API struct weft_timer *weft_ticker(int64_t ns); /* N */

/* 1: it was pending, and nothing of that is delivered any more, also not from its channel; 0: it
   was not. Reset then starts it anew; a ticker with a new period (<= 0: -EINVAL). */
WEFT_API int weft_timer_stop(struct weft_timer *);              /* N */
WEFT_API int weft_timer_reset(struct weft_timer *, int64_t ns); /* N */
WEFT_API void weft_timer_free(struct weft_timer *); /* N; with its channel; NULL: nothing */

#ifdef __cplusplus
}
#else

/* A channel that gets one value, the time when it was due. The caller weft_free()s it, fired or
   not, which stops it. */
#define weft_after(ns)           ((weft_chan(int64_t))weft_after(ns))
/* The channel of a ticker. It belongs to the timer. */
#define weft_timer_chan(t)       ((weft_chan(int64_t))weft_timer_chan(t))
/* After ns nanoseconds fn is started, as weft_go would do it. */
#define weft_timer_func(ns, ...) WEFT_TIMER_FUNC_(ns, __VA_ARGS__, )

#define WEFT_TIMER_FUNC_(ns, ...)                  WEFT_CALL_(__COUNTER__, WEFT_TIMER_CALL_, ns, NULL, __VA_ARGS__)
#define WEFT_TIMER_CALL_(site, ns, wg, arg, bytes) weft_timer_start(site, ns, arg, bytes)

#endif /* __cplusplus */
#endif
