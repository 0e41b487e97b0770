/* SPDX-License-Identifier: MIT */
/*
 * t_locks.c: mutex, rwmutex, cond, semaphore, once and barrier: the real files, and below them
 * waitq.c, scope.c, group.c, the claim, and park.c.
 *
 * Two to four parties, threads of the program, run short lists of operations. Sections exclude
 * each other and see each other's plain writes; nobody sleeps for ever but who has reason to; an
 * object is gone as soon as its last user may end it. The clock is a choice wherever a mutex reads
 * it. (MTX-1 to MTX-4, MTX-6, CALM-1, CALM-2, RW-1 to RW-4, COND-1 to COND-3, SEM-1 to SEM-3, ONCE-1, ONCE-2, BAR-1, BAR-2,
 * SYNC-1)
 * sources: tests/model/mark.c src/wait/?*.c tests/model/mark.c src/sched/park.c src/sched/save.c src/sched/spawn.c src/sched/loop.c src/sched/handoff.c src/sched/idle.c src/sched/blocking.c src/sched/steal.c src/sched/gather.c src/sched/proc.c src/core/globq.c src/base/lock.c src/arch/x86_64.S tests/model/os_sim.c -no-pie -Wl,--wrap=sim_store,--wrap=aligned_alloc,--wrap=free,--wrap=os_now_ns,--unresolved-symbols=ignore-all
 */
#define RIG_STARTS_MS
#include "parties.h"

#include "core/calm.h"

enum { PARTIES = 4, OPS = 8 };

enum what {
	END,
	LOCK,        /* data, and one more; then UNLOCK */
	LOCK_SCOPED, /* on failure the next operation is left out */
	TRY_LOCK,    /* the same */
	UNLOCK,
	DROP,      /* a reference; the last one ends the object's page. Under the lock */
	GONE,      /* ends the object's page, if this party has dropped the last reference */
	END_PAGE,  /* ends it */
	WAIT,      /* once */
	WAIT_OPEN, /* until open */
	OPEN,      /* under the lock */
	SIGNAL,
	BROADCAST,
	RLOCK,
	RLOCK_SCOPED,
	RUNLOCK,
	WLOCK,
	WLOCK_SCOPED,
	WUNLOCK,
	ACQUIRE, /* n */
	TRY_ACQUIRE,
	RELEASE,
	ONCE,
	BARRIER,
	CALM_LOOK, /* as the monitor does */
	CALM_ENDS, /* somebody waits for another mutex */
	TURN,      /* the mutex is no more, its memory is a semaphore's: acquires it. By the last */
	PASS_ON,   /* releases that one, if it comes to be: unless party n has dropped the last */
	CANCEL,    /* party n */
	AWAIT,     /* the end of party n */
};

struct op {
	enum what what;
	int n;
};

struct object {
	struct weft_mutex mx;
	struct weft_cond c;
	struct weft_rwmutex rw;
	struct weft_sem sem;
	struct weft_once once;
	struct weft_barrier b;
};

struct plan {
	unsigned parties;
	struct op op[PARTIES][OPS];
	bool grouped[PARTIES];  /* in a group of its own, which others cancel */
	bool shielded[PARTIES]; /* the same, but a shield and another group are between */
	int refs;
	int sem, barrier;
	bool starving; /* time passes fast, maybe */
	unsigned procs;
	void (*check)(void);
};

static struct {
	const struct plan *plan;
	struct object *o;
	struct weft_group group[PARTIES], inner[PARTIES];
	struct weft_scope shield[PARTIES];
	int data, refs, units;
	bool open, last[PARTIES];
	int writers, readers;
	int ok[PARTIES], failed[PARTIES], ones; /* of what can fail */
	int once_calls;
	bool turned;
	unsigned calm_ended;
	int64_t clock_ns;
	wf_a32 both;   /* are in line */
	unsigned over; /* bit i: party i */
} s;

int64_t __wrap_os_now_ns(void);

int64_t
__wrap_os_now_ns(void)
{
	if (s.plan && s.plan->starving && sim_self() >= 0 && sim_choose(2))
		s.clock_ns += 2000000;
	return 1000000000 + s.clock_ns;
}

static void
touch(void)
{
	sim_plain_write(&s.data);
	s.data++;
}

static void
write_in(void)
{
	SIM_CHECK(s.writers == 0 && s.readers == 0);
	s.writers++;
	touch();
}

