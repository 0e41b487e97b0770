/* SPDX-License-Identifier: MIT */
/* lock.c: the slow halves of the mutex, ranks, and the note. */
#include "base/lock.h"
#include "base/check.h"
#include "base/mutant.h"

#ifdef WF_TINY
enum { LOCK_SPINS = 1 };
#else
enum { LOCK_SPINS = 40 }; /* looks before sleeping: sections are shorter than a futex call */
#endif

enum {
	PAUSES = 64, /* before it is taken to have lost its CPU ... */
	YIELDS = 16, /* ... and yields before we sleep, in case it may not run beside us */
	NAP_NS = 50000,
};

uint32_t *(*wf_held_ranks_hook)(void);

void
wf_back_off(unsigned tries)
{
	if (tries < PAUSES)
		cpu_relax();
	else if (tries < PAUSES + YIELDS)
		os_yield();
	else
		os_sleep_ns(NAP_NS);
}

void
wf_lock_slow(struct wf_lock *l)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		uint32_t free_word = 0;

		/* rlx: only a hint; the CAS decides */
		if (at_load_rlx(&l->word) == 0 && at_cas_acqrel(&l->word, &free_word, 1))
			return;
		cpu_relax();
	}
	/* acq/rel: 2 says that a sleeper may exist, whoever unlocks must wake one */
	while (at_xchg_acqrel(&l->word, 2) != 0)
		os_futex_wait(&l->word, 2, -1);
}

void
wf_unlock_slow(struct wf_lock *l)
{
	os_futex_wake(&l->word, 1);
}

#ifdef WF_DEBUG
static uint32_t *
held_ranks(void)
{
	return wf_held_ranks_hook ? wf_held_ranks_hook() : NULL;
}

void
wf_rank_taken(const struct wf_lock *l)
{
	uint32_t *held = held_ranks();

	if (!held)
		return;
	CHECK((*held >> l->rank) == 0); /* LOCK-1 */
	*held |= 1u << l->rank;
}

void
wf_rank_dropped(const struct wf_lock *l)
{
	uint32_t *held = held_ranks();

	if (held)
		*held &= ~(1u << l->rank);
}

bool
wf_rank_holds(const struct wf_lock *l)
{
	uint32_t *held = held_ranks();

	return !held || (*held >> l->rank) & 1;
}
#endif

enum { CLEAR, WOKEN, SLEEPS }; /* a note's word */

/* NOTE-3: the waker sees that it must kick, or we see its wake: false. */
static bool
says_that_it_sleeps(struct wf_note *n)
{
	uint32_t word = CLEAR;

	/* acqrel: as above; SLEEPS already: it woke for nothing */
	return WF_MUTANT(MUT_NOTE_UNSAID) || at_cas_acqrel(&n->word, &word, SLEEPS) ||
	       word == SLEEPS;
}

static bool
is_woken(struct wf_note *n)
{
	return at_load_acq(&n->word) ==
	       WOKEN; /* acq: what the waker wrote; pairs with wf_note_set */
}

bool
wf_note_sleep(struct wf_note *n, int64_t timeout_ns, uint64_t *calls)
{
	int64_t until = timeout_ns < 0 ? 0 : os_now_ns() + timeout_ns;

	while (!is_woken(n)) {
		int64_t left = -1;

		if (timeout_ns >= 0 && (left = until - os_now_ns()) <= 0)
			return is_woken(n);
		if (!says_that_it_sleeps(n))
			continue;
		++*calls;
		os_futex_wait(&n->word, SLEEPS, left); /* early returns are re-checked above */
	}
	return true;
}

bool
wf_note_sleep_until(struct wf_note *n, int64_t until_ns, uint64_t *calls)
{
	while (!is_woken(n)) {
		if (os_now_ns() >= until_ns)
			return is_woken(n);
		if (!says_that_it_sleeps(n))
			continue;
		++*calls;
		os_futex_wait_until(&n->word, SLEEPS, until_ns);
	}
	return true;
}

bool
wf_note_set(struct wf_note *n)
{
	/* rel: publishes what the sleeper is to find; pairs with wf_note_sleep */
	uint32_t was = at_xchg_acqrel(&n->word, WOKEN);

	CHECK(was != WOKEN); /* NOTE-1 */
	return was == SLEEPS;
}

void
wf_note_kick(struct wf_note *n)
{
	os_futex_wake(&n->word, 1); /* too late is harmless: sleepers look at the word */
}

void
wf_note_wake(struct wf_note *n)
{
	if (wf_note_set(n)) /* NOTE-3 */
		wf_note_kick(n);
}

void
wf_note_clear(struct wf_note *n)
{
	at_store_rlx(&n->word, CLEAR); /* NOTE-2: nobody may wake it before it is published again */
}
