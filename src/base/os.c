/* SPDX-License-Identifier: MIT */
/*
 * os.c: Linux: futexes, threads, the clock, signals. Memory is in osmem.c, descriptors in osio.c and
 * ossock.c: every system call, and the only files that read errno. With WF_FAULT each call that can
 * fail asks fault() first: WEFT_FAULT=name:n makes the n-th call of that name fail,
 * name:n+ that one and all after it.
 *
 * Where libc's function is a cancellation point the system call is made directly: a plain thread
 * that is cancelled goes on until it is outside.
 */
#define _GNU_SOURCE 1
#include "base/os.h"
#include "base/check.h"
#include "base/oscall.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* The kernel's numbers, here so that a libc without kernel headers (musl-gcc) does too. */
enum {
	FUTEX_WAIT_PRIVATE = 0 | 128,
	FUTEX_WAKE_PRIVATE = 1 | 128,
	FUTEX_WAIT_BITSET_PRIVATE = 9 | 128,
	MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
	MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
};

enum {
	THREAD_STACK =
	    256 << 10,        /* an M's own stack: the scheduler loop and signal handlers' frames */
	ALT_STACK = 64 << 10, /* the overflow report formats text */
};

/* ---- faults on order */

#ifdef WF_FAULT
bool
os_fault(const char *name)
{
	static wf_a32 calls;
	const char *order = getenv("WEFT_FAULT");
	size_t len = strlen(name);
	unsigned long n, k;
	char *end;

	if (!order || strncmp(order, name, len) != 0 || order[len] != ':')
		return false;
	n = strtoul(order + len + 1, &end, 10);
	k = at_add_rlx(&calls, 1) + 1; /* rlx: a counter */
	return *end == '+' ? k >= n : k == n;
}
#endif

static int
open_to_read(const char *path)
{
	return (int)result(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

/* ---- futex */

static int
futex_until(wf_a32 *word, uint32_t value, int64_t until_ns)
{
	struct timespec ts = {until_ns / 1000000000, until_ns % 1000000000};

	/* this one takes the time itself, not what is left until then: no drift, no race */
	return (int)result(syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &ts, NULL,
				   UINT32_MAX)); /* any waker */
}

#ifdef WF_TSAN
/* A signal that TSan puts off waits for an os_tsan_signals: one before and one after each sleep; and no
   sleep is long, for it may come between the two. */
static int
futex_wait(wf_a32 *word, uint32_t value, int64_t until_ns)
{
	int64_t next;
	int rc;

	do {
		next = os_now_ns() + OS_TSAN_NAP_NS;
		os_tsan_signals();
		rc = futex_until(word, value, next < until_ns ? next : until_ns);
		os_tsan_signals();
	} while (rc == -ETIMEDOUT && next < until_ns);
	return rc;
}

static int
futex_for(wf_a32 *word, uint32_t value, int64_t timeout_ns)
{
	return futex_wait(word, value, timeout_ns < 0 ? INT64_MAX : os_now_ns() + timeout_ns);
}
#else
#define futex_wait futex_until

static int
futex_for(wf_a32 *word, uint32_t value, int64_t timeout_ns)
{
	struct timespec ts = {timeout_ns / 1000000000, timeout_ns % 1000000000};

	return (int)result(syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
				   timeout_ns < 0 ? NULL : &ts, NULL, 0));
}
#endif

int
os_futex_wait(wf_a32 *word, uint32_t value, int64_t timeout_ns)
{
	if (fault("futex_eintr"))
		return -EINTR;
	if (fault("futex_spurious"))
		return 0;
	return futex_for(word, value, timeout_ns);
}

int
os_futex_wait_until(wf_a32 *word, uint32_t value, int64_t until_ns)
{
	if (fault("futex_eintr"))
		return -EINTR;
	if (fault("futex_spurious"))
		return 0;
	return futex_wait(word, value, until_ns);
}

int
os_futex_wake(wf_a32 *word, int count)
{
	return (int)result(syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0));
}

/* ---- threads */

static sigset_t run_mask; /* of the caller of weft_run */

void
os_signals_remember(void)
{
	pthread_sigmask(SIG_SETMASK, NULL, &run_mask);
}

