/*
 * sieve.c: prime numbers from a chain of goroutines, one for each prime.
 *
 * The first goroutine counts 2, 3, 4 ... Each filter keeps one prime and passes on what that prime
 * does not divide, so whatever comes out of the chain is the next prime, and gets a filter of its
 * own. No goroutine knows about more than its two neighbours.
 */
#include <stdio.h>
#include <weft.h>

enum {
	BELOW = 8000,
	BUFFER = 16, /* numbers that may lie between two filters; 0 works too, with more switches */
};

struct count {
	weft_chan(int) out;
};

static int
count(struct count *a)
{
	for (int n = 2; n < BELOW; n++)
		weft_send(a->out, n);
	return weft_close(a->out); /* the end travels down the chain as the numbers did */
}

struct filter {
	int prime;
	weft_chan(int) in, out;
};

static int
filter(struct filter *a)
{
	int n;

	while (weft_recv(a->in, &n) > 0)
		if (n % a->prime != 0)
			weft_send(a->out, n);
	weft_free(a->in); /* closed and drained: its sender is done with it */
	return weft_close(a->out);
}

static int
sieve(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	weft_chan(int) end = weft_make(int, BUFFER);
	int prime, last = 0, primes = 0;

	weft_go(count, .out = end);
	while (weft_recv(end, &prime) > 0) {
		weft_chan(int) next = weft_make(int, BUFFER);

		weft_go(filter, .prime = prime, .in = end, .out = next);
		end = next;
		last = prime;
		if (++primes <= 20)
			printf("%d ", prime);
	}
	weft_free(end);
	weft_stats(&s);
	printf("... %d\n%d primes below %d, each with a goroutine; %llu switches on %d procs\n",
	       last, primes, BELOW, (unsigned long long)s.total.switches, s.procs);
	return primes == 1007 && last == 7993 ? 0 : 1;
}

int
main(void)
{
	return weft_run(sieve);
}
