/* SPDX-License-Identifier: MIT */
/*
 * t_forkq.c: the fork queue of a P (core/forkq.h, unchanged, ring of 4): the owner pushes and
 * pops at the bottom while thieves take from the top.
 *
 * Every G is obtained exactly once or is still queued at the end, with its payload visible
 * (FQ-1 to FQ-3). Indices start just below 2^32, so that every scenario wraps them.
 * sources: none
 */
#include "bareos.h"

#include "core/forkq.h"

#include <string.h>

enum { GS = 8, WRAP = 2 };

static struct {
	struct wf_forkq q;
	struct wf_g g[GS];
	wf_a32 payload[GS];
	unsigned obtained[GS];
	unsigned made;
} s;

static void
reset_shut(void)
{
	memset(&s, 0, sizeof(s));
	wf_door_init(&s.q.door, false);
	sim_name(&s.q.door.state, "door");
	sim_name(&s.q.door.busy, "busy");
	s.q.top.v = s.q.bottom.v = (uint32_t)-WRAP;
	sim_name(&s.q.top, "top");
	sim_name(&s.q.bottom, "bottom");
	for (int k = 0; k < WF_FORKQ_SIZE; k++)
		sim_name(&s.q.slot[k], "slot%d", k);
}

/* The door is open: the races of the owner with thieves inside. */
static void
reset(void)
{
	reset_shut();
	wf_door_init(&s.q.door, true);
}

static void
push(void)
{
	struct wf_g *g = &s.g[s.made];

	sim_plain_write(g);
	at_store_rlx(&s.payload[s.made], 100u + s.made);
	s.made++;
	SIM_CHECK(wf_forkq_push(&s.q, g));
}

static void
obtain(struct wf_g *g)
{
	long n = g - s.g;

	if (!g)
		return;
	SIM_CHECK(n >= 0 && n < (long)s.made);
	sim_note("obtains g%ld", n);
	SIM_CHECK(s.obtained[n]++ == 0);
	sim_plain_write(g); /* the holder may do anything with it */
	SIM_CHECK(at_load_rlx(&s.payload[n]) == 100u + (uint32_t)n);
}

static void
check_end(void)
{
	unsigned places[GS];

	memcpy(places, s.obtained, sizeof(places));
	SIM_CHECK((int32_t)(s.q.bottom.v - s.q.top.v) >= 0);
	for (uint32_t k = s.q.top.v; k != s.q.bottom.v; k++)
		places[(struct wf_g *)FORKQ_SLOT(&s.q, k)->v - s.g]++;
	for (unsigned i = 0; i < s.made; i++)
		if (places[i] != 1)
			sim_fail("g%u is in %u places", i, places[i]);
}

static void
thief(void *arg)
{
	for (long n = (long)(uintptr_t)arg; n > 0; n--)
		obtain(wf_forkq_steal(&s.q));
}

/* One G, wanted by the owner and by two thieves: the CAS of top decides, with or without fence. */
static void
owner_last_one(void *arg)
{
	(void)arg;
	push();
	obtain(wf_forkq_pop(&s.q));
	SIM_CHECK(wf_forkq_pop(&s.q) == NULL);
}

SCENARIO(last_one_two_thieves) = {
    .setup = reset,
    .threads = {{owner_last_one, NULL, false},
		{thief, (void *)1, false},
		{thief, (void *)1, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_FORKQ_STEAL_NO_CAS)},
};

/* Several, popped and pushed again while one thief takes two. */
static void
owner_mixed(void *arg)
{
	(void)arg;
	push();
	push();
	obtain(wf_forkq_pop(&s.q));
	push();
	obtain(wf_forkq_pop(&s.q));
	obtain(wf_forkq_pop(&s.q));
}

SCENARIO(mixed_against_a_thief) = {
    .setup = reset,
    .threads = {{owner_mixed, NULL, false}, {thief, (void *)2, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_FORKQ_POP_NO_FENCE)},
};

SCENARIO(mixed_against_two_thieves) = {
    .setup = reset,
    .threads = {{owner_mixed, NULL, false}, {thief, (void *)1, false}, {thief, (void *)1, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_FORKQ_POP_NO_FENCE), SIM_MUTANT(MUT_FORKQ_STEAL_NO_CAS)},
};

/* ---- the door: DOOR-1, DOOR-2 */

SCENARIO(door_mixed) = {
    .setup = reset_shut,
    .threads = {{owner_mixed, NULL, false}, {thief, (void *)1, false}, {thief, (void *)1, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

static void
owner_oldest(void *arg)
{
	(void)arg;
	push();
	push();
	push();
	obtain(wf_forkq_oldest(&s.q));
	wf_door_look(&s.q.door);
	obtain(wf_forkq_pop(&s.q));
	obtain(wf_forkq_oldest(&s.q));
}

SCENARIO(door_oldest) = {
    .setup = reset_shut,
    .threads = {{owner_oldest, NULL, false}, {thief, (void *)1, false}, {thief, (void *)1, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

SCENARIO(door_oldest_arm) = {
    .setup = reset_shut,
    .threads = {{owner_oldest, NULL, false}, {thief, (void *)2, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
    .model = SIM_ARM,
};
