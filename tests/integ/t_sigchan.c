/* SPDX-License-Identifier: MIT */
/* t_sigchan.c: signals as channels. SIG-1 */
#include "integ/nethelp.h"

#include <signal.h>

static int
main_signal(void)
{
	weft_chan(int) usr = weft_signal_chan(SIGUSR1);
	weft_chan(int) also = weft_signal_chan(SIGUSR1);
	weft_chan(int) hup = weft_signal_chan(SIGHUP);
	int v = 0;

	EXPECT(usr && also && hup);
	EXPECT(weft_signal_chan(0) == NULL);
	EXPECT(weft_signal_chan(99) == NULL);
	EXPECT(weft_signal_chan(SIGKILL) == NULL);
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
		EXPECT_EQ(weft_recv(usr, &v), 1);
		EXPECT_EQ(v, SIGUSR1);
		EXPECT_EQ(weft_recv(also, &v), 1);
	}
	EXPECT_EQ(kill(getpid(), SIGHUP), 0);
	EXPECT_EQ(weft_select(WEFT_RECV(usr, &v), WEFT_RECV(hup, &v)), 1);
	EXPECT_EQ(v, SIGHUP);
	EXPECT_EQ(weft_try_recv(usr, &v), -EAGAIN);
	weft_free(usr);
	weft_free(also);
	weft_free(hup);
	expect_no_waiters();
	return 0;
}

TEST(signals_come_through_channels)
{
	struct sigaction now;

	signal(SIGHUP, SIG_IGN);
	EXPECT_EQ(weft_run(main_signal), 0);
	EXPECT_EQ(sigaction(SIGHUP, NULL, &now), 0);
	EXPECT(now.sa_handler == SIG_IGN); /* as before */
}

/* To wait for a signal is no deadlock; all Ps busy is no reason to miss one. */
static void *
sends_late(void *arg)
{
	(void)arg;
	usleep(30000);
	kill(getpid(), SIGUSR2);
	return NULL;
}

static int
main_late(void)
{
	weft_chan(int) ch = weft_signal_chan(SIGUSR2);
	pthread_t t = start_thread(sends_late, NULL);
	int v;

	EXPECT_EQ(weft_recv(ch, &v), 1);
	join_thread(t);
	EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
	while (weft_len(ch) == 0) /* computes, as far as the others can tell */
		;
	weft_free(ch);
	return 0;
}

TEST(a_signal_that_comes_late)
{
	use_procs(1);
	EXPECT_EQ(weft_run(main_late), 0);
}

static void *kept;

static int
main_keeps(void)
{
	kept = weft_signal_chan(SIGUSR1);
	return 0;
}

TEST(a_signal_channel_outlives_its_run)
{
	EXPECT_EQ(weft_run(main_keeps), 0);
	expect_no_waiters();
	weft_free(kept);
}
