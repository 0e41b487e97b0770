/* SPDX-License-Identifier: MIT */
/*
 * autoprocs.c: the number of Ps when nobody has named one: the CPUs in the affinity mask, or as
 * many as the CPU quota of the cgroups pays for, if those are fewer. Chosen at the start of a run
 * and looked at again by the monitor.
 *
 * The quota counts over the whole path of cgroups: the smallest is the one that throttles. Part of
 * a CPU counts as a whole one: what was paid for is used, at the price of a pause in each period.
 *
 * The mask is that of the thread that asks: the caller of weft_run, then the monitor. No code of
 * the program runs there, so it changes only when somebody means the whole process (cpuset,
 * taskset -a); a thread that pins itself does not count.
 *
 * PROCS-1: a number that the program or its user has named stays until weft_set_procs names
 *          another: auto_procs is cleared, and looked at, under the world lock.
 * PROCS-2: the monitor does not wait for the world lock: its holder may be waiting for the
 *          monitor, and there is another look in a moment.
 * Not here: the texts (base/cgroup.c), the resize (stw.c).
 */
#include "base/cgroup.h"
#include "sched/sched.h"

#include <stdio.h>
#include <string.h>

#if defined(WF_SIM)
static const int64_t EVERY_NS = 0;
#elif defined(WF_TORTURE)
static const int64_t EVERY_NS = 1000000;
#else
static const int64_t EVERY_NS = INT64_C(1000000000);
#endif

/* Whoever starts a run, then its monitor. */
static struct {
	struct wf_cgroup group;   /* as last seen ... */
	struct wf_cgroup_dir dir; /* ... and where it is */
	struct wf_cgroup now;
	struct wf_lines lines;
	char file[2 * WF_CGROUP_PATH + 32];
	int64_t next_ns;
	bool said_failed;
} a;

/* ---- reading */

static bool
read_lines(const char *path, void (*fn)(void *arg, const char *line, size_t len), void *arg)
{
	int fd = os_open_read(path), n;
	char text[1024];

	if (fd < 0)
		return false;
	wf_lines_begin(&a.lines, fn, arg);
	while ((n = os_read(fd, text, sizeof(text))) > 0)
		wf_lines_feed(&a.lines, text, (size_t)n);
	wf_lines_end(&a.lines);
	os_close(fd);
	return n == 0;
}

static void
on_cgroup(void *arg, const char *line, size_t len)
{
	wf_cgroup_line(arg, line, len);
}

static void
on_mount(void *arg, const char *line, size_t len)
{
	wf_cgroup_mount(arg, &a.group, line, len);
}

/* The folder of our cgroup. Mounts are read only when the cgroup has changed: there can be
   thousands. */
static void
find_folder(void)
{
	memset(&a.now, 0, sizeof(a.now));
	if (!read_lines("/proc/self/cgroup", on_cgroup, &a.now))
		a.now.version = 0;
	if (a.now.version == a.group.version && strcmp(a.now.path, a.group.path) == 0)
		return;
	a.group = a.now;
	memset(&a.dir, 0, sizeof(a.dir));
	if (a.group.version != 0 && !read_lines("/proc/self/mountinfo", on_mount, &a.dir))
		a.dir.len = 0;
}

/* A small file in the folder path[0..len): its bytes, or -errno. A path too long for the kernel is
   one that is not there. */
static int
read_small(size_t len, const char *name, char *text, size_t size)
{
	int fd, n;

	snprintf(a.file, sizeof(a.file), "%.*s/%s", (int)len, a.dir.path, name);
	fd = os_open_read(a.file);
	if (fd < 0)
		return fd;
	n = os_read(fd, text, size);
	os_close(fd);
	return n;
}

static bool
read_number(size_t len, const char *name, int64_t *out)
{
	char text[64];
	int n = read_small(len, name, text, sizeof(text));

	return n > 0 && wf_cgroup_number(text, (size_t)n, out);
}

