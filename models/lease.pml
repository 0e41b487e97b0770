/* lease.pml: taking the P away from user code without stopping it.
 *
 * A goroutine in user code does not use its P.  Entering the runtime is a
 * plain store (in_rt = 1) and a load (lease); no fence.  The other side pays:
 * it writes the lease word, makes every thread drain its store buffer with
 * membarrier, and only then looks at in_rt.  So the owner's stores go through
 * a FIFO of two entries here, and membarrier empties all of them.
 *
 * The monitor (takes a P after its slice) and stop-the-world (wants all of
 * them) both ask.  The model says that two parties never use one P, and, in
 * the -DLIVE build, that stop-the-world gets all Ps in the end however the
 * goroutines behave.
 *
 * Build flags: -DMUT_xxx plants one error; -DNP=1 or 2; -DLIVE.
 */

#define NM 2
#ifndef NP
#define NP 1
#endif
#define NG 2
#define NONE 7

mtype = { L_NONE, HELD, ASKED, URGED, TAKEN };

mtype lease[NM] = L_NONE;
bool  in_rt[NM] = true;         /* an M starts in its scheduler loop */
byte  mp[NM] = NONE;            /* m->p as other threads see it */
byte  tick[NP];                 /* schedules on this P, modulo 4 */
byte  idle;                     /* mask of idle Ps */
bool  stop;                     /* stop-the-world wants all Ps */
byte  stopped;                  /* mask of Ps it has */
bool  rq[NG] = true;            /* runnable goroutines */
bool  lease_lock;               /* LEASE-2: one requester at a time */

/* Ghosts: who may use the P, and who is in the middle of using it. */
#define BY_IDLE 4
#define BY_REQ  5
byte  owner[NP] = BY_IDLE;
bool  busy[NP];

mtype = { S_INRT, S_LEASE, S_MP };
chan sb[NM] = [2] of { mtype, byte };

inline apply(m, k, v) {
        if
        :: k == S_INRT  -> in_rt[m] = v
        :: k == S_LEASE -> lease[m] = HELD
        :: k == S_MP    -> mp[m] = v
        fi;
        k = 0; v = 0
}

proctype Memory() {
        mtype k; byte v;
end:    do
        :: atomic { sb[0]?k,v -> apply(0, k, v) }
        :: atomic { sb[1]?k,v -> apply(1, k, v) }
        od
}

#define DRAINED(m) empty(sb[m])

/* wf_membarrier: every thread's earlier stores have landed when it returns. */
#ifdef MUT_NO_MEMBARRIER
#define membarrier() skip
#else
#define membarrier() (empty(sb[0]) && empty(sb[1]))
#endif

/* Runtime code working on the P's data: two steps, so that anybody else who
 * believes to own it is caught in between. */
inline use_p(m, p) {
        d_step { assert(owner[p] == m && !busy[p]); busy[p] = true };
        d_step { assert(owner[p] == m && busy[p]); busy[p] = false }
}

/* wf_idle_put: last act with a P. */
inline give_idle(p) {
        d_step { assert(!busy[p]); owner[p] = BY_IDLE; idle = idle | (1 << p); p = NONE }
}

/* wf_idle_take, with the preferred P first.  Nobody takes one for running
 * while the world is being stopped. */
inline take_idle(m, old, p) {
        p = NONE;
        if
        :: stop || idle == 0
        :: else ->
                if
                :: old != NONE && (idle & (1 << old)) -> p = old
                :: else ->
                        if
                        :: idle & 1 -> p = 0
                        :: else -> p = 1
                        fi
                fi;
                assert(owner[p] == BY_IDLE);
                idle = idle & ~(1 << p);
                owner[p] = m
        fi
}

/* wf_acquire_p: the owner alone leaves NONE or TAKEN. */
inline bind_p(m, p) {
        sb[m]!S_MP(p);
        tick[p] = (tick[p] + 1) & 3;
        sb[m]!S_LEASE(0)
}

/* wf_release_p: inside the runtime.  An exchange, since a requester may have
 * asked meanwhile; its own compare-and-swap then fails, which is all right. */
inline unbind_p(m) {
        atomic { DRAINED(m) -> lease[m] = L_NONE; mp[m] = NONE }
}

