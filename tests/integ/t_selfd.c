/* SPDX-License-Identifier: MIT */
/* t_selfd.c: select over descriptors, channels and time: one winner, and nothing left in a line.
   SELFD-1
   fence-mode */
#include "integ/nethelp.h"

#include <poll.h>

/* ---- what is ready at once */

static int
main_ready(void)
{
	weft_chan(int) ch = weft_make(int, 1);
	weft_chan(int) closed = weft_make(int, 0);
	int fds[2], v, seen[2] = {0}, of[5] = {0};
	char c;

	EXPECT_EQ(weft_close(closed), 0);
	EXPECT_EQ(weft_pipe(fds), 0);
	EXPECT_EQ(weft_select(WEFT_READABLE(fds[0]), WEFT_DEFAULT), 1);
	EXPECT_EQ(weft_select(WEFT_READABLE(fds[0]), WEFT_WRITABLE(fds[1])), 1);
	EXPECT_EQ(weft_write(fds[1], "x", 1), 1);
	EXPECT_EQ(weft_select(WEFT_READABLE(fds[0]), WEFT_DEFAULT), 0);
	EXPECT_EQ(weft_send(ch, 7), 0);
	for (int i = 0; i < 200; i++) { /* each gets its turn */
		int k = weft_select(WEFT_READABLE(fds[0]), WEFT_RECV(ch, &v));

		EXPECT(k == 0 || k == 1);
		seen[k]++;
		if (k == 1)
			EXPECT_EQ(weft_send(ch, 7), 0);
	}
	EXPECT(seen[0] > 20 && seen[1] > 20);
	for (int i = 0; i < 4000; i++) { /* each the same, of whatever kind: 800 times */
		int k = weft_select(WEFT_READABLE(fds[0]), WEFT_RECV(ch, &v), WEFT_RECV(closed, &v),
				    WEFT_RECV(closed, &v), WEFT_RECV(closed, &v));

		of[k]++;
		if (k == 1)
			EXPECT_EQ(weft_send(ch, 7), 0);
	}
	for (int k = 0; k < 5; k++)
		EXPECT(of[k] > 600 && of[k] < 1000);
	weft_free(closed);
	EXPECT_EQ(weft_read(fds[0], &c, 1), 1);
	EXPECT_EQ(weft_select(WEFT_READABLE(-1), WEFT_DEFAULT), -EBADF);
	EXPECT_EQ(weft_select(WEFT_READABLE(fds[0]), WEFT_WRITABLE(99999)), -EBADF);
	EXPECT_EQ(weft_recv(ch, &v), 1);
	EXPECT_EQ(weft_select(WEFT_READABLE(fds[0]), WEFT_RECV(ch, &v), WEFT_AFTER(WEFT_MS)), 2);
	weft_timeout(WEFT_MS)
		EXPECT_EQ(weft_select(WEFT_READABLE(fds[0])), -ETIMEDOUT);
	expect_no_waiters();
	close_pair(fds); /* nothing holds it */
	expect_idle(ch);
	weft_free(ch);
	return 0;
}

TEST(descriptors_that_are_ready_at_once)
{
	EXPECT_EQ(weft_run(main_ready), 0);
}

/* ---- one waits; each of the cases wakes it in turn */

struct waits {
	int in, out;
	weft_chan(int) ch;
	int *got;
};

static int
waits(struct waits *a)
{
	int v;

	store(a->got, weft_select(WEFT_RECV(a->ch, &v), WEFT_READABLE(a->in), WEFT_WRITABLE(a->out),
				  WEFT_AFTER(30 * WEFT_SEC)));
	return 0;
}

static int
main_each(void)
{
	static char much[1 << 20];
	weft_chan(int) ch = weft_make(int, 0);
	int in[2], full[2];
	ssize_t filled = 0, n;
	char buf[4096];

	EXPECT_EQ(weft_pipe(in), 0);
	EXPECT_EQ(weft_pipe(full), 0);
	while ((n = write(full[1], much, sizeof(buf))) > 0)
		filled += n;
	for (int which = 0; which < 3; which++) {
		int got = 77;

		EXPECT(weft_go(waits, in[0], full[1], ch, &got) > 0);
		await_waiting(WF_WAIT_SELECT, 1);
		if (which == 0)
			EXPECT_EQ(weft_send(ch, 1), 0);
		else if (which == 1)
			EXPECT_EQ(weft_write(in[1], "x", 1), 1);
		else
			EXPECT_EQ(weft_read_full(full[0], much, (size_t)filled), filled);
		while (load(&got) == 77)
			weft_yield();
		EXPECT_EQ(got, which);
		if (which == 1)
			EXPECT_EQ(weft_read(in[0], buf, 1), 1);
		expect_no_waiters();
		expect_idle(ch);
	}
	close_pair(in);
	close_pair(full);
	weft_free(ch);
	return 0;
}

