/* SPDX-License-Identifier: MIT */
/* waitcalls.h: calls that wait for ever, for tests of what ends such a wait. */
#ifndef WEFT_TEST_WAITCALLS_H
#define WEFT_TEST_WAITCALLS_H

#include "integ/waiting.h"

static weft_chan(int) empty, full; /* nobody ever sends or receives there */
static struct weft_wg never;

__attribute__((unused)) static void
set_up_waits(void)
{
	empty = weft_make(int, 0);
	full = weft_make(int, 1);
	EXPECT(empty && full);
	EXPECT_EQ(weft_send(full, 0), 0);
	if (!never.word_)
		weft_wg_add(&never, 1);
}

__attribute__((unused)) static void
tear_down_waits(void)
{
	expect_idle(empty);
	expect_idle(full);
	weft_free(empty);
	weft_free(full);
}

__attribute__((unused)) static int
receives(void)
{
	int v;

	return weft_recv(empty, &v);
}

__attribute__((unused)) static int
sends(void)
{
	return weft_send(full, 1);
}

__attribute__((unused)) static int
receives_nil(void)
{
	return weft_recv((weft_chan(int))NULL, NULL);
}

__attribute__((unused)) static int
sends_nil(void)
{
	return weft_send((weft_chan(int))NULL, 1);
}

__attribute__((unused)) static int
selects_nothing(void)
{
	return weft_select();
}

__attribute__((unused)) static int
waits_for_wg(void)
{
	return weft_wg_wait(&never);
}

/* The end of a group is a call that waits, here for children that wait. */
__attribute__((unused)) static int
waits_for_children(void)
{
	int rc = 0;

	weft_group(g, &rc) {
		weft_go_in(g, receives);
		weft_go_in(g, sends);
	}
	return rc;
}

#endif