static void
write_out(void)
{
	touch();
	s.writers--;
}

static void
read_in(void)
{
	SIM_CHECK(s.writers == 0);
	s.readers++;
	sim_plain_read(&s.data);
}

static int
once_fn(void)
{
	s.once_calls++;
	touch();
	return 5;
}

/* True: the next operation is left out. */
static bool
scoped_result(unsigned i, int rc)
{
	if (rc < 0) {
		SIM_CHECK(rc == -ECANCELED && s.plan->grouped[i]);
		s.failed[i]++;
		return true;
	}
	s.ok[i]++;
	return false;
}

static bool
do_mutex(unsigned i, struct op op)
{
	int rc;

	switch (op.what) {
	case LOCK:
		SIM_CHECK(weft_lock(&s.o->mx) == 0);
		write_in();
		return false;
	case LOCK_SCOPED:
		if (scoped_result(i, weft_lock_scoped(&s.o->mx)))
			return true;
		write_in();
		return false;
	case TRY_LOCK:
		if (!weft_try_lock(&s.o->mx))
			return true;
		write_in();
		return false;
	case UNLOCK:
		write_out();
		weft_unlock(&s.o->mx);
		return false;
	case WAIT:
		write_out();
		rc = weft_wait(&s.o->c, &s.o->mx);
		write_in();
		scoped_result(i, rc);
		return false;
	case WAIT_OPEN:
		while (!s.open) {
			write_out();
			rc = weft_wait(&s.o->c, &s.o->mx);
			write_in();
			SIM_CHECK(rc == 0);
		}
		return false;
	case OPEN:
		s.open = true;
		return false;
	case SIGNAL:
		weft_signal(&s.o->c);
		return false;
	case BROADCAST:
		weft_broadcast(&s.o->c);
		return false;
	default:
		abort();
	}
}

static bool
do_rw(unsigned i, struct op op)
{
	switch (op.what) {
	case RLOCK:
		SIM_CHECK(weft_rlock(&s.o->rw) == 0);
		read_in();
		return false;
	case RLOCK_SCOPED:
		if (scoped_result(i, weft_rlock_scoped(&s.o->rw)))
			return true;
		read_in();
		return false;
	case RUNLOCK:
		s.readers--;
		weft_runlock(&s.o->rw);
		return false;
	case WLOCK:
		SIM_CHECK(weft_wlock(&s.o->rw) == 0);
		write_in();
		return false;
	case WLOCK_SCOPED:
		if (scoped_result(i, weft_wlock_scoped(&s.o->rw)))
			return true;
		write_in();
		return false;
	case WUNLOCK:
		write_out();
		weft_wunlock(&s.o->rw);
		return false;
	default:
		abort();
	}
}

static struct weft_sem *
turned_mutex(void)
{
	return (struct weft_sem *)&s.o->mx;
}

static bool
do_other(unsigned i, struct op op)
{
	int rc;

	switch (op.what) {
	case ACQUIRE:
		if (scoped_result(i, weft_acquire(&s.o->sem, op.n)))
			return true;
		s.units -= op.n;
		SIM_CHECK(s.units >= 0);
		return false;
	case TRY_ACQUIRE:
		if (!weft_try_acquire(&s.o->sem, op.n))
			return true;
		s.units -= op.n;
		SIM_CHECK(s.units >= 0);
		return false;
	case RELEASE:
		s.units += op.n;
		weft_release(&s.o->sem, op.n);
		return false;
	case ONCE:
		SIM_CHECK(weft_once(&s.o->once, once_fn) == 5);
		sim_plain_read(&s.data);
		return false;
	case BARRIER:
		rc = weft_barrier_wait(&s.o->b);
		if (!scoped_result(i, rc))
			s.ones += rc;
		return false;
	case CALM_LOOK:
		wf_calm_look();
		return false;
	case CALM_ENDS:
		wf_calm_end(WF_CALM_THREAD);
		s.calm_ended++;
		return false;
	case TURN:
		if (!s.last[i])
			return false;
		SIM_CHECK(weft_sem_init(turned_mutex(), 0) == 0);
		fence_seq(); /* before others learn of it */
		s.turned = true;
		SIM_CHECK(weft_acquire(turned_mutex(), 1) == 0);
		SIM_CHECK(turned_mutex()->word_ == 0);
		return false;
	case PASS_ON:
		if (s.last[op.n])
			return false;
		while (!s.turned)
			cpu_relax();
		weft_release(turned_mutex(), 1);
		return false;
	case CANCEL:
		SIM_CHECK(weft_cancel(&s.group[op.n]) == 0);
		return false;
	case AWAIT:
		while (!(s.over & 1u << op.n))
			cpu_relax();
		return false;
	case DROP:
		s.last[i] = --s.refs == 0;
		return false;
	case GONE:
		if (s.last[i])
			heap_end(s.o);
		return false;
	case END_PAGE:
		heap_end(s.o);
		return false;
	default:
		abort();
	}
}

