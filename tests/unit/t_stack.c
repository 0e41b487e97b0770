/* SPDX-License-Identifier: MIT */
/* t_stack.c: stacks: classes, colours, caches, guards. qemu */
#include "test.h"

#include "core/stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct wf_p p;

static void
set_up(void)
{
	wf_stack_init();
	at_store_rlx(&wf_sched.procs, 1);
}

TEST(class_is_the_smallest_that_holds)
{
	for (int c = 0; c < WF_STACK_CLASSES; c++) {
		size_t bytes = wf_stack_bytes(c);

		EXPECT_EQ(wf_stack_class(bytes), c);
		EXPECT_EQ(wf_stack_class(bytes - 1), c);
		EXPECT_EQ(wf_stack_class(bytes + 1), c + 1 < WF_STACK_CLASSES ? c + 1 : -EINVAL);
	}
	EXPECT_EQ(wf_stack_class(0), 0);
	EXPECT_EQ(wf_stack_class(SIZE_MAX), -EINVAL);
}

TEST(tops_are_coloured_aligned_and_in_bounds)
{
	for (int c = 0; c < WF_STACK_CLASSES; c++) {
		size_t bytes = wf_stack_bytes(c);
		uintptr_t least = UINTPTR_MAX, most = 0;

		for (uintptr_t n = 1; n <= 64; n++) {
			uintptr_t slot = n * (bytes + 4096);
			uintptr_t top = (uintptr_t)wf_stack_top((void *)slot, c);

			EXPECT_EQ(top % 64, 0);
			EXPECT(top <= slot + bytes);
			EXPECT(top >= slot + bytes - 1024);
			least = top - slot < least ? top - slot : least;
			most = top - slot > most ? top - slot : most;
		}
		EXPECT(most > least);
	}
}

TEST(guard_leaves_room)
{
	set_up();
	for (int c = 0; c < WF_STACK_CLASSES; c++) {
		size_t guard = wf_stack_guard_bytes(c);

		EXPECT(guard >= os_page_bytes());
		EXPECT_EQ(guard % os_page_bytes(), 0);
		EXPECT(guard <= wf_stack_bytes(c) / 2);
	}
}

enum { MANY = 300 };

static int class;

static void
take_many(void **slot)
{
	for (int i = 0; i < MANY; i++) {
		EXPECT_EQ(wf_stack_reserve(&p.cache, class), 0);
		slot[i] = wf_stack_take(&p, class);
		for (int k = 0; k < i; k++)
			EXPECT(slot[k] != slot[i]);
		/* usable from the guard to the top */
		*((char *)slot[i] + wf_stack_guard_bytes(class)) = 1;
		*((char *)wf_stack_top(slot[i], class) - 1) = 1;
	}
}

/* STK-1, STK-2 */
TEST(slots_are_distinct_and_come_back)
{
	void *slot[MANY];
	uint64_t in_use, cached, before;

	set_up();
	for (class = 1; class <= 6; class += 5) {
		take_many(slot);
		for (int i = 0; i < MANY; i++) {
			wf_stack_give(&p, class, slot[i]);
			wf_stack_unreserve(&p.cache, class);
		}
		wf_stack_flush(&p);
		wf_stack_count(&in_use, &cached);
		EXPECT_EQ(in_use, 0);
		EXPECT(cached >= MANY);
		before = cached;
		take_many(slot);
		for (int i = 0; i < MANY; i++) {
			wf_stack_give(&p, class, slot[i]);
			wf_stack_unreserve(&p.cache, class);
		}
		wf_stack_flush(&p);
		wf_stack_count(&in_use, &cached);
		EXPECT_EQ(in_use, 0);
		EXPECT_EQ(cached, before); /* the second round took the slots of the first */
	}
	/* what was cut ahead is less than a cache holds */
	EXPECT(cached < 2 * MANY + 2 * WF_STACK_CACHE);
}

/* A TLB picks the set of an entry by the low bits of the page's number. */
TEST(tops_are_spread_over_the_sets_of_the_tlb)
{
	enum { SETS = 128 };
	void *slot[MANY];
	int used[SETS] = {0}, sets = 0;

	set_up();
	class = 4;
	take_many(slot);
	for (int i = 0; i < MANY; i++)
		used[((uintptr_t)wf_stack_top(slot[i], class) - 1) / os_page_bytes() % SETS]++;
	for (int i = 0; i < SETS; i++)
		sets += used[i] > 0;
	EXPECT(sets > SETS / 2);
}

TEST(last_given_is_first_taken)
{
	void *a, *b;

	set_up();
	class = 3;
	EXPECT_EQ(wf_stack_reserve(&p.cache, class), 0);
	EXPECT_EQ(wf_stack_reserve(&p.cache, class), 0);
	a = wf_stack_take(&p, class);
	b = wf_stack_take(&p, class);
	wf_stack_give(&p, class, a);
	wf_stack_give(&p, class, b);
	EXPECT_EQ(wf_stack_take(&p, class), b);
	EXPECT_EQ(wf_stack_take(&p, class), a);
}

