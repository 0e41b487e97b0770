/* SPDX-License-Identifier: MIT */
/* A program outside the tree: starts goroutines, waits for them, checks the version. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { GOROUTINES = 100 };

static struct weft_wg all;
static int ran[GOROUTINES];

struct work {
	int index;
};

static int
work(struct work *w)
{
	ran[w->index] = 1;
	return 0;
}

static int
start(void)
{
	int sum = 0;
	for (int i = 0; i < GOROUTINES; i++)
		weft_wg_go(&all, work, i);
	weft_wg_wait(&all);
	for (int i = 0; i < GOROUTINES; i++)
		sum += ran[i];
	printf("weft %s: %d goroutines ran\n", weft_version(), sum);
	return sum == GOROUTINES && strcmp(weft_version(), WEFT_VERSION) == 0 ? 0 : 1;
}

int
main(void)
{
	return weft_run(start);
}
