/* SPDX-License-Identifier: MIT */
/* t_group.c: groups join on every way out, the first error wins, limits hold; clean-ups. */
#include "integ/waiting.h"

#include <errno.h>
#include <fcntl.h>

struct counts {
	int *n;
	int yields;
};

static int
counts(struct counts *a)
{
	for (int i = 0; i < a->yields; i++)
		weft_yield();
	add(a->n, 1);
	return 0;
}

static int
nothing(void)
{
	return 0;
}

/* ---- every way out joins */

static void
start_ten(struct weft_group *g, int *n)
{
	for (int i = 0; i < 10; i++)
		EXPECT(weft_go_in(g, counts, n, i) > 0);
}

static int
by_return(int *n)
{
	weft_group(g, NULL) {
		start_ten(g, n);
		return 42;
	}
	return 0;
}

static void
by_goto(int *n)
{
	weft_group(g, NULL) {
		start_ten(g, n);
		goto out;
	}
	EXPECT(false);
out:
	EXPECT_EQ(load(n), 10);
}

static int
return_through_two(int *n)
{
	weft_group(g, NULL) {
		start_ten(g, n);
		weft_timeout(INT64_MAX) {
			weft_group(h, NULL) {
				start_ten(h, n);
				weft_shield return 43;
			}
		}
	}
	return 0;
}

static int
ways_out(void)
{
	int n = 0, loops = 0;

	weft_group(g, NULL)
		start_ten(g, &n);
	EXPECT_EQ(load(&n), 10);
	for (int i = 0; i < 3; i++) { /* break and continue end the scope, the loop goes on */
		n = 0;
		weft_group(g, NULL) {
			start_ten(g, &n);
			if (i == 0)
				break;
			if (i == 1)
				continue;
			loops += 100;
		}
		EXPECT_EQ(load(&n), 10);
		loops++;
	}
	EXPECT_EQ(loops, 103);
	n = 0;
	EXPECT_EQ(by_return(&n), 42);
	EXPECT_EQ(load(&n), 10);
	n = 0;
	by_goto(&n);
	n = 0;
	EXPECT_EQ(return_through_two(&n), 43);
	EXPECT_EQ(load(&n), 20);
	return 0;
}

TEST(every_way_out_of_the_block_joins)
{
	EXPECT_EQ(weft_run(ways_out), 0);
}

static int
other_scopes(void)
{
	int n = 0;

	for (int i = 0; i < 4; i++) {
		weft_timeout(-1) {
			EXPECT(weft_cancelled());
			if (i == 0)
				break;
			if (i == 1)
				continue;
			weft_shield
			{
				EXPECT(!weft_cancelled());
				if (i == 2)
					break;
				n += 10;
			}
			n += 100;
		}
		EXPECT(!weft_cancelled());
		n++;
	}
	EXPECT_EQ(n, 4 + 200 + 10);
	weft_deadline(INT64_MAX)
		EXPECT(!weft_cancelled());
	for (int i = 0; i < 3; i++)
		weft_shield if (i == 1) goto out;
	EXPECT(false);
out:
	EXPECT(!weft_cancelled());
	return 0;
}

TEST(scopes_are_left_by_break_continue_and_goto)
{
	EXPECT_EQ(weft_run(other_scopes), 0);
}

static int
empty_groups(void)
{
	for (int i = 0; i < 1000; i++) {
		int rc = 5;

		weft_group(g, &rc)
			EXPECT_EQ(rc, 5); /* "rc is written when the block has been left" */
		EXPECT_EQ(rc, 0);
	}
	return 0;
}

TEST(empty_group_is_left_at_once)
{
	EXPECT_EQ(weft_run(empty_groups), 0);
}

struct tree {
	int depth;
	int64_t *leaves;
};

static int
tree(struct tree *a)
{
	int64_t mine[3] = {0, 0, 0};
	int rc = 0;

	if (a->depth == 0) {
		*a->leaves = 1;
		return 0;
	}
	weft_group(g, &rc)
		for (int i = 0; i < 3; i++)
			weft_go_in(g, tree, a->depth - 1, &mine[i]);
	*a->leaves = mine[0] + mine[1] + mine[2];
	return rc;
}

static int
nested(void)
{
	int64_t leaves = 0;
	int depth = TEST_SLOW > 1 ? 6 : 9, want = 1;

	for (int i = 0; i < depth; i++)
		want *= 3;
	for (int i = 0; i < 3; i++) {
		weft_group(g, NULL)
			weft_go_in(g, tree, depth, &leaves);
		EXPECT_EQ(leaves, want);
	}
	return 0;
}

