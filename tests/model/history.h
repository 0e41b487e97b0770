/* SPDX-License-Identifier: MIT */
/*
 * history.h: each party runs a short list of operations on one or two channels; what they
 * returned must be explained by some order of them in which each took effect at once, on a
 * reference of a few lines.
 *
 * Orders keep that of each party. Where memory is sequentially consistent they also keep that of
 * time: what had returned before another began comes first. (With store buffers that cannot be
 * asked for: the last store of an operation may be seen late by those who look without a lock.)
 * Operations that have not returned at the end must have had no effect, and no chance.
 */
#ifndef WF_TESTS_HISTORY_H
#define WF_TESTS_HISTORY_H

#include "parties.h"

enum { PARTIES = 3, OPS = 4, CASES = 2, CHANS = 2, RING = 2, VALUES = 16 };

enum op_kind {
	OP_END,
	OP_SEND,
	OP_RECV,
	OP_TRY_SEND,
	OP_TRY_RECV,
	OP_CLOSE,
	OP_SELECT,
	OP_CANCEL, /* ch: the party whose group is cancelled */
	OP_GONE,   /* the memory of the channel is used for something else */
	OP_FREE,   /* the same by weft_chan_free */
	OP_SLEEP,  /* until it is cancelled */
};

struct op {
	uint8_t kind, ch;
	int value; /* sent: not 0, below VALUES, each once */
	struct {
		uint8_t kind, ch; /* OP_SEND or OP_RECV, or OP_END: none */
		int value;
	} cases[CASES];
	bool otherwise; /* a default case */
};

#define SEND(c, v) .kind = OP_SEND, .ch = (c), .value = (v)
#define RECV(c)    .kind = OP_RECV, .ch = (c)
#define DO_SEND(c, v)                                                                              \
	{                                                                                          \
		SEND(c, v)                                                                         \
	}
#define DO_RECV(c)                                                                                 \
	{                                                                                          \
		RECV(c)                                                                            \
	}
#define DO_TRY_SEND(c, v)                                                                          \
	{                                                                                          \
		.kind = OP_TRY_SEND, .ch = (c), .value = (v)                                       \
	}
#define DO_TRY_RECV(c)                                                                             \
	{                                                                                          \
		.kind = OP_TRY_RECV, .ch = (c)                                                     \
	}
#define DO_CLOSE(c)                                                                                \
	{                                                                                          \
		.kind = OP_CLOSE, .ch = (c)                                                        \
	}
#define DO_CANCEL(party)                                                                           \
	{                                                                                          \
		.kind = OP_CANCEL, .ch = (party)                                                   \
	}
#define DO_GONE(c)                                                                                 \
	{                                                                                          \
		.kind = OP_GONE, .ch = (c)                                                         \
	}
#define DO_FREE(c)                                                                                 \
	{                                                                                          \
		.kind = OP_FREE, .ch = (c)                                                         \
	}
#define DO_SLEEP                                                                                   \
	{                                                                                          \
		.kind = OP_SLEEP                                                                   \
	}
#define CASE(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define DO_SELECT(a, b)                                                                            \
	{                                                                                          \
		.kind = OP_SELECT, .cases = { a, b }                                               \
	}
#define DO_POLL(a, b)                                                                              \
	{                                                                                          \
		.kind = OP_SELECT, .cases = {a, b}, .otherwise = true                              \
	}

/* What an operation did. A select counts as the case that fired. */
struct done {
	const struct op *op;
	int kind, ch, rc;
	int64_t value;
	unsigned from, to; /* to 0: it has not returned */
};

struct plan {
	size_t cap[CHANS];
	bool fenced;           /* there is no membarrier */
	bool draws;            /* both draws among two ready cases are explored */
	bool holds_p[PARTIES]; /* has a P, and does not lose it */
	unsigned biased;       /* bit i: channel i is biased to the P of party 0 */
	bool grouped[PARTIES]; /* runs in the body of a group */
	struct op ops[PARTIES][OPS];
};

