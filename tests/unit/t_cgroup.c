/* SPDX-License-Identifier: MIT */
/* t_cgroup.c: what the kernel says of cgroups, in the forms in which machines and containers show it. */
#include "test.h"

#include "base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- as the library does it: lines of pieces of text of any size */

static struct wf_cgroup group;
static struct wf_cgroup_dir dir;
static struct wf_lines lines;

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
feed(const char *text, size_t len, size_t piece, void (*fn)(void *, const char *, size_t),
     void *arg)
{
	wf_lines_begin(&lines, fn, arg);
	for (size_t at = 0; at < len; at += piece)
		wf_lines_feed(&lines, text + at, len - at < piece ? len - at : piece);
	wf_lines_end(&lines);
}

static void
find(const char *cgroup, size_t clen, const char *mounts, size_t mlen, size_t piece)
{
	memset(&group, 0, sizeof(group));
	memset(&dir, 0, sizeof(dir));
	feed(cgroup, clen, piece, on_cgroup, &group);
	feed(mounts, mlen, piece, on_mount, &dir);
}

/* The folders from the process's own up, each on a line. */
static const char *
folders(void)
{
	static char out[1 << 16];
	size_t n = 0;

	out[0] = '\0';
	for (size_t len = dir.len; len > 0; len = wf_cgroup_above(&dir, len))
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s\n", (int)len, dir.path);
	return out;
}

static void
expect_folders(const char *cgroup, const char *mounts, int version, const char *want)
{
	static const size_t pieces[] = {1, 7, 64, 100000};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		find(cgroup, strlen(cgroup), mounts, strlen(mounts), pieces[i]);
		EXPECT_EQ(group.version, version);
		if (strcmp(folders(), want) != 0)
			test_fail(__FILE__, __LINE__, "got\n%sbut want\n%s", folders(), want);
	}
}

/* ---- machines */

static const char v2_mounts[] =
    "22 28 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n"
    "23 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n"
    "28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
    "35 22 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n"
    "36 22 0:31 / /sys/fs/pstore rw,nosuid,nodev,noexec,relatime shared:10 - pstore pstore rw\n";

TEST(slices_of_systemd_are_looked_at_one_by_one)
{
	expect_folders("0::/system.slice/system-web.slice/web@3.service\n", v2_mounts, 2,
		       "/sys/fs/cgroup/system.slice/system-web.slice/web@3.service\n"
		       "/sys/fs/cgroup/system.slice/system-web.slice\n"
		       "/sys/fs/cgroup/system.slice\n"
		       "/sys/fs/cgroup\n");
	expect_folders("0::/\n", v2_mounts, 2, "/sys/fs/cgroup\n");
}

static const char v1_mounts[] =
    "24 30 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw\n"
    "31 24 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
    "33 31 0:29 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup "
    "rw,xattr,name=systemd\n"
    "36 31 0:33 / /sys/fs/cgroup/cpuset rw,nosuid shared:15 - cgroup cgroup rw,cpuset\n"
    "37 31 0:34 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:16 - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "38 31 0:35 / /sys/fs/cgroup/memory rw,nosuid shared:17 - cgroup cgroup rw,memory\n";

/* Both versions at once: the CPU controller is where a v1 line lists it. */
TEST(hybrid_machine_has_its_cpu_controller_in_v1)
{
	expect_folders("12:cpuset:/\n11:memory:/user.slice\n"
		       "4:cpu,cpuacct:/user.slice/a:b\n1:name=systemd:/user.slice/u.service\n"
		       "0::/user.slice/u.service\n",
		       v1_mounts, 1,
		       "/sys/fs/cgroup/cpu,cpuacct/user.slice/a:b\n"
		       "/sys/fs/cgroup/cpu,cpuacct/user.slice\n"
		       "/sys/fs/cgroup/cpu,cpuacct\n");
	/* also if the v2 line comes first */
	expect_folders("0::/x\n4:cpuacct,cpu:/y\n", v1_mounts, 1,
		       "/sys/fs/cgroup/cpu,cpuacct/y\n/sys/fs/cgroup/cpu,cpuacct\n");
}