TEST(groups_nest)
{
	EXPECT_EQ(weft_run(nested), 0);
}

struct adds_more {
	struct weft_group *g;
	int left;
	int *n;
};

/* The group is passed on: children start siblings. */
static int
adds_more(struct adds_more *a)
{
	add(a->n, 1);
	if (a->left > 0) {
		EXPECT(weft_go_in(a->g, adds_more, a->g, a->left - 1, a->n) > 0);
		EXPECT(weft_go_in(a->g, adds_more, a->g, a->left - 1, a->n) > 0);
	}
	return 0;
}

static int
passed_on(void)
{
	for (int i = 0; i < 10; i++) {
		int n = 0;

		weft_group(g, NULL)
			weft_go_in(g, adds_more, g, 8, &n);
		EXPECT_EQ(n, 511);
	}
	return 0;
}

TEST(children_may_start_siblings)
{
	EXPECT_EQ(weft_run(passed_on), 0);
}

static int
frames(void)
{
	for (int i = 0; i < scaled(20000); i++) { /* the record is gone with the block: GROUP-1 */
		int n = 0, rc = 1;

		weft_group(g, &rc) {
			weft_go_in(g, counts, &n, 0);
			weft_go_in(g, counts, &n, 0);
			if (i % 2)
				weft_yield();
		}
		EXPECT_EQ(n, 2);
		EXPECT_EQ(rc, 0);
		volatile char scribble[512];
		for (size_t k = 0; k < sizeof(scribble); k++)
			scribble[k] = (char)0xee;
	}
	return 0;
}

TEST(record_of_a_group_is_not_touched_after_the_join)
{
	EXPECT_EQ(weft_run(frames), 0);
}

/* ---- results */

struct returns {
	int rc;
	int *gate;
	bool exits;
};

static int
returns(struct returns *a)
{
	while (a->gate && !load(a->gate))
		weft_yield();
	if (a->exits)
		weft_exit(a->rc);
	return a->rc;
}

struct waits {
	weft_chan(int) ch;
	int *result;
};

static int
waits(struct waits *a)
{
	*a->result = weft_recv(a->ch, NULL);
	return *a->result;
}

static int
results(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	for (int exits = 0; exits < 2; exits++) {
		int rc = 0, gate = 0, seen[5] = {0};

		weft_group(g, &rc) { /* positive results are no errors */
			weft_go_in(g, returns, 7, NULL, exits);
			weft_go_in(g, returns, 0, NULL, exits);
		}
		EXPECT_EQ(rc, 0);
		weft_group(g, &rc) { /* the first error stays */
			weft_go_in(g, returns, -EIO, NULL, exits);
			while (!weft_cancelled())
				weft_yield();
			weft_go_in(g, returns, -EBADF, NULL, exits);
		}
		EXPECT_EQ(rc, -EIO);
		rc = 0;
		weft_group(g, &rc) { /* siblings are cancelled, and their error comes second */
			for (int i = 0; i < 5; i++)
				weft_go_in(g, waits, ch, &seen[i]);
			await_receivers(ch, 5);
			weft_go_in(g, returns, -ENOSPC, NULL, exits);
		}
		EXPECT_EQ(rc, -ENOSPC);
		for (int i = 0; i < 5; i++)
			EXPECT_EQ(seen[i], -ECANCELED);
		weft_group(g, NULL) /* nobody wants to know */
			weft_go_in(g, returns, -EIO, NULL, exits);
		rc = 1;
		weft_group(g, &rc) {
			weft_go_in(g, returns, -EIO, &gate, exits);
			for (int i = 0; i < 5; i++)
				weft_yield();
			EXPECT_EQ(rc, 1);
			store(&gate, 1);
			while (!weft_cancelled())
				weft_yield();
			EXPECT_EQ(rc, 1);
		}
		EXPECT_EQ(rc, -EIO);
		weft_group(g, &rc)
			weft_cancel(g); /* a cancel is no error by itself */
		EXPECT_EQ(rc, 0);
	}
	weft_free(ch);
	return 0;
}

TEST(first_error_wins_and_cancels_the_siblings)
{
	EXPECT_EQ(weft_run(results), 0);
}

struct inner {
	int *rc;
};

static int
inner(struct inner *a)
{
	weft_group(g, a->rc)
		weft_go_in(g, returns, -EIO);
	return 0;
}

