/* SPDX-License-Identifier: MIT */
/*
 * Workloads of bench/weft with one thread for each goroutine, and channels of a mutex and condition
 * variables: what a program without a library of this kind does. BENCH_PROCS is the number of CPUs
 * that the process keeps to. Rows that would need a million threads are not here; some counts are
 * smaller, where a row is given for each operation.
 */
#define _GNU_SOURCE 1
#include "../row.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum {
	SLOWER = 20,             /* the counts are divided by this */
	STACK_BYTES = 64 * 1024, /* of a thread */
	PARKED = 10 * 1000,
	SLEEPERS = 1000,
	SLEEPS = 20,
	CAPACITY_MAX = BUFFER,
	THREADS_MAX = PARKED,
};

static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(rc));
	exit(1);
}

/* ---- threads */

static struct {
	pthread_t threads[THREADS_MAX];
	int count;
} started;

static void
go(void *(*fn)(void *), void *arg)
{
	static pthread_attr_t attr;
	static int ready;

	if (!ready) {
		must(pthread_attr_init(&attr), "pthread_attr_init");
		must(pthread_attr_setstacksize(&attr, STACK_BYTES), "pthread_attr_setstacksize");
		ready = 1;
	}
	if (started.count == THREADS_MAX)
		row_die("too many threads");
	must(pthread_create(&started.threads[started.count++], &attr, fn, arg), "pthread_create");
}

static void
join_all(void)
{
	while (started.count > 0)
		must(pthread_join(started.threads[--started.count], NULL), "pthread_join");
}

/* ---- channels */

struct chan {
	pthread_mutex_t lock;
	pthread_cond_t can_send, can_recv, taken;
	int64_t values[CAPACITY_MAX];
	uint64_t sent, received; /* in all */
	int capacity;            /* 0: a sender waits until its value is taken */
	int closed;
};

static struct chan *
chan_make(int capacity)
{
	struct chan *ch = calloc(1, sizeof(*ch));

	if (ch == NULL)
		row_die("no memory");
	pthread_mutex_init(&ch->lock, NULL);
	pthread_cond_init(&ch->can_send, NULL);
	pthread_cond_init(&ch->can_recv, NULL);
	pthread_cond_init(&ch->taken, NULL);
	ch->capacity = capacity;
	return ch;
}

static void
chan_send(struct chan *ch, int64_t v)
{
	uint64_t room = (uint64_t)(ch->capacity > 0 ? ch->capacity : 1);
	uint64_t number;

	pthread_mutex_lock(&ch->lock);
	while (ch->sent - ch->received >= room)
		pthread_cond_wait(&ch->can_send, &ch->lock);
	number = ch->sent++;
	ch->values[number % room] = v;
	pthread_cond_signal(&ch->can_recv);
	while (ch->capacity == 0 && ch->received <= number)
		pthread_cond_wait(&ch->taken, &ch->lock);
	pthread_mutex_unlock(&ch->lock);
}

static int
chan_recv(struct chan *ch, int64_t *v)
{
	uint64_t room = (uint64_t)(ch->capacity > 0 ? ch->capacity : 1);
	int got = 0;

	pthread_mutex_lock(&ch->lock);
	while (ch->sent == ch->received && !ch->closed)
		pthread_cond_wait(&ch->can_recv, &ch->lock);
	if (ch->sent != ch->received) {
		*v = ch->values[ch->received++ % room];
		got = 1;
		pthread_cond_signal(&ch->can_send);
		if (ch->capacity == 0)
			pthread_cond_broadcast(&ch->taken);
	}
	pthread_mutex_unlock(&ch->lock);
	return got;
}

static void
chan_close(struct chan *ch)
{
	pthread_mutex_lock(&ch->lock);
	ch->closed = 1;
	pthread_cond_broadcast(&ch->can_recv);
	pthread_mutex_unlock(&ch->lock);
}

/* ---- rows */

static int64_t each; /* operations of each thread of the running row */

