/* SPDX-License-Identifier: MIT */
/* pool.c: workers take jobs in any order; the sorted results are always the same. */
#include "common.h"

struct result {
	int job, value;
};

static int
work(int job)
{
	for (int i = job % 50; i > 0; i--)
		job = (job * 75 + 74) % 65537;
	return job;
}

struct request {
	int job;
	weft_chan(struct result) reply;
};

struct worker {
	int w;
	weft_chan(struct request) in;
};

static int
worker(struct worker *a)
{
	struct request q;

	while (weft_recv(a->in, &q) > 0) {
		if (q.job % 7 == a->w)
			weft_yield();
		weft_send(q.reply, {q.job, work(q.job)});
	}
	return 0;
}

struct feeder {
	weft_chan(struct request) in;
	weft_chan(struct result) out;
	int jobs;
	struct weft_wg *working;
};

/* The results channel is closed by the one who knows that all workers have gone. */
static int
feeder(struct feeder *a)
{
	for (int i = 0; i < a->jobs; i++)
		weft_send(a->in, {i, a->out});
	weft_close(a->in);
	weft_wg_wait(a->working);
	return weft_close(a->out);
}

struct client {
	weft_chan(struct request) in;
	int job;
	struct result *result;
};

/* Each request carries the channel for its answer. */
static int
client(struct client *a)
{
	weft_chan(struct result) reply = weft_make(struct result, 1);

	weft_send(a->in, {.job = a->job, .reply = reply});
	weft_recv(reply, a->result);
	weft_free(reply);
	return 0;
}

static int
compare(const void *x, const void *y)
{
	const struct result *a = x, *b = y;

	return a->value != b->value ? a->value - b->value : a->job - b->job;
}

static void
report(const char *what, struct result *results, int n)
{
	long long sum = 0;

	qsort(results, (size_t)n, sizeof(*results), compare);
	for (int i = 0; i < n; i++)
		sum = (sum * 31 + (long long)results[i].value * (i + 1) + results[i].job) % 1000003;
	printf("%s %d %lld %d %d\n", what, n, sum, results[0].job, results[0].value);
}

static int
conform(uint64_t *r)
{
	static struct result results[600];
	int workers = 1 + below(r, 8), jobs = 50 + below(r, 500), capacity = below(r, 10), n = 0;
	weft_chan(struct request) in = weft_make(struct request, capacity);
	weft_chan(struct result) out = weft_make(struct result, capacity);
	struct weft_wg working = {0}, asking = {0};

	for (int w = 0; w < workers; w++)
		weft_wg_go(&working, worker, w, in);
	weft_go(feeder, in, out, jobs, &working);
	while (weft_recv(out, &results[n]) > 0)
		n++;
	report("by close", results, n);

	in = weft_make(struct request, 0);
	for (int w = 0; w < workers; w++)
		weft_go(worker, w, in);
	for (int i = 0; i < jobs; i++)
		weft_wg_go(&asking, client, in, i, &results[i]);
	weft_wg_wait(&asking);
	weft_close(in);
	report("by reply", results, jobs);
	return 0;
}
