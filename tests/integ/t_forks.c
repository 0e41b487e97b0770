/* SPDX-License-Identifier: MIT */
/* t_forks.c: fork, vfork, posix_spawn and system from everywhere and under load. fence-mode
   not-tsan: it ends a child of a process with threads that starts a thread */
#define _GNU_SOURCE 1 /* vfork */
#include "integ/helpers.h"

#include "core/self.h"

#include <errno.h>
#include <spawn.h>

extern char **environ;

static int stop;

static int
nothing(void)
{
	return 0;
}

static void
expect_status(pid_t pid, int want)
{
	int status;

	EXPECT(pid > 0);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status)); /* a hang ends by SIGALRM */
	EXPECT_EQ(WEXITSTATUS(status), want);
}

static pid_t
fork_with_alarm(void)
{
	pid_t pid = fork();

	if (pid == 0)
		alarm(20);
	return pid;
}

static weft_chan(int) made;
static struct weft_mutex mutex;

weft_local(int, mine);

/* What works in a child and uses the heap. ASan's allocator does not see to its locks at a fork, as libc's
   does: a child of a process with threads may find them held for ever. 0: so it was. */
static int
heap_calls_in_child(void)
{
#ifndef WF_ASAN
	weft_timeout(1000) {
		*mine() += 1;
	}
	if (*mine() < 1)
		return 9;
	weft_free(made);
#endif
	return 0;
}

/* Everything that needs a runtime says that there is none; the rest works. 0: so it was. */
static int
calls_in_child(void)
{
	struct weft_wg wg = {0};
	struct weft_sem sem;
	struct weft_stats st = {.size = sizeof(st)};
	int v, rc = 7;

	if (weft_go(nothing) != -ENOTSUP || weft_count() != -ENOTSUP || weft_procs() != -ENOTSUP)
		return 1;
	if (weft_wg_go(&wg, nothing) != -ENOTSUP || weft_wg_wait(&wg) != -ENOTSUP ||
	    weft_set_procs(2) != -ENOTSUP || weft_stats(&st) != -ENOTSUP)
		return 2;
	if (weft_send(made, 1) != -ENOTSUP || weft_recv(made, &v) != -ENOTSUP ||
	    weft_try_send(made, 1) != -ENOTSUP || weft_close(made) != -ENOTSUP)
		return 3;
	if (weft_select(WEFT_RECV(made, &v)) != -ENOTSUP || weft_make(int, 1) != NULL)
		return 4;
	if (weft_sem_init(&sem, 1) != 0 || weft_acquire(&sem, 1) != -ENOTSUP ||
	    weft_lock(&mutex) != -ENOTSUP)
		return 5;
	weft_group(g, &rc) {
		if (weft_go_in(g, nothing) != -ENOTSUP)
			return 6;
	}
	if (rc != -ENOTSUP || weft_run(nothing) != -ENOTSUP)
		return 7;
	if (weft_cap(made) != 2)
		return 8;
	weft_yield();
	weft_checkpoint();
	weft_dump(2);
	return heap_calls_in_child();
}

static void
fork_and_call(void)
{
	pid_t pid = fork_with_alarm();

	if (pid == 0)
		_exit(calls_in_child());
	expect_status(pid, 0);
}

/* ---- one message */

static int
one_fork(void)
{
	made = weft_make(int, 2);
	fork_and_call();
	return 0;
}

static void
run_one_fork(void)
{
	EXPECT_EQ(weft_run(one_fork), 0);
}

TEST(forked_child_is_told_once)
{
	static char out[65536];

	EXPECT_EQ(test_child(run_one_fork, out, sizeof(out)), 0);
	EXPECT_EQ(count_of(out, "weft: "), 1);
	EXPECT_HAS(out, "forked child");
	EXPECT_HAS(out, "exec");
}

/* ---- where it is called from */

static int
wants_a_p(void)
{
	while (!load(&stop))
		weft_yield();
	return 0;
}

