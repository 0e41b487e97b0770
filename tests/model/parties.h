/* SPDX-License-Identifier: MIT */
/*
 * parties.h: for scenarios on src/wait: threads of the program that call the public functions,
 * goroutines beside them, memory whose use after its end shows, and histories with a reference.
 *
 * A party mostly is a plain thread: it parks on its own note, so that a scenario has few steps
 * but those of the queues, claims and flags. What needs a context that leaves its stack (a
 * commit that runs while the sleeper goes on elsewhere) uses a goroutine.
 *
 * A channel has a page of its own, which its end takes away; after each call a party overwrites
 * the frames of that call, and its cases. So whoever touches a channel or a waiter that he no
 * longer may crashes, or finds rubbish.
 */
#ifndef WF_TESTS_PARTIES_H
#define WF_TESTS_PARTIES_H

#include "mark.h"
#include "rig.h"

#include "core/stack.h"
#include "wait/chan.h"
#include "wait/waitq.h"
#include "wait/wg.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- the variables of src/wait, as the process found them */

static struct {
	char *lo, *hi, *copy;
} wait_vars[2]; /* .data, .bss */

void
mark_add(char *in_data, char *in_bss)
{
	char *at[2] = {in_data, in_bss};

	for (int i = 0; i < 2; i++) {
		if (!wait_vars[i].lo || at[i] < wait_vars[i].lo)
			wait_vars[i].lo = at[i];
		if (at[i] > wait_vars[i].hi)
			wait_vars[i].hi = at[i];
	}
}

static void
wait_vars_reset(void)
{
	for (int i = 0; i < 2; i++) {
		size_t bytes = (size_t)(wait_vars[i].hi - wait_vars[i].lo);

		if (!wait_vars[i].copy) {
			wait_vars[i].copy = malloc(bytes);
			memcpy(wait_vars[i].copy, wait_vars[i].lo, bytes);
		} else {
			memcpy(wait_vars[i].lo, wait_vars[i].copy, bytes);
		}
	}
}

/* ---- memory: a page for each channel, gone when it is freed */

enum { PAGES = 4, PAGE = 4096, RUBBISH = 0x5a };

static struct {
	char *mem;
	unsigned used;
	bool gone[PAGES];
} heap;

static void
heap_reset(void)
{
	if (!heap.mem)
		heap.mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < heap.used; i++) {
		if (heap.gone[i])
			mprotect(heap.mem + i * PAGE, PAGE, PROT_READ | PROT_WRITE);
		heap.gone[i] = false;
	}
	heap.used = 0;
}

static WF_UNUSED void
heap_end(void *p)
{
	unsigned i = (unsigned)(((char *)p - heap.mem) / PAGE);

	fence_seq(); /* what we did with it is done; a choice point */
	SIM_CHECK(!heap.gone[i]);
	sim_note("the page of channel %u is gone", i);
	sim_forget(heap.mem + i * PAGE, PAGE);
	heap.gone[i] = true;
	mprotect(heap.mem + i * PAGE, PAGE, PROT_NONE);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *p);
void __real_free(void *p);

void *
__wrap_aligned_alloc(size_t align, size_t bytes)
{
	(void)align;
	if (bytes > PAGE || heap.used == PAGES)
		abort();
	return heap.mem + heap.used++ * PAGE;
}

void
__wrap_free(void *p)
{
	if ((char *)p >= heap.mem && (char *)p < heap.mem + PAGES * PAGE)
		heap_end(p);
	else
		__real_free(p);
}

/* The frames of the call that has just returned are used for something else. */
static WF_NOINLINE WF_UNUSED void
forget_frames(void)
{
	char dead[2048];

	memset(dead, RUBBISH, sizeof(dead));
	__asm__ volatile("" ::"r"(dead) : "memory");
}

/*
 * Waiters have atomic words, and lie in frames that plain code uses again when the wait is over.
 * A store of the waiter's owner to its own frame must be done by then: it is not held back.
 */
void __real_sim_store(void *addr, unsigned bytes, uint64_t value, enum sim_order order);
void __wrap_sim_store(void *addr, unsigned bytes, uint64_t value, enum sim_order order);

void
__wrap_sim_store(void *addr, unsigned bytes, uint64_t value, enum sim_order order)
{
	uintptr_t above = (uintptr_t)addr - (uintptr_t)__builtin_frame_address(0);

	if (above < WF_STACK_MIN / 2)
		sim_rmw(addr, bytes, SIM_XCHG, value);
	else
		__real_sim_store(addr, bytes, value, order);
}

/* ---- what the linked files call; what no scenario comes to stays undefined */

static char stacks[RIG_GS][WF_STACK_MIN] WF_ALIGNED(64);

void *
wf_stack_take_slow(struct wf_p *p, int class)
{
	(void)class;
	return stacks[((struct wf_m *)p->m.v)->g - rig.g];
}

bool
wf_stop_take(struct wf_p *p)
{
	(void)p;
	return false;
}

/* ---- set-up */

/* In setup: m is the record of some thread. */
static void
in_use(struct wf_m *m)
{
	m->in_use = true;
	m->all_next = wf_sched.all_ms;
	wf_sched.all_ms = m;
}

