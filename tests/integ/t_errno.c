/* SPDX-License-Identifier: MIT */
/* t_errno.c: errno belongs to the goroutine, wherever it runs. */
#include "integ/helpers.h"

#include <errno.h>

/* Out of line: the compiler may keep the address of errno across a switch. */
__attribute__((noinline)) static void
set_errno(int e)
{
	errno = e;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static int
get_errno(void)
{
	__asm__ volatile("" ::: "memory");
	return errno;
}

struct own {
	int i;
};

static int
own(struct own *a)
{
	struct weft_wg wg = {0};

	EXPECT_EQ(get_errno(), 0);
	for (int k = 0; k < 50; k++) {
		set_errno(a->i);
		weft_yield();
		EXPECT_EQ(get_errno(), a->i);
		weft_checkpoint_slow();
		EXPECT_EQ(get_errno(), a->i);
		weft_wg_wait(&wg);
		EXPECT_EQ(get_errno(), a->i);
	}
	return 0;
}

static int
each_its_own(void)
{
	struct weft_wg wg = {0};

	set_errno(77);
	for (int i = 1; i <= 100; i++)
		EXPECT(weft_wg_go(&wg, own, i) > 1);
	set_errno(78);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(get_errno(), 78);
	return 0;
}

/* SELF-1 */
TEST(errno_survives_yields_and_moves)
{
	EXPECT_EQ(weft_run(each_its_own), 0);
}

static int stop, up;

static int
hog_keeps(void)
{
	set_errno(55);
	add(&up, 1);
	while (!load(&stop))
		;
	EXPECT_EQ(get_errno(), 55);
	weft_yield(); /* the P is gone: it comes back by way of a queue */
	EXPECT_EQ(get_errno(), 55);
	return 0;
}

static int
noise(void)
{
	set_errno(99);
	return 0;
}

static int
keeps_over_retake(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&wg, hog_keeps) > 1);
	while (load(&up) < 3)
		weft_yield();
	for (int i = 0; i < 100; i++)
		EXPECT(weft_wg_go(&wg, noise) > 1);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(errno_survives_the_loss_of_the_p)
{
	EXPECT_EQ(weft_run(keeps_over_retake), 0);
}
