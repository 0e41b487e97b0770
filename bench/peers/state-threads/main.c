/* SPDX-License-Identifier: MIT */
/*
 * The workloads of bench/weft on State Threads: same parameters, same rows, same output. It has one
 * OS thread, and condition variables, of which the channels here are made; it has no select. Its
 * way to yield is a sleep of no time.
 */
#include "../http.h"
#include "../serve.h"

#include <errno.h>
#include <st.h>
#include <stdbool.h>

enum { STACK_BYTES = 16 * 1024 };

static st_thread_t
go(void *(*fn)(void *), void *arg, bool joinable)
{
	st_thread_t t = st_thread_create(fn, arg, joinable, STACK_BYTES);

	if (t == NULL)
		row_die("st_thread_create failed");
	return t;
}

static void
join(st_thread_t *threads, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (st_thread_join(threads[i], NULL) != 0)
			row_die("st_thread_join failed");
}

static void *
allocate(int64_t count, size_t size)
{
	void *p = calloc((size_t)count, size);

	if (p == NULL)
		row_die("no memory");
	return p;
}

/* ---- channels; without a lock, as only a wait lets another thread run */

struct chan {
	st_cond_t can_send, can_recv, taken;
	int64_t values[BUFFER];
	uint64_t sent, received; /* in all */
	uint64_t room;
	bool unbuffered; /* a sender waits until its value is taken */
	bool closed;
};

static void
chan_init(struct chan *ch, int capacity)
{
	memset(ch, 0, sizeof(*ch));
	ch->can_send = st_cond_new();
	ch->can_recv = st_cond_new();
	ch->taken = st_cond_new();
	ch->unbuffered = capacity == 0;
	ch->room = (uint64_t)(capacity > 0 ? capacity : 1);
}

static void
chan_destroy(struct chan *ch)
{
	st_cond_destroy(ch->can_send);
	st_cond_destroy(ch->can_recv);
	st_cond_destroy(ch->taken);
}

static void
chan_send(struct chan *ch, int64_t v)
{
	while (ch->sent - ch->received >= ch->room)
		st_cond_wait(ch->can_send);
	ch->values[ch->sent++ % ch->room] = v;
	st_cond_signal(ch->can_recv);
	if (ch->unbuffered)
		st_cond_wait(ch->taken); /* one value at a time, so one waiter */
}

static bool
chan_recv(struct chan *ch, int64_t *v)
{
	while (ch->sent == ch->received) {
		if (ch->closed)
			return false;
		st_cond_wait(ch->can_recv);
	}
	*v = ch->values[ch->received++ % ch->room];
	st_cond_signal(ch->can_send);
	if (ch->unbuffered)
		st_cond_signal(ch->taken);
	return true;
}

static void
chan_close(struct chan *ch)
{
	ch->closed = true;
	st_cond_broadcast(ch->can_recv);
}

/* ---- threads alone */

static int64_t each; /* operations of each thread of the running row */

static void *
yielder(void *arg)
{
	for (int64_t i = 0; i < each; i++)
		st_usleep(0);
	return arg;
}

