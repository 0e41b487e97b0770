/* SPDX-License-Identifier: MIT */
/*
 * explore.h: runs real code under every interleaving up to a bound, on one OS thread.
 *
 * A scenario has a setup, some threads and a check. Each thread is a coroutine; every operation
 * of base/atomic.h (built with WF_SIM) is a choice point before it takes effect. Between two
 * choice points a thread runs alone, so plain code needs no care, and the simulated code may
 * change stacks as it likes: a switch saves whatever stack the thread stands on.
 *
 * Memory: each thread has a store buffer. A store waits there until somebody may see it; own
 * loads see it at once; read-modify-writes and fences empty the own buffer, sim_membarrier()
 * everybody's. When an entry leaves is explored, but lazily: the question is asked only when
 * another thread is about to touch the same address, because nobody can tell any earlier moment
 * from that one. The answer "not yet" (the reader sees the old value) is a delay.
 *   SIM_WEAK  an entry may overtake earlier ones unless it is a release, an earlier one is, or
 *             both are for the same address (the default)
 *   SIM_TSO   first in, first out: x86
 *   SIM_ARM   as weak, but a relaxed store may also overtake an earlier release, and a load may
 *             see an older value: one that memory held after the thread's last acquire, fence
 *             or sleep, and no older than it saw before. A read-modify-write is an acquire here,
 *             no full fence. Each old value is a delay
 *   SIM_SC    no buffer
 * In the other models loads are never reordered; there, what a missing acquire would break is
 * found by the happens-before clocks behind sim_plain_read and sim_plain_write.
 * Nowhere does a store overtake an earlier load, and every read-modify-write has acquire and
 * release, relaxed ones too.
 *
 * Exhaustive search is bounded by two costs: a preemption (leaving a thread that could have gone
 * on, and was not in cpu_relax) and a delay. Everything else is free. A thread in cpu_relax lets
 * others go first, and is not offered again before somebody has written something.
 */
#ifndef WF_TESTS_EXPLORE_H
#define WF_TESTS_EXPLORE_H

#include "base/atomic.h"

enum { SIM_THREADS = 8, SIM_MUTANTS = 24 };
enum sim_model { SIM_WEAK, SIM_TSO, SIM_ARM, SIM_SC };
enum sim_reason { SIM_WOKEN, SIM_EARLY, SIM_TIMEOUT, SIM_DIFFERS };

struct sim_start {
	void (*fn)(void *arg);
	void *arg;
	bool daemon; /* the execution does not wait for it */
};

struct sim_mutant {
	int id; /* greater than 0 */
	const char *name;
};
#define SIM_MUTANT(id)                                                                             \
	{                                                                                          \
		(id), #id                                                                          \
	}

struct sim_scenario {
	const char *name;
	void (*setup)(void); /* makes all state new: executions share the process */
	struct sim_start threads[SIM_THREADS];
	void (*check_end)(void);  /* all threads ended (or stuck, with blocked_ok), buffers empty */
	void (*check_step)(void); /* before every operation; must be a plain reader */
	struct sim_mutant mutants[SIM_MUTANTS]; /* each must be caught */
	enum sim_model model;
	unsigned max_steps; /* operations per execution; 0: 2000 */
	unsigned max_bound; /* preemptions never to exceed; 0: none. For scenarios that explode */
	unsigned delays;    /* 0: 3 */
	unsigned early;     /* sleeps per execution that end for no reason or time out early */
	unsigned random;    /* then so many executions by random priorities, and by pure chance */
	bool blocked_ok;    /* the end may find threads asleep */
	bool livelock_ok;   /* executions over max_steps are counted, not a violation */
	struct sim_scenario *next;
};

#define SCENARIO(id)                                                                               \
	static struct sim_scenario sim_scenario_##id;                                              \
	__attribute__((constructor)) static void sim_register_##id(void)                           \
	{                                                                                          \
		sim_register(&sim_scenario_##id, #id);                                             \
	}                                                                                          \
	static struct sim_scenario sim_scenario_##id
void sim_register(struct sim_scenario *s, const char *name);

/* ---- threads; from setup or from a simulated thread */
int sim_thread(void (*fn)(void *arg), void *arg); /* its number */
int sim_self(void);                               /* -1 in setup and checks */
void **sim_local(void);                           /* one word per thread, NULL at its start */
void sim_daemon(void);                            /* the execution need not wait for the caller */
void sim_exit(void) __attribute__((noreturn));
/* While quiet no thread is preempted, by any strategy; each execution begins loud. For the parts
   of a long scenario that are not its subject. */
void sim_quiet(bool quiet);

/*
 * ---- sleeping. Both empty the caller's buffer, as the kernel's futex paths do. sim_block is no
 * choice point: it is one step with the operation before it. Timed sleeps end when nobody else
 * can run.
 */
enum sim_reason sim_block(const void *key);
enum sim_reason sim_block_timed(const void *key);
int sim_wake(const void *key, int n); /* how many were woken; which ones is explored */
enum sim_reason sim_futex_wait(const void *word, uint32_t value, bool timed);
void sim_membarrier(void);

/* ---- explored data choice: 0 to n-1, n up to 32 */
unsigned sim_choose(unsigned n);

/*
 * ---- plain memory: reports two accesses, one of them a write, that no release/acquire chain
 * orders. They are no choice points and touch nothing: the caller does the access.
 */
void sim_plain_read(const void *obj);
void sim_plain_write(const void *obj);
void sim_forget(const void *addr, size_t bytes); /* freed: its next user starts afresh */

/* ---- reports. From a thread sim_fail does not return; from setup and checks it does. */
void sim_fail(const char *fmt, ...) WF_PRINTF(1, 2);
#define SIM_CHECK(cond)                                                                            \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			sim_fail("%s:%d: not true: %s", __FILE__, __LINE__, #cond);                \
	} while (0)

/* ---- for the trace of a failure; they cost nothing in a search */
void sim_name(const void *addr, const char *fmt, ...) WF_PRINTF(2, 3);
void sim_note(const char *fmt, ...) WF_PRINTF(1, 2);

#endif
