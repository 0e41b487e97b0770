/* SPDX-License-Identifier: MIT */
/* t_fork.c: a forked child has no runtime, and can exec. */
#include "integ/helpers.h"

#include <errno.h>

static int
nothing(void)
{
	return 0;
}

static void
in_child(void)
{
	struct weft_wg wg = {0};
	int ok = weft_go(nothing) == -ENOTSUP && weft_count() == -ENOTSUP &&
		 weft_wg_wait(&wg) == -ENOTSUP && weft_procs() == -ENOTSUP &&
		 weft_set_procs(3) == -ENOTSUP;

	weft_yield();
	weft_dump(2);
	_exit(ok ? 0 : 1);
}

static void
expect_child(pid_t pid, int want)
{
	int status;

	EXPECT(pid > 0);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), want);
}

static int
forks(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0)
			in_child();
		expect_child(pid, 0);
		weft_yield();
	}
	return 0;
}

TEST(calls_in_a_forked_child_say_so)
{
	EXPECT_EQ(weft_run(forks), 0);
}

static void *
forks_on_thread(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		in_child();
	expect_child(pid, 0);
	weft_count();
	pid = fork();
	if (pid == 0)
		in_child();
	expect_child(pid, 0);
	return arg;
}

static int
forks_from_threads(void)
{
	join_thread(start_thread(forks_on_thread, NULL));
	return 0;
}

TEST(calls_in_the_child_of_a_plain_thread_say_so)
{
	EXPECT_EQ(weft_run(forks_from_threads), 0);
}

static int
execs(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(127);
	}
	expect_child(pid, 7);
	return 0;
}

TEST(forked_child_can_exec)
{
	EXPECT_EQ(weft_run(execs), 0);
}

static int stop;

static int
churns(void)
{
	while (!load(&stop)) {
		struct weft_wg wg = {0};

		weft_wg_go(&wg, nothing);
		weft_wg_wait(&wg);
	}
	return 0;
}

static int
forks_under_load(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, churns) > 1);
	for (int i = 0; i < scaled(40); i++) {
		pid_t pid = fork();

		if (pid == 0)
			in_child();
		expect_child(pid, 0);
		weft_yield();
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(fork_under_load)
{
	EXPECT_EQ(weft_run(forks_under_load), 0);
}

TEST(run_works_in_a_child_forked_between_runs)
{
	EXPECT_EQ(weft_run(nothing), 0);
	before_fork();

	pid_t pid = fork();

	if (pid == 0)
		_exit(weft_run(nothing) == 0 ? 0 : 1);
	expect_child(pid, 0);
	EXPECT_EQ(weft_run(nothing), 0);
}

/* A child of a running program gets an error or a runtime of its own; it does not hang. */
static int
runs_in_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int rc = weft_run(nothing);

		_exit(rc == 0 || rc == -EBUSY || rc == -ENOTSUP ? 0 : 1);
	}
	expect_child(pid, 0);
	return 0;
}

static void *
runs_in_child_of_thread(void *arg)
{
	runs_in_child();
	return arg;
}

static int
runs_in_children(void)
{
	runs_in_child();
	join_thread(start_thread(runs_in_child_of_thread, NULL));
	return 0;
}

TEST(run_in_a_child_forked_during_a_run_does_not_hang)
{
	EXPECT_EQ(weft_run(runs_in_children), 0);
}
