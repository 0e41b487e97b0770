/* SPDX-License-Identifier: MIT */
/* t_child.c: programs that are started and waited for. */
#include "integ/nethelp.h"

#include <signal.h>

static pid_t
shell(const char *text, const int fds[3])
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)text, NULL};

	return weft_spawnp("sh", argv, NULL, fds);
}

static int
main_child(void)
{
	int status = -1, in[2], out[2];
	char *none[] = {"no-such-program-here", NULL};
	char buf[64];
	pid_t pid = shell("exit 7", NULL);

	EXPECT(pid > 0);
	EXPECT_EQ(weft_waitpid(pid, &status), pid);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 7);
	EXPECT_EQ(weft_waitpid(pid, &status), -ECHILD);
	EXPECT_EQ(weft_waitpid(0, &status), -EINVAL);
	EXPECT_EQ(weft_spawnp("no-such-program-here", none, NULL, NULL), -ENOENT);
	/* a filter: what goes in comes out */
	EXPECT_EQ(weft_pipe(in), 0);
	EXPECT_EQ(weft_pipe(out), 0);
	pid = shell("tr a-z A-Z", (int[]){in[0], out[1], -1});
	EXPECT(pid > 0);
	EXPECT_EQ(weft_close_fd(in[0]), 0);
	EXPECT_EQ(weft_close_fd(out[1]), 0);
	EXPECT_EQ(weft_write(in[1], "shout", 5), 5);
	EXPECT_EQ(weft_close_fd(in[1]), 0);
	EXPECT_EQ(weft_read_full(out[0], buf, sizeof(buf)), 5);
	EXPECT(memcmp(buf, "SHOUT", 5) == 0);
	EXPECT_EQ(weft_waitpid(pid, &status), pid);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(weft_close_fd(out[0]), 0);
	/* a deadline, then its end */
	pid = shell("exec sleep 100", NULL);
	EXPECT(pid > 0);
	weft_timeout(5 * WEFT_MS)
		EXPECT_EQ(weft_waitpid(pid, &status), -ETIMEDOUT);
	EXPECT_EQ(kill(pid, SIGKILL), 0);
	EXPECT_EQ(weft_waitpid(pid, &status), pid);
	EXPECT(WIFSIGNALED(status));
	expect_no_waiters();
	return 0;
}

TEST(children_are_waited_for)
{
	EXPECT_EQ(weft_run(main_child), 0);
}

struct one {
	int code;
};

static int
one(struct one *a)
{
	char text[32];
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "exit %d", a->code);
	pid = shell(text, NULL);
	EXPECT(pid > 0);
	EXPECT_EQ(weft_waitpid(pid, &status), pid);
	EXPECT_EQ(WEXITSTATUS(status), a->code);
	return 0;
}

static int
main_many(void)
{
	int rc = 0;

	weft_group(g, &rc)
		for (int i = 0; i < 20; i++)
			EXPECT(weft_go_in(g, one, i) > 0);
	return rc;
}

TEST(many_children_at_once)
{
	EXPECT_EQ(weft_run(main_many), 0);
}
