/* SPDX-License-Identifier: MIT */
/*
 * cgroups.h: a cgroup that the test makes and removes, where it may; of either version. The
 * hierarchies are looked for where everybody mounts them.
 */
#ifndef WEFT_TEST_CGROUPS_H
#define WEFT_TEST_CGROUPS_H

#include "integ/helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { CGROUP_PATH = 2048 };

struct test_cgroup {
	int version; /* 0: none could be made */
	char path[CGROUP_PATH];
};

__attribute__((unused)) static bool
cgroup_put(const char *folder, const char *file, const char *text)
{
	char path[CGROUP_PATH + 64];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

__attribute__((unused)) static bool
cgroup_put_self(const char *folder)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return cgroup_put(folder, "cgroup.procs", pid);
}

/* The number behind a word at the start of a line; -1: there is none. */
__attribute__((unused)) static long
cgroup_number(const char *folder, const char *file, const char *word)
{
	char path[CGROUP_PATH + 64], line[256];
	size_t len = strlen(word);
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			n = atol(line + len);
	if (f)
		fclose(f);
	return n;
}

__attribute__((unused)) static void
cgroup_remove(const char *folder)
{
	/* the last thread may take a moment to leave */
	for (int i = 0; i < 1000 && rmdir(folder) < 0 && errno == EBUSY; i++)
		usleep(10000);
}

/* A line of /proc/self/cgroup, "7:cpu,cpuacct:/here": the folder of this process, if the controller
   is in that hierarchy. */
static int
cgroup_of_line(char *line, const char *controller, char *path)
{
	char *names = strchr(line, ':'), *here = names ? strchr(names + 1, ':') : NULL;
	char list[256];

	if (!here)
		return 0;
	*here++ = '\0';
	here[strcspn(here, "\n")] = '\0';
	if (*++names == '\0') {
		snprintf(path, CGROUP_PATH, "/sys/fs/cgroup%s", here);
		return 2;
	}
	snprintf(list, sizeof(list), ",%s,", names);
	for (char *at = list; (at = strstr(at, controller)); at++)
		if (at[-1] == ',' && at[strlen(controller)] == ',') {
			snprintf(path, CGROUP_PATH, "/sys/fs/cgroup/%s%s", names, here);
			return 1;
		}
	return 0;
}

/* Below the cgroup of this process, with this controller, and this file in it to show for. */
__attribute__((unused)) static struct test_cgroup
cgroup_make(const char *controller, const char *file)
{
	struct test_cgroup c = {0};
	FILE *f = fopen("/proc/self/cgroup", "r");
	char line[CGROUP_PATH], path[CGROUP_PATH], text[CGROUP_PATH + 64];
	int version = 0;

	while (version != 1 && f && fgets(line, sizeof(line), f)) {
		int v = cgroup_of_line(line, controller, path);

		if (v)
			version = v;
	}
	if (f)
		fclose(f);
	if (version == 2) { /* refused where other processes are in it */
		snprintf(text, sizeof(text), "+%s", controller);
		cgroup_put(path, "cgroup.subtree_control", text);
	}
	snprintf(c.path, sizeof(c.path), "%.1900s/weft-%s-%d", path, controller, (int)getpid());
	if (version == 0 || mkdir(c.path, 0755) < 0)
		return c;
	snprintf(text, sizeof(text), "%.1900s/%s", c.path, file);
	if (access(text, W_OK) == 0)
		c.version = version;
	else
		cgroup_remove(c.path);
	return c;
}

#endif
