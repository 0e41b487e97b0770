/* park.pml: parking and readying a goroutine with a direct switch.
 *
 * A goroutine that parks does not go through a scheduler context: it saves
 * itself and jumps straight into the next goroutine.  It cannot announce "I
 * am waiting" before the jump, because from that moment another M may resume
 * a context that is not written yet; and after the jump it is no longer the
 * one executing.  So the announcement is left in m->pending and the arriving
 * context makes it, before anything else.  This model checks that this order
 * is kept at every kind of arrival, against three racing wakers.
 *
 * Memory is sequentially consistent here: every word below is written either
 * under the queue's lock or by a compare-and-swap, so store buffers add
 * nothing.  Contrast idle.pml and lease.pml.
 *
 * Build flags: -DMUT_xxx plants one error (see README.md).
 */

#define NW   1          /* goroutine 0 waits on the queue */
#define NG   2          /* goroutine 1 only yields, then exits */
#define Y    1
#define G0   NG         /* "goroutine" NG: the M's scheduler context */
#define NOBODY 7

#ifndef ROUNDS
#define ROUNDS 2        /* waits of goroutine 0 */
#endif

mtype = { RUNNABLE, RUNNING, WAITING, DEAD };
mtype = { P_NONE, P_PARK, P_YIELD, P_EXIT };
mtype = { FRESH, TOP, WOKEN, TAIL };  /* where a saved context continues */

mtype status[NG] = RUNNABLE;
mtype at[NG]     = FRESH;
bool  saved[NG]  = true;    /* ghost: the saved context is complete */
bool  on_m[NG];             /* ghost: some M executes on this stack */
bool  inq[NG]    = true;    /* in a run queue (all queues seen as one set) */
byte  left[NG];             /* waits (or yields) still to do */

/* The wait word of each G: a wait number and whether that wait is open.
 * Closing it is the claim; exactly one party may do that per wait. */
byte  seq[NG];
bool  open[NG];
byte  readied[NG];          /* ghost: ready calls for the current wait */

/* The object waited on: lock, a value count, a closed flag, linked waiters. */
bool  lock_held;
byte  values;
bool  closed;
bool  linked[NW];
byte  linked_seq[NW];
bool  cancelled;            /* cancel request for goroutine 0 */

#define acquire_lock() atomic { !lock_held -> lock_held = true }
#define release_lock() lock_held = false

/* wf_claim: compare-and-swap WAITING(n) -> CLAIMED on the wait word. */
#ifdef MUT_CLAIM_NO_CAS
#define claim(g, n, won) \
        won = (open[g] && seq[g] == (n)); \
        if :: won -> open[g] = false :: else fi
#elif defined(MUT_CLAIM_NO_SEQ)
#define claim(g, n, won) \
        d_step { won = open[g]; if :: won -> open[g] = false :: else fi }
#else
#define claim(g, n, won) \
        d_step { won = (open[g] && seq[g] == (n)); \
                 if :: won -> open[g] = false :: else fi }
#endif

/* wf_ready.  The word is open only when the status is WAITING, so who has won
 * the claim need not wait for anything, with the lock or without. */
inline ready(g) {
        atomic {
                readied[g]++;
                assert(readied[g] == 1)         /* one ready per wait */
        }
        atomic {
                assert(status[g] == WAITING);
                status[g] = RUNNABLE;
                assert(!inq[g]);
                inq[g] = true
        }
}

/* Three wakers: plain threads here, so that they can act at any moment. */

/* A giver (channel send, wf_ready at its end): hand a value to a waiter, or leave it for the next taker. */
proctype Value() {
        byte n = 0; bool won;
        do
        :: n < ROUNDS ->
                n++;
                acquire_lock();
                if
                :: linked[0] -> claim(0, linked_seq[0], won)
                :: else
                fi;
                if
                :: won -> linked[0] = false
                :: else -> values++
                fi;
                release_lock();
                if :: won -> won = false; ready(0) :: else fi
        :: else -> break
        od
}

