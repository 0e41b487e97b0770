/* SPDX-License-Identifier: MIT */
/* t_reuse.c: numbers of descriptors are closed and opened again by several at once, while others wait
   for them: nobody gets what was meant for another. FD-1, POLL-3. fence-mode */
#define _GNU_SOURCE 1
#include "integ/nethelp.h"

#include <fcntl.h>
#include <poll.h>

enum { USES = 0xffffff00 }; /* in the record's use: how many there are */

enum { READS, WAITS, SELECTS, KINDS };

struct waiter {
	int fd, how;
	uint64_t *got;
	int *rc;
};

/* One call: a second one could be after the close, and another's. */
static int
waiter(struct waiter *a)
{
	int64_t rc;

	if (a->how == READS)
		rc = weft_read(a->fd, a->got, sizeof(*a->got));
	else if (a->how == WAITS)
		rc = weft_wait_fd(a->fd, POLLIN);
	else
		rc = weft_select(WEFT_READABLE(a->fd));
	store(a->rc, (int)rc);
	return 0;
}

struct opener {
	uint64_t seed;
	int rounds;
	uint64_t id;
	int *again; /* a number that came again */
};

/* One life of a number: what the waiters saw is what was done in this life. */
static int
one_life(uint64_t *seed, uint64_t id)
{
	int fds[2], rc[KINDS] = {77, 77, 77}, deed = (int)(test_rand(seed) % 3), first;
	uint64_t got = 0;
	struct wf_fd *f;
	uint32_t count;

	EXPECT_EQ(weft_pipe(fds), 0);
	f = wf_fd_of(fds[0]);
	count = at_load_acq(&f->count[WF_READ]);
	for (int how = 0; how < KINDS; how++)
		EXPECT(weft_go(waiter, fds[0], how, &got, &rc[how]) > 0);
	/* all three have begun: a call that comes after the close would be another's */
	while ((at_load_acq(&f->use) & USES) < KINDS << 8)
		weft_yield();
	if (test_rand(seed) & 1)
		weft_yield();
	EXPECT_EQ(at_load_acq(&f->count[WF_READ]), count); /* no event of an older life */
	for (int how = 0; how < KINDS; how++)
		EXPECT_EQ(load(&rc[how]), 77);
	if (deed > 0)
		EXPECT_EQ(weft_write(fds[1], &id, sizeof(id)), sizeof(id));
	if (deed == 2)
		while (load(&rc[READS]) == 77)
			weft_yield();
	first = deed > 0 ? (int)(test_rand(seed) & 1) : 0; /* the other end may report it */
	EXPECT_EQ(weft_close_fd(fds[first]), 0);
	EXPECT_EQ(weft_close_fd(fds[!first]), 0);
	for (int how = 0; how < KINDS; how++)
		while (load(&rc[how]) == 77)
			weft_yield();
	if (rc[READS] == sizeof(got))
		EXPECT(deed > 0 && got == id);
	else
		EXPECT(rc[READS] == -ECANCELED && deed < 2);
	EXPECT(rc[WAITS] == -ECANCELED || (deed > 0 && (rc[WAITS] & (POLLIN | POLLHUP))));
	EXPECT(rc[SELECTS] == -ECANCELED || (deed > 0 && rc[SELECTS] == 0));
	return fds[0];
}

static int
opener(struct opener *a)
{
	uint64_t seed = a->seed;
	int last = -1;

	for (int i = 0; i < a->rounds; i++) {
		int fd = one_life(&seed, a->id << 32 | (uint32_t)i);

		if (fd == last)
			add(a->again, 1);
		last = fd;
	}
	return 0;
}

/* Plain files that take numbers in between, and give them back. */
static int stop;

static void *
shuffles(void *arg)
{
	(void)arg;
	while (!load(&stop)) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		usleep(50);
		close(fd);
	}
	return NULL;
}

struct storm {
	int openers, rounds;
};

static int
storm(struct storm *a)
{
	uint64_t seed = test_seed();
	int again = 0, rc = 0, before;
	pthread_t t = start_thread(shuffles, NULL);

	EXPECT(wf_fd_of(0) && wf_fd_of(255)); /* made here, where all others come from */
	before = count_sockets();
	weft_group(g, &rc)
		for (int i = 0; i < a->openers; i++)
			EXPECT(weft_go_in(g, opener, test_rand(&seed), a->rounds, (uint64_t)i + 1,
					  &again) > 0);
	EXPECT_EQ(rc, 0);
	store(&stop, 1);
	join_thread(t);
	EXPECT(again > 0); /* the numbers did come again */
	expect_alone();
	EXPECT_EQ(count_sockets(), before);
	EXPECT_EQ(count_watched(), 1);
	expect_no_waiters();
	return 0;
}

TEST(numbers_are_reused_by_one)
{
	EXPECT_EQ(weft_run(storm, 1, scaled(500)), 0);
}

TEST(numbers_are_reused_by_several)
{
	EXPECT_EQ(weft_run(storm, 6, scaled(1000)), 0);
}
