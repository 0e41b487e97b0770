/* SPDX-License-Identifier: MIT */
/*
 * tsan.c: what ThreadSanitizer gets wrong about goroutines. It takes each for a thread; but errno
 * stays with the thread that runs it, and our system calls it does not see. Empty in every other
 * build.
 */
#define _GNU_SOURCE 1
#include "base/sanitizer.h"

#ifdef WF_TSAN
#include "base/check.h"
#include "base/os.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* TSan puts a signal off until the thread calls something that it intercepts: strlen will do. */
void
os_tsan_signals(void)
{
	size_t (*intercepted)(const char *) = strlen;

	__asm__("" : "+r"(intercepted)); /* or the compiler would know the answer */
	intercepted("");
}

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

/* A stack changes its goroutine: without this the frames of the two would look like a race. While
   accesses are ignored, TSan forgets what it knew of a range that is mapped. */
void
os_renew(void *addr, size_t bytes)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	CHECK(mmap(addr, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == addr);
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

int __tsan_get_report_data(void *report, const char **what, int *count, int *stacks, int *accesses,
			   int *locations, int *mutexes, int *threads, int *tids, void **trace,
			   unsigned long traces);
int __tsan_get_report_mop(void *report, unsigned long at, int *tid, void **addr, int *size,
			  int *write, int *atomic, void **trace, unsigned long traces);
WF_EXPORT bool
wf_tsan_on_report(void *report, bool suppressed) __asm__("_ZN6__tsan8OnReportEPKNS_10ReportDescEb");

/* TSan asks here before it prints, by this name of its own: __tsan::OnReport. Two goroutines that
   one thread runs in turn use the same errno, and it is saved and restored for each (SELF-1): no
   race. The first access of a report is by the caller. */
bool
wf_tsan_on_report(void *report, bool suppressed)
{
	int count, stacks, accesses, locations, mutexes, threads, tids, tid, size, write, atomic;
	void *addr, *trace[1];
	const char *what;

	__tsan_get_report_data(report, &what, &count, &stacks, &accesses, &locations, &mutexes,
			       &threads, &tids, trace, 1);
	if (accesses == 0) /* a circle of locks, for instance */
		return suppressed;
	__tsan_get_report_mop(report, 0, &tid, &addr, &size, &write, &atomic, trace, 1);
	return suppressed || (uintptr_t)addr - (uintptr_t)&errno < sizeof(errno);
}
#endif