/* A closer: claims the linked waiter, readies after the unlock. */
proctype Close() {
        bool won;
        acquire_lock();
        closed = true;
        if
        :: linked[0] -> claim(0, linked_seq[0], won);
                if :: won -> linked[0] = false :: else fi
        :: else
        fi;
        release_lock();
        if :: won -> ready(0) :: else fi
}

/* A cancel or a deadline: knows only (G, wait number), takes no lock.  It reads the word
 * first and claims later, so the wait it saw may be long over. */
proctype Cancel() {
        byte n; bool o, won;
        cancelled = true;
        atomic { n = seq[0]; o = open[0] };
        if
        :: o -> claim(0, n, won);
                if
                :: won ->
                        assert(seq[0] == n);    /* ends the wait it meant */
                        ready(0)
                :: else
                fi
        :: else
        fi
}

/* wf_ctx_switch, first half: the departing side completes its context and leaves
 * its stack. */
inline save_and_leave(g) {
        d_step { if :: g != G0 -> saved[g] = true; on_m[g] = false :: else fi }
}

/* wf_ctx_switch, second half (wf_switch_to_g, wf_switch_to_g0): execution continues on the stack of g. */
inline land_on(g) {
        d_step {
                if
                :: g != G0 ->
                        assert(saved[g]);       /* never before it was saved */
                        assert(!on_m[g]);       /* never on two Ms */
                        assert(status[g] == RUNNING);
                        saved[g] = false;
                        on_m[g] = true
                :: else
                fi;
                cur = g
        }
}

/* wf_arrived: publish the status of the goroutine we came from, then its
 * commit.  Called on resume (resumed in park.c), by
 * the first-run trampoline (wf_g_main) and on g0 (wf_m_loop).
 *
 * The commit opens the word, reads the cancelled flag after that (WAIT-4), and
 * unlocks.  A commit cannot refuse: one that has seen the flag claims and
 * readies its own goroutine, as any waker would. */
inline run_pending() {
        if
        :: atomic { pkind == P_PARK -> status[pg] = WAITING };
#ifdef MUT_FLAG_EARLY
                ends = cancelled;
#endif
#ifndef MUT_OPEN_EARLY
                open[pg] = true;
#endif
#ifndef MUT_FLAG_EARLY
                ends = cancelled;
#endif
                d_step {
                        me = pg;
                        pkind = P_NONE; pg = NOBODY;
                        release_lock()
                };
                if
                :: ends ->
                        ends = false;
#ifdef MUT_END_NO_CLAIM
                        open[me] = false; won = true;
#else
                        claim(me, linked_seq[me], won);
#endif
                        if :: won -> won = false; ready(me) :: else fi
                :: else
                fi;
                me = NOBODY
        :: d_step {
                pkind == P_YIELD ->
                status[pg] = RUNNABLE; inq[pg] = true;
                pkind = P_NONE; pg = NOBODY
           }
        :: d_step {
                pkind == P_EXIT ->
                status[pg] = DEAD;              /* stack may be reused now */
                pkind = P_NONE; pg = NOBODY
           }
        :: d_step { pkind == P_NONE -> pg = NOBODY }
        fi
}

/* wf_pick_direct: take a runnable G, or fall back to the scheduler context.
 * wf_g_runs marks it. */
inline pick_next() {
        atomic {
                if
                :: inq[0] -> nxt = 0
                :: inq[1] -> nxt = 1
                :: !inq[0] && !inq[1] -> nxt = G0
                fi;
                if
                :: nxt != G0 ->
                        inq[nxt] = false;
                        assert(status[nxt] == RUNNABLE);
                        status[nxt] = RUNNING
                :: else
                fi
        }
}

