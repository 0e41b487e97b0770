/* SPDX-License-Identifier: MIT */
/*
 * t_scope.c: groups, their members and cancellation: the real group.c, scope.c, waitq.c and wg.c.
 *
 * Parties are plain threads; a child of a group is one that runs the two functions which a
 * goroutine's birth and death call. Nobody sleeps for ever, a wait that was cancelled says so, one
 * that was not does not, and a group or wait group is gone as soon as its owner has seen its end.
 * (SCOPE-1 to SCOPE-3, GROUP-1, GROUP-2, WAIT-2, WAIT-4, WG-1, WG-2)
 * sources: tests/model/mark.c src/wait/?*.c tests/model/mark.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--wrap=wf_spawn,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "parties.h"

enum { THREADS = 5, FAILED = -5 };

static struct {
	struct wf_chan *ch;
	struct weft_group *outer; /* of party 0, in a page of its own */
	struct weft_group inner;
	struct weft_wg *wg; /* in a page of its own */
	int outer_rc, inner_rc;
	wf_a32 inner_open, spawned;
	int result[THREADS]; /* what the wait of each party returned */
	int64_t value;
	unsigned over;   /* bit i: party i */
	bool kept;       /* the outer group is used by others than its children */
	int alive, most; /* children of a limited group */
} s;

enum { NOT_YET = 77 };

static unsigned first; /* M of party 0 */

static struct wf_m *
m_of(unsigned party)
{
	return &rig.m[first + party];
}

/* ---- parties */

/* Waits of party i; the frames of the call are used for something else afterwards. */
static int
receives(unsigned i)
{
	s.result[i] = weft_chan_recv(s.ch, &s.value);
	forget_frames();
	return s.result[i];
}

static int
waits(unsigned i, struct weft_wg *wg)
{
	s.result[i] = weft_wg_wait(wg);
	forget_frames();
	return s.result[i];
}

static void
opens(struct weft_group *gr, int *rc)
{
	weft_group_open(gr, rc, "here");
	forget_frames();
}

static void
closes(struct weft_group *gr)
{
	weft_group_close(gr);
	forget_frames();
}

static void
is_over(unsigned i)
{
	s.over |= 1u << i;
}

/* In setup: party i is a child of gr, which counts it, and runs fn. */
static void
is_child(unsigned i, struct weft_group *gr, int (*fn)(void *))
{
	struct wf_g *g = &m_of(i)->thread_g;

	sites[i] = (struct weft_site){.fn = fn, .name = "a child"};
	g->site = &sites[i];
	g->wg = &gr->wg_;
	at_add_acqrel(wf_wg_word(&gr->wg_), (uint64_t)WF_WG_ONE);
}

/* What wf_g_main and wf_g_exit do. */
static void
live_as_child(unsigned i)
{
	struct wf_g *g = &m_of(i)->thread_g;
	struct wf_m *m;
	int rc = wf_member_call(g);

	forget_frames();
	m = wf_enter(WF_CALL_B);
	wf_member_done(m, g, rc);
	wf_leave(m);
	forget_frames();
	is_over(i);
}

static void
child(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(m_of(i));
	live_as_child(i);
}

static unsigned
me(void)
{
	return wf_m()->id - first;
}

static int
child_receives(void *arg)
{
	(void)arg;
	receives(me());
	return 0;
}

static int
child_fails(void *arg)
{
	(void)arg;
	return FAILED;
}

static int
child_ends(void *arg)
{
	(void)arg;
	return 0;
}

static int
child_cancels(void *arg)
{
	(void)arg;
	SIM_CHECK(weft_cancel(s.outer) == 0);
	forget_frames();
	return 0;
}

/* Party 0 waits for the children of the outer group; then the group is gone. */
static void
closes_outer(void)
{
	closes(s.outer);
	if (!s.kept)
		heap_end(s.outer);
	is_over(0);
}

static void
owner(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	closes_outer();
}

/* Not a child: the group must outlive it. */
static void
canceller(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(m_of(i));
	SIM_CHECK(weft_cancel(s.outer) == 0);
	forget_frames();
	is_over(i);
}

static void
sender(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	int64_t value = 7;

	wf_m_set(m_of(i));
	s.result[i] = weft_chan_send(s.ch, &value);
	forget_frames();
	is_over(i);
}

static void
counts_down(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(m_of(i));
	weft_wg_done(s.wg);
	forget_frames();
	is_over(i);
}

/* ---- set-up and rule */

