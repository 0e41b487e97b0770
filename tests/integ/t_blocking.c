/* SPDX-License-Identifier: MIT */
/* t_blocking.c: blocking sections: the P goes before the thread blocks, and comes back. fence-mode */
#include "helpers.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft.h>

static uint64_t
handoffs(void)
{
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_stats(&s), 0);
	return s.total.handoffs;
}

static int pipes[2];

static void
make_pipe(void)
{
	EXPECT_EQ(pipe(pipes), 0);
}

/* Raw calls: they block the thread. */
static void
wait_for_byte(void)
{
	char c;

	EXPECT_EQ(read(pipes[0], &c, 1), 1);
}

static int
write_byte(void)
{
	EXPECT_EQ(write(pipes[1], "x", 1), 1);
	return 0;
}

static void
close_pipe(void)
{
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- work that waits gets the P before the thread blocks */

static int
passes_on(void)
{
	uint64_t before = handoffs();

	make_pipe();
	EXPECT(weft_go(write_byte) > 0);
	weft_blocking wait_for_byte();
#ifndef WF_TORTURE /* it lets the other one run first, now and then */
	EXPECT(weft_procs() > 1 || handoffs() > before);
#endif
	close_pipe();
	return 0;
}

TEST(queued_work_gets_the_processor_first)
{
	EXPECT_EQ(weft_run(passes_on), 0);
}

/* ---- nothing waits: the P is on offer, and a plain thread's goroutine takes it */

static pthread_t thread;
static int in_section;

static void *
starts_writer(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&in_section, __ATOMIC_ACQUIRE))
		;
	EXPECT(weft_go(write_byte) > 0);
	return NULL;
}

static int
offers(void)
{
	make_pipe();
	pthread_create(&thread, NULL, starts_writer, NULL);
	weft_blocking
	{
		__atomic_store_n(&in_section, 1, __ATOMIC_RELEASE);
		wait_for_byte();
	}
	pthread_join(thread, NULL);
	close_pipe();
	return 0;
}

TEST(processor_on_offer_is_taken_by_a_plain_thread)
{
	EXPECT_EQ(weft_run(offers), 0);
}

/* ---- a section costs no system call and leaves the P where it is, if nobody wants it */

static int
alone(void)
{
	struct weft_stats from = {.size = sizeof(from)}, to = from;

	weft_stats(&from);
	for (int i = 0; i < 10000; i++)
		weft_blocking __asm__ volatile("");
	weft_stats(&to);
	EXPECT(to.total.handoffs - from.total.handoffs < 100);
	EXPECT_EQ(to.total.wakes, from.total.wakes);
	EXPECT_EQ(to.total.retakes, from.total.retakes);
	return 0;
}

TEST(nobody_is_woken_for_nothing)
{
#ifdef WF_TORTURE
	SKIP("the torture build passes the processor on at random");
#endif
	EXPECT_EQ(weft_run(alone), 0);
}

/* ---- library calls inside, sections inside sections */

struct echo {
	weft_chan(int) in, out;
};
static int
echo(struct echo *e)
{
	int v;

	while (weft_recv(e->in, &v) > 0)
		weft_send(e->out, v + 1);
	return 0;
}

static int
calls_inside(void)
{
	weft_chan(int) in = weft_make(int, 0), out = weft_make(int, 0);
	struct weft_wg wg = {0};
	int v = 0;

	EXPECT(weft_wg_go(&wg, echo, in, out) > 0);
	weft_blocking
	{
		for (int i = 0; i < 200; i++) {
			EXPECT_EQ(weft_send(in, i), 0);
			weft_blocking usleep(1);
			EXPECT_EQ(weft_recv(out, &v), 1);
			EXPECT_EQ(v, i + 1);
			weft_yield();
		}
		weft_close(in);
	}
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	weft_free(in);
	weft_free(out);
	return 0;
}

TEST(calls_inside_a_section)
{
	EXPECT_EQ(weft_run(calls_inside), 0);
}

/* ---- every way out of the block ends the section */

static int
returns_inside(int v)
{
	weft_blocking return v;
}

