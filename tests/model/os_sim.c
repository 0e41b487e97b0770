/* SPDX-License-Identifier: MIT */
/*
 * os_sim.c: base/os.h on the explorer: the kernel of the model tests.
 *
 * Threads, futexes and membarrier are the explorer's. The clock stands still but for sleeps that
 * end by time, and those end when nobody else can run (or early, where the scenario allows it);
 * a limit of a second or more never comes.
 * Memory comes from one arena that each execution uses from its start again, at the same
 * addresses. What no scenario needs is refused with -ENOSYS.
 * Not here: the production calls (src/base/os.c).
 */
#include "os_sim.h"
#include "explore.h"
#include "base/os.h"
#include "base/osio.h"
#include "base/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ARENA = 256 << 20 }; /* bytes; touched pages only */
enum { PATIENCE_NS = 1000000000 };

static struct {
	int64_t now_ns;
	int cpus;    /* in the affinity mask; 0: two */
	size_t used; /* of the arena */
	struct {
		void *(*fn)(void *);
		void *arg;
		void *on_exit;
		int errno_value;
	} thread[SIM_THREADS + 1]; /* the last is for setup and checks */
	unsigned starts;
	void (*exit_hook)(void *);
	struct {
		void *(*fn)(void *);
		void *arg;
	} start[SIM_THREADS];
	struct os_event event[16]; /* reported, and not collected */
	int events;
} k;

static char *arena;

void
os_sim_reset(void)
{
	if (!arena) {
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED)
			abort();
	}
	if (k.used)
		madvise(arena, k.used, MADV_DONTNEED);
	memset(&k, 0, sizeof(k));
	k.now_ns = 1000000000; /* zero is "never" in places */
}

static unsigned
slot(void)
{
	int id = sim_self();
	return id < 0 ? SIM_THREADS : (unsigned)id;
}

/* ---- futex */

static void
time_passed(int64_t until_ns)
{
	if (k.now_ns < until_ns)
		k.now_ns = until_ns;
}

int
os_futex_wait(wf_a32 *word, uint32_t value, int64_t timeout_ns)
{
	int64_t until = k.now_ns + timeout_ns;

	switch (sim_futex_wait(&word->v, value, timeout_ns >= 0 && timeout_ns < PATIENCE_NS)) {
	case SIM_DIFFERS:
		return -EAGAIN;
	case SIM_EARLY:
		return -EINTR;
	case SIM_TIMEOUT:
		time_passed(until);
		return -ETIMEDOUT;
	case SIM_WOKEN:
		break;
	}
	return 0;
}

int
os_futex_wait_until(wf_a32 *word, uint32_t value, int64_t until_ns)
{
	int64_t left = until_ns - k.now_ns;

	return os_futex_wait(word, value, left < 0 ? 0 : left);
}

int
os_futex_wake(wf_a32 *word, int count)
{
	return sim_wake(&word->v, count);
}

/* ---- threads */

static void
thread_entry(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	k.start[i].fn(k.start[i].arg);
	if (k.exit_hook && k.thread[slot()].on_exit)
		k.exit_hook(k.thread[slot()].on_exit);
}

int
os_thread_start(void *(*fn)(void *), void *arg)
{
	unsigned i = k.starts++;

	if (i >= SIM_THREADS)
		return -EAGAIN;
	k.start[i].fn = fn;
	k.start[i].arg = arg;
	sim_thread(thread_entry, (void *)(uintptr_t)i);
	return 0;
}

void
os_thread_begin(bool signals)
{
	(void)signals;
}

void
os_signals_remember(void)
{
}

bool
os_cancellable(bool may)
{
	return may;
}

bool
os_thread_gone(int tid)
{
	(void)tid;
	return false;
}

int
os_tid(void)
{
	return 1 + (int)slot();
}

void
os_thread_name(const char *name)
{
	sim_note("named %s", name);
}

int
os_thread_count(void)
{
	return -ENOSYS;
}

void
os_thread_on_exit(void *arg)
{
	k.thread[slot()].on_exit = arg;
}

