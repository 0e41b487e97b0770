/* SPDX-License-Identifier: MIT */
/* good_time.c: timers as programs write them. */
#include <weft.h>

struct remind {
	int n;
	const char *text;
};

static int
remind(struct remind *a)
{
	return a->n;
}

static int
nothing(void)
{
	return 0;
}

int use_time(void);

int
use_time(void)
{
	struct weft_timer *a = weft_timer_func(WEFT_SEC, remind, 3, "x");
	struct weft_timer *b = weft_timer_func(WEFT_SEC, remind, .text = "y");
	struct weft_timer *c = weft_timer_func(-1, nothing);
	weft_chan(int64_t) after = weft_after(WEFT_MS), tick = weft_timer_chan(weft_ticker(1));
	int64_t when;

	weft_defer(weft_timer_free, a);
	weft_defer(weft_free, after);
	weft_recv(after, &when);
	weft_timer_free(c);
	return weft_timer_stop(a) + weft_timer_reset(b, 1) + weft_sleep(weft_now()) +
	       weft_select(WEFT_RECV(tick, &when), WEFT_AFTER(WEFT_US));
}
