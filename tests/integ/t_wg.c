/* SPDX-License-Identifier: MIT */
/* t_wg.c: wait groups: the barrier, the many waiters, the misuse. fence-mode */
#include "integ/helpers.h"

#include <errno.h>

struct phase {
	struct weft_wg *first, *second;
	int *exited;
};

static int
phase(struct phase *a)
{
	weft_wg_done(a->first);
	EXPECT_EQ(weft_wg_wait(a->second), 0);
	add(a->exited, 1);
	return 0;
}

/* n goroutines report in the first group and are let go by the second. */
static void
two_phases(struct weft_wg *first, struct weft_wg *second, int n)
{
	int exited = 0;
	struct weft_wg ended = {0};

	weft_wg_add(first, n);
	weft_wg_add(second, 1);
	for (int i = 0; i < n; i++)
		EXPECT(weft_wg_go(&ended, phase, first, second, &exited) > 0);
	EXPECT_EQ(weft_wg_wait(first), 0);
	EXPECT_EQ(load(&exited), 0);
	weft_wg_done(second);
	EXPECT_EQ(weft_wg_wait(&ended), 0);
	EXPECT_EQ(load(&exited), n);
}

static int
reuse_both(void)
{
	struct weft_wg first = {0}, second = {0};

	for (int i = 0; i < 8; i++)
		two_phases(&first, &second, 16);
	return 0;
}

TEST(two_groups_make_a_barrier_eight_times)
{
	EXPECT_EQ(weft_run(reuse_both), 0);
}

struct counts {
	struct weft_wg *wg;
	int *n;
};

static int
counts(struct counts *a)
{
	__atomic_fetch_add(a->n, 1, __ATOMIC_RELAXED);
	weft_wg_done(a->wg);
	return 0;
}

