/* SPDX-License-Identifier: MIT */
/*
 * t_lock.c: the futex mutex and the note (base/lock.c, unchanged) on the simulated kernel.
 *
 * The section of a lock excludes and orders; nobody sleeps on a free lock; a note's sleeper is
 * always woken and sees what the waker wrote, whatever spurious returns come between. (NOTE-1
 * to NOTE-3)
 * sources: src/base/lock.c tests/model/os_sim.c
 */
#include "explore.h"
#include "os_sim.h"

#include "base/lock.h"
#include "base/mutant.h"

#include <string.h>

static struct {
	struct wf_lock lock;
	struct wf_note note[2];
	int inside, sections, message;
	uint32_t held[SIM_THREADS];
} s;

static uint32_t *
held_of_thread(void)
{
	return sim_self() < 0 ? NULL : &s.held[sim_self()];
}

static void
reset(void)
{
	os_sim_reset();
	memset(&s, 0, sizeof(s));
	wf_held_ranks_hook = held_of_thread;
	sim_name(&s.lock.word, "lock");
	sim_name(&s.note[0].word, "note0");
	sim_name(&s.note[1].word, "note1");
	sim_name(&s.message, "message");
}

static void
section(void)
{
	SIM_CHECK(s.inside++ == 0);
	sim_plain_write(&s.sections); /* an error unless ordered after the last section */
	s.sections++;
	light_barrier(); /* a choice point */
	s.inside--;
}

static void
locker(void *arg)
{
	(void)arg;
	wf_lock(&s.lock);
	section();
	wf_unlock(&s.lock);
}

static void
locker_twice(void *arg)
{
	locker(arg);
	if (wf_try_lock(&s.lock)) {
		section();
		wf_unlock(&s.lock);
	}
}

static void
lock_check(void)
{
	SIM_CHECK(s.sections >= 3 && s.lock.word.v == 0);
}

SCENARIO(lock_three_threads) = {
    .setup = reset,
    .threads = {{locker, NULL, false}, {locker, NULL, false}, {locker_twice, NULL, false}},
    .check_end = lock_check,
    .early = 1,
};

/* ---- ping-pong over two notes, cleared and used again */

static void
note_pass(int from, int to, bool last)
{
	uint64_t calls = 0;

	SIM_CHECK(wf_note_sleep(&s.note[from], -1, &calls));
	sim_plain_write(&s.message);
	s.message++;
	wf_note_clear(&s.note[from]);
	if (!last)
		wf_note_wake(&s.note[to]);
}

static void
note_first(void *arg)
{
	(void)arg;
	sim_plain_write(&s.message);
	s.message = 1;
	wf_note_wake(&s.note[1]);
	note_pass(0, 1, false);
	note_pass(0, 1, true);
}

static void
note_second(void *arg)
{
	(void)arg;
	note_pass(1, 0, false);
	note_pass(1, 0, false);
}

static void
note_check(void)
{
	SIM_CHECK(s.message == 5);
}

SCENARIO(note_ping_pong) = {
    .setup = reset,
    .threads = {{note_first, NULL, false}, {note_second, NULL, false}},
    .check_end = note_check,
    .early = 2,
    .mutants = {SIM_MUTANT(MUT_NOTE_UNSAID)},
};

SCENARIO(note_ping_pong_arm) = {
    .setup = reset,
    .threads = {{note_first, NULL, false}, {note_second, NULL, false}},
    .check_end = note_check,
    .model = SIM_ARM,
    .early = 1,
};

/* ---- a limited sleep: false only if nobody woke it in time; a late wake then is remembered */

static void
note_limited(void *arg)
{
	uint64_t calls = 0;

	(void)arg;
	if (wf_note_sleep(&s.note[0], 1000, &calls)) {
		sim_plain_read(&s.message);
		SIM_CHECK(s.message == 1);
	} else {
		SIM_CHECK(wf_note_sleep(&s.note[0], -1, &calls));
	}
}

static void
note_waker(void *arg)
{
	(void)arg;
	sim_plain_write(&s.message);
	s.message = 1;
	wf_note_wake(&s.note[0]);
}

SCENARIO(note_limited_sleep) = {
    .setup = reset,
    .threads = {{note_limited, NULL, false}, {note_waker, NULL, false}},
    .early = 2,
};