static void
party(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	wf_m_set(&rig.m[i]);
	for (const struct op *op = s.plan->op[i]; op->what != END; op++) {
		bool skip = op->what <= UNLOCK || (op->what >= WAIT && op->what <= BROADCAST)
				? do_mutex(i, *op)
			    : op->what >= RLOCK && op->what <= WUNLOCK ? do_rw(i, *op)
								       : do_other(i, *op);

		forget_frames();
		op += skip;
	}
	s.over |= 1u << i;
}

static void
setup(const struct plan *plan)
{
	parties_reset(plan->parties);
	if (plan->procs)
		wf_sched.procs.v = plan->procs;
	memset(&s, 0, sizeof(s));
	s.o = aligned_alloc(64, sizeof(*s.o));
	memset(s.o, 0, sizeof(*s.o));
	sim_name(&s.o->mx.word_, "mx");
	sim_name(&s.o->rw.word_, "rw");
	sim_name(&s.o->c.word_, "cond");
	sim_name(&s.o->sem.word_, "sem");
	sim_name(&s.o->once.word_, "once");
	wf_sched.run.v = 1;
	s.refs = plan->refs;
	s.units = plan->sem;
	s.o->sem.word_ = (uint64_t)plan->sem * 2;
	s.o->b.word_ = (uint64_t)plan->barrier;
	for (unsigned i = 0; i < plan->parties; i++) {
		wf_m_set(&rig.m[i]);
		if (plan->grouped[i] || plan->shielded[i])
			weft_group_open(&s.group[i], NULL, "here");
		if (plan->shielded[i]) {
			weft_scope_open_shield(&s.shield[i]);
			weft_group_open(&s.inner[i], NULL, "there");
		}
	}
	wf_m_set(NULL);
	s.plan = plan;
}

static void
check_all_over(void)
{
	SIM_CHECK(s.over == (1u << s.plan->parties) - 1);
	/* who has waited is counted no more, but for the one that a plan has left */
	SIM_CHECK(wf_calm_word()->v / WF_CALM_THREAD == s.calm_ended);
	if (s.plan->check)
		s.plan->check();
}

#define PLAN(id, ...)                                                                              \
	static const struct plan plan_##id = {__VA_ARGS__};                                        \
	static void setup_##id(void)                                                               \
	{                                                                                          \
		setup(&plan_##id);                                                                 \
	}
#define PARTY(i)                                                                                   \
	{                                                                                          \
		party, (void *)(uintptr_t)(i), false                                               \
	}
#define TWO(id) .setup = setup_##id, .check_end = check_all_over, .threads = {PARTY(0), PARTY(1)}
#define THREE(id)                                                                                  \
	.setup = setup_##id, .check_end = check_all_over, .threads = {PARTY(0), PARTY(1), PARTY(2)}
#define FOUR(id)                                                                                   \
	.setup = setup_##id, .check_end = check_all_over,                                          \
	.threads = {PARTY(0), PARTY(1), PARTY(2), PARTY(3)}

/* ---- mutex */

static void
mx_free(void)
{
	SIM_CHECK((s.o->mx.word_ & ~(uint64_t)7) == 0);
}

PLAN(mtx_three, .parties = 3, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}})
SCENARIO(mtx_three) = {THREE(mtx_three),
		       .mutants = {SIM_MUTANT(MUT_CALM_NO_MEMBARRIER), SIM_MUTANT(MUT_CALM_NO_LOOK),
				   SIM_MUTANT(MUT_MTX_LATE_NO_FLAG)}};
SCENARIO(mtx_three_arm) = {THREE(mtx_three), .model = SIM_ARM,
			   .mutants = {SIM_MUTANT(MUT_CALM_NO_MEMBARRIER)}};