TEST(hybrid_machine_may_have_it_in_v2)
{
	expect_folders("3:cpuset:/\n2:name=cpu:/z\n0::/a\n", v1_mounts, 2,
		       "/sys/fs/cgroup/unified/a\n/sys/fs/cgroup/unified\n");
}

/* ---- containers */

#define DOCKER_ID "9a3dc2bd3c0f4b5c9d3b6b1c6a4e2f10"

/* The mount shows the container's part of the hierarchy, while the path is the host's. */
TEST(docker_on_v1)
{
	expect_folders("12:pids:/docker/" DOCKER_ID "\n5:cpu,cpuacct:/docker/" DOCKER_ID
		       "\n1:name=systemd:/docker/" DOCKER_ID
		       "\n0::/system.slice/containerd.service\n",
		       "1032 1018 0:27 /docker/" DOCKER_ID " /sys/fs/cgroup/cpu,cpuacct "
		       "ro,nosuid,nodev,noexec,relatime master:13 - cgroup cgroup rw,cpu,cpuacct\n"
		       "1033 1018 0:28 /docker/" DOCKER_ID " /sys/fs/cgroup/memory "
		       "ro,nosuid,nodev,noexec,relatime master:14 - cgroup cgroup rw,memory\n",
		       1, "/sys/fs/cgroup/cpu,cpuacct\n");
	/* with a cgroup of its own inside */
	expect_folders("5:cpu,cpuacct:/docker/" DOCKER_ID "/in/er\n",
		       "1032 1018 0:27 /docker/" DOCKER_ID
		       " /sys/fs/cgroup/cpu,cpuacct ro - cgroup "
		       "cgroup rw,cpu,cpuacct\n",
		       1,
		       "/sys/fs/cgroup/cpu,cpuacct/in/er\n/sys/fs/cgroup/cpu,cpuacct/in\n"
		       "/sys/fs/cgroup/cpu,cpuacct\n");
	/* a longer name is another cgroup */
	expect_folders("5:cpu,cpuacct:/docker/" DOCKER_ID "ff\n",
		       "1032 1018 0:27 /docker/" DOCKER_ID
		       " /sys/fs/cgroup/cpu,cpuacct ro - cgroup "
		       "cgroup rw,cpu,cpuacct\n",
		       1, "");
}

/* In a namespace of its own the container is the root. */
TEST(docker_on_v2)
{
	expect_folders("0::/\n",
		       "1719 1718 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 "
		       "cgroup rw,nsdelegate,memory_recursiveprot\n",
		       2, "/sys/fs/cgroup\n");
}

TEST(kubernetes_without_a_namespace)
{
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7f.slice"
	expect_folders("0::" POD "/cri-containerd-" DOCKER_ID ".scope\n",
		       "2204 2203 0:30 " POD "/cri-containerd-" DOCKER_ID ".scope /sys/fs/cgroup "
		       "ro,nosuid master:4 propagate_from:2 - cgroup2 cgroup rw\n",
		       2, "/sys/fs/cgroup\n");
	/* a pod that sees the host's mount too: that one shows more */
	expect_folders("0::" POD "/c.scope\n",
		       "2204 2203 0:30 " POD "/c.scope /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
		       "2205 2203 0:30 / /host/sys/fs/cgroup ro - cgroup2 cgroup rw\n"
		       "2206 2203 0:30 " POD " /pod ro - cgroup2 cgroup rw\n",
		       2,
		       "/host/sys/fs/cgroup" POD "/c.scope\n/host/sys/fs/cgroup" POD "\n"
		       "/host/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice\n"
		       "/host/sys/fs/cgroup/kubepods.slice\n/host/sys/fs/cgroup\n");
}

