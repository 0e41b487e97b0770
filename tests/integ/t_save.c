/* SPDX-License-Identifier: MIT */
/*
 * t_save.c: thread state that follows a goroutine which asked for it, and only that one. qemu
 * not-tsan: a thread-local of the test's own would look like a race of the goroutines that share it
 */
#include "test.h"

#include <stdlib.h>
#include <weft.h>

/* The rounding bits of the control word, without libm. */
static unsigned
rounding(void)
{
#if defined(__x86_64__)
	unsigned csr;

	__asm__ volatile("stmxcsr %0" : "=m"(csr));
	return csr >> 13 & 3;
#else
	unsigned long fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr >> 22 & 3;
#endif
}

static void
set_rounding(unsigned mode)
{
#if defined(__x86_64__)
	unsigned csr;

	__asm__ volatile("stmxcsr %0" : "=m"(csr));
	csr = (csr & ~(3u << 13)) | mode << 13;
	__asm__ volatile("ldmxcsr %0" : : "m"(csr));
#else
	unsigned long fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	fpcr = (fpcr & ~(3ul << 22)) | (unsigned long)mode << 22;
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

enum { ROUNDS = 200 };

static struct weft_wg all;

struct keeps {
	unsigned mode;
};

static int
keeps(struct keeps *a)
{
	set_rounding(a->mode);
	for (int i = 0; i < ROUNDS; i++) {
		weft_yield();
		EXPECT_EQ(rounding(), a->mode);
	}
	weft_wg_done(&all); /* ends with its mode set: the next goroutine must not see it */
	return 0;
}

static int
plain(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(rounding(), 0);
		weft_yield();
	}
	return 0;
}

static int
fp_app(void)
{
	for (unsigned i = 0; i < 12; i++) {
		weft_wg_add(&all, 1);
		EXPECT(weft_go_with(WEFT_ATTR(.save = WEFT_SAVE_FP), keeps, 1 + i % 3) > 1);
		EXPECT(weft_wg_go(&all, plain) > 1);
	}
	EXPECT_EQ(weft_wg_wait(&all), 0);
	EXPECT_EQ(rounding(), 0);
	return 0;
}

static int
starts_others(void)
{
	set_rounding(3);
	for (int i = 0; i < 32; i++)
		EXPECT(weft_wg_go(&all, plain) > 1);
	weft_wg_done(&all);
	return 0;
}

static int
threads_app(void)
{
	weft_wg_add(&all, 1);
	EXPECT(weft_go_with(WEFT_ATTR(.save = WEFT_SAVE_FP), starts_others) > 1);
	return weft_wg_wait(&all);
}

/* The kernel gives a new thread the control words of the one that makes it. */
TEST(threads_begin_with_the_default_rounding)
{
	setenv("WEFT_PROCS", "8", 1);
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(weft_run(threads_app), 0);
}

TEST(rounding_mode_follows_who_asked_and_nobody_else)
{
	EXPECT_EQ(weft_run(fp_app), 0);
}

/* Stands in for the C++ run-time library's: what it keeps of exceptions per thread. */
struct cxa_globals {
	void *caught;
	unsigned uncaught;
};
struct cxa_globals *__cxa_get_globals(void);

__attribute__((noinline)) struct cxa_globals *
__cxa_get_globals(void)
{
	static __thread struct cxa_globals mine;
	struct cxa_globals *p = &mine;

	__asm__ volatile("" : "+r"(p)); /* not to be cached across a switch */
	return p;
}

static int
catches(void)
{
	int here;

	for (int i = 0; i < ROUNDS; i++) {
		__cxa_get_globals()->caught = &here;
		weft_yield();
		EXPECT(__cxa_get_globals()->caught == &here);
	}
	__cxa_get_globals()->caught = NULL;
	weft_wg_done(&all);
	return 0;
}

static int
catches_nothing(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		EXPECT(__cxa_get_globals()->caught == NULL);
		weft_yield();
	}
	return 0;
}

static int
cxx_app(void)
{
	for (int i = 0; i < 12; i++) {
		weft_wg_add(&all, 1);
		EXPECT(weft_go_with(WEFT_ATTR(.save = WEFT_SAVE_CXX), catches) > 1);
		EXPECT(weft_wg_go(&all, catches_nothing) > 1);
	}
	return weft_wg_wait(&all);
}

TEST(caught_exceptions_follow_who_asked_and_nobody_else)
{
	EXPECT_EQ(weft_run(cxx_app), 0);
}
