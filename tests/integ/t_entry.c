/* SPDX-License-Identifier: MIT */
/* t_entry.c: the way into the runtime costs no locked instruction and no fence. */
#include "integ/helpers.h"

#include "sched/handoff.h"

/* What every public call does, and nothing else. */
__attribute__((noinline, used)) void *entry_probe(void);

void *
entry_probe(void)
{
	struct wf_m *m = wf_enter(WF_CALL_N);

	if (m)
		wf_leave(m);
	return m;
}

TEST(entry_has_no_locked_instruction_and_no_fence)
{
	static const char *const costly[] = {"lock ", "xchg ", "mfence", "cpuid", "dmb",
					     "ldaxr", "stlxr", "ldxr",   "cas",   "swp"};
	static char text[65536];
	char command[4200], path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t n;
	FILE *f;

#if defined(WF_CHAOS) || defined(WF_ASAN) || defined(WF_TSAN)
	SKIP("an instrumented build");
#endif
	EXPECT(len > 0);
	path[len] = 0;
	if (system("objdump --version >/dev/null 2>&1") != 0)
		SKIP("no objdump here");
	snprintf(command, sizeof(command),
		 "objdump -d --no-show-raw-insn --disassemble=entry_probe '%s'", path);
	f = popen(command, "r");
	EXPECT(f != NULL);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	EXPECT_EQ(pclose(f), 0);
	for (char *pad; (pad = strstr(text, "xchg   %ax,%ax"));)
		memset(pad, ' ', 4); /* padding: it does nothing */
	EXPECT_HAS(text, "<entry_probe>:");
	EXPECT_HAS(text, "ret");
	EXPECT_HAS(text, "wf_enter_slow");
	for (size_t i = 0; i < sizeof(costly) / sizeof(costly[0]); i++)
		if (test_has(text, costly[i]))
			test_fail(__FILE__, __LINE__, "'%s' in the entry:\n%s", costly[i], text);
}

static int
enters(void)
{
	for (int i = 0; i < 100; i++)
		EXPECT(entry_probe() != NULL);
	return 0;
}

TEST(probe_enters_and_leaves)
{
	EXPECT(entry_probe() == NULL);
	EXPECT_EQ(weft_run(enters), 0);
}
