/* SPDX-License-Identifier: MIT */
/*
 * t_blockers.c: unmodified code that blocks or never gives way: everybody else goes on. Each is let
 * go by the others, after they have gone so many steps beside it; if they stood still, so would it.
 * fence-mode
 */
#define _GNU_SOURCE 1 /* accept4, userfaultfd */
#include "integ/helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

enum { STEPS = 200, FILE_BYTES = 4 << 20 };

struct blocker {
	const char *name;
	bool (*prepare)(void); /* false: cannot be had here */
	void (*block)(void);   /* returns when let go */
	void (*let_go)(void);
};

static const struct blocker *now;
static int inside, outside;
static int64_t steps;
static pthread_t blocked_thread;

/* Others: a pair on a channel, one who computes in slices, one who starts goroutines. */
static weft_chan(int) ch;

static int
sends(void)
{
	while (!load(&outside) && weft_send(ch, 1) == 0)
		;
	weft_close(ch);
	return 0;
}

static int
receives(void)
{
	int v;

	while (weft_recv(ch, &v) == 1)
		add(&steps, load(&inside));
	return 0;
}

static int
nothing(void)
{
	return 0;
}

static int
starts(void)
{
	while (!load(&outside)) {
		struct weft_wg wg = {0};

		EXPECT(weft_wg_go(&wg, nothing) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	return 0;
}

static int
blocks(void)
{
	blocked_thread = pthread_self();
	store(&inside, 1);
	now->block(); /* no call of the library in here */
	store(&outside, 1);
	return 0;
}

static int
others_go_on(void)
{
	struct weft_wg wg = {0};

	ch = weft_make(int, 0);
	EXPECT(weft_wg_go(&wg, blocks) > 0);
	EXPECT(weft_wg_go(&wg, sends) > 0);
	EXPECT(weft_wg_go(&wg, receives) > 0);
	EXPECT(weft_wg_go(&wg, starts) > 0);
	while (load(&steps) < STEPS)
		weft_yield();
	EXPECT_EQ(load(&outside), 0); /* it is in there still */
	now->let_go();
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(ch);
	return 0;
}

static void
try_blocker(const struct blocker *b)
{
	for (int procs = 1; procs <= 2; procs++) {
		use_procs(procs);
		now = b;
		store(&inside, 0);
		store(&outside, 0);
		store(&steps, 0);
		if (b->prepare && !b->prepare())
			SKIP(b->name);
		EXPECT_EQ(weft_run(others_go_on), 0);
	}
}

/* ---- read on a pipe */

static int ends[2];

static bool
make_pipe(void)
{
	return pipe(ends) == 0;
}

static void
reads(void)
{
	char c;

	EXPECT_EQ(read(ends[0], &c, 1), 1);
}

static void
writes(void)
{
	EXPECT_EQ(write(ends[1], "x", 1), 1);
}

TEST(read_on_a_pipe)
{
	try_blocker(&(struct blocker){"pipe", make_pipe, reads, writes});
}

/* ---- nanosleep, ended by a signal */

static void
on_signal(int sig)
{
	(void)sig;
}

static bool
catch_signal(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	return sigaction(SIGUSR1, &a, NULL) == 0;
}

static void
sleeps(void)
{
	const struct timespec long_time = {1000, 0};

	EXPECT(nanosleep(&long_time, NULL) != 0 && errno == EINTR);
}

static void
interrupts(void)
{
	while (!load(&outside)) { /* it may not have begun to sleep */
		EXPECT_EQ(pthread_kill(blocked_thread, SIGUSR1), 0);
		weft_yield();
	}
}

TEST(nanosleep_for_long)
{
	try_blocker(&(struct blocker){"nanosleep", catch_signal, sleeps, interrupts});
}

/* ---- flock */

static int file[2];

static bool
open_files(void)
{
	char path[] = "/tmp/weft-test-XXXXXX";

	file[0] = mkstemp(path);
	file[1] = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
	return file[0] >= 0 && file[1] >= 0 && ftruncate(file[0], FILE_BYTES) == 0 &&
	       flock(file[0], LOCK_EX) == 0;
}

static void
locks_file(void)
{
	EXPECT_EQ(flock(file[1], LOCK_EX), 0);
}

static void
unlocks_file(void)
{
	EXPECT_EQ(flock(file[0], LOCK_UN), 0);
}

TEST(flock_on_a_file)
{
	try_blocker(&(struct blocker){"flock", open_files, locks_file, unlocks_file});
}

/* ---- system calls that come back, again and again, without a call of ours between them */

static void
syncs(void)
{
	while (load(&steps) < STEPS + 1 || !load(&ends[0])) {
		EXPECT_EQ(pwrite(file[0], "x", 1, 4096 * (random() % 100)), 1);
		EXPECT_EQ(fsync(file[0]), 0);
	}
}

static void
let_loop_end(void)
{
	store(&ends[0], 1);
}

static bool
open_files_again(void)
{
	store(&ends[0], 0);
	return open_files();
}

TEST(fsync_again_and_again)
{
	try_blocker(&(struct blocker){"fsync", open_files_again, syncs, let_loop_end});
}

static void
faults_pages(void)
{
	volatile char *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file[0], 0);

	EXPECT(map != MAP_FAILED);
	while (!load(&ends[0])) {
		for (int i = 0; i < FILE_BYTES; i += 4096)
			map[i]++;
		madvise((void *)map, FILE_BYTES, MADV_DONTNEED);
	}
	munmap((void *)map, FILE_BYTES);
}

TEST(storm_of_page_faults)
{
	try_blocker(&(struct blocker){"page faults", open_files_again, faults_pages, let_loop_end});
}

/* ---- one fault that nobody serves for long */

static int fault_fd;
static char *fault_page;

static bool
make_fault_page(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fault_fd < 0 || ioctl(fault_fd, UFFDIO_API, &api) != 0)
		return false;
	fault_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)fault_page;
	reg.range.len = 4096;
	return fault_page != MAP_FAILED && ioctl(fault_fd, UFFDIO_REGISTER, &reg) == 0;
}

