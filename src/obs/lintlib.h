/* SPDX-License-Identifier: MIT */
/*
 * lintlib.h: what libweft and libweft-lint.so, which watches the pthread locks, say to each other.
 * libweft looks the functions up by name: without the library nothing is there, and nothing is paid.
 */
#ifndef WF_OBS_LINTLIB_H
#define WF_OBS_LINTLIB_H

struct weft_lint_lock {
	const void *lock;
	const void *where; /* the address that the call to lock it returns to */
};

enum { WEFT_LINT_LOCKS = 16 }; /* locks of one thread that are remembered */

/* From now on holds(n) is called on each thread after it has locked or unlocked something and holds n
   locks; NULL: no longer. */
void weft_lint_attach(void (*holds)(int n));
/* The locks of the calling thread, oldest first: it has none then. */
int weft_lint_take(struct weft_lint_lock locks[WEFT_LINT_LOCKS]);
/* The goroutine that had them runs on the calling thread now. */
void weft_lint_give(const struct weft_lint_lock *locks, int n);

#endif