#define LEASE(m) (sb[m]??[S_LEASE,0] -> HELD : lease[m])

proctype M(byte m) {
        byte p = NONE, old = NONE, g = NONE; mtype v; bool isb;
        byte gm = m;            /* the M this goroutine entered on */

sched:  /* wf_schedule, on g0, without a P and without a goroutine */
        v = 0; isb = false; old = NONE; gm = m;
        assert(g == NONE && p == NONE);
end_sleep:
        atomic {
                DRAINED(m) && !stop && idle != 0 && (rq[0] || rq[1]) ->
                take_idle(m, old, p)
        };
        bind_p(m, p);

pick:   /* wf_find_runnable with a P; stop-the-world comes first */
        use_p(m, p);
        if
        :: stop -> unbind_p(m); give_idle(p); goto sched
        :: else
        fi;
        atomic {
                if
                :: rq[0] -> rq[0] = false; g = 0
                :: rq[1] -> rq[1] = false; g = 1
                :: else -> goto no_work
                fi
        };
        goto leave;
no_work:
        unbind_p(m);
        give_idle(p);
        goto sched;

leave:  /* wf_leave: one release store, for the M we are on now */
#ifdef MUT_STALE_M
        atomic {
                if
                :: entered_on[g] == NONE || entered_on[g] == m -> sb[m]!S_INRT(0)
                :: else -> in_rt[entered_on[g]] = false
                fi
        };
#else
        sb[m]!S_INRT(0);
#endif

user:   /* user code: nothing of the runtime is touched.  The next call is a
         * B call (may switch) or an N call (may not). */
        if
        :: isb = true
        :: isb = false
        fi;

        /* wf_enter: store, compiler barrier, load.  No fence. */
        sb[m]!S_INRT(1);
#ifdef MUT_STALE_M
        entered_on[g] = m;
#endif
        v = LEASE(m);
        if
        :: v == HELD -> goto have_p
        :: else
        fi;

        /* wf_enter_slow */
        if
        :: v == TAKEN -> goto no_p
        :: v == ASKED ->
                /* Somebody is looking at us.  Take the lease back, but do not
                 * forget that it was wanted. */
                atomic {
                        DRAINED(m) ->
                        if
#ifdef MUT_ASK_FORGOTTEN
                        :: lease[m] == ASKED -> lease[m] = HELD; goto have_p
#else
                        :: lease[m] == ASKED -> lease[m] = URGED; goto urged
#endif
                        :: lease[m] == TAKEN -> goto no_p
                        :: else                 /* back to HELD or URGED */
                        fi
                }
        :: else
        fi;
        v = LEASE(m);
        if
        :: v == URGED -> goto urged
        :: v == ASKED -> goto urged
        :: v == TAKEN -> goto no_p
        :: else -> goto have_p
        fi;

have_p: p = (sb[m]??[S_MP,0] -> 0 : (sb[m]??[S_MP,1] -> 1 : mp[m]));
        use_p(m, p);
#ifdef MUT_NESTED
        /* a public call made from inside one: its leave is ours */
        sb[m]!S_INRT(1);
        sb[m]!S_INRT(0);
        use_p(m, p);
#endif
        if
        :: isb -> goto yield            /* blocks or yields: switches */
        :: p = NONE; goto leave         /* done at once */
        fi;

urged:  /* A preempt request.  The compare-and-swap may meet a requester who
         * asks again at this moment: whoever takes the lease word to TAKEN
         * owns the P. */
        p = mp[m];
        if
        :: isb -> goto urged_b
        :: else
        fi;
        /* N call: does its work, then wf_hand_over at exit */
        atomic {
                DRAINED(m) ->
                if
                :: lease[m] == URGED || lease[m] == ASKED ->
                        lease[m] = TAKEN; mp[m] = NONE
                :: else -> assert(lease[m] == TAKEN || lease[m] == HELD); p = NONE; goto leave
                fi
        };
        give_idle(p);
        goto leave;
urged_b:
        /* B call: wf_yield, the P goes back to the scheduler with us */
        use_p(m, p);
yield:  /* wf_yield: the goroutine is queued, may go on elsewhere */
        atomic {
                DRAINED(m) ->
                lease[m] = HELD;        /* the request was for the old tick */
                tick[p] = (tick[p] + 1) & 3;
                rq[g] = true; g = NONE
        };
        goto pick;

no_p:   /* the P was taken while we were in user code */
        p = NONE;
        if
        :: !isb -> goto leave           /* N call: works as a plain thread */
        :: else
        fi;
        /* B call: wf_reacquire_p */
        old = mp[m];
        atomic {
                DRAINED(m) -> take_idle(m, old, p);
                if
                :: p == NONE ->
                        /* the goroutine queues globally, its M sleeps */
                        rq[g] = true; g = NONE;
                        lease[m] = L_NONE; mp[m] = NONE;
                        goto sched
                :: else
                fi
        };
        bind_p(m, p);
        use_p(m, p);
        if
        :: goto yield
        :: p = NONE; goto leave
        fi
}