int
os_thread_start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t every, old;
	pthread_t t;
	size_t stack = THREAD_STACK;
	int rc;

	if (fault("thread"))
		return -EAGAIN;
	rc = pthread_attr_init(&attr);
	if (rc)
		return -rc;
	if (stack < (size_t)PTHREAD_STACK_MIN * 4)
		stack = (size_t)PTHREAD_STACK_MIN * 4;
#if defined(WF_ASAN) || defined(WF_TSAN)
	stack *= 8;
#endif
	pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old); /* it gets its own mask when it is set up */
	rc = pthread_create(&t, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

bool
os_cancellable(bool may)
{
	int old;

	pthread_setcancelstate(may ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &old);
	return old == PTHREAD_CANCEL_ENABLE;
}

void
os_thread_begin(bool signals)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t set = run_mask;

	os_cancellable(false);
	if (!signals) {
		sigfillset(&set);
		for (size_t i = 0; i < countof(faults); i++)
			sigdelset(&set, faults[i]);
	}
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

bool
os_thread_gone(int tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

int
os_tid(void)
{
	return (int)syscall(SYS_gettid);
}

void
os_thread_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

int
os_thread_count(void)
{
	/* The kernel's own count, in one call; the text of /proc/self/status has it too, for six times
	   the time. A listing of the folder skips entries while threads end. */
	enum { NAMES = 2 }; /* of the folder itself: in its parent, and in itself */
	struct stat st;
	int n = (int)result(stat("/proc/self/task", &st));

	if (n < 0)
		return n;
	if (st.st_nlink <= NAMES)
		return -ENOENT;
	n = (int)st.st_nlink - NAMES;
#ifdef WF_TSAN
	n--; /* the sanitizer's own */
#endif
	return n;
}

static pthread_key_t exit_key;
static void (*exit_hook)(void *);

static void
run_exit_hook(void *arg)
{
	exit_hook(arg);
}

int
os_thread_exit_hook(void (*hook)(void *arg))
{
	exit_hook = hook;
	return -pthread_key_create(&exit_key, run_exit_hook);
}

void
os_thread_on_exit(void *arg)
{
	pthread_setspecific(exit_key, arg);
}

void
os_yield(void)
{
	sched_yield();
}

int *
os_errno_address(void)
{
	return &errno;
}

void
os_stack_bounds(const void **lo, size_t *bytes)
{
	pthread_attr_t attr;
	void *addr = NULL;
	size_t size = 0;

	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &addr, &size);
		pthread_attr_destroy(&attr);
	}
	*lo = addr;
	*bytes = size;
}

int
os_on_fork_child(void (*fn)(void))
{
	return -pthread_atfork(NULL, NULL, fn);
}

int
os_cpu_count(void)
{
	unsigned long mask[1024]; /* 65536 CPUs: cpu_set_t has room for 1024 only */
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	int n = 0;

	if (bytes < 0)
		return (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (size_t i = 0; i < (size_t)bytes / sizeof(mask[0]); i++)
		n += __builtin_popcountl(mask[i]);
	return n;
}

/* ---- ordering */

int
os_membarrier_register(void)
{
	if (fault("membarrier"))
		return -ENOSYS;
	return (int)result(syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

void
os_membarrier(void)
{
	if (unlikely(syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) != 0))
		wf_fatal("membarrier is refused, and was not when the run began. Enter the sandbox "
			 "before weft_run, allow it the system call membarrier, or set "
			 "WEFT_DEBUG=fence=1");
}

/* ---- clock */

int64_t
os_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void
os_sleep_ns(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};
	int saved = errno; /* a goroutine's: a signal may cut the sleep short */

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL); /* early is fine */
	errno = saved;
}