/* Leave `cur` with the given pending record and arrive at `nxt`. */
inline switch_with(kind, where) {
        d_step { assert(pkind == P_NONE); pkind = kind; pg = cur; at[cur] = where };
#ifdef MUT_COMMIT_EARLY
        run_pending();          /* the departing side does it: too early */
#endif
        save_and_leave(cur);
        land_on(nxt);
        if
        :: nxt != G0 && at[nxt] == FRESH ->
                /* wf_g_main */
#ifndef MUT_TRAMPOLINE
                run_pending();
#endif
                at[nxt] = TOP
        :: else ->
                run_pending()   /* wf_park returns; or the g0 loop */
        fi
}

proctype M() {
        byte cur = G0, nxt = G0, pg = NOBODY, me = NOBODY;
        mtype pkind = P_NONE;
        bool won, ends;

        do
        :: cur == G0 ->
                /* wf_m_loop: the M's own context looks for a goroutine.
                 * How an M sleeps and is woken is the subject of idle.pml. */
end_idle:       (inq[0] || inq[1]);
                pick_next();
                if
                :: nxt != G0 ->
                        land_on(nxt);
                        if
                        :: at[cur] == FRESH -> at[cur] = TOP
                        :: else
                        fi
                :: else
                fi

        :: cur == Y && at[cur] == TOP ->
                /* wf_yield, wf_g_exit */
                if
                :: left[cur] > 0 ->
                        atomic { left[cur]--; pick_next() };
                        if
                        :: nxt == G0 -> skip    /* alone: no switch */
                        :: else ->
#ifdef MUT_YIELD_EARLY
                                atomic { status[cur] = RUNNABLE; inq[cur] = true };
                                switch_with(P_NONE, TOP)
#else
                                switch_with(P_YIELD, TOP)
#endif
                        fi
                :: else ->
                        pick_next();
                        switch_with(P_EXIT, TAIL)
                fi

        :: cur < NW && at[cur] == TOP ->
                if
                :: left[cur] == 0 ->
                        pick_next();
                        switch_with(P_EXIT, TAIL)
                :: else ->
                        /* a taker, up to the point where it must wait */
                        acquire_lock();
                        if
                        :: values > 0 || closed ->
                                d_step {
                                        if :: values > 0 -> values-- :: else fi;
                                        left[cur]--
                                };
                                release_lock()
                        :: else ->
                                /* wf_claim_next, wf_park */
                                d_step {
                                        seq[cur]++;
                                        readied[cur] = 0;
                                        linked[cur] = true;
                                        linked_seq[cur] = seq[cur]
                                };
#ifdef MUT_OPEN_EARLY
                                open[cur] = true;
#endif
                                pick_next();
                                switch_with(P_PARK, WOKEN)
                        fi
                fi

        :: cur < NW && at[cur] == WOKEN ->
                /* the taker after wf_park returned.  WAIT-1: take the lock and make
                 * sure our record is off the queue before its stack frame goes. */
                assert(!open[cur]);
                acquire_lock();
                d_step {
                        if
                        :: linked[cur] -> linked[cur] = false; left[cur] = 0  /* cancelled */
                        :: else -> left[cur]--
                        fi;
                        at[cur] = TOP
                };
                release_lock()
        od
}

/* At rest every goroutine has finished: no wake was lost. */
proctype Check() {
        timeout ->
        assert(!lock_held);
        assert(status[0] == DEAD && status[1] == DEAD)
}

init {
        atomic {
                left[0] = ROUNDS; left[Y] = 1;
                /* Any non-empty set of wakers, and each set has to be enough
                 * by itself: with all three always there, a wake lost by one
                 * would be repaired by the next and go unseen. */
                if
                :: run Value()
                :: run Close()
                :: run Cancel()
                :: run Value(); run Close()
                :: run Value(); run Cancel()
                :: run Close(); run Cancel()
                :: run Value(); run Close(); run Cancel()
                fi;
                run M(); run M(); run Check()
        }
}
