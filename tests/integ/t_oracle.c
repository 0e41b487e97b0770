/* SPDX-License-Identifier: MIT */
/* t_oracle.c: every change of state that the trace points tell is a legal one. fence-mode
   not-tsan: the oracle reads the library's own words, whose order TSan is not told */
#include "integ/helpers.h"

#include "core/gmp.h"
#include "core/tracepoint.h"

/* Bit `to` of row `from`: as the table in gstatus.h says. */
static const unsigned legal_g[] = {
    [WF_FREE] = 1u << WF_RUNNABLE,
    [WF_RUNNABLE] = 1u << WF_RUNNING | 1u << WF_FREE,
    [WF_RUNNING] = 1u << WF_RUNNABLE | 1u << WF_WAITING | 1u << WF_DEAD | 1u << WF_FREE,
    [WF_PARKING] = 1u << WF_WAITING, /* how it came there is not told */
    [WF_WAITING] = 1u << WF_RUNNABLE | 1u << WF_RUNNING | 1u << WF_FREE,
    [WF_DEAD] = 1u << WF_FREE,
};
/* A P that is taken and handed on is told as RUNNING twice. */
static const unsigned legal_p[] = {
    [WF_P_IDLE] = 1u << WF_P_RUNNING | 1u << WF_P_STOPPED,
    [WF_P_RUNNING] = 1u << WF_P_RUNNING | 1u << WF_P_IDLE | 1u << WF_P_STOPPED,
    [WF_P_STOPPED] = 1u << WF_P_RUNNING | 1u << WF_P_IDLE | 1u << WF_P_DEAD | 1u << WF_P_STOPPED,
    [WF_P_DEAD] = 1u << WF_P_RUNNING | 1u << WF_P_IDLE | 1u << WF_P_STOPPED,
};

static uint64_t seen_g[WF_DEAD + 1][WF_DEAD + 1], changes, threads_up, threads_down;
static unsigned char p_state[WF_PROCS_MAX];

static void
check_g(int to, const struct wf_g *g)
{
	unsigned from = at_load_rlx(&g->status); /* told before it is stored */

	if (from > WF_DEAD || to < 0 || to > WF_DEAD || !(legal_g[from] >> to & 1))
		test_fail(__FILE__, __LINE__, "goroutine %lld: %u to %d", (long long)g->id, from,
			  to);
	__atomic_fetch_add(&seen_g[from][to], 1, __ATOMIC_RELAXED);
}

static void
check_p(int to, const struct wf_p *p)
{
	/* all changes of one P come from whoever holds it, one after the other */
	unsigned from = __atomic_exchange_n(&p_state[p->id], (unsigned char)to, __ATOMIC_ACQ_REL);

	if (from > WF_P_DEAD || to < 0 || to > WF_P_DEAD || !(legal_p[from] >> to & 1))
		test_fail(__FILE__, __LINE__, "P%u: %u to %d", p->id, from, to);
}

static void
oracle(enum wf_trace_kind kind, int state, const void *what)
{
	__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	if (kind == WF_TR_G)
		check_g(state, what);
	else if (kind == WF_TR_P)
		check_p(state, what);
	else
		__atomic_fetch_add(state ? &threads_up : &threads_down, 1, __ATOMIC_RELAXED);
}

struct tree {
	int depth;
};

static int
tree(struct tree *a)
{
	struct weft_wg wg = {0};

	weft_yield();
	if (a->depth > 0)
		for (int i = 0; i < 2; i++)
			EXPECT(weft_wg_go(&wg, tree, a->depth - 1) > 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (volatile int i = 0; i < 1000; i++)
		;
	return 0;
}

static int stop;

static int
hog(void)
{
	while (!load(&stop))
		;
	return 0;
}

static int
load_of_all_kinds(void)
{
	struct weft_wg wg = {0};

	EXPECT(weft_wg_go(&wg, hog) > 1);
	for (int i = 0; i < scaled(40); i++) {
		struct weft_wg trees = {0};

		EXPECT(weft_wg_go(&trees, tree, 5) > 1);
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), tree, 1) > 1);
		EXPECT(weft_set_procs(1 + i % 5) > 0);
		EXPECT_EQ(weft_wg_wait(&trees), 0);
	}
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

/* GST-1, GST-3 */
TEST(every_change_under_load_is_legal)
{
	uint64_t births = 0, ends = 0;

	memset(p_state, WF_P_STOPPED, sizeof(p_state));
	wf_trace_hook = oracle;
	for (int i = 0; i < 3; i++) {
		store(&stop, 0);
		EXPECT_EQ(weft_run(load_of_all_kinds), 0);
	}
	EXPECT(load(&changes) > 1000);
	births = load(&seen_g[WF_FREE][WF_RUNNABLE]);
	for (int from = 0; from <= WF_DEAD; from++)
		ends += load(&seen_g[from][WF_FREE]);
	EXPECT(births > 100);
	EXPECT_EQ(births, ends);
	EXPECT(load(&seen_g[WF_RUNNING][WF_WAITING]) > 0);
	EXPECT(load(&seen_g[WF_RUNNING][WF_RUNNABLE]) > 0);
	EXPECT_EQ(load(&threads_up), load(&threads_down));
	EXPECT(load(&threads_up) >= 1);
}