/* After the Ms: party 0 has opened the outer group. */
static void
setup_outer(void)
{
	memset(&s, 0, sizeof(s));
	s.ch = make_chan(0);
	s.outer = aligned_alloc(WF_CACHE_LINE, sizeof(*s.outer));
	s.wg = aligned_alloc(WF_CACHE_LINE, sizeof(*s.wg));
	memset(s.wg, 0, sizeof(*s.wg));
	for (int i = 0; i < THREADS; i++)
		s.result[i] = NOT_YET;
	s.outer_rc = s.inner_rc = NOT_YET;
	wf_m_set(m_of(0));
	weft_group_open(s.outer, &s.outer_rc, "here");
	wf_m_set(NULL);
	sim_name(&wf_group_of(s.outer)->cancelled, "outer.cancelled");
	sim_name(&wf_group_of(&s.inner)->cancelled, "inner.cancelled");
	sim_name(wf_wg_word(&s.outer->wg_), "outer.wg");
	sim_name(wf_wg_word(&s.inner.wg_), "inner.wg");
	sim_name(wf_wg_word(s.wg), "wg");
	sim_name(&wf_group_of(s.outer)->lock->word, "tree.lock");
	sim_name(&s.inner_open, "inner_open");
}

static void
setup(void)
{
	parties_reset(THREADS);
	first = 0;
	setup_outer();
}

#define THREAD(fn, i)                                                                              \
	{                                                                                          \
		fn, (void *)(uintptr_t)(i), false                                                  \
	}

/* ---- a member waits while its group is cancelled: SCOPE-2 */

static void
setup_member(void)
{
	setup();
	is_child(1, s.outer, child_receives);
	is_child(2, s.outer, child_cancels);
}

static void
check_cancelled(void)
{
	SIM_CHECK(s.result[1] == -ECANCELED && s.outer_rc == 0);
}

SCENARIO(scope_member_cancelled) = {
    .setup = setup_member,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2)},
    .check_end = check_cancelled,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
};

SCENARIO(scope_member_cancelled_arm) = {
    .setup = setup_member,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2)},
    .check_end = check_cancelled,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
    .model = SIM_ARM,
    .max_bound = 1,
};

/* The same, and a value comes. */
static void
check_delivered_or_not(void)
{
	SIM_CHECK((s.over & 7) == 7);
	if (s.result[1] == 1)
		SIM_CHECK(s.value == 7 && s.result[3] == 0);
	else
		SIM_CHECK(s.result[1] == -ECANCELED && s.result[3] == NOT_YET);
}

SCENARIO(scope_member_cancelled_or_served) = {
    .setup = setup_member,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2), THREAD(sender, 3)},
    .check_end = check_delivered_or_not,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* ---- one child fails: the others are cancelled, and the group says why */

static void
setup_fails(void)
{
	setup();
	is_child(1, s.outer, child_receives);
	is_child(2, s.outer, child_fails);
}

static void
check_fails(void)
{
	SIM_CHECK(s.result[1] == -ECANCELED && s.outer_rc == FAILED);
}

SCENARIO(scope_child_fails) = {
    .setup = setup_fails,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2)},
    .check_end = check_fails,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
};

/* GROUP-1: two that end at once. */
static void
setup_two_end(void)
{
	setup();
	is_child(1, s.outer, child_ends);
	is_child(2, s.outer, child_fails);
}

static void
check_two_end(void)
{
	SIM_CHECK(s.outer_rc == FAILED);
}

SCENARIO(scope_two_end) = {
    .setup = setup_two_end,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2)},
    .check_end = check_two_end,
};

static void
setup_two_fail(void)
{
	setup();
	is_child(1, s.outer, child_fails);
	is_child(2, s.outer, child_fails);
}

SCENARIO(scope_two_fail) = {
    .setup = setup_two_fail,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(child, 2)},
    .check_end = check_two_end,
};

/* ---- a group in the body of another */

/* The end of the inner group waits inside the outer one: the cancel that its child's failure is
   wakes it for nothing, and then the child ends. */
static void
owner_of_both(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	closes(&s.inner);
	closes_outer();
}

static void
setup_inner(void)
{
	setup();
	s.kept = true;
	wf_m_set(m_of(0));
	weft_group_open(&s.inner, &s.inner_rc, "here");
	wf_m_set(NULL);
}

static void
setup_inner_fails(void)
{
	setup_inner();
	is_child(1, &s.inner, child_fails);
}

static void
check_inner_fails(void)
{
	SIM_CHECK(s.inner_rc == FAILED && s.outer_rc == 0);
}