/* CPUs for the quota of one cgroup; 0: it has none. */
static int
cpus_of_level(size_t len)
{
	int64_t quota = 0, period = 0;
	char text[64];
	int n;

	if (a.group.version == 1)
		return read_number(len, "cpu.cfs_quota_us", &quota) && quota > 0 &&
			       read_number(len, "cpu.cfs_period_us", &period)
			   ? wf_cgroup_cpus(quota, period)
			   : 0;
	n = read_small(len, "cpu.max", text, sizeof(text));
	return n > 0 && wf_cgroup_max(text, (size_t)n, &quota, &period)
		   ? wf_cgroup_cpus(quota, period)
		   : 0;
}

/* The least of all levels; 0: no quota. */
static int
cpus_of_cgroups(void)
{
	int least = 0;

	find_folder();
	for (size_t len = a.dir.len; len > 0; len = wf_cgroup_above(&a.dir, len)) {
		int n = cpus_of_level(len);

		if (n > 0 && (least == 0 || n < least))
			least = n;
	}
	return least;
}

/* What procs should be, and why. */
static uint32_t
ask_system(int *cpus, int *quota)
{
	int n;

	*cpus = n = os_cpu_count();
	*quota = cpus_of_cgroups();
	if (*quota > 0 && *quota < n)
		n = *quota;
	return n < 1 ? 1 : n > WF_PROCS_MAX ? WF_PROCS_MAX : (uint32_t)n;
}

static void
say(uint32_t n, int cpus, int quota)
{
	char paid[32] = "no cgroup quota";

	if (!wf_sched.debug)
		return;
	if (quota > 0)
		snprintf(paid, sizeof(paid), "a cgroup quota for %d", quota);
	wf_say("%u procs (%d CPUs in the affinity mask, %s)", n, cpus, paid);
}

/* Before the first M. named: the number somebody asks for, or 0. */
uint32_t
wf_autoprocs_start(uint32_t named)
{
	int cpus, quota;
	uint32_t n;

	at_store_rlx(&wf_sched.auto_procs, named == 0); /* rlx: nobody else runs */
	if (named)
		return named; /* PROCS-1 */
	a.group.version = -1; /* the mounts may be others than in the last run */
	a.said_failed = false;
	a.next_ns = os_now_ns() + EVERY_NS;
	n = ask_system(&cpus, &quota);
	say(n, cpus, quota);
	return n;
}

/* ---- the monitor's look */

/* Ms that went to sleep while the world was stopped could not tell whether it was a deadlock. */
static void
check_deadlock(void)
{
	bool suspected;
	uint64_t seq;

	wf_lock(&wf_sched.lock);
	suspected = wf_deadlock_suspected();
	seq = wf_sched.idle_seq;
	wf_unlock(&wf_sched.lock);
	if (suspected)
		wf_deadlock_report(seq);
}

/* The monitor m, at each look: at most once a second the system is asked; if the answer is another
   one, the world stops for a moment. No lock held. */
void
wf_autoprocs_look(struct wf_m *m, int64_t now)
{
	int cpus, quota, rc;
	uint32_t n;
	bool named;

	/* rlx: looked at again under the world lock; acq: UP, all Ps are made */
	if (now < a.next_ns || !at_load_rlx(&wf_sched.auto_procs) ||
	    at_load_acq(&wf_sched.phase) != WF_UP)
		return;
	a.next_ns = now + EVERY_NS;
	n = ask_system(&cpus, &quota);
	/* rlx: changed under the world lock, in which it is looked at again. PROCS-2 */
	if (n == at_load_rlx(&wf_sched.procs) || !wf_world_try())
		return;
	/* rlx: under the world lock. PROCS-1 */
	named = !at_load_rlx(&wf_sched.auto_procs) && !WF_MUTANT(MUT_PROCS_STALE);
	rc = named ? 0 : wf_world_resize(m, n);
	wf_world_done();
	if (named)
		return;
	if (rc == 0)
		say(n, cpus, quota);
	else if (!a.said_failed)
		wf_say("%u procs cannot be had for lack of memory; %u remain", n,
		       at_load_rlx(&wf_sched.procs)); /* rlx: only shown */
	a.said_failed = rc != 0;
	if (!WF_MUTANT(MUT_PROCS_UNCHECKED))
		check_deadlock();
}
