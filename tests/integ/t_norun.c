/* SPDX-License-Identifier: MIT */
/* t_norun.c: calls while nothing runs. */
#include "integ/helpers.h"

#include <errno.h>

static int
nothing(void)
{
	return 0;
}

static weft_chan(int) made; /* in an earlier run, with room for 2 and one value; or NULL */

static void
expect_channel_refusals(void)
{
	int v = 4, ok = 5;

	EXPECT(weft_make(int, 1) == NULL);
	EXPECT_EQ(weft_send(made, 1), -ENOTSUP);
	EXPECT_EQ(weft_recv(made, &v), -ENOTSUP);
	EXPECT_EQ(weft_try_send(made, 1), -ENOTSUP);
	EXPECT_EQ(weft_try_recv(made, &v), -ENOTSUP);
	EXPECT_EQ(weft_close(made), -ENOTSUP);
	EXPECT_EQ(weft_select(WEFT_RECV(made, &v, &ok)), -ENOTSUP);
	EXPECT_EQ(weft_select(WEFT_SEND(made, 1), WEFT_DEFAULT), -ENOTSUP);
	EXPECT_EQ(weft_select(WEFT_DEFAULT), -ENOTSUP);
	EXPECT_EQ(weft_select(), -ENOTSUP);
	EXPECT_EQ(v, 4);
	EXPECT_EQ(ok, 5);
	/* these need no runtime */
	EXPECT_EQ(weft_len(made), made ? 1 : 0);
	EXPECT_EQ(weft_cap(made), made ? 2 : 0);
	weft_free((weft_chan(int))NULL);
}

static int
never_called(void)
{
	EXPECT(false);
	return 0;
}

static void
expect_scope_refusals(void)
{
	int rc = 1, inner = 1, done = 0;

	EXPECT(!weft_cancelled());
	weft_group(g, &rc) {
		EXPECT_EQ(weft_go_in(g, never_called), -ENOTSUP);
		EXPECT_EQ(weft_cancel(g), -ENOTSUP);
		EXPECT_EQ(weft_group_limit(g, 1), -ENOTSUP);
		EXPECT_EQ(weft_go_in(g, never_called), -ENOTSUP);
		weft_group(h, &inner)
			EXPECT_EQ(weft_go_in(h, never_called), -ENOTSUP);
		EXPECT_EQ(inner, -ENOTSUP);
		EXPECT_EQ(rc, 1);
	}
	EXPECT_EQ(rc, -ENOTSUP);
	weft_group(g, NULL)
		done++;
	weft_timeout(0) {
		weft_shield
		{
			EXPECT(!weft_cancelled());
			weft_deadline(1)
				done++;
		}
		EXPECT_EQ(weft_recv(made, NULL), -ENOTSUP);
	}
	EXPECT(!weft_cancelled());
	EXPECT_EQ(done, 2);
}

/* Needs no runtime; but malloc, which a sanitizer's forked child may not call. */
static void
expect_scope_ends(void)
{
	weft_autofree char *p = malloc(10);
	weft_autofd int fd = -1;
	weft_defer(weft_wg_done, (&(struct weft_wg){16}));

	EXPECT(p && fd < 0);
}

static void
expect_refusals(void)
{
	struct weft_wg wg = {0};
	struct weft_stats s = {.size = sizeof(s)};
	char c;

	expect_channel_refusals();
	expect_scope_refusals();
	expect_scope_ends();
	EXPECT_EQ(weft_go(nothing), -ENOTSUP);
	EXPECT_EQ(weft_go_with(WEFT_ATTR(.name = "x"), nothing), -ENOTSUP);
	EXPECT_EQ(weft_wg_go(&wg, nothing), -ENOTSUP);
	EXPECT_EQ(wg.word_, 0);
	EXPECT_EQ(weft_wg_wait(&wg), -ENOTSUP);
	EXPECT_EQ(weft_procs(), -ENOTSUP);
	EXPECT_EQ(weft_local_addr(0, &c, 1), -ENOTSUP);
	EXPECT_EQ(weft_peer_addr(0, &c, 1), -ENOTSUP);
	EXPECT(weft_timer_chan(weft_ticker(WEFT_SEC)) == NULL);
	EXPECT_EQ(weft_set_procs(2), -ENOTSUP);
	EXPECT_EQ(weft_count(), -ENOTSUP);
	EXPECT_EQ(weft_stats(&s), -ENOTSUP);
	EXPECT_EQ(weft_id(), 0);
	weft_yield();
	weft_checkpoint();
	weft_checkpoint_slow();
	EXPECT(strcmp(weft_version(), WEFT_VERSION) == 0);
}

TEST(calls_before_the_first_run_say_so)
{
	expect_refusals();
}

static struct weft_wg outside;

static int
waits_for_ever(void)
{
	return weft_wg_wait(&outside);
}

static int
leaves_a_waiter(void)
{
	weft_go(waits_for_ever);
	for (int i = 0; i < 10; i++)
		weft_yield();
	return 0;
}

static int
counts_down_and_waits(void)
{
	weft_wg_done(&outside);
	return weft_wg_wait(&outside);
}

/* Counted up before, down inside; a waiter that was dropped leaves nothing behind. */
TEST(wait_group_counts_outside_a_run)
{
	weft_wg_add(&outside, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	weft_wg_done(&outside);
	EXPECT_EQ(outside.word_, 0);
	weft_wg_add(&outside, 1);
	EXPECT_EQ(weft_run(leaves_a_waiter), 0);
	EXPECT_EQ(weft_run(counts_down_and_waits), 0);
	EXPECT_EQ(outside.word_, 0);
}

static void *
on_thread(void *arg)
{
	expect_refusals();
	return arg;
}

static int
makes(void)
{
	made = weft_make(int, 2);
	return weft_send(made, 1);
}

TEST(calls_after_a_run_say_so)
{
	EXPECT_EQ(weft_run(makes), 0);
	expect_refusals();
	join_thread(start_thread(on_thread, NULL));
	EXPECT_EQ(weft_run(nothing), 0);
	expect_refusals();
	weft_free(made);
}

/*
 * The child ends by _exit: at exit the address sanitizer looks for leaks, and takes locks of its
 * allocator that other threads may have held when the process was copied.
 */
static int
forks(void)
{
	int status;
	pid_t pid;

	EXPECT_EQ(makes(), 0);
	pid = fork();
	if (pid == 0) {
		expect_channel_refusals();
		expect_scope_refusals();
		_exit(0);
	}
	EXPECT(pid > 0);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	weft_free(made);
	return 0;
}

/* "or in a forked child" */
TEST(calls_in_a_forked_child_say_so)
{
#if defined(WF_TSAN)
	SKIP("a child of a process with threads may not run");
#endif
	EXPECT_EQ(weft_run(forks), 0);
}

TEST(dump_without_a_run_says_so)
{
	char text[256] = {0};
	int ends[2];

	EXPECT_EQ(pipe(ends), 0);
	weft_dump(ends[1]);
	EXPECT(read(ends[0], text, sizeof(text) - 1) > 0);
	EXPECT_HAS(text, "not running");
}

static int
bad_stats(void)
{
	struct weft_stats s = {.size = 8};

	EXPECT_EQ(weft_stats(&s), -EINVAL);
	EXPECT_EQ(weft_stats(NULL), -EINVAL);
	return 0;
}

TEST(stats_check_their_size)
{
	EXPECT_EQ(weft_run(bad_stats), 0);
}
