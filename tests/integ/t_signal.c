/* SPDX-License-Identifier: MIT */
/* t_signal.c: signal handlers on goroutines, storms of signals, faults that are not ours. fence-mode
   not-tsan: it calls handlers itself, at another time and on another stack */
#define _GNU_SOURCE 1 /* gettid, tgkill */
#include "integ/helpers.h"

#include "core/self.h"
#include "core/stack.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static int stop;
static int handled, on_alternate, on_goroutine, elsewhere;

static void
install(int sig, void (*fn)(int), int flags)
{
	struct sigaction a = {.sa_flags = flags};

	a.sa_handler = fn;
	EXPECT_EQ(sigaction(sig, &a, NULL), 0);
}

/* ---- which stack */

static void
looks_where_it_is(int sig)
{
	char here;
	stack_t ss;
	const struct wf_g *g = wf_m()->g;
	int saved = errno;

	(void)sig;
	sigaltstack(NULL, &ss);
	if ((ss.ss_flags & SS_ONSTACK) && &here >= (char *)ss.ss_sp &&
	    &here < (char *)ss.ss_sp + ss.ss_size)
		add(&on_alternate, 1);
	else if (g && &here >= (char *)g->stack &&
		 &here < (char *)g->stack + wf_stack_bytes(g->stack_class))
		add(&on_goroutine, 1);
	else
		add(&elsewhere, 1);
	add(&handled, 1);
	errno = saved;
}

static int
raises(void)
{
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		weft_yield(); /* perhaps on another thread from here on */
	}
	return 0;
}

static int
many_raise(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 40; i++)
		EXPECT(weft_wg_go(&wg, raises) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&handled), 40 * 50);
	return 0;
}

TEST(handlers_with_onstack_run_on_the_threads_alternate_stack)
{
	install(SIGUSR1, looks_where_it_is, SA_ONSTACK);
	EXPECT_EQ(weft_run(many_raise), 0);
	EXPECT_EQ(load(&on_alternate), load(&handled));
}

TEST(handlers_without_onstack_run_on_the_goroutines_stack)
{
#ifdef WF_ASAN
	SKIP("the sanitizer may put locals elsewhere");
#endif
	install(SIGUSR1, looks_where_it_is, 0);
	EXPECT_EQ(weft_run(many_raise), 0);
	EXPECT_EQ(load(&on_goroutine), load(&handled));
}

/* ---- masks */

static bool
blocks(const sigset_t *set)
{
	return sigismember(set, SIGUSR1) == 1;
}

static int looked, inherited, hogs;

static int
looks_at_its_mask(void)
{
	sigset_t now;

	add(&hogs, 1);
	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	if (gettid() != load(&looked))
		add(&inherited, blocks(&now));
	while (load(&hogs) < 4) /* on a thread each */
		;
	return 0;
}

static int
starts_threads_while_it_blocks(void)
{
	struct weft_wg wg = {0};
	sigset_t every, old;

	sigfillset(&every);
	EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &every, &old), 0);
	EXPECT(!blocks(&old));
	store(&looked, gettid());
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, looks_at_its_mask) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&inherited), 0);
	return 0;
}

TEST(new_threads_have_the_mask_of_the_caller_of_run)
{
	use_procs(4);
	for (int i = 0; i < 30;
	     i++) { /* the threads are not always started by the one that blocks */
		store(&hogs, 0);
		EXPECT_EQ(weft_run(starts_threads_while_it_blocks), 0);
	}
}

/* The signals that the thread of this name blocks; false: there is no such thread. */
static bool
blocked_by(const char *name, unsigned long long *mask)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	bool found = false;

	EXPECT(d != NULL);
	while (!found && (e = readdir(d))) {
		char path[300], line[256] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		if (e->d_name[0] == '.' || !(f = fopen(path, "r")))
			continue;
		while (fgets(line, sizeof(line), f)) {
			if (strncmp(line, "Name:", 5) == 0)
				found = strstr(line, name) != NULL;
			if (found && sscanf(line, "SigBlk: %llx", mask) == 1)
				break;
		}
		fclose(f);
	}
	closedir(d);
	return found;
}

