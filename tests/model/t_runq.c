/* SPDX-License-Identifier: MIT */
/*
 * t_runq.c: the run queue of a P (core/runq.h, unchanged, ring of 4) against thieves.
 *
 * Every G must be obtained exactly once or lie in exactly one place at the end, and whoever
 * obtains it must see, and be ordered after, all that its former holder did to it (RQ-1 to
 * RQ-4). Indices start just below 2^32, so that every scenario wraps them. The scenarios named
 * *_arm also let loads see old values, which is what the acquires are for.
 * sources: none
 */
#include "bareos.h"

#include "core/runq.h"

#include <string.h>

enum { QUEUES = 3, GS = 8, WRAP = 2 /* puts before the indices wrap */ };

static struct {
	struct wf_runq q[QUEUES];
	struct wf_g g[GS];
	wf_a32 payload[GS];
	unsigned obtained[GS];
	unsigned made;
	struct wf_glist over; /* T0's */
} s;

static void
reset_shut(void)
{
	memset(&s, 0, sizeof(s));
	for (int i = 0; i < QUEUES; i++) {
		wf_door_init(&s.q[i].door, false);
		sim_name(&s.q[i].door.state, "q%d.door", i);
		sim_name(&s.q[i].door.busy, "q%d.busy", i);
		s.q[i].head.v = s.q[i].tail.v = (uint32_t)-WRAP;
		sim_name(&s.q[i].head, "q%d.head", i);
		sim_name(&s.q[i].tail, "q%d.tail", i);
		sim_name(&s.q[i].next, "q%d.next", i);
		for (int k = 0; k < WF_RUNQ_SIZE; k++)
			sim_name(&s.q[i].slot[k], "q%d.slot%d", i, k);
	}
	for (int i = 0; i < GS; i++) {
		sim_name(&s.g[i], "g%d", i);
		sim_name(&s.payload[i], "payload%d", i);
	}
}

/* All doors are open: the races of the owner with thieves inside. */
static void
reset(void)
{
	reset_shut();
	for (int i = 0; i < QUEUES; i++)
		wf_door_init(&s.q[i].door, true);
}

static int
number(const struct wf_g *g)
{
	return (int)(g - s.g);
}

/* A G with a payload that must be visible to whoever gets it. */
static struct wf_g *
make(void)
{
	struct wf_g *g = &s.g[s.made++];

	sim_plain_write(g);
	at_store_rlx(&s.payload[number(g)], 100u + (uint32_t)number(g));
	return g;
}

static void
obtain(struct wf_g *g)
{
	if (!g)
		return;
	SIM_CHECK(g >= s.g && g < s.g + s.made);
	sim_note("obtains g%d", number(g));
	SIM_CHECK(s.obtained[number(g)]++ == 0);
	sim_plain_write(g); /* the holder may do anything with it */
	SIM_CHECK(at_load_rlx(&s.payload[number(g)]) == 100u + (uint32_t)number(g));
}

static void
obtain_all(struct wf_glist *l)
{
	for (struct wf_g *g; (g = wf_glist_pop(l));)
		obtain(g);
}

/* Every G in one place: taken once, or in a queue, or in the overflow list. */
static void
check_end(void)
{
	unsigned places[GS];

	memcpy(places, s.obtained, sizeof(places));
	for (int i = 0; i < QUEUES; i++) {
		struct wf_runq *q = &s.q[i];
		struct wf_g *next = q->next.v;
		SIM_CHECK(q->tail.v - q->head.v <= WF_RUNQ_SIZE);
		for (uint32_t k = q->head.v; k != q->tail.v; k++)
			places[number(RUNQ_SLOT(q, k)->v)]++;
		if (next)
			places[number(next)]++;
	}
	for (struct wf_g *g = s.over.head; g; g = g->link)
		places[number(g)]++;
	for (unsigned i = 0; i < s.made; i++)
		if (places[i] != 1)
			sim_fail("g%u is in %u places", i, places[i]);
}

/* A thief with a queue of its own: steals, then runs what it got. */
static void
steal_once(int from, int self, bool lone)
{
	uint32_t count;
	struct wf_g *g = wf_runq_steal(&s.q[self], &s.q[from], lone, 1, &count);

	SIM_CHECK((g != NULL) == (count > 0));
	obtain(g);
	while ((g = wf_runq_get_ring(&s.q[self])))
		obtain(g);
}

