/* SPDX-License-Identifier: MIT */
/*
 * t_prio.c: urgent goroutines go first and idle ones last, and neither starves anybody: PRIO-1 to
 * PRIO-3.
 *
 * What is measured is who had a turn before whom. A P that was taken meanwhile spoils that (another
 * thread runs the queue while its filler still computes), so such attempts are made again. The
 * torture build takes Ps all the time: there only the ends are checked.
 */
#include "integ/waiting.h"

#include "sched/sched.h"

#include <sched.h>

enum { URGENT_RUNS = 16 }; /* as in prio.c */

static uint64_t
retakes(void)
{
	struct weft_stats s = {.size = sizeof(s)};

	EXPECT_EQ(weft_stats(&s), 0);
	return s.total.retakes;
}

/* Nobody lost a P since `before`, so that the order of turns means something. */
static bool
undisturbed(uint64_t before)
{
#ifdef WF_TORTURE
	(void)before;
	return true;
#else
	return retakes() == before;
#endif
}

static void
expect_at_most(int n, int most)
{
#ifdef WF_TORTURE
	(void)n;
	(void)most;
#else
	if (n > most)
		fprintf(stderr, "%d, at most %d were expected\n", n, most);
	EXPECT(n <= most);
#endif
}

/* Whether a goroutine was asked to give way: its thread, and the last request there. */
struct requests {
	struct wf_m *m;
	uint32_t tick;
};

static struct requests
requests(void)
{
	struct wf_m *m = wf_m();

	return (struct requests){m, at_load_rlx(&m->urged_tick)}; /* rlx: compared only */
}

static bool
none_since(struct requests before)
{
	struct requests now = requests();

	return now.m == before.m && now.tick == before.tick;
}

/* ---- goroutines that belong to a test: each says so in `all` when it ends */

static struct weft_wg all;
static int up, release, stop;

struct calls {
	int (*fn)(void);
};

static int
calls(struct calls *a)
{
	return a->fn();
}

static void
start(int n, int (*fn)(void))
{
	weft_wg_add(&all, n);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go(calls, fn) > 1);
}

static void
start_urgent(int n, int (*fn)(void))
{
	weft_wg_add(&all, n);
	for (int i = 0; i < n; i++)
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), calls, fn) > 1);
}

static void
finish(void)
{
	EXPECT_EQ(weft_wg_wait(&all), 0);
}

/* ---- before those who are queued */

static int urgent_left, overtaken;

/* On one P, no urgent one is left by now. On two, the last one may have been taken by the other P,
   whose thread waits for a CPU; but none is queued. */
static int
normal(void)
{
	if (weft_procs() == 1 ? load(&urgent_left) > 0 : wf_globq_size(&wf_urgentq) > 0)
		add(&overtaken, 1);
	weft_wg_done(&all);
	return 0;
}

static int
urgent(void)
{
	add(&urgent_left, -1);
	weft_wg_done(&all);
	return 0;
}

/* Keeps a P busy, without a call. */
static int
occupies(void)
{
	add(&up, 1);
	while (!load(&release))
		;
	weft_wg_done(&all);
	return 0;
}

static void
occupy_other_ps(void)
{
	int others = weft_procs() - 1;

	store(&up, 0);
	store(&release, 0);
	start(others, occupies);
	while (load(&up) < others)
		weft_yield();
}

static struct requests filling_began;
static bool gave_way; /* before all were queued */

static void
queue_normals(int n)
{
	filling_began = requests();
	start(n, normal);
}

enum way { SPAWNED, READIED, IN_GROUP };
enum { URGENTS = 10 };

struct parked_urgent {
	weft_chan(int) ch;
};

static int
parked_urgent(struct parked_urgent *a)
{
	int v;

	EXPECT_EQ(weft_recv(a->ch, &v), 1);
	return urgent();
}

static void
all_are_queued(void)
{
	gave_way = !none_since(filling_began);
	store(&release, 1);
}

static void
by_spawn(int normals)
{
	queue_normals(normals);
	start_urgent(URGENTS, urgent);
	all_are_queued();
	finish();
}

static void
by_ready(int normals)
{
	weft_chan(int) ch = weft_make(int, 0);

	weft_wg_add(&all, URGENTS);
	for (int i = 0; i < URGENTS; i++)
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), parked_urgent, ch) > 1);
	await_receivers(ch, URGENTS);
	queue_normals(normals);
	for (int i = 0; i < URGENTS; i++)
		EXPECT_EQ(weft_send(ch, i), 0);
	all_are_queued();
	finish();
	weft_free(ch);
}

