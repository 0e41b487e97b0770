/* SPDX-License-Identifier: MIT */
/* t_forktree.c: goroutines that wait for a few they have started: depth first, and beside others.
   not-torture: it shuffles the queues */
#include "integ/helpers.h"

enum { FANOUT = 10, LEAVES = 10000, YIELDERS = 100, KIDS = 4, ROUNDS = 50 };

static int most; /* goroutines at once */

struct node {
	int64_t leaves;
	weft_chan(int64_t) result;
};

static int
node(struct node *a)
{
	weft_chan(int64_t) results;
	int64_t sum = 0, part;

	if ((int)weft_count() > load(&most))
		store(&most, (int)weft_count());
	if (a->leaves > 1) {
		results = weft_make(int64_t, 0);
		for (int i = 0; i < FANOUT; i++)
			EXPECT(weft_go(node, a->leaves / FANOUT, results) > 1);
		for (int i = 0; i < FANOUT; i++) {
			EXPECT_EQ(weft_recv(results, &part), 1);
			sum += part;
		}
		weft_free(results);
	} else {
		sum = 1;
	}
	EXPECT_EQ(weft_send(a->result, sum), 0);
	return 0;
}

static void
tree(void)
{
	weft_chan(int64_t) result = weft_make(int64_t, 0);
	int64_t sum = 0;

	store(&most, 0);
	EXPECT(weft_go(node, (int64_t)LEAVES, result) > 1);
	EXPECT_EQ(weft_recv(result, &sum), 1);
	EXPECT_EQ(sum, LEAVES);
	weft_free(result);
}

static int
main_tree(void)
{
	tree(); /* the place is learnt */
	tree();
	return 0;
}

/* First in, first out, all of the leaves would be there at once. */
TEST(a_tree_by_channels_is_walked_depth_first)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_tree), 0);
	EXPECT(load(&most) < LEAVES / 50);
}

static int stop, yields;

static int
yielder(void)
{
	while (!load(&stop)) {
		add(&yields, 1);
		weft_yield();
	}
	return 0;
}

struct kid {
	weft_chan(int) done;
};

static int
kid(struct kid *a)
{
	return weft_send(a->done, 1);
}

static int
main_beside(void)
{
	weft_chan(int) done = weft_make(int, 0);
	struct weft_wg wg = {0};
	int before;

	for (int i = 0; i < YIELDERS; i++)
		EXPECT(weft_wg_go(&wg, yielder) > 1);
	weft_yield();
	before = load(&yields);
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < KIDS; i++)
			EXPECT(weft_go(kid, done) > 1);
		for (int i = 0; i < KIDS; i++)
			EXPECT_EQ(weft_recv(done, NULL), 1);
	}
	/* Each yielder has had a few turns for each round, no more. */
	EXPECT(load(&yields) - before < ROUNDS * YIELDERS * 3);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(done);
	return 0;
}

TEST(children_have_their_turn_beside_a_busy_queue)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_beside), 0);
}

/* ---- nobody in the fork queue is forgotten */

static int ran;

struct learnt {
	weft_chan(int) done; /* or NULL */
	int *flag;           /* or NULL */
};

static int
learnt(struct learnt *a)
{
	if (a->flag)
		store(a->flag, 1);
	return a->done ? weft_send(a->done, 1) : 0;
}

/* One place for all of them. */
static void
start_learnt(void *done, int *flag)
{
	EXPECT(weft_go(learnt, done, flag) > 1);
}

static void
fork_and_join(void *done)
{
	weft_chan(int) ch = done;

	start_learnt(ch, NULL);
	start_learnt(ch, NULL);
	EXPECT_EQ(weft_recv(ch, NULL), 1);
	EXPECT_EQ(weft_recv(ch, NULL), 1);
}

struct echoes {
	weft_chan(int) in, out;
};

static int
echoes(struct echoes *a)
{
	int v;

	while (weft_recv(a->in, &v) == 1)
		EXPECT_EQ(weft_send(a->out, v), 0);
	return 0;
}

/* Two take turns in runnext, and the ring is empty at every tick. */
static int
main_beside_pair(void)
{
	weft_chan(int) done = weft_make(int, 4), in = weft_make(int, 0), out = weft_make(int, 0);
	struct weft_wg wg = {0};

	for (int i = 0; i < 3; i++)
		fork_and_join(done);
	EXPECT(weft_wg_go(&wg, echoes, in, out) > 1);
	start_learnt(NULL, &ran);
	for (int i = 0; i < 1000000 && !load(&ran); i++) {
		EXPECT_EQ(weft_send(in, i), 0);
		EXPECT_EQ(weft_recv(out, NULL), 1);
	}
	EXPECT(load(&ran));
	EXPECT_EQ(weft_close(in), 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(done);
	weft_free(in);
	weft_free(out);
	return 0;
}

TEST(a_child_has_its_turn_beside_two_that_take_turns)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_beside_pair), 0);
}

static int
main_below_newer(void)
{
	weft_chan(int) done = weft_make(int, 4);

	for (int i = 0; i < 3; i++)
		fork_and_join(done);
	start_learnt(NULL, &ran);
	for (int i = 0; i < 10000 && !load(&ran); i++)
		fork_and_join(done);
	EXPECT(load(&ran));
	weft_free(done);
	return 0;
}

TEST(a_child_has_its_turn_below_newer_ones)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_below_newer), 0);
}

struct joined {
	int depth;
};

/* Children of wait groups, which run where their parents wait. */
static int
joined(struct joined *a)
{
	struct weft_wg wg = {0};

	if (a->depth > 0)
		for (int i = 0; i < 2; i++)
			EXPECT(weft_wg_go(&wg, joined, a->depth - 1) > 1);
	return weft_wg_wait(&wg);
}

static int
main_below_joined(void)
{
	weft_chan(int) done = weft_make(int, 4);
	struct joined tree = {3};

	for (int i = 0; i < 3; i++) {
		fork_and_join(done);
		EXPECT_EQ(joined(&tree), 0);
	}
	start_learnt(NULL, &ran);
	for (int i = 0; i < 10000 && !load(&ran); i++)
		EXPECT_EQ(joined(&tree), 0);
	EXPECT(load(&ran));
	weft_free(done);
	return 0;
}

TEST(a_child_has_its_turn_below_those_of_wait_groups)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_below_joined), 0);
}
