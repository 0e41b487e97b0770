/* SPDX-License-Identifier: MIT */
/* t_parallel.c: goroutines that run at the same time, and work that is not forgotten. fence-mode */
#include "integ/helpers.h"

enum { P = 4 };

struct token {
	struct weft_wg *wg;
	int i, n;
	uint32_t *turn;
	int rounds;
};

/* Waits for its turn without giving way: ends only if all of them run at once. */
static int
token(struct token *a)
{
	for (int r = 0; r < a->rounds; r++) {
		while (load(a->turn) != (uint32_t)(r * a->n + a->i))
			;
		store(a->turn, (uint32_t)(r * a->n + a->i + 1));
	}
	return 0;
}

struct all_at_once {
	int procs;
};

static int
all_at_once(struct all_at_once *a)
{
	for (int try = 0; try < 5; try++) {
		struct weft_wg wg = {0};
		uint32_t turn = 0;

		EXPECT(weft_set_procs(a->procs) > 0);
		for (int i = 0; i < a->procs; i++)
			EXPECT(weft_wg_go(&wg, token, &wg, i, a->procs, &turn, 3) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(turn, (uint32_t)a->procs * 3);
	}
	return 0;
}

TEST(as_many_goroutines_as_procs_run_at_once)
{
	EXPECT_EQ(weft_run(all_at_once, 3), 0);
	EXPECT_EQ(weft_run(all_at_once, 4), 0);
}

struct nest {
	struct weft_wg *wg;
	uint32_t *turn;
	int i, n;
};

static int
nest(struct nest *a)
{
	if (a->i + 1 < a->n)
		EXPECT(weft_wg_go(a->wg, nest, a->wg, a->turn, a->i + 1, a->n) > 0);
	__atomic_fetch_add(a->turn, 1, __ATOMIC_ACQ_REL);
	while (load(a->turn) < (uint32_t)a->n)
		;
	return 0;
}

static int
nothing(void)
{
	return 0;
}

/* Each starts the next and then spins until all run: a lost wake-up would be for ever. */
struct nested {
	int burst;
};

static int
nested(struct nested *a)
{
	for (int try = 0; try < scaled(100); try++) {
		struct weft_wg wg = {0};
		uint32_t turn = 0;

		for (int i = 0; i < a->burst; i++)
			EXPECT(weft_wg_go(&wg, nothing) > 0);
		EXPECT(weft_wg_go(&wg, nest, &wg, &turn, 0, 3) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	return 0;
}

TEST(nested_starts_reach_all_procs)
{
	use_procs(3);
	EXPECT_EQ(weft_run(nested, 0), 0);
}

TEST(nested_starts_reach_all_procs_after_a_burst)
{
	use_procs(3);
	EXPECT_EQ(weft_run(nested, 1000), 0);
}

static int started;

static int
starts_and_spins(void)
{
	uint32_t both = 0;
	struct weft_wg wg = {0};

	/* the only work there is, readied into an otherwise idle world, again and again */
	for (int i = 0; i < scaled(100); i++) {
		both = 0;
		EXPECT(weft_wg_go(&wg, token, &wg, 1, 2, &both, 1) > 0);
		while (load(&both) != 0)
			;
		store(&both, 1);
		while (load(&both) != 2)
			;
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		add(&started, 1);
	}
	return 0;
}

TEST(work_does_not_wait_while_a_proc_idles)
{
	use_procs(2);
	EXPECT_EQ(weft_run(starts_and_spins), 0);
	EXPECT(started > 0);
}

struct bits {
	unsigned char *seen;
	int i;
};

static int
bits(struct bits *a)
{
	EXPECT_EQ(add(&a->seen[a->i], 1), 1);
	return 0;
}

static int
each_once(void)
{
	int n = scaled(50000);
	unsigned char *seen = calloc(1, (size_t)n);
	struct weft_wg wg = {0};

	for (int i = 0; i < n; i++)
		EXPECT(weft_wg_go(&wg, bits, seen, i) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < n; i++)
		EXPECT_EQ(seen[i], 1);
	free(seen);
	return 0;
}

TEST(every_goroutine_runs_exactly_once)
{
	EXPECT_EQ(weft_run(each_once), 0);
}
