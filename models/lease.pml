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
 * With -DOFFERS goroutines also leave into blocking sections: the P is on
 * offer then, and whoever needs one takes it by a compare-and-swap, without
 * membarrier.  The word names the P on offer.
 *
 * With -DDOOR the lease has a door as well: while it is shut its owner makes
 * offers and takes them back by buffered stores, and who takes opens it first.
 * So does a requester: the store of an owner that is alone would land on the
 * request and erase it, but the preempt word would count it for ever.  The word
 * is in the model where there are requesters and a door.
 *
 * With -DWORK who takes is one that submits: it looks for an offer when its
 * goroutine is queued, and comes to the lease by p->m, which is buffered too.
 * Sections may last for ever, and at rest nothing may be queued beside a P on
 * offer: the owner has looked for work before, or who submits has seen the offer.
 *
 * Build flags: -DMUT_xxx plants one error; -DNP=1 or 2; -DLIVE; -DOFFERS;
 * -DDOOR with -DOFFERS, and STOPS=0; -DWORK with -DDOOR, NP=1 and LOOKS=0.
 */

#define NM 2
#ifndef NP
#define NP 1
#endif
#ifndef NG
#define NG 2
#endif
#ifndef LOOKS
#define LOOKS 2         /* requests the monitor makes */
#endif
#ifndef STOPS
#define STOPS 1         /* times the world is stopped */
#endif
#ifndef TAKES
#define TAKES 2         /* Ps on offer that are taken, or goroutines submitted */
#endif
#define NONE 7

mtype = { L_NONE, HELD, ASKED, URGED, TAKEN, OFFERED };

mtype lease[NM] = L_NONE;
byte  offp[NM] = NONE;          /* the P in a word that says OFFERED */
bool  in_rt[NM] = true;         /* an M starts in its scheduler loop */
byte  mp[NM] = NONE;            /* m->p as other threads see it */
byte  tick[NP];                 /* schedules on this P, modulo 2 */
byte  idle;                     /* mask of idle Ps */
bool  stop;                     /* stop-the-world wants all Ps */
byte  stopped;                  /* mask of Ps it has */
byte  runnable = NG;            /* queued goroutines; all alike */
#ifdef MUT_STALE_M
chan  entered_on = [NG] of { byte };    /* per queued goroutine; NONE: never ran */
#endif
bool  lease_lock;               /* LEASE-2: one requester at a time */
#if defined(DOOR) && LOOKS > 0
#define COUNTS
byte  word;                     /* weft_preempt_word */
#define COUNT(n) word = word + (n)
#else
#define COUNT(n) skip
#endif
#define IS_URGED(m) (lease[m] == URGED -> 1 : 0)        /* counted */
#define IS_ASKED(m) (lease[m] == ASKED -> 1 : 0)        /* not yet */
#ifdef WORK
byte  pm[NP] = NONE;            /* p->m as other threads see it */
#endif

/* Ghosts: who may use the P, and who is in the middle of using it. */
#define BY_IDLE 4
#define BY_REQ  5
byte  owner[NP] = BY_IDLE;
bool  busy[NP];

/* m->p is not buffered: it is stored before the lease becomes HELD and read
 * only after a requester found it so, and the buffer keeps that order. */
mtype = { S_IN, S_OUT, S_HELD, S_BUSY, S_DONE, S_OFFER, S_BACK };
#ifdef DOOR
chan sb[NM] = [4] of { mtype };
bool  shut[NM] = true;          /* the door: OFFER-3 */
bool  opening[NM];              /* one that opens it waits for the owner */
byte  inside[NM];
bool  alone[NM];                /* the owner is at it, as others see it */
mtype said[NM];                 /* the owner's last store to the lease ... */
byte  pend[NM];                 /* ... and how many of them are buffered */
#else
chan sb[NM] = [2] of { mtype };
#endif

