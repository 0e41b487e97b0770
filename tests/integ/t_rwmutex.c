/* SPDX-License-Identifier: MIT */
/* t_rwmutex.c: readers together, writers alone; who comes first; scopes; misuse. fence-mode */
#include "integ/lockhelp.h"

static const void *
readers_of(const struct weft_rwmutex *rw)
{
	return rw;
}

static const void *
writers_of(const struct weft_rwmutex *rw)
{
	return wf_second_line(rw);
}

/* ---- exclusion */

struct shared {
	struct weft_rwmutex rw;
	int activity;   /* readers + 10000 * writers inside */
	long a, b, sum; /* under rw, and not atomic; a == b */
};

static void
read_it(struct shared *s, int i)
{
	int n;

	if (i % 3 != 0 || weft_try_rlock(&s->rw) != 1)
		EXPECT_EQ(weft_rlock(&s->rw), 0);
	n = add(&s->activity, 1);
	EXPECT(n >= 1 && n < 10000);
	EXPECT_EQ(s->a, s->b);
	if (i % 16 == 0)
		weft_yield();
	EXPECT_EQ(s->a, s->b);
	add(&s->activity, -1);
	weft_runlock(&s->rw);
}

static void
write_it(struct shared *s, int i)
{
	if (i % 3 != 0 || weft_try_wlock(&s->rw) != 1)
		EXPECT_EQ(weft_wlock(&s->rw), 0);
	EXPECT_EQ(add(&s->activity, 10000), 10000);
	s->a++;
	if (i % 16 == 0)
		weft_yield();
	s->b++;
	s->sum++;
	EXPECT_EQ(add(&s->activity, -10000), 0);
	weft_wunlock(&s->rw);
}

struct hammers {
	struct shared *s;
	int times, writes_every;
};

static int
hammers(struct hammers *h)
{
	for (int i = 0; i < h->times; i++) {
		if (i % h->writes_every == 0)
			write_it(h->s, i / h->writes_every);
		else
			read_it(h->s, i);
	}
	return 0;
}

static void *
hammers_on_thread(void *arg)
{
	hammers(arg);
	return NULL;
}

