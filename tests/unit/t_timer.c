/* SPDX-License-Identifier: MIT */
/* t_timer.c: the heap of timers against a reference. qemu */
#include "test.h"

#include "core/gclaim.h"
#include "core/timer.h"

#include <stdlib.h>
#include <string.h>

static struct wf_heap heap, other;

static void
reset(void)
{
	bool refused = os_membarrier_register() < 0;

	wf_heap_init(&heap);
	wf_heap_init(&other);
	wf_door_prop(&heap.door, refused);
	wf_door_prop(&other.door, refused);
}

static void
set(struct wf_timer_object *o, int64_t when, int64_t period)
{
	bool earlier;

	o->t.object = true;
	wf_timer_set(&heap, o, when, period, &earlier);
}

/* TIMER-2 */
static void
check_heap(const struct wf_heap *h)
{
	uint32_t dead = 0;

	for (uint32_t i = 1; i < h->n; i++)
		EXPECT(h->entry[(i - 1) / 4].when <= h->entry[i].when);
	EXPECT(h->n <= h->cap);
	for (uint32_t i = 0; i < h->n; i++)
		dead += h->entry[i].when != wf_timer_when(h->entry[i].t);
	EXPECT(dead <= h->dead); /* two entries may be for the same time: one of them is dead too */
	EXPECT(h->dead <= h->n);
	if (h->n > 0)
		EXPECT(wf_heap_next(h) <= h->entry[0].when);
}

/* ---- one timer */

TEST(one_timer_fires_once_and_not_before)
{
	struct wf_timer_object o = {0};
	struct wf_due due;

	reset();
	set(&o, 100, 0);
	EXPECT_EQ(wf_heap_next(&heap), 100);
	wf_heap_run(&heap, &heap, 99, &due);
	EXPECT_EQ(due.n, 0);
	wf_heap_run(&heap, &heap, 100, &due);
	EXPECT_EQ(due.n, 1);
	EXPECT_EQ(due.object[0].o, &o);
	EXPECT_EQ(due.object[0].when, 100);
	EXPECT_EQ(due.object[0].number, 1);
	EXPECT(!due.more);
	wf_heap_run(&heap, &heap, 1000, &due);
	EXPECT_EQ(due.n, 0);
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER);
	EXPECT(!wf_heap_live(&heap));
}

TEST(cancel_says_whether_it_was_armed)
{
	struct wf_timer_object o = {0};
	struct wf_due due;
	uint64_t fires;

	reset();
	o.t.object = true;
	EXPECT(!wf_timer_cancel(&heap, &o, &fires));
	set(&o, 10, 0);
	EXPECT(wf_heap_live(&heap));
	EXPECT(wf_timer_cancel(&heap, &o, &fires));
	EXPECT_EQ(fires, 0);
	EXPECT(!wf_timer_cancel(&heap, &o, &fires));
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER);
	wf_heap_run(&heap, &heap, 1000, &due);
	EXPECT_EQ(due.n, 0);
}

TEST(a_period_is_kept_and_missed_ones_are_one)
{
	struct wf_timer_object o = {0};
	struct wf_due due;

	reset();
	set(&o, 100, 10);
	wf_heap_run(&heap, &heap, 100, &due);
	EXPECT_EQ(due.n, 1);
	EXPECT_EQ(wf_heap_next(&heap), 110);
	wf_heap_run(&heap, &heap, 155, &due);
	EXPECT_EQ(due.n, 1);
	EXPECT_EQ(due.object[0].when, 110);
	EXPECT_EQ(wf_heap_next(&heap), 160);
	set(&o, WF_NEVER - 10, WF_NEVER - 1); /* saturates */
	wf_heap_run(&heap, &heap, WF_NEVER - 10, &due);
	EXPECT_EQ(due.n, 1);
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER - 1);
}

/* It stands in the list, and an entry that it had for the same time is dead all the same. */
TEST(entry_of_a_listed_timer_does_not_count)
{
	static struct wf_timer_object many[1024];
	struct wf_timer_object o = {0};
	struct wf_due due;
	uint64_t fires;
	uint32_t n = 0;

	reset();
	set(&o, 5000, 0);
	wf_heap_grow(&heap, &heap);
	set(&o, 10, 0); /* the entry for 5000 is dead */
	wf_heap_run(&heap, &heap, 10, &due);
	EXPECT_EQ(due.n, 1);
	for (; heap.n < heap.cap; n++)
		set(&many[n], 6000 + n, 0);
	set(&o, 5000, 0);
	EXPECT(o.t.listed);
	for (uint32_t i = 0; i < n / 2; i++)
		wf_timer_cancel(&heap, &many[i], &fires); /* all dead ones are swept away */
	check_heap(&heap);
	set(&o, 4000, 0);
	check_heap(&heap);
	wf_heap_run(&heap, &heap, 4000, &due);
	EXPECT_EQ(due.n, 1);
	wf_heap_run(&heap, &heap, 5000, &due);
	EXPECT_EQ(due.n, 0);
	check_heap(&heap);
	wf_heap_flush(&heap);
}