SCENARIO(scope_inner_fails) = {
    .setup = setup_inner_fails,
    .threads = {THREAD(owner_of_both, 0), THREAD(child, 1)},
    .check_end = check_inner_fails,
};

/* The same while the outer one is cancelled: GROUP-2. */
static void
check_inner_fails_or_cancelled(void)
{
	SIM_CHECK((s.inner_rc == FAILED || s.inner_rc == -ECANCELED) && s.outer_rc == 0);
}

SCENARIO(scope_inner_fails_beside_cancel) = {
    .setup = setup_inner_fails,
    .threads = {THREAD(owner_of_both, 0), THREAD(child, 1), THREAD(canceller, 2)},
    .check_end = check_inner_fails_or_cancelled,
};

/* The cancel of the outer group reaches the children of the inner one. */
static void
setup_inner_child(void)
{
	setup_inner();
	is_child(1, &s.inner, child_receives);
}

static void
check_inner_cancelled(void)
{
	SIM_CHECK(s.result[1] == -ECANCELED && s.outer_rc == 0);
	SIM_CHECK(s.inner_rc == 0 || s.inner_rc == -ECANCELED);
}

SCENARIO(scope_inner_child_cancelled) = {
    .setup = setup_inner_child,
    .threads = {THREAD(owner_of_both, 0), THREAD(child, 1), THREAD(canceller, 2)},
    .check_end = check_inner_cancelled,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
};

/* ---- a group that a member of another opens, with a child of its own: a tree of three */

static int
child_opens(void *arg)
{
	unsigned i = me();

	(void)arg;
	opens(&s.inner, &s.inner_rc);
	at_add_acqrel(wf_wg_word(&s.inner.wg_), (uint64_t)WF_WG_ONE); /* as a spawn does */
	at_store_rel(&s.inner_open, 1);
	sim_wake(&s.inner_open, THREADS);
	receives(i);
	closes(&s.inner);
	return 0;
}

static void
grandchild(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(m_of(i));
	while (!at_load_acq(&s.inner_open))
		sim_futex_wait(&s.inner_open, 0, false);
	live_as_child(i);
}

static void
setup_tree(void)
{
	setup();
	is_child(1, s.outer, child_opens);
	is_child(2, &s.inner, child_receives);
	is_child(3, s.outer, child_cancels);
	memset(&s.inner, 0, sizeof(s.inner)); /* the spawn counts it */
}

static void
check_tree(void)
{
	SIM_CHECK(s.result[1] == -ECANCELED && s.result[2] == -ECANCELED && s.outer_rc == 0);
	SIM_CHECK(s.inner_rc == 0 || s.inner_rc == -ECANCELED);
}

SCENARIO(scope_tree_cancelled) = {
    .setup = setup_tree,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(grandchild, 2), THREAD(child, 3)},
    .check_end = check_tree,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
    .max_bound = 1,
    .random = 20000,
};

/* The grandchild fails beside the cancel. */
static void
setup_tree_fails(void)
{
	setup_tree();
	sites[2].fn = child_fails;
}

static void
check_tree_fails(void)
{
	SIM_CHECK(s.result[1] == -ECANCELED && s.outer_rc == 0);
	SIM_CHECK(s.inner_rc == FAILED || s.inner_rc == -ECANCELED);
}

SCENARIO(scope_tree_fails) = {
    .setup = setup_tree_fails,
    .threads = {THREAD(owner, 0), THREAD(child, 1), THREAD(grandchild, 2), THREAD(child, 3)},
    .check_end = check_tree_fails,
    .max_bound = 1,
    .random = 20000,
};

/* ---- the address table: a wait is cancelled beside its wake */

static void
body_waits(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	if (waits(0, s.wg) == 0)
		heap_end(s.wg);
	closes_outer();
}

static void
setup_wg(void)
{
	setup();
	s.kept = true;
	s.wg->word_ = WF_WG_ONE;
}

static void
check_wg(void)
{
	SIM_CHECK(s.result[0] == 0 || s.result[0] == -ECANCELED);
	if (s.result[0] < 0)
		SIM_CHECK(s.wg->word_ == 0);
}

SCENARIO(scope_wg_cancelled) = {
    .setup = setup_wg,
    .threads = {THREAD(body_waits, 0), THREAD(counts_down, 1), THREAD(canceller, 2)},
    .check_end = check_wg,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
};

