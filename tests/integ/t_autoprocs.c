/* SPDX-License-Identifier: MIT */
/* t_autoprocs.c: the number of Ps when nobody names one follows the affinity mask and the cgroup.
   fence-mode procs-2-only */
#define _GNU_SOURCE 1
#include "integ/cgroups.h"

#include "base/cgroup.h"
#include "core/gmp.h"

#include <sched.h>
#include <time.h>

/* ---- what the system grants */

static cpu_set_t all;

static void
need_cpus(int n)
{
	EXPECT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < n)
		SKIP("one CPU only");
}

/* All threads of the process: what "taskset -a -p" does. Threads may come while it looks: their
   masks are those of their makers. */
static void
set_affinity_of_all(const cpu_set_t *set)
{
	for (int round = 0; round < 3; round++) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;

		EXPECT(d != NULL);
		while ((e = readdir(d)))
			if (e->d_name[0] != '.')
				sched_setaffinity(atoi(e->d_name), sizeof(*set), set);
		closedir(d);
	}
}

static void
use_cpus(int n)
{
	cpu_set_t some;

	CPU_ZERO(&some);
	for (int i = 0; n > 0 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &some);
			n--;
		}
	set_affinity_of_all(&some);
}

/* The monitor asks once a second; the test's own limit ends a wait in vain. */
static void
wait_for_procs(int n)
{
	const struct timespec nap = {.tv_nsec = 2000000};

	while (weft_procs() != n) {
		weft_yield();
		nanosleep(&nap, NULL);
	}
}

/* ---- the affinity mask */

static int stop, steps;

static int
works(void)
{
	while (!load(&stop)) {
		add(&steps, 1);
		weft_yield();
	}
	return 0;
}

static int
follows_affinity(void)
{
	struct weft_wg wg = {0};
	int full = CPU_COUNT(&all);

	EXPECT_EQ(weft_procs(), full);
	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, works) > 0);
	for (int i = 0; i < 2; i++) {
		int before;

		use_cpus(1);
		wait_for_procs(1);
		before = load(&steps);
		while (load(&steps) < before + 100)
			weft_yield();
		use_cpus(full);
		wait_for_procs(full);
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(procs_follow_the_affinity_mask)
{
	need_cpus(2);
	unsetenv("WEFT_PROCS");
	EXPECT_EQ(weft_run(follows_affinity), 0);
}

static int
one(void)
{
	return weft_procs();
}

TEST(procs_begin_with_the_affinity_mask)
{
	need_cpus(2);
	unsetenv("WEFT_PROCS");
	use_cpus(1);
	EXPECT_EQ(weft_run(one), 1);
	use_cpus(CPU_COUNT(&all));
	EXPECT_EQ(weft_run(one), CPU_COUNT(&all));
}

static int
shrinks_and_grows(void)
{
	use_cpus(1);
	wait_for_procs(1);
	use_cpus(2);
	wait_for_procs(2);
	return 0;
}

static void
shrinks_and_says_so(void)
{
	setenv("WEFT_DEBUG", "say=1", 1);
	use_cpus(2);
	exit(weft_run(shrinks_and_grows));
}

TEST(changes_are_said)
{
	static char out[4096];

	need_cpus(2);
	unsetenv("WEFT_PROCS");
	EXPECT_EQ(test_child(shrinks_and_says_so, out, sizeof(out)), 0);
	EXPECT_HAS(out, "weft: 2 procs (2 CPUs in the affinity mask, ");
	EXPECT_HAS(out, "weft: 1 procs (1 CPUs in the affinity mask, ");
	EXPECT_HAS(strstr(out, "weft: 1 procs"), "weft: 2 procs (2 CPUs in the affinity mask, ");
}

/* ---- a number that was named stays: PROCS-1; what remains of the races is the explorer's */

static bool
follows(void)
{
	return at_load_rlx(&wf_sched.auto_procs);
}

static int
names_one(void)
{
	int n = weft_procs();

	EXPECT(follows());
	EXPECT_EQ(weft_set_procs(0), -EINVAL);
	EXPECT(follows());
	EXPECT_EQ(weft_set_procs(n), n); /* the same one counts too */
	EXPECT(!follows());
	return 0;
}

static int
does_not_follow(void)
{
	EXPECT(!follows());
	return weft_procs();
}

TEST(named_numbers_stay)
{
	struct weft_config c = {.procs = 5};

	unsetenv("WEFT_PROCS");
	EXPECT_EQ(weft_run(names_one), 0);
	EXPECT_EQ(weft_run(names_one), 0); /* each run begins anew */
	use_procs(3);
	EXPECT_EQ(weft_run(does_not_follow), 3);
	EXPECT_EQ(weft_configure(&c), 0);
	EXPECT_EQ(weft_run(does_not_follow), 3);
	unsetenv("WEFT_PROCS");
	EXPECT_EQ(weft_run(does_not_follow), 5);
}

static int resizes;

static void *
resizes_too(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int n = 1 + i % 4;

		EXPECT(weft_set_procs(n) >= 1);
		EXPECT_EQ(weft_procs(), n); /* PROCS-1 */
		add(&resizes, 1);
	}
	return arg;
}

