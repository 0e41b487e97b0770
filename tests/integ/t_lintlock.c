/* SPDX-License-Identifier: MIT */
/* t_lintlock.c: goroutines that stop running while they hold a pthread lock. not-tsan */
/* (ThreadSanitizer stands before the pthread locks itself, and minds the unlocking elsewhere.) */
#include "integ/helpers.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

/* ---- started again with the library loaded; by themselves these pass without a word */

struct waits_holding {
	struct weft_wg *gate;
};

/* Both of its waits may be on different threads; the second holds nothing. */
static int
waits_holding(struct waits_holding *a)
{
	pthread_mutex_lock(&mutex);
	weft_wg_wait(a->gate);
	pthread_mutex_unlock(&mutex);
	return weft_wg_wait(a->gate);
}

struct waits_clean {
	struct weft_wg *gate;
};

static int
waits_clean(struct waits_clean *a)
{
	pthread_mutex_lock(&other);
	EXPECT(pthread_mutex_trylock(&other) != 0);
	pthread_mutex_unlock(&other);
	return weft_wg_wait(a->gate);
}

/* One that waits holding, then many that do not, on whatever thread. */
static int
one_of_many(void)
{
	struct weft_stats st = {.size = sizeof(st)};
	struct weft_wg gate = {0}, all = {0};

	weft_wg_add(&gate, 1);
	EXPECT(weft_wg_go(&all, waits_holding, &gate) > 0);
	for (int i = 0; i < 20; i++) {
		EXPECT(weft_wg_go(&all, waits_clean, &gate) > 0);
		weft_yield();
	}
	do { /* all of them wait */
		weft_yield();
		EXPECT_EQ(weft_stats(&st), 0);
	} while (st.total.parks < 21);
	weft_wg_done(&gate);
	return weft_wg_wait(&all);
}

TEST(child_waits)
{
	EXPECT_EQ(weft_run(one_of_many), 0);
}

static int
yields(void)
{
	pthread_rwlock_wrlock(&rwlock);
	for (int i = 0; i < 100; i++)
		weft_yield();
	pthread_rwlock_unlock(&rwlock);
	return 0;
}

static int
two_yield(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, yields) > 0);
	for (int i = 0; i < 1000; i++)
		weft_yield();
	return weft_wg_wait(&all);
}

TEST(child_gives_way)
{
	use_procs(1);
	EXPECT_EQ(weft_run(two_yield), 0);
}

static int
ends(void)
{
	pthread_mutex_lock(&mutex);
	return 0;
}

static int
one_ends(void)
{
	struct weft_wg all = {0};

	EXPECT(weft_wg_go(&all, ends) > 0);
	return weft_wg_wait(&all);
}

TEST(child_ends)
{
	EXPECT_EQ(weft_run(one_ends), 0);
}

/* Never woken: the report comes before the end of the process does. */
static int
never_woken(void)
{
	struct weft_wg gate = {0};

	if (!getenv("LD_PRELOAD"))
		return 0;
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&other);
	weft_wg_add(&gate, 1);
	return weft_wg_wait(&gate);
}

TEST(child_deadlocks)
{
	EXPECT_EQ(weft_run(never_woken), 0);
}

static int
careful(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t twice;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&twice, &a);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&twice);
		pthread_mutex_lock(&twice);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&twice);
		pthread_mutex_unlock(&mutex);
		pthread_mutex_unlock(&twice);
		weft_yield();
	}
	return 0;
}

static int
two_careful(void)
{
	struct weft_wg all = {0};

	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&all, careful) > 0);
	return weft_wg_wait(&all);
}

TEST(child_is_careful)
{
	EXPECT_EQ(weft_run(two_careful), 0);
}

/* ---- and what they say */

static const char *child_name, *child_debug = "lint=1";
static char out[1 << 18];

static void
start_again(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	EXPECT(n > 0);
	path[n] = 0;
	for (int i = 0; i < 3; i++) /* build/tests/integ/t_lintlock */
		*strrchr(path, '/') = 0;
	strcat(path, "/libweft-lint.so");
	EXPECT_EQ(access(path, R_OK), 0);
	setenv("LD_PRELOAD", path, 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	setenv("WEFT_DEBUG", child_debug, 1);
	execl("/proc/self/exe", "t_lintlock", "--only", child_name, (char *)NULL);
	_exit(99);
}

static int
count_out(const char *part)
{
	int n = 0;

	for (const char *s = out; (s = strstr(s, part)); s++)
		n++;
	return n;
}

static void
run_child(const char *name, int want)
{
	int status;

	child_name = name;
	status = test_child(start_again, out, sizeof(out));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
		test_fail(__FILE__, __LINE__, "%s: wait status 0x%x\n%s", name, status, out);
}

/* Its lock goes with it: neither its next wait nor another goroutine on the thread is blamed. */
TEST(waiting_with_a_lock_is_said_with_both_places)
{
	run_child("child_waits", 0);
	EXPECT_EQ(count_out("waits (wait group) while its thread holds a pthread lock"), 1);
	EXPECT(count_out("waits_holding+0x") >= 2);
	EXPECT_HAS(out, "waits_holding(), created by goroutine 1 at ");
	EXPECT_EQ(count_out("waits_clean()"), 0);
	EXPECT_HAS(out, "weft_mutex");
}

TEST(giving_way_with_a_lock_is_said)
{
	run_child("child_gives_way", 0);
	EXPECT(count_out("gives way while its thread holds a pthread lock") >= 1);
	EXPECT(count_out("weft: lint: ") <= 4); /* of a hundred: once for the place */
	EXPECT_HAS(out, "yields(), created by goroutine 1 at ");
}

TEST(ending_with_a_lock_is_said)
{
	run_child("child_ends", 0);
	EXPECT_EQ(count_out("ends while its thread holds a pthread lock"), 1);
	EXPECT_HAS(out, "ends(), created by goroutine 1 at ");
}

/* LINT-2: whoever comes first prints it, also on the way down. */
TEST(a_deadlock_with_a_lock_is_said)
{
	run_child("child_deadlocks", 2);
	EXPECT_HAS(out, "deadlock!");
	EXPECT_EQ(
	    count_out("waits (wait group) while its thread holds pthread locks, the newest at"), 1);
}

TEST(unlocked_in_time_is_not_said)
{
	run_child("child_is_careful", 0);
	/* But for one that slept for another's lock while others waited: that is another lint. */
	if (count_out("weft: lint: ") != count_out(" lost its P in futex"))
		test_fail(__FILE__, __LINE__, "said:\n%s", out);
}

TEST(without_the_word_the_library_is_silent)
{
	child_debug = "lint=0";
	run_child("child_waits", 0);
	EXPECT_EQ(count_out("weft: lint: "), 0);
}
