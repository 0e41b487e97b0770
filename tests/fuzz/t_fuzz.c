/* SPDX-License-Identifier: MIT */
/*
 * t_fuzz.c: random small programs of channel operations; their histories are judged by rules and,
 * where they are short, by a search for an order in which a plain queue would have done the same.
 *
 * Environment: WEFT_FUZZ_SECONDS  per test (4; less with the sanitizers)
 *              WEFT_FUZZ_PROGRAM  the seed of one program, to be run again and again; a failure
 *                                 prints it
 */
#include "integ/helpers.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

enum {
	CHANS = 3,
	CASES = 4,
	PARTIES = 7,
	STEPS = 8, /* of one party */
	OPS_MAX = PARTIES * STEPS,
	SHORT = 12,       /* operations; more would take the search too long */
	PER_RUN = 100,    /* programs in one run of the runtime */
	SEEN = 1 << 15,   /* states that the search remembers */
	VALUES = 8,       /* values that one operation may send: one for each case */
	NEVER = INT_MAX,  /* a stamp: later than all */
	THREAD_GROUP = 2, /* groups 0 and 1 are the goroutines' */
};

enum kind { SEND, RECV, TRY_SEND, TRY_RECV, SELECT, CLOSE, LEN, CANCEL, ASK, LOCK, YIELD, KINDS };
static const char *const kind_names[] = {"send",       "recv",  "try_send", "try_recv",
					 "select",     "close", "len",      "cancel",
					 "cancelled?", "lock",  "yield"};

struct one_case {
	int ch; /* CHANS: a NULL channel */
	bool sends;
};

struct op {
	/* the program */
	enum kind kind;
	int id, party, group, n;
	struct one_case c[CASES]; /* c[0]: of any operation on one channel */
	bool otherwise;           /* select: has a default, the last case */
	bool expired;             /* inside a deadline that has passed */
	/* the history */
	int inv, resp; /* stamps */
	int rc;
	int ch; /* where it took effect, or -1 */
	bool sent, received;
	int value;
};

struct party {
	struct op *ops[STEPS];
	int n;
	int group;
	bool thread;
	pthread_t id;
};

/* One program, and what happened. */
static struct {
	uint64_t seed;
	int chans, cap[CHANS], parties, nops, patience;
	bool warm[CHANS];
	struct party party[PARTIES];
	struct op op[OPS_MAX];
	weft_chan(int) ch[CHANS + 1];
	struct weft_group *group[PARTIES + THREAD_GROUP];
	int cancel_inv[PARTIES + THREAD_GROUP], cancel_resp[PARTIES + THREAD_GROUP];
	int left[CHANS][OPS_MAX * VALUES], nleft[CHANS]; /* in the channels at the end */
	int clock;
	int released;
	struct weft_mutex mutex;
	int locked_count, locks;
} now;

static int
below(uint64_t *r, int n)
{
	return (int)(test_rand(r) % (unsigned)n);
}

/* ---- a program from its seed */

static void
make_op(struct op *op, uint64_t *r, int party, int id)
{
	static const enum kind often[] = {SEND,   SEND,   RECV,     RECV,    SELECT,
					  SELECT, SELECT, TRY_SEND, TRY_RECV};

	*op = (struct op){
	    .id = id, .party = party, .group = now.party[party].group, .n = 1, .ch = -1};
	op->kind = below(r, 4) ? often[below(r, sizeof(often) / sizeof(often[0]))]
			       : (enum kind)below(r, KINDS);
	if (op->kind == CANCEL && (below(r, 4) || op->group >= THREAD_GROUP))
		op->kind = ASK;
	if (op->kind == CLOSE && below(r, 2))
		op->kind = LEN;
	if (op->kind == SELECT) {
		op->n = 1 + below(r, CASES);
		op->otherwise = below(r, 4) == 0;
	}
	for (int i = 0; i < op->n; i++) {
		op->c[i].ch = below(r, now.chans);
		op->c[i].sends =
		    op->kind == SELECT ? below(r, 2) : op->kind == SEND || op->kind == TRY_SEND;
		if (op->kind == SELECT && below(r, 16) == 0)
			op->c[i].ch = CHANS;
	}
	op->expired = below(r, 16) == 0;
}