static void *
yielder(void *arg)
{
	for (int64_t i = 0; i < each; i++)
		sched_yield();
	return arg;
}

static void
yields(const char *row, int threads)
{
	struct row_time start;

	each = row_scaled(YIELDS / SLOWER) / threads;
	start = row_now();
	for (int i = 0; i < threads; i++)
		go(yielder, NULL);
	join_all();
	row_report_ns(row, "warm", each * threads, row_since(start));
}

static void
yield2(void)
{
	yields("yield2", 2);
}

static void
yield1000(void)
{
	yields("yield1000", 1000);
}

static void *
trivial(void *arg)
{
	return arg;
}

static void
spawn_batch(void)
{
	for (int i = 0; i < BATCH; i++)
		go(trivial, NULL);
	join_all();
}

static void
spawn_join(void)
{
	int64_t batches = row_scaled(TASKS / SLOWER) / BATCH;
	struct row_time start;

	if (batches < 1)
		batches = 1;
	spawn_batch();
	start = row_now();
	for (int64_t i = 0; i < batches; i++)
		spawn_batch();
	row_report_ns("spawn_join", "warm", batches * BATCH, row_since(start));
}

static struct chan *in, *out; /* of the running row */

static void *
echo(void *arg)
{
	int64_t v;

	while (chan_recv(in, &v))
		chan_send(out, v);
	return arg;
}

static void
pingpong(void)
{
	int64_t count = row_scaled(ROUND_TRIPS / SLOWER);
	struct row_time start;

	in = chan_make(0);
	out = chan_make(0);
	go(echo, NULL);
	start = row_now();
	for (int64_t i = 0; i < count; i++) {
		int64_t v = -1;

		chan_send(in, i);
		chan_recv(out, &v);
		row_check("pingpong", v, i);
	}
	row_report_ns("pingpong", "warm", count, row_since(start));
	chan_close(in);
	join_all();
}

static void *
producer(void *arg)
{
	for (int64_t i = 0; i < each; i++)
		chan_send(in, i);
	return arg;
}

static void *
consumer(void *arg)
{
	int64_t sum = 0;
	int64_t v;

	while (chan_recv(in, &v))
		sum += v;
	__atomic_fetch_add((int64_t *)arg, sum, __ATOMIC_RELAXED);
	return NULL;
}

static void
stream(const char *row, int pairs, int capacity, int64_t values)
{
	pthread_t producers[MPMC_PAIRS];
	struct row_time start;
	int64_t sum = 0;

	each = row_scaled(values / SLOWER) / pairs;
	in = chan_make(capacity);
	start = row_now();
	for (int i = 0; i < pairs; i++) {
		go(consumer, &sum);
		must(pthread_create(&producers[i], NULL, producer, NULL), "pthread_create");
	}
	for (int i = 0; i < pairs; i++)
		pthread_join(producers[i], NULL);
	chan_close(in);
	join_all();
	row_check(row, sum, pairs * (each * (each - 1) / 2));
	row_report_ns(row, "warm", each * pairs, row_since(start));
}

static void
chan_buf(void)
{
	stream("chan_buf", 1, BUFFER, BUF_VALUES);
}

static void
chan_mpmc(void)
{
	stream("chan_mpmc", MPMC_PAIRS, BUFFER, BUF_VALUES);
}

static void
chan_unbuf_stream(void)
{
	stream("chan_unbuf_stream", 1, 0, UNBUF_VALUES);
}