static int
hammer(void)
{
	static const int every[] = {2, 5, 20, 100};
	struct shared s = {0};
	struct weft_wg wg = {0};
	int times = scaled(1000);
	long writes = 0;

	for (int i = 0; i < 16; i++) {
		EXPECT(weft_wg_go(&wg, hammers, &s, times, every[i % 4]) > 0);
		writes += (times + every[i % 4] - 1) / every[i % 4];
	}
	for (int i = 0; i < 2; i++) {
		struct hammers h = {&s, times, 10};
		pthread_t t = start_thread(hammers_on_thread, &h);

		join_thread(t);
		writes += (times + 9) / 10;
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(s.sum, writes);
	EXPECT_EQ(s.a, s.b);
	EXPECT_EQ(s.rw.word_, 0);
	return 0;
}

/* RW-1 to RW-3 */
TEST(readers_share_and_writers_are_alone)
{
	EXPECT_EQ(weft_run(hammer), 0);
}

/* ---- who comes first */

struct reads {
	struct weft_rwmutex *rw;
	int *inside;
	struct weft_wg *gate; /* it leaves when this is open */
};

static int
reads(struct reads *r)
{
	EXPECT_EQ(weft_rlock(r->rw), 0);
	add(r->inside, 1);
	EXPECT_EQ(weft_wg_wait(r->gate), 0);
	weft_runlock(r->rw);
	return 0;
}

struct writes {
	struct weft_rwmutex *rw;
	int *inside;
	struct weft_wg *gate;
};

static int
writes(struct writes *w)
{
	EXPECT_EQ(weft_wlock(w->rw), 0);
	EXPECT_EQ(wf_rwmutex_writer(load(&w->rw->word_)), weft_id());
	add(w->inside, 1);
	EXPECT_EQ(weft_wg_wait(w->gate), 0);
	weft_wunlock(w->rw);
	return 0;
}

static int
parallel_readers(void)
{
	enum { N = 20 };
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0}, gate = {0};
	int inside = 0;

	weft_wg_add(&gate, 1);
	for (int i = 0; i < N; i++)
		EXPECT(weft_wg_go(&wg, reads, &rw, &inside, &gate) > 0);
	await(&inside, N); /* all at once: none has left */
	EXPECT_EQ(weft_try_wlock(&rw), 0);
	EXPECT_EQ(weft_try_rlock(&rw), 1);
	weft_runlock(&rw);
	weft_wg_done(&gate);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

TEST(readers_are_inside_together)
{
	EXPECT_EQ(weft_run(parallel_readers), 0);
}

/* A reader inside; a writer waits; two more readers wait behind it. */
static int
writer_before_new_readers(void)
{
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0}, r_gate = {0}, w_gate = {0};
	int readers = 0, writers = 0;

	weft_wg_add(&r_gate, 1);
	weft_wg_add(&w_gate, 1);
	EXPECT_EQ(weft_rlock(&rw), 0);
	EXPECT(weft_wg_go(&wg, writes, &rw, &writers, &w_gate) > 0);
	await_line(writers_of(&rw), 1);
	EXPECT_EQ(weft_try_rlock(&rw), 0);
	for (int i = 0; i < 2; i++)
		EXPECT(weft_wg_go(&wg, reads, &rw, &readers, &r_gate) > 0);
	await_line(readers_of(&rw), 2);
	EXPECT_EQ(load(&readers), 0);
	weft_runlock(&rw);
	await(&writers, 1);
	EXPECT_EQ(in_line(readers_of(&rw)), 2);
	EXPECT_EQ(load(&readers), 0);
	weft_wg_done(&w_gate);
	await(&readers, 2);
	weft_wg_done(&r_gate);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

/* RW-2 */
TEST(writer_that_waits_stops_new_readers)
{
	EXPECT_EQ(weft_run(writer_before_new_readers), 0);
}

/* A writer inside; in line: reader, writer, reader. Both readers follow, then the writer. */
static int
readers_before_next_writer(void)
{
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0}, r_gate = {0}, w_gate = {0};
	int readers = 0, writers = 0;

	weft_wg_add(&r_gate, 1);
	EXPECT_EQ(weft_wlock(&rw), 0);
	EXPECT_EQ(wf_rwmutex_writer(rw.word_), weft_id());
	EXPECT_EQ(weft_try_rlock(&rw), 0);
	EXPECT_EQ(weft_try_wlock(&rw), 0);
	EXPECT(weft_wg_go(&wg, reads, &rw, &readers, &r_gate) > 0);
	await_line(readers_of(&rw), 1);
	EXPECT(weft_wg_go(&wg, writes, &rw, &writers, &w_gate) > 0);
	await_line(writers_of(&rw), 1);
	EXPECT(weft_wg_go(&wg, reads, &rw, &readers, &r_gate) > 0);
	await_line(readers_of(&rw), 2);
	weft_wunlock(&rw);
	await(&readers, 2);
	EXPECT_EQ(load(&writers), 0);
	EXPECT_EQ(in_line(writers_of(&rw)), 1);
	EXPECT_EQ(weft_try_rlock(&rw), 0);
	weft_wg_done(&r_gate);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(writers, 1);
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

TEST(readers_that_waited_come_before_the_next_writer)
{
	EXPECT_EQ(weft_run(readers_before_next_writer), 0);
}

struct in_turn {
	struct weft_rwmutex *rw;
	int i, *next;
};

static int
in_turn(struct in_turn *t)
{
	EXPECT_EQ(weft_wlock(t->rw), 0);
	EXPECT_EQ(*t->next, t->i);
	++*t->next;
	weft_wunlock(t->rw);
	return 0;
}

static int
writers_in_order(void)
{
	enum { N = 20 };
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0};
	int next = 0;

	EXPECT_EQ(weft_wlock(&rw), 0);
	for (int i = 0; i < N; i++) {
		EXPECT(weft_wg_go(&wg, in_turn, &rw, i, &next) > 0);
		await_line(writers_of(&rw), (uint32_t)i + 1);
	}
	weft_wunlock(&rw);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(next, N);
	return 0;
}

