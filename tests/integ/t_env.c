/* SPDX-License-Identifier: MIT */
/* t_env.c: the environment: good values hold, bad ones are refused in words. */
#include "integ/helpers.h"

#include <errno.h>

static int
procs(void)
{
	printf("procs=%d\n", weft_procs());
	return 0;
}

static void
child(void)
{
	exit(weft_run(procs));
}

static const char *name, *value;

static void
child_with(void)
{
	setenv(name, value, 1);
	child();
}

static void
expect_refused(const char *n, const char *v, const char *why)
{
	char out[4096];
	int status;

	name = n;
	value = v;
	status = test_child(child_with, out, sizeof(out));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
		test_fail(__FILE__, __LINE__, "%s=%s: wait status 0x%x\n%s", n, v, status, out);
	EXPECT_HAS(out, n);
	EXPECT_HAS(out, why);
	EXPECT(!test_has(out, "procs="));
}

static void
expect_taken(const char *n, const char *v, const char *says)
{
	char out[4096];
	int status;

	name = n;
	value = v;
	status = test_child(child_with, out, sizeof(out));
	if (status != 0)
		test_fail(__FILE__, __LINE__, "%s=%s: wait status 0x%x\n%s", n, v, status, out);
	EXPECT_HAS(out, says);
}

TEST(bad_procs_are_refused)
{
	static const char *const bad[] = {
	    "",      "0",        "abc", "4x",  "-1", "1e9", "1025", "99999999999999999999",
	    " 4",    "4 ",       "+4",  "0x4", "4,", "2k",  "1m",   "\xff\xfe",
	    "4\xc3", "\xd9\xa4", "4\n", "k"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused("WEFT_PROCS", bad[i], "1 to 1024");
}

TEST(good_procs_hold)
{
	expect_taken("WEFT_PROCS", "1", "procs=1\n");
	expect_taken("WEFT_PROCS", "3", "procs=3\n");
	expect_taken("WEFT_PROCS", "007", "procs=7\n");
	expect_taken("WEFT_PROCS", "1024", "procs=1024\n");
}

TEST(stacks_are_checked)
{
	static const char *const bad[] = {"", "0", "8191", "1g", "257m", "64kk", "-5", "lots"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused("WEFT_STACK", bad[i], "256m");
	expect_taken("WEFT_STACK", "64k", "procs=");
	expect_taken("WEFT_STACK", "1m", "procs=");
	expect_taken("WEFT_STACK", "262144", "procs=");
	expect_taken("WEFT_STACK", "256m", "procs=");
}

TEST(other_numbers_are_checked)
{
	expect_refused("WEFT_MAX_THREADS", "0", "1 to 1000000");
	expect_refused("WEFT_MAX_THREADS", "no", "1 to 1000000");
	expect_refused("WEFT_SEED", "0", "positive");
	expect_refused("WEFT_SEED", "-3", "positive");
	expect_refused("WEFT_SEED", "99999999999999999999", "positive");
	expect_refused("WEFT_SEED", "9223372036854775806k", "positive");
	expect_taken("WEFT_SEED", "9223372036854775806", "procs=");
	expect_taken("WEFT_MAX_THREADS", "50", "procs=");
	expect_taken("WEFT_SEED", "12345", "procs=");
}

TEST(debug_words_are_checked)
{
	static const char *const bad[] = {"x",
					  "fence",
					  "fencee=1",
					  "guard=3",
					  "guard=",
					  "say=1,bad=2",
					  "fence=",
					  "fence=2",
					  "fence=11",
					  "say=,fence=1",
					  "guard=1x",
					  "reap_ms=",
					  "reap_ms=x",
					  "reap_ms=-1",
					  "reap_ms=5x",
					  "reap_ms=12345678",
					  ",",
					  "=",
					  "say=1,,fence=1",
					  "say=1x",
					  "lint=2",
					  "schedtrace=-1"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused("WEFT_DEBUG", bad[i], "known words");
	expect_refused("WEFT_DEBUG", "schedtrace", "schedtrace is a number from");
	expect_taken("WEFT_DEBUG", "", "procs=");
	expect_taken("WEFT_DEBUG", "fence=1,shuffle=1", "procs=");
	expect_taken("WEFT_DEBUG", "say=1", "procs=");
	expect_taken("WEFT_DEBUG", "stacks=1", "start function");
	expect_taken("WEFT_DEBUG", "guard=2", "procs=");
}

/* As long as a string in the environment can be. */
TEST(endless_values_are_refused)
{
	static const struct {
		const char *name, *why;
	} all[] = {{"WEFT_PROCS", "1 to 1024"},
		   {"WEFT_STACK", "256m"},
		   {"WEFT_MAX_THREADS", "1 to 1000000"},
		   {"WEFT_SEED", "positive"},
		   {"WEFT_DEBUG", "known words"}};
	static char text[1 << 20];

	for (int digit = 0; digit < 2; digit++) {
		memset(text, digit ? '7' : 'x', sizeof(text) - 1);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			expect_refused(all[i].name, text, all[i].why);
	}
	memset(text, '0', sizeof(text) - 1);
	text[sizeof(text) - 2] = '3';
	expect_taken("WEFT_PROCS", text, "procs=3\n");
}

/* Any bytes: taken or refused in words; nothing else happens. */
TEST(random_values_do_no_harm)
{
	static const char *const names[] = {"WEFT_PROCS", "WEFT_STACK", "WEFT_MAX_THREADS",
					    "WEFT_SEED", "WEFT_DEBUG"};
	static const char letters[] = "0123456789kKmM=,-+ \n\xff"
				      "fencesayguardreap_ms";
	uint64_t r = test_seed();

	for (int i = 0; i < scaled(200); i++) {
		char text[24], out[4096];
		size_t n = test_rand(&r) % sizeof(text);
		int status;

		for (size_t k = 0; k < n; k++)
			text[k] = letters[test_rand(&r) % (sizeof(letters) - 1)];
		text[n] = '\0';
		name = names[test_rand(&r) % 5];
		value = text;
		status = test_child(child_with, out, sizeof(out));
		if (status != 0 &&
		    (!WIFEXITED(status) || WEXITSTATUS(status) != 2 || !test_has(out, name)))
			test_fail(__FILE__, __LINE__, "%s=%s: wait status 0x%x\n%s", name, value,
				  status, out);
	}
}

/* The help that a wrong word prints is the list of all. */
TEST(every_debug_word_is_in_its_man_page)
{
	static char page[1 << 16];
	char out[4096], entry[64];
	FILE *f = fopen("docs/man/weft-debug.7", "r");
	int words = 0;

	if (!f)
		SKIP("not started at the root of the sources");
	page[fread(page, 1, sizeof(page) - 1, f)] = 0;
	fclose(f);
	name = "WEFT_DEBUG";
	value = "help";
	test_child(child_with, out, sizeof(out));
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "  ", 2) != 0)
			continue;
		snprintf(entry, sizeof(entry), ".BI %.*s=", (int)strcspn(line + 2, "="), line + 2);
		EXPECT_HAS(page, entry);
		words++;
	}
	EXPECT(words >= 9);
}

TEST(one_thread_is_enough_to_run)
{
	expect_taken("WEFT_MAX_THREADS", "1", "procs=");
}

TEST(seed_is_taken_anew_at_each_run)
{
	use_procs(2);
	EXPECT_EQ(weft_run(procs), 0);
	use_procs(4);
	EXPECT_EQ(weft_run(procs), 0);
}