inline apply(m, k) {
        if
        :: k == S_IN   -> in_rt[m] = true
        :: k == S_OUT  -> in_rt[m] = false
        :: k == S_HELD -> lease[m] = HELD
#ifdef WORK
                ; pm[mp[m]] = m         /* stored just before: one entry stands for both */
#endif
#ifdef DOOR
        :: k == S_BUSY -> alone[m] = true
        :: k == S_DONE -> alone[m] = false
        :: k == S_OFFER -> lease[m] = OFFERED; offp[m] = mp[m]
        :: k == S_BACK -> lease[m] = HELD; offp[m] = NONE
#endif
        fi;
#ifdef DOOR
        if
        :: k == S_HELD || k == S_OFFER || k == S_BACK ->
                pend[m]--;
                if :: pend[m] == 0 -> said[m] = 0 :: else fi
        :: else
        fi;
#endif
        k = 0
}

#ifdef DOOR
#define SAY(m, k, as) atomic { sb[m]!k; said[m] = as; pend[m]++ }
#define LEASE(m) (pend[m] > 0 -> said[m] : lease[m])
#else
#define SAY(m, k, as) sb[m]!k
#define LEASE(m) (sb[m]??[S_HELD] -> HELD : lease[m])
#endif

/* One per thread, so that fairness lets every buffered store land. */
proctype Memory(byte m) {
        mtype k;
end:    do
        :: atomic { sb[m]?k -> apply(m, k) }
        od
}

#define DRAINED(m) empty(sb[m])

/* wf_lease_barrier: it makes every thread drain, at the latest when it returns. */
inline membarrier() {
#ifndef MUT_NO_MEMBARRIER
        atomic {
                do
                :: nempty(sb[0]) -> sb[0]?k; apply(0, k)
                :: empty(sb[0]) && nempty(sb[1]) -> sb[1]?k; apply(1, k)
                :: empty(sb[0]) && empty(sb[1]) -> break
                od
        }
#else
        skip
#endif
}

/* Runtime code working on the P's data: two steps, so that anybody else who
 * believes to own it is caught in between. */
inline use_p(m, p) {
        d_step { assert(owner[p] == m && !busy[p]); busy[p] = true };
        d_step { assert(owner[p] == m && busy[p]); busy[p] = false }
}

