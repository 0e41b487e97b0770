/*
 * pool.c: a pool of workers, who take jobs from one channel and put results into another.
 *
 * Which number below a million takes the most steps to come down to 1, if an even n goes to n / 2
 * and an odd n to 3 n + 1? Each job is a range of numbers. Jobs differ in length, so nobody plans
 * who does what: a worker that is free takes the next one.
 */
#include <stdio.h>
#include <weft.h>

enum {
	NUMBERS = 1000000,
	JOBS = 200,
	RANGE = NUMBERS / JOBS,
	WORKERS = 8,
};

struct result {
	int worker, number, steps;
};

static int
steps_from(long n)
{
	int steps = 0;

	for (; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

struct worker {
	int id;
	weft_chan(int) jobs;
	weft_chan(struct result) results;
};

static int
worker(struct worker *a)
{
	int job;

	/* Ends when the channel is closed and empty: nobody has to count the workers. */
	while (weft_recv(a->jobs, &job) > 0) {
		struct result best = {.worker = a->id};

		for (int n = job * RANGE + 1; n <= (job + 1) * RANGE; n++) {
			int steps = steps_from(n);

			if (steps > best.steps)
				best = (struct result){a->id, n, steps};
			weft_checkpoint(); /* a long computation gives way when others wait */
		}
		weft_send(a->results, best);
	}
	return 0;
}

struct feeder {
	weft_chan(int) jobs;
};

static int
feeder(struct feeder *a)
{
	for (int job = 0; job < JOBS; job++)
		weft_send(a->jobs, job); /* waits while every worker is busy */
	return weft_close(a->jobs);
}

static int
pool(void)
{
	weft_chan(int) jobs = weft_make(int, 0);
	weft_chan(struct result) results = weft_make(struct result, WORKERS);
	struct result best = {0}, r;
	int done[WORKERS] = {0};

	weft_group(g, NULL) { /* its end waits for the feeder and every worker */
		weft_go_in(g, feeder, .jobs = jobs);
		for (int i = 0; i < WORKERS; i++)
			weft_go_in(g, worker, .id = i, .jobs = jobs, .results = results);
		for (int i = 0; i < JOBS && weft_recv(results, &r) > 0; i++) {
			done[r.worker]++;
			if (r.steps > best.steps)
				best = r;
		}
	}
	weft_free(jobs);
	weft_free(results);
	printf("%d jobs; done by each worker:", JOBS);
	for (int i = 0; i < WORKERS; i++)
		printf(" %d", done[i]);
	printf("\nbelow %d the longest way is that of %d: %d steps, found by worker %d\n", NUMBERS,
	       best.number, best.steps, best.worker);
	return best.number == 837799 && best.steps == 524 ? 0 : 1;
}

int
main(void)
{
	return weft_run(pool);
}
