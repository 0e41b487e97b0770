/* SPDX-License-Identifier: MIT */
/*
 * test.c: runs the tests of one file, each in a fresh copy of this program (--only NAME).
 *
 * The parent starts the copy in its own process group with its output in a temporary file, and
 * waits with a limit. Past the limit the copy gets SIGQUIT, on which it prints what the runtime
 * knows (wf_debug_dump, where linked) and leaves; three seconds later SIGKILL.
 * tests/run reads the lines "FAIL name ..." and the last line of the output: keep their form.
 */
#define _GNU_SOURCE /* mkostemp */
#include "test.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const struct test_case *const __start_weft_tests[];
extern const struct test_case *const __stop_weft_tests[];

void wf_debug_dump(int fd) __attribute__((weak));

enum {
	EXIT_SKIP = 77,
	EXIT_HUNG = 3,
	LIMIT_S = 60,            /* of one test */
	GRACE_S = 3,             /* from SIGQUIT to SIGKILL: time to print the dump */
	MAX_TESTS = 1024,        /* in one file */
	MAX_SHOWN = 256 * 1024,  /* bytes of a failed test's output that are shown */
	DUMP_STACK = 256 * 1024, /* bytes; the handler prints on it */
};

static uint64_t seed;

/* The test_child() in progress, for the SIGQUIT handler. */
static volatile sig_atomic_t child_pid;
static volatile sig_atomic_t child_fd = -1;

static void
write_all(int fd, const char *buf, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, buf, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		buf += done;
		n -= (size_t)done;
	}
}

static void
die(const char *what)
{
	fprintf(stderr, "test harness: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int64_t
now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- called by tests */

void
test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;
	char text[4096];
	int n = snprintf(text, sizeof(text), "%s:%d: ", file, line);
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n - 1, format, args);
	va_end(args);
	strcat(text, "\n");
	/* One write, and no stdio lock: another thread may hold it for ever. */
	write_all(STDERR_FILENO, text, strlen(text));
	_exit(1);
}

void
test_fail_eq(const char *file, int line, const char *a, const char *b, long long va, long long vb)
{
	test_fail(file, line,
		  "EXPECT_EQ(%s, %s)\n"
		  "  left:  %lld (0x%llx)\n"
		  "  right: %lld (0x%llx)",
		  a, b, va, (unsigned long long)va, vb, (unsigned long long)vb);
}

void
test_skip(const char *why)
{
	write_all(STDERR_FILENO, why, strlen(why));
	write_all(STDERR_FILENO, "\n", 1);
	_exit(EXIT_SKIP);
}