int
os_thread_exit_hook(void (*hook)(void *arg))
{
	k.exit_hook = hook;
	return 0;
}

void
os_yield(void)
{
	sim_relax();
}

int
os_cpu_count(void)
{
	return k.cpus ? k.cpus : 2;
}

void
os_sim_cpus(int n)
{
	k.cpus = n;
}

int *
os_errno_address(void)
{
	return &k.thread[slot()].errno_value;
}

void
os_stack_bounds(const void **lo, size_t *bytes)
{
	/* the neighbourhood of the caller's frame: enough for what only shows it */
	*bytes = 16 * PAGE;
	*lo = (const char *)__builtin_frame_address(0) - 15 * PAGE;
}

int
os_on_fork_child(void (*fn)(void))
{
	(void)fn;
	return 0;
}

/* ---- memory */

size_t
os_page_bytes(void)
{
	return PAGE;
}

int
os_reserve(size_t bytes, size_t align, void **out)
{
	size_t at = align > PAGE ? (k.used + align - 1) & ~(align - 1) : k.used;

	if (!arena || at + bytes > ARENA)
		return -ENOMEM;
	k.used = (at + bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	*out = arena + at;
	return 0;
}

void
os_release(void *addr, size_t bytes)
{
	sim_forget(addr, bytes); /* its addresses come back with the next execution only */
}

void
os_discard_each(void *const *at, uint32_t n, size_t offset, size_t bytes)
{
	for (uint32_t i = 0; i < n; i++)
		os_discard((char *)at[i] + offset, bytes);
}

int
os_discard(void *addr, size_t bytes)
{
	return madvise(addr, bytes, MADV_DONTNEED) ? -errno : 0;
}

int
os_guard(void *addr, size_t bytes)
{
	(void)addr, (void)bytes;
	return 0;
}

bool
os_guard_each(void *const *at, uint32_t n, size_t bytes)
{
	(void)at, (void)n, (void)bytes;
	return true;
}

int
os_protect_none(void *addr, size_t bytes)
{
	(void)addr, (void)bytes;
	return 0;
}

void
os_hint_hugepage(void *addr, size_t bytes, bool yes)
{
	(void)addr, (void)bytes, (void)yes;
}

int
os_resident(void *addr, size_t pages, unsigned char *vec)
{
	(void)addr, (void)pages, (void)vec;
	return -ENOSYS;
}

void
os_name_memory(void *addr, size_t bytes, const char *name)
{
	(void)bytes;
	sim_name(addr, "%s", name);
}

/* ---- ordering, clock, the rest */

int
os_membarrier_register(void)
{
	return 0;
}

void
os_membarrier(void)
{
	sim_membarrier();
}

int64_t
os_now_ns(void)
{
	return k.now_ns;
}

void
os_sleep_ns(int64_t ns)
{
	int64_t until = k.now_ns + ns;

	sim_block_timed(&k.thread[slot()]);
	time_passed(until);
}

void
os_timer_slack(void)
{
}

int
os_write_all(int fd, const void *buf, size_t bytes)
{
	(void)fd;
	sim_note("writes %.*s", (int)bytes, (const char *)buf);
	return 0;
}

const char *
os_getenv(const char *name)
{
	(void)name;
	return NULL;
}

void
os_exit(int status)
{
	sim_fail("the process exits with status %d", status);
	abort();
}

int
os_altstack_install(void **mem)
{
	*mem = NULL;
	return 0;
}

void
os_altstack_remove(void *mem)
{
	(void)mem;
}

int
os_segv_install(os_segv_fn *fn)
{
	(void)fn;
	return 0;
}

uintptr_t
os_interrupted_fp(void *ucontext)
{
	(void)ucontext;
	return 0;
}

int
os_peek(const void *from, void *to, size_t bytes)
{
	(void)from, (void)to, (void)bytes;
	return -1; /* reports are not read here */
}

void *
os_map_file(const char *path, size_t *bytes)
{
	(void)path, (void)bytes;
	return NULL;
}

int
os_thread_watch(int tid)
{
	(void)tid;
	return -1; /* as without /proc */
}

int
os_thread_blocked(int fd)
{
	(void)fd;
	return -1;
}

int
os_open_read(const char *path)
{
	(void)path;
	return -ENOENT; /* no cgroups */
}

int
os_read(int fd, void *buf, size_t bytes)
{
	(void)fd, (void)buf, (void)bytes;
	return -EBADF;
}

void
os_close(int fd)
{
	(void)fd;
}

/* ---- probe.h: nobody is linted here */

int64_t
os_thread_cpu_ns(int tid)
{
	(void)tid;
	return -ENOSYS;
}

int64_t
os_stolen_ns(void)
{
	return 0;
}

int
os_thread_call(int tid, struct os_call *call)
{
	(void)tid, (void)call;
	return -ENOSYS;
}

const char *
os_call_name(long number)
{
	(void)number;
	return NULL;
}

int
os_sample_install(os_sample_fn *fn)
{
	(void)fn;
	return -EBUSY;
}

int
os_sample(int tid)
{
	(void)tid;
	return -ENOSYS;
}

bool
os_returns_to(uintptr_t pc)
{
	(void)pc;
	return false;
}

bool
os_returns_from(uintptr_t pc, uintptr_t fn)
{
	(void)pc, (void)fn;
	return false;
}

/* ---- descriptors: what happens to them is for the scenario to say */

int
os_poll_open(int *breaker)
{
	*breaker = 2;
	return 1;
}

int
os_poll_watch(int poller, int fd, uint64_t data)
{
	(void)poller, (void)fd, (void)data;
	return 0;
}

int
os_poll_again(int poller, int fd, uint64_t data)
{
	return os_poll_watch(poller, fd, data);
}

void
os_poll_forget(int poller, int fd)
{
	(void)poller, (void)fd;
}

void
os_sim_event(uint64_t data, uint32_t events)
{
	SIM_CHECK(k.events < 16);
	k.event[k.events++] = (struct os_event){events, data};
	sim_wake(&k.events, 1); /* one of those who wait, as the kernel does */
}

void
os_poll_break(int breaker)
{
	(void)breaker;
	os_sim_event(UINT64_MAX, OS_IN);
}

int
os_poll_wait(int poller, struct os_event *events, int n, int64_t until_ns)
{
	(void)poller;
	while (k.events == 0) {
		if (until_ns <= k.now_ns)
			return 0;
		if (until_ns - k.now_ns >= PATIENCE_NS)
			sim_block(&k.events);
		else if (sim_block_timed(&k.events) == SIM_TIMEOUT)
			time_passed(until_ns);
	}
	n = n < k.events ? n : k.events;
	memcpy(events, k.event, (size_t)n * sizeof(*events));
	k.events -= n;
	memmove(k.event, k.event + n, (size_t)k.events * sizeof(*events));
	return n;
}

int
os_poll_now(int fd, int events)
{
	(void)fd, (void)events;
	return -ENOSYS;
}

int
os_set_nonblocking(int fd)
{
	(void)fd;
	return 0;
}

bool
os_is_socket(int fd)
{
	(void)fd;
	return false;
}

int
os_close_fd(int fd)
{
	(void)fd;
	return 0;
}

int
os_close_foreign(int fd)
{
	(void)fd;
	return 0;
}

int
os_pipe(int fds[2])
{
	(void)fds;
	return -ENOSYS;
}

ssize_t
os_readv(int fd, const struct iovec *iov, int n, bool socket)
{
	(void)fd, (void)iov, (void)n, (void)socket;
	return -ENOSYS;
}

ssize_t
os_writev(int fd, const struct iovec *iov, int n, bool socket)
{
	return os_readv(fd, iov, n, socket);
}

ssize_t
os_readv_now(int fd, const struct iovec *iov, int n)
{
	return os_readv(fd, iov, n, false);
}

ssize_t
os_writev_now(int fd, const struct iovec *iov, int n)
{
	return os_readv(fd, iov, n, false);
}

/* ---- sockets: there are none */

bool
os_is_listener(int fd)
{
	(void)fd;
	return false;
}

void
os_fd_text(int fd, const char *arrow, char *buf, size_t n)
{
	(void)fd, (void)arrow, (void)n;
	buf[0] = '\0';
}

bool
os_is_numeric(const char *host)
{
	(void)host;
	return true;
}

int
os_resolve(const char *host, const char *port, enum os_family family, bool datagram, bool listens,
	   struct os_addr *out, int n)
{
	(void)host, (void)port, (void)family, (void)datagram, (void)listens, (void)out, (void)n;
	return -ENOSYS;
}

int
os_unix_addr(const char *path, struct os_addr *out)
{
	(void)path, (void)out;
	return -ENOSYS;
}

int
os_addr_text(const struct os_addr *a, char *buf, size_t n)
{
	(void)a, (void)buf, (void)n;
	return -ENOSYS;
}

int
os_socket_addr(int fd, bool peer, struct os_addr *out)
{
	(void)fd, (void)peer, (void)out;
	return -ENOSYS;
}

int
os_socket_for(const struct os_addr *a, bool datagram)
{
	(void)a, (void)datagram;
	return -ENOSYS;
}

int
os_bind(int fd, const struct os_addr *a, bool datagram, const struct os_listen *how)
{
	(void)fd, (void)a, (void)datagram, (void)how;
	return -ENOSYS;
}

int
os_accept(int fd)
{
	(void)fd;
	return -ENOSYS;
}

int
os_connect(int fd, const struct os_addr *a)
{
	(void)fd, (void)a;
	return -ENOSYS;
}

int
os_socket_error(int fd)
{
	return os_accept(fd);
}

bool
os_connected_to_itself(int fd, const struct os_addr *a)
{
	(void)fd, (void)a;
	return false;
}

bool
os_is_stream(int fd)
{
	(void)fd;
	return true;
}

bool
os_is_tcp(int fd)
{
	(void)fd;
	return false;
}

bool
os_has_upper(int fd)
{
	return os_is_tcp(fd);
}

ssize_t
os_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	(void)fd, (void)buf, (void)n, (void)flags, (void)from, (void)len;
	return -ENOSYS;
}

