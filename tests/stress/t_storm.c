/* SPDX-License-Identifier: MIT */
/* t_storm.c: a random mix of everything, by seed. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

static int64_t expected, done, failed;

struct storm {
	struct weft_wg *wg;
	uint64_t seed;
	int depth;
	struct weft_wg *own; /* counted down by itself */
};

static void *
thread_part(void *arg)
{
	struct storm *s = arg;
	uint64_t r = s->seed;

	int storm(struct storm *);
	for (int i = 0; i < 3; i++) {
		add(&expected, 1);
		if (weft_wg_go(s->wg, storm, s->wg, test_rand(&r), s->depth - 1) < 0) {
			add(&expected, -1);
			add(&failed, 1);
		}
		if (test_rand(&r) % 2)
			weft_yield();
	}
	weft_wg_done(s->wg);
	free(s);
	return NULL;
}

int storm(struct storm *a);

static void
start_child(struct storm *a, uint64_t *r)
{
	static const size_t stacks[] = {0, 32768, 65536, 1 << 20};

	add(&expected, 1);
	if (test_rand(r) % 8 == 0) {
		weft_wg_add(a->wg, 1);
		if (weft_go_with(WEFT_ATTR(.stack_bytes = stacks[test_rand(r) % 4], .name = "storm",
					   .prio = test_rand(r) % 4 ? WEFT_NORMAL
								    : 1 + (int)(test_rand(r) % 2)),
				 storm, NULL, test_rand(r), a->depth - 1, a->wg) < 0)
			add(&failed, 1);
		return;
	}
	if (weft_wg_go(a->wg, storm, a->wg, test_rand(r), a->depth - 1) < 0)
		add(&failed, 1);
}

static void
gather(struct storm *a, uint64_t *r)
{
	struct weft_wg inner = {0};

	for (uint64_t n = test_rand(r) % 4; n > 0; n--) {
		add(&expected, 1);
		if (weft_wg_go(&inner, storm, NULL, test_rand(r), a->depth - 1) < 0)
			add(&failed, 1);
	}
	EXPECT_EQ(weft_wg_wait(&inner), 0);
}

static void
start_plain_thread(struct storm *a, uint64_t *r)
{
	struct storm *s = malloc(sizeof(*s));

	*s = (struct storm){a->wg, test_rand(r), a->depth, NULL};
	weft_wg_add(a->wg, 1);
	pthread_detach(start_thread(thread_part, s));
}

static void
compute(uint64_t *r)
{
	volatile uint64_t n = test_rand(r) % 20000;

	while (n > 0)
		n--;
}

int
storm(struct storm *a)
{
	uint64_t r = a->seed;

	for (uint64_t steps = test_rand(&r) % 12; steps > 0; steps--) {
		uint64_t what = test_rand(&r) % 100;

		if (what < 35)
			weft_yield();
		else if (what < 70 && a->depth > 0 && a->wg)
			start_child(a, &r);
		else if (what < 82 && a->depth > 0)
			gather(a, &r);
		else if (what < 86)
			weft_checkpoint();
		else if (what < 94)
			compute(&r);
		else if (what < 95 && test_rand(&r) % 2)
			EXPECT(weft_set_procs(1 + (int)(test_rand(&r) % 6)) > 0);
		else if (what < 97 && a->depth > 0 && a->wg)
			start_plain_thread(a, &r);
		else
			EXPECT(weft_count() >= 1);
	}
	add(&done, 1);
	if (a->own)
		weft_wg_done(a->own);
	if (test_rand(&r) % 16 == 0)
		weft_exit(1);
	return 0;
}

struct storms {
	uint64_t seed;
};

static int
storms(struct storms *a)
{
	struct weft_wg wg = {0};
	uint64_t r = a->seed;

	for (int i = 0; i < 8; i++) {
		add(&expected, 1);
		EXPECT(weft_wg_go(&wg, storm, &wg, test_rand(&r), 4) > 0);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&failed), 0);
	EXPECT_EQ(load(&done), load(&expected));
	return 0;
}

TEST(random_mix_loses_nobody)
{
	uint64_t r = test_seed();

	for (int i = 0; i < scaled(20); i++)
		EXPECT_EQ(weft_run(storms, test_rand(&r)), 0);
}

static int
cut_short(void)
{
	static struct weft_wg wg; /* outlives this goroutine */
	uint64_t r = test_seed() + (uint64_t)load(&done);

	wg = (struct weft_wg){0};
	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, storm, NULL, test_rand(&r), 4) > 0);
	for (uint64_t n = test_rand(&r) % 100; n > 0; n--)
		weft_yield();
	return 7;
}

TEST(run_may_end_in_the_middle_of_a_storm)
{
	for (int i = 0; i < scaled(100); i++)
		EXPECT_EQ(weft_run(cut_short), 7);
}
