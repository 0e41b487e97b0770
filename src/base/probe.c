/* SPDX-License-Identifier: MIT */
/* probe.c: Linux. See probe.h; with os.c the only file that makes system calls. */
#define _GNU_SOURCE 1
#include "base/probe.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

int64_t
os_thread_cpu_ns(int tid)
{
	enum { PER_THREAD = 4, SCHED = 2 }; /* the kernel's way to name a clock of a thread */
	clockid_t id = (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHED);
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		return -errno;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* In steps of a tick. The first line of /proc/stat: "cpu user nice system idle iowait irq softirq steal". */
int64_t
os_stolen_ns(void)
{
	char line[256];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	unsigned long long steal;
	long ticks = sysconf(_SC_CLK_TCK);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || ticks <= 0)
		return 0;
	line[n] = 0;
	if (sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		return 0;
	return (int64_t)steal * (1000000000 / ticks);
}

/* ---- system calls */

int
os_thread_call(int tid, struct os_call *call)
{
	char path[64], text[256], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	if (text[0] == 'r') /* running */
		return 0;
	call->number = strtol(text, NULL, 10);
	at = strrchr(text, ' '); /* ... sp pc */
	if (!at)
		return -EIO;
	call->pc = strtoul(at, NULL, 16);
	*at = '\0';
	at = strrchr(text, ' ');
	call->sp = at ? strtoul(at, NULL, 16) : 0;
	return 1;
}

#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}

static const struct {
	long number;
	const char *name;
} calls[] = {
    /* those that may sleep and that every architecture has */
    CALL(read),
    CALL(write),
    CALL(readv),
    CALL(writev),
    CALL(pread64),
    CALL(pwrite64),
    CALL(preadv),
    CALL(pwritev),
    CALL(openat),
    CALL(close),
    CALL(fsync),
    CALL(fdatasync),
    CALL(sync),
    CALL(syncfs),
    CALL(msync),
    CALL(fallocate),
    CALL(ftruncate),
    CALL(flock),
    CALL(fcntl),
    CALL(ioctl),
    CALL(getdents64),
    CALL(sendfile),
    CALL(splice),
    CALL(vmsplice),
    CALL(copy_file_range),
    CALL(renameat),
    CALL(unlinkat),
    CALL(mkdirat),
    CALL(nanosleep),
    CALL(clock_nanosleep),
    CALL(futex),
    CALL(ppoll),
    CALL(pselect6),
    CALL(epoll_pwait),
    CALL(io_getevents),
    CALL(wait4),
    CALL(waitid),
    CALL(rt_sigtimedwait),
    CALL(rt_sigsuspend),
    CALL(accept),
    CALL(accept4),
    CALL(connect),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(recvmmsg),
    CALL(sendto),
    CALL(sendmsg),
    CALL(sendmmsg),
    CALL(mmap),
    CALL(munmap),
    CALL(madvise),
    CALL(mprotect),
    CALL(getrandom),
    CALL(semop),
    CALL(semtimedop),
    CALL(msgrcv),
    CALL(msgsnd),
    CALL(mq_timedreceive),
    CALL(mq_timedsend),
    CALL(process_vm_readv),
/* those that only some have, or that only newer headers know */
#ifdef SYS_open
    CALL(open),
#endif
#ifdef SYS_stat
    CALL(stat),
#endif
#ifdef SYS_lstat
    CALL(lstat),
#endif
#ifdef SYS_poll
    CALL(poll),
#endif
#ifdef SYS_select
    CALL(select),
#endif
#ifdef SYS_epoll_wait
    CALL(epoll_wait),
#endif
#ifdef SYS_pause
    CALL(pause),
#endif
#ifdef SYS_rename
    CALL(rename),
#endif
#ifdef SYS_unlink
    CALL(unlink),
#endif
#ifdef SYS_epoll_pwait2
    CALL(epoll_pwait2),
#endif
#ifdef SYS_io_uring_enter
    CALL(io_uring_enter),
#endif
#ifdef SYS_statx
    CALL(statx),
#endif
#ifdef SYS_preadv2
    CALL(preadv2),
#endif
#ifdef SYS_pwritev2
    CALL(pwritev2),
#endif
};

const char *
os_call_name(long number)
{
	for (size_t i = 0; i < countof(calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

/* ---- samples */

static os_sample_fn *sample_fn;
static int sample_signal;

static void
on_sample(int sig, siginfo_t *info, void *ucontext)
{
	const ucontext_t *u = ucontext;

	(void)sig;
	(void)info;
#if defined(__x86_64__)
	sample_fn(&(struct os_regs){.pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP],
				    .fp = (uintptr_t)u->uc_mcontext.gregs[REG_RBP],
				    .sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP]});
#else
	sample_fn(&(struct os_regs){.pc = (uintptr_t)u->uc_mcontext.pc,
				    .fp = (uintptr_t)u->uc_mcontext.regs[29],
				    .sp = (uintptr_t)u->uc_mcontext.sp,
				    .ret = (uintptr_t)u->uc_mcontext.regs[30]});
#endif
}

/* The highest real-time signal that the program leaves alone. */
int
os_sample_install(os_sample_fn *fn)
{
	struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	sample_fn = fn;
	ours.sa_sigaction = on_sample;
	if (sample_signal)
		return 0;
	for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--)
		if (sigaction(sig, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
		    now.sa_handler == SIG_DFL && sigaction(sig, &ours, NULL) == 0) {
			sample_signal = sig;
			return 0;
		}
	return -EBUSY;
}

int
os_sample(int tid)
{
	return syscall(SYS_tgkill, getpid(), tid, sample_signal) < 0 ? -errno : 0;
}

bool
os_returns_to(uintptr_t pc)
{
#if defined(__x86_64__)
	unsigned char b[6]; /* the bytes before pc: call rel32, call [rip+x], call reg or [reg+x] */

	if (os_peek((const void *)(pc - sizeof(b)), b, sizeof(b)) < 0)
		return false;
	return b[1] == 0xe8 || (b[0] == 0xff && (b[1] & 0x38) == 0x10) ||
	       (b[3] == 0xff && (b[4] & 0x38) == 0x10) || (b[4] == 0xff && (b[5] & 0x38) == 0x10);
#else
	uint32_t insn; /* bl or blr */

	if (pc % 4 != 0 || os_peek((const void *)(pc - 4), &insn, sizeof(insn)) < 0)
		return false;
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
#endif
}

bool
os_returns_from(uintptr_t pc, uintptr_t fn)
{
#if defined(__x86_64__)
	struct {
		unsigned char op;
		int32_t offset;
	} __attribute__((packed)) call;

	return os_peek((const void *)(pc - sizeof(call)), &call, sizeof(call)) == 0 &&
	       call.op == 0xe8 && pc + (uintptr_t)(intptr_t)call.offset == fn;
#else
	uint32_t insn;

	return pc % 4 == 0 && os_peek((const void *)(pc - 4), &insn, sizeof(insn)) == 0 &&
	       (insn & 0xfc000000) == 0x94000000 &&
	       pc - 4 + (uintptr_t)((intptr_t)((int32_t)(insn << 6) >> 6) * 4) == fn;
#endif
}