bool
test_has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static uint64_t
seed_from_env_or_clock(void)
{
	const char *text = getenv("WEFT_TEST_SEED");
	if (text && *text) {
		char *end;
		uint64_t value = strtoull(text, &end, 0);
		if (*end == 0 && value != 0)
			return value;
		fprintf(stderr, "WEFT_TEST_SEED=%s is not a number above 0\n", text);
		exit(2);
	}
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t state =
	    (uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec + (uint64_t)getpid();
	uint64_t value = test_rand(&state) & 0xffffffff; /* short enough to copy by hand */
	return value ? value : 1;
}

uint64_t
test_seed(void)
{
	return seed;
}

/* splitmix64: every state is good, so any seed is. */
uint64_t
test_rand(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

bool
test_full(void)
{
	const char *text = getenv("WEFT_TEST_FULL");
	return text && *text;
}

/*
 * The child leaves by exit, where the address sanitizer takes locks that a thread which is not
 * in the child may hold: it would hang now and then. (TSan and qemu have threads of their own.)
 */
static void
expect_no_other_thread(void)
{
#if defined(WF_ASAN)
	struct stat st;
	/* a thread that was joined may be seen a little longer */
	for (int ms = 0; ms < 1000; ms++) {
		if (stat("/proc/self/task", &st) != 0 || st.st_nlink <= 3)
			return;
		usleep(1000);
	}
	test_fail(__FILE__, __LINE__,
		  "test_child() with other threads alive: fork, and end the child by _exit");
#endif
}

int
test_child(void (*fn)(void), char *out, size_t n)
{
	int ends[2];
	expect_no_other_thread();
	fflush(NULL);
	if (pipe(ends))
		die("pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		fn();
		exit(0);
	}
	close(ends[1]);
	child_fd = ends[0];
	child_pid = pid;

	size_t kept = 0;
	for (;;) {
		char buf[4096];
		ssize_t got = read(ends[0], buf, sizeof(buf));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size_t room = n ? n - 1 - kept : 0;
		size_t take = (size_t)got < room ? (size_t)got : room;
		memcpy(out + kept, buf, take);
		kept += take;
	}
	if (n)
		out[kept] = 0;
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	child_pid = 0;
	child_fd = -1;
	close(ends[0]);
	return status;
}

/* ---- one test, in its own process */

/* Asks a test_child() in progress for its dump, and passes on what it prints for a second. */
static void
dump_child(void)
{
	static const char head[] = "--- the child process of the test says:\n";
	write_all(STDERR_FILENO, head, sizeof(head) - 1);
	kill(child_pid, SIGQUIT);
	struct pollfd p = {.fd = child_fd, .events = POLLIN};
	while (poll(&p, 1, 1000) > 0) {
		char buf[4096];
		ssize_t got = read(child_fd, buf, sizeof(buf));
		if (got <= 0)
			break;
		write_all(STDERR_FILENO, buf, (size_t)got);
	}
}

static void
on_quit(int sig)
{
	static const char head[] = "--- out of time; the runtime says:\n";
	static const char none[] = "(no runtime in this program)\n";
	(void)sig;
	write_all(STDERR_FILENO, head, sizeof(head) - 1);
	if (wf_debug_dump)
		wf_debug_dump(STDERR_FILENO);
	else
		write_all(STDERR_FILENO, none, sizeof(none) - 1);
	if (child_pid > 0)
		dump_child();
	_exit(EXIT_HUNG);
}

static int
run_one(const struct test_case *t)
{
	setvbuf(stdout, NULL, _IOLBF, 0);

	/* static: the leak checker must not count it */
	static stack_t alt;
	alt.ss_sp = malloc(DUMP_STACK);
	alt.ss_size = DUMP_STACK;
	if (!alt.ss_sp || sigaltstack(&alt, NULL))
		die("sigaltstack");
	struct sigaction act = {.sa_handler = on_quit, .sa_flags = SA_ONSTACK};
	sigfillset(&act.sa_mask);
	if (sigaction(SIGQUIT, &act, NULL))
		die("sigaction");

	t->fn();
	fflush(stdout);
	return 0; /* by return, so that the sanitizers can give their verdict */
}

/* ---- all tests, in the parent */

enum verdict { PASSED, FAILED, SKIPPED };

static void
exec_only(const char *self, const char *name, int out)
{
	struct rlimit none = {0, 0};
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	const char *wrapper = getenv("WEFT_TEST_WRAPPER");
	if (wrapper && *wrapper)
		execlp(wrapper, wrapper, self, "--only", name, (char *)NULL);
	else
		execl(self, self, "--only", name, (char *)NULL);
	_exit(127);
}

/* Waits for the child at most until deadline_ms. SIGCHLD is blocked in this process. */
static bool
wait_until(pid_t pid, int64_t deadline_ms, int *status)
{
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);
		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR)
			die("waitpid");
		int64_t left = deadline_ms - now_ms();
		if (left <= 0)
			return false;
		struct timespec t = {left / 1000, left % 1000 * 1000000};
		sigtimedwait(&chld, NULL, &t);
	}
}

static int
limit_seconds(void)
{
	const char *text = getenv("WEFT_TEST_LIMIT");
	int n = text ? atoi(text) : 0;
	return n > 0 ? n : LIMIT_S;
}

static void
show_output(int fd)
{
	char buf[4096];
	char last = '\n';
	size_t shown = 0;
	ssize_t got;
	lseek(fd, 0, SEEK_SET);
	while (shown < MAX_SHOWN && (got = read(fd, buf, sizeof(buf))) > 0) {
		fwrite(buf, 1, (size_t)got, stdout);
		last = buf[got - 1];
		shown += (size_t)got;
	}
	if (last != '\n')
		putchar('\n');
	if (shown >= MAX_SHOWN)
		puts("(the rest of the output is left out)");
}