TEST(writers_come_in_the_order_of_their_calls)
{
	EXPECT_EQ(weft_run(writers_in_order), 0);
}

/* ---- scopes */

struct scoped {
	struct weft_rwmutex *rw;
	bool write;
	int *got, *gave_up;
};

static int
scoped(struct scoped *a)
{
	int rc = a->write ? weft_wlock_scoped(a->rw) : weft_rlock_scoped(a->rw);

	if (rc == 0) {
		add(a->got, 1);
		if (a->write)
			weft_wunlock(a->rw);
		else
			weft_runlock(a->rw);
	} else {
		EXPECT_EQ(rc, -ECANCELED);
		add(a->gave_up, 1);
	}
	return 0;
}

/* A reader inside, a writer in line, a reader behind it: when the writer gives up the reader gets
   in although the first is still there. */
static int
writer_gives_up(void)
{
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0}, gate = {0};
	int got = 0, gave_up = 0, readers = 0;

	weft_wg_add(&gate, 1);
	EXPECT_EQ(weft_rlock(&rw), 0);
	weft_group(g, NULL) {
		EXPECT(weft_go_in(g, scoped, &rw, true, &got, &gave_up) > 0);
		EXPECT(weft_go_in(g, scoped, &rw, true, &got, &gave_up) > 0);
		await_line(writers_of(&rw), 2);
		EXPECT(weft_wg_go(&wg, reads, &rw, &readers, &gate) > 0);
		await_line(readers_of(&rw), 1);
		weft_cancel(g);
		await(&readers, 1);
		EXPECT_EQ(weft_wlock_scoped(&rw), -ECANCELED);
		EXPECT_EQ(weft_try_rlock(&rw), 1);
		weft_runlock(&rw);
		weft_wg_done(&gate);
	}
	EXPECT_EQ(got, 0);
	EXPECT_EQ(gave_up, 2);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_runlock(&rw);
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

/* RW-4 */
TEST(writer_that_gives_up_lets_readers_in)
{
	EXPECT_EQ(weft_run(writer_gives_up), 0);
}