void
os_timer_slack(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

/* ---- the rest */

int
os_thread_watch(int tid)
{
	char path[64];

	if (fault("watch"))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	return open_to_read(path);
}

int
os_thread_blocked(int fd)
{
	char first; /* of "running", or of a number: the system call, -1 in a fault */
	ssize_t n = syscall(SYS_pread64, fd, &first, (size_t)1, (off_t)0);

	return n < 0 ? -errno : n == 1 && first != 'r';
}

int
os_open_read(const char *path)
{
	if (fault("open"))
		return -EMFILE;
	return open_to_read(path);
}

int
os_read(int fd, void *buf, size_t bytes)
{
	ssize_t n;

	if (fault("read"))
		return -EIO;
	do
		n = syscall(SYS_read, fd, buf, bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

void
os_close(int fd)
{
	syscall(SYS_close, fd);
}

void *
os_map_file(const char *path, size_t *bytes)
{
	int fd = open_to_read(path);
	struct stat st;
	void *map = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		*bytes = (size_t)st.st_size;
		map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			map = NULL;
	}
	os_close(fd);
	return map;
}

int
os_peek(const void *from, void *to, size_t bytes)
{
	struct iovec mine = {to, bytes}, theirs = {(void *)(uintptr_t)from, bytes};
	ssize_t n = process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0);

	return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -EFAULT;
}

int
os_write_all(int fd, const void *buf, size_t bytes)
{
	const char *at = buf;

	while (bytes > 0) {
		ssize_t n = syscall(SYS_write, fd, at, bytes);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

const char *
os_getenv(const char *name)
{
	return getenv(name);
}

void
os_exit(int status)
{
	_exit(status);
}

int
os_altstack_install(void **mem)
{
	stack_t ss = {.ss_size = ALT_STACK}, old;

	*mem = NULL;
	if (sigaltstack(NULL, &old) == 0 && !(old.ss_flags & SS_DISABLE))
		return 0; /* a sanitizer has put one there */
	ss.ss_sp =
	    mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ss.ss_sp == MAP_FAILED)
		return -errno;
	*mem = ss.ss_sp;
	return (int)result(sigaltstack(&ss, NULL));
}

void
os_altstack_remove(void *mem)
{
	stack_t off = {.ss_flags = SS_DISABLE}, now;

	if (!mem)
		return;
	if (sigaltstack(NULL, &now) == 0 && now.ss_sp == mem) /* not another one by now */
		sigaltstack(&off, NULL);
	munmap(mem, ALT_STACK);
}

static os_segv_fn *segv_fn;
static struct sigaction old_segv;

static void
on_segv(int sig, siginfo_t *info, void *ucontext)
{
	bool sent = info->si_code <= 0; /* by kill or raise: there is no fault to return to */

	if (!sent && segv_fn && segv_fn(info->si_addr, ucontext))
		return;
	/* Not ours: the program's handler, or the default after we return to the fault. */
	if (old_segv.sa_flags & SA_SIGINFO) {
		old_segv.sa_sigaction(sig, info, ucontext);
	} else if (old_segv.sa_handler != SIG_DFL && old_segv.sa_handler != SIG_IGN) {
		old_segv.sa_handler(sig);
	} else if (!sent || old_segv.sa_handler == SIG_DFL) {
		sigaction(SIGSEGV, &old_segv, NULL);
		if (sent)
			syscall(SYS_tgkill, getpid(), os_tid(), SIGSEGV);
	}
}

int
os_segv_install(os_segv_fn *fn)
{
	static bool installed;
	struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	segv_fn = fn;
	ours.sa_sigaction = on_segv;
	/* A handler that was put in after ours stays: it may pass on to ours, and ours would to it,
	   for ever. */
	if (installed && sigaction(SIGSEGV, NULL, &now) == 0 &&
	    ((now.sa_flags & SA_SIGINFO) ||
	     (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)))
		return 0;
	installed = true;
	return (int)result(sigaction(SIGSEGV, &ours, &old_segv));
}

uintptr_t
os_interrupted_fp(void *ucontext)
{
	const ucontext_t *u = ucontext;
#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RBP];
#else
	return (uintptr_t)u->uc_mcontext.regs[29];
#endif
}

#ifdef WF_CHAOS
/* The torture build: now and then a thread loses its turn in the middle of everything. */
void
wf_chaos_point(void)
{
	static __thread uint64_t state;
	uint64_t x;

	if (state == 0)
		state = (uint64_t)(uintptr_t)&state ^ (uint64_t)os_now_ns();
	x = state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	x >>= 40;
	if ((x & 0x3ff) == 0)
		sched_yield();
	else if ((x & 0x3f) == 1)
		for (x = (x >> 8) & 0xff; x > 0; x--)
			__asm__ volatile("");
}
#endif