/* CALM-2: one that waits, the monitor's two looks, and an unlock. */
PLAN(mtx_calm_back, .parties = 3, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}, {{CALM_LOOK}, {CALM_LOOK}}})
SCENARIO(mtx_calm_back) = {THREE(mtx_calm_back)};

/* The calm was over, and comes back while one goes to sleep. */
static void
setup_calm_returns(void)
{
	setup_mtx_calm_back();
	wf_calm_word()->v = WF_CALM_FENCED | WF_CALM_SEEN;
}
SCENARIO(mtx_calm_returns) = {.setup = setup_calm_returns,
			      .threads = {PARTY(0), PARTY(1), PARTY(2)},
			      .check_end = check_all_over,
			      .mutants = {SIM_MUTANT(MUT_CALM_EARLY)}};
SCENARIO(mtx_calm_returns_arm) = {.setup = setup_calm_returns,
				  .threads = {PARTY(0), PARTY(1), PARTY(2)},
				  .check_end = check_all_over,
				  .model = SIM_ARM};

/* MTX-6: who comes late finds another object there. */
PLAN(mtx_late_turned, .parties = 3, .refs = 2,
     .op = {{{LOCK}, {DROP}, {UNLOCK}},
	    {{LOCK}, {DROP}, {UNLOCK}, {TURN}},
	    {{CALM_ENDS}, {AWAIT, 0}, {PASS_ON, 0}}})
SCENARIO(mtx_late_turned) = {THREE(mtx_late_turned), .mutants = {SIM_MUTANT(MUT_MTX_LATE_LINE)}};

PLAN(mtx_two_twice, .parties = 2, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}}})
SCENARIO(mtx_two_twice) = {TWO(mtx_two_twice)};

PLAN(mtx_starving, .parties = 3, .starving = true, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}})
SCENARIO(mtx_starving) = {THREE(mtx_starving), .random = 20000};

PLAN(mtx_spin, .parties = 3, .procs = 2, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}})
SCENARIO(mtx_spin) = {THREE(mtx_spin), .random = 20000};

PLAN(mtx_gone, .parties = 3, .refs = 3,
     .op = {{{LOCK}, {DROP}, {UNLOCK}, {GONE}},
	    {{LOCK}, {DROP}, {UNLOCK}, {GONE}},
	    {{LOCK}, {DROP}, {UNLOCK}, {GONE}}})
SCENARIO(mtx_gone) = {THREE(mtx_gone)};
SCENARIO(mtx_gone_arm) = {THREE(mtx_gone), .model = SIM_ARM};

PLAN(mtx_gone_starving, .parties = 3, .refs = 3, .starving = true,
     .op = {{{LOCK}, {UNLOCK}, {LOCK}, {DROP}, {UNLOCK}, {GONE}},
	    {{LOCK}, {DROP}, {UNLOCK}, {GONE}},
	    {{LOCK}, {DROP}, {UNLOCK}, {GONE}}})
SCENARIO(mtx_gone_starving) = {THREE(mtx_gone_starving), .random = 20000};

PLAN(mtx_try, .parties = 3, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}}, {{TRY_LOCK}, {UNLOCK}, {TRY_LOCK}, {UNLOCK}}, {{LOCK}, {UNLOCK}}})
SCENARIO(mtx_try) = {THREE(mtx_try)};

PLAN(mtx_cancel, .parties = 4, .grouped = {false, true}, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}}, {{LOCK_SCOPED}, {UNLOCK}}, {{LOCK}, {UNLOCK}}, {{CANCEL, 1}}})
SCENARIO(mtx_cancel) = {FOUR(mtx_cancel), .random = 20000};

PLAN(mtx_cancel_starving, .parties = 3, .grouped = {false, true}, .starving = true,
     .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}, {LOCK}, {UNLOCK}},
	    {{LOCK_SCOPED}, {UNLOCK}},
	    {{CANCEL, 1}}})
SCENARIO(mtx_cancel_starving) = {THREE(mtx_cancel_starving), .random = 20000};

PLAN(mtx_shielded, .parties = 3, .shielded = {false, true}, .check = mx_free,
     .op = {{{LOCK}, {UNLOCK}}, {{LOCK_SCOPED}, {UNLOCK}}, {{CANCEL, 1}}})
SCENARIO(mtx_shielded) = {THREE(mtx_shielded)};

/* ---- cond */

PLAN(cond_open, .parties = 2, .check = mx_free,
     .op = {{{LOCK}, {WAIT_OPEN}, {UNLOCK}, {END_PAGE}}, {{LOCK}, {OPEN}, {SIGNAL}, {UNLOCK}}})