static int
never_early(void)
{
	for (int i = 0; i < scaled(20000); i++) {
		struct weft_wg wg = {0};
		int n = 0;

		weft_wg_add(&wg, 2);
		EXPECT(weft_go(counts, &wg, &n) > 0);
		EXPECT(weft_go(counts, &wg, &n) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(n, 2);
	}
	return 0;
}

TEST(wait_never_returns_early)
{
	EXPECT_EQ(weft_run(never_early), 0);
}

struct bumps {
	int *n;
};

static int
bumps(struct bumps *a)
{
	__atomic_fetch_add(a->n, 1, __ATOMIC_RELAXED);
	return 0;
}

static int
wg_go_counts(void)
{
	struct weft_wg wg = {0};
	int n = 0, want = scaled(20000);

	for (int i = 0; i < want; i++)
		EXPECT(weft_wg_go(&wg, bumps, &n) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(n, want);
	expect_alone();
	return 0;
}

TEST(wg_go_counts_down_once_per_goroutine)
{
	EXPECT_EQ(weft_run(wg_go_counts), 0);
}

static int
zero_does_not_wait(void)
{
	struct weft_wg wg = {0};

	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_wg_add(&wg, 5);
	weft_wg_add(&wg, -5);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(wg.word_, 0);
	return 0;
}

TEST(wait_at_zero_returns_at_once)
{
	EXPECT_EQ(weft_run(zero_does_not_wait), 0);
}

struct waits {
	struct weft_wg *gate;
	int *through;
};

static int
waits(struct waits *a)
{
	EXPECT_EQ(weft_wg_wait(a->gate), 0);
	add(a->through, 1);
	return 0;
}

static int
many_waiters(void)
{
	for (int round = 0; round < 3; round++) {
		struct weft_wg gate = {0}, all = {0};
		int through = 0, n = scaled(2000);

		weft_wg_add(&gate, 1);
		for (int i = 0; i < n; i++)
			EXPECT(weft_wg_go(&all, waits, &gate, &through) > 0);
		for (int i = 0; i < 100; i++)
			weft_yield();
		EXPECT_EQ(load(&through), 0);
		weft_wg_done(&gate);
		EXPECT_EQ(weft_wg_wait(&all), 0);
		EXPECT_EQ(load(&through), n);
		EXPECT_EQ(gate.word_, 0);
	}
	return 0;
}

/* WAIT-3 */
TEST(all_waiters_of_one_group_are_woken)
{
	EXPECT_EQ(weft_run(many_waiters), 0);
}

struct waits_at_own {
	struct weft_wg *gates;
	int i;
	int *through;
};

static int
waits_at_own(struct waits_at_own *a)
{
	EXPECT_EQ(weft_wg_wait(&a->gates[a->i]), 0);
	EXPECT_EQ(add(a->through, 1), a->i + 1);
	return 0;
}

/* More groups than the table has buckets: each wake must find its own waiter and no other. */
static int
many_groups(void)
{
	enum { N = 1000 };
	static struct weft_wg gates[N];
	struct weft_wg all = {0};
	int through = 0;

	for (int i = 0; i < N; i++) {
		weft_wg_add(&gates[i], 1);
		EXPECT(weft_wg_go(&all, waits_at_own, gates, i, &through) > 0);
	}
	for (int i = 0; i < N; i++) {
		while (load(&through) < i)
			weft_yield();
		weft_wg_done(&gates[i]);
	}
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

TEST(waiters_of_different_groups_do_not_mix)
{
	EXPECT_EQ(weft_run(many_groups), 0);
}

static struct weft_wg shared_wg;

static void *
done_from_thread(void *arg)
{
	(void)arg;
	weft_wg_done(&shared_wg);
	return NULL;
}

static void *
wait_from_thread(void *arg)
{
	EXPECT_EQ(weft_wg_wait(&shared_wg), 0);
	add((int *)arg, 1);
	return NULL;
}

static int
mixed_with_threads(void)
{
	for (int round = 0; round < scaled(60); round++) {
		pthread_t t[6];
		int through = 0;

		weft_wg_add(&shared_wg, 3);
		for (int i = 0; i < 3; i++)
			t[i] = start_thread(wait_from_thread, &through);
		for (int i = 3; i < 6; i++)
			t[i] = start_thread(done_from_thread, NULL);
		EXPECT_EQ(weft_wg_wait(&shared_wg), 0);
		for (int i = 0; i < 6; i++)
			join_thread(t[i]);
		EXPECT_EQ(through, 3);
		EXPECT_EQ(shared_wg.word_, 0);
	}
	return 0;
}

TEST(plain_threads_count_down_and_wait)
{
	EXPECT_EQ(weft_run(mixed_with_threads), 0);
}

static int
too_many_dones(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&wg, 1);
	weft_wg_done(&wg);
	weft_wg_done(&wg);
	return 0;
}

static void
child_negative(void)
{
	weft_run(too_many_dones);
}

static void
child_beyond(void)
{
	struct weft_wg wg = {0};

	weft_wg_add(&wg, INT64_MIN); /* twice that is 0 */
}

TEST(a_counter_beyond_what_it_can_count_is_fatal)
{
	EXPECT_HAS(expect_dies(child_beyond, "fatal: wait group counter"), "2^61");
}

TEST(negative_counter_is_fatal)
{
	const char *out = expect_dies(child_negative, "fatal: negative wait group counter");

	EXPECT_HAS(out, "goroutine 1 [running]");
}

static int
free_after_wait(void)
{
	for (int i = 0; i < scaled(20000); i++) {
		struct weft_wg *wg = calloc(1, sizeof(*wg));
		int n = 0;

		EXPECT(weft_wg_go(wg, bumps, &n) > 0);
		EXPECT(weft_wg_go(wg, bumps, &n) > 0);
		EXPECT_EQ(weft_wg_wait(wg), 0);
		EXPECT_EQ(n, 2);
		memset(wg, 0xff, sizeof(*wg));
		free(wg);
	}
	return 0;
}

/* WG-1, SYNC-1 */
TEST(group_may_be_freed_right_after_wait)
{
	EXPECT_EQ(weft_run(free_after_wait), 0);
}

struct two_waiters {
	struct weft_wg *wg;
	int *left;
};

static int
two_waiters(struct two_waiters *a)
{
	EXPECT_EQ(weft_wg_wait(a->wg), 0);
	if (add(a->left, -1) == 0) {
		memset(a->wg, 0xff, sizeof(*a->wg));
		free(a->wg);
	}
	return 0;
}

static int
last_waiter_frees(void)
{
	struct weft_wg all = {0};

	for (int i = 0; i < scaled(5000); i++) {
		struct weft_wg *wg = calloc(1, sizeof(*wg));
		int left = 3, n = 0;

		EXPECT(weft_wg_go(wg, bumps, &n) > 0);
		for (int k = 0; k < 3; k++)
			EXPECT(weft_wg_go(&all, two_waiters, wg, &left) > 0);
		EXPECT_EQ(weft_wg_wait(&all), 0);
		EXPECT_EQ(n, 1);
	}
	return 0;
}

/* WG-2 */
TEST(the_last_of_several_waiters_may_free)
{
	EXPECT_EQ(weft_run(last_waiter_frees), 0);
}

/* ---- those that end one after the other, on one stack */

enum { WAYS = 5 };

struct ends {
	int way;
	weft_chan(int) gate;
	int *ended;
};

static int
ends(struct ends *a)
{
	int v;

	if (a->way == 1)
		weft_yield();
	else if (a->way == 2)
		EXPECT_EQ(weft_recv(a->gate, &v), 0);
	else if (a->way == 3)
		weft_sleep(20 * WEFT_US);
	add(a->ended, 1);
	if (a->way == 4)
		weft_exit(0);
	return 0;
}

/* Of two groups, and of none; some stay, move or leave in the middle of a row. */
static int
ends_in_rows(void)
{
	for (int round = 0; round < scaled(400); round++) {
		weft_chan(int) gate = weft_make(int, 0);
		struct weft_wg wg[3] = {{0}};
		int ended[3] = {0}, started[3] = {0}, row = 1 + round % 7;

		for (int i = 0; i < 600; i++) {
			int k = i / row % 3, way = i % 97 < WAYS ? i % 97 : 0;

			started[k]++;
			if (k == 2)
				EXPECT(weft_go(ends, 0, NULL, &ended[k]) > 0);
			else
				EXPECT(weft_wg_go(&wg[k], ends, way, gate, &ended[k]) > 0);
		}
		EXPECT_EQ(weft_close(gate), 0);
		for (int k = 0; k < 2; k++) {
			EXPECT_EQ(weft_wg_wait(&wg[k]), 0);
			EXPECT_EQ(load(&ended[k]), started[k]);
			EXPECT_EQ(wg[k].word_, 0);
		}
		while (load(&ended[2]) < started[2])
			weft_yield();
		weft_free(gate);
	}
	return 0;
}

TEST(ends_in_a_row_are_all_counted)
{
	EXPECT_EQ(weft_run(ends_in_rows), 0);
}

/* ---- a counted goroutine may take its own share back, and goes on uncounted */

struct counts_itself {
	struct weft_wg *wg;
	weft_chan(int) gate;
};

static int
counts_itself(struct counts_itself *a)
{
	int v;

	weft_wg_done(a->wg);
	EXPECT_EQ(weft_recv(a->gate, &v), 0);
	weft_wg_add(a->wg, 1);
	return 0;
}

static int
nothing_much(void)
{
	return 0;
}

static int
waits_without_it(void)
{
	weft_chan(int) gate = weft_make(int, 0);
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, nothing_much) > 0);
	EXPECT(weft_wg_go(&wg, counts_itself, &wg, gate) > 0);
	EXPECT(weft_wg_go(&wg, nothing_much) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_close(gate), 0);
	while (weft_count() > 1)
		weft_yield();
	EXPECT_EQ(wg.word_, 0);
	weft_free(gate);
	return 0;
}

TEST(who_counts_itself_out_early_is_not_waited_for)
{
	EXPECT_EQ(weft_run(waits_without_it), 0);
}

static int
chain(void)
{
	struct weft_wg a = {0}, b = {0};

	weft_wg_add(&a, 1);
	weft_wg_add(&b, 1);
	return 0;
}

TEST(group_needs_no_clean_up)
{
	EXPECT_EQ(weft_run(chain), 0);
	EXPECT_EQ(weft_run(chain), 0);
}