static int
looks_at_the_monitor(void)
{
	unsigned long long mask = ~0ull;

	/* It names itself; a thread that it has just made has its name, and blocks faults too. */
	while (!blocked_by("weft-monitor", &mask) || (mask & 1ull << (SIGSEGV - 1)))
		usleep(100);
	EXPECT(mask & 1ull << (SIGUSR1 - 1));
	EXPECT(mask & 1ull << (SIGTERM - 1));
	return 0;
}

TEST(monitor_takes_no_signals)
{
	EXPECT_EQ(weft_run(looks_at_the_monitor), 0);
}

/* ---- a storm, while everything is used: no call says EINTR, no value is lost */

static weft_chan(int) work, done;
static struct weft_mutex mutex;
static int64_t guarded;

static void
counts(int sig)
{
	(void)sig;
	add(&handled, 1);
}

static int
worker(void)
{
	int v;

	while (weft_recv(work, &v) == 1) {
		EXPECT_EQ(weft_lock(&mutex), 0);
		guarded++;
		weft_unlock(&mutex);
		EXPECT_EQ(weft_send(done, v), 0);
	}
	return 0;
}

static void *
plain_worker(void *arg)
{
	worker();
	return arg;
}

static void *
sends_signals(void *arg)
{
	pid_t pid = getpid();

	while (!load(&stop)) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;

		EXPECT(d != NULL);
		while ((e = readdir(d)))
			if (e->d_name[0] != '.')
				syscall(SYS_tgkill, pid, atoi(e->d_name), SIGUSR1);
		closedir(d);
		usleep(200);
	}
	return arg;
}

static void
start_timers(void)
{
	struct itimerval each = {{0, 300}, {0, 300}};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec often = {{0, 200000}, {0, 200000}};
	timer_t t;

	EXPECT_EQ(setitimer(ITIMER_REAL, &each, NULL), 0);
	EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &ev, &t), 0);
	EXPECT_EQ(timer_settime(t, 0, &often, NULL), 0);
}

static void
stop_timers(void)
{
	struct itimerval none = {{0, 0}, {0, 0}};

	setitimer(ITIMER_REAL, &none, NULL);
}

static int
channel_storm(void)
{
	struct weft_wg wg = {0};
	pthread_t t[2];
	int64_t sum = 0, n = scaled(20000), before = load(&handled);

	work = weft_make(int, 0);
	done = weft_make(int, 3);
	for (int i = 0; i < 4; i++)
		EXPECT(weft_wg_go(&wg, worker) > 0);
	for (int i = 0; i < 2; i++)
		t[i] = start_thread(plain_worker, NULL);
	for (int64_t sent = 0, got = 0; got < n || load(&handled) < before + 100;) {
		int v;

		if (sent == got && got >= n)
			n++; /* until enough signals have come */
		if (sent < n && sent - got < 8) {
			EXPECT_EQ(weft_send(work, 1), 0);
			sent++;
		} else {
			EXPECT_EQ(weft_recv(done, &v), 1);
			sum += v;
			got++;
		}
	}
	weft_close(work);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int i = 0; i < 2; i++)
		join_thread(t[i]);
	EXPECT_EQ(sum, n);
	EXPECT_EQ(guarded, n);
	return 0;
}

static void
storm(int flags)
{
	pthread_t sender;

	install(SIGALRM, counts, flags);
	install(SIGUSR1, counts, flags);
	install(SIGUSR2, counts, flags);
	sender = start_thread(sends_signals, NULL);
	start_timers();
	EXPECT_EQ(weft_run(channel_storm), 0);
	store(&stop, 1);
	stop_timers();
	join_thread(sender);
}

TEST(storm_of_signals_on_goroutine_stacks)
{
	storm(0);
}