static int
without_p(void)
{
	struct weft_wg wg = {0};

	made = weft_make(int, 2);
	EXPECT(weft_wg_go(&wg, wants_a_p) > 0);
	for (int i = 0; i < 3; i++) {
		while (load(&wf_m()->lease.v) != WF_TAKEN)
			;
		fork_and_call();
		EXPECT_EQ(load(&wf_m()->lease.v), WF_TAKEN);
		weft_yield();
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* LEASE-1: the child's word is its own copy */
TEST(fork_without_a_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(without_p), 0);
}

static void *
thread_forks(void *arg)
{
	fork_and_call(); /* never called before */
	EXPECT(weft_count() >= 1);
	fork_and_call();
	return arg;
}

static int
from_a_thread(void)
{
	made = weft_make(int, 2);
	join_thread(start_thread(thread_forks, NULL));
	return 0;
}

TEST(fork_from_a_plain_thread)
{
	EXPECT_EQ(weft_run(from_a_thread), 0);
}

static int
waits(void)
{
	int v;

	return weft_recv(made, &v) < 0;
}

static int
many_wait(void)
{
	enum { N = 10000 };
	struct weft_wg wg = {0};

	made = weft_make(int, 2);
	for (int i = 0; i < N / TEST_SLOW; i++)
		EXPECT(weft_wg_go(&wg, waits) > 0);
	for (int i = 0; i < 3; i++) {
		fork_and_call();
		weft_yield();
	}
	weft_close(made);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(fork_with_ten_thousand_goroutines)
{
	EXPECT_EQ(weft_run(many_wait), 0);
}

/* ---- under load: locks of the library are held by others when the child is made */

static int
resizes(void)
{
	for (int i = 0; !load(&stop); i++)
		EXPECT(weft_set_procs(1 + i % 4) > 0);
	return 0;
}

static int
churns(void)
{
	while (!load(&stop)) {
		struct weft_wg wg = {0};
		weft_chan(int) ch = weft_make(int, 0);

		EXPECT(weft_wg_go(&wg, nothing) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
		weft_free(ch);
	}
	return 0;
}

static void *
comes_and_goes(void *arg)
{
	(void)arg;
	*mine() = 1;
	return NULL;
}

static void *
attaches(void *arg)
{
	while (!load(&stop))
		join_thread(start_thread(comes_and_goes, NULL));
	return arg;
}

static void *
forks_fresh(void *arg)
{
	fork_and_call();
	return arg;
}

static int
under_load(void)
{
	struct weft_wg wg = {0};
	pthread_t t;

	made = weft_make(int, 2);
	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&wg, churns) > 0);
	EXPECT(weft_wg_go(&wg, resizes) > 0);
	t = start_thread(attaches, NULL);
	for (int i = 0; i < scaled(40); i++) {
		fork_and_call();
		join_thread(start_thread(forks_fresh, NULL));
		weft_yield();
	}
	store(&stop, 1);
	join_thread(t);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(fork_beside_stops_of_the_world_and_threads_that_come_and_go)
{
	EXPECT_EQ(weft_run(under_load), 0);
}

/* The same, not left to chance: another thread holds the lock of the thread records. */
static int lock_held;

static void *
holds_the_lock(void *arg)
{
	wf_lock(&wf_sched.lock);
	store(&lock_held, 1);
	while (!load(&stop))
		;
	wf_unlock(&wf_sched.lock);
	return arg;
}

TEST(forked_child_does_not_wait_for_a_lock_that_nobody_holds)
{
	pthread_t t = start_thread(holds_the_lock, NULL);
	pid_t pid;

	while (!load(&lock_held))
		;
	pid = fork_with_alarm();
	if (pid == 0) {
		*mine() = 1; /* nobody uses the heap at this moment */
		_exit(weft_run(nothing) == 0 ? 0 : 1);
	}
	expect_status(pid, 0);
	store(&stop, 1);
	join_thread(t);
}

/* ---- ways out of the child that are not _exit */

static int
returns_in_child(void)
{
	int status;
	pid_t pid = fork_with_alarm();

	if (pid == 0)
		return 0;
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void
run_returns_in_child(void)
{
	exit(weft_run(returns_in_child));
}

static int
exits_in_child(void)
{
	int status;
	pid_t pid = fork_with_alarm();

	if (pid == 0)
		weft_exit(0);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void
run_exits_in_child(void)
{
	exit(weft_run(exits_in_child));
}

static void
expect_text_and_2(void (*fn)(void))
{
	EXPECT_HAS(expect_dies(fn, "forked child"), "_exit");
}

TEST(goroutine_that_returns_in_a_forked_child_is_told)
{
	expect_text_and_2(run_returns_in_child);
}

TEST(weft_exit_in_a_forked_child_is_told)
{
	expect_text_and_2(run_exits_in_child);
}

static void *
thread_ends_in_child(void *arg)
{
	pid_t pid;

	weft_go(nothing);
	*mine() = 3;
	pid = fork_with_alarm();
	if (pid == 0)
		pthread_exit(NULL); /* the last thread: the child ends with 0 */
	expect_status(pid, 0);
	return arg;
}

static int
threads_end_in_children(void)
{
	struct weft_wg wg = {0};
	pthread_t t;

	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&wg, churns) > 0);
	t = start_thread(attaches, NULL);
	for (int i = 0; i < scaled(60); i++)
		join_thread(start_thread(thread_ends_in_child, NULL));
	store(&stop, 1);
	join_thread(t);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(plain_thread_may_end_in_a_forked_child)
{
#ifdef WF_ASAN
	SKIP("the sanitizer's own locks are held in the child");
#endif
	EXPECT_EQ(weft_run(threads_end_in_children), 0);
}

/* ---- programs started the other ways */

static int64_t started;

static int
starts_programs(void)
{
	char *const argv[] = {"sh", "-c", "exit 5", NULL};
	pid_t pid;
	int status;

	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
		expect_status(pid, 5);
		status = system("exit 6");
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 6);
		pid = vfork();
		if (pid == 0) {
			execv("/bin/sh", argv);
			_exit(127);
		}
		expect_status(pid, 5);
		pid = fork_with_alarm();
		if (pid == 0) {
			execv("/bin/sh", argv);
			_exit(127);
		}
		expect_status(pid, 5);
		weft_yield();
		add(&started, 4);
	}
	return 0;
}

static int
many_start_programs(void)
{
	struct weft_wg wg = {0}, others = {0};

	EXPECT(weft_wg_go(&others, churns) > 0);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, starts_programs) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&started), 4 * 3 * 4);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&others), 0);
	return 0;
}

TEST(spawn_vfork_system_and_exec_from_goroutines)
{
	EXPECT_EQ(weft_run(many_start_programs), 0);
}

TEST(spawn_vfork_system_and_exec_with_one_proc)
{
	use_procs(1);
	EXPECT_EQ(weft_run(many_start_programs), 0);
}

/* The whole program is replaced while its goroutines run. */
static int
execs_itself(void)
{
	for (int i = 0; i < 3; i++)
		EXPECT(weft_go(churns) > 0);
	weft_yield();
	execl("/bin/sh", "sh", "-c", "echo replaced; exit 9", (char *)NULL);
	return 1;
}

static void
run_execs_itself(void)
{
	weft_run(execs_itself);
}

TEST(exec_replaces_a_running_program)
{
	static char out[4096];
	int status = test_child(run_execs_itself, out, sizeof(out));

	EXPECT_HAS(out, "replaced");
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 9);
}