/* The mask changes all the time while the number is named: the monitor may come first, not last. */
static int
named_while_the_mask_changes(void)
{
	pthread_t t;
	int n = 0;

	use_cpus(1);
	t = start_thread(resizes_too, NULL);
	while (load(&resizes) < 100) {
		use_cpus(1 + n++ % 2);
		weft_yield();
	}
	join_thread(t);
	return 0;
}

TEST(monitor_and_program_resize_at_the_same_time)
{
	need_cpus(2);
	unsetenv("WEFT_PROCS");
	for (int i = 0; i < 20; i++) {
		store(&resizes, 0);
		EXPECT_EQ(weft_run(named_while_the_mask_changes), 0);
	}
}

/* ---- a cgroup of our own, where we may make one */

static struct wf_cgroup group;
static struct wf_cgroup_dir dir;
static char outer[2 * WF_CGROUP_PATH + 64], inner[2 * WF_CGROUP_PATH + 128];

static void
on_cgroup(void *arg, const char *line, size_t len)
{
	wf_cgroup_line(arg, line, len);
}

static void
on_mount(void *arg, const char *line, size_t len)
{
	wf_cgroup_mount(arg, &group, line, len);
}

static void
read_lines(const char *path, void (*fn)(void *, const char *, size_t), void *arg)
{
	static struct wf_lines lines;
	char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	wf_lines_begin(&lines, fn, arg);
	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		wf_lines_feed(&lines, text, (size_t)n);
	wf_lines_end(&lines);
	close(fd);
}

/* CPU time in hundredths of a CPU; 0: as much as there is. */
static bool
limit(const char *folder, int percent)
{
	char text[32];

	if (group.version == 1)
		snprintf(text, sizeof(text), "%d", percent ? percent * 1000 : -1);
	else if (percent)
		snprintf(text, sizeof(text), "%d 100000", percent * 1000);
	else
		snprintf(text, sizeof(text), "max 100000");
	return cgroup_put(folder, group.version == 1 ? "cpu.cfs_quota_us" : "cpu.max", text);
}

static void
remove_folders(void)
{
	cgroup_remove(inner);
	cgroup_remove(outer);
}

/* Outer and inner folder; skips the test where that is not allowed. */
static void
make_folders(void)
{
	read_lines("/proc/self/cgroup", on_cgroup, &group);
	read_lines("/proc/self/mountinfo", on_mount, &dir);
	if (dir.len == 0)
		SKIP("no cgroup with a CPU controller is mounted");
	snprintf(outer, sizeof(outer), "%s/weft-test-%d", dir.path, (int)getpid());
	snprintf(inner, sizeof(inner), "%s/inner", outer);
	if (mkdir(outer, 0755) < 0)
		SKIP("no cgroup may be made here");
	if (group.version == 2)
		cgroup_put(outer, "cgroup.subtree_control", "+cpu");
	if (mkdir(inner, 0755) < 0 || !limit(outer, 100) || !limit(outer, 0) || !limit(inner, 0)) {
		remove_folders();
		SKIP("no CPU quota may be set here");
	}
}

static int
follows_quota(void)
{
	int full = CPU_COUNT(&all);

	EXPECT_EQ(weft_procs(), 1); /* as at the start */
	EXPECT(limit(inner, 110));
	wait_for_procs(2); /* rounded up */
	EXPECT(limit(inner, 50));
	wait_for_procs(1);
	EXPECT(limit(inner, 0));
	wait_for_procs(full);
	EXPECT(limit(outer, 90)); /* not our own, but above us */
	wait_for_procs(1);
	EXPECT(limit(outer, 100 * full + 100)); /* more than there are */
	wait_for_procs(full);
	EXPECT(limit(inner, 100));
	wait_for_procs(1);
	EXPECT(cgroup_put_self(dir.path)); /* another cgroup */
	wait_for_procs(full);
	return 0;
}

static void
lives_in_a_cgroup(void)
{
	EXPECT(cgroup_put_self(inner));
	EXPECT(limit(inner, 100));
	exit(weft_run(follows_quota));
}

TEST(procs_follow_the_quota_of_the_cgroup)
{
	static char out[4096];
	int status;

	need_cpus(2);
	unsetenv("WEFT_PROCS");
	make_folders();
	status = test_child(lives_in_a_cgroup, out, sizeof(out));
	remove_folders();
	if (status != 0)
		test_fail(__FILE__, __LINE__, "wait status 0x%x\n%s", status, out);
}