static void
describe(int status, bool timed_out, int limit_s)
{
	if (timed_out)
		printf("over its limit of %d s", limit_s);
	else if (WIFSIGNALED(status))
		printf("signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		printf("status %d", WEXITSTATUS(status));
}

static enum verdict
spawn_and_judge(const char *self, const struct test_case *t)
{
	char path[] = "/tmp/weft-test-XXXXXX";
	int out = mkostemp(path, O_CLOEXEC | O_APPEND);
	if (out < 0)
		die("temporary file");
	unlink(path);

	int64_t start = now_ms();
	int limit_s = limit_seconds();
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		exec_only(self, t->name, out);
	setpgid(pid, pid); /* here too: whoever is first */

	int status = 0;
	bool timed_out = !wait_until(pid, start + (int64_t)limit_s * 1000, &status);
	if (timed_out) {
		kill(pid, SIGQUIT);
		if (!wait_until(pid, now_ms() + GRACE_S * 1000, &status)) {
			kill(-pid, SIGKILL);
			wait_until(pid, INT64_MAX / 2, &status);
		}
	}
	kill(-pid, SIGKILL); /* whatever the test left behind */

	enum verdict v = FAILED;
	if (!timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		v = PASSED;
	else if (!timed_out && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		v = SKIPPED;
	if (v == SKIPPED) {
		printf("skip %s: ", t->name);
		show_output(out);
	} else if (v == FAILED) {
		printf("FAIL %s (seed 0x%" PRIx64 ", after %.1f s, ", t->name, seed,
		       (double)(now_ms() - start) / 1000);
		describe(status, timed_out, limit_s);
		puts(")");
		show_output(out);
	}
	fflush(stdout);
	close(out);
	return v;
}

static int
run_all(const char *self, const struct test_case *const *tests, size_t count, const char *match)
{
	size_t n[3] = {0, 0, 0};
	char text[32];
	snprintf(text, sizeof(text), "0x%" PRIx64, seed);
	setenv("WEFT_TEST_SEED", text, 1); /* chosen here, so that a crash can be replayed too */

	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);

	for (size_t i = 0; i < count; i++)
		if (!match || test_has(tests[i]->name, match))
			n[spawn_and_judge(self, tests[i])]++;

	size_t ran = n[PASSED] + n[FAILED];
	if (ran + n[SKIPPED] == 0) {
		puts("FAILED: no test here has that name");
		return 1;
	}
	if (n[FAILED])
		printf("FAILED %zu of %zu tests", n[FAILED], ran);
	else
		printf("ok %zu tests", ran);
	if (n[SKIPPED])
		printf(", %zu skipped", n[SKIPPED]);
	puts("");
	return n[FAILED] ? 1 : ran ? 0 : EXIT_SKIP;
}

static int
by_line(const void *a, const void *b)
{
	const struct test_case *const *x = a, *const *y = b;
	return (*x)->line - (*y)->line;
}

/* This program's path. An emulator shows its own in /proc/self/exe, hence argv[0] there. */
static const char *
self_path(const char *argv0)
{
	static char path[4096];
	if (getenv("WEFT_TEST_WRAPPER"))
		return argv0;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return argv0;
	path[n] = 0;
	return path;
}

int
main(int argc, char **argv)
{
	const struct test_case *tests[MAX_TESTS];
	size_t count = (size_t)(__stop_weft_tests - __start_weft_tests);
	if (count > MAX_TESTS) {
		fprintf(stderr, "more than %d tests in one file\n", MAX_TESTS);
		return 2;
	}
	memcpy(tests, __start_weft_tests, count * sizeof(tests[0]));
	qsort(tests, count, sizeof(tests[0]), by_line);

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < count; i++)
			puts(tests[i]->name);
		return 0;
	}
	seed = seed_from_env_or_clock();
	if (argc == 3 && strcmp(argv[1], "--only") == 0) {
		for (size_t i = 0; i < count; i++)
			if (strcmp(tests[i]->name, argv[2]) == 0)
				return run_one(tests[i]);
		fprintf(stderr, "no test '%s' here; --list shows them\n", argv[2]);
		return 2;
	}
	if (argc == 3 && strcmp(argv[1], "--match") == 0)
		return run_all(self_path(argv[0]), tests, count, argv[2]);
	if (argc == 1)
		return run_all(self_path(argv[0]), tests, count, NULL);
	fprintf(stderr, "usage: %s [--list | --only NAME | --match TEXT]\n", argv[0]);
	return 2;
}