static struct {
	const struct plan *plan;
	struct wf_chan *ch[CHANS];
	struct weft_group group[PARTIES];
	struct done done[PARTIES][OPS];
	unsigned begun[PARTIES];
	bool over[PARTIES];
	bool time; /* the order of time counts */
	unsigned now;
	int met;
	char owned[VALUES];             /* what goes with each value: its holder may touch it */
	char told[CHANS];               /* what goes with a close, by its only closer ... */
	const struct op *closer[CHANS]; /* ... or NULL */
} h;

/* ---- running */

static int
run_sleep(void)
{
	struct wf_m *m = wf_enter(WF_CALL_B);
	int rc = wf_sleep_until(&m, WF_NEVER);

	wf_leave(m);
	return rc;
}

/* The calls are out of line: their frames lie below this one's, and are overwritten. */
static int
run_select(struct done *d)
{
	const struct op *op = d->op;
	struct weft_case cases[CASES + 1] = {0};
	int64_t value[CASES] = {0};
	int ok = 0, rc;

	for (int i = 0; i < CASES; i++) {
		value[i] = op->cases[i].value;
		cases[i].chan_ = h.ch[op->cases[i].ch];
		cases[i].elem_ = &value[i];
		cases[i].ok_ = &ok;
		if (op->cases[i].kind != OP_END)
			cases[i].kind_ =
			    op->cases[i].kind == OP_SEND ? WEFT_CASE_SEND : WEFT_CASE_RECV;
	}
	cases[CASES].kind_ = WEFT_CASE_DEFAULT;
	rc = weft_selectv(cases, CASES + op->otherwise);
	forget_frames();
	memset(cases, RUBBISH, sizeof(cases));
	__asm__ volatile("" ::"r"(cases) : "memory");
	if (rc < 0 || rc == CASES)
		return rc < 0 ? rc : -EAGAIN;
	d->kind = op->cases[rc].kind;
	d->ch = op->cases[rc].ch;
	d->value = value[rc];
	return d->kind == OP_RECV ? ok : 0;
}

static int
run_call(struct done *d)
{
	struct wf_chan *ch = h.ch[d->ch];
	int rc = 0;

	switch ((enum op_kind)d->kind) {
	case OP_SEND:
		rc = weft_chan_send(ch, &d->value);
		break;
	case OP_RECV:
		rc = weft_chan_recv(ch, &d->value);
		break;
	case OP_TRY_SEND:
		rc = weft_chan_try_send(ch, &d->value);
		break;
	case OP_TRY_RECV:
		rc = weft_chan_try_recv(ch, &d->value);
		break;
	case OP_CLOSE:
		rc = weft_chan_close(ch);
		break;
	case OP_CANCEL:
		rc = weft_cancel(&h.group[d->op->ch]);
		break;
	case OP_GONE:
		heap_end(ch);
		break;
	case OP_FREE:
		weft_chan_free(ch);
		break;
	case OP_SELECT:
		return run_select(d);
	case OP_SLEEP:
		rc = run_sleep();
		break;
	case OP_END:
		break;
	}
	forget_frames();
	return rc;
}

/* What the program does with values it holds, and before it closes: the channel orders it. */
static void
touch_before(const struct op *op)
{
	if (op->value)
		sim_plain_write(&h.owned[op->value]);
	for (int i = 0; i < CASES; i++)
		if (op->cases[i].value)
			sim_plain_write(&h.owned[op->cases[i].value]);
	if (op->kind == OP_CLOSE && h.closer[op->ch] == op)
		sim_plain_write(&h.told[op->ch]);
}

static bool
is_send(const struct done *d)
{
	return d->kind == OP_SEND || d->kind == OP_TRY_SEND;
}

static bool
is_recv(const struct done *d)
{
	return d->kind == OP_RECV || d->kind == OP_TRY_RECV;
}