static void
yields(const char *row, int count)
{
	st_thread_t *threads = allocate(count, sizeof(*threads));
	struct row_time start = row_now();

	each = row_scaled(YIELDS) / count;
	for (int i = 0; i < count; i++)
		threads[i] = go(yielder, NULL, true);
	join(threads, count);
	row_report_ns(row, "warm", each * count, row_since(start));
	free(threads);
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

static st_thread_t *spawned; /* has room for all */

static void
spawn_and_wait(int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		spawned[i] = go(trivial, NULL, true);
	join(spawned, count);
}

static void
spawn_join(void)
{
	spawned = allocate(BATCH, sizeof(*spawned));
	row_spawn_join(spawn_and_wait);
	free(spawned);
}

static void
spawn_storm(void)
{
	spawned = allocate(row_scaled(TASKS), sizeof(*spawned));
	row_spawn_storm(spawn_and_wait);
	free(spawned);
}

struct fib {
	int n;
	int64_t result;
};

static void *
fib(void *arg)
{
	struct fib *f = arg;
	struct fib child = {.n = f->n - 1}, other = {.n = f->n - 2};
	st_thread_t t;

	if (f->n < 2) {
		f->result = f->n;
		return NULL;
	}
	t = go(fib, &child, true);
	fib(&other);
	join(&t, 1);
	f->result = child.result + other.result;
	return NULL;
}

static void
bench_fib(void)
{
	struct fib f = {.n = row_fib_n()};
	int64_t spawns;
	int64_t expected = row_fib_expected(f.n, &spawns);
	struct row_time start;

	fib(&f);
	start = row_now();
	for (int i = 0; i < FIB_REPEAT; i++) {
		fib(&f);
		row_check("fib", f.result, expected);
	}
	row_report_ns("fib", "warm", spawns * FIB_REPEAT, row_since(start));
}

struct node {
	int64_t number; /* of the leftmost leaf below */
	int64_t leaves;
	int64_t sum;         /* for the one above, */
	struct chan *result; /* or sent to it */
};

static void *
join_node(void *arg)
{
	struct node *n = arg;
	struct node children[FANOUT];
	st_thread_t threads[FANOUT];

	if (n->leaves == 1) {
		n->sum = n->number;
		return NULL;
	}
	for (int i = 0; i < FANOUT; i++) {
		children[i].leaves = n->leaves / FANOUT;
		children[i].number = n->number + i * children[i].leaves;
		threads[i] = go(join_node, &children[i], true);
	}
	join(threads, FANOUT);
	n->sum = 0;
	for (int i = 0; i < FANOUT; i++)
		n->sum += children[i].sum;
	return NULL;
}

static void *
chan_node(void *arg)
{
	struct node *n = arg;
	struct node children[FANOUT];
	struct chan results;
	int64_t sum = 0;

	if (n->leaves == 1) {
		chan_send(n->result, n->number);
		return NULL;
	}
	chan_init(&results, 0);
	for (int i = 0; i < FANOUT; i++) {
		children[i].leaves = n->leaves / FANOUT;
		children[i].number = n->number + i * children[i].leaves;
		children[i].result = &results;
		go(chan_node, &children[i], false);
	}
	for (int i = 0; i < FANOUT; i++) {
		int64_t part = 0;

		chan_recv(&results, &part);
		sum += part;
	}
	chan_destroy(&results);
	chan_send(n->result, sum);
	return NULL;
}

static struct row_time
skynet_join_once(int64_t leaves)
{
	struct node root = {.leaves = leaves};
	struct row_time start = row_now();
	struct row_time took;
	st_thread_t t = go(join_node, &root, true);

	join(&t, 1);
	took = row_since(start);
	row_check("skynet_join", root.sum, leaves * (leaves - 1) / 2);
	return took;
}

static struct row_time
skynet_once(int64_t leaves)
{
	struct row_time start = row_now();
	struct row_time took;
	struct chan result;
	struct node root = {.leaves = leaves, .result = &result};
	int64_t sum = -1;

	chan_init(&result, 0);
	go(chan_node, &root, false);
	chan_recv(&result, &sum);
	took = row_since(start);
	row_check("skynet", sum, leaves * (leaves - 1) / 2);
	return took;
}

static void
skynet_join(void)
{
	struct row_time cold = skynet_join_once(row_leaves());
	struct row_time warm = skynet_join_once(row_leaves());

	row_report_ms("skynet_join_cold", "cold", cold);
	row_report_ms("skynet_join", "warm", warm);
}

static void
skynet(void)
{
	struct row_time cold = skynet_once(row_leaves());
	struct row_time warm = skynet_once(row_leaves());

	row_report_ms("skynet_cold", "cold", cold);
	row_report_ms("skynet", "warm", warm);
}

/* ---- threads that wait for each other */

static struct chan in, out; /* of the running row */

static void *
echo(void *arg)
{
	int64_t v;

	while (chan_recv(&in, &v))
		chan_send(&out, v);
	return arg;
}

static void
pingpong(void)
{
	int64_t count = row_scaled(ROUND_TRIPS);
	struct row_time start;

	chan_init(&in, 0);
	chan_init(&out, 0);
	go(echo, NULL, false);
	start = row_now();
	for (int64_t i = 0; i < count; i++) {
		int64_t v = -1;

		chan_send(&in, i);
		chan_recv(&out, &v);
		row_check("pingpong", v, i);
	}
	row_report_ns("pingpong", "warm", count, row_since(start));
}

static void *
producer(void *arg)
{
	for (int64_t i = 0; i < each; i++)
		chan_send(&in, i);
	return arg;
}

static void *
consumer(void *arg)
{
	int64_t v;

	while (chan_recv(&in, &v))
		*(int64_t *)arg += v;
	return NULL;
}

static void
stream(const char *row, int pairs, int capacity, int64_t values)
{
	st_thread_t producers[MPMC_PAIRS], consumers[MPMC_PAIRS];
	struct row_time start = row_now();
	int64_t sum = 0;

	each = row_scaled(values) / pairs;
	chan_init(&in, capacity);
	for (int i = 0; i < pairs; i++) {
		consumers[i] = go(consumer, &sum, true);
		producers[i] = go(producer, NULL, true);
	}
	join(producers, pairs);
	chan_close(&in);
	join(consumers, pairs);
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

static bool stopped;

static void *
generator(void *arg)
{
	struct chan *to = arg;

	for (int64_t n = 2; !stopped; n++)
		chan_send(to, n);
	chan_close(to);
	return NULL;
}

struct filter {
	struct chan *from;
	struct chan to;
	int64_t prime;
};

static void *
filter(void *arg)
{
	struct filter *f = arg;
	int64_t n;

	while (chan_recv(f->from, &n))
		if (n % f->prime != 0)
			chan_send(&f->to, n);
	chan_close(&f->to);
	return NULL;
}

static struct row_time
sieve_once(int count, int64_t *prime)
{
	struct filter *filters = allocate(count, sizeof(*filters));
	st_thread_t *threads = allocate(count, sizeof(*threads));
	struct row_time start = row_now();
	struct row_time took;
	struct chan *last = &in;
	int64_t rest;

	stopped = false;
	chan_init(&in, 0);
	threads[0] = go(generator, &in, true);
	chan_recv(last, prime);
	for (int i = 1; i < count; i++) {
		struct filter *f = &filters[i];

		f->from = last;
		f->prime = *prime;
		chan_init(&f->to, 0);
		threads[i] = go(filter, f, true);
		last = &f->to;
		chan_recv(last, prime);
	}
	took = row_since(start);
	stopped = true;
	while (chan_recv(last, &rest))
		continue;
	join(threads, count);
	free(threads);
	free(filters);
	return took;
}

static void
sieve(void)
{
	int count = row_primes();
	int64_t prime = 0;
	struct row_time took;

	sieve_once(count, &prime);
	took = sieve_once(count, &prime);
	row_check("sieve", prime, row_nth_prime(count));
	row_report_ms("sieve", "warm", took);
}

static struct {
	st_mutex_t lock;
	int64_t n;
} shared;

static void *
locker(void *arg)
{
	for (int64_t i = 0; i < each; i++) {
		st_mutex_lock(shared.lock);
		shared.n++;
		st_mutex_unlock(shared.lock);
	}
	return arg;
}

static void
mutex(void)
{
	st_thread_t threads[LOCKERS];
	struct row_time start = row_now();

	each = row_scaled(LOCKS) * LOCK_REPEAT;
	shared.lock = st_mutex_new();
	for (int i = 0; i < LOCKERS; i++)
		threads[i] = go(locker, NULL, true);
	join(threads, LOCKERS);
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

		chan_recv(&in, &v);
		x = row_work(x, steps);
		chan_send(&out, v);
	}
	return arg;
}

static void *
feeder(void *arg)
{
	for (int64_t i = 0; i < each * WORKERS; i++)
		chan_send(&in, i);
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
	chan_init(&in, BUFFER);
	chan_init(&out, BUFFER);
	start = row_now();
	for (int i = 0; i < WORKERS; i++)
		go(worker, NULL, false);
	go(feeder, NULL, false);
	for (int64_t i = 0; i < count; i++) {
		int64_t v = 0;

		chan_recv(&out, &v);
		sum += v;
	}
	row_check("pipeline", sum, count * (count - 1) / 2);
	row_report_ms("pipeline", "warm", row_since(start));
}

static int64_t waiting;

static void *
parked(void *arg)
{
	int64_t v;

	waiting++;
	chan_recv(&in, &v);
	return arg;
}

static void
mem(void)
{
	int64_t count = row_scaled(TASKS);
	int64_t rss_kb = row_status_kb("VmRSS");
	int64_t pte_kb = row_status_kb("VmPTE");
	struct row_time start = row_now();
	struct row_time took;

	chan_init(&in, 0);
	for (int64_t i = 0; i < count; i++)
		go(parked, NULL, false);
	while (waiting < count)
		st_usleep(0);
	took = row_since(start);
	rss_kb = row_status_kb("VmRSS") - rss_kb;
	pte_kb = row_status_kb("VmPTE") - pte_kb;
	row_report("mem", "parked", "B", (double)rss_kb * 1024 / (double)count, took);
	row_report("mem_pte", "parked", "kB", (double)pte_kb, took);
}

/* ---- a server */

static void *
serve_one(void *arg)
{
	st_netfd_t conn = arg;
	char buf[SERVE_BUFFER];
	ssize_t n;

	while ((n = st_read(conn, buf, sizeof(buf), ST_UTIME_NO_TIMEOUT)) > 0)
		if (st_write(conn, buf, (size_t)n, ST_UTIME_NO_TIMEOUT) != n)
			break;
	st_netfd_close(conn);
	return NULL;
}

static void *
serve_one_http(void *arg)
{
	st_netfd_t conn = arg;
	struct http *h = calloc(1, sizeof(*h)); /* larger than the stack */
	ssize_t n;

	if (h == NULL)
		row_die("no memory");
	while (!h->last && (n = st_read(conn, h->in + h->have, sizeof(h->in) - h->have,
					ST_UTIME_NO_TIMEOUT)) > 0) {
		n = http_serve(h, (size_t)n);
		if (n < 0 || (n > 0 && st_write(conn, h->out, (size_t)n, ST_UTIME_NO_TIMEOUT) != n))
			break;
	}
	st_netfd_close(conn);
	free(h);
	return NULL;
}

static void
serve(void *(*one)(void *))
{
	st_netfd_t listener = st_netfd_open_socket(serve_listen(0));

	for (;;) {
		st_netfd_t conn = st_accept(listener, NULL, NULL, ST_UTIME_NO_TIMEOUT);

		serve_must("st_accept", conn == NULL ? -1 : 0);
		serve_no_delay(st_netfd_fileno(conn));
		go(one, conn, false);
	}
}

static void
serve_echo(void)
{
	serve(serve_one);
}

static void
serve_http(void)
{
	serve(serve_one_http);
}

static const struct row_entry table[] = {
    {"yield 2", yield2},
    {"yield 1000", yield1000},
    {"spawn_join", spawn_join},
    {"spawn_storm", spawn_storm},
    {"fib", bench_fib},
    {"skynet_join", skynet_join},
    {"skynet", skynet},
    {"pingpong", pingpong},
    {"chan_stream chan_buf", chan_buf},
    {"chan_stream chan_mpmc", chan_mpmc},
    {"chan_stream chan_unbuf_stream", chan_unbuf_stream},
    {"sieve", sieve},
    {"mutex", mutex},
    {"pipeline", pipeline},
    {"mem", mem},
    {"echo 0", serve_echo},
    {"http", serve_http},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
	st_set_eventsys(ST_EVENTSYS_ALT);
	if (st_init() != 0)
		row_die(strerror(errno));
	return row_main(argc, argv, "State Threads 1.9, cc " __VERSION__ " -O2", table);
}
