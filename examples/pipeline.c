/*
 * pipeline.c: three stages joined by bounded channels, and a last stage that is slow.
 *
 * The source could make all items at once. It cannot run away, because a full channel makes its
 * sender wait, and that wait spreads backwards from stage to stage. The buffer sizes alone decide
 * how far it gets ahead, and so how much memory the pipeline needs.
 */
#include <stdio.h>
#include <weft.h>

enum { ITEMS = 2000 };

struct line { /* what the stages share; each count has one writer */
	weft_chan(int) raw;
	weft_chan(long) squared;
	int finished; /* items that the sink is done with */
	int held;     /* times the source found the channel full and waited */
	int ahead;    /* most items that were made and not finished */
};

struct source {
	struct line *line;
};

static int
source(struct source *a)
{
	struct line *l = a->line;

	for (int i = 0; i < ITEMS; i++) {
		int ahead = i + 1 - __atomic_load_n(&l->finished, __ATOMIC_RELAXED);

		if (ahead > l->ahead)
			l->ahead = ahead;
		if (weft_try_send(l->raw, i) < 0) { /* -EAGAIN: only to count it */
			l->held++;
			weft_send(l->raw, i);
		}
	}
	return weft_close(l->raw);
}

struct square {
	struct line *line;
};

static int
square(struct square *a)
{
	int i;

	while (weft_recv(a->line->raw, &i) > 0)
		weft_send(a->line->squared, (long)i * i);
	return weft_close(a->line->squared);
}

struct sink {
	struct line *line;
	long *sum;
};

static int
sink(struct sink *a)
{
	long v;

	while (weft_recv(a->line->squared, &v) > 0) {
		for (volatile int work = 0; work < 20000; work++)
			;
		*a->sum += v;
		__atomic_fetch_add(&a->line->finished, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Runs the line with buffers of this size; 0 if every item came through and the bound held. */
static int
run_line(int buffer)
{
	struct line l = {.raw = weft_make(int, buffer), .squared = weft_make(long, buffer)};
	int bound = 2 * buffer + 3; /* both buffers, and one item in the hands of each stage */
	long sum = 0;

	weft_group(g, NULL) {
		weft_go_in(g, source, &l);
		weft_go_in(g, square, &l);
		weft_go_in(g, sink, &l, &sum);
	}
	weft_free(l.raw);
	weft_free(l.squared);
	printf("%6d   %5d times   %5d items   (at most %d)\n", buffer, l.held, l.ahead, bound);
	return sum == (long)(ITEMS - 1) * ITEMS * (2 * ITEMS - 1) / 6 && l.ahead <= bound ? 0 : 1;
}

static int
pipeline(void)
{
	int rc = 0;

	printf("%d items through three stages, the last one slow\n", ITEMS);
	printf("buffer   source held    source ahead\n");
	for (int buffer = 0; buffer <= 256; buffer = buffer ? buffer * 4 : 4)
		rc |= run_line(buffer);
	return rc;
}

int
main(void)
{
	return weft_run(pipeline);
}