static void
touch_after(const struct done *d)
{
	const struct op *op = d->op;
	int64_t sent = is_send(d) && d->rc == 0 ? d->value : 0;

	if (is_recv(d) && d->rc == 1) {
		SIM_CHECK(d->value > 0 && d->value < VALUES);
		sim_plain_write(&h.owned[d->value]);
	}
	if (op->value && op->value != sent) /* not sent: it is still ours */
		sim_plain_write(&h.owned[op->value]);
	for (int i = 0; i < CASES; i++)
		if (op->cases[i].value && op->cases[i].value != sent)
			sim_plain_write(&h.owned[op->cases[i].value]);
	if (is_recv(d) ? d->rc == 0 : is_send(d) && d->rc == -EPIPE)
		if (h.closer[d->ch])
			sim_plain_read(&h.told[d->ch]);
}

static void
run_list(unsigned party)
{
	for (const struct op *op = h.plan->ops[party]; op < h.plan->ops[party] + OPS && op->kind;
	     op++) {
		struct done *d = &h.done[party][h.begun[party]++];

		d->op = op;
		d->kind = op->kind;
		d->ch = op->ch < CHANS ? op->ch : 0;
		d->value = op->value ? op->value : -1; /* a receive must write it */
		touch_before(op);
		d->from = ++h.now;
		d->rc = run_call(d);
		d->to = ++h.now;
		sim_note("returned %d, value %lld", d->rc, (long long)d->value);
		touch_after(d);
	}
	if (h.plan->grouped[party]) {
		weft_group_close(&h.group[party]);
		forget_frames();
	}
	h.over[party] = true;
	for (unsigned i = 0; i < PARTIES; i++)
		if (!h.over[i] && h.plan->ops[i][0].kind)
			return;
	memset(h.group, RUBBISH, sizeof(h.group)); /* nobody is in one, or cancels it */
	sim_quiet(true);                           /* goroutines and their Ms come to rest */
}

static WF_UNUSED void
party(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	run_list(i);
}

static void
find_closers(void)
{
	bool many[CHANS] = {0};

	for (const struct op *op = h.plan->ops[0]; op < h.plan->ops[PARTIES]; op++)
		if (op->kind == OP_CLOSE) {
			many[op->ch] |= h.closer[op->ch] != NULL;
			h.closer[op->ch] = many[op->ch] ? NULL : op;
		}
}

/* In setup, as the party would. */
static void
open_group(unsigned party, struct wf_m *m, struct wf_g *g)
{
	wf_m_set(m);
	m->g = g;
	weft_group_open(&h.group[party], NULL, "here");
	m->g = NULL;
	wf_m_set(NULL);
	sim_name(&wf_group_of(&h.group[party])->cancelled, "group%u.cancelled", party);
}

/* In setup, after the Ms: party i is M first + i; but if first is not 0, party 0 is G 0. */
static void
history_reset(const struct plan *plan, unsigned first, bool time)
{
	uint64_t seed = plan->draws && sim_choose(2) ? 7 : 1; /* their first draws differ */

	memset(&h, 0, sizeof(h));
	h.plan = plan;
	h.time = time;
	find_closers();
	wf_sched.fenced = plan->fenced;
	wf_sched.held = plan->fenced ? WF_FENCED : WF_HELD;
	for (int i = 0; i < CHANS; i++)
		h.ch[i] = make_chan(plan->cap[i]);
	for (unsigned i = 0; i < PARTIES; i++) {
		rig.m[first + i].rand.s = seed;
		if (plan->holds_p[i])
			give_p(&rig.m[first + i], &rig.p[i]);
	}
	for (int i = 0; i < CHANS; i++)
		if (plan->biased >> i & 1)
			bias(h.ch[i], &rig.p[0]);
	for (unsigned i = 0; i < PARTIES; i++)
		if (plan->grouped[i])
			open_group(i, &rig.m[first + i], first > 0 && i == 0 ? &rig.g[0] : NULL);
}