#define go_in_urgent(g, f)                                                                         \
	WEFT_CALL_(__COUNTER__, WEFT_SPAWN_IN_CALL_, WEFT_ATTR(.prio = WEFT_URGENT), g, f, )

static void
by_group(int normals)
{
	int rc;

	queue_normals(normals);
	weft_wg_add(&all, URGENTS);
	weft_group(g, &rc) {
		for (int i = 0; i < URGENTS; i++)
			EXPECT(go_in_urgent(g, urgent) > 1);
		all_are_queued();
	}
	EXPECT_EQ(rc, 0);
	finish();
}

struct goes_first {
	int procs;
	enum way way;
};

static int
goes_first(struct goes_first *a)
{
	uint64_t before;

	do {
		EXPECT(weft_set_procs(a->procs) > 0);
		before = retakes();
		store(&urgent_left, URGENTS);
		store(&overtaken, 0);
		occupy_other_ps();
		if (a->way == SPAWNED)
			by_spawn(scaled(1000));
		else if (a->way == READIED)
			by_ready(scaled(1000));
		else
			by_group(scaled(1000));
		EXPECT_EQ(urgent_left, 0);
#ifdef WF_TORTURE
		gave_way = false;
#endif
	} while (!undisturbed(before) || gave_way);
	expect_at_most(overtaken, 0);
	return 0;
}

TEST(urgent_spawned_runs_before_queued)
{
	EXPECT_EQ(weft_run(goes_first, 1, SPAWNED), 0);
	EXPECT_EQ(weft_run(goes_first, 2, SPAWNED), 0);
}

TEST(urgent_readied_runs_before_queued)
{
	EXPECT_EQ(weft_run(goes_first, 1, READIED), 0);
	EXPECT_EQ(weft_run(goes_first, 2, READIED), 0);
}

TEST(urgent_of_a_group_runs_before_queued)
{
	EXPECT_EQ(weft_run(goes_first, 1, IN_GROUP), 0);
	EXPECT_EQ(weft_run(goes_first, 2, IN_GROUP), 0);
}

/* ---- who gives way goes behind the others, and urgent ones keep their order */

static char order[16];
static int turns;

struct notes {
	char name;
	bool yields;
};

static int
notes(struct notes *a)
{
	order[add(&turns, 1) - 1] = a->name;
	if (a->yields) {
		weft_yield();
		order[add(&turns, 1) - 1] = a->name;
	}
	weft_wg_done(&all);
	return 0;
}

/* Another than the one that waits: who starts a few and waits for them is a fork, which the next attempt
   would know, and the order of forks is another. */
static int
starts_each(void)
{
	EXPECT(weft_go(notes, 'n') > 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), notes, 'i') > 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), notes, 'u', true) > 1);
	EXPECT(weft_go(notes, 'm') > 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), notes, 'v') > 1);
	return 0;
}

static int
order_of_turns(void)
{
	uint64_t before;

	do {
		before = retakes();
		memset(order, 0, sizeof(order));
		store(&turns, 0);
		weft_wg_add(&all, 5);
		EXPECT(weft_go(starts_each) > 1);
		finish();
	} while (!undisturbed(before));
	EXPECT_EQ(turns, 6);
#ifndef WF_TORTURE
	if (strcmp(order, "uvnmui") != 0)
		fprintf(stderr, "%s instead of uvnmui\n", order);
	EXPECT(strcmp(order, "uvnmui") == 0);
#endif
	return 0;
}

TEST(classes_take_turns_in_order)
{
	use_procs(1);
	EXPECT_EQ(weft_run(order_of_turns), 0);
}

/* ---- weft_checkpoint gives way */

static int
at_once_at_checkpoint(void)
{
	uint64_t before;
	int left;

	do {
		before = retakes();
		store(&urgent_left, 1);
		start_urgent(1, urgent);
		weft_checkpoint();
		left = load(&urgent_left);
		finish();
	} while (!undisturbed(before));
	expect_at_most(left, 0);
	return 0;
}

TEST(checkpoint_gives_way_to_urgent)
{
	use_procs(1);
	EXPECT_EQ(weft_run(at_once_at_checkpoint), 0);
}

/* ---- a storm of urgent ones: PRIO-2 */

static int urgent_turns, measured, most_between, cut_short;

struct plays {
	weft_chan(int) in, out;
};

/* Two of these ready each other: one of them can always run. */
static int
plays(struct plays *a)
{
	int ball;

	while (weft_recv(a->in, &ball) == 1) {
		add(&urgent_turns, 1);
		if (load(&stop)) {
			weft_close(a->out);
			break;
		}
		if (weft_send(a->out, ball) < 0)
			break;
	}
	weft_wg_done(&all);
	return 0;
}

