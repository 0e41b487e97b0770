/* SPDX-License-Identifier: MIT */
/* helpers.h: what several test files need: sizes by build, plain threads, the process's usage,
   children that must die. */
#ifndef WEFT_TEST_HELPERS_H
#define WEFT_TEST_HELPERS_H

#include "test.h"

#include "base/sanitizer.h"

#include <weft.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(WF_TSAN)
enum { TEST_SLOW = 20 };
#elif defined(WF_ASAN) || defined(WF_TORTURE)
enum { TEST_SLOW = 4 };
#else
enum { TEST_SLOW = 1 };
#endif

/* n in a plain build, less where each step costs more; more in a full run. */
__attribute__((unused)) static int
scaled(int n)
{
	n = n / TEST_SLOW * (test_full() ? 4 : 1);
	return n < 2 ? 2 : n;
}

__attribute__((unused)) static void
use_procs(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	setenv("WEFT_PROCS", text, 1);
}

/* Entries of a /proc/self folder: threads ("task") or descriptors ("fd"). */
__attribute__((unused)) static int
count_entries(const char *folder)
{
	char path[64];
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/%s", folder);
	d = opendir(path);
	EXPECT(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* After a run: a child that is forked here may begin a run of its own. TSan wants no thread to be on
   its way out. */
__attribute__((unused)) static void
before_fork(void)
{
#ifdef WF_TSAN
	struct dirent *e;
	bool found;

	do {
		DIR *d = opendir("/proc/self/task");

		EXPECT(d != NULL);
		found = false;
		while ((e = readdir(d))) {
			char path[300], name[16] = "";
			FILE *f;

			snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
			f = fopen(path, "r");
			if (!f)
				continue;
			found |= fgets(name, sizeof(name), f) && strncmp(name, "weft-", 5) == 0;
			fclose(f);
		}
		closedir(d);
	} while (found);
#endif
}

/* Pages of memory in use. */
__attribute__((unused)) static long
resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	EXPECT(f != NULL);
	EXPECT_EQ(fscanf(f, "%ld %ld", &all, &resident), 2);
	fclose(f);
	return resident;
}

/* At most slack pages more than before; the sanitizers keep freed memory on purpose. */
__attribute__((unused)) static void
expect_no_growth(long before, long slack)
{
#if !defined(WF_ASAN) && !defined(WF_TSAN)
	EXPECT(resident_pages() <= before + slack);
#else
	(void)before;
	(void)slack;
#endif
}

__attribute__((unused)) static pthread_t
start_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	EXPECT_EQ(pthread_create(&t, NULL, fn, arg), 0);
	return t;
}

__attribute__((unused)) static void
join_thread(pthread_t t)
{
	EXPECT_EQ(pthread_join(t, NULL), 0);
}

__attribute__((unused)) static void *
done_later(void *wg)
{
	usleep(50000);
	weft_wg_done(wg);
	return NULL;
}

/* Asleep, and only a plain thread can wake it, which takes its time. What the wait returned. */
__attribute__((unused)) static int
waits_for_thread(void)
{
	struct weft_wg wg = {0};
	pthread_t t;
	int rc;

	weft_wg_add(&wg, 1);
	t = start_thread(done_later, &wg);
	rc = weft_wg_wait(&wg);
	join_thread(t);
	return rc;
}

/* How often text holds part. */
__attribute__((unused)) static int
count_of(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part))) {
		n++;
		text += strlen(part);
	}
	return n;
}

/* fn in a child process, which must end with status 2 and say this. All that it said. */
__attribute__((unused)) static const char *
expect_dies(void (*fn)(void), const char *text)
{
	static char out[65536];
	int status = test_child(fn, out, sizeof(out));

	EXPECT_HAS(out, text);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 2);
	return out;
}

/* The same, of a deadlock. The sanitizer's own threads cannot be told from the program's in a forked
   child. */
__attribute__((unused)) static const char *
expect_deadlock(void (*fn)(void))
{
#ifdef WF_TSAN
	SKIP("the sanitizer has threads of its own");
#endif
	return expect_dies(fn, "fatal: all goroutines are asleep - deadlock!");
}

/* All other goroutines have ended, or are about to: the count follows the wait group's. */
__attribute__((unused)) static void
expect_alone(void)
{
	while (weft_count() != 1)
		weft_yield();
}

#define load(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v)   __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL)

#endif