TEST(storm_of_signals_on_alternate_stacks)
{
	storm(SA_ONSTACK | SA_RESTART);
}

/* ---- calls from handlers */

static void
calls_weft(int sig)
{
	(void)sig;
	if (wf_m()->g) /* not on the thread that sends, nor on the caller of weft_run */
		weft_count();
}

static int
never_stops(void)
{
	for (;;)
		weft_yield();
	return 0;
}

static int
is_interrupted(void)
{
	EXPECT(weft_go(never_stops) > 0);
	start_thread(sends_signals, NULL);
	never_stops();
	return 0;
}

static void
handler_calls(void)
{
	install(SIGUSR1, calls_weft, SA_ONSTACK);
	weft_run(is_interrupted);
}

/* LEASE-5 */
TEST(handler_that_interrupted_the_library_and_calls_it_is_fatal)
{
	EXPECT_HAS(expect_dies(handler_calls, "fatal: weft was called from inside itself"),
		   "signal handler");
}

/* ---- faults */

static int
yields(void)
{
	weft_yield();
	return 0;
}

weft_local(sigjmp_buf, way_out);
static struct sigaction before_us;
static int passed_on;

static int
faults(void)
{
	volatile uintptr_t nowhere = 24;

	*(volatile int *)nowhere = 1;
	return 0;
}

static void
jumps_out(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	EXPECT_EQ((uintptr_t)info->si_addr, 24);
	add(&handled, 1);
	siglongjmp(*way_out(), 1);
}

__attribute__((noinline)) static void
faults_once(void)
{
	if (sigsetjmp(*way_out(), 1) == 0) {
		faults();
		test_fail(__FILE__, __LINE__, "no fault");
	}
}

static int
faults_often(void)
{
	for (int i = 0; i < 20; i++) {
		faults_once();
		weft_yield();
	}
	return 0;
}

static int
many_fault(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(&wg, faults_often) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(load(&handled), 20 * 20);
	return 0;
}

static void
install_segv(void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	a.sa_sigaction = fn;
	EXPECT_EQ(sigaction(SIGSEGV, &a, &before_us), 0);
}

TEST(faults_elsewhere_go_to_the_handler_that_was_there_before)
{
	install_segv(jumps_out);
	for (int i = 0; i < 3; i++) {
		store(&handled, 0);
		EXPECT_EQ(weft_run(many_fault), 0);
	}
}

TEST(handler_installed_between_runs_stays)
{
	EXPECT_EQ(weft_run(yields), 0);
	install_segv(jumps_out);
	EXPECT_EQ(weft_run(many_fault), 0);
}

/* The usual way: a handler that is put in later passes on to the one it found. */
static void
passes_on(int sig, siginfo_t *info, void *context)
{
	if (add(&passed_on, 1) > 1)
		_exit(9); /* round in a circle */
	before_us.sa_sigaction(sig, info, context);
}

static void
chain(void)
{
	EXPECT_EQ(weft_run(yields), 0);
	install_segv(passes_on);
	EXPECT_EQ(weft_run(yields), 0);
	weft_run(faults);
}

TEST(handlers_in_a_chain_do_not_call_each_other_for_ever)
{
	static char out[65536];
	int status;

#if defined(WF_ASAN) || defined(WF_TSAN)
	SKIP("the sanitizer's handler is part of the chain");
#endif
	status = test_child(chain, out, sizeof(out));
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

__attribute__((noinline)) static int
recurse(volatile char *above)
{
	volatile char frame[512];

	frame[0] = *above;
	if (frame[0] == 0)
		return 0;
	return recurse(frame) + frame[0];
}

static int
overflows(void)
{
	volatile char c = 1;

	for (int i = 0; i < 200; i++)
		weft_yield();
	return recurse(&c);
}

static int
one_overflows(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, raises) > 0);
	EXPECT(weft_wg_go(&wg, overflows) > 0);
	return weft_wg_wait(&wg);
}