TEST(many_are_due_soon)
{
	struct wf_timer_object o[WF_TIMERS_MANY + 3] = {0};

	reset();
	for (int i = 0; i < WF_TIMERS_MANY; i++) {
		EXPECT(!wf_heap_many_by(&heap, WF_NEVER - 1));
		set(&o[i], 100 + i, 0);
		wf_heap_grow(&heap, &heap); /* it may stand in a list until then */
	}
	EXPECT(!wf_heap_many_by(&heap, 100 + WF_TIMERS_MANY - 2));
	EXPECT(wf_heap_many_by(&heap, 100 + WF_TIMERS_MANY - 1));
	for (int i = 0; i < 3; i++)
		set(&o[WF_TIMERS_MANY + i], 50 + i, 0);
	EXPECT(wf_heap_many_by(&heap, 100 + WF_TIMERS_MANY - 1));
	for (int i = 0; i < WF_TIMERS_MANY + 3; i++) {
		uint64_t fires;

		EXPECT(wf_timer_cancel(&heap, &o[i], &fires));
	}
	EXPECT(!wf_heap_many_by(&heap, WF_NEVER - 1));
	wf_heap_flush(&heap);
}

TEST(times_saturate)
{
	EXPECT_EQ(wf_time_after(5, 0), 5);
	EXPECT_EQ(wf_time_after(5, -1), 5);
	EXPECT_EQ(wf_time_after(5, INT64_MIN), 5);
	EXPECT_EQ(wf_time_after(5, 7), 12);
	EXPECT_EQ(wf_time_after(5, INT64_MAX), WF_NEVER - 1);
	EXPECT_EQ(wf_time_after(5, INT64_MAX - 5), WF_NEVER - 1);
	EXPECT_EQ(wf_time_after(5, INT64_MAX - 6), WF_NEVER - 1);
	EXPECT_EQ(wf_time_after(5, INT64_MAX - 7), WF_NEVER - 2);
}

/* A dropped timer's memory comes back when its last entry has gone, once. */
TEST(dropped_timers_come_back_once)
{
	enum { N = 1000 };
	static struct wf_timer_object o[N];
	static bool back[N];
	struct wf_due due;
	int n = 0;

	reset();
	for (int i = 0; i < N; i++)
		set(&o[i], 1000 + (i * 7919) % N, 0);
	for (int i = 0; i <= N; i++) {
		struct wf_timer *gone;

		if (i < N) {
			gone = wf_timer_drop(&heap, &o[(i * 31) % N]);
		} else {
			wf_heap_run(&heap, &heap, 10000, &due);
			EXPECT_EQ(due.n, 0);
			gone = due.gone;
		}
		for (struct wf_timer *next; gone; gone = next, n++) {
			next = gone->next;
			EXPECT(!back[(struct wf_timer_object *)gone - o]);
			back[(struct wf_timer_object *)gone - o] = true;
			memset(gone, 0x5a, sizeof(*gone)); /* nobody may look at it */
		}
	}
	EXPECT_EQ(n, N);
}

TEST(a_timer_changes_its_heap_only_when_out)
{
	struct wf_timer_object o = {.t.object = true}, keep = {.t.object = true};
	struct wf_due due;
	bool earlier;

	reset();
	set(&keep, 1, 0);
	set(&o, 100, 0);
	wf_timer_set(&other, &o, 50, 0, &earlier); /* TIMER-1 */
	EXPECT_EQ(wf_heap_next(&other), WF_NEVER);
	wf_heap_run(&heap, &heap, 60, &due);
	EXPECT_EQ(due.n, 2);
	EXPECT(due.object[0].o == &keep && due.object[1].o == &o);
	wf_heap_run(&heap, &heap, 200, &due); /* the dead entry goes */
	wf_timer_set(&other, &o, 300, 0, &earlier);
	EXPECT(earlier);
	EXPECT_EQ(wf_heap_next(&other), 300);
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER);
}

/* ---- the timer of a goroutine: what TIMER-4 says, one after the other */

static void
opens(struct wf_g *g, int64_t wake_at)
{
	at_store_rlx(&g->wake_at, (uint64_t)wake_at);
	wf_claim_open(g, wf_claim_next(g, true));
}

TEST(the_timer_of_a_goroutine_claims_its_wait)
{
	static struct wf_g g;
	struct wf_due due;

	reset();
	EXPECT(wf_timer_by(&heap, &g.timer, 100));
	EXPECT(!wf_heap_live(&heap));
	opens(&g, 100);
	EXPECT(wf_heap_live(&heap));
	wf_heap_run(&heap, &heap, 100, &due);
	EXPECT(due.ready.head == &g && due.ready.size == 1);
	EXPECT(!(at_load_rlx(&g.claim) & WF_CLAIM_OPEN));
	EXPECT_EQ(wf_timer_when(&g.timer), WF_NEVER);
}