/* A mount made outside of the namespace has a root above ours; a process may lie outside too. CGROUP-2 */
TEST(paths_above_the_namespace)
{
#define UP(root) "31 24 0:27 " root " /cg rw - cgroup2 cgroup2 rw\n"
	expect_folders("0::/\n", UP("/.."), 2, "/cg\n");
	expect_folders("0::/a/b\n", UP("/../.."), 2, "/cg\n");
	expect_folders("0::/../x\n", UP("/../.."), 2, "/cg\n");
	expect_folders("0::/../x\n", UP("/.."), 2, "/cg/x\n/cg\n");
	expect_folders("0::/..\n", UP("/.."), 2, "/cg\n");
	expect_folders("0::/../x\n", UP("/"), 2, "");
	expect_folders("0::/../../x\n", UP("/.."), 2, "");
	expect_folders("0::/x\n", UP("/../y"), 2, "");
	expect_folders("0::/../y/z\n", UP("/../y"), 2, "/cg/z\n/cg\n");
	expect_folders("0::/..x/y\n", UP("/"), 2, "/cg/..x/y\n/cg/..x\n/cg\n");
	/* the one that shows the way down, if there are two, and the higher one of those */
	expect_folders("0::/../x\n", UP("/../x") "32 24 0:27 /.. /up rw - cgroup2 cgroup2 rw\n", 2,
		       "/up/x\n/up\n");
}

TEST(mount_points_have_spaces)
{
	expect_folders("0::/a b\\c\n",
		       "31 24 0:27 / /with\\040space\\134and\\011tab rw - cgroup2 cgroup2 rw\n", 2,
		       "/with space\\and\ttab/a b\\c\n/with space\\and\ttab\n");
	expect_folders("0::/x y/z\n", "31 24 0:27 /x\\040y /cg rw - cgroup2 none rw\n", 2,
		       "/cg/z\n/cg\n");
	/* an empty source leaves two spaces */
	expect_folders("3:cpu:/z\n", "31 24 0:27 / /cg rw - cgroup  rw,cpu\n", 1, "/cg/z\n/cg\n");
}

TEST(no_cgroup_is_no_limit)
{
	expect_folders("", v2_mounts, 0, "");
	expect_folders("0::/x\n", "", 2, "");
	expect_folders("0::/x\n", "22 28 0:20 / /sys rw shared:7 - sysfs sysfs rw\n", 2, "");
	expect_folders("5:memory:/x\n3:cpuset:/x\n2:cpuacct:/x\n", v1_mounts, 0, "");
	/* listed, but not mounted */
	expect_folders("5:cpu:/x\n0::/x\n", v2_mounts, 1, "");
}

/* CGROUP-1 */
TEST(malformed_lines_are_no_limit)
{
	static const char *const cgroups[] = {"\n\n\n", "0",     "0:",  "0::",    "::/x",   "0::x",
					      ":cpu:",  "5:cpu", "cpu", "00::/x", "0:  :/x"};
	static const char *const mounts[] = {
	    "31",
	    "31 24 0:27",
	    "31 24 0:27 / /cg rw -",
	    "31 24 0:27 / /cg rw - cgroup",
	    "31 24 0:27 / /cg rw cgroup2 cgroup2 rw",
	    "31 24 0:27 / /cg\\04 rw - cgroup2 cgroup2 rw",
	    "31 24 0:27 / /cg\\ rw - cgroup2 cgroup2 rw",
	    "31 24 0:27 / /cg\\089 rw - cgroup2 cgroup2 rw",
	    "31 24 0:27 / /cg\\000x rw - cgroup2 cgroup2 rw",
	    "31 24 0:27 / /cg\\777 rw - cgroup2 cgroup2 rw",
	    "31 24 0:27  /cg rw - cgroup2 cgroup2 rw",
	    "31 24 0:27 / cg rw - cgroup2 cgroup2 rw",
	    " - cgroup2 cgroup2 rw",
	    "- - - - - - - - - -",
	};

	for (size_t i = 0; i < sizeof(cgroups) / sizeof(cgroups[0]); i++)
		expect_folders(cgroups[i], v2_mounts, 0, "");
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		expect_folders("0::/x\n", mounts[i], 2, "");
	/* and what stands beside them still counts */
	expect_folders("nonsense\n0::/x", "nonsense\n31 24 0:27 / /cg rw - cgroup2 cgroup2 rw", 2,
		       "/cg/x\n/cg\n");
}