static void
make_program(uint64_t seed, bool small)
{
	uint64_t r = seed;
	int budget;

	memset(&now, 0, sizeof(now));
	now.seed = seed;
	now.chans = 1 + below(&r, small ? 2 : CHANS);
	for (int i = 0; i < now.chans; i++) {
		now.cap[i] = below(&r, 4);
		now.warm[i] = below(&r, 4) == 0;
	}
	now.parties = 2 + below(&r, small ? 3 : PARTIES - 1);
	now.patience = below(&r, 4) ? below(&r, 20) : below(&r, 200);
	budget = small ? SHORT : OPS_MAX;
	for (int p = 0; p < now.parties; p++) {
		struct party *party = &now.party[p];
		int steps = 1 + below(&r, small ? 4 : STEPS);

		party->thread = below(&r, 40) == 0;
		party->group = party->thread ? THREAD_GROUP + p : below(&r, 2);
		for (; party->n < steps && budget > 0; budget--) {
			struct op *op = &now.op[now.nops];

			make_op(op, &r, p, now.nops++);
			party->ops[party->n++] = op;
		}
	}
}

/* ---- the program runs */

static int
stamp(void)
{
	return add(&now.clock, 1);
}

static void
do_select(struct op *op)
{
	int value[CASES], got[CASES], ok[CASES], n = op->n;
	struct weft_case cases[CASES + 1];

	for (int i = 0; i < op->n; i++) {
		weft_chan(int) ch = now.ch[op->c[i].ch];

		value[i] = op->id * VALUES + i + 1;
		got[i] = ok[i] = -1;
		cases[i] =
		    op->c[i].sends ? WEFT_SEND_FROM(ch, &value[i]) : WEFT_RECV(ch, &got[i], &ok[i]);
	}
	if (op->otherwise)
		cases[n++] = WEFT_DEFAULT;
	op->rc = weft_selectv(cases, n);
	for (int i = 0; i < op->n; i++) { /* nothing is written but by the case that fired */
		bool fired = op->rc == i && !op->c[i].sends;

		if ((got[i] != -1) != fired || (ok[i] != -1) != fired)
			test_fail(__FILE__, __LINE__, "op %d: case %d was touched", op->id, i);
	}
	if (op->rc < 0 || op->rc >= op->n)
		return;
	op->ch = op->c[op->rc].ch;
	op->sent = op->c[op->rc].sends;
	op->received = !op->sent && ok[op->rc] == 1;
	op->value = op->sent ? value[op->rc] : got[op->rc];
}

static void
do_lock(struct op *op)
{
	int n;

	op->rc = weft_lock(&now.mutex);
	n = now.locked_count; /* not atomic: the lock protects it */
	if (op->id % 2)
		weft_yield();
	now.locked_count = n + 1;
	weft_unlock(&now.mutex);
	add(&now.locks, 1);
}

static void
do_op(struct op *op)
{
	weft_chan(int) ch = now.ch[op->c[0].ch];
	int got = -1;

	op->ch = -1;
	switch (op->kind) {
	case SEND:
	case TRY_SEND:
		op->value = op->id * VALUES + 1;
		op->rc = op->kind == SEND ? weft_send(ch, op->value) : weft_try_send(ch, op->value);
		op->sent = op->rc == 0;
		op->ch = op->c[0].ch;
		break;
	case RECV:
	case TRY_RECV:
		op->rc = op->kind == RECV ? weft_recv(ch, &got) : weft_try_recv(ch, &got);
		op->received = op->rc == 1;
		op->value = got;
		op->ch = op->c[0].ch;
		break;
	case SELECT:
		do_select(op);
		break;
	case CLOSE:
		op->rc = weft_close(ch);
		break;
	case LEN:
		op->rc = (int)weft_len(ch);
		break;
	case CANCEL:
		op->rc = weft_cancel(now.group[op->group]);
		break;
	case ASK:
		op->rc = weft_cancelled();
		break;
	case LOCK:
		do_lock(op);
		break;
	default:
		weft_yield();
	}
}