/* Party 0 as a goroutine, perhaps party 1 too, the others as plain threads: Ms from FIRST_PLAIN. */
static WF_UNUSED int
goroutine(void *arg)
{
	(void)arg;
	sim_quiet(false);
	run_list(0);
	sleep_for_ever();
}

static WF_UNUSED int
goroutine_after(void *arg)
{
	(void)arg;
	run_list(1);
	sleep_for_ever();
}

/* They begin together: up to here all is quiet. */
static void
meet_the_other(void)
{
	if (++h.met < 2) {
		sim_block(&h.met);
	} else {
		sim_quiet(false);
		sim_wake(&h.met, 1);
	}
}

static WF_UNUSED int
goroutine_0(void *arg)
{
	(void)arg;
	meet_the_other();
	run_list(0);
	sleep_for_ever();
}

static WF_UNUSED int
goroutine_1(void *arg)
{
	(void)arg;
	meet_the_other();
	run_list(1);
	sleep_for_ever();
}

static WF_UNUSED void
beside_goroutine(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[FIRST_PLAIN + i]);
	run_list(i);
}

/* ---- the reference */

struct ref {
	unsigned at[PARTIES]; /* the first that has not taken effect */
	struct {
		unsigned fill;
		int64_t ring[RING];
		bool closed;
	} ch[CHANS];
};

static struct done *
next_of(const struct ref *r, unsigned party)
{
	return r->at[party] < h.begun[party] ? &h.done[party][r->at[party]] : NULL;
}

/* May the next operation of a party be the next of all? */
static bool
may_be_next(const struct ref *r, unsigned party)
{
	const struct done *d = next_of(r, party);

	if (!d || !d->to)
		return false;
	for (unsigned i = 0; i < PARTIES && h.time; i++) {
		const struct done *o = next_of(r, i);

		if (o && o->to && o->to < d->from)
			return false;
	}
	return true;
}

/* A case of a select, or a try, that did not fire: could it have? */
static bool
was_ready(const struct ref *r, int kind, int c)
{
	if (kind == OP_SEND || kind == OP_TRY_SEND)
		return r->ch[c].closed || r->ch[c].fill < h.plan->cap[c];
	if (kind == OP_RECV || kind == OP_TRY_RECV)
		return r->ch[c].closed || r->ch[c].fill > 0;
	return false;
}

static bool
cases_ready(const struct ref *r, const struct op *op)
{
	bool ready = false;

	for (int i = 0; i < CASES; i++)
		ready |= was_ready(r, op->cases[i].kind, op->cases[i].ch);
	return ready;
}

static bool
sends_to_closed(const struct ref *r, const struct done *d)
{
	if (d->kind != OP_SELECT)
		return is_send(d) && r->ch[d->ch].closed;
	for (int i = 0; i < CASES; i++)
		if (d->op->cases[i].kind == OP_SEND && r->ch[d->op->cases[i].ch].closed)
			return true;
	return false;
}

/* The operation takes effect: could it have returned what it did? */
static bool
takes_effect(struct ref *r, const struct done *d)
{
	size_t cap = h.plan->cap[d->ch];

	if (d->rc == -ECANCELED || d->rc == -ENOTSUP) /* nothing was done */
		return true;
	if (d->rc == -EAGAIN)
		return d->kind == OP_SELECT ? !cases_ready(r, d->op)
					    : !was_ready(r, d->kind, d->ch);
	if (d->kind == OP_CLOSE) {
		bool was = r->ch[d->ch].closed;

		r->ch[d->ch].closed = true;
		return d->rc == (was ? -EPIPE : 0);
	}
	if (d->rc == -EPIPE)
		return sends_to_closed(r, d);
	if (is_send(d)) {
		if (d->rc != 0 || r->ch[d->ch].closed || r->ch[d->ch].fill == cap)
			return false;
		r->ch[d->ch].ring[r->ch[d->ch].fill++] = d->value;
		return true;
	}
	if (is_recv(d)) {
		if (r->ch[d->ch].fill == 0)
			return r->ch[d->ch].closed && d->rc == 0 && d->value == 0;
		if (d->rc != 1 || r->ch[d->ch].ring[0] != d->value)
			return false;
		r->ch[d->ch].fill--;
		for (unsigned i = 0; i < r->ch[d->ch].fill; i++)
			r->ch[d->ch].ring[i] = r->ch[d->ch].ring[i + 1];
		return true;
	}
	return d->rc == 0; /* cancel, free */
}