SCENARIO(cond_open) = {.setup = setup_cond_open, .threads = {PARTY(0), PARTY(1)}};

PLAN(cond_outside, .parties = 2, .check = mx_free,
     .op = {{{LOCK}, {WAIT_OPEN}, {UNLOCK}}, {{LOCK}, {OPEN}, {UNLOCK}, {SIGNAL}}})
SCENARIO(cond_outside) = {TWO(cond_outside)};

/* The third contends for the mutex, so that the waiter is signalled before it sleeps. */
PLAN(cond_contended, .parties = 3, .check = mx_free,
     .op = {
	 {{LOCK}, {WAIT_OPEN}, {UNLOCK}}, {{LOCK}, {OPEN}, {SIGNAL}, {UNLOCK}}, {{LOCK}, {UNLOCK}}})
SCENARIO(cond_contended) = {THREE(cond_contended), .random = 20000};

PLAN(cond_two, .parties = 3, .check = mx_free,
     .op = {{{LOCK}, {WAIT_OPEN}, {UNLOCK}},
	    {{LOCK}, {WAIT_OPEN}, {UNLOCK}},
	    {{LOCK}, {OPEN}, {BROADCAST}, {UNLOCK}}})
SCENARIO(cond_two) = {THREE(cond_two), .random = 20000};

PLAN(cond_two_signals, .parties = 3, .check = mx_free,
     .op = {{{LOCK}, {WAIT_OPEN}, {UNLOCK}},
	    {{LOCK}, {WAIT_OPEN}, {UNLOCK}},
	    {{LOCK}, {OPEN}, {UNLOCK}, {SIGNAL}, {SIGNAL}}})
SCENARIO(cond_two_signals) = {THREE(cond_two_signals), .random = 20000};

/* A signal to the one in the group, which may be cancelled, or to the other behind it: who has not
   got it sleeps, or had gone before. */
PLAN(cond_cancel, .parties = 3, .grouped = {true},
     .op = {{{LOCK}, {WAIT}, {UNLOCK}}, {{LOCK}, {OPEN}, {UNLOCK}, {SIGNAL}}, {{CANCEL, 0}}})
SCENARIO(cond_cancel) = {THREE(cond_cancel)};

static void
check_one_signal(void)
{
	/* Sent when both were linked: one has got it, and only one. */
	SIM_CHECK(s.ok[0] + s.ok[1] == 1);
	SIM_CHECK(s.over & 4);
}

/* Only one polls: two of them would wake each other for ever, with the lock they take to look. */
static void
signals_two_in_line(void *arg)
{
	struct wf_bucket *b = wf_bucket_of(&s.o->c);
	uint32_t n;

	(void)arg;
	wf_m_set(&rig.m[2]);
	do {
		wf_lock(&b->lock);
		n = wf_at_count(b, &s.o->c);
		wf_unlock(&b->lock);
		if (n < 2)
			cpu_relax();
	} while (n < 2);
	sim_quiet(false);
	at_store_rel(&s.both, 1); /* rel: they are in line */
	sim_wake(&s.both, SIM_THREADS);
	weft_signal(&s.o->c);
	forget_frames();
	s.over |= 4;
}

static void
cancels_two_in_line(void *arg)
{
	(void)arg;
	wf_m_set(&rig.m[3]);
	while (!at_load_acq(&s.both)) /* acq: as said there */
		sim_futex_wait(&s.both, 0, false);
	SIM_CHECK(weft_cancel(&s.group[0]) == 0);
	s.over |= 8;
}

PLAN(cond_cancel_two, .parties = 4, .grouped = {true},
     .op = {{{LOCK}, {WAIT}, {UNLOCK}}, {{LOCK}, {WAIT}, {UNLOCK}}})

static void
setup_two_in_line(void)
{
	setup_cond_cancel_two();
	sim_quiet(true); /* until both are in line */
}

SCENARIO(cond_cancel_two) = {
    .setup = setup_two_in_line,
    .threads = {PARTY(0),
		PARTY(1),
		{signals_two_in_line, NULL, false},
		{cancels_two_in_line, NULL, false}},
    .check_end = check_one_signal,
    .mutants = {SIM_MUTANT(MUT_PARK_CLAIM_NO_CAS)},
    .blocked_ok = true,
    .random = 20000,
};

