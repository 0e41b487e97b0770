/*
 * deadlock.c: two goroutines that wait for each other, and how weft tells you.
 * expect: status 2
 *
 * The writer sends while it holds the mutex. The reader takes the mutex before it receives. Once
 * the writer is first, neither can ever go on, and main waits for both. Nobody is left to run, so
 * the runtime says "all goroutines are asleep", shows what each one waits for and where it was
 * started, then the circle in which they wait, and ends the process with status 2.
 *
 * The cure: send after weft_unlock. Hold a lock only as long as you touch what it guards.
 */
#include <stdio.h>
#include <weft.h>

struct shared {
	struct weft_mutex mutex;
	int value; /* guarded by mutex */
	weft_chan(int) changes;
	struct weft_wg writer_first;
};

struct writer {
	struct shared *s;
};

static int
writer(struct writer *a)
{
	weft_lock(&a->s->mutex);
	weft_wg_done(&a->s->writer_first); /* makes the accident certain, not just possible */
	a->s->value++;
	weft_send(a->s->changes, a->s->value); /* waits here, with the mutex held */
	weft_unlock(&a->s->mutex);
	return 0;
}

struct reader {
	struct shared *s;
};

static int
reader(struct reader *a)
{
	int v;

	weft_wg_wait(&a->s->writer_first);
	weft_lock(&a->s->mutex); /* waits here, so it never comes to receive */
	weft_recv(a->s->changes, &v);
	weft_unlock(&a->s->mutex);
	return 0;
}

static int
accident(void)
{
	struct shared s = {.changes = weft_make(int, 0)};

	printf("a deadlock is on its way; the report below is the point of this program\n");
	fflush(stdout);
	weft_wg_add(&s.writer_first, 1);
	weft_group(g, NULL) {
		weft_go_in(g, reader, &s);
		weft_go_in(g, writer, &s);
	}
	return 0; /* never */
}

int
main(void)
{
	return weft_run(accident);
}