static int
one_of_a_chain(void)
{
	add(&urgent_turns, 1);
	if (!load(&stop))
		return weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), one_of_a_chain) > 1 ? 0 : 1;
	weft_wg_done(&all);
	return 0;
}

/* A turn in which the measuring goroutine was asked to give way says nothing, nor does the next: an
   urgent goroutine that was asked has gone behind the measuring one, and has a turn as one of the
   others. */
struct measured {
	int seen; /* urgent turns until its last turn was over */
	struct requests at;
	bool quiet; /* no request before its last turn */
};

static void
measure_turn(struct measured *last)
{
	int now = load(&urgent_turns), between = now - last->seen;
	struct requests at;
	bool quiet;

	for (int i = 0; i < 100; i++)
		weft_checkpoint(); /* this turn is not theirs */
	at = requests();
	last->seen = load(&urgent_turns);
	quiet = none_since(last->at);
	if (quiet && last->quiet) {
		measured++;
		if (between > most_between)
			most_between = between;
		cut_short += between > 0 && last->seen != now;
	}
	last->at = at;
	last->quiet = quiet;
}

static int
measures(void)
{
	struct measured last;

	while (load(&urgent_turns) < 100) /* the storm blows */
		weft_yield();
	last = (struct measured){load(&urgent_turns), requests(), false};
	weft_yield();
	for (int i = 0; i < scaled(200); i++) {
		measure_turn(&last);
		weft_yield();
	}
	weft_wg_done(&all);
	return 0;
}

static void
start_pair(weft_chan(int) a, weft_chan(int) b)
{
	weft_wg_add(&all, 2);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), plays, a, b) > 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), plays, b, a) > 1);
	EXPECT_EQ(weft_send(a, 1), 0);
}

struct under_storm {
	int pairs, chains;
};

static int
under_storm(struct under_storm *a)
{
	enum { MOST = 4 };
	weft_chan(int) ch[2 * MOST];
	struct weft_wg calm = {0};
	uint64_t before;

	do {
		before = retakes();
		store(&stop, 0);
		store(&urgent_turns, 0);
		store(&most_between, 0);
		store(&cut_short, 0);
		store(&measured, 0);
		for (int i = 0; i < 2 * a->pairs; i++)
			ch[i] = weft_make(int, 0);
		for (int i = 0; i < a->pairs; i++)
			start_pair(ch[2 * i], ch[2 * i + 1]);
		start_urgent(a->chains, one_of_a_chain);
		weft_wg_add(&all, 1);
		EXPECT(weft_wg_go(&calm, measures) > 1);
		EXPECT_EQ(weft_wg_wait(&calm), 0); /* a starved one would never end */
		store(&stop, 1);
		finish();
		for (int i = 0; i < 2 * a->pairs; i++)
			weft_free(ch[i]);
		expect_alone();
#ifdef WF_TORTURE
		measured = 1;
#endif
	} while (weft_procs() == 1 && (!undisturbed(before) || measured == 0));
	if (weft_procs() == 1) {
		expect_at_most(most_between, URGENT_RUNS);
		expect_at_most(cut_short, 0);
	}
	return 0;
}

TEST(urgent_pair_leaves_turns_to_others)
{
	use_procs(1);
	EXPECT_EQ(weft_run(under_storm, .pairs = 1), 0);
}

TEST(urgent_chain_leaves_turns_to_others)
{
	use_procs(1);
	EXPECT_EQ(weft_run(under_storm, .chains = 3), 0);
}

TEST(urgent_storm_leaves_turns_to_others_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(under_storm, .pairs = 4, .chains = 3), 0);
}

/* ---- urgent ones from where there is no P */

static int asked, late, most_late;

static int
urgent_answers(void)
{
	store(&asked, 0);
	return 0;
}

/* One of many: queued as a normal one, the answer would come after all of them. */
static int
one_of_many(void)
{
	while (!load(&stop)) {
		if (load(&asked))
			add(&late, 1);
		weft_yield();
	}
	weft_wg_done(&all);
	return 0;
}

static void
ask_for_answers(int n)
{
	for (int i = 0; i < n;) {
		uint64_t before = retakes();

		store(&late, 0);
		store(&asked, 1);
		/* what runs at this moment, and what was already chosen, may be counted */
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), urgent_answers) > 1);
		store(&late, 0);
		while (load(&asked))
			sched_yield();
		if (!undisturbed(before))
			continue;
		if (load(&late) > most_late)
			most_late = load(&late);
		i++;
	}
}