PLAN(cond_shielded, .parties = 3, .shielded = {true}, .check = mx_free,
     .op = {{{LOCK}, {WAIT_OPEN}, {UNLOCK}}, {{LOCK}, {OPEN}, {UNLOCK}, {SIGNAL}}, {{CANCEL, 0}}})
SCENARIO(cond_shielded) = {THREE(cond_shielded)};

/* ---- rwmutex */

static void
rw_free(void)
{
	SIM_CHECK(s.o->rw.word_ == 0);
}

PLAN(rw_three, .parties = 3, .check = rw_free,
     .op = {{{RLOCK}, {RUNLOCK}}, {{WLOCK}, {WUNLOCK}}, {{RLOCK}, {RUNLOCK}}})
SCENARIO(rw_three) = {THREE(rw_three)};
SCENARIO(rw_three_arm) = {THREE(rw_three), .model = SIM_ARM};

PLAN(rw_writers, .parties = 3, .check = rw_free,
     .op = {{{WLOCK}, {WUNLOCK}}, {{WLOCK}, {WUNLOCK}}, {{RLOCK}, {RUNLOCK}}})
SCENARIO(rw_writers) = {THREE(rw_writers)};

PLAN(rw_gone, .parties = 3, .refs = 2,
     .op = {{{RLOCK}, {RUNLOCK}, {WLOCK}, {DROP}, {WUNLOCK}, {GONE}},
	    {{WLOCK}, {DROP}, {WUNLOCK}, {GONE}},
	    {}})
SCENARIO(rw_gone) = {THREE(rw_gone)};

PLAN(rw_gives_up, .parties = 4, .grouped = {false, true}, .check = rw_free,
     .op = {{{RLOCK}, {RUNLOCK}}, {{WLOCK_SCOPED}, {WUNLOCK}}, {{RLOCK}, {RUNLOCK}}, {{CANCEL, 1}}})
SCENARIO(rw_gives_up) = {FOUR(rw_gives_up), .random = 20000};

/* RW-4: the first reader stays until the second has been in. */
PLAN(rw_lets_in, .parties = 4, .grouped = {false, true}, .check = rw_free,
     .op = {{{RLOCK}, {AWAIT, 2}, {RUNLOCK}},
	    {{WLOCK_SCOPED}, {WUNLOCK}},
	    {{RLOCK}, {RUNLOCK}},
	    {{CANCEL, 1}}})
SCENARIO(rw_lets_in) = {FOUR(rw_lets_in), .random = 20000};

PLAN(rw_gives_up_writer, .parties = 4, .grouped = {true, true}, .check = rw_free,
     .op = {{{RLOCK_SCOPED}, {RUNLOCK}},
	    {{WLOCK_SCOPED}, {WUNLOCK}},
	    {{WLOCK}, {WUNLOCK}},
	    {{CANCEL, 1}, {CANCEL, 0}}})
SCENARIO(rw_gives_up_writer) = {FOUR(rw_gives_up_writer), .random = 20000};

PLAN(rw_shielded, .parties = 3, .shielded = {false, true}, .check = rw_free,
     .op = {{{RLOCK}, {RUNLOCK}}, {{WLOCK_SCOPED}, {WUNLOCK}}, {{CANCEL, 1}}})
SCENARIO(rw_shielded) = {THREE(rw_shielded)};

/* ---- semaphore */

static void
sem_whole(void)
{
	SIM_CHECK(s.o->sem.word_ == (uint64_t)s.units * 2);
}

PLAN(sem_three, .parties = 3, .sem = 2, .check = sem_whole,
     .op = {
	 {{ACQUIRE, 2}, {RELEASE, 2}}, {{ACQUIRE, 1}, {RELEASE, 1}}, {{ACQUIRE, 2}, {RELEASE, 2}}})
SCENARIO(sem_three) = {THREE(sem_three)};
SCENARIO(sem_three_arm) = {THREE(sem_three), .model = SIM_ARM};

PLAN(sem_try, .parties = 3, .sem = 1, .check = sem_whole,
     .op = {{{ACQUIRE, 1}, {RELEASE, 1}},
	    {{TRY_ACQUIRE, 1}, {RELEASE, 1}},
	    {{ACQUIRE, 1}, {RELEASE, 1}}})
SCENARIO(sem_try) = {THREE(sem_try)};

