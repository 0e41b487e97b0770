/* SPDX-License-Identifier: MIT */
/* limbo.c: see limbo.h. One batch is sealed at a time; it waits for the Ms, the next for it. */
#include "wait/limbo.h"
#include "base/sanitizer.h"

#include <stdlib.h>

#ifdef WF_TINY
enum { BATCH = 1 };
#else
enum { BATCH = 1024 }; /* what shares the cost of a look at all Ms: a membarrier, mostly */
#endif
enum { HEAVY_BYTES = 4096 }; /* so much memory counts as one more */

static struct {
	struct wf_lock lock;
	/* under lock */
	struct wf_limbo *fresh, *sealed;
	uint64_t weight, look_at; /* of fresh ones, and when it is worth a look */
	uint64_t round;           /* of the sealed batch */
	bool looking;
} limbo = {.lock = WF_LOCK_INIT(WF_RANK_LIMBO), .look_at = BATCH};

/* sched.lock held. Is it certain that t is not where it was before the barrier? */
static bool
is_out(const struct wf_m *t, const struct wf_m *me)
{
	/* acq: it has done with what it did in there */
	return t == me || !t->in_use || t->idle || at_load_acq(&t->in_rt) == 0 ||
	       at_load_acq(&t->at_rest);
}

/* All Ms have been seen outside since the batch of this round was sealed. */
static bool
all_out(struct wf_m *me, uint64_t round)
{
	bool all = true;

	/* Every in_rt stored before is visible now: LIMBO-1. A goroutine that comes to leave a line
	   was taken from a queue by a CAS after that store, and the lock above is one after the
	   unlinking: on x86 that would do, and the explorer cannot tell. On other machines a CAS
	   does not keep a later load from going first. */
	wf_lease_barrier();
	wf_lock(&wf_sched.lock);
	for (struct wf_m *t = wf_sched.all_ms; t; t = t->all_next) {
		if (t->seen_out == round)
			continue;
		if (is_out(t, me))
			t->seen_out = round;
		else
			all = false;
	}
	wf_unlock(&wf_sched.lock);
	return all;
}

/* limbo.lock held: true if the caller is to look. */
static bool
begin_look(void)
{
	if (limbo.weight < limbo.look_at || limbo.looking)
		return false;
	limbo.looking = true;
	if (!limbo.sealed) {
		limbo.sealed = limbo.fresh;
		limbo.fresh = NULL;
		limbo.weight = 0;
		limbo.round++;
	}
	limbo.look_at = limbo.weight + BATCH;
	return true;
}

/* limbo.lock held. */
static void
add(struct wf_limbo *item, size_t bytes)
{
	item->next = limbo.fresh;
	limbo.fresh = item;
	limbo.weight += 1 + bytes / HEAVY_BYTES;
}

void
wf_limbo_add(void *memory, size_t bytes)
{
	wf_tsan_release(&limbo);
	wf_lock(&limbo.lock);
	add(memory, bytes);
	wf_unlock(&limbo.lock);
}

struct wf_limbo *
wf_limbo_put(struct wf_m *m, void *memory, size_t bytes)
{
	struct wf_limbo *item = memory, *done = NULL;
	uint64_t round;
	bool look;

	wf_tsan_release(&limbo);
	if (WF_MUTANT(MUT_LIMBO_SKIPPED)) {
		item->next = NULL;
		return item;
	}
	wf_lock(&limbo.lock);
	add(item, bytes);
	look = begin_look();
	round = limbo.round;
	wf_unlock(&limbo.lock);
	if (likely(!look))
		return NULL;
	look = all_out(m, round);
	wf_lock(&limbo.lock);
	if (look) {
		done = limbo.sealed;
		limbo.sealed = NULL;
	}
	limbo.looking = false;
	wf_unlock(&limbo.lock);
	return done;
}

struct wf_limbo *
wf_limbo_empty(void)
{
	struct wf_limbo *all, **end = &all;

	wf_lock(&limbo.lock);
	all = limbo.sealed;
	while (*end)
		end = &(*end)->next;
	*end = limbo.fresh;
	limbo.sealed = limbo.fresh = NULL;
	limbo.weight = 0;
	limbo.look_at = BATCH;
	wf_unlock(&limbo.lock);
	return all;
}

void
wf_limbo_free(struct wf_limbo *list)
{
	if (list)
		wf_tsan_acquire(&limbo);
	while (list) {
		struct wf_limbo *next = list->next;

		free(list);
		list = next;
	}
}