/* Names as long as they can be, and longer. */
TEST(long_paths)
{
	static char cgroup[4 * WF_CGROUP_PATH], mounts[4 * WF_CGROUP_PATH];
	static char name[WF_CGROUP_PATH];

	memset(name, 'n', sizeof(name));
	for (size_t i = 0; i < sizeof(name); i += 200)
		name[i] = '/';
	name[sizeof(name) - 1] = '\0';
	snprintf(cgroup, sizeof(cgroup), "0::%s\n", name);
	snprintf(mounts, sizeof(mounts), "31 24 0:27 / %s rw - cgroup2 cgroup2 rw\n", name);
	find(cgroup, strlen(cgroup), mounts, strlen(mounts), 100);
	EXPECT_EQ(group.version, 2);
	EXPECT_EQ(dir.len, 2 * strlen(name));
	EXPECT_EQ(dir.top, strlen(name));
	EXPECT_EQ(strlen(dir.path), dir.len);

	/* one more is not understood */
	snprintf(cgroup, sizeof(cgroup), "0::%sx\n", name);
	find(cgroup, strlen(cgroup), mounts, strlen(mounts), 100);
	EXPECT_EQ(group.version, 0);

	/* a line longer than the buffer is left out, those around it are not */
	snprintf(cgroup, sizeof(cgroup), "7:memory:%s%s%s\n0::/x\n", name, name, name);
	snprintf(
	    mounts, sizeof(mounts),
	    "1 2 0:1 / / rw - overlay overlay lower=%s%s%s\n31 24 0:27 / /cg rw - cgroup2 c rw\n",
	    name, name, name);
	for (size_t piece = 1; piece < 20000; piece = piece * 3 + 1) {
		find(cgroup, strlen(cgroup), mounts, strlen(mounts), piece);
		EXPECT(strcmp(folders(), "/cg/x\n/cg\n") == 0);
	}
}

/* ---- limits */

static int
max_of(const char *text)
{
	int64_t quota = -5, period = -5;

	return wf_cgroup_max(text, strlen(text), &quota, &period) ? wf_cgroup_cpus(quota, period)
								  : 0;
}

