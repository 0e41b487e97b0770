/* SPDX-License-Identifier: MIT */
/*
 * t_dlopen.c: the shared library, loaded at run time beside the static one of this program.
 * not-tsan not-asan: the library has the sanitizer of its program, or none. not-torture: as released
 */
#define _GNU_SOURCE 1 /* dlinfo, RTLD_NOLOAD */
#include "integ/helpers.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>

/* The functions of the loaded copy. */
static struct {
	void *handle;
	int (*run_site)(struct weft_site *, const void *, size_t);
	int64_t (*spawn)(struct weft_site *, const struct weft_attr *, struct weft_wg *,
			 const void *, size_t);
	int (*wg_wait)(struct weft_wg *);
	void (*yield)(void);
	int64_t (*id)(void);
	int (*procs)(void);
} lib;

static int64_t ran;

static void
library_path(char *path, size_t n)
{
	char *slash;
	ssize_t len = readlink("/proc/self/exe", path, n - 32);

	EXPECT(len > 0);
	path[len] = 0;
	for (int i = 0; i < 3; i++) { /* build/tests/integ/t_dlopen */
		slash = strrchr(path, '/');
		EXPECT(slash != NULL);
		*slash = 0;
	}
	strcat(path, "/libweft.so");
}

static void *
symbol(const char *name)
{
	void *at = dlsym(lib.handle, name);

	if (!at)
		test_fail(__FILE__, __LINE__, "%s", dlerror());
	return at;
}

static void
load_library(void)
{
	char path[4096];

	library_path(path, sizeof(path));
	if (access(path, R_OK) != 0)
		SKIP("no libweft.so: run make");
	lib.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib.handle)
		test_fail(__FILE__, __LINE__, "%s", dlerror());
	*(void **)&lib.run_site = symbol("weft_run_site");
	*(void **)&lib.spawn = symbol("weft_spawn");
	*(void **)&lib.wg_wait = symbol("weft_wg_wait");
	*(void **)&lib.yield = symbol("weft_yield");
	*(void **)&lib.id = symbol("weft_id");
	*(void **)&lib.procs = symbol("weft_procs");
	EXPECT((void *)lib.run_site != (void *)weft_run_site); /* two copies */
}

static int
one(void *arg)
{
	(void)arg;
	EXPECT(lib.id() > 1);
	EXPECT_EQ(weft_id(), 0); /* the other copy knows nothing of it */
	lib.yield();
	add(&ran, 1);
	return 0;
}

static struct weft_site one_site = {.fn = one, .name = "one", .file = __FILE__, .line = __LINE__};

static int
main_of_copy(void *arg)
{
	struct weft_wg wg = {0};

	(void)arg;
	EXPECT_EQ(lib.id(), 1);
	for (int i = 0; i < 100; i++)
		EXPECT(lib.spawn(&one_site, NULL, &wg, NULL, 0) > 1);
	EXPECT_EQ(lib.wg_wait(&wg), 0);
	return 3;
}

static struct weft_site main_site = {
    .fn = main_of_copy, .name = "main_of_copy", .file = __FILE__, .line = __LINE__};

static void
run_copy(void)
{
	store(&ran, 0);
	EXPECT_EQ(lib.run_site(&main_site, NULL, 0), 3);
	EXPECT_EQ(load(&ran), 100);
}

TEST(loaded_library_runs)
{
	load_library();
	EXPECT_EQ(lib.procs(), -ENOTSUP);
	for (int i = 0; i < 20; i++)
		run_copy();
}

TEST(loaded_library_cannot_be_unloaded)
{
	char path[4096];

	load_library();
	run_copy();
	library_path(path, sizeof(path));
	for (int i = 0; i < 3; i++)
		dlclose(lib.handle);
	EXPECT(dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL);
	run_copy(); /* its threads, its handler and its destructors are still there */
}

/* Static TLS that a library loaded late may have is scarce: 1664 bytes in all, by default. */
TEST(loaded_library_needs_little_static_tls)
{
	const ElfW(Phdr) * ph;
	struct link_map *map;
	const ElfW(Ehdr) * eh;
	size_t bytes = 0;

	load_library();
	EXPECT_EQ(dlinfo(lib.handle, RTLD_DI_LINKMAP, &map), 0);
	eh = (const void *)map->l_addr;
	ph = (const void *)(map->l_addr + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_TLS)
			bytes += ph[i].p_memsz;
	EXPECT(bytes > 0);
	EXPECT(bytes <= 16);
}

static void *
loads_and_runs(void *arg)
{
	load_library();
	for (int i = 0; i < 5; i++)
		run_copy();
	return arg;
}

TEST(library_loaded_and_run_by_another_thread)
{
	join_thread(start_thread(loads_and_runs, NULL));
	run_copy();
}

/* ---- both copies at once */

static int
mine(void)
{
	weft_yield();
	return 0;
}

static void *
runs_copy(void *arg)
{
	for (int i = 0; i < scaled(50); i++)
		run_copy();
	return arg;
}

static int
beside(void)
{
	pthread_t t = start_thread(runs_copy, NULL);

	for (int i = 0; i < scaled(200); i++) {
		struct weft_wg wg = {0};

		for (int k = 0; k < 5; k++)
			EXPECT(weft_wg_go(&wg, mine) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	join_thread(t);
	return 0;
}

TEST(two_copies_run_at_once)
{
	load_library();
	EXPECT_EQ(weft_run(beside), 0);
	EXPECT_EQ(weft_run(mine), 0);
}

/* Goroutines of one copy call the other: there they are plain threads. */
static int
nested(void)
{
	run_copy();
	EXPECT_EQ(weft_id(), 1);
	return 0;
}

TEST(goroutine_of_one_copy_runs_the_other)
{
	load_library();
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(weft_run(nested), 0);
}

static int
faults(void)
{
	volatile uintptr_t nowhere = 8;

	*(volatile int *)nowhere = 1;
	return 0;
}

static void
runs_in_turn_and_faults(void)
{
	load_library();
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(weft_run(mine), 0);
		run_copy();
	}
	alarm(10);
	weft_run(faults);
}

/* Each has a handler for faults, and each passes on what is not its own. */
TEST(fault_goes_through_both_copies_and_kills)
{
	static char out[65536];
	int status = test_child(runs_in_turn_and_faults, out, sizeof(out));

	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}