static int
errors_stay_inside(void)
{
	int outer = 0, in = 0;

	weft_group(g, &outer) {
		weft_go_in(g, inner, &in);
		while (load(&in) == 0)
			weft_yield();
		EXPECT(!weft_cancelled());
	}
	EXPECT_EQ(in, -EIO);
	EXPECT_EQ(outer, 0);
	return 0;
}

TEST(error_of_an_inner_group_stays_there)
{
	EXPECT_EQ(weft_run(errors_stay_inside), 0);
}

static int
many_failures(void)
{
	for (int round = 0; round < scaled(500); round++) {
		int rc = 0, gate = 0;

		weft_group(g, &rc) {
			for (int i = 1; i <= 8; i++)
				weft_go_in(g, returns, -i, &gate, i % 2);
			store(&gate, 1);
		}
		EXPECT(rc <= -1 && rc >= -8);
	}
	return 0;
}

TEST(failures_at_once_leave_one_error)
{
	EXPECT_EQ(weft_run(many_failures), 0);
}

/* ---- weft_exit */

static int
exits_in_a_group(void)
{
	weft_group(g, NULL) {
		weft_timeout(INT64_MAX)
			weft_exit(3); /* the group is named, not the timeout */
	}
	return 0;
}

static void
child_exits_in_a_group(void)
{
	weft_run(exits_in_a_group);
}

/* "with an open group fatal (names its file:line)" */
TEST(exit_in_an_open_group_is_fatal)
{
	const char *out =
	    expect_dies(child_exits_in_a_group, "fatal: weft_exit inside the group opened at ");
	char where[64];
	int line = 0;

	for (line = 1; line < 2000; line++) { /* where the macro stands: above this function */
		snprintf(where, sizeof(where), "t_group.c:%d", line);
		if (strstr(out, where))
			break;
	}
	EXPECT_HAS(out, "t_group.c:");
	EXPECT(line < __LINE__);
}

static int
exits_in_scopes(void)
{
	weft_timeout(INT64_MAX)
		weft_shield weft_timeout(-1) weft_exit(0);
	return 0;
}

static int
asks(void)
{
	EXPECT(!weft_cancelled());
	return 0;
}

static int
other_scopes_are_popped(void)
{
	int rc = 1;

	for (int i = 0; i < 100; i++) {
		weft_group(g, &rc) {
			weft_go_in(g, exits_in_scopes);
			weft_go_in(g, asks);
		}
		EXPECT_EQ(rc, 0);
		weft_go(exits_in_scopes);
		weft_go(asks);
	}
	while (weft_count() > 1)
		weft_yield();
	return 0;
}

TEST(exit_pops_other_scopes)
{
	EXPECT_EQ(weft_run(other_scopes_are_popped), 0);
}

static int
exit_counts_down(void)
{
	weft_chan(int) ch = weft_make(int, 1);

	for (int i = 0; i < scaled(500); i++) {
		int rc = 1;

		EXPECT_EQ(weft_send(ch, 1), 0);
		weft_group(g, &rc)
			for (int k = 0; k < 8; k++)
				weft_go_in(g, returns, .rc = k, .exits = true);
		EXPECT_EQ(rc, 0);
		EXPECT_EQ(weft_recv(ch, NULL), 1);
	}
	weft_free(ch);
	return 0;
}

TEST(exit_in_a_child_counts_it_down)
{
	EXPECT_EQ(weft_run(exit_counts_down), 0);
}

struct parks_and_exits {
	weft_chan(int) ch;
};

static int
parks_and_exits(struct parks_and_exits *a)
{
	EXPECT_EQ(weft_recv(a->ch, NULL), 1); /* known to its group from here on */
	weft_exit(0);
}

static int
exit_after_a_wait(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	for (int i = 0; i < scaled(500); i++) {
		weft_group(g, NULL) {
			for (int k = 0; k < 4; k++)
				weft_go_in(g, parks_and_exits, ch);
			for (int k = 0; k < 4; k++)
				EXPECT_EQ(weft_send(ch, 1), 0);
			if (i % 2)
				weft_cancel(g);
		}
	}
	weft_free(ch);
	return 0;
}

TEST(exit_leaves_the_tree)
{
	EXPECT_EQ(weft_run(exit_after_a_wait), 0);
}

/* ---- limits */

struct limited {
	int *now, *most, *n;
	int yields;
	int rc;
};

