/* SPDX-License-Identifier: MIT */
/*
 * sieve.c: row sieve. Concurrent prime sieve to the 2000th prime: one goroutine sends 2, 3, 4 ...
 * and each prime found adds a goroutine to the chain that passes on what it does not divide, over
 * unbuffered channels. The row is the time until the last prime has come out. What is still under
 * way by then is drained afterwards, so that no goroutine is left behind.
 */
#include "bench.h"

enum { PRIMES = 2000 };

static int stopped; /* tells generator to end */

struct generator {
	weft_chan(int64_t) out;
};

static int
generator(struct generator *arg)
{
	weft_chan(int64_t) out = arg->out;

	for (int64_t n = 2; !__atomic_load_n(&stopped, __ATOMIC_RELAXED); n++)
		bench_must("weft_send", weft_send(out, n));
	weft_close(out);
	return 0;
}

struct filter {
	weft_chan(int64_t) in; /* freed here, as nobody else receives from it */
	weft_chan(int64_t) out;
	int64_t prime;
};

static int
filter(struct filter *arg)
{
	weft_chan(int64_t) in = arg->in;
	weft_chan(int64_t) out = arg->out;
	int64_t prime = arg->prime;
	int64_t n;

	while (bench_must("weft_recv", weft_recv(in, &n)) > 0)
		if (n % prime != 0)
			bench_must("weft_send", weft_send(out, n));
	weft_free(in);
	weft_close(out);
	return 0;
}

static struct bench_time
sieve(int count, int64_t *prime)
{
	struct bench_time start = bench_now();
	struct bench_time took;
	struct weft_wg wg = {0};
	weft_chan(int64_t) last = bench_make(int64_t, 0);

	__atomic_store_n(&stopped, 0, __ATOMIC_RELAXED);
	bench_must("weft_wg_go", weft_wg_go(&wg, generator, last));
	bench_must("weft_recv", weft_recv(last, prime));
	for (int i = 1; i < count; i++) {
		weft_chan(int64_t) next = bench_make(int64_t, 0);

		bench_must("weft_wg_go", weft_wg_go(&wg, filter, last, next, *prime));
		last = next;
		bench_must("weft_recv", weft_recv(last, prime));
	}
	took = bench_since(start);
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	while (bench_must("weft_recv", weft_recv(last, NULL)) > 0)
		continue;
	bench_must("weft_wg_wait", weft_wg_wait(&wg));
	weft_free(last);
	return took;
}

/* The count-th prime by trial division, to check the sieve with. */
static int64_t
nth_prime(int count)
{
	int64_t n = 1;

	while (count > 0) {
		int64_t d = 2;

		n++;
		while (d * d <= n && n % d != 0)
			d++;
		if (d * d > n)
			count--;
	}
	return n;
}

/* The root of the scale is taken, as the work grows with the square of the primes. */
static int
primes_scaled(void)
{
	int64_t scale = bench_scale();
	int64_t count = 1;

	while (100 * (count + 1) * (count + 1) <= scale * PRIMES * PRIMES)
		count++;
	return (int)count;
}

static int
measure(void)
{
	int count = primes_scaled();
	int64_t prime;
	struct bench_time took;

	sieve(count, &prime);
	took = sieve(count, &prime);
	bench_check("sieve", prime, nth_prime(count));
	bench_report("sieve", "warm", "ms", (double)took.wall_ns / 1e6, took);
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(measure));
	return 0;
}