/* In setup: of a thread of the program, outside the runtime. */
static void
plain(struct wf_m *m)
{
	in_use(m);
	m->plain = true;
	m->in_rt.v = 0;
	m->thread_g.flags = WF_G_THREAD;
	m->thread_g.status.v = WF_RUNNING;
	m->thread_g.id = -1 - (int64_t)m->id;
	sim_name(&m->thread_g.claim, "m%u.claim", m->id);
	sim_name(&m->thread_g.status, "m%u.status", m->id);
}

/* In setup: Ms 0 to n-1 are plain threads. */
static WF_UNUSED void
parties_reset(unsigned n)
{
	rig_reset(1);
	wait_vars_reset();
	heap_reset();
	for (unsigned i = 0; i < n; i++)
		plain(&rig.m[i]);
	wf_m_set(NULL);
}

/* In setup: as if it were in user code with p, which it never loses. It still sleeps as a thread. */
static WF_UNUSED void
give_p(struct wf_m *m, struct wf_p *p)
{
	rig_hold(m, p);
	sim_name(&p->in_chan, "p%u.in_chan", p->id);
}

/* In setup. */
static WF_UNUSED void
bias(struct wf_chan *ch, struct wf_p *p)
{
	while (!(ch->state.v & WF_CH_BIASED))
		wf_chan_unlock(p, ch, wf_chan_lock(p, ch));
}

/* In setup. */
static WF_UNUSED struct wf_chan *
make_chan(size_t cap)
{
	struct wf_chan *ch;

	wf_m_set(&rig.m[RIG_MS - 1]);
	rig.m[RIG_MS - 1].in_rt.v = 0;
	ch = weft_chan_make(sizeof(int64_t), cap, NULL);
	rig.m[RIG_MS - 1].in_rt.v = 1; /* as rig_reset made it */
	wf_m_set(NULL);
	sim_name(&ch->state, "ch%u.state", heap.used - 1);
	sim_name(&ch->owner, "ch%u.owner", heap.used - 1);
	return ch;
}

/* ---- goroutines: M 0 holds P 0, P 1 is idle or (two) held by M 1, other Ms up to 2, and 6, can be
   started (one for the time another is on its way to sleep); plain threads are the Ms from
   FIRST_PLAIN on */

enum { FIRST_PLAIN = 3 };

static struct weft_site sites[RIG_GS];

static WF_UNUSED void
goroutines_reset(unsigned plains, bool two)
{
	rig_reset(2);
	wait_vars_reset();
	heap_reset();
	sim_quiet(true); /* until a goroutine says otherwise */
	wf_steal_order_init(2);
	rig_hold(&rig.m[0], &rig.p[0]);
	rig.p[0].fair = rig.p[1].fair = 4; /* the fairness tick is not the subject */
	if (two) {
		rig_hold(&rig.m[1], &rig.p[1]);
	} else {
		rig_idle(&rig.p[1]);
		rig.spare[rig.spares++] = &rig.m[1];
	}
	rig.spare[rig.spares++] = &rig.m[2];
	rig.spare[rig.spares++] = &rig.m[6];
	for (unsigned i = 0; i < RIG_MS; i++)
		if (i < FIRST_PLAIN || i == 6)
			in_use(&rig.m[i]);
	for (unsigned i = 0; i < plains; i++)
		plain(&rig.m[FIRST_PLAIN + i]);
	wf_m_set(NULL);
}

/* In setup. */
static WF_UNUSED void
add_g(int i, struct wf_p *p, int (*fn)(void *))
{
	struct wf_glist over = {0};
	struct wf_g *g = &rig.g[i];

	sites[i] = (struct weft_site){.fn = fn, .name = "a goroutine"};
	g->site = &sites[i];
	g->id = i + 1;
	g->status.v = WF_RUNNABLE;
	sim_name(&g->claim, "g%d.claim", i);
	wf_runq_put(&p->runq, g, &over);
}

static void
commit_for_ever(struct wf_g *g, void *arg)
{
	(void)g, (void)arg;
}

/* The last act of every goroutine here: nobody wakes it any more. */
static WF_NORETURN WF_UNUSED void
sleep_for_ever(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);

	wf_park(m, commit_for_ever, NULL, WF_WAIT_TEST, NULL);
	sim_fail("a goroutine goes on that nobody has woken");
	for (;;)
		sim_block(&rig);
}

#ifdef RIG_TIMERS_C
/* ---- the M that attends, as wf_m_stop does it; all Ps are in use, so it runs timers without one */

enum { ATTENDS = 4 };

__attribute__((unused)) static void
attends(void *arg)
{
	struct wf_m *m = &rig.m[ATTENDS];
	bool mine;

	(void)arg;
	wf_m_set(m);
	for (;;) {
		wf_lock(&wf_sched.lock);
		mine = wf_attend_begin(m);
		wf_unlock(&wf_sched.lock);
		if (!mine)
			return;
		SIM_CHECK(!wf_attend(m));
	}
}

#endif

#endif
