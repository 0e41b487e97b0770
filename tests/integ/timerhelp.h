/* SPDX-License-Identifier: MIT */
/* timerhelp.h: a goroutine that a timer starts, and counts itself; a pair that keeps timers waiting. */
#ifndef WEFT_TEST_TIMERHELP_H
#define WEFT_TEST_TIMERHELP_H

#include "integ/waiting.h"

static int runs;

__attribute__((unused)) static int
counted(void)
{
	add(&runs, 1);
	return 0;
}

__attribute__((unused)) static void
await_runs(int n)
{
	while (load(&runs) < n)
		EXPECT_EQ(weft_sleep(50 * WEFT_US), 0);
}

struct pong {
	weft_chan(int) in, out;
};

__attribute__((unused)) static int
pong(struct pong *a)
{
	int v;

	while (weft_recv(a->in, &v) > 0)
		if (weft_send(a->out, v + 1) < 0)
			break;
	return 0;
}

/* Two that only ever hand over to each other, until they are dropped with the run: as far as it is up
   to them, they never leave their P to others. */
__attribute__((unused)) static void
start_pingpong(void)
{
	weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0);

	EXPECT(weft_go(pong, a, b) > 0);
	EXPECT(weft_go(pong, b, a) > 0);
	EXPECT_EQ(weft_send(a, 0), 0);
}

#endif