static struct {
	pthread_mutex_t lock;
	int64_t n;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *
locker(void *arg)
{
	for (int64_t i = 0; i < each; i++) {
		pthread_mutex_lock(&shared.lock);
		shared.n++;
		pthread_mutex_unlock(&shared.lock);
	}
	return arg;
}

static void
mutex(void)
{
	struct row_time start = row_now();

	each = row_scaled(LOCKS);
	for (int i = 0; i < LOCKERS; i++)
		go(locker, NULL);
	join_all();
	row_check("mutex", shared.n, LOCKERS * each);
	row_report_ns("mutex", "warm", LOCKERS * each, row_since(start));
}

static int64_t steps;

static void *
worker(void *arg)
{
	uint64_t x = 0;

	for (int64_t i = 0; i < each; i++) {
		int64_t v = 0;

		chan_recv(in, &v);
		x = row_work(x, steps);
		chan_send(out, v);
	}
	return arg;
}

static void *
feeder(void *arg)
{
	for (int64_t i = 0; i < each * WORKERS; i++)
		chan_send(in, i);
	return arg;
}

static void
pipeline(void)
{
	int64_t count, sum = 0;
	struct row_time start;

	each = row_scaled(ITEMS);
	count = each * WORKERS;
	steps = row_steps_per_us();
	in = chan_make(BUFFER);
	out = chan_make(BUFFER);
	start = row_now();
	for (int i = 0; i < WORKERS; i++)
		go(worker, NULL);
	go(feeder, NULL);
	for (int64_t i = 0; i < count; i++) {
		int64_t v = 0;

		chan_recv(out, &v);
		sum += v;
	}
	join_all();
	row_check("pipeline", sum, count * (count - 1) / 2);
	row_report_ms("pipeline", "warm", row_since(start));
}

static void *
parked(void *arg)
{
	int64_t v;

	chan_send(out, 0);
	chan_recv(in, &v);
	return arg;
}

/* Kernel stacks are not in the figure. */
static void
mem(void)
{
	int64_t count = row_scaled(PARKED);
	int64_t rss_kb = row_status_kb("VmRSS");
	struct row_time start = row_now();
	struct row_time took;
	char note[64];

	in = chan_make(0);
	out = chan_make(BUFFER);
	for (int64_t i = 0; i < count; i++) {
		int64_t v;

		go(parked, NULL);
		chan_recv(out, &v);
	}
	took = row_since(start);
	rss_kb = row_status_kb("VmRSS") - rss_kb;
	snprintf(note, sizeof(note), "%" PRId64 " threads", count);
	row_note(note);
	row_report("mem", "parked", "B", (double)rss_kb * 1024 / (double)count, took);
	chan_close(in);
	join_all();
}

static void *
sleeper(void *arg)
{
	for (int i = 0; i < SLEEPS; i++) {
		struct timespec left = {.tv_nsec = 1000 * 1000};

		while (nanosleep(&left, &left) != 0)
			continue;
	}
	return arg;
}

static void
block_throughput(void)
{
	int64_t count = row_scaled(SLEEPERS);
	struct row_time start = row_now();

	for (int64_t i = 0; i < count && i < THREADS_MAX; i++)
		go(sleeper, NULL);
	join_all();
	row_report_ms("block_throughput", "cold", row_since(start));
}

static const struct row_entry table[] = {
    {"yield 2", yield2},
    {"yield 1000", yield1000},
    {"spawn_join", spawn_join},
    {"pingpong", pingpong},
    {"chan_stream chan_buf", chan_buf},
    {"chan_stream chan_mpmc", chan_mpmc},
    {"chan_stream chan_unbuf_stream", chan_unbuf_stream},
    {"mutex", mutex},
    {"pipeline", pipeline},
    {"mem", mem},
    {"block_throughput", block_throughput},
    {NULL, NULL},
};

/* As many CPUs as there are processors; the first of those allowed. */
static void
keep_to_cpus(void)
{
	int left = row_procs();
	cpu_set_t allowed, wanted;

	CPU_ZERO(&wanted);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && left-- > 0)
			CPU_SET(cpu, &wanted);
	sched_setaffinity(0, sizeof(wanted), &wanted);
}

int
main(int argc, char **argv)
{
	char version[256], libc[64] = "";

	confstr(_CS_GNU_LIBC_VERSION, libc, sizeof(libc));
	snprintf(version, sizeof(version), "%s, cc %s -O2", libc, __VERSION__);
	keep_to_cpus();
	return row_main(argc, argv, version, table);
}
