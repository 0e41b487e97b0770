/* SPDX-License-Identifier: MIT */
/* t_cancel.c: cancellation and deadlines end every kind of wait, once, and lose nothing. fence-mode */
#include "integ/waitcalls.h"

#include <errno.h>

/* ---- the kinds of wait: those of waitcalls.h, and */

static int
receives_nothing(void)
{
	return weft_recv(empty, NULL);
}

static int
selects_one(void)
{
	int v;

	return weft_select(WEFT_RECV(empty, &v));
}

static int
selects(void)
{
	int v;

	return weft_select(WEFT_RECV(empty, &v), WEFT_SEND(full, 2), WEFT_RECV(empty, NULL),
			   WEFT_SEND((weft_chan(int))NULL, 3));
}

static int
selects_nil(void)
{
	return weft_select(WEFT_RECV((weft_chan(int))NULL, NULL));
}

struct keeps_slot {
	weft_chan(int) gate;
};

static int
keeps_slot(struct keeps_slot *a)
{
	weft_shield EXPECT_EQ(weft_recv(a->gate, NULL), 0);
	return 0;
}

static int
waits_for_a_slot(void)
{
	weft_chan(int) gate = weft_make(int, 0);
	int64_t id = 0;

	weft_group(g, NULL) {
		EXPECT_EQ(weft_group_limit(g, 2), 0);
		EXPECT(weft_go_in(g, keeps_slot, gate) > 0);
		EXPECT(weft_go_in(g, keeps_slot, gate) > 0);
		id = weft_go_in(g, keeps_slot, gate);
		weft_close(gate);
	}
	weft_free(gate);
	return (int)id;
}

struct kind {
	const char *name;
	int (*wait)(void);
	enum wf_reason why;
};