static void
chain_and_overflow(void)
{
	install(SIGUSR1, counts, SA_ONSTACK);
	EXPECT_EQ(weft_run(yields), 0);
	install_segv(passes_on);
	weft_run(one_overflows);
}

TEST(overflow_is_named_also_through_a_chain_of_handlers)
{
	EXPECT_HAS(expect_dies(chain_and_overflow, "fatal: stack overflow in goroutine"),
		   "overflows()");
}

static int
is_sent_segv(void)
{
	raise(SIGSEGV);
	return 0;
}

static void
sent_segv(void)
{
	weft_run(is_sent_segv);
}

/* Sent by somebody, it kills as it would without us. */
TEST(segv_that_is_sent_kills)
{
	static char out[65536];
	int status = test_child(sent_segv, out, sizeof(out));

#if defined(WF_ASAN) || defined(WF_TSAN)
	EXPECT(status != 0);
	return;
#endif
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

/* ---- the whole process stops for a while */

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum { STOPS = 12, STOP_MS = 100, TURN_MS = 6, SLICE_MS = 10 };

static struct {
	int in_turn; /* some way into it */
	int delays;  /* turns that the machine, not we, made longer than a slice */
	int finished;
} * seen; /* by both processes */
static int64_t work_of_a_turn;

static void
compute(int64_t n)
{
	for (volatile int64_t i = 0; i < n; i++)
		;
}

/* By amount, not by the clock: after a stop the rest is still to be done. */
static void
measure_a_turn(void)
{
	int64_t from, took = 0;

	for (work_of_a_turn = 100000; took < 4 * TURN_MS; work_of_a_turn *= 2) {
		from = now_ms();
		compute(work_of_a_turn);
		took = now_ms() - from;
	}
	work_of_a_turn = work_of_a_turn / 2 * TURN_MS / took;
}

static int
takes_turns(void)
{
	while (!load(&seen->finished)) {
		int64_t from = now_ms(), took;

		compute(work_of_a_turn / 2);
		store(&seen->in_turn, 1);
		compute(work_of_a_turn / 2);
		store(&seen->in_turn, 0);
		took = now_ms() - from;
		if (took >= SLICE_MS - 1 && took < STOP_MS)
			add(&seen->delays, 1);
		weft_yield();
	}
	return 0;
}

static int
is_stopped(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	struct weft_wg wg = {0};

	measure_a_turn();
	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&wg, takes_turns) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_stats(&s), 0);
	/* The two goroutines that start, and this one, may each have been taken for long. */
	if ((int64_t)s.total.retakes > 2 + load(&seen->delays))
		test_fail(__FILE__, __LINE__, "%d retakes, %d delays", (int)s.total.retakes,
			  load(&seen->delays));
	return 0;
}

/* The monitor judges nobody by the time during which nobody ran. */
TEST(stopped_process_costs_nobody_its_p)
{
	pid_t pid;
	int status = 0;

#if defined(WF_TORTURE)
	SKIP("slices of no length");
#endif
	use_procs(1);
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(seen != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		_exit(weft_run(is_stopped));
	for (int i = 0; i < STOPS; i++) {
		while (!load(&seen->in_turn))
			;
		kill(pid, SIGSTOP);
		usleep(STOP_MS * 1000);
		kill(pid, SIGCONT);
		usleep(20000);
	}
	store(&seen->finished, 1);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

/* Stopped for two seconds in the middle of a storm: nothing is lost. */
static int
storm_in_child(void)
{
	return channel_storm();
}

TEST(process_stopped_in_a_storm_goes_on)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		store(&handled, 1000);
		install(SIGALRM, counts, 0);
		install(SIGUSR2, counts, 0);
		start_timers();
		_exit(weft_run(storm_in_child));
	}
	usleep(20000);
	kill(pid, SIGSTOP);
	usleep(2000000);
	kill(pid, SIGCONT);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
}
