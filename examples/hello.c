/* hello.c: a hundred thousand goroutines, and the proof that they ran on all cores. */
#include <stdio.h>
#include <time.h>
#include <weft.h>

struct greet {
	long n;
	long *sum;
};

static int
greet(struct greet *a)
{
	weft_yield(); /* let the others go first, once */
	__atomic_fetch_add(a->sum, a->n, __ATOMIC_RELAXED);
	return 0;
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

struct app {
	long goroutines;
};

static int
app(struct app *a)
{
	struct weft_stats s = {.size = sizeof(s)};
	struct weft_wg wg = {0};
	long sum = 0;
	double start = now_ms(), started;

	for (long i = 1; i <= a->goroutines; i++)
		weft_wg_go(&wg, greet, .n = i, .sum = &sum);
	started = now_ms();
	weft_wg_wait(&wg);
	weft_stats(&s);
	printf(
	    "%ld goroutines on %d procs and %d threads: started in %.1f ms, joined after %.1f ms\n",
	    a->goroutines, s.procs, s.threads, started - start, now_ms() - start);
	printf("switches %llu   steals %llu (%llu goroutines)   wake-ups %llu   sum %ld\n",
	       (unsigned long long)s.total.switches, (unsigned long long)s.total.steals,
	       (unsigned long long)s.total.stolen, (unsigned long long)s.total.wakes, sum);
	printf("next: %s\n", s.procs > 1 ? "./weft run --procs 1 examples/hello.c"
					 : "WEFT_DEBUG=stacks=1 ./weft run examples/hello.c");
	return sum == a->goroutines * (a->goroutines + 1) / 2 ? 0 : 1;
}

int
main(void)
{
	return weft_run(app, .goroutines = 100000);
}