static const struct kind kinds[] = {
    {"recv", receives, WF_WAIT_RECV},
    {"recv NULL", receives_nothing, WF_WAIT_RECV},
    {"send", sends, WF_WAIT_SEND},
    {"select of one", selects_one, WF_WAIT_SELECT},
    {"select", selects, WF_WAIT_SELECT},
    {"recv of nil", receives_nil, WF_WAIT_NIL_RECV},
    {"send to nil", sends_nil, WF_WAIT_NIL_SEND},
    {"empty select", selects_nothing, WF_WAIT_NO_CASE},
    {"select of nil", selects_nil, WF_WAIT_NO_CASE},
    {"wait group", waits_for_wg, WF_WAIT_WG},
    {"end of group", waits_for_children, WF_WAIT_GROUP},
    {"group limit", waits_for_a_slot, WF_WAIT_LIMIT},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- every kind, by every way */

struct child {
	const struct kind *kind;
	int *result;
};

static int
child(struct child *a)
{
	int rc = a->kind->wait();

	EXPECT(weft_cancelled());
	/* cancelled stays cancelled: the next one does not even sleep */
	EXPECT_EQ(a->kind->wait(), -ECANCELED);
	store(a->result, rc);
	return rc;
}

static int
cancel_parked_children(void)
{
	set_up_waits();
	for (int k = 0; k < KINDS; k++) {
		int results[8] = {0}, rc = 0;

		weft_group(g, &rc) {
			for (int i = 0; i < 8; i++)
				EXPECT(weft_go_in(g, child, &kinds[k], &results[i]) > 0);
			await_waiting(kinds[k].why, 8);
			EXPECT(!weft_cancelled());
			EXPECT_EQ(weft_cancel(g), 0);
			EXPECT_EQ(weft_cancel(g), 0);
		}
		for (int i = 0; i < 8; i++)
			if (results[i] != -ECANCELED)
				test_fail(__FILE__, __LINE__, "%s: %d", kinds[k].name, results[i]);
		EXPECT_EQ(rc, -ECANCELED); /* that is what the children returned */
		EXPECT(!weft_cancelled());
	}
	tear_down_waits();
	return 0;
}

TEST(cancel_ends_every_kind_of_wait)
{
	EXPECT_EQ(weft_run(cancel_parked_children), 0);
}

static int
cancel_first(void)
{
	set_up_waits();
	for (int k = 0; k < KINDS; k++) {
		int results[8] = {0}, rc = 0;

		weft_group(g, &rc) {
			EXPECT_EQ(weft_cancel(g), 0);
			for (int i = 0; i < 8; i++)
				EXPECT(weft_go_in(g, child, &kinds[k], &results[i]) > 0);
			EXPECT_EQ(kinds[k].wait(), -ECANCELED); /* the body too */
		}
		for (int i = 0; i < 8; i++)
			EXPECT_EQ(results[i], -ECANCELED);
		EXPECT_EQ(rc, -ECANCELED);
	}
	tear_down_waits();
	return 0;
}

TEST(wait_in_a_cancelled_group_does_not_begin)
{
	EXPECT_EQ(weft_run(cancel_first), 0);
}

struct cancels_when {
	struct weft_group *g;
	enum wf_reason why;
	int rc;
};

static int
cancels_when(struct cancels_when *a)
{
	await_waiting(a->why, 1);
	if (a->rc == 0)
		EXPECT_EQ(weft_cancel(a->g), 0);
	return a->rc;
}

static int
body_waits(void)
{
	set_up_waits();
	for (int k = 0; k < KINDS; k++) {
		for (int fails = 0; fails < 2; fails++) {
			int rc = 1;

			weft_group(g, &rc) {
				if (fails)
					weft_go_in(g, cancels_when, g, kinds[k].why, -EIO);
				else
					weft_go(cancels_when, g, kinds[k].why, 0);
				EXPECT_EQ(kinds[k].wait(), -ECANCELED);
				EXPECT(weft_cancelled());
			}
			EXPECT_EQ(rc, fails ? -EIO : 0);
		}
	}
	tear_down_waits();
	return 0;
}

/* "the body belongs to the group: after a cancel or a failed child its blocking calls return
   -ECANCELED too" */
TEST(waiting_body_is_cancelled_too)
{
	EXPECT_EQ(weft_run(body_waits), 0);
}

static int
random_times(void)
{
	uint64_t r = test_seed();

	set_up_waits();
	for (int round = 0; round < scaled(400); round++) {
		int results[8] = {0}, rc = 0;

		weft_group(g, &rc) {
			for (int i = 0; i < 8; i++)
				weft_go_in(g, child, &kinds[test_rand(&r) % KINDS], &results[i]);
			for (uint64_t n = test_rand(&r) % 12; n > 0; n--)
				weft_yield();
			weft_cancel(g);
		}
		EXPECT_EQ(rc, -ECANCELED);
		for (int i = 0; i < 8; i++)
			EXPECT_EQ(results[i], -ECANCELED);
	}
	tear_down_waits();
	return 0;
}

/* WAIT-4 */
TEST(cancel_at_any_moment_is_seen)
{
	EXPECT_EQ(weft_run(random_times), 0);
}

static int
dies_of_nil(void)
{
	EXPECT_EQ(weft_recv((weft_chan(int))NULL, NULL), -ECANCELED);
	return 0;
}

static int
nil_and_gone(void)
{
	for (int round = 0; round < scaled(4000); round++) {
		weft_group(g, NULL) {
			for (int i = 0; i < 4; i++)
				weft_go_in(g, dies_of_nil);
			for (int n = round % 5; n > 0; n--)
				weft_yield();
			weft_cancel(g);
		}
	}
	return 0;
}

/* No queue's lock holds the sleeper back while its commit looks at the scopes. */
TEST(who_waits_for_nothing_may_be_gone_in_no_time)
{
	EXPECT_EQ(weft_run(nil_and_gone), 0);
}

/* ---- a wait that runs a child meanwhile */

struct held {
	weft_chan(int) gate;
};

static int
held(struct held *a)
{
	return a->gate ? weft_recv(a->gate, NULL) : 0;
}

/* One place that starts children and waits for them: the runtime learns to call them. */
static int
forks_and_joins(struct weft_wg *wg, weft_chan(int) gate)
{
	EXPECT(weft_wg_go(wg, held, gate) > 0);
	return weft_wg_wait(wg);
}

struct joins {
	struct weft_wg *wg;
	weft_chan(int) gate;
	int *result;
};

static int
joins(struct joins *a)
{
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(forks_and_joins(a->wg, NULL), 0);
	store(a->result, 1);
	store(a->result, forks_and_joins(a->wg, a->gate));
	return 0;
}

static int
cancel_who_runs_its_child(void)
{
	for (int round = 0; round < scaled(100); round++) {
		weft_chan(int) gate = weft_make(int, 0);
		struct weft_wg wg = {0};
		int result = 0;

		weft_group(g, NULL) {
			weft_go_in(g, joins, &wg, gate, &result);
			await_receivers(gate, 1);
			weft_cancel(g);
		}
		EXPECT_EQ(result, -ECANCELED);
		EXPECT_EQ(weft_close(gate), 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		weft_free(gate);
	}
	return 0;
}

/* The child is not of the group and goes on; who waits for it is. */
TEST(cancel_ends_the_wait_of_one_that_runs_its_child)
{
	EXPECT_EQ(weft_run(cancel_who_runs_its_child), 0);
}

static int
fork_and_join_group(weft_chan(int) gate)
{
	int rc = 0;

	weft_group(g, &rc)
		EXPECT(weft_go_in(g, held, gate) > 0);
	return rc;
}

static int
expires_who_runs_its_child(void)
{
	weft_chan(int) gate = weft_make(int, 0);

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(fork_and_join_group(NULL), 0);
	for (int i = 0; i < 20; i++) {
		weft_timeout(0)
			EXPECT_EQ(fork_and_join_group(gate), -ETIMEDOUT);
	}
	weft_free(gate);
	return 0;
}

TEST(deadline_ends_the_join_of_one_that_runs_its_child)
{
	EXPECT_EQ(weft_run(expires_who_runs_its_child), 0);
}

/* ---- what can be done at once is done */

static int
fast_paths(void)
{
	weft_chan(int) ch = weft_make(int, 4);
	struct weft_wg wg = {0};
	int v = 0, ok = 0;

	weft_group(g, NULL) {
		weft_cancel(g);
		EXPECT(weft_cancelled());
		for (int i = 0; i < 4; i++)
			EXPECT_EQ(weft_send(ch, i), 0);
		EXPECT_EQ(weft_send(ch, 4), -ECANCELED);
		EXPECT_EQ(weft_try_send(ch, 4), -EAGAIN);
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(weft_try_recv(ch, &v), 1);
		EXPECT_EQ(weft_select(WEFT_RECV(ch, &v, &ok)), 0);
		EXPECT_EQ(ok, 1);
		EXPECT_EQ(weft_select(WEFT_RECV((weft_chan(int))NULL, &v), WEFT_DEFAULT), 1);
		EXPECT_EQ(weft_recv(ch, &v), 1);
		EXPECT_EQ(v, 3);
		EXPECT_EQ(weft_recv(ch, &v), -ECANCELED);
		EXPECT_EQ(v, 3); /* untouched */
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		EXPECT_EQ(weft_close(ch), 0);
		EXPECT_EQ(weft_recv(ch, &v), 0);
		EXPECT_EQ(weft_send(ch, 1), -EPIPE);
		weft_yield();
	}
	EXPECT(!weft_cancelled());
	weft_free(ch);
	return 0;
}

TEST(fast_paths_do_not_look_at_scopes)
{
	EXPECT_EQ(weft_run(fast_paths), 0);
}

/* ---- trees */

struct level {
	int depth;
	int *parked;
	int *cancelled;
};

static int
level(struct level *a)
{
	int rc = 0;

	if (a->depth == 0) {
		add(a->parked, 1);
		rc = receives();
		EXPECT_EQ(rc, -ECANCELED);
		add(a->cancelled, 1);
		return 0;
	}
	weft_group(g, &rc) {
		weft_go_in(g, level, a->depth - 1, a->parked, a->cancelled);
		if (a->depth % 3 == 0)
			weft_go_in(g, level, 0, a->parked, a->cancelled);
	}
	return 0;
}

static int
deep_tree(void)
{
	set_up_waits();
	for (int round = 0; round < 4; round++) {
		int parked = 0, cancelled = 0;

		weft_group(g, NULL) {
			weft_go_in(g, level, 99, &parked, &cancelled);
			while (load(&parked) < 34)
				weft_yield();
			if (round % 2)
				await_receivers(empty, 34);
			EXPECT_EQ(load(&cancelled), 0);
			weft_cancel(g);
		}
		EXPECT_EQ(parked, 34);
		EXPECT_EQ(cancelled, 34);
	}
	tear_down_waits();
	return 0;
}

TEST(cancel_reaches_a_hundred_levels_down)
{
	EXPECT_EQ(weft_run(deep_tree), 0);
}

struct computes {
	int *parked, *seen;
};

/* Never waits itself: its children must be found without its help. */
static int
computes(struct computes *a)
{
	weft_group(g, NULL) {
		for (int i = 0; i < 5; i++)
			weft_go_in(g, level, 0, a->parked, a->seen);
		while (!weft_cancelled())
			weft_checkpoint();
	}
	return 0;
}

static int
computing_parents(void)
{
	set_up_waits();
	for (int round = 0; round < scaled(20); round++) {
		int parked = 0, seen = 0;

		weft_group(g, NULL) {
			for (int i = 0; i < 4; i++)
				weft_go_in(g, computes, &parked, &seen);
			while (load(&parked) < 20)
				weft_yield();
			weft_cancel(g);
		}
		EXPECT_EQ(seen, 20);
	}
	tear_down_waits();
	return 0;
}

TEST(grandchildren_are_reached_while_their_parent_computes)
{
	EXPECT_EQ(weft_run(computing_parents), 0);
}

static int
wide_tree(void)
{
	int parked = 0, cancelled = 0, n = scaled(2000);

	set_up_waits();
	weft_group(g, NULL) {
		for (int i = 0; i < n; i++)
			weft_go_in(g, level, i % 3 ? 0 : 1, &parked, &cancelled);
		while (load(&parked) < n)
			weft_yield();
		weft_cancel(g);
	}
	EXPECT_EQ(cancelled, n);
	tear_down_waits();
	return 0;
}

TEST(cancel_reaches_thousands_of_children)
{
	EXPECT_EQ(weft_run(wide_tree), 0);
}

/* A tree of groups, each cancelled by somebody else, in any order. */
enum { NODES = 120 };
static struct weft_group *nodes[NODES];
static int nodes_open, nodes_gone;

struct node {
	int i;
};

static int
node(struct node *a)
{
	weft_group(g, NULL) {
		store(&nodes[a->i], g);
		for (int kid = 3 * a->i + 1; kid <= 3 * a->i + 3 && kid < NODES; kid++)
			weft_go_in(g, node, kid);
		add(&nodes_open, 1);
		EXPECT_EQ(receives(), -ECANCELED);
		weft_shield /* a group may be cancelled as long as it is open */
		    while (!load(&nodes_gone)) weft_yield();
	}
	return 0;
}

struct canceller {
	uint64_t seed;
};

static int
canceller(struct canceller *a)
{
	uint64_t r = a->seed;

	for (int i = 0; i < NODES; i++)
		EXPECT_EQ(weft_cancel(load(&nodes[test_rand(&r) % NODES])), 0);
	return 0;
}

static int
many_cancels(void)
{
	uint64_t r = test_seed();

	set_up_waits();
	for (int round = 0; round < scaled(40); round++) {
		struct weft_wg cancellers = {0}, top = {0};

		nodes_open = nodes_gone = 0;
		weft_wg_go(&top, node, 0);
		while (load(&nodes_open) < NODES)
			weft_yield();
		for (int i = 0; i < 4; i++)
			weft_wg_go(&cancellers, canceller, test_rand(&r));
		EXPECT_EQ(weft_wg_wait(&cancellers), 0);
		EXPECT_EQ(weft_cancel(nodes[0]), 0);
		store(&nodes_gone, 1);
		EXPECT_EQ(weft_wg_wait(&top), 0);
	}
	tear_down_waits();
	return 0;
}

TEST(simultaneous_cancels_in_a_tree)
{
	EXPECT_EQ(weft_run(many_cancels), 0);
}

static int
inner_only(void)
{
	int outer_rc = 0, inner_rc = 0;

	set_up_waits();
	weft_group(outer, &outer_rc) {
		weft_chan(int) ch = weft_make(int, 0);

		weft_go_in(outer, held, ch);
		await_receivers(ch, 1);
		weft_group(inner, &inner_rc) {
			weft_go_in(inner, receives);
			await_waiting(WF_WAIT_RECV, 2);
			weft_cancel(inner);
			EXPECT(weft_cancelled());
		}
		EXPECT_EQ(inner_rc, -ECANCELED);
		EXPECT(!weft_cancelled());
		EXPECT_EQ(weft_send(ch, 1), 0); /* the outer one's child still waits */
		weft_free(ch);
	}
	EXPECT_EQ(outer_rc, 0);
	tear_down_waits();
	return 0;
}

TEST(cancel_goes_inwards_only)
{
	EXPECT_EQ(weft_run(inner_only), 0);
}

static int
returns_3(void)
{
	return 3;
}

static int
ignores(void)
{
	int v;

	weft_shield EXPECT_EQ(weft_recv(empty, &v), 1);
	return 0;
}

struct inner {
	int *rc, *left;
};

static int
inner(struct inner *a)
{
	weft_group(g, a->rc)
		weft_go_in(g, ignores);
	store(a->left, 1);
	return 0;
}

static int
join_is_patient(void)
{
	set_up_waits();
	for (int i = 0; i < scaled(100); i++) {
		int rc = 0, left = 0;

		weft_group(g, NULL) {
			weft_go_in(g, inner, &rc, &left);
			await_receivers(empty, 1);
			weft_cancel(g);
			for (int n = 0; n < 20; n++)
				weft_yield();
			EXPECT_EQ(load(&left), 0); /* its child is not over */
			weft_go(returns_3);
			EXPECT_EQ(weft_send(empty, 1), 0);
		}
		EXPECT_EQ(left, 1);
		EXPECT(rc == -ECANCELED || rc == 0);
	}
	tear_down_waits();
	return 0;
}

/* "The join that closes a group never returns early" */
TEST(join_goes_on_when_the_parent_is_cancelled)
{
	EXPECT_EQ(weft_run(join_is_patient), 0);
}

/* ---- shields */

static int
shielded_waits(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	weft_group(g, NULL) {
		weft_go(cancels_when, g, WF_WAIT_RECV, 0);
		EXPECT_EQ(weft_recv(ch, NULL), -ECANCELED);
		weft_shield
		{
			EXPECT(!weft_cancelled());
			weft_group(h, NULL) { /* as if it were at the root */
				EXPECT(!weft_cancelled());
				weft_go_in(h, held, ch);
				EXPECT_EQ(weft_send(ch, 1), 0);
			}
			weft_timeout(0) { /* opened inside: in force */
				EXPECT_EQ(weft_recv(ch, NULL), -ETIMEDOUT);
			}
			EXPECT(!weft_cancelled());
			weft_group(h, NULL) {
				weft_cancel(h);
				EXPECT_EQ(weft_recv(ch, NULL), -ECANCELED);
				weft_shield EXPECT(!weft_cancelled());
			}
			EXPECT(!weft_cancelled());
		}
		EXPECT(weft_cancelled());
		EXPECT_EQ(weft_recv(ch, NULL), -ECANCELED);
	}
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(shield_hides_what_is_outside_only)
{
	EXPECT_EQ(weft_run(shielded_waits), 0);
}

struct shielded {
	weft_chan(int) ch;
	int deep;
	int *got;
};

static int
shielded(struct shielded *a)
{
	int v = 0;

	if (a->deep) { /* a wait that scopes can end, though not the one that is cancelled */
		weft_shield weft_group(g, NULL) EXPECT_EQ(weft_recv(a->ch, &v), 1);
	} else {
		weft_shield EXPECT_EQ(weft_recv(a->ch, &v), 1);
	}
	EXPECT(weft_cancelled());
	EXPECT_EQ(receives_nil(), -ECANCELED);
	add(a->got, v);
	return 0;
}

static int
cancel_the_shielded(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	for (int round = 0; round < scaled(100); round++) {
		int got = 0;

		weft_group(g, NULL) {
			for (int i = 0; i < 10; i++)
				weft_go_in(g, shielded, ch, i % 2, &got);
			await_receivers(ch, 10);
			weft_cancel(g);
			for (int n = round % 4; n > 0; n--)
				weft_yield();
			for (int i = 0; i < 10; i++)
				weft_shield EXPECT_EQ(weft_send(ch, 1), 0);
		}
		EXPECT_EQ(got, 10);
	}
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(shielded_sleepers_are_not_woken)
{
	EXPECT_EQ(weft_run(cancel_the_shielded), 0);
}

/* ---- what weft_go and weft_go_in inherit */

struct plain {
	weft_chan(int) in, out;
	bool member;
};

static int
plain(struct plain *a)
{
	EXPECT_EQ(weft_cancelled(), a->member);
	EXPECT_EQ(weft_recv(a->in, NULL), a->member ? -ECANCELED : 1);
	weft_shield EXPECT_EQ(weft_send(a->out, 1), 0);
	return 0;
}

static int
inherit(void)
{
	weft_chan(int) in = weft_make(int, 0), out = weft_make(int, 0);

	weft_timeout(-1) {
		weft_group(g, NULL) {
			weft_cancel(g);
			weft_go(plain, in, out, false);
			weft_go_in(g, plain, in, out, true);
			weft_shield
			{
				EXPECT_EQ(weft_recv(out, NULL), 1);
				EXPECT_EQ(weft_send(in, 1), 0);
				EXPECT_EQ(weft_recv(out, NULL), 1);
			}
		}
		weft_go(plain, in, out, false);
		weft_shield
		{
			EXPECT_EQ(weft_send(in, 1), 0);
			EXPECT_EQ(weft_recv(out, NULL), 1);
		}
	}
	weft_free(in);
	weft_free(out);
	return 0;
}

/* "weft_go inherits no scope; weft_go_in inherits cancellation" */
TEST(go_inherits_nothing_and_go_in_cancellation)
{
	EXPECT_EQ(weft_run(inherit), 0);
}

static int
no_deadline(void)
{
	EXPECT(!weft_cancelled());
	return 0;
}

static int
inherit_no_deadline(void)
{
	int rc = 0;

	weft_timeout(-1) {
		EXPECT(weft_cancelled());
		weft_group(g, &rc) {
			weft_go_in(g, no_deadline);
			weft_shield while (weft_count() > 1) weft_yield();
		}
	}
	/* the child is not counted any more, but may not have counted down for the group yet */
	EXPECT(rc == 0 || rc == -ETIMEDOUT);
	EXPECT(!weft_cancelled());
	return 0;
}

/* The deadline is the body's; the children are cancelled by the join. */
TEST(go_in_does_not_inherit_the_deadline)
{
	EXPECT_EQ(weft_run(inherit_no_deadline), 0);
}

/* ---- deadlines that have passed */

static int
expired(void)
{
	weft_chan(int) ch;
	int v = 7, ok = 5;

	set_up_waits();
	ch = weft_make(int, 1);
	weft_timeout(0) {
		EXPECT(weft_cancelled());
		for (int k = 0; k < KINDS; k++) {
			int rc = kinds[k].wait();

			if (rc != -ETIMEDOUT)
				test_fail(__FILE__, __LINE__, "%s: %d", kinds[k].name, rc);
		}
		/* "an operation that can complete at once completes, also when expired" */
		EXPECT_EQ(weft_send(ch, 3), 0);
		EXPECT_EQ(weft_select(WEFT_RECV(ch, &v, &ok), WEFT_SEND(full, 1)), 0);
		EXPECT_EQ(v, 3);
		EXPECT_EQ(ok, 1);
		EXPECT_EQ(weft_recv(ch, &v), -ETIMEDOUT);
	}
	EXPECT(!weft_cancelled());
	weft_deadline(0)
		EXPECT_EQ(weft_recv(ch, &v), -ETIMEDOUT);
	weft_deadline(INT64_MIN)
		EXPECT_EQ(weft_recv(ch, &v), -ETIMEDOUT);
	weft_timeout(INT64_MIN / 2)
		EXPECT_EQ(weft_recv(ch, &v), -ETIMEDOUT);
	weft_free(ch);
	tear_down_waits();
	return 0;
}

TEST(passed_deadline_ends_every_kind_of_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

static int
nested_deadlines(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	weft_timeout(INT64_MAX) {
		EXPECT(!weft_cancelled());
		weft_go(held, ch);
		EXPECT_EQ(weft_send(ch, 1), 0);
		weft_timeout(0)
			EXPECT_EQ(weft_recv(ch, NULL), -ETIMEDOUT);
		EXPECT(!weft_cancelled());
	}
	weft_timeout(0) {
		weft_timeout(INT64_MAX) { /* the nearest wins, not the innermost */
			EXPECT_EQ(weft_recv(ch, NULL), -ETIMEDOUT);
			weft_shield
			{
				weft_go(held, ch);
				EXPECT_EQ(weft_send(ch, 1), 0);
			}
		}
	}
	weft_timeout(0) { /* in both: either may be told */
		weft_group(g, NULL) {
			int rc;

			weft_cancel(g);
			rc = weft_recv(ch, NULL);
			EXPECT(rc == -ECANCELED || rc == -ETIMEDOUT);
		}
	}
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(nearest_deadline_wins)
{
	EXPECT_EQ(weft_run(nested_deadlines), 0);
}

static int
group_in_expired(void)
{
	int rc = 0;

	set_up_waits();
	weft_timeout(0)
		weft_group(g, &rc) {
			for (int i = 0; i < 5; i++)
				weft_go_in(g, receives);
			EXPECT_EQ(receives(), -ETIMEDOUT);
		}
	EXPECT_EQ(rc, -ETIMEDOUT);
	tear_down_waits();
	return 0;
}

/* "expiry or cancellation of the parent cancels the children (rc becomes -ETIMEDOUT or -ECANCELED
   if still 0) and it goes on waiting" */
TEST(join_of_an_expired_scope_cancels_the_children)
{
	EXPECT_EQ(weft_run(group_in_expired), 0);
}

/* ---- a value and a cancel at once: one of them wins, nothing is lost */

struct tally {
	weft_chan(int64_t) ch, ch2;
	int how; /* 0 plain, 1 select of two, 2 select of the same twice */
	int64_t *sum, *count;
};

static int
receiver(struct tally *a)
{
	int64_t v = 0, w = 0;
	int rc;

	for (;;) {
		v = w = 0;
		if (a->how == 0)
			rc = weft_recv(a->ch, &v);
		else if (a->how == 1)
			rc = weft_select(WEFT_RECV(a->ch, &v), WEFT_RECV(a->ch2, &w));
		else
			rc = weft_select(WEFT_RECV(a->ch, &v), WEFT_RECV(a->ch, &w));
		if (rc < 0)
			break;
		EXPECT((v == 0) != (w == 0));
		add(a->sum, v + w);
		add(a->count, 1);
	}
	EXPECT_EQ(rc, -ECANCELED);
	EXPECT_EQ(v, 0);
	EXPECT_EQ(w, 0);
	return 0;
}

static int
sender(struct tally *a)
{
	int rc;

	for (int64_t v = 1;; v++) {
		if (a->how == 0)
			rc = weft_send(a->ch, v);
		else if (a->how == 1)
			rc = weft_select(WEFT_SEND(a->ch, v), WEFT_SEND(a->ch2, v));
		else
			rc = weft_select(WEFT_SEND(a->ch, v), WEFT_SEND(a->ch, v));
		if (rc < 0)
			break;
		add(a->sum, v);
		add(a->count, 1);
	}
	EXPECT_EQ(rc, -ECANCELED);
	return 0;
}

struct receiving {
	struct tally t;
};

static int
receiving(struct receiving *a)
{
	return receiver(&a->t);
}

struct sending {
	struct tally t;
};

static int
sending(struct sending *a)
{
	return sender(&a->t);
}

/* One group receives, another sends; each is cancelled at some moment, in either order. */
struct both {
	struct tally t;
	struct weft_group **group;
	bool sends;
	int n;
};

static int
both(struct both *a)
{
	weft_group(g, NULL) {
		store(a->group, g);
		for (int i = 0; i < a->n; i++) {
			if (a->sends)
				weft_go_in(g, sending, a->t);
			else
				weft_go_in(g, receiving, a->t);
		}
		EXPECT_EQ(weft_recv((weft_chan(int))NULL, NULL), -ECANCELED);
	}
	return 0;
}

struct race {
	uint64_t seed;
};

static int
race(struct race *a)
{
	uint64_t r = a->seed;

	for (int round = 0; round < scaled(150); round++) {
		weft_chan(int64_t) ch = weft_make(int64_t, test_rand(&r) % 3);
		weft_chan(int64_t) ch2 = weft_make(int64_t, test_rand(&r) % 3);
		struct weft_group *groups[2] = {NULL, NULL};
		int64_t sent = 0, received = 0, n_sent = 0, n_received = 0, v;
		struct tally in = {ch, ch2, (int)(test_rand(&r) % 3), &received, &n_received};
		struct tally out = {ch, ch2, (int)(test_rand(&r) % 3), &sent, &n_sent};
		struct weft_wg ended = {0};
		int first = (int)(test_rand(&r) % 2);

		weft_wg_go(&ended, both, in, &groups[0], false, 1 + (int)(test_rand(&r) % 4));
		weft_wg_go(&ended, both, out, &groups[1], true, 1 + (int)(test_rand(&r) % 4));
		while (!load(&groups[0]) || !load(&groups[1]))
			weft_yield();
		for (uint64_t n = test_rand(&r) % 30; n > 0; n--)
			weft_yield();
		EXPECT_EQ(weft_cancel(groups[first]), 0);
		for (uint64_t n = test_rand(&r) % 3; n > 0; n--)
			weft_yield();
		EXPECT_EQ(weft_cancel(groups[!first]), 0);
		EXPECT_EQ(weft_wg_wait(&ended), 0);
		expect_idle(ch);
		expect_idle(ch2);
		while (weft_try_recv(ch, &v) > 0 || weft_try_recv(ch2, &v) > 0) {
			received += v;
			n_received++;
		}
		EXPECT_EQ(n_sent, n_received);
		EXPECT_EQ(sent, received);
		weft_free(ch);
		weft_free(ch2);
	}
	return 0;
}

/* CLAIM-1 */
TEST(cancel_and_delivery_lose_no_value)
{
	EXPECT_EQ(weft_run(race, test_seed()), 0);
}

static int
order_is_kept(void)
{
	weft_chan(int) ch = weft_make(int, 0);

	for (int round = 0; round < scaled(50); round++) {
		struct weft_wg wg = {0};
		weft_group(g, NULL) {
			for (int i = 0; i < 6; i++) {
				if (i % 2)
					weft_go_in(g, held, ch);
				else
					weft_wg_go(&wg, held, ch);
				await_receivers(ch, i + 1);
			}
			weft_cancel(g);
		}
		EXPECT_EQ(in_line(ch, false), 3);
		for (int i = 0; i < 3; i++) {
			EXPECT_EQ(weft_try_send(ch, i), 0);
			EXPECT_EQ(in_line(ch, false), 2 - i);
		}
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(cancelled_waiters_leave_the_line_to_the_others)
{
	EXPECT_EQ(weft_run(order_is_kept), 0);
}

static int
cancelled_and_closed(void)
{
	uint64_t r = test_seed();

	for (int round = 0; round < scaled(400); round++) {
		weft_chan(int) ch = weft_make(int, 0);
		int rc = 0;

		weft_group(g, &rc) {
			for (int i = 0; i < 4; i++)
				weft_go_in(g, held, ch);
			for (uint64_t n = test_rand(&r) % 8; n > 0; n--)
				weft_yield();
			if (test_rand(&r) % 2) {
				weft_close(ch);
				weft_cancel(g);
			} else {
				weft_cancel(g);
				weft_close(ch);
			}
		}
		EXPECT(rc == 0 || rc == -ECANCELED);
		weft_free(ch);
	}
	return 0;
}

TEST(cancel_and_close_at_once)
{
	EXPECT_EQ(weft_run(cancelled_and_closed), 0);
}

struct selects_in {
	weft_chan(int) a, b;
};

static int
selects_in(struct selects_in *x)
{
	EXPECT_EQ(weft_select(WEFT_RECV(x->a, NULL), WEFT_SEND(x->b, 1)), -ECANCELED);
	return 0;
}

static int
freed_after_the_cancel(void)
{
	for (int round = 0; round < scaled(2000); round++) {
		weft_chan(int) a = weft_make(int, 0), b = weft_make(int, 0);

		weft_group(g, NULL) {
			for (int i = 0; i < 3; i++) {
				weft_go_in(g, held, a);
				weft_go_in(g, selects_in, a, b);
			}
			await_receivers(a, 6);
			await_senders(b, 3);
			weft_cancel(g);
			weft_free(a); /* they are on their way out: nobody waits any more */
			weft_free(b);
		}
	}
	return 0;
}

TEST(channel_may_be_freed_when_its_waiters_are_cancelled)
{
	EXPECT_EQ(weft_run(freed_after_the_cancel), 0);
}
