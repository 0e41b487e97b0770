/* SPDX-License-Identifier: MIT */
/* t_dump.c: what weft_dump shows. */
#include "integ/helpers.h"

static char text[1 << 20];

/* The dump goes to a file: a pipe would fill up while the world is stopped. */
static void
dump_to_text(void)
{
	FILE *f = tmpfile();
	size_t n;

	EXPECT(f != NULL);
	weft_dump(fileno(f));
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
}

static int
count_text(const char *part)
{
	int n = 0;

	for (const char *s = text; (s = strstr(s, part)); s++)
		n++;
	return n;
}

struct parked {
	struct weft_wg *gate;
};

static int
parked(struct parked *a)
{
	return weft_wg_wait(a->gate);
}

static int stop, up;

static int
computing(void)
{
	add(&up, 1);
	while (!load(&stop))
		;
	return 0;
}

static int
shows_all_kinds(void)
{
	struct weft_wg gate = {0}, all = {0};
	char line[64];

	weft_wg_add(&gate, 1);
	for (int i = 0; i < 3; i++)
		EXPECT(weft_wg_go(&all, parked, &gate) > 1);
	snprintf(line, sizeof(line), "t_dump.c:%d\n", __LINE__ - 1);
	EXPECT(weft_go_with(WEFT_ATTR(.name = "the-named-one"), parked, &gate) > 1);
	EXPECT(weft_wg_go(&all, computing) > 1);
	while (load(&up) < 1)
		weft_yield();
	do {
		weft_yield();
		dump_to_text();
	} while (count_text("[wait group") < 4);
	EXPECT_HAS(text, "goroutine 1 [running]");
	EXPECT_HAS(text, "its stack is not shown");
	EXPECT_EQ(count_text("[wait group"), 4);
	EXPECT_HAS(text, "the-named-one");
	EXPECT_HAS(text, "parked(), created by goroutine 1 at ");
	EXPECT_HAS(text, "computing(), created by goroutine 1 at ");
	EXPECT_HAS(text, "weft_wg_wait");
	EXPECT_HAS(text, line);
	EXPECT_EQ(count_text("created by"), weft_count());
	store(&stop, 1);
	weft_wg_done(&gate);
	EXPECT_EQ(weft_wg_wait(&all), 0);
	return 0;
}

TEST(dump_shows_every_goroutine)
{
	EXPECT_EQ(weft_run(shows_all_kinds), 0);
}

static int
many_more(void)
{
	static struct weft_wg gate;

	weft_wg_add(&gate, 1);
	for (int i = 0; i < 1500; i++)
		EXPECT(weft_go(parked, &gate) > 1);
	for (int i = 0; i < 100; i++)
		weft_yield();
	dump_to_text();
	EXPECT_HAS(text, "more goroutines");
	return 0;
}

TEST(dump_counts_what_it_does_not_show)
{
	EXPECT_EQ(weft_run(many_more), 0);
}

static int
leaves_hog(void)
{
	EXPECT(weft_go(computing) > 1);
	while (load(&up) < 1)
		weft_yield();
	return 0;
}

static int
dumps_alone(void)
{
	dump_to_text();
	EXPECT_EQ(count_text("created by"), 1);
	EXPECT_HAS(text, "goroutine 1 [running]");
	return 0;
}

TEST(goroutines_of_an_ended_run_are_not_shown)
{
	EXPECT_EQ(weft_run(leaves_hog), 0);
	EXPECT_EQ(weft_run(dumps_alone), 0);
	store(&stop, 1);
}

static void *
dumps_from_thread(void *arg)
{
	(void)arg;
	dump_to_text();
	EXPECT_HAS(text, "goroutine 1 [");
	return NULL;
}

static int
thread_dumps(void)
{
	join_thread(start_thread(dumps_from_thread, NULL));
	return 0;
}

TEST(plain_thread_may_dump)
{
	EXPECT_EQ(weft_run(thread_dumps), 0);
}
