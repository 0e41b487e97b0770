/* SPDX-License-Identifier: MIT */
/*
 * t_seccomp.c: a sandbox refuses system calls: the library does without, or says what it needs.
 * not-tsan not-asan: their own system calls are refused with ours
 */
#define _GNU_SOURCE 1
#include "integ/helpers.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

enum { CALLS_MAX = 8 };

/* These calls return -error from now on. False: it cannot be had here. */
static bool
refuse(const int *calls, int error, unsigned flags)
{
	struct sock_filter code[2 + 2 * CALLS_MAX];
	struct sock_fprog prog = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (; *calls >= 0; calls++) {
		code[n++] =
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*calls, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(
		    BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA));
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) == 0;
}

/* ---- a program that needs everything: hogs and sleepers beside channels */

static int stop;
static weft_chan(int) ch;

static int
hog(void)
{
	while (!load(&stop))
		;
	return 0;
}

static int
sleeper(void)
{
	const struct timespec nap = {0, 15000000};

	nanosleep(&nap, NULL);
	return 0;
}

static int
receives(void)
{
	int v, n = 0;

	while (weft_recv(ch, &v) == 1)
		n++;
	return n;
}

static int
deep(void)
{
	volatile char much[100000];

	for (size_t i = 0; i < sizeof(much); i += 512)
		much[i] = 1;
	weft_yield();
	return 0;
}

static int
program(void)
{
	struct weft_wg wg = {0}, hogs = {0};
	struct weft_stats s = {.size = sizeof(s)};

	ch = weft_make(int, 1);
	EXPECT(weft_wg_go(&hogs, hog) > 0);
	EXPECT(weft_wg_go(&hogs, hog) > 0);
	EXPECT(weft_wg_go(&wg, receives) > 0);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, sleeper) > 0);
	for (int i = 0; i < 100; i++)
		EXPECT(weft_wg_go(&wg, deep) > 0);
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(weft_send(ch, i), 0);
	weft_close(ch);
	EXPECT(weft_set_procs(3) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_stats(&s), 0);
	EXPECT(s.total.retakes > 0); /* the hogs lost their Ps */
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&hogs), 0);
	weft_free(ch);
	return 7;
}

static struct {
	const int *calls;
	int error;
} sandbox;

static void
in_sandbox(void)
{
	if (!refuse(sandbox.calls, sandbox.error, 0))
		_exit(77);
	for (int i = 0; i < 3; i++) {
		store(&stop, 0);
		EXPECT_EQ(weft_run(program), 7);
	}
	_exit(0);
}

static void
expect_works(const int *calls, const char *says)
{
	static const int errors[] = {EPERM, ENOSYS};
	static char out[65536];

	if (says)
		setenv("WEFT_DEBUG", "say=1", 1);
	for (int procs = 1; procs <= 2; procs++)
		for (int i = 0; i < 2; i++) {
			int status;

			use_procs(procs);
			sandbox.calls = calls;
			sandbox.error = errors[i];
			status = test_child(in_sandbox, out, sizeof(out));
			if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
				SKIP("no seccomp here");
			if (status != 0)
				test_fail(__FILE__, __LINE__, "status %x, error %d\n%s", status,
					  errors[i], out);
			if (says)
				EXPECT_HAS(out, says);
		}
	unsetenv("WEFT_DEBUG");
}

#ifdef SYS_open
#define OPENS SYS_openat, SYS_open
#else
#define OPENS SYS_openat
#endif

TEST(works_without_membarrier)
{
	expect_works((const int[]){SYS_membarrier, -1}, "entering by fence");
}

/* Nothing can be opened, not /proc either: the slice alone decides. */
TEST(works_without_proc)
{
	expect_works((const int[]){OPENS, -1}, NULL);
}

TEST(works_without_proc_and_membarrier)
{
	expect_works((const int[]){SYS_membarrier, OPENS, -1}, "entering by fence");
}

TEST(works_without_advice_and_names)
{
	expect_works((const int[]){SYS_madvise, SYS_mincore, SYS_prctl, -1}, NULL);
}

TEST(works_without_what_only_helps)
{
	expect_works((const int[]){SYS_sched_getaffinity, SYS_sigaltstack, SYS_process_vm_readv,
				   SYS_sched_yield, SYS_tgkill, -1},
		     NULL);
}

/* ---- a sandbox that comes too late */

static int
shuts_membarrier(void)
{
	struct weft_wg hogs = {0};

	if (!refuse((const int[]){SYS_membarrier, -1}, EPERM, SECCOMP_FILTER_FLAG_TSYNC))
		_exit(77);
	EXPECT(weft_wg_go(&hogs, hog) > 0);
	for (;;)
		weft_yield();
	return 0;
}

static void
late_sandbox(void)
{
	use_procs(1);
	weft_run(shuts_membarrier);
}

TEST(membarrier_refused_during_a_run_is_said)
{
	static char out[65536];
	int status = test_child(late_sandbox, out, sizeof(out));

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no seccomp here");
	EXPECT_HAS(out, "membarrier");
	EXPECT_HAS(out, "WEFT_DEBUG=fence=1");
	EXPECT(!test_has(out, "bug in weft"));
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 2);
}