/* wf_lease_take: ask, drain, look, take or back off.  `keep` says whether the
 * P stays with the requester (stop-the-world) or becomes idle (monitor). */
inline request(m, any_tick, keep) {
#ifdef MUT_UNSERIALISED
        skip;
#else
        atomic { !lease_lock -> lease_lock = true };
#endif
        asked = false;
        p = NONE;
#ifdef MUT_P_BEFORE_ASK
        p = mp[m];
#endif
        d_step {
                if
                :: lease[m] == HELD || lease[m] == URGED -> lease[m] = ASKED; asked = true
                :: else
                fi
        };
        if
        :: asked ->
                membarrier();
                if
                :: in_rt[m] ->
                        d_step { if :: lease[m] == ASKED -> lease[m] = URGED :: else fi }
                :: else ->
#ifndef MUT_P_BEFORE_ASK
                        p = mp[m];
#endif
                        if
                        :: p != NONE && (any_tick || tick[p] == t) ->
                                atomic {
                                        if
                                        :: lease[m] == ASKED ->
                                                lease[m] = TAKEN;
                                                assert(owner[p] == m && !busy[p]);
                                                owner[p] = BY_REQ
                                        :: else -> p = NONE
                                        fi
                                };
                                if
                                :: p == NONE
                                :: p != NONE && keep -> atomic { stopped = stopped | (1 << p); p = NONE }
                                :: else -> give_idle(p)
                                fi
#ifdef MUT_CLEARS_TAKEN
                                ; d_step { if :: lease[m] == TAKEN -> lease[m] = HELD :: else fi }
#endif
                        :: else ->
                                d_step { if :: lease[m] == ASKED -> lease[m] = HELD :: else fi }
                        fi
                fi
        :: else
        fi;
        asked = false;
        p = NONE;
        lease_lock = false
}

/* wf_monitor: samples a P's tick, comes back, asks if it has not moved. */
proctype Monitor() {
        byte p = NONE, t, q; bool asked;
end:    do
        :: atomic { q = mp[0]; if :: q != NONE -> t = tick[q] :: else fi };
                if :: q != NONE -> request(0, false, false) :: else fi
        :: atomic { q = mp[1]; if :: q != NONE -> t = tick[q] :: else fi };
                if :: q != NONE -> request(1, false, false) :: else fi
        od
}

/* wf_stop_world / wf_start_world */
proctype Stw() {
        byte p = NONE, t; bool asked;
end:    do
        :: stop = true;
retry:          do
                :: stopped == (1 << NP) - 1 -> break
                :: else ->
                        d_step { 
                                stopped = stopped | idle;
                                if :: idle & 1 -> owner[0] = BY_REQ :: else fi;
#if NP > 1
                                if :: idle & 2 -> owner[1] = BY_REQ :: else fi;
#endif
                                idle = 0
                        };
                        request(0, true, true);
                        request(1, true, true)
                od;
world_stopped:  assert(owner[0] == BY_REQ && owner[NP - 1] == BY_REQ);
                atomic {
                        stop = false;
                        idle = stopped; stopped = 0;
                        owner[0] = BY_IDLE; owner[NP - 1] = BY_IDLE
                }
        od
}

#ifdef MUT_STALE_M
byte entered_on[NG] = NONE;
#endif

init {
        atomic {
                idle = (1 << NP) - 1;
                run M(0); run M(1); run Monitor(); run Stw(); run Memory()
        }
}

#ifdef LIVE
ltl world_stops { [] (stop -> <> !stop) }
#endif