TEST(cpu_max)
{
	static const char *const none[] = {
	    "max 100000\n", "max\n", "max",    "",        "\n",       "100000\n",   "x 100000\n",
	    "1 x\n",        "1 ",    " 1",     "1  2",    "1 0\n",    "0 100000\n", "-1 5\n",
	    "5 -1\n",       "+1 5",  "0x10 5", "1 2 3\n", "max100000"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (max_of(none[i]) != 0)
			test_fail(__FILE__, __LINE__, "\"%s\" is a limit of %d", none[i],
				  max_of(none[i]));
	EXPECT_EQ(max_of("50000 100000\n"), 1);
	EXPECT_EQ(max_of("100000 100000\n"), 1);
	EXPECT_EQ(max_of("100001 100000\n"), 2);
	EXPECT_EQ(max_of("200001 100000\n"), 3);
	EXPECT_EQ(max_of("250000 100000"), 3);
	EXPECT_EQ(max_of("299999 100000\n"), 3);
	EXPECT_EQ(max_of("300000 100000\n"), 3);
	EXPECT_EQ(max_of("1000 1000000\n"), 1);
	EXPECT_EQ(max_of("9223372036854775807 1\n"), INT_MAX);
	EXPECT_EQ(max_of("99999999999999999999999999 100000\n"), INT_MAX);
	EXPECT_EQ(max_of("1 99999999999999999999999999\n"), 1);
}

TEST(numbers_of_v1)
{
	static const char *const bad[] = {"", "\n", "-", "-\n", "x", "1x", "1 ", " 1", "--1", "1-"};
	int64_t n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT(!wf_cgroup_number(bad[i], strlen(bad[i]), &n));
	EXPECT(wf_cgroup_number("-1\n", 3, &n));
	EXPECT_EQ(n, -1);
	EXPECT(wf_cgroup_number("150000", 6, &n));
	EXPECT_EQ(n, 150000);
	EXPECT(wf_cgroup_number("18446744073709551615\n", 21, &n));
	EXPECT_EQ(n, INT64_MAX);
	EXPECT(wf_cgroup_number("-18446744073709551615\n", 22, &n));
	EXPECT_EQ(n, -INT64_MAX);
	EXPECT_EQ(wf_cgroup_cpus(-1, 100000), 0);
}

/* ---- any text at all */

static size_t
mutate(uint64_t *r, const char *from, char *to, size_t size)
{
	static const char bits[] = "/\\ :,-.\n0147cpu\0x";
	size_t len = strlen(from), edits = 1 + test_rand(r) % 8;

	memcpy(to, from, len);
	while (edits-- > 0) {
		size_t at = len ? test_rand(r) % len : 0, n = 1 + test_rand(r) % 9;

		switch (test_rand(r) % 4) {
		case 0: /* another letter */
			if (len > 0)
				to[at] = bits[test_rand(r) % sizeof(bits)];
			break;
		case 1: /* a part less */
			n = n < len - at ? n : len - at;
			memmove(to + at, to + at + n, len - at - n);
			len -= n;
			break;
		case 2: /* a part twice */
			n = test_rand(r) % 8 == 0 ? len - at : n < len - at ? n : len - at;
			if (len + n > size)
				break;
			memmove(to + at + n, to + at, len - at);
			len += n;
			break;
		case 3: /* it ends here */
			if (test_rand(r) % 8 == 0)
				len = at;
		}
	}
	return len;
}

/* What comes out is always a folder below a mount point, each level shorter than the one before. */
static void
check_found(void)
{
	EXPECT(group.version >= 0 && group.version <= 2);
	EXPECT(strnlen(group.path, sizeof(group.path)) < sizeof(group.path));
	EXPECT(dir.top <= dir.len && dir.len < sizeof(dir.path));
	EXPECT_EQ(strnlen(dir.path, sizeof(dir.path)), dir.len);
	EXPECT(strstr(dir.path + dir.top, "/../") == NULL);
	for (size_t len = dir.len; len > 0;) {
		size_t up = wf_cgroup_above(&dir, len);

		EXPECT(up < len);
		EXPECT(up == 0 || dir.path[up] == '/' || up == dir.top);
		len = up;
	}
}

/* CGROUP-1: on the heap, to the byte, so that the sanitizers see every step too far. */
TEST(mutated_text_does_no_harm)
{
	static const char *const cgroups[] = {"0::/system.slice/web.service\n", "0::/../../x/y\n",
					      "12:cpuset:/\n4:cpu,cpuacct:/docker/" DOCKER_ID
					      "\n1:name=systemd:/\n0::/\n"};
	static const char *const mounts[] = {
	    v2_mounts, v1_mounts, UP("/../..") UP("/.."),
	    "1032 1018 0:27 /docker/" DOCKER_ID
	    " /sys/fs/cgroup/cpu\\040cpuacct ro master:1 - cgroup cgroup rw,cpu,cpuacct\n"};
	static const char *const limits[] = {"max 100000\n", "150000 100000\n", "-1\n"};
	static char a[1 << 14], b[1 << 14];
	uint64_t r = test_seed();
	int found = 0, rounds = test_full() ? 1000000 : 50000;

	for (int i = 0; i < rounds; i++) {
		size_t an = mutate(&r, cgroups[test_rand(&r) % 3], a, sizeof(a));
		size_t bn = mutate(&r, mounts[test_rand(&r) % 4], b, sizeof(b));
		char *ha = malloc(an + !an), *hb = malloc(bn + !bn);
		int64_t quota = 0, period = 0;

		find(memcpy(ha, a, an), an, memcpy(hb, b, bn), bn, 1 + test_rand(&r) % 300);
		check_found();
		found += dir.len > 0;
		free(ha);
		free(hb);
		an = mutate(&r, limits[test_rand(&r) % 3], a, sizeof(a));
		ha = malloc(an + !an);
		memcpy(ha, a, an);
		if (wf_cgroup_max(ha, an, &quota, &period) || wf_cgroup_number(ha, an, &quota))
			EXPECT(wf_cgroup_cpus(quota, period) >= 0);
		free(ha);
	}
	EXPECT(found > rounds / 10); /* not all of it was nonsense */
}