static int
cancel_both(void)
{
	struct weft_rwmutex rw = {0};
	struct weft_wg wg = {0}, gate = {0};
	int got = 0, gave_up = 0, inside = 0;

	EXPECT_EQ(weft_wlock(&rw), 0);
	weft_group(g, NULL) {
		for (int i = 0; i < 4; i++)
			EXPECT(weft_go_in(g, scoped, &rw, i % 2, &got, &gave_up) > 0);
		EXPECT(weft_wg_go(&wg, writes, &rw, &inside, &gate) > 0);
		EXPECT(weft_wg_go(&wg, reads, &rw, &inside, &gate) > 0);
		await_line(readers_of(&rw), 3);
		await_line(writers_of(&rw), 3);
		weft_cancel(g);
		await(&gave_up, 4);
		EXPECT_EQ(weft_rlock_scoped(&rw), -ECANCELED);
		EXPECT_EQ(weft_wlock_scoped(&rw), -ECANCELED);
		EXPECT_EQ(in_line(readers_of(&rw)), 1);
		EXPECT_EQ(in_line(writers_of(&rw)), 1);
		weft_wunlock(&rw);
		EXPECT_EQ(weft_rlock(&rw), 0); /* ignores that it is cancelled */
		weft_runlock(&rw);
		EXPECT_EQ(weft_wlock(&rw), 0);
		weft_wunlock(&rw);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(got, 0);
	EXPECT_EQ(inside, 2);
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

TEST(cancel_ends_scoped_waits_only)
{
	EXPECT_EQ(weft_run(cancel_both), 0);
}

static int
expired(void)
{
	struct weft_rwmutex rw = {0};

	weft_timeout(0) {
		EXPECT_EQ(weft_rlock_scoped(&rw), 0);
		EXPECT_EQ(weft_rlock_scoped(&rw), 0);
		EXPECT_EQ(weft_wlock_scoped(&rw), -ETIMEDOUT);
		weft_runlock(&rw);
		weft_runlock(&rw);
		EXPECT_EQ(weft_wlock_scoped(&rw), 0);
		EXPECT_EQ(weft_rlock_scoped(&rw), -ETIMEDOUT);
		weft_wunlock(&rw);
	}
	EXPECT_EQ(rw.word_, 0);
	return 0;
}

TEST(expired_scope_ends_only_what_must_wait)
{
	EXPECT_EQ(weft_run(expired), 0);
}

struct shielded {
	struct weft_rwmutex *rw;
	bool write;
	int *got;
};

static int
shielded(struct shielded *a)
{
	int gave_up = 0;
	struct scoped s = {a->rw, a->write, a->got, &gave_up};

	weft_shield
	{
		weft_group(g, NULL) {
			scoped(&s);
		}
	}
	EXPECT_EQ(gave_up, 0);
	return 0;
}

/* Cancels, unlocks and new lockers at once: in the end it is free, and nobody sleeps. */
static int
cancel_races(void)
{
	struct weft_wg wg = {0}, gate = {0};

	for (int i = 0; i < scaled(600); i++) {
		struct weft_rwmutex rw = {0};
		int got = 0, gave_up = 0, inside = 0;

		if (i % 2)
			EXPECT_EQ(weft_rlock(&rw), 0);
		else
			EXPECT_EQ(weft_wlock(&rw), 0);
		weft_group(g, NULL) {
			for (int k = 0; k < 4; k++)
				EXPECT(weft_go_in(g, scoped, &rw, (i + k) % 3 == 0, &got,
						  &gave_up) > 0);
			for (int k = 0; k < 2; k++)
				EXPECT(weft_go_in(g, shielded, &rw, k, &got) > 0);
			if (i % 4)
				yield_often(i % 7);
			EXPECT(weft_wg_go(&wg, cancels, g) > 0);
			EXPECT(weft_wg_go(&wg, reads, &rw, &inside, &gate) > 0);
			EXPECT(weft_wg_go(&wg, writes, &rw, &inside, &gate) > 0);
			yield_often(i % 5);
			if (i % 2)
				weft_runlock(&rw);
			else
				weft_wunlock(&rw);
			wait_shielded(&wg);
		}
		EXPECT_EQ(got + gave_up, 6);
		EXPECT_EQ(inside, 2);
		EXPECT_EQ(rw.word_, 0);
	}
	return 0;
}

/* RW-2 to RW-4 */
TEST(cancel_and_unlock_at_once_lose_nothing)
{
	EXPECT_EQ(weft_run(cancel_races), 0);
}

/* ---- misuse */

static struct weft_rwmutex wrong;

static int
runlock_unlocked(void)
{
	weft_runlock(&wrong);
	return 0;
}

static int
runlock_twice(void)
{
	weft_rlock(&wrong);
	weft_runlock(&wrong);
	weft_runlock(&wrong);
	return 0;
}

static int
runlock_of_writer(void)
{
	weft_wlock(&wrong);
	weft_runlock(&wrong);
	return 0;
}

static int
wunlock_unlocked(void)
{
	weft_wunlock(&wrong);
	return 0;
}

static int
wunlock_of_reader(void)
{
	weft_rlock(&wrong);
	weft_wunlock(&wrong);
	return 0;
}

static int
wunlock_twice(void)
{
	weft_wlock(&wrong);
	weft_wunlock(&wrong);
	weft_wunlock(&wrong);
	return 0;
}

TEST(unlock_of_unlocked_is_fatal)
{
	expect_fatal(runlock_unlocked, "fatal: runlock of an unlocked rwmutex");
	expect_fatal(runlock_twice, "fatal: runlock of an unlocked rwmutex");
	expect_fatal(runlock_of_writer, "fatal: runlock of an unlocked rwmutex");
	expect_fatal(wunlock_unlocked, "fatal: unlock of an unlocked rwmutex");
	expect_fatal(wunlock_of_reader, "fatal: unlock of an unlocked rwmutex");
	expect_fatal(wunlock_twice, "fatal: unlock of an unlocked rwmutex");
}

/* ---- the life of the object */

struct counted {
	struct weft_rwmutex rw;
	int refs;
};

/* Who brings the count to zero frees, at once after its unlock. */
static void
drop(void *object)
{
	struct counted *c = object;
	int left;

	EXPECT_EQ(weft_rlock(&c->rw), 0);
	EXPECT(c->refs > 0);
	weft_runlock(&c->rw);
	EXPECT_EQ(weft_wlock(&c->rw), 0);
	left = --c->refs;
	weft_wunlock(&c->rw);
	if (left == 0) {
		memset(c, 0xff, sizeof(*c));
		free(c);
	}
}

static int
freed_after_unlock(void)
{
	for (int i = 0; i < scaled(2000); i++) {
		struct counted *c = calloc(1, sizeof(*c));
		struct droppers others = {.fn = drop, .object = c, .with_thread = i % 20 == 0};

		c->refs = 3 + others.with_thread;
		EXPECT_EQ(weft_rlock(&c->rw), 0);
		start_droppers(&others);
		if (i % 2)
			yield_often(3);
		weft_runlock(&c->rw);
		await_droppers(&others);
	}
	return 0;
}

/* RW-1, RW-3, SYNC-1 */
TEST(rwmutex_may_be_freed_by_its_next_holder)
{
	EXPECT_EQ(weft_run(freed_after_unlock), 0);
}

static void
start_many(void *s, struct weft_wg *wg)
{
	for (int i = 0; i < 20; i++)
		EXPECT(weft_wg_go(wg, hammers, s, 50, 3) > 0);
}

TEST(waiting_allocates_nothing)
{
	static struct shared s;

	expect_no_heap_use(start_many, &s);
}

/* ---- no run, and from run to run */

static struct weft_rwmutex kept;

static int
waits_to_write(void)
{
	EXPECT_EQ(weft_wlock(&kept), 0);
	return 0;
}

static int
leaves_it_read_locked(void)
{
	EXPECT_EQ(weft_rlock(&kept), 0);
	EXPECT(weft_go(waits_to_write) > 0);
	await_line(writers_of(&kept), 1);
	return 0;
}

static int
leaves_it_write_locked(void)
{
	EXPECT_EQ(weft_wlock(&kept), 0);
	EXPECT(weft_go(waits_to_write) > 0);
	await_line(writers_of(&kept), 1);
	return 0;
}

TEST(outside_a_run_it_can_only_be_unlocked)
{
	EXPECT_EQ(weft_rlock(&kept), -ENOTSUP);
	EXPECT_EQ(weft_wlock(&kept), -ENOTSUP);
	EXPECT_EQ(weft_rlock_scoped(&kept), -ENOTSUP);
	EXPECT_EQ(weft_wlock_scoped(&kept), -ENOTSUP);
	EXPECT_EQ(weft_try_rlock(&kept), -ENOTSUP);
	EXPECT_EQ(weft_try_wlock(&kept), -ENOTSUP);
	EXPECT_EQ(weft_run(leaves_it_read_locked), 0);
	weft_runlock(&kept);
	EXPECT_EQ(kept.word_, 0);
	EXPECT_EQ(weft_run(leaves_it_write_locked), 0);
	weft_wunlock(&kept);
	EXPECT_EQ(kept.word_, 0);
	EXPECT_EQ(weft_run(parallel_readers), 0);
}

static int
rlocks_kept(void)
{
	return weft_rlock(&kept);
}

static int
wlocks_kept(void)
{
	return weft_wlock(&kept);
}

static struct thread_call reader = {.fn = rlocks_kept}, writer = {.fn = wlocks_kept};

static int
ends_under_threads(void)
{
	EXPECT_EQ(weft_wlock(&kept), 0);
	start_call(&reader);
	start_call(&writer);
	await_line(readers_of(&kept), 1);
	await_line(writers_of(&kept), 1);
	return 0;
}

TEST(end_of_the_run_ends_the_waits_of_threads)
{
	EXPECT_EQ(weft_run(ends_under_threads), 0);
	EXPECT_EQ(join_call(&reader), -ENOTSUP);
	EXPECT_EQ(join_call(&writer), -ENOTSUP);
	weft_wunlock(&kept);
	EXPECT_EQ(kept.word_, 0);
}