static int
limited(struct limited *a)
{
	int now = add(a->now, 1), most = load(a->most);

	while (now > most && !__atomic_compare_exchange_n(a->most, &most, now, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (int i = 0; i < a->yields; i++)
		weft_yield();
	add(a->now, -1);
	add(a->n, 1);
	return a->rc;
}

static int
never_above(void)
{
	uint64_t r = test_seed();

	for (int limit = 1; limit <= 8; limit++) {
		int now = 0, most = 0, n = 0, want = scaled(1500), rc = 1;

		weft_group(g, &rc) {
			EXPECT_EQ(weft_group_limit(g, limit), 0);
			for (int i = 0; i < want; i++)
				EXPECT(weft_go_in(g, limited, &now, &most, &n,
						  (int)(test_rand(&r) % 4)) > 0);
		}
		EXPECT_EQ(n, want);
		EXPECT_EQ(rc, 0);
		EXPECT(most <= limit);
	}
	return 0;
}

/* "at most n children at once; weft_go_in then waits" */
TEST(limit_is_never_exceeded)
{
	EXPECT_EQ(weft_run(never_above), 0);
}

struct spawner {
	struct weft_group *g;
	int *now, *most, *n;
	int times;
};

static int
spawner(struct spawner *a)
{
	for (int i = 0; i < a->times; i++)
		EXPECT(weft_go_in(a->g, limited, a->now, a->most, a->n, i % 3) > 0);
	return 0;
}

static int
many_spawners(void)
{
	int now = 0, most = 0, n = 0, times = scaled(400);

	weft_group(g, NULL) {
		struct weft_wg spawners = {0};

		EXPECT_EQ(weft_group_limit(g, 3), 0);
		for (int i = 0; i < 6; i++)
			weft_wg_go(&spawners, spawner, g, &now, &most, &n, times);
		EXPECT_EQ(weft_wg_wait(&spawners), 0);
	}
	EXPECT_EQ(n, 6 * times);
	EXPECT(most <= 3);
	return 0;
}

TEST(limit_holds_with_several_spawners)
{
	EXPECT_EQ(weft_run(many_spawners), 0);
}

static int
limit_and_failure(void)
{
	for (int round = 0; round < scaled(100); round++) {
		int now = 0, most = 0, n = 0, rc = 0, refused = 0, started = 0;

		weft_group(g, &rc) {
			EXPECT_EQ(weft_group_limit(g, 2), 0);
			for (int i = 0; i < 50; i++) {
				int64_t id =
				    weft_go_in(g, limited, &now, &most, &n, 5, i == 10 ? -EIO : 0);

				EXPECT(id > 0 || id == -ECANCELED);
				if (id > 0)
					started++;
				else
					refused++;
			}
		}
		EXPECT_EQ(rc, -EIO);
		EXPECT_EQ(n, started);
		EXPECT_EQ(started + refused, 50);
		EXPECT(most <= 2);
	}
	return 0;
}

TEST(waiting_for_a_slot_ends_with_the_group)
{
	EXPECT_EQ(weft_run(limit_and_failure), 0);
}

static int
limit_arguments(void)
{
	int gate = 0;

	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, -1), -EINVAL);
		EXPECT_EQ(weft_group_limit(g, INT32_MIN), -EINVAL);
		EXPECT_EQ(weft_group_limit(g, 5), 0);
		EXPECT_EQ(weft_group_limit(g, 1), 0); /* changed while nobody is there */
		EXPECT(weft_go_in(g, returns, 0, &gate) > 0);
		weft_timeout(0)
			EXPECT_EQ(weft_go_in(g, nothing), -ETIMEDOUT);
		store(&gate, 1);
		EXPECT(weft_go_in(g, nothing) > 0);
	}
	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, INT32_MAX), 0);
		for (int i = 0; i < 100; i++)
			EXPECT(weft_go_in(g, nothing) > 0);
	}
	return 0;
}

TEST(limit_refuses_nonsense)
{
	EXPECT_EQ(weft_run(limit_arguments), 0);
}

/* A spawn that fails gives its slot back. */
static int
failed_spawn(void)
{
	static struct weft_site none = {.name = "none"};

	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, 1), 0);
		for (int i = 0; i < 10; i++)
			EXPECT_EQ(weft_spawn_in(&none, NULL, g, NULL, 0), -EINVAL);
		EXPECT(weft_go_in(g, nothing) > 0);
	}
	weft_group(g, NULL)
		for (int i = 0; i < 10; i++)
			EXPECT_EQ(weft_spawn_in(&none, NULL, g, NULL, 0), -EINVAL);
	return 0;
}