static void
cancel_group(int group)
{
	int inv = stamp(), none = 0;

	__atomic_compare_exchange_n(&now.cancel_inv[group], &none, inv, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	EXPECT_EQ(weft_cancel(now.group[group]), 0);
	none = 0;
	__atomic_compare_exchange_n(&now.cancel_resp[group], &none, stamp(), false,
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void
do_party(struct party *p)
{
	for (int i = 0; i < p->n; i++) {
		struct op *op = p->ops[i];

		if (op->kind == CANCEL) {
			op->inv = stamp();
			cancel_group(op->group);
			op->resp = stamp();
		} else if (op->expired) {
			weft_timeout(-1) {
				op->inv = stamp();
				do_op(op);
				op->resp = stamp();
			}
		} else {
			op->inv = stamp();
			do_op(op);
			op->resp = stamp();
		}
	}
}

struct goroutine {
	struct party *p;
};

static int
goroutine(struct goroutine *a)
{
	do_party(a->p);
	return 0;
}

static void *
thread(void *arg)
{
	struct party *p = arg;

	weft_group(g, NULL) {
		store(&now.group[p->group], g);
		do_party(p);
		weft_shield /* others cancel it; it may not be gone then */
		    while (!load(&now.released)) weft_yield();
	}
	return NULL;
}

/* Used by one P alone before anybody else comes. */
static void
warm_up(int k)
{
	for (int i = 0; i < 40; i++) {
		if (now.cap[k] > 0) {
			EXPECT_EQ(weft_try_send(now.ch[k], i), 0);
			EXPECT_EQ(weft_try_recv(now.ch[k], NULL), 1);
		} else {
			weft_timeout(-1)
				EXPECT_EQ(weft_recv(now.ch[k], NULL), -ETIMEDOUT);
		}
	}
}

static void
start_parties(int group)
{
	for (int i = 0; i < now.parties; i++)
		if (now.party[i].group == group)
			EXPECT(weft_go_in(now.group[group], goroutine, &now.party[i]) > 0);
}

static void
cancel_threads(void)
{
	for (int i = 0; i < now.parties; i++)
		if (now.party[i].thread) {
			while (!load(&now.group[now.party[i].group]))
				weft_yield();
			cancel_group(now.party[i].group);
		}
}

static void
run_program(void)
{
	uint64_t r = now.seed ^ (uint64_t)now.clock;
	int v;

	for (int i = 0; i < now.chans; i++) {
		now.ch[i] = weft_make(int, (size_t)now.cap[i]);
		if (now.warm[i])
			warm_up(i);
	}
	for (int i = 0; i < now.parties; i++)
		if (now.party[i].thread)
			now.party[i].id = start_thread(thread, &now.party[i]);
	weft_group(outer, NULL) {
		now.group[0] = outer;
		start_parties(0);
		weft_group(inner, NULL) {
			now.group[1] = inner;
			start_parties(1);
			for (int n = now.patience; n > 0; n--)
				weft_yield();
			switch (below(&r, 3)) { /* somebody may wait for ever: that ends here */
			case 0:
				cancel_group(0);
				break;
			default:
				cancel_group(1);
			}
		}
		cancel_group(0);
		cancel_threads();
	}
	store(&now.released, 1);
	for (int i = 0; i < now.parties; i++)
		if (now.party[i].thread)
			join_thread(now.party[i].id);
	for (int k = 0; k < now.chans; k++) {
		while (weft_try_recv(now.ch[k], &v) > 0)
			now.left[k][now.nleft[k]++] = v;
		weft_free(now.ch[k]);
	}
}

/* ---- what went wrong */

static int
show_op(char *text, size_t n, const struct op *op)
{
	int at = snprintf(text, n, "  [%3d %3d] party %d group %d op %2d %s", op->inv, op->resp,
			  op->party, op->group, op->id, kind_names[op->kind]);

	for (int i = 0; i < op->n && op->kind <= LEN; i++)
		at += snprintf(text + at, n - (size_t)at, " %c%s%s",
			       op->c[i].ch == CHANS ? '-' : 'a' + op->c[i].ch,
			       op->kind == SELECT ? op->c[i].sends ? "<-" : "->" : "",
			       i == op->n - 1 && op->otherwise ? " default" : "");
	at +=
	    snprintf(text + at, n - (size_t)at, "%s: %d", op->expired ? " (expired)" : "", op->rc);
	if (op->sent || op->received)
		at += snprintf(text + at, n - (size_t)at, " %s %d", op->sent ? "sent" : "got",
			       op->value);
	return at + snprintf(text + at, n - (size_t)at, "\n");
}

__attribute__((noreturn)) static void
wrong(const char *what, const struct op *a, const struct op *b)
{
	char text[3500];
	int at = 0;

	for (int i = 0; i < now.nops && at < 3000; i++)
		at += show_op(text + at, sizeof(text) - (size_t)at, &now.op[i]);
	test_fail(__FILE__, __LINE__,
		  "%s (op %d, op %d)\nreplay with WEFT_FUZZ_PROGRAM=0x%llx\n"
		  "caps %d %d %d, cancels at %d %d\n%s",
		  what, a ? a->id : -1, b ? b->id : -1, (unsigned long long)now.seed, now.cap[0],
		  now.cap[1], now.cap[2], now.cancel_inv[0], now.cancel_inv[1], text);
}

/* ---- the rules */

static int
close_inv(int ch, bool done) /* done: when it was closed for sure; else the earliest moment */
{
	int at = NEVER;

	for (int i = 0; i < now.nops; i++) {
		struct op *op = &now.op[i];

		if (op->kind == CLOSE && op->c[0].ch == ch && (!done || op->rc == 0)) {
			int s = done ? op->resp : op->inv;

			at = s < at ? s : at;
		}
	}
	return at;
}

static int
cancelled_at(int group, const int *stamps)
{
	int at = stamps[group] ? stamps[group] : NEVER;

	if (group == 1 && stamps[0] && stamps[0] < at)
		at = stamps[0];
	return at;
}

static bool
may_send_on_closed(const struct op *op)
{
	for (int i = 0; i < op->n; i++)
		if (op->c[i].sends && op->c[i].ch < CHANS &&
		    close_inv(op->c[i].ch, false) < op->resp)
			return true;
	return false;
}

static void
check_result(const struct op *op)
{
	bool tries = op->kind == TRY_SEND || op->kind == TRY_RECV;
	bool waits = op->kind == SEND || op->kind == RECV || (op->kind == SELECT && !op->otherwise);
	int closed = op->ch >= 0 && op->ch < CHANS ? close_inv(op->ch, true) : NEVER;

	if (op->rc == -ECANCELED) {
		if (!waits || cancelled_at(op->group, now.cancel_inv) > op->resp)
			wrong("cancelled without a cancel", op, NULL);
	} else if (op->rc == -ETIMEDOUT) {
		if (!waits || !op->expired)
			wrong("timed out without a deadline", op, NULL);
	} else if (op->rc == -EAGAIN) {
		if (!tries)
			wrong("-EAGAIN", op, NULL);
	} else if (op->rc == -EPIPE) {
		if (op->kind == CLOSE ? close_inv(op->c[0].ch, false) > op->resp
				      : !may_send_on_closed(op))
			wrong("-EPIPE on an open channel", op, NULL);
	} else if (op->rc < 0) {
		wrong("an unknown error", op, NULL);
	}
	if (op->sent && op->inv > closed)
		wrong("sent on a closed channel", op, NULL);
	if ((op->kind == RECV || op->kind == TRY_RECV) && op->rc == 0 &&
	    close_inv(op->ch, false) > op->resp)
		wrong("an open channel is closed", op, NULL);
	if (op->ch >= 0 && op->rc >= 0 && !op->sent && !op->received && op->value != 0)
		wrong("closed, and not zeroed", op, NULL);
	if (op->kind == LEN && (op->rc > now.cap[op->c[0].ch]))
		wrong("longer than its capacity", op, NULL);
	if (op->kind == ASK && !op->expired) {
		if (op->rc && cancelled_at(op->group, now.cancel_inv) > op->resp)
			wrong("cancelled too early", op, NULL);
		if (!op->rc && cancelled_at(op->group, now.cancel_resp) < op->inv)
			wrong("not cancelled", op, NULL);
	}
}

static struct op *
sender_of(int value)
{
	return &now.op[(value - 1) / VALUES];
}

/* The operation that received what op has sent; or NULL: it is left over. */
static const struct op *
receiver_of(const struct op *op)
{
	const struct op *found = NULL;

	for (int i = 0; i < now.nops; i++)
		if (now.op[i].received && now.op[i].value == op->value) {
			if (found)
				wrong("received twice", found, &now.op[i]);
			found = &now.op[i];
		}
	for (int i = 0; i < now.nleft[op->ch]; i++)
		if (now.left[op->ch][i] == op->value) {
			if (found)
				wrong("received, and left over", found, op);
			return NULL;
		}
	if (!found)
		wrong("lost", op, NULL);
	return found;
}

/* Two sends on one channel, one wholly before the other: so are the receives, or they overlap. */
static void
check_order(const struct op *a, const struct op *b)
{
	const struct op *ra, *rb;

	if (a->ch != b->ch || a->resp > b->inv)
		return;
	ra = receiver_of(a);
	rb = receiver_of(b);
	if (rb && (!ra || rb->resp < ra->inv))
		wrong("out of order", a, b);
}

/* When a send returns, at most cap values are in there that nobody has begun to receive. */
static void
check_room(const struct op *last)
{
	int n = 0;

	for (int i = 0; i < now.nops; i++) {
		const struct op *op = &now.op[i], *r;

		if (!op->sent || op->ch != last->ch || op->resp > last->resp)
			continue;
		r = receiver_of(op);
		n += !r || r->inv > last->resp;
	}
	if (n > now.cap[last->ch])
		wrong("more than the channel holds", last, NULL);
}

static void
check_received(const struct op *op)
{
	const struct op *s;

	if (op->value < 1 || op->value > now.nops * VALUES)
		wrong("received what nobody sends", op, NULL);
	s = sender_of(op->value);
	if (!s->sent || s->value != op->value)
		wrong("received what was not sent", op, s);
	if (s->ch != op->ch)
		wrong("received from another channel", op, s);
	if (s->inv > op->resp)
		wrong("received before it was sent", op, s);
}

/* A receive that says "closed and drained": what was sent before is gone. */
static void
check_drained(const struct op *op)
{
	for (int i = 0; i < now.nops; i++) {
		const struct op *s = &now.op[i], *r;

		if (!s->sent || s->ch != op->ch || s->resp > op->inv)
			continue;
		r = receiver_of(s);
		if (!r || r->inv > op->resp)
			wrong("drained, and there is a value", op, s);
	}
}

static void
check_history(void)
{
	int closes[CHANS] = {0};

	if (now.locked_count != now.locks)
		wrong("two in the lock", NULL, NULL);
	for (int i = 0; i < now.nops; i++) {
		const struct op *op = &now.op[i];

		check_result(op);
		if (op->received)
			check_received(op);
		else if (op->sent)
			check_room(op);
		else if (op->ch >= 0 && op->rc >= 0)
			check_drained(op);
		for (int k = 0; op->sent && k < now.nops; k++)
			if (now.op[k].sent)
				check_order(op, &now.op[k]);
		if (op->kind == CLOSE && op->rc == 0 && ++closes[op->c[0].ch] > 1)
			wrong("closed twice", op, NULL);
	}
	for (int k = 0; k < now.chans; k++)
		for (int i = 0; i < now.nleft[k]; i++) {
			const struct op *s = sender_of(now.left[k][i]);

			if (!s->sent || s->value != now.left[k][i] || s->ch != k)
				wrong("left over, and not sent", s, NULL);
		}
}

/* ---- the reference: queues, and all orders that the stamps allow */

struct state {
	uint64_t todo; /* operations that have not taken effect */
	unsigned char len[CHANS], closed[CHANS];
	unsigned short q[CHANS][4];
};

static struct state seen[SEEN];
static unsigned char seen_used[SEEN];
static int n_seen;

/* True if the search was here before, or has been to too many places. */
static bool
remember(const struct state *s)
{
	uint64_t h = 14695981039346656037u;
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; i < sizeof(*s); i++)
		h = (h ^ p[i]) * 1099511628211u;
	for (h %= SEEN; seen_used[h]; h = (h + 1) % SEEN)
		if (memcmp(&seen[h], s, sizeof(*s)) == 0)
			return true;
	if (n_seen >= SEEN / 2)
		return false; /* it forgets nothing, it only takes longer */
	seen[h] = *s;
	seen_used[h] = 1;
	n_seen++;
	return false;
}

static bool
no_case_ready(const struct state *s, const struct op *op)
{
	for (int i = 0; i < op->n; i++) {
		int k = op->c[i].ch;

		if (k == CHANS)
			continue;
		if (s->closed[k] || (op->c[i].sends ? s->len[k] < now.cap[k] : s->len[k] > 0))
			return false;
	}
	return true;
}

static bool
some_send_closed(const struct state *s, const struct op *op)
{
	for (int i = 0; i < op->n; i++)
		if (op->c[i].sends && op->c[i].ch < CHANS && s->closed[op->c[i].ch])
			return true;
	return false;
}

static void
push(struct state *s, int k, int value)
{
	s->q[k][s->len[k]++] = (unsigned short)value;
}

static void
pop(struct state *s, int k)
{
	for (int i = 1; i < s->len[k]; i++)
		s->q[k][i - 1] = s->q[k][i];
	s->q[k][--s->len[k]] = 0;
}

/* op alone takes effect in s, if it can, with the result it had. */
static bool
effect(struct state *s, const struct op *op)
{
	int k = op->ch;

	s->todo &= ~(UINT64_C(1) << op->id);
	if (op->kind == CLOSE) {
		k = op->c[0].ch;
		if (s->closed[k] != (op->rc == -EPIPE))
			return false;
		s->closed[k] = 1;
		return true;
	}
	if (op->kind == LEN)
		return s->len[op->c[0].ch] == op->rc;
	if (op->sent) {
		if (s->closed[k] || s->len[k] >= now.cap[k])
			return false;
		push(s, k, op->value);
		return true;
	}
	if (op->received) {
		if (s->len[k] == 0 || s->q[k][0] != op->value)
			return false;
		pop(s, k);
		return true;
	}
	if (op->rc == -EPIPE)
		return some_send_closed(s, op);
	if (op->rc == -EAGAIN || (op->kind == SELECT && op->rc == op->n))
		return no_case_ready(s, op);
	return s->closed[k] && s->len[k] == 0; /* drained */
}

/* Could it be next? Not if another that is still to come was over before it began. */
static bool
may_be_next(const struct state *s, const struct op *op)
{
	if (!(s->todo >> op->id & 1))
		return false;
	for (int i = 0; i < now.nops; i++)
		if ((s->todo >> i & 1) && now.op[i].resp < op->inv)
			return false;
	return true;
}

static bool
search(const struct state *s)
{
	if (s->todo == 0)
		return true;
	if (remember(s))
		return false;
	for (int i = 0; i < now.nops; i++) {
		const struct op *op = &now.op[i];
		struct state next = *s;

		if (!may_be_next(s, op))
			continue;
		if (effect(&next, op) && search(&next))
			return true;
		if (!op->sent || now.cap[op->ch] > 0 || s->closed[op->ch])
			continue;
		for (int j = 0; j < now.nops; j++) { /* from hand to hand: both at once */
			const struct op *to = &now.op[j];

			next = *s;
			next.todo &= ~(UINT64_C(1) << i | UINT64_C(1) << j);
			if (to->received && to->value == op->value && to->ch == op->ch &&
			    may_be_next(s, to) && search(&next))
				return true;
		}
	}
	return false;
}

static bool
has_effect(const struct op *op)
{
	return op->kind <= LEN && op->rc != -ECANCELED && op->rc != -ETIMEDOUT;
}

static void
check_linear(void)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	memset(seen_used, 0, sizeof(seen_used));
	n_seen = 0;
	for (int i = 0; i < now.nops; i++)
		if (has_effect(&now.op[i]))
			s.todo |= UINT64_C(1) << i;
	if (!search(&s))
		wrong("no order explains this", NULL, NULL);
}

/* ---- many programs */

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t
budget_ns(void)
{
	const char *text = getenv("WEFT_FUZZ_SECONDS");
	int64_t s = text ? atoi(text) : 4;

	return (s > 0 ? s : 1) * 1000000000 * (test_full() && !text ? 4 : 1);
}

struct programs {
	uint64_t seed, only;
	bool small;
	int *count;
};

static int
programs(struct programs *a)
{
	uint64_t r = a->seed;

	for (int i = 0; i < PER_RUN; i++) {
		uint64_t seed = test_rand(&r);

		make_program(a->only ? a->only : seed, a->small);
		now.clock = (int)(seed % 7); /* another choice of the end in each replay */
		run_program();
		check_history();
		if (a->small)
			check_linear();
		++*a->count;
	}
	return 0;
}

static void
fuzz(bool small)
{
	const char *text = getenv("WEFT_FUZZ_PROGRAM");
	uint64_t r = test_seed(), only = text ? strtoull(text, NULL, 0) : 0;
	int64_t end = now_ns() + budget_ns();
	int count = 0;

	do
		EXPECT_EQ(weft_run(programs, test_rand(&r), only, small, &count), 0);
	while (now_ns() < end);
	printf("%d programs\n", count);
}

TEST(short_programs_are_linearizable)
{
	fuzz(true);
}

TEST(longer_programs_keep_the_rules)
{
	fuzz(false);
}
