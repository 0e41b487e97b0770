/* SPDX-License-Identifier: MIT */
/* t_lock.c: the mutex and the note. qemu, not-tsan: it does not see the lock */
#include "test.h"

#include "base/check.h"
#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static struct wf_lock lock = WF_LOCK_INIT(WF_RANK_SCHED);
static long counter; /* under lock */

static int
rounds(int n)
{
#ifdef WF_CHAOS
	n /= 20;
#endif
	return test_full() ? 4 * n : n;
}

static void *
counts(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds(50000); i++) {
		if (i % 7 || !wf_try_lock(&lock))
			wf_lock(&lock);
		counter++;
		wf_unlock(&lock);
	}
	return NULL;
}

TEST(lock_excludes)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		EXPECT_EQ(pthread_create(&t[i], NULL, counts, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(counter, 4L * rounds(50000));
	EXPECT_EQ(at_load_rlx(&lock.word), 0);
}

TEST(try_lock_fails_while_held)
{
	EXPECT(wf_try_lock(&lock));
	EXPECT(!wf_try_lock(&lock));
	wf_unlock(&lock);
	EXPECT(wf_try_lock(&lock));
	wf_unlock(&lock);
}

static struct wf_note there, back;
static int message;

static void *
answers(void *arg)
{
	uint64_t calls = 0;

	(void)arg;
	for (int i = 0; i < rounds(5000); i++) {
		EXPECT(wf_note_sleep(&there, -1, &calls));
		wf_note_clear(&there);
		EXPECT_EQ(message, i);
		message = -i;
		wf_note_wake(&back);
	}
	return NULL;
}

TEST(note_passes_what_was_written_before_the_wake)
{
	uint64_t calls = 0;
	pthread_t t;

	EXPECT_EQ(pthread_create(&t, NULL, answers, NULL), 0);
	for (int i = 0; i < rounds(5000); i++) {
		message = i;
		wf_note_wake(&there);
		EXPECT(wf_note_sleep(&back, -1, &calls));
		wf_note_clear(&back);
		EXPECT_EQ(message, -i);
	}
	pthread_join(t, NULL);
}

TEST(note_woken_before_the_sleep_does_not_sleep)
{
	uint64_t calls = 0;

	wf_note_wake(&there);
	EXPECT(wf_note_sleep(&there, -1, &calls));
	EXPECT(wf_note_sleep(&there, 0, &calls));
	EXPECT_EQ(calls, 0);
}

/* NOTE-3 */
TEST(note_kicks_only_a_sleeper_that_went_to_the_kernel)
{
	uint64_t calls = 0;

	EXPECT(!wf_note_set(&there));
	EXPECT(wf_note_woken(&there));
	wf_note_clear(&there);
	EXPECT(!wf_note_sleep(&there, 1000000, &calls));
	EXPECT(!wf_note_woken(&there));
	EXPECT(wf_note_set(&there));
	EXPECT(wf_note_sleep(&there, -1, &calls));
}

TEST(note_sleep_ends_at_its_limit)
{
	uint64_t calls = 0;

	EXPECT(!wf_note_sleep(&there, 0, &calls));
	EXPECT_EQ(calls, 0);
	EXPECT(!wf_note_sleep(&there, 1000000, &calls));
	EXPECT(calls >= 1);
}

static void
wakes_twice(void)
{
	wf_note_wake(&there);
	wf_note_wake(&there);
}

/* NOTE-1 */
TEST(second_wake_is_fatal)
{
	char out[4096];
	int status = test_child(wakes_twice, out, sizeof(out));

	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGABRT);
	EXPECT_HAS(out, "internal check failed");
}

#ifdef WF_DEBUG
static uint32_t ranks;

static uint32_t *
one_thread_ranks(void)
{
	return &ranks;
}

static struct wf_lock inner = WF_LOCK_INIT(WF_RANK_POOL);

static void
wrong_order(void)
{
	wf_held_ranks_hook = one_thread_ranks;
	wf_lock(&inner);
	wf_lock(&lock);
}

static void
same_twice(void)
{
	static struct wf_lock other = WF_LOCK_INIT(WF_RANK_SCHED);

	wf_held_ranks_hook = one_thread_ranks;
	wf_lock(&other);
	wf_lock(&lock);
}

/* LOCK-1 */
TEST(wrong_lock_order_is_fatal)
{
	char out[4096];

	EXPECT(WIFSIGNALED(test_child(wrong_order, out, sizeof(out))));
	EXPECT_HAS(out, "internal check failed");
	EXPECT(WIFSIGNALED(test_child(same_twice, out, sizeof(out))));
	wf_held_ranks_hook = one_thread_ranks;
	wf_lock(&lock);
	EXPECT(wf_rank_holds(&lock));
	EXPECT(!wf_rank_holds(&inner));
	wf_lock(&inner);
	wf_unlock(&lock);
	wf_unlock(&inner);
	EXPECT_EQ(ranks, 0);
	wf_lock(&lock);
	wf_unlock(&lock);
}
#endif

static void
says_fatal(void)
{
	wf_fatal("the sky is %s", "falling");
}

TEST(fatal_says_why_and_ends_with_2)
{
	char out[4096];
	int status = test_child(says_fatal, out, sizeof(out));

	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 2);
	EXPECT_HAS(out, "fatal: the sky is falling\n");
}