PLAN(sem_head_gives_up, .parties = 4, .sem = 1, .grouped = {true}, .check = sem_whole,
     .op = {
	 {{ACQUIRE, 2}, {RELEASE, 2}}, {{ACQUIRE, 1}, {RELEASE, 1}}, {{CANCEL, 0}}, {{RELEASE, 1}}})
SCENARIO(sem_head_gives_up) = {FOUR(sem_head_gives_up), .random = 20000};

/* SEM-2: nobody releases any; the second fits as soon as the first has gone. */
PLAN(sem_head_leaves, .parties = 3, .sem = 1, .grouped = {true}, .check = sem_whole,
     .op = {{{ACQUIRE, 2}, {RELEASE, 2}}, {{ACQUIRE, 1}, {RELEASE, 1}}, {{CANCEL, 0}}})
SCENARIO(sem_head_leaves) = {THREE(sem_head_leaves)};

PLAN(sem_shielded, .parties = 3, .sem = 0, .shielded = {true}, .check = sem_whole,
     .op = {{{ACQUIRE, 1}, {RELEASE, 1}}, {{RELEASE, 1}}, {{CANCEL, 0}}})
SCENARIO(sem_shielded) = {THREE(sem_shielded)};

PLAN(sem_gone, .parties = 3, .sem = 0,
     .op = {{{ACQUIRE, 2}, {END_PAGE}}, {{RELEASE, 1}}, {{RELEASE, 1}}})
SCENARIO(sem_gone) = {THREE(sem_gone)};
SCENARIO(sem_gone_arm) = {THREE(sem_gone), .model = SIM_ARM};

/* ---- once, barrier */

static void
check_once(void)
{
	SIM_CHECK(s.once_calls == 1);
}

PLAN(once_three, .parties = 3, .check = check_once, .op = {{{ONCE}}, {{ONCE}}, {{ONCE}, {ONCE}}})
SCENARIO(once_three) = {THREE(once_three)};
SCENARIO(once_three_arm) = {THREE(once_three), .model = SIM_ARM};

PLAN(bar_three, .parties = 3, .barrier = 3, .op = {{{BARRIER}}, {{BARRIER}}, {{BARRIER}}})
SCENARIO(bar_three) = {THREE(bar_three)};

PLAN(bar_twice, .parties = 2, .barrier = 2, .op = {{{BARRIER}, {BARRIER}}, {{BARRIER}, {BARRIER}}})
SCENARIO(bar_twice) = {TWO(bar_twice)};

/* Two of two, or one has left and the other sleeps. */
static void
check_bar_cancel(void)
{
	if (s.failed[0]) {
		SIM_CHECK(s.ok[0] + s.ok[1] + s.ones == 0 && !(s.over & 2));
	} else {
		SIM_CHECK(s.ok[0] == 1 && s.ok[1] == 1 && s.ones == 1);
	}
}

PLAN(bar_cancel, .parties = 3, .barrier = 2, .grouped = {true},
     .op = {{{BARRIER}}, {{BARRIER}}, {{CANCEL, 0}}})
SCENARIO(bar_cancel) = {.setup = setup_bar_cancel,
			.threads = {PARTY(0), PARTY(1), PARTY(2)},
			.check_end = check_bar_cancel,
			.blocked_ok = true};

/* Three of three, or one has left and both others sleep, also one that was claimed meanwhile. */
static void
check_bar_cancel_three(void)
{
	if (s.failed[0])
		SIM_CHECK(s.ok[0] + s.ok[1] + s.ok[2] + s.ones == 0 && !(s.over & 6));
	else
		SIM_CHECK(s.ok[0] + s.ok[1] + s.ok[2] == 3 && s.ones == 1);
}

PLAN(bar_cancel_three, .parties = 4, .barrier = 3, .grouped = {true},
     .op = {{{BARRIER}}, {{BARRIER}}, {{BARRIER}}, {{CANCEL, 0}}})
SCENARIO(bar_cancel_three) = {.setup = setup_bar_cancel_three,
			      .random = 20000,
			      .threads = {PARTY(0), PARTY(1), PARTY(2), PARTY(3)},
			      .check_end = check_bar_cancel_three,
			      .blocked_ok = true};

PLAN(bar_shielded, .parties = 3, .barrier = 2, .shielded = {true},
     .op = {{{BARRIER}}, {{BARRIER}}, {{CANCEL, 0}}})
SCENARIO(bar_shielded) = {THREE(bar_shielded)};
