/* SPDX-License-Identifier: MIT */
/* osmem.c: memory by the page, on Linux; see os.h. */
#define _GNU_SOURCE 1
#include "base/oscall.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kernel's numbers, as in os.c. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* Linux 5.10 */
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

size_t
os_page_bytes(void)
{
	static size_t page;

	return page ? page : (page = (size_t)sysconf(_SC_PAGESIZE));
}

int
os_reserve(size_t bytes, size_t align, void **out)
{
	size_t page = os_page_bytes(), extra = align > page ? align : 0;
	char *at, *aligned;

	if (fault("mmap"))
		return -ENOMEM;
	at = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	aligned = (char *)(((uintptr_t)at + align - 1) / align * align);
	if (aligned > at)
		munmap(at, (size_t)(aligned - at));
	if (extra && at + bytes + extra > aligned + bytes)
		munmap(aligned + bytes, (size_t)(at + extra - aligned));
	*out = aligned;
	return 0;
}

void
os_release(void *addr, size_t bytes)
{
	munmap(addr, bytes);
}

int
os_discard(void *addr, size_t bytes)
{
	if (fault("discard"))
		return -EINVAL;
	return (int)result(madvise(addr, bytes, MADV_DONTNEED));
}

/* One call and one round of interrupts for all of them, where the kernel can: about Linux 6.14 on.
   *refused is 0 until it says that it cannot. */
static bool
advise_at_once(void *const *at, uint32_t n, size_t offset, size_t bytes, int advice,
	       wf_a32 *refused)
{
	enum { SELF = -10000, MOST = 32, BYTES_MOST = 1 << 30 }; /* PIDFD_SELF */
	struct iovec range[MOST];
	long done;

	/* rlx: a matter of cost */
	if (n < 2 || n > MOST || n * bytes > BYTES_MOST || at_load_rlx(refused))
		return false;
	for (uint32_t i = 0; i < n; i++)
		range[i] = (struct iovec){(char *)at[i] + offset, bytes};
	done = syscall(SYS_process_madvise, SELF, range, n, advice, 0);
	if (done < 0)
		at_store_rlx(refused, 1); /* rlx: as above */
	return done == (long)(n * bytes);
}

void
os_discard_each(void *const *at, uint32_t n, size_t offset, size_t bytes)
{
	static wf_a32 refused;

	if (!fault("discard") && advise_at_once(at, n, offset, bytes, MADV_DONTNEED, &refused))
		return;
	for (uint32_t i = 0; i < n; i++)
		os_discard((char *)at[i] + offset, bytes);
}

/* Does reading this address fault? Asked of the kernel, which copies the set before it looks at
   the impossible first argument. */
static bool
read_faults(const void *addr)
{
	enum { NO_SUCH_HOW = 0x7fff, SET_BYTES = 8 };

	return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, addr, NULL, SET_BYTES) < 0 &&
	       errno == EFAULT;
}

static wf_a32 works; /* guards: 0 not known, 1 yes, 2 no: an emulator may agree and do nothing */

int
os_guard(void *addr, size_t bytes)
{
	if (fault("guard") || at_load_rlx(&works) == 2) /* rlx: only this word matters */
		return -EINVAL;
	if (madvise(addr, bytes, MADV_GUARD_INSTALL) < 0)
		return -errno;
	if (at_load_rlx(&works) == 0)
		at_store_rlx(&works, read_faults(addr) ? 1 : 2);
	return at_load_rlx(&works) == 1 ? 0 : -EINVAL;
}

bool
os_guard_each(void *const *at, uint32_t n, size_t bytes)
{
	static wf_a32 refused;

	return !fault("guard") && at_load_rlx(&works) == 1 && /* rlx: as above */
	       advise_at_once(at, n, 0, bytes, MADV_GUARD_INSTALL, &refused);
}

int
os_protect_none(void *addr, size_t bytes)
{
	if (fault("mprotect"))
		return -ENOMEM;
	return (int)result(mprotect(addr, bytes, PROT_NONE));
}

void
os_hint_hugepage(void *addr, size_t bytes, bool yes)
{
	madvise(addr, bytes, yes ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

int
os_resident(void *addr, size_t pages, unsigned char *vec)
{
	if (fault("mincore"))
		return -ENOMEM;
	return (int)result(mincore(addr, pages * os_page_bytes(), vec));
}

void
os_name_memory(void *addr, size_t bytes, const char *name)
{
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr, bytes, name);
}