static void
touches(void)
{
	EXPECT_EQ(*(volatile char *)fault_page, 0);
}

static void
serves_fault(void)
{
	struct uffdio_zeropage z = {.range = {(uintptr_t)fault_page, 4096}};

	EXPECT_EQ(ioctl(fault_fd, UFFDIO_ZEROPAGE, &z), 0);
}

TEST(page_fault_that_is_not_served)
{
	try_blocker(&(struct blocker){"no userfaultfd", make_fault_page, touches, serves_fault});
}

/* ---- waitpid */

static pid_t child;

static bool
make_child(void)
{
	if (!make_pipe())
		return false;
	child = fork();
	if (child == 0) {
		reads();
		_exit(0);
	}
	return child > 0;
}

static void
waits_for_child(void)
{
	int status;

	EXPECT_EQ(waitpid(child, &status, 0), child);
}

TEST(waitpid_for_a_child)
{
	try_blocker(&(struct blocker){"waitpid", make_child, waits_for_child, writes});
}

/* ---- connect to a socket whose line is full */

static int listener;
static struct sockaddr_un address;

static int
new_socket(int flags)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	EXPECT(fd >= 0);
	return fd;
}

static bool
fill_line(void)
{
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "weft-test-%d-%d", getpid(),
		 listener);
	listener = new_socket(0);
	if (bind(listener, (void *)&address, sizeof(address)) != 0 || listen(listener, 0) != 0)
		return false;
	while (connect(new_socket(SOCK_NONBLOCK), (void *)&address, sizeof(address)) == 0)
		;
	return errno == EAGAIN;
}

static void
connects(void)
{
	int fd = new_socket(0);

	EXPECT_EQ(connect(fd, (void *)&address, sizeof(address)), 0);
	close(fd);
}

static void
accepts(void)
{
	EXPECT(accept4(listener, NULL, NULL, SOCK_CLOEXEC) >= 0);
}

TEST(connect_to_a_full_socket)
{
	try_blocker(&(struct blocker){"connect", fill_line, connects, accepts});
}