/* Nobody counts down. */
static void
check_wg_alone(void)
{
	SIM_CHECK(s.result[0] == -ECANCELED);
}

SCENARIO(scope_wg_cancelled_alone) = {
    .setup = setup_wg,
    .threads = {THREAD(body_waits, 0), THREAD(canceller, 1)},
    .check_end = check_wg_alone,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
};

SCENARIO(scope_wg_cancelled_alone_arm) = {
    .setup = setup_wg,
    .threads = {THREAD(body_waits, 0), THREAD(canceller, 1)},
    .check_end = check_wg_alone,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
    .model = SIM_ARM,
};

/* Two at one address, of which one is cancelled. */
static void
waits_too(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(m_of(i));
	waits(i, s.wg);
	is_over(i);
}

static void
body_waits_only(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	waits(0, s.wg);
	closes_outer();
}

static void
cancels_and_counts_down(void *arg)
{
	canceller(arg);
	counts_down(arg);
}

static void
check_two_wait(void)
{
	SIM_CHECK(s.result[0] == 0 || s.result[0] == -ECANCELED);
	SIM_CHECK(s.result[1] == 0 && s.wg->word_ == 0);
}

SCENARIO(scope_two_wait) = {
    .setup = setup_wg,
    .threads = {THREAD(body_waits_only, 0), THREAD(waits_too, 1),
		THREAD(cancels_and_counts_down, 2)},
    .check_end = check_two_wait,
};

/* ---- a shield, and a group inside it: the cancel outside wakes the wait for nothing */

static struct weft_scope shield;

static void
setup_shield(void)
{
	setup_wg();
	wf_m_set(m_of(0));
	weft_scope_open_shield(&shield);
	weft_group_open(&s.inner, &s.inner_rc, "here");
	wf_m_set(NULL);
}

static void
leave_shield(void)
{
	closes(&s.inner);
	weft_scope_close(&shield);
	closes_outer();
}

static void
shielded_waits(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	waits(0, s.wg);
	heap_end(s.wg);
	leave_shield();
}

static void
check_shielded(void)
{
	SIM_CHECK(s.result[0] == 0 && s.inner_rc == 0);
}

SCENARIO(scope_shielded_wg) = {
    .setup = setup_shield,
    .threads = {THREAD(shielded_waits, 0), THREAD(counts_down, 1), THREAD(canceller, 2)},
    .check_end = check_shielded,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
};

static void
shielded_receives(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	receives(0);
	leave_shield();
}

static void
check_shielded_recv(void)
{
	SIM_CHECK(s.result[0] == 1 && s.value == 7 && s.result[1] == 0 && s.inner_rc == 0);
}

SCENARIO(scope_shielded_recv) = {
    .setup = setup_shield,
    .threads = {THREAD(shielded_receives, 0), THREAD(sender, 1), THREAD(canceller, 2)},
    .check_end = check_shielded_recv,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
};

/* ---- what is never ready ends with its scope all the same */

static void
body_waits_for_nothing(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	s.result[0] = weft_chan_recv(NULL, NULL);
	forget_frames();
	s.result[1] = weft_selectv(NULL, 0);
	forget_frames();
	closes_outer();
}

static void
setup_kept(void)
{
	setup();
	s.kept = true;
}

static void
check_nothing(void)
{
	SIM_CHECK(s.result[0] == -ECANCELED && s.result[1] == -ECANCELED);
}

SCENARIO(scope_nothing_cancelled) = {
    .setup = setup_kept,
    .threads = {THREAD(body_waits_for_nothing, 0), THREAD(canceller, 1)},
    .check_end = check_nothing,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
};

/* ---- a limit of one child: the second is started when the first has ended, or not at all */

static int64_t
spawned(struct weft_group *gr, unsigned i)
{
	at_add_acqrel(wf_wg_word(&gr->wg_), (uint64_t)WF_WG_ONE);
	if (++s.alive > s.most)
		s.most = s.alive;
	at_store_rel(&s.spawned, i);
	sim_wake(&s.spawned, THREADS);
	return i;
}

int64_t __wrap_wf_spawn(struct wf_m *m, struct weft_site *site, const struct weft_attr *attr,
			struct weft_wg *wg, const void *arg, size_t bytes, unsigned flags);

/* The child whose turn it is begins. */
int64_t
__wrap_wf_spawn(struct wf_m *m, struct weft_site *site, const struct weft_attr *attr,
		struct weft_wg *wg, const void *arg, size_t bytes, unsigned flags)
{
	(void)m, (void)attr, (void)arg, (void)bytes;
	SIM_CHECK(flags == WF_G_MEMBER);
	return spawned(container_of(wg, struct weft_group, wg_), (unsigned)(site - sites));
}