static void *
thread_asks(void *arg)
{
	(void)arg;
	ask_for_answers(scaled(40));
	store(&stop, 1);
	return NULL;
}

/* It has lost its P as soon as others run, and makes only calls that do not want one back. */
static int
p_less_asks(void)
{
	add(&up, 1);
	while (!load(&release))
		;
	ask_for_answers(scaled(40));
	store(&stop, 1);
	weft_wg_done(&all);
	return 0;
}

static int
sets_release(void)
{
	store(&release, 1);
	weft_wg_done(&all);
	return 0;
}

static void
start_many(void)
{
	start(50, one_of_many);
}

static int
asked_by_thread(void)
{
	pthread_t t;

	start_many();
	t = start_thread(thread_asks, NULL);
	finish();
	join_thread(t);
	return 0;
}

static int
asked_without_p(void)
{
	start(1, p_less_asks);
	while (!load(&up))
		weft_yield();
	start_many();
	start(1, sets_release);
	finish();
	return 0;
}

TEST(urgent_from_a_plain_thread)
{
	use_procs(1);
	EXPECT_EQ(weft_run(asked_by_thread), 0);
	expect_at_most(most_late, 2);
}

TEST(urgent_from_a_plain_thread_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(asked_by_thread), 0);
}

TEST(urgent_from_a_goroutine_without_p)
{
	use_procs(1);
	EXPECT_EQ(weft_run(asked_without_p), 0);
	expect_at_most(most_late, 2);
}

/* ---- nobody gives way: the monitor does */

static int
hog(void)
{
	add(&up, 1);
	while (!load(&stop))
		;
	weft_wg_done(&all);
	return 0;
}

/* On a plain thread. Ends only if the urgent one gets a P. */
static void
start_urgent_and_wait(void)
{
	store(&urgent_left, 1);
	start_urgent(1, urgent);
	while (load(&urgent_left))
		sched_yield();
}

static void *
thread_frees(void *arg)
{
	(void)arg;
	while (load(&up) < 2)
		sched_yield();
	start_urgent_and_wait();
	store(&stop, 1);
	return NULL;
}

static int
among_hogs(void)
{
	pthread_t t = start_thread(thread_frees, NULL);

	start(2, hog);
	finish();
	join_thread(t);
	EXPECT(retakes() > 0);
	return 0;
}

TEST(urgent_gets_a_p_from_hogs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(among_hogs), 0);
}

/* Gives way now and then, so that it gets a P again; not often enough for the monitor to stay awake. */
static int
hog_in_turns(void)
{
	while (!load(&stop)) {
		int64_t until = os_now_ns() + 3000000;

		while (os_now_ns() < until)
			;
		weft_yield();
	}
	weft_wg_done(&all);
	return 0;
}

static void *
thread_hurries(void *arg)
{
	(void)arg;
	for (int i = 0; i < 30; i++) {
		usleep((useconds_t)(i % 5) * 3000); /* the monitor falls asleep, or not */
		start_urgent_and_wait();
	}
	store(&stop, 1);
	return NULL;
}

static int
monitor_wakes_for_urgent(void)
{
	pthread_t t = start_thread(thread_hurries, NULL);

	start(4, hog_in_turns);
	finish();
	join_thread(t);
	EXPECT(retakes() > 0); /* the turns are shorter than a slice: only urgent work takes a P */
	return 0;
}

/* MON-2 */
TEST(monitor_wakes_again_and_again_for_urgent)
{
	use_procs(2);
	EXPECT_EQ(weft_run(monitor_wakes_for_urgent), 0);
}

/* ---- the idle class ages: PRIO-3 */

static struct weft_mutex lock;
static int idle_ran;

static int
yields_on(void)
{
	add(&up, 1);
	while (!load(&stop))
		weft_yield();
	weft_wg_done(&all);
	return 0;
}

static int
idle_once(void)
{
	add(&idle_ran, 1);
	store(&stop, 1);
	return 0;
}

struct idle_under {
	int storm, hogs;
};

static int
idle_under(struct idle_under *a)
{
	uint64_t aged = at_load_rlx(&wf_n_aged); /* rlx: a counter */

	start(a->storm, yields_on);
	start(a->hogs, hog);
	while (load(&up) < a->storm + a->hogs)
		weft_yield();
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_once) > 1);
	finish();
	EXPECT_EQ(idle_ran, 1);
	if (weft_procs() == 1 && a->storm > 0)          /* no P was ever idle */
		EXPECT(at_load_rlx(&wf_n_aged) > aged); /* rlx: as above */
	return 0;
}