static int
ways_out(void)
{
	int n = 0;

	for (int i = 0; i < 3; i++) {
		weft_blocking
		{
			if (i == 0)
				break;
			if (i == 1)
				continue;
			n++;
		}
		n += 10; /* break and continue end the section only */
	}
	EXPECT_EQ(n, 31);
	EXPECT_EQ(returns_inside(7), 7);
	weft_blocking goto out;
	n = -1;
out:
	EXPECT_EQ(n, 31);
	return 0;
}

TEST(ways_out_of_a_section)
{
	EXPECT_EQ(weft_run(ways_out), 0);
}

/* ---- weft_exit inside: the next goroutine on this record and thread is in no section */

static int
exits_inside(void)
{
	weft_blocking weft_exit(0);
	return -1;
}

static int
many_exits(void)
{
	struct weft_wg wg = {0};

	for (int i = 0; i < 100; i++) {
		EXPECT(weft_wg_go(&wg, exits_inside) > 0);
		EXPECT_EQ(weft_wg_wait(&wg), 0);
	}
	uint64_t before = handoffs();

	for (int i = 0; i < 100; i++)
		weft_yield();
	EXPECT_EQ(handoffs(), before);
	return 0;
}

TEST(exit_inside_a_section)
{
	EXPECT_EQ(weft_run(many_exits), 0);
}

/* ---- no runtime, and plain threads: the statement runs, that is all */

TEST(section_without_a_runtime)
{
	int n = 0;

	weft_blocking n++;
	EXPECT_EQ(n, 1);
}

static void *
plain_section(void *arg)
{
	weft_blocking weft_blocking
	{
		++*(int *)arg;
	}
	weft_yield();
	weft_blocking
	{
		++*(int *)arg;
	}
	return NULL;
}

static int
waits_for_plain(void)
{
	int n = 0;

	pthread_create(&thread, NULL, plain_section, &n);
	weft_blocking pthread_join(thread, NULL);
	EXPECT_EQ(n, 2);
	return 0;
}

TEST(section_of_a_plain_thread)
{
	EXPECT_EQ(weft_run(waits_for_plain), 0);
}

/* ---- live resize and the end of the run find Ps on offer */

static int
blocks_for_ever(void)
{
	weft_blocking for (;;) pause();
	return 0;
}

static int
resizes(void)
{
	for (int i = 0; i < 3; i++)
		EXPECT(weft_go(blocks_for_ever) > 0);
	for (int i = 0; i < 20; i++) {
		weft_yield();
		EXPECT(weft_set_procs(1 + i % 4) > 0);
		weft_blocking EXPECT(weft_set_procs(1 + (i + 1) % 4) > 0);
	}
	return 5;
}

TEST(resize_and_end_of_run_with_sections_open)
{
	EXPECT_EQ(weft_run(resizes), 5);
	EXPECT_EQ(weft_run(calls_inside), 0);
}

/* ---- many at once */

struct mixes {
	weft_chan(int) a, b;
	struct weft_mutex *mx;
	int *sum;
	unsigned seed;
};
static int
mixes(struct mixes *x)
{
	int v;

	for (int i = 0; i < 300; i++) {
		switch (rand_r(&x->seed) % 4) {
		case 0:
			weft_blocking usleep(1);
			break;
		case 1:
			weft_blocking weft_send(x->a, 1);
			weft_blocking
			{
				weft_lock(x->mx);
				++*x->sum;
				weft_unlock(x->mx);
			}
			weft_recv(x->a, &v);
			break;
		case 2:
			weft_blocking weft_select(WEFT_SEND(x->b, i), WEFT_RECV(x->b, &v));
			break;
		default:
			weft_blocking weft_yield();
		}
	}
	return 0;
}

static int
storm(void)
{
	enum { N = 24 };
	weft_chan(int) a = weft_make(int, N), b = weft_make(int, 300 * N);
	struct weft_mutex mx = {0};
	struct weft_wg wg = {0};
	int sum = 0;

	for (unsigned i = 0; i < N; i++)
		EXPECT(weft_wg_go(&wg, mixes, a, b, &mx, &sum, i) > 0);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	EXPECT_EQ(weft_len(a), 0u);
	EXPECT(sum > 0);
	weft_free(a);
	weft_free(b);
	return 0;
}

TEST(storm_of_sections)
{
	EXPECT_EQ(weft_run(storm), 0);
}