/* Unbuffered: both take effect at once; one of them has waited for the other. */
static bool
meet(const struct ref *r, const struct done *s, const struct done *d)
{
	return is_send(s) && is_recv(d) && s->ch == d->ch && h.plan->cap[s->ch] == 0 &&
	       !r->ch[s->ch].closed && s->rc == 0 && d->rc == 1 && s->value == d->value &&
	       !(s->kind == OP_TRY_SEND && d->kind == OP_TRY_RECV);
}

/* Is there anything an operation that sleeps at the end could do? */
static bool
rightly_asleep(const struct ref *r)
{
	unsigned sends[CHANS] = {0}, recvs[CHANS] = {0}; /* bit i: party i */

	for (unsigned i = 0; i < PARTIES; i++) {
		const struct done *d = next_of(r, i);

		if (!d && !h.over[i] && h.plan->ops[i][0].kind)
			return false;
		if (!d)
			continue;
		if (d->kind == OP_SELECT ? cases_ready(r, d->op) : was_ready(r, d->kind, d->ch))
			return false;
		for (int c = 0; d->kind == OP_SELECT && c < CASES; c++) {
			unsigned *set = d->op->cases[c].kind == OP_SEND ? sends : recvs;

			if (d->op->cases[c].kind != OP_END)
				set[d->op->cases[c].ch] |= 1u << i;
		}
		if (is_send(d))
			sends[d->ch] |= 1u << i;
		if (is_recv(d))
			recvs[d->ch] |= 1u << i;
		if (h.plan->grouped[i] && wf_group_of(&h.group[i])->cancelled.v)
			return false;
		if (!is_send(d) && !is_recv(d) && d->kind != OP_SELECT)
			return false;
	}
	for (int c = 0; c < CHANS; c++) /* unbuffered: two that could meet, not one with itself */
		if (h.plan->cap[c] == 0 && sends[c] && recvs[c] &&
		    (sends[c] != recvs[c] || (sends[c] & (sends[c] - 1))))
			return false;
	return true;
}

static bool
explained(const struct ref *r)
{
	bool all = true;

	for (unsigned i = 0; i < PARTIES; i++) {
		const struct done *d = next_of(r, i);
		struct ref after = *r;

		if (!d || !d->to)
			continue;
		all = false;
		if (!may_be_next(r, i))
			continue;
		after.at[i]++;
		if (takes_effect(&after, d) && explained(&after))
			return true;
		for (unsigned j = 0; j < PARTIES; j++) {
			if (j == i || !may_be_next(r, j) || !meet(r, d, next_of(r, j)))
				continue;
			after = *r;
			after.at[i]++;
			after.at[j]++;
			if (explained(&after))
				return true;
		}
	}
	return all && rightly_asleep(r);
}

static WF_UNUSED void
check_history(void)
{
	struct ref r = {0};

	if (explained(&r))
		return;
	for (unsigned i = 0; i < PARTIES; i++)
		for (unsigned k = 0; k < h.begun[i]; k++) {
			const struct done *d = &h.done[i][k];

			if (d->to)
				sim_note("party %u: kind %d on %d: %d, value %lld, %u to %u", i,
					 d->kind, d->ch, d->rc, (long long)d->value, d->from,
					 d->to);
			else
				sim_note("party %u: kind %d on %d sleeps", i, d->kind, d->ch);
		}
	sim_fail("no order of the operations explains what they returned");
}