/* wf_idle_put: last act with a P. */
inline give_idle(p) {
        d_step {
                assert(!busy[p]); owner[p] = BY_IDLE; idle = idle | (1 << p);
#ifdef WORK
                pm[p] = NONE;
#endif
                p = NONE
        }
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

/* wf_p_acquire: the owner alone leaves NONE or TAKEN. */
inline bind_p(m, p) {
        atomic {
                mp[m] = p;
                tick[p] = (tick[p] + 1) & 1;
#ifdef WORK
                known = false;
#endif
                SAY(m, S_HELD, HELD)
        }
}

/* wf_p_release: inside the runtime.  An exchange, since a requester may have
 * asked meanwhile; its own compare-and-swap then fails, which is all right. */
inline unbind_p(m) {
        atomic { DRAINED(m) -> COUNT(-IS_URGED(m)); lease[m] = L_NONE; mp[m] = NONE }
}

#ifdef DOOR
/* wf_door_insist: until the owner, or another who opens it, is done. */
inline open_door(m) {
        do
        :: atomic { shut[m] && !opening[m] -> shut[m] = false; opening[m] = true };
#ifndef MUT_DOOR_NO_MEMBARRIER
                membarrier();
#endif
#ifndef MUT_DOOR_NO_LOOK
                atomic { !alone[m] -> opening[m] = false; inside[m]++ };
#else
                atomic { opening[m] = false; inside[m]++ };
#endif
                break
        :: atomic { !shut[m] && !opening[m] -> inside[m]++; break }
        od
}
#endif

/* wanted: looked at after the offer; by an owner that is alone, before it lands. */
#ifndef WORK
#define WANTED stop
#elif defined(MUT_OFFER_NO_RECHECK)
#define WANTED false
#else
#define WANTED (stop || runnable > 0)
#endif

proctype M(byte m) {
        byte p = NONE, old = NONE; mtype v; bool isb;
#ifdef WORK
        bool known;             /* m->said_p: others have seen that the P is ours */
#endif
#ifdef MUT_STALE_M
        byte came_from = m;     /* the M this goroutine entered on */
#endif

sched:  /* wf_m_loop, on g0, without a P and without a goroutine */
end_sleep:
        atomic {
                DRAINED(m) && !stop && idle != 0 && runnable > 0 ->
                v = 0; isb = false; old = NONE;
                take_idle(m, old, p)
        };
        bind_p(m, p);

pick:   /* find_runnable with a P; stop-the-world comes first */
        use_p(m, p);
        atomic {
                if
                :: stop -> goto no_work
                :: else
                fi;
                if
                :: runnable > 0 -> runnable--
                :: goto no_work         /* or somebody was faster */
                fi;
#ifdef MUT_STALE_M
                entered_on?came_from;
                if :: came_from == NONE -> came_from = m :: else fi;
#endif
                p = NONE; isb = false; old = NONE;
                goto leave
        };
no_work:
        unbind_p(m);
        give_idle(p);
        goto sched;

leave:
#ifdef OFFERS
        if
        :: mp[m] != NONE && LEASE(m) != TAKEN -> goto offer
        :: skip
        fi;
out:
#endif
        /* wf_leave: one release store, for the M we are on now */
#ifdef MUT_STALE_M
        atomic {
                if
                :: came_from != m -> in_rt[came_from] = false
                :: else -> sb[m]!S_OUT
                fi
        };
#else
        atomic { sb[m]!S_OUT; isb = false; v = 0; old = NONE };
#endif

user:   /* user code: nothing of the runtime is touched */
#ifdef WORK
        if      /* in a section, or without a P: perhaps for ever */
        :: LEASE(m) == OFFERED || LEASE(m) == TAKEN -> goto end_blocked
        :: skip
        fi;
#endif

        /* wf_enter: store, compiler barrier, load.  No fence. */
        sb[m]!S_IN;
#ifdef MUT_STALE_M
        came_from = m;
#endif
        atomic {
                /* a B call (may switch) or an N call (may not) */
                if
                :: isb = true
                :: isb = false
                fi;
                v = LEASE(m);
                if
                :: v == HELD -> goto have_p
                :: v == TAKEN -> goto no_p
                :: else
                fi
        };
        /* wf_enter_slow */
        if
#ifdef OFFERS
        :: v == OFFERED ->
                /* wf_offer_back: owner or taker */
#ifdef DOOR
                sb[m]!S_BUSY;
                if
                :: shut[m] && LEASE(m) == OFFERED ->
                        SAY(m, S_BACK, HELD);
                        sb[m]!S_DONE;
                        goto have_p
                :: else -> sb[m]!S_DONE
                fi;
#endif
#ifdef MUT_OFFER_BACK_BLIND
                atomic { DRAINED(m) -> lease[m] = HELD; offp[m] = NONE; goto have_p }
#else
                atomic {
                        DRAINED(m) ->
                        if
                        :: lease[m] == OFFERED -> lease[m] = HELD; offp[m] = NONE; goto have_p
                        :: else -> goto no_p
                        fi
                }
#endif
#endif
        :: v == ASKED ->
                /* Somebody is looking at us.  Take the lease back, but do not
                 * forget that it was wanted. */
                atomic {
                        DRAINED(m) ->
                        if
#ifdef MUT_ASK_FORGOTTEN
                        :: lease[m] == ASKED -> lease[m] = HELD; goto have_p
#else
                        :: lease[m] == ASKED -> lease[m] = URGED; COUNT(1); goto urged
#endif
                        :: lease[m] == TAKEN -> goto no_p
                        :: else                 /* back to HELD or URGED */
                        fi
                }
        :: else
        fi;
        atomic {
                v = LEASE(m);
                if
                :: v == URGED || v == ASKED -> goto urged
                :: v == TAKEN -> goto no_p
                :: else -> goto have_p
                fi
        };

have_p: atomic { v = 0; p = mp[m] };
        use_p(m, p);
#ifdef MUT_NESTED
        /* a public call made from inside one: its leave is ours */
        sb[m]!S_IN;
        sb[m]!S_OUT;
        use_p(m, p);
#endif
        atomic {
                if
                :: isb -> goto yield    /* blocks or yields: switches */
                :: p = NONE; goto leave /* done at once */
                fi
        };

#ifdef OFFERS
offer:  /* wf_leave_blocking: an exchange; if somebody wants the P, it is taken
         * back and passed on */
#ifdef DOOR
#if defined(WORK) && !defined(MUT_OFFER_UNSAID)
        if      /* who looks would not come to the door */
        :: !known -> goto openly
        :: else
        fi;
#endif
        sb[m]!S_BUSY;
        if
        :: shut[m] && LEASE(m) == HELD ->
                SAY(m, S_OFFER, OFFERED);
                sb[m]!S_DONE;
                if
                :: WANTED -> atomic { DRAINED(m) -> v = URGED; goto wanted }
                :: else -> goto out
                fi
        :: else -> sb[m]!S_DONE
        fi;
openly:
        if      /* wf_door_look: DOOR-2 */
#ifdef MUT_DOOR_SHUT_IN
        :: atomic { DRAINED(m) && !shut[m] && !opening[m] -> shut[m] = true }
#else
        :: atomic { DRAINED(m) && !shut[m] && !opening[m] && inside[m] == 0 -> shut[m] = true }
#endif
        :: skip
        fi;
#endif
        atomic {
                DRAINED(m) ->
                v = lease[m]; COUNT(-IS_URGED(m));
                lease[m] = OFFERED; offp[m] = mp[m];
#ifdef WORK
                known = true
#endif
        };
wanted: if
        :: v != HELD || WANTED ->
                atomic {
                        v = 0;
                        if
                        :: lease[m] == OFFERED ->
                                lease[m] = TAKEN; COUNT(1);
                                offp[m] = NONE; p = mp[m]; mp[m] = NONE
                        :: else -> goto out
                        fi
                };
                give_idle(p)
        :: else
        fi;
        v = 0;
        goto out;
#endif

urged:  /* A preempt request.  The compare-and-swap may meet a requester who
         * asks again at this moment: whoever takes the lease word to TAKEN
         * owns the P. */
        atomic {
                v = 0;
                if
                :: isb -> goto urged_b
                :: else
                fi
        };
        /* N call: does its work, and give_way hands the P over */
        atomic {
                DRAINED(m) ->
                if
                :: lease[m] == URGED || lease[m] == ASKED ->
                        COUNT(IS_ASKED(m));
                        lease[m] = TAKEN; p = mp[m]; mp[m] = NONE
                :: else -> goto leave   /* taken meanwhile, or no longer wanted */
                fi
        };
        give_idle(p);
        goto leave;
urged_b:
        /* B call: wf_yield, the P goes back to the scheduler with us */
        atomic { DRAINED(m) ->
                if
                :: lease[m] == URGED || lease[m] == ASKED ->
                        COUNT(-IS_URGED(m));
                        lease[m] = HELD; p = mp[m]; goto yield
                :: lease[m] == HELD -> goto have_p
                :: lease[m] == TAKEN -> goto no_p
                fi
        };
yield:  /* wf_yield: the goroutine is queued, may go on elsewhere */
        atomic {
                DRAINED(m) ->
                COUNT(-IS_URGED(m));
                lease[m] = HELD;        /* a request was for the old tick */
                tick[p] = (tick[p] + 1) & 1;
                runnable++;
#ifdef MUT_STALE_M
                entered_on!came_from;
#endif
        };
        goto pick;

no_p:   /* the P was taken while we were in user code */
#ifdef WORK
        goto end_blocked;       /* to submit itself would be more of the same */
#endif
        atomic {
                p = NONE; v = 0;
                if
                :: !isb -> goto leave   /* N call: works as a plain thread */
                :: else -> old = mp[m]
                fi
        };
        /* B call: wf_rejoin */
        atomic {
                DRAINED(m) -> take_idle(m, old, p);
                lease[m] = L_NONE; COUNT(-1);   /* wf_taken_ends */
                if
                :: p == NONE ->
                        /* the goroutine queues globally, its M sleeps */
                        runnable++;
#ifdef MUT_STALE_M
                        entered_on!came_from;
#endif
                        mp[m] = NONE;
                        goto sched
                :: else
                fi
        };
        bind_p(m, p);
        goto have_p;
#ifdef WORK
end_blocked:
        false
#endif
}

/* wf_lease_ask, wf_lease_barrier, wf_lease_decide: ask, drain, look, take or back off.  `keep` says whether the
 * P stays with the requester (stop-the-world) or becomes idle (monitor). */
inline request(m, any_tick, keep) {
#ifdef MUT_UNSERIALISED
        skip;
#else
        atomic { !lease_lock -> lease_lock = true };
#endif
#ifdef MUT_P_BEFORE_ASK
        p = mp[m];
#endif
#if defined(DOOR) && !defined(MUT_LEASE_NO_DOOR)
        if      /* inside until it is decided: OFFER-3 */
        :: lease[m] == HELD || lease[m] == URGED -> open_door(m); in = true
        :: else
        fi;
        d_step {
                if
                :: in && (lease[m] == HELD || lease[m] == URGED) ->
#else
        d_step {
                if
                :: lease[m] == HELD || lease[m] == URGED ->
#endif
                        COUNT(-IS_URGED(m));
                        lease[m] = ASKED; asked = true
                :: else
                fi
        };
        if
        :: asked ->
                membarrier();
                if
                :: in_rt[m] ->
                        d_step { if :: lease[m] == ASKED -> lease[m] = URGED; COUNT(1) :: else fi }
                :: else ->
#ifndef MUT_P_BEFORE_ASK
                        p = mp[m];
#endif
                        if
#ifdef MUT_P_BEFORE_ASK
                        :: p != NONE ->
#else
                        :: p != NONE && (any_tick || tick[p] == t) ->
#endif
                                atomic {
                                        if
                                        :: lease[m] == ASKED ->
                                                lease[m] = TAKEN; COUNT(1);
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
        d_step {
#ifdef DOOR
                if :: in -> inside[m]--; in = false :: else fi;
#endif
                asked = false; p = NONE; t = 0; lease_lock = false
        }
}

/* The monitor (sysmon.c): samples a P's tick, comes back, asks if it has not moved. */
proctype Monitor() {
        byte p = NONE, t, n; bool asked; mtype k;
#ifdef DOOR
        bool in;
#endif
        do
        :: n < LOOKS && mp[0] != NONE ->
                atomic { n++; if :: mp[0] != NONE -> t = tick[mp[0]] :: else fi };
                request(0, false, false)
        :: n < LOOKS && mp[1] != NONE ->
                atomic { n++; if :: mp[1] != NONE -> t = tick[mp[1]] :: else fi };
                request(1, false, false)
        :: atomic { break }
        od
}

#ifdef OFFERS
/* take_from: p is ours if it is still what m offers. */
inline take_from(m, p) {
#if defined(DOOR) && !defined(MUT_OFFER_TAKE_OUTSIDE)
        open_door(m);
#endif
        atomic {
#if defined(DOOR) && !defined(MUT_OFFER_TAKE_OUTSIDE)
                inside[m]--;
#endif
                if
#ifdef MUT_OFFER_NO_ID
                :: p != NONE && lease[m] == OFFERED ->
#else
                :: p != NONE && lease[m] == OFFERED && offp[m] == p ->
#endif
                        lease[m] = TAKEN; COUNT(1); offp[m] = NONE;
                        assert(owner[p] == m && !busy[p]);
                        owner[p] = BY_REQ
                :: else -> p = NONE
                fi
        }
}

#ifndef WORK
/* wf_offer_take_this: who knows a P, from a look before or from none, as the monitor does. */
proctype Taker() {
        byte p = NONE, m, n; mtype k;
        do
        :: atomic { n < TAKES && offp[0] != NONE -> n++; m = 0 }; goto look
        :: atomic { n < TAKES && offp[1] != NONE -> n++; m = 1 };
look:           p = offp[m];
                take_from(m, p);
                if
                :: p != NONE -> give_idle(p)
                :: else
                fi;
                m = 0
        :: atomic { break }
        od
}
#else
/* wf_submit, wf_submitted, wf_idle_take, first_offer: the goroutine is queued,
 * fence, look.  An idle P is enough, since the Ms come for it by themselves here.
 * The hint of the P counts as set. */
proctype Submitter() {
        byte p, m, n; mtype k;
        do
        :: atomic { n < TAKES -> n++; runnable++ };
look:           if
                :: idle != 0 -> goto looked
                :: else
                fi;
                atomic {
                        p = 0; m = pm[p];
                        if
                        :: m == NONE -> goto looked
                        :: else
                        fi
                };
                /* is_offered: OFFER-3 */
#ifndef MUT_OFFER_NO_DOOR
                if
                :: shut[m] || opening[m] -> open_door(m); inside[m]--
                :: else
                fi;
#endif
                if
                :: lease[m] == OFFERED && offp[m] == p
                :: else -> goto looked
                fi;
                take_from(m, p);
                if
                :: p != NONE -> give_idle(p)
                :: else -> goto look
                fi;
looked:         atomic { p = 0; m = 0 }
        :: atomic { break }
        od
}

/* At rest: no goroutine waits beside a P that its owner does not use. */
proctype Check() {
        timeout -> assert(runnable == 0 || (lease[0] != OFFERED && lease[1] != OFFERED))
}
#endif
#endif

#ifdef COUNTS
/* The word counts those that are urged or without their P.  It changes in the step
 * that changes the lease here, so it is right at any time; in C a step earlier or
 * later, which does not matter, since it is read as a hint. */
#define COUNTED(m) (lease[m] == URGED || lease[m] == TAKEN -> 1 : 0)
proctype Count() {
end:    atomic { word != COUNTED(0) + COUNTED(1) -> assert(word == COUNTED(0) + COUNTED(1)) }
}
#endif

/* wf_world_stop (take_leases in its loop), wf_world_start */
proctype Stw() {
        byte p = NONE, t; bool asked; mtype k;
        byte n;
#ifdef DOOR
        bool in;
#endif
        do
        :: atomic { n == STOPS -> break }
        :: atomic { n < STOPS -> n++ }; stop = true;
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
#ifdef OFFERS
                        d_step {
                                if
                                :: lease[0] == OFFERED ->
                                        lease[0] = TAKEN; p = offp[0]; offp[0] = NONE;
                                        owner[p] = BY_REQ; stopped = stopped | (1 << p)
                                :: else
                                fi;
                                if
                                :: lease[1] == OFFERED ->
                                        lease[1] = TAKEN; p = offp[1]; offp[1] = NONE;
                                        owner[p] = BY_REQ; stopped = stopped | (1 << p)
                                :: else
                                fi;
                                p = NONE
                        };
#endif
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


init {
        atomic {
                idle = (1 << NP) - 1;
#ifdef MUT_STALE_M
                entered_on!NONE; entered_on!NONE;
#endif
#ifdef WORK
                run Submitter(); run Check();
#elif defined(OFFERS)
                run Taker();
#endif
#ifdef COUNTS
                run Count();
#endif
                run M(0); run M(1); run Monitor(); run Stw(); run Memory(0); run Memory(1)
        }
}

#ifdef LIVE
ltl world_stops { [] (stop -> <> !stop) }
#endif