TEST(failed_spawn_takes_no_slot)
{
	EXPECT_EQ(weft_run(failed_spawn), 0);
}

/* ---- misuse */

static int
left_out_of_order(void)
{
	struct weft_group g;
	struct weft_scope s;

	weft_group_open(&g, NULL, "here:1");
	weft_scope_open_shield(&s);
	weft_group_close(&g);
	return 0;
}

static int
left_by_another(void)
{
	struct weft_scope s, t;

	weft_scope_open_shield(&s);
	weft_scope_open_shield(&t);
	weft_scope_close(&s);
	return 0;
}

static void
child_out_of_order(void)
{
	weft_run(left_out_of_order);
}

static void
child_left_by_another(void)
{
	weft_run(left_by_another);
}

TEST(scopes_left_out_of_order_are_fatal)
{
	expect_dies(child_out_of_order, "fatal: the group opened at here:1 was left out of order");
	expect_dies(child_left_by_another, "fatal: a scope was left out of order");
}

/* ---- clean-up at the end of a block */

static char order[32];

static void
note(const char *what)
{
	strcat(order, what);
}

static int
returns_int(int *p)
{
	*p += 1;
	return *p;
}

static int
deferred(int how)
{
	int n = 0;

	order[0] = 0;
	for (int i = 0; i < 2; i++) {
		const char *text = "a";

		weft_defer(note, text);
		text = "x"; /* evaluated when it was deferred */
		weft_defer(note, "b");
		weft_defer(returns_int, &n);
		if (how == 1)
			break;
		if (how == 2)
			return n;
		if (how == 3)
			goto out;
		note("-");
	}
out:
	EXPECT_EQ(n, how == 0 ? 2 : 1);
	return n;
}

static int
defers(void)
{
	EXPECT_EQ(deferred(0), 2);
	EXPECT(strcmp(order, "-ba-ba") == 0); /* last in, first out */
	EXPECT_EQ(deferred(1), 1);
	EXPECT(strcmp(order, "ba") == 0);
	EXPECT_EQ(deferred(2), 0); /* the value was computed before */
	EXPECT(strcmp(order, "ba") == 0);
	EXPECT_EQ(deferred(3), 1);
	EXPECT(strcmp(order, "ba") == 0);
	return 0;
}

TEST(deferred_calls_run_at_the_end_of_the_block)
{
	EXPECT_EQ(weft_run(defers), 0);
	EXPECT_EQ(defers(), 0); /* no runtime needed */
}

static int children_ended;

static void
children_must_have_ended(int *n)
{
	EXPECT_EQ(load(&children_ended), *n);
	note("d");
}

static int
defer_and_group(void)
{
	int want = 3;

	order[0] = 0;
	children_ended = 0;
	{
		weft_chan(int) ch = weft_make(int, 1);

		weft_defer(weft_free, ch); /* after the group that uses it */
		weft_defer(children_must_have_ended, &want);
		weft_group(g, NULL) {
			int none = 0;

			weft_defer(note, "c"); /* before the join */
			for (int i = 0; i < 3; i++)
				weft_go_in(g, counts, &children_ended, i + 3);
			(void)none;
		}
	}
	EXPECT(strcmp(order, "cd") == 0);
	return 0;
}

TEST(clean_ups_and_joins_run_inside_out)
{
	EXPECT_EQ(weft_run(defer_and_group), 0);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(autofd_closes_and_autofree_frees)
{
	int ends[2], kept, none_seen = 0;

	EXPECT_EQ(pipe(ends), 0);
	for (int i = 0; i < 2; i++) {
		weft_autofd int fd = ends[i];
		weft_autofd int none = -1;
		weft_autofree char *p = malloc(100); /* a leak would be seen by ASan */
		weft_autofree void *nil = NULL;

		p[0] = (char)fd;
		EXPECT(is_open(fd));
		none_seen += none == -1 && !nil;
	}
	EXPECT_EQ(none_seen, 2);
	EXPECT(!is_open(ends[0]));
	EXPECT(!is_open(ends[1]));
	EXPECT_EQ(pipe(ends), 0);
	{
		weft_autofd int fd = ends[0];
		weft_autofree int *moved = malloc(sizeof(int));
		int *p = moved;

		kept = fd;
		fd = -1; /* taken out: stays open */
		moved = NULL;
		free(p);
	}
	EXPECT(is_open(kept));
	close(ends[0]);
	close(ends[1]);
}