TEST(each_case_wakes_a_select)
{
	EXPECT_EQ(weft_run(main_each), 0);
}

/* ---- close */

struct two_sides {
	int fd;
	int *got;
};

static int
two_sides(struct two_sides *a)
{
	store(a->got, weft_select(WEFT_READABLE(a->fd), WEFT_READABLE(a->fd)));
	return 0;
}

static int
main_close(void)
{
	int fds[2], got = 77;

	EXPECT_EQ(weft_pipe(fds), 0);
	EXPECT(weft_go(two_sides, fds[0], &got) > 0);
	await_waiting(WF_WAIT_SELECT, 1);
	EXPECT_EQ(weft_close_fd(fds[0]), 0);
	while (load(&got) == 77)
		weft_yield();
	EXPECT_EQ(got, -ECANCELED);
	EXPECT_EQ(pipe(fds), 0); /* a foreign one */
	got = 77;
	EXPECT(weft_go(two_sides, fds[0], &got) > 0);
	await_waiting(WF_WAIT_SELECT, 1);
	EXPECT_EQ(write(fds[1], "x", 1), 1);
	while (load(&got) == 77)
		weft_yield();
	EXPECT(got == 0 || got == 1);
	expect_no_waiters();
	return 0;
}

TEST(close_wakes_a_select)
{
	EXPECT_EQ(weft_run(main_close), 0);
}

/* ---- many selects, many wakers */

struct sender {
	int fd;
	weft_chan(int) ch;
	int n;
	uint64_t seed;
};

static int
sender(struct sender *a)
{
	uint64_t seed = a->seed;

	for (int i = 0; i < a->n; i++) {
		if (test_rand(&seed) & 1)
			EXPECT_EQ(weft_write(a->fd, "x", 1), 1);
		else
			EXPECT_EQ(weft_send(a->ch, 1), 0);
		if (test_rand(&seed) % 8 == 0)
			weft_yield();
	}
	return 0;
}

static int
main_storm(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	int fds[2], n = scaled(4000), got = 0, rc = 0;
	uint64_t seed = test_seed();

	EXPECT_EQ(weft_pipe(fds), 0);
	weft_group(g, &rc) {
		for (int i = 0; i < 4; i++)
			EXPECT(weft_go_in(g, sender, fds[1], ch, n / 4, test_rand(&seed)) > 0);
		while (got < n / 4 * 4) {
			int v;
			char buf[16];
			ssize_t k;

			switch (weft_select(WEFT_READABLE(fds[0]), WEFT_RECV(ch, &v),
					    WEFT_AFTER(20 * WEFT_US))) {
			case 0:
				k = weft_read(fds[0], buf, sizeof(buf));
				EXPECT(k > 0);
				got += (int)k;
				break;
			case 1:
				got++;
				break;
			case 2:
				break;
			default:
				EXPECT(false);
			}
		}
	}
	EXPECT_EQ(rc, 0);
	close_pair(fds);
	weft_free(ch);
	expect_no_waiters();
	return 0;
}

TEST(selects_over_everything)
{
	EXPECT_EQ(weft_run(main_storm), 0);
}

/* ---- a plain thread waits when its run ends */

static int waits_for;

static void *
plain_select(void *arg)
{
	EXPECT_EQ(weft_select(WEFT_READABLE(waits_for)), -ENOTSUP);
	return arg;
}

static pthread_t plain;

static int
main_leaves(void)
{
	int fds[2];

	EXPECT_EQ(weft_pipe(fds), 0);
	waits_for = fds[0];
	plain = start_thread(plain_select, NULL);
	await_waiting(WF_WAIT_SELECT, 1);
	return 0;
}

TEST(the_end_of_a_run_ends_a_select_of_a_plain_thread)
{
	EXPECT_EQ(weft_run(main_leaves), 0);
	join_thread(plain);
}
