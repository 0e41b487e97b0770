/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h: the texts in which the kernel says how much CPU time this process may use. Pure
 * functions over text: nothing here opens a file (sched/autoprocs.c does).
 *
 * /proc/self/cgroup names the process's cgroup in each hierarchy. The CPU controller belongs to
 * one of them: to a v1 hierarchy if a line lists it, else to v2. /proc/self/mountinfo says where
 * that hierarchy, or the part of it below some root, is mounted. Both show paths as seen from the
 * process's cgroup namespace; what lies above that begins with "/..". The limit is in cpu.max
 * (v2) or cpu.cfs_quota_us and cpu.cfs_period_us (v1) of the cgroup itself and of all above it.
 *
 * CGROUP-1: whatever the text is, nothing outside of the buffers is touched, and what cannot be
 *           understood is no limit.
 * CGROUP-2: a folder is the process's own cgroup, or one above it; never another.
 */
#ifndef WF_BASE_CGROUP_H
#define WF_BASE_CGROUP_H

#include "base/compiler.h"

enum {
	WF_CGROUP_PATH = 4096, /* PATH_MAX: the kernel shows no longer path of a cgroup */
	WF_CGROUP_LINE = 8192, /* such a path, escaped here and there, and the rest of its line */
};

/* ---- lines, from pieces of text as they come */

struct wf_lines {
	void (*fn)(void *arg, const char *line, size_t len); /* for each line, without its end */
	void *arg;
	size_t len;
	bool cut; /* it does not fit: it will be left out */
	char line[WF_CGROUP_LINE];
};

void wf_lines_begin(struct wf_lines *l, void (*fn)(void *arg, const char *line, size_t len),
		    void *arg);
void wf_lines_feed(struct wf_lines *l, const char *text, size_t len);
void wf_lines_end(struct wf_lines *l); /* the last line may have no end of its own */

/* ---- which cgroup */

struct wf_cgroup {
	int version; /* of the hierarchy that has the CPU controller; 0: none */
	char path[WF_CGROUP_PATH];
};

/* One line of /proc/self/cgroup; c starts as zero. */
void wf_cgroup_line(struct wf_cgroup *c, const char *line, size_t len);

/* ---- where it is */

struct wf_cgroup_dir {
	size_t len, top;               /* of path, and of the mount point: the highest to look at */
	int height;                    /* of the mount's root: the lower, the more is seen */
	char path[2 * WF_CGROUP_PATH]; /* "": nothing is mounted that shows it */
};

/* One line of /proc/self/mountinfo; d starts as zero, and becomes the best one seen so far. */
void wf_cgroup_mount(struct wf_cgroup_dir *d, const struct wf_cgroup *c, const char *line,
		     size_t len);
/* The length of the folder above path[0..len); 0: that was the mount point. */
size_t wf_cgroup_above(const struct wf_cgroup_dir *d, size_t len);

/* ---- how much */

/* cpu.max: true if it is a limit. */
bool wf_cgroup_max(const char *text, size_t len, int64_t *quota, int64_t *period);
/* A file with one number, which may be negative; a huge one is the largest. */
bool wf_cgroup_number(const char *text, size_t len, int64_t *n);
/* CPUs for that much time, rounded up; 0: no limit. */
int wf_cgroup_cpus(int64_t quota, int64_t period);

#endif