TEST(a_wait_that_ends_later_is_not_ended)
{
	static struct wf_g g;
	struct wf_due due;

	reset();
	EXPECT(wf_timer_by(&heap, &g.timer, 100));
	EXPECT(!wf_timer_by(&heap, &g.timer, 150)); /* 100 is before that */
	wf_heap_grow(&heap, &heap);
	EXPECT_EQ(heap.n, 1);
	opens(&g, 150);
	wf_heap_run(&heap, &heap, 120, &due);
	EXPECT_EQ(due.ready.size, 0);
	EXPECT_EQ(wf_timer_when(&g.timer), 150);
	opens(&g, 0); /* a wait without an end */
	wf_heap_run(&heap, &heap, 200, &due);
	EXPECT_EQ(due.ready.size, 0);
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER);
	EXPECT(wf_timer_by(&heap, &g.timer, 300));
	at_store_rlx(&g.wake_at, 300);
	wf_claim_open(&g, wf_claim_next(&g, false)); /* one that no timer ends */
	wf_heap_run(&heap, &heap, 400, &due);
	EXPECT_EQ(due.ready.size, 0);
}

/* A short sleep again and again inside a long deadline: the heap stays small. */
TEST(left_entries_do_not_pile_up)
{
	static struct wf_g g[3];
	struct wf_due due;

	reset();
	for (int64_t now = 1; now < 100000; now++) {
		struct wf_g *one = &g[now % 3];

		wf_timer_by(&heap, &one->timer, 1000000);
		wf_timer_by(&heap, &one->timer, now + 1);
		opens(one, now + 1);
		wf_heap_run(&heap, &heap, now + 1, &due);
		EXPECT(due.ready.size == 1 && due.ready.head == one);
		EXPECT(heap.n < 100);
	}
}

/* ---- against a reference */

enum { TIMERS = 300, STEPS = 30000 };

static struct wf_timer_object objects[TIMERS];
static int64_t armed[TIMERS]; /* 0: not */

static int64_t
earliest(void)
{
	int64_t least = WF_NEVER;

	for (int i = 0; i < TIMERS; i++)
		if (armed[i] && armed[i] < least)
			least = armed[i];
	return least;
}

static void
run_all(int64_t now)
{
	struct wf_due due;
	int64_t last = 0;

	do {
		wf_heap_run(&heap, &heap, now, &due);
		for (uint32_t i = 0; i < due.n; i++) {
			int k = (int)(due.object[i].o - objects);

			EXPECT(armed[k] != 0 && armed[k] <= now);
			EXPECT_EQ(due.object[i].when, armed[k]);
			EXPECT(due.object[i].when >= last); /* TIMER-3 */
			last = due.object[i].when;
			armed[k] = 0;
		}
	} while (due.more);
	EXPECT(earliest() > now);
}

static uint64_t
chance(uint64_t n)
{
	static uint64_t state;

	if (!state)
		state = test_seed();
	return test_rand(&state) % n;
}

TEST(random_operations_match_a_reference)
{
	int64_t now = 1;

	reset();
	for (int i = 0; i < TIMERS; i++)
		objects[i].t.object = true;
	for (int step = 0; step < STEPS; step++) {
		int k = (int)chance(TIMERS);
		uint64_t fires;
		bool earlier;

		switch (chance(8)) {
		case 0:
			now += (int64_t)chance(50);
			run_all(now);
			break;
		case 1:
		case 2:
			EXPECT_EQ(wf_timer_cancel(&heap, &objects[k], &fires), armed[k] != 0);
			armed[k] = 0;
			break;
		case 3:
			wf_heap_grow(&heap, &heap);
			break;
		default: {
			int64_t when = now + 1 + (int64_t)chance(chance(2) ? 20 : 2000);
			int64_t before = wf_heap_next(&heap);

			EXPECT_EQ(wf_timer_set(&heap, &objects[k], when, 0, &earlier),
				  armed[k] != 0);
			EXPECT_EQ(earlier, when < before);
			armed[k] = when;
		}
		}
		EXPECT(wf_heap_next(&heap) <= earliest()); /* TIMER-2 */
		EXPECT((wf_heap_next(&heap) == WF_NEVER) <= (earliest() == WF_NEVER));
		if (step % 100 == 0)
			check_heap(&heap);
	}
	EXPECT(heap.n <= 2 * TIMERS);
}

TEST(flush_leaves_nothing)
{
	struct wf_due due;

	reset();
	for (int i = 0; i < TIMERS; i++)
		set(&objects[i], 1 + i, 1);
	EXPECT(wf_heap_flush(&heap) == NULL);
	EXPECT_EQ(wf_heap_next(&heap), WF_NEVER);
	wf_heap_run(&heap, &heap, 1000, &due);
	EXPECT_EQ(due.n, 0);
	for (int i = 0; i < TIMERS; i++)
		EXPECT(objects[i].t.entries == 0 && wf_timer_when(&objects[i].t) == WF_NEVER);
}