ssize_t
os_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t len)
{
	(void)fd, (void)buf, (void)n, (void)flags, (void)to, (void)len;
	return -ENOSYS;
}

/* ---- files, children, signals */

ssize_t
os_pread(int fd, void *buf, size_t n, int64_t at)
{
	(void)fd, (void)buf, (void)n, (void)at;
	return -ENOSYS;
}

ssize_t
os_pwrite(int fd, const void *buf, size_t n, int64_t at)
{
	(void)fd, (void)buf, (void)n, (void)at;
	return -ENOSYS;
}

ssize_t
os_sendfile(int out, int in, int64_t *at, size_t n)
{
	(void)out, (void)in, (void)at, (void)n;
	return -ENOSYS;
}

int64_t
os_seek(int fd, int64_t at)
{
	(void)fd, (void)at;
	return -ESPIPE;
}

bool
os_reads_as_polled(int fd, size_t n)
{
	(void)fd;
	(void)n;
	return true;
}

bool
os_is_blocking(int fd)
{
	(void)fd;
	return false;
}

int
os_set_blocking(int fd)
{
	(void)fd;
	return 0;
}

int
os_spawn(const char *file, char *const argv[], char *const envp[], const int fds[3])
{
	(void)file, (void)argv, (void)envp, (void)fds;
	return -ENOSYS;
}

int
os_pidfd(int pid)
{
	(void)pid;
	return -ENOSYS;
}

int
os_waitpid(int pid, int *status, bool blocks)
{
	(void)pid, (void)status, (void)blocks;
	return -ENOSYS;
}

int
os_signal_catch(int signo, void (*fn)(int signo))
{
	(void)signo, (void)fn;
	return -ENOSYS;
}

void
os_signal_release(int signo)
{
	(void)signo;
}