#define PARTY(i)                                                                                   \
	{                                                                                          \
		party, (void *)(uintptr_t)(i), false                                               \
	}

/* PLAN(id, fields of the plan), then SCENARIO(id) = {OF_TWO(id), ...}: all are plain threads.
   IN_TIME_TWO(id) instead: the order of time counts. */
#define PLAN(id, ...)                                                                              \
	static const struct plan plan_##id = {__VA_ARGS__};                                        \
	static void setup_##id(void)                                                               \
	{                                                                                          \
		parties_reset(PARTIES);                                                            \
		history_reset(&plan_##id, 0, false);                                               \
	}                                                                                          \
	static void WF_UNUSED setup_in_time_##id(void)                                             \
	{                                                                                          \
		parties_reset(PARTIES);                                                            \
		history_reset(&plan_##id, 0, true);                                                \
	}

#define OF_PARTIES(...) .threads = {__VA_ARGS__}, .check_end = check_history, .blocked_ok = true
#define OF_TWO(id)      .setup = setup_##id, OF_PARTIES(PARTY(0), PARTY(1))
#define OF_THREE(id)    .setup = setup_##id, OF_PARTIES(PARTY(0), PARTY(1), PARTY(2))
#define IN_TIME_TWO(id) .setup = setup_in_time_##id, .model = SIM_SC, OF_PARTIES(PARTY(0), PARTY(1))
#define IN_TIME_THREE(id)                                                                          \
	.setup = setup_in_time_##id, .model = SIM_SC, OF_PARTIES(PARTY(0), PARTY(1), PARTY(2))

/* The same with a goroutine for party 0. */
#define GO_PLAN(id, ...)                                                                           \
	static const struct plan plan_##id = {__VA_ARGS__};                                        \
	static void setup_##id(void)                                                               \
	{                                                                                          \
		goroutines_reset(PARTIES, false);                                                  \
		history_reset(&plan_##id, FIRST_PLAIN, false);                                     \
		add_g(0, &rig.p[0], goroutine);                                                    \
	}

#define BESIDE(i)                                                                                  \
	{                                                                                          \
		beside_goroutine, (void *)(uintptr_t)(i), false                                    \
	}
#define M0                                                                                         \
	{                                                                                          \
		rig_m_main, &rig.m[0], false                                                       \
	}
#define M1                                                                                         \
	{                                                                                          \
		rig_m_main, &rig.m[1], false                                                       \
	}

/* With goroutines for parties 0 and 1, each on its own M and P. */
#define GO_GO_PLAN(id, ...)                                                                        \
	static const struct plan plan_##id = {__VA_ARGS__};                                        \
	static void setup_##id(void)                                                               \
	{                                                                                          \
		goroutines_reset(PARTIES, true);                                                   \
		history_reset(&plan_##id, FIRST_PLAIN, false);                                     \
		add_g(0, &rig.p[0], goroutine_0);                                                  \
		add_g(1, &rig.p[1], goroutine_1);                                                  \
	}

/* The same on one P, that of party 0, beside a thief. */
#define GO_SAME_PLAN(id, ...)                                                                      \
	static const struct plan plan_##id = {__VA_ARGS__};                                        \
	static void setup_##id(void)                                                               \
	{                                                                                          \
		goroutines_reset(PARTIES, true);                                                   \
		history_reset(&plan_##id, FIRST_PLAIN, false);                                     \
		add_g(0, &rig.p[0], goroutine);                                                    \
		add_g(1, &rig.p[0], goroutine_after);                                              \
	}
#define GO_GO(id)       .setup = setup_##id, OF_PARTIES(M0, M1)
#define GO_GO_THREE(id) .setup = setup_##id, OF_PARTIES(M0, M1, BESIDE(2))

#define GO_TWO(id)   .setup = setup_##id, OF_PARTIES(M0, BESIDE(1))
#define GO_THREE(id) .setup = setup_##id, OF_PARTIES(M0, BESIDE(1), BESIDE(2))

#endif