static void
thief(void *arg)
{
	steal_once(0, (int)(uintptr_t)arg, false);
}

static void
thief_of_lone(void *arg)
{
	steal_once(0, (int)(uintptr_t)arg, true);
}

#define THIEF(n)                                                                                   \
	{                                                                                          \
		thief, (void *)n, false                                                            \
	}
#define LONE_THIEF(n)                                                                              \
	{                                                                                          \
		thief_of_lone, (void *)n, false                                                    \
	}

/* ---- puts and gets of the ring */

static void
owner_ring(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		wf_runq_put(&s.q[0], make(), &s.over);
	obtain(wf_runq_get_ring(&s.q[0]));
	obtain(wf_runq_get_ring(&s.q[0]));
}

SCENARIO(ring_two_lone_thieves) = {
    .setup = reset,
    .threads = {{owner_ring, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

SCENARIO(ring_two_thieves_arm) = {
    .setup = reset,
    .threads = {{owner_ring, NULL, false}, THIEF(1), THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
    .model = SIM_ARM,
};

SCENARIO(ring_two_thieves) = {
    .setup = reset,
    .threads = {{owner_ring, NULL, false}, THIEF(1), THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

/* Slots are used again while a slow thief still copies the old content. */
static void
owner_reuse(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		wf_runq_put(&s.q[0], make(), &s.over);
		wf_runq_put(&s.q[0], make(), &s.over);
		obtain(wf_runq_get_ring(&s.q[0]));
		obtain(wf_runq_get_ring(&s.q[0]));
	}
}

SCENARIO(ring_slot_reuse) = {
    .setup = reset,
    .threads = {{owner_reuse, NULL, false}, THIEF(1), THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

SCENARIO(ring_slot_reuse_arm) = {
    .setup = reset,
    .threads = {{owner_reuse, NULL, false}, THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS)},
    .model = SIM_ARM,
};

/* ---- overflow: a full ring */

static void
fill(void)
{
	reset();
	for (int i = 0; i < WF_RUNQ_SIZE; i++)
		wf_runq_put(&s.q[0], make(), &s.over);
}

static void
owner_overflow(void *arg)
{
	(void)arg;
	wf_runq_put(&s.q[0], make(), &s.over);
	wf_runq_put(&s.q[0], make(), &s.over);
	obtain_all(&s.over);
	obtain(wf_runq_get_ring(&s.q[0]));
}

SCENARIO(overflow_two_thieves) = {
    .setup = fill,
    .threads = {{owner_overflow, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

/* ---- runnext */

static void
owner_next(void *arg)
{
	(void)arg;
	wf_runq_put_next(&s.q[0], make(), &s.over);
	wf_runq_put_next(&s.q[0], make(), &s.over); /* kicks the first into the ring */
	obtain(wf_runq_get_next(&s.q[0]));
	obtain(wf_runq_get_ring(&s.q[0]));
	wf_runq_put_next(&s.q[0], make(), &s.over);
	obtain(wf_runq_get_next(&s.q[0]));
}

SCENARIO(next_two_thieves) = {
    .setup = reset,
    .threads = {{owner_next, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_NEXT_NO_CAS), SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED),
		SIM_MUTANT(MUT_RUNQ_GET_NO_CAS)},
};

SCENARIO(next_thief_arm) = {
    .setup = reset,
    .threads = {{owner_next, NULL, false}, LONE_THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_NEXT_NO_CAS), SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED),
		SIM_MUTANT(MUT_RUNQ_GET_NO_CAS)},
    .model = SIM_ARM,
};

/* One G goes round: obtained, then put again; a CAS that saw the same pointer before is fine. */
static void
owner_next_again(void *arg)
{
	struct wf_g *g = make();

	(void)arg;
	wf_runq_put_next(&s.q[0], g, &s.over);
	for (int i = 0; i < 2; i++) {
		if (!(g = wf_runq_get_next(&s.q[0])))
			return;
		sim_plain_write(g);
		wf_runq_put_next(&s.q[0], g, &s.over);
	}
}

SCENARIO(next_same_g_again) = {
    .setup = reset,
    .threads = {{owner_next_again, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_NEXT_NO_CAS)},
};

/* ---- batches and draining */

static void
owner_batch(void *arg)
{
	struct wf_glist l = {0};

	(void)arg;
	for (int i = 0; i < 6; i++)
		wf_glist_push(&l, make());
	wf_runq_put_batch(&s.q[0], &l);
	SIM_CHECK(l.size == 2);
	obtain(wf_runq_get_ring(&s.q[0]));
	wf_runq_put_batch(&s.q[0], &l);
	wf_glist_join(&s.over, &l);
}

SCENARIO(batch_two_thieves) = {
    .setup = reset,
    .threads = {{owner_batch, NULL, false}, THIEF(1), THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_GET_NO_CAS), SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

static void
fill_next(void)
{
	fill();
	wf_runq_put_next(&s.q[0], make(), &s.over);
}

static void
owner_drain(void *arg)
{
	struct wf_glist l = {0};

	(void)arg;
	wf_runq_drain(&s.q[0], &l);
	obtain_all(&l);
	SIM_CHECK(wf_runq_empty(&s.q[0])); /* thieves only take */
}

SCENARIO(drain_two_thieves) = {
    .setup = fill_next,
    .threads = {{owner_drain, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    /* not NEXT_NO_CAS: with four in the ring no thief gets to runnext before the owner */
    .mutants = {SIM_MUTANT(MUT_RUNQ_GET_NO_CAS), SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

/* ---- two Ps that steal from each other, and a third thief */

static void
peer(void *arg)
{
	int self = (int)(uintptr_t)arg;
	struct wf_glist over = {0};

	wf_runq_put(&s.q[self], make(), &over);
	wf_runq_put(&s.q[self], make(), &over);
	steal_once(!self, self, true);
	obtain(wf_runq_get_ring(&s.q[self]));
	SIM_CHECK(over.size == 0);
}

SCENARIO(mutual_theft) = {
    .setup = reset,
    .threads = {{peer, NULL, false}, {peer, (void *)1, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_GET_NO_CAS),
		SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

SCENARIO(mutual_theft_and_thief) = {
    .setup = reset,
    .threads = {{peer, NULL, false}, {peer, (void *)1, false}, THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

/* ---- from hand to hand: what a thief has in its ring is stolen from it in turn */

static void
chain_first(void *arg)
{
	uint32_t count;

	(void)arg;
	obtain(wf_runq_steal(&s.q[1], &s.q[0], false, 1, &count));
}

static void
chain_second(void *arg)
{
	(void)arg;
	steal_once(1, 2, true); /* it is a lone one */
}

SCENARIO(stolen_twice) = {
    .setup = reset,
    .threads = {{owner_ring, NULL, false}, {chain_first, NULL, false}, {chain_second, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
};

SCENARIO(stolen_twice_arm) = {
    .setup = reset,
    .threads = {{owner_ring, NULL, false}, {chain_first, NULL, false}, {chain_second, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_TAIL_RELAXED), SIM_MUTANT(MUT_RUNQ_STEAL_NO_CAS)},
    .model = SIM_ARM,
};

/* ---- a thief with Gs of its own: a copy that is thrown away must not have hit them */

static void
setup_thief_with_work(void)
{
	struct wf_glist none = {0};

	reset();
	wf_runq_put(&s.q[1], make(), &none);
	wf_runq_put(&s.q[1], make(), &none);
}

SCENARIO(thief_with_work) = {
    .setup = setup_thief_with_work,
    .threads = {{owner_reuse, NULL, false}, THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_GET_NO_CAS)},
};

/* ---- RQ-5: a queue that always holds something is never called empty */

static void
setup_never_empty(void)
{
	reset();
	wf_runq_put_next(&s.q[0], make(), &s.over);
}

static void
owner_never_empty(void *arg)
{
	(void)arg;
	wf_runq_put(&s.q[0], make(), &s.over);
	obtain(wf_runq_get_next(&s.q[0]));
	wf_runq_put_next(&s.q[0], make(), &s.over);
	obtain(wf_runq_get_ring(&s.q[0]));
	wf_runq_put_next(&s.q[0], make(), &s.over); /* moves the one before into the ring */
	obtain(wf_runq_get_next(&s.q[0]));
}

static void
observer(void *arg)
{
	(void)arg;
	SIM_CHECK(!wf_runq_empty(&s.q[0]));
	SIM_CHECK(!wf_runq_empty(&s.q[0]));
}

SCENARIO(never_called_empty) = {
    .setup = setup_never_empty,
    .threads = {{owner_never_empty, NULL, false}, {observer, NULL, false}},
    .check_end = check_end,
};

SCENARIO(never_called_empty_arm) = {
    .setup = setup_never_empty,
    .threads = {{owner_never_empty, NULL, false}, {observer, NULL, false}},
    .check_end = check_end,
    .model = SIM_ARM,
};

static void
setup_never_empty_shut(void)
{
	reset_shut();
	wf_runq_put_next(&s.q[0], make(), &s.over);
}

SCENARIO(never_called_empty_shut_arm) = {
    .setup = setup_never_empty_shut,
    .threads = {{owner_never_empty, NULL, false}, {observer, NULL, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_RUNQ_NEXT_RELAXED)},
    .model = SIM_ARM,
};

/* ---- doors. A thief that cannot come in has got nothing, and the owner goes on: DOOR-1 to DOOR-3 */

static void
owner_shut(void *arg)
{
	(void)arg;
	wf_runq_put(&s.q[0], make(), &s.over);
	wf_runq_put(&s.q[0], make(), &s.over);
	obtain(wf_runq_get_ring(&s.q[0]));
	obtain(wf_runq_get_ring(&s.q[0]));
}

SCENARIO(door_ring) = {
    .setup = reset_shut,
    .threads = {{owner_shut, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK),
		SIM_MUTANT(MUT_RUNQ_GET_NO_CAS)},
};

SCENARIO(door_ring_arm) = {
    .setup = reset_shut,
    .threads = {{owner_shut, NULL, false}, LONE_THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
    .model = SIM_ARM,
};

SCENARIO(door_next) = {
    .setup = reset_shut,
    .threads = {{owner_next, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
};

SCENARIO(door_next_arm) = {
    .setup = reset_shut,
    .threads = {{owner_next, NULL, false}, LONE_THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER), SIM_MUTANT(MUT_DOOR_NO_LOOK)},
    .model = SIM_ARM,
};

/* The owner shuts it again as soon as it may, and thieves come back. */
static void
owner_shuts(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		wf_runq_put(&s.q[0], make(), &s.over);
		wf_runq_put(&s.q[0], make(), &s.over);
		wf_door_look(&s.q[0].door);
		wf_door_look(&s.q[0].door);
		obtain(wf_runq_get_ring(&s.q[0]));
		obtain(wf_runq_get_ring(&s.q[0]));
	}
}

static void
setup_visited(void)
{
	reset_shut();
	s.q[0].door.state.v = WF_DOOR_OPEN;
}

SCENARIO(door_shuts) = {
    .setup = setup_visited,
    .threads = {{owner_shuts, NULL, false}, LONE_THIEF(1), LONE_THIEF(2)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_SHUT_IN), SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
};

SCENARIO(door_shuts_arm) = {
    .setup = setup_visited,
    .threads = {{owner_shuts, NULL, false}, LONE_THIEF(1)},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_SHUT_IN), SIM_MUTANT(MUT_DOOR_NO_MEMBARRIER)},
    .model = SIM_ARM,
};

/* A thief has set the door ajar and has seen the owner idle; before it opens it the owner does, shuts
   it, and another thief comes. DOOR-3 */
static void
owner_opens_and_shuts(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		wf_door_look(&s.q[0].door);
	obtain(wf_runq_get_next(&s.q[0]));
}

static void
setup_ajar(void)
{
	reset_shut();
	wf_runq_put_next(&s.q[0], make(), &s.over);
	s.q[0].door.state.v = WF_DOOR_AJAR;
}

static void
thief_at_once(void *arg)
{
	int self = (int)(uintptr_t)arg;
	uint32_t count;

	obtain(wf_runq_steal(&s.q[self], &s.q[0], true, 0, &count));
}

SCENARIO(door_ajar_again) = {
    .setup = setup_ajar,
    .threads = {{owner_opens_and_shuts, NULL, false},
		{thief_at_once, (void *)1, false},
		{thief_at_once, (void *)2, false}},
    .check_end = check_end,
    .mutants = {SIM_MUTANT(MUT_DOOR_NO_NUMBER)},
};