TEST(without_a_p_slots_come_from_the_depot)
{
	static struct wf_cache c;
	void *slot[MANY];

	set_up();
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(wf_stack_reserve(&c, 2), 0);
	for (int i = 0; i < MANY; i++)
		slot[i] = wf_stack_take_slow(NULL, 2);
	for (int i = 0; i < MANY; i++) {
		wf_stack_give(NULL, 2, slot[i]);
		wf_stack_unreserve(&c, 2);
	}
	wf_stack_flush_credit(&c);
	EXPECT_EQ(c.credit[2], 0);
}

TEST(use_is_measured_in_pages)
{
	size_t page = os_page_bytes(), used;
	char *slot;

	set_up();
	class = 6;
	EXPECT_EQ(wf_stack_reserve(&p.cache, class), 0);
	slot = wf_stack_take(&p, class);
	EXPECT_EQ(wf_stack_used(slot, class), 0);
	slot[wf_stack_bytes(class) - 1] = 1;
	EXPECT_EQ(wf_stack_used(slot, class), page);
	slot[wf_stack_bytes(class) - 10 * page] = 1;
	used = wf_stack_used(slot, class);
	EXPECT_EQ(used, 10 * page);
}

TEST(deep_pages_go_back_with_the_slot)
{
	size_t page = os_page_bytes();
	void *slot[WF_STACK_CACHE + 1];

	set_up();
	class = 7;
	for (int i = 0; i <= WF_STACK_CACHE; i++) {
		EXPECT_EQ(wf_stack_reserve(&p.cache, class), 0);
		slot[i] = wf_stack_take(&p, class);
		memset((char *)slot[i] + wf_stack_bytes(class) - 50 * page, 1, 50 * page);
	}
	for (int i = 0; i <= WF_STACK_CACHE; i++)
		wf_stack_give(&p, class, slot[i]);
	wf_stack_flush(&p);
	for (int i = 0; i <= WF_STACK_CACHE; i++)
		EXPECT(wf_stack_used(slot[i], class) <= 8 * page);
}

enum { KEPT = 64 }; /* of each class keep their pages */

static int
resident(void **slot)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += wf_stack_used(slot[i], class) > 0;
	return n;
}

static void
give_many(void **slot)
{
	for (int i = 0; i < MANY; i++) {
		wf_stack_give(NULL, class, slot[i]);
		wf_stack_unreserve(&p.cache, class);
	}
}

/* What was not needed between two marks, and no more of it than asked for. */
TEST(unused_slots_give_their_pages_back)
{
	void *slot[MANY];

	set_up();
	class = 2;
	take_many(slot);
	give_many(slot);
	EXPECT_EQ(resident(slot), MANY);
	EXPECT(wf_stack_warm());
	EXPECT_EQ(wf_stack_trim(MANY), 0);
	wf_stack_mark(); /* they were in use since the last mark, which was never */
	EXPECT_EQ(wf_stack_trim(MANY), 0);
	EXPECT_EQ(resident(slot), MANY);
	wf_stack_mark();
	EXPECT_EQ(wf_stack_trim(100), 100);
	EXPECT_EQ(resident(slot), MANY - 100);
	EXPECT(wf_stack_warm());
	EXPECT_EQ(wf_stack_trim(MANY), MANY - 100 - KEPT);
	EXPECT_EQ(resident(slot), KEPT);
	EXPECT(!wf_stack_warm());
	EXPECT_EQ(wf_stack_trim(MANY), 0);

	/* needed again: the next two marks count */
	take_many(slot);
	give_many(slot);
	wf_stack_mark();
	EXPECT_EQ(wf_stack_trim(MANY), 0);
	EXPECT(wf_stack_warm());
	wf_stack_mark();
	EXPECT_EQ(wf_stack_trim(MANY), MANY - KEPT);
	EXPECT_EQ(resident(slot), KEPT);
}

static enum wf_guard kind;

static void
touches_guard(void)
{
	char *slot;

	set_up();
	wf_stack_force_guard(kind);
	EXPECT_EQ(wf_stack_reserve(&p.cache, 5), 0);
	slot = wf_stack_take(&p, 5);
	slot[wf_stack_guard_bytes(5)] = 1; /* fine */
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)(slot + wf_stack_guard_bytes(5) - 1) = 1;
}

/* STK-3 */
TEST(guard_faults)
{
	char out[1024];
	int status;

	kind = WF_GUARD_MADVISE;
	status = test_child(touches_guard, out, sizeof(out));
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
	kind = WF_GUARD_MPROTECT;
	status = test_child(touches_guard, out, sizeof(out));
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(canary_notices)
{
	char *slot;

	set_up();
	wf_stack_force_guard(WF_GUARD_CANARY);
	EXPECT_EQ(wf_stack_reserve(&p.cache, 2), 0);
	slot = wf_stack_take(&p, 2);
	EXPECT(wf_stack_canary_intact(slot, 2));
	memset(slot, 0x55, 64);
	EXPECT(!wf_stack_canary_intact(slot, 2));
}

/* A slot that was cut while guards could be had is still judged after they ran out. */
TEST(guarded_slot_is_intact_after_the_fall_back_to_canaries)
{
	char *slot;

	set_up();
	EXPECT_EQ(wf_stack_reserve(&p.cache, 2), 0);
	slot = wf_stack_take(&p, 2);
	wf_stack_force_guard(WF_GUARD_CANARY);
	EXPECT(wf_stack_canary_intact(slot, 2));
}
