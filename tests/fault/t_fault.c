/* SPDX-License-Identifier: MIT */
/*
 * t_fault.c: each system call fails at its n-th use, once and for ever: the program ends with an
 * error code or a message that says why; it does not hang and loses no goroutine.
 */
#include "fault/faulthelp.h"

#include <errno.h>
#include <signal.h>

static int started, ran, refused, thread_done;

struct work {
	int depth;
};

/* Each start succeeds or is refused with a code; the status tells the parent what went wrong. */
static void
note_start(int64_t id)
{
	if (id > 0)
		add(&started, 1);
	else if (id == -ENOMEM || id == -EAGAIN)
		add(&refused, 1);
	else
		_exit(41);
}

/* Where no other thread can be had, a pinned goroutine that yields goes on itself. */
static void
yield_pinned(void)
{
	int rc = weft_lock_thread();

	if (rc < 0 && rc != -EAGAIN)
		_exit(51);
	weft_yield();
	if (weft_unlock_thread() != (rc < 0 ? -EPERM : 0))
		_exit(52);
}

static int
work(struct work *a)
{
	struct weft_wg wg = {0};

	add(&ran, 1);
	if (weft_id() % 100 == 0) /* a few: where no futex sleeps, many threads take long */
		yield_pinned();
	for (int i = 0; a->depth > 0 && i < 3; i++)
		note_start(weft_wg_go(&wg, work, a->depth - 1));
	weft_yield();
	if (weft_wg_wait(&wg) != 0)
		_exit(42);
	return 0;
}

static void *
thread_work(void *arg)
{
	struct weft_wg wg = {0};

	(void)arg;
	note_start(weft_wg_go(&wg, work, 1));
	if (weft_wg_wait(&wg) != 0)
		_exit(44);
	store(&thread_done, 1);
	return NULL;
}

static int
program(void)
{
	struct weft_wg wg = {0};
	pthread_t t;
	int rc;

	store(&thread_done, 0);
	t = start_thread(thread_work, NULL);
	for (int i = 0; i < 40; i++)
		note_start(weft_wg_go(&wg, work, 3));
	for (size_t bytes = 16384; bytes <= 1 << 20; bytes *= 8)
		note_start(weft_go_with(WEFT_ATTR(.stack_bytes = bytes), work, 0));
	rc = weft_set_procs(4);
	if (rc < 0 && rc != -ENOMEM && rc != -EAGAIN)
		_exit(45);
	if (weft_wg_wait(&wg) != 0)
		_exit(46);
	rc = weft_set_procs(1);
	if (rc < 0 && rc != -ENOMEM && rc != -EAGAIN)
		_exit(47);
	while (!load(&thread_done)) /* no thread may be left to run the rest if we blocked */
		weft_yield();
	pthread_join(t, NULL);
	while (weft_count() > 1)
		weft_yield();
	if (load(&started) != load(&ran))
		_exit(48); /* somebody was lost */
	return 7;
}

/* The result of the run is the program's, or a code; then a run without faults still works. */
static void
child(void)
{
	for (int i = 0; i < 3; i++) {
		int rc = weft_run(program);

		if (rc != 7 && rc != -ENOMEM && rc != -EAGAIN)
			_exit(49);
		started = ran = 0;
	}
	unsetenv("WEFT_FAULT");
	if (weft_run(program) != 7)
		_exit(50);
	_exit(0);
}

static void
expect_survives(const char *name, int n, bool for_ever)
{
	int status = child_with_fault(child, name, n, for_ever);

	if (status == 0)
		return;
	/* or a documented message and status 2 */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2 &&
	    test_has(fault_said, "fatal: out of memory"))
		return;
	test_fail(__FILE__, __LINE__, "WEFT_FAULT=%s: %s %d\n%s", fault_order,
		  WIFSIGNALED(status) ? "signal" : "status",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), fault_said);
}

static void
try_each(const char *name, int most)
{
	use_procs(2);
	for (int n = 1; n <= most; n++) {
		expect_survives(name, n, false);
		expect_survives(name, n, true);
	}
}

TEST(thread_creation_fails)
{
	try_each("thread", 8);
}

TEST(mmap_fails)
{
	try_each("mmap", 20);
}

TEST(guard_installation_fails)
{
	try_each("guard", 6);
}

TEST(mprotect_fails)
{
	setenv("WEFT_DEBUG", "guard=1", 1);
	try_each("mprotect", 6);
	expect_survives("mprotect", 40, true);
}

TEST(discard_fails)
{
	try_each("discard", 3);
}

TEST(mincore_fails)
{
	try_each("mincore", 3);
}

TEST(membarrier_is_refused)
{
	try_each("membarrier", 2);
}

TEST(threads_cannot_be_watched)
{
	try_each("watch", 4);
}

TEST(futex_is_interrupted)
{
	try_each("futex_eintr", 6);
}

TEST(futex_returns_for_no_reason)
{
	try_each("futex_spurious", 6);
}

/* No cgroup can be read: the affinity mask alone counts. */
TEST(files_cannot_be_read)
{
	unsetenv("WEFT_PROCS");
	for (int n = 1; n <= 6; n++) {
		expect_survives("open", n, true);
		expect_survives("open", n, false);
		expect_survives("read", n, true);
		expect_survives("read", n, false);
	}
}

TEST(without_faults_the_program_runs)
{
	static char out[4096];

	EXPECT_EQ(test_child(child, out, sizeof(out)), 0);
}