static int
limited_child(void *arg)
{
	(void)arg;
	s.alive--;
	return 0;
}

/* Child i waits for its birth. */
static void
child_of_limited(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	uint32_t now;

	wf_m_set(m_of(i));
	while ((now = at_load_acq(&s.spawned)) < i)
		sim_futex_wait(&s.spawned, now, false);
	live_as_child(i);
}

static void
owner_of_limited(void *arg)
{
	(void)arg;
	wf_m_set(m_of(0));
	for (unsigned i = 1; i <= 2; i++) {
		s.result[i] = (int)weft_spawn_in(&sites[i], NULL, s.outer, NULL, 0);
		forget_frames();
	}
	closes_outer();
}

static void
setup_limited(void)
{
	setup();
	is_child(1, s.outer, limited_child);
	is_child(2, s.outer, limited_child);
	s.outer->wg_.word_ = 0; /* the spawn counts them */
	wf_m_set(m_of(0));
	SIM_CHECK(weft_group_limit(s.outer, 1) == 0);
	wf_m_set(NULL);
	sim_name(&wf_group_of(s.outer)->slots, "outer.slots");
	sim_name(&s.spawned, "spawned");
}

static void
check_limited(void)
{
	SIM_CHECK(s.over == 7 && s.result[1] == 1 && s.result[2] == 2 && s.most == 1);
}

SCENARIO(scope_limit) = {
    .setup = setup_limited,
    .threads = {THREAD(owner_of_limited, 0), THREAD(child_of_limited, 1),
		THREAD(child_of_limited, 2)},
    .check_end = check_limited,
};

static void
check_limited_cancelled(void)
{
	SIM_CHECK(s.result[1] == 1 && s.most == 1);
	SIM_CHECK(s.result[2] == 2 ? s.over == 15 : s.result[2] == -ECANCELED && s.over == 11);
}

static void
setup_limited_cancelled(void)
{
	setup_limited();
	s.kept = true;
}

SCENARIO(scope_limit_cancelled) = {
    .setup = setup_limited_cancelled,
    .threads = {THREAD(owner_of_limited, 0), THREAD(child_of_limited, 1),
		THREAD(child_of_limited, 2), THREAD(canceller, 3)},
    .check_end = check_limited_cancelled,
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};

/* ---- a goroutine as a child, from its first instruction to its last */

wf_a32 wf_stack_canaries;

bool
wf_stack_canary_intact(void *slot, int class)
{
	(void)slot, (void)class;
	return true;
}

size_t
wf_stack_used(void *slot, int class)
{
	(void)slot, (void)class;
	return 1;
}

void
wf_stack_unreserve_slow(struct wf_cache *c, int class)
{
	(void)c, (void)class;
}

void
wf_stack_give_slow(struct wf_p *p, int class, void *slot)
{
	(void)p, (void)class;
	memset(slot, RUBBISH, WF_STACK_MIN);
}

static int
goroutine_receives(void *arg)
{
	(void)arg;
	rig.p[0].stacks[0].count = WF_STACK_CACHE; /* its stack goes to wf_stack_give_slow */
	sim_quiet(false);
	receives(1);
	return 0;
}

static void
setup_goroutine(void)
{
	goroutines_reset(3, false);
	first = FIRST_PLAIN;
	setup_outer();
	is_child(2, s.outer, child_cancels);
	add_g(0, &rig.p[0], goroutine_receives);
	rig.g[0].flags = WF_G_MEMBER;
	rig.g[0].wg = &s.outer->wg_;
	at_add_acqrel(wf_wg_word(&s.outer->wg_), (uint64_t)WF_WG_ONE);
	wf_member_call_hook = wf_member_call;
	wf_member_done_hook = wf_member_done;
}

static void
check_goroutine(void)
{
	SIM_CHECK((s.over & 5) == 5 && rig.g[0].status.v == WF_FREE);
	check_cancelled();
}

SCENARIO(scope_goroutine) = {
    .setup = setup_goroutine,
    .threads = {{rig_m_main, &rig.m[0], false}, THREAD(owner, 0), THREAD(child, 2)},
    .check_end = check_goroutine,
    .mutants = {SIM_MUTANT(MUT_CHAN_FLAG_EARLY)},
    .max_bound = 1,
    .random = 20000,
    .blocked_ok = true,
};