TEST(idle_gets_a_turn_among_yielders)
{
	use_procs(1);
	EXPECT_EQ(weft_run(idle_under, .storm = 10), 0);
}

TEST(idle_gets_a_turn_among_yielders_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(idle_under, .storm = 10), 0);
}

TEST(idle_gets_a_turn_beside_one_yielder)
{
	use_procs(1);
	EXPECT_EQ(weft_run(idle_under, .storm = 1), 0);
}

TEST(idle_gets_a_turn_among_hogs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(idle_under, .hogs = 4), 0);
}

static int
idle_holds_lock(void)
{
	EXPECT_EQ(weft_lock(&lock), 0);
	store(&idle_ran, 1);
	for (int i = 0; i < 3; i++) /* each time it waits to be old again */
		weft_yield();
	weft_unlock(&lock);
	return 0;
}

static int
lock_is_let_go(void)
{
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), idle_holds_lock) > 1);
	while (!load(&idle_ran))
		weft_yield();
	start(4, yields_on);
	EXPECT_EQ(weft_lock(&lock), 0);
	weft_unlock(&lock);
	store(&stop, 1);
	finish();
	return 0;
}

TEST(lock_of_an_idle_goroutine_is_let_go)
{
	use_procs(1);
	EXPECT_EQ(weft_run(lock_is_let_go), 0);
}

TEST(lock_of_an_idle_goroutine_is_let_go_on_two_procs)
{
	use_procs(2);
	EXPECT_EQ(weft_run(lock_is_let_go), 0);
}

/* ---- nothing is left behind */

static int
counts(void)
{
	weft_yield();
	add(&turns, 1);
	weft_wg_done(&all);
	return 0;
}

static int
while_resized(void)
{
	static const int prio[] = {WEFT_URGENT, WEFT_NORMAL, WEFT_IDLE};
	int n = scaled(300);

	weft_wg_add(&all, n);
	for (int i = 0; i < n; i++) {
		EXPECT(weft_go_with(WEFT_ATTR(.prio = prio[i % 3]), counts) > 1);
		if (i % 20 == 0)
			EXPECT(weft_set_procs(1 + i / 20 % 4) > 0);
	}
	finish();
	EXPECT_EQ(turns, n);
	expect_alone();
	EXPECT_EQ(at_load_acq(&wf_sched.due), 0); /* acq: PRIO-1; nobody else runs */
	return 0;
}

TEST(classes_while_procs_change)
{
	EXPECT_EQ(weft_run(while_resized), 0);
}

static int
spins(void)
{
	while (!load(&stop))
		;
	return 0;
}

static int
left_queued(void)
{
	struct weft_stats s = {.size = sizeof(s)};
	uint64_t before = retakes();

	for (int i = 0; i < 5; i++) {
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), spins) > 1);
		EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_IDLE), spins) > 1);
	}
	EXPECT_EQ(weft_stats(&s), 0);
#ifndef WF_TORTURE
	if (undisturbed(before))
		EXPECT_EQ(s.runqueue, 10);
#endif
	return 0;
}

TEST(queued_classes_end_with_the_run)
{
	use_procs(1);
	for (int i = 0; i < 3; i++) {
		store(&stop, 0);
		EXPECT_EQ(weft_run(left_queued), 0);
		store(&stop, 1);
		EXPECT_EQ(load(&weft_preempt_word), 1);
		EXPECT_EQ(at_load_acq(&wf_sched.due), 0); /* acq: nobody runs */
		EXPECT_EQ(wf_globq_size(&wf_urgentq), 0);
	}
}

/* ---- the dump says the class */

static int
says_class(void)
{
	weft_chan(int) ch = weft_make(int, 0);
	char text[20000];
	int ends[2];
	ssize_t n;

	weft_wg_add(&all, 1);
	EXPECT(weft_go_with(WEFT_ATTR(.prio = WEFT_URGENT), parked_urgent, ch) > 1);
	await_receivers(ch, 1);
	EXPECT_EQ(pipe(ends), 0);
	weft_dump(ends[1]);
	n = read(ends[0], text, sizeof(text) - 1);
	EXPECT(n > 0);
	text[n] = 0;
	EXPECT_HAS(text, "[chan receive, urgent class]");
	EXPECT_EQ(weft_send(ch, 1), 0);
	finish();
	weft_free(ch);
	return 0;
}

TEST(dump_says_the_class)
{
	EXPECT_EQ(weft_run(says_class), 0);
}