/* ---- getaddrinfo, whose server takes its time */

static int server;
static uint16_t server_port;
static int queries;

static bool
make_server(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);

	store(&ends[0], 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server < 0 || bind(server, (void *)&a, n) != 0 ||
	    getsockname(server, (void *)&a, &n) != 0)
		return false;
	server_port = a.sin_port;
	return true;
}

static void
looks_up(void)
{
	struct addrinfo hint = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

	EXPECT_EQ(res_init(), 0); /* this thread's */
	_res.nscount = 1;
	_res.nsaddr_list[0].sin_family = AF_INET;
	_res.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	_res.nsaddr_list[0].sin_port = server_port;
	_res.retry = 20;
	while (load(&steps) < STEPS) /* for each answer that comes too early: none, from a server */
		if (getaddrinfo("weft-test.example.", "80", &hint, &found) == 0)
			freeaddrinfo(found);
	while (!load(&ends[0]))
		;
}

/* The query comes back as an answer: there is no such name. */
static void
answers(void)
{
	unsigned char packet[512];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	while (!load(&outside)) {
		ssize_t n = recvfrom(server, packet, sizeof(packet), 0, (void *)&from, &len);

		if (n > 4) {
			queries++;
			packet[2] |= 0x80;
			packet[3] = (unsigned char)(packet[3] & 0xf0) | 3;
			sendto(server, packet, (size_t)n, 0, (void *)&from, len);
		}
		store(&ends[0], 1);
		weft_yield();
	}
	close(server);
}

TEST(getaddrinfo_with_a_slow_server)
{
	try_blocker(&(struct blocker){"no socket", make_server, looks_up, answers});
	if (queries == 0)
		SKIP("names are not looked up by DNS here");
}

/* ---- other people's locks */

static sem_t sem;

static bool
make_sem(void)
{
	return sem_init(&sem, 0, 0) == 0;
}

static void
waits_for_sem(void)
{
	while (sem_wait(&sem) != 0)
		EXPECT_EQ(errno, EINTR);
}

static void
posts(void)
{
	sem_post(&sem);
}

TEST(semaphore_of_libc)
{
	try_blocker(&(struct blocker){"sem_wait", make_sem, waits_for_sem, posts});
}

/* ---- nothing at all */

static bool
reset_flag(void)
{
	store(&ends[0], 0);
	return true;
}

static void
loops(void)
{
	while (!load(&ends[0]))
		;
}

TEST(loop_without_a_call)
{
	try_blocker(&(struct blocker){"loop", reset_flag, loops, let_loop_end});
}

/* ---- all Ps blocked at once, more often than there are Ps; Go's PreemptionAfterSyscall */

struct bursts {
	long us;
};

static int64_t calls[8];

struct calls_kernel {
	int i;
	long us;
};

static int
calls_kernel(struct calls_kernel *a)
{
	const struct timespec t = {0, a->us * 1000};

	while (!load(&outside)) {
		nanosleep(&t, NULL);
		add(&calls[a->i], 1);
	}
	return 0;
}

static bool
all_have_called(int64_t n)
{
	for (int i = 0; i < 8; i++)
		if (load(&calls[i]) < n)
			return false;
	return true;
}

static int
bursts(struct bursts *a)
{
	struct weft_wg wg = {0};

	memset(calls, 0, sizeof(calls));
	store(&outside, 0);
	for (int i = 0; i < 8; i++)
		EXPECT(weft_wg_go(&wg, calls_kernel, i, a->us) > 0);
	while (!all_have_called(10)) /* all of them: each is one that nobody may starve */
		weft_yield();
	store(&outside, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

TEST(short_system_calls_in_a_row_starve_nobody)
{
	for (int procs = 1; procs <= 2; procs++) {
		use_procs(procs);
		EXPECT_EQ(weft_run(bursts, 10), 0);
		EXPECT_EQ(weft_run(bursts, 100), 0);
		EXPECT_EQ(weft_run(bursts, 1000), 0);
	}
}
