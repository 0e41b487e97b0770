/* idle.pml: who looks for work, who sleeps, and why no work is forgotten.
 *
 * A submitter publishes work and then asks "is anybody looking?".  A worker
 * announces "I stop looking" and then asks "is there work?".  If each asks
 * before its own announcement is visible, both say no and the work waits
 * beside a sleeping thread.  Store buffers are modelled, because that is how
 * it really happens: plain stores go through a FIFO of two entries per
 * thread, drained by fences and by read-modify-writes, as on x86.  A fence
 * that follows a read-modify-write costs nothing there but is needed in C11
 * and on aarch64; the mutants that drop such a fence move the later load in
 * front of the read-modify-write, which is what those machines may do.
 *
 * Build flags: -DMUT_xxx plants one error; -DRETURNER adds a goroutine that
 * comes back without a P and takes an idle one without looking for work.
 */

#ifndef NM
#define NM 3
#endif
#define NP 2
#define NONE 7
#ifndef NG
#define NG 3            /* goroutines in all */
#endif

byte glob;              /* global queue, visible length */
byte loc[NP];           /* local queues, visible length */
byte nspin;             /* sched.nmspinning */
bool need;              /* sched.need_spinning */
byte idle;              /* sched.idle_mask, one bit per P */

byte made, done;        /* goroutines submitted so far; run to the end */
bool somebody_long;     /* one goroutine computes until the rest is done */

bool returned;          /* one goroutine came back without a P already */

/* Ms asleep, and what a waker hands them. */
bool asleep[NM];
byte nextp[NM] = NONE;

/* Ghosts, for the final check. */
byte holder[NP] = NONE;

/* Store buffers: one per M and one for the outside submitter. */
mtype = { PUB0, PUB1, PUBG, NEED1, NEED0 };
#define OUT NM
#ifndef SB
#define SB 2
#endif
chan sb[NM + 1] = [SB] of { mtype };

inline apply(e) {
        if
        :: e == PUB0  -> loc[0]++
        :: e == PUB1  -> loc[1]++
        :: e == PUBG  -> glob++
        :: e == NEED1 -> need = true
        :: e == NEED0 -> need = false
        fi
}

/* The memory system: any buffered store may land at any time. */
proctype Memory() {
        mtype e;
end:    do
        :: atomic { sb[0]?e -> apply(e); e = 0 }
        :: atomic { sb[1]?e -> apply(e); e = 0 }
        :: atomic { sb[2]?e -> apply(e); e = 0 }
#if NM > 2
        :: atomic { sb[3]?e -> apply(e); e = 0 }
#endif
        od
}

/* A fence, and the first half of every read-modify-write: wait until our own
 * stores have landed. */
#define DRAINED(me) empty(sb[me])

/* wf_idle_take: load the mask; zero costs no locked instruction. */
inline take_idle(me, out) {
        atomic {
                if
                :: idle == 0 -> out = NONE
                :: idle != 0 ->
                        DRAINED(me) ->
                        if
                        :: idle & 1 -> out = 0; idle = idle & 2
                        :: idle == 2 -> out = 1; idle = 0
                        :: idle == 0 -> out = NONE
                        fi;
                        if
                        :: out != NONE -> assert(holder[out] == NONE); holder[out] = me
                        :: else
                        fi
                fi
        }
}

/* wf_m_start: hand P pp to a sleeping M (or a new one; there are enough Ms
 * here that one is always on its way to sleep).  The M counts as spinning
 * already: the waker did that. */
inline start_m(pp) {
        atomic {
                if
                :: asleep[0] -> asleep[0] = false; nextp[0] = pp; holder[pp] = 0
                :: !asleep[0] && asleep[1] -> asleep[1] = false; nextp[1] = pp; holder[pp] = 1
#if NM > 2
                :: !asleep[0] && !asleep[1] && asleep[2] -> asleep[2] = false; nextp[2] = pp; holder[pp] = 2
#endif
                fi;
                pp = NONE
        }
}

/* wf_wake_one.  Taking the P and handing it over are one step: a P that is
 * taken but not yet handed over looks to everybody else like one whose new M
 * has not begun to run. */
inline wake_one(me, q) {
        atomic {
                if
                :: nspin != 0 -> quit = true
                :: nspin == 0 ->
                        DRAINED(me) ->
                        if
                        :: nspin == 0 -> nspin = 1
                        :: else -> quit = true
                        fi
                fi
        };
        do
        :: atomic { quit -> quit = false; break }
        :: atomic {
                !quit ->
                take_idle(me, q);
                if
                :: q != NONE -> start_m(q); break
                :: else
                fi
           };
#ifdef MUT_NEED_EARLY
                /* The request goes out while we still count as a looker.  A
                 * real looker may erase it, find something else, see our
                 * count and think that it is not the last; then we leave. */
                sb[me]!NEED1;
                atomic {
                        DRAINED(me);
                        take_idle(me, q);
                        if
                        :: q != NONE -> start_m(q); break
                        :: else
                        fi
                };
#endif
                atomic { DRAINED(me) -> nspin-- };
#ifndef MUT_NEED_EARLY
#ifndef MUT_NO_NEED
                /* After the count went down, never before: only now is a
                 * looker that erases the request sure to look for our work
                 * too, or to wake the next one. */
                sb[me]!NEED1;
#ifndef MUT_NEED_FENCE
                DRAINED(me);
#endif
#endif
#endif
#ifdef MUT_WAKE_NO_LOOP
                break;
#endif
                atomic { if :: idle == 0 -> break :: else fi };
                atomic {
                        DRAINED(me) ->
                        if
                        :: nspin == 0 -> nspin = 1
                        :: else -> quit = true
                        fi
                }
        od
}

/* wf_submit, wf_submitted */
inline submit(me, what, q) {
        sb[me]!what;
#ifndef MUT_SUBMIT_FENCE
        DRAINED(me);
#endif
        /* nobody spins, everybody is busy and the request is out already: wf_wake_one
         * would only repeat it */
        if
        :: nspin == 0 && need ->
                if
                :: idle == 0
                :: else -> wake_one(me, q)
                fi
        :: else -> wake_one(me, q)
        fi
}

proctype Outside() {
        byte q = NONE; bool quit;
        if
        :: atomic { made < NG -> made++ };
                submit(OUT, PUBG, q)
        :: made == NG
        fi
}

/* wf_spin_begin: counted first, then the request is taken off; both
 * before the search, so that whoever set it is served by this search. */
inline become_spinning(me) {
        atomic { DRAINED(me) -> nspin++; spinning = true };
        sb[me]!NEED0
}

/* wf_p_release, wf_idle_put */
inline drop_p(me) {
        atomic {
                DRAINED(me) ->
                assert(loc[p] == 0);
                idle = idle | (1 << p);
                holder[p] = NONE;
                p = NONE
        }
}

/* Run one goroutine: it may submit others to the local queue, and one of
 * them may compute until every other goroutine is done.  That one is what
 * turns "the work waits until somebody happens to pass" into a dead end. */
inline run_goroutine(me) {
        do
        :: atomic { made < NG -> made++ };
                if
                :: p == 0 -> submit(me, PUB0, q)
                :: else   -> submit(me, PUB1, q)
                fi
        :: atomic { !somebody_long -> somebody_long = true };
                atomic { (done + 1 == made) -> done++ };
                break
        :: atomic { done++; break }
#ifdef RETURNER
        :: atomic { me == 0 && !returned && loc[p] == 0 -> DRAINED(me); returned = true };
                /* wf_handoff: the goroutine blocks in foreign code, its P
                 * is taken away and left idle.  This too is a drop of a P, so
                 * it looks again afterwards. */
                drop_p(me);
                if
                :: glob > 0 || loc[0] > 0 || loc[1] > 0 -> wake_one(me, q)
                :: else
                fi;
                /* wf_rejoin: back from the call, an idle P will do; this
                 * is the one way to take a P without looking for work. */
                take_idle(me, p);
                if
                :: p == NONE -> submit(me, PUBG, q); goto sleep
                :: else
                fi
#endif
        od
}

proctype M(byte me) {
        byte p = NONE, q = NONE; bool spinning, seen, quit;

        if
        :: me == 0 -> p = 0; goto found         /* the first goroutine runs */
        :: else
        fi;
sleep:  /* wf_m_stop */
        atomic { DRAINED(me) -> asleep[me] = true; seen = false };
end:    atomic {
                nextp[me] != NONE ->
                p = nextp[me]; nextp[me] = NONE;
                spinning = true
        };

top:    /* find_runnable: wf_pick_local, then pick_global.  One step, because
         * only the owner adds to a local queue: once empty it stays empty. */
        atomic {
                if
                :: loc[p] > 0 || sb[me]??[PUB0] || sb[me]??[PUB1] -> DRAINED(me) ->
                        if
                        :: loc[p] > 0 -> loc[p]--; goto found
                        :: else
                        fi
                :: else
                fi;
                if
                :: glob > 0 -> DRAINED(me) ->
                        if
                        :: glob > 0 -> glob--; goto found
                        :: else
                        fi
                :: else
                fi
        };
        atomic {
                if
                :: spinning -> goto steal
                :: !spinning && 2 * nspin >= (NP - (idle & 1) - (idle >> 1)) -> goto nothing
                :: else
                fi
        };
        become_spinning(me);
steal:  /* wf_steal */
        atomic {
                if
                :: loc[1 - p] == 0
                :: loc[1 - p] > 0 -> DRAINED(me) ->
                        if
                        :: loc[1 - p] > 0 -> loc[1 - p]--; goto found
                        :: else
                        fi
                fi
        };
nothing:
        atomic {
                if
                :: spinning || !(need || sb[me]??[NEED1]) -> goto drop
                :: else
                fi
        };
        become_spinning(me);
        goto top;
drop:
        /* wf_idle_drop */
        if
        :: !spinning ->
#ifdef MUT_DROP_FENCE
                seen = need;    /* the load passes the store to the mask */
                drop_p(me);
#else
                drop_p(me);
                seen = need;
#endif
#ifdef MUT_NO_NEED_RECHECK
                seen = false;
#endif
                atomic {
                        if
                        :: seen ->
                                seen = false;
                                take_idle(me, p);
                                if
                                :: p == NONE -> goto sleep
                                :: else
                                fi
                        :: else -> goto sleep
                        fi
                };
                become_spinning(me);
                goto top
        :: else ->
                drop_p(me);
#ifdef MUT_PARK_FENCE
                seen = (glob > 0);
                seen = seen || loc[0] > 0 || loc[1] > 0;
                atomic { DRAINED(me) -> nspin--; spinning = false };
#else
                atomic { DRAINED(me) -> nspin--; spinning = false };
#ifndef MUT_NO_RECHECK
                seen = (glob > 0);
                seen = seen || loc[0] > 0 || loc[1] > 0;
#endif
#endif
                atomic {
                        if
                        :: seen ->
                                seen = false;
                                take_idle(me, p);
                                if
                                :: p != NONE -> goto again
                                :: else
                                fi
                        :: else -> goto sleep
                        fi
                };
#ifdef MUT_RECHECK_NO_NEED
                goto sleep;
#endif
                /* There is work and no P to do it with: whoever drops one
                 * has to know. */
                sb[me]!NEED1;
                atomic {
                        DRAINED(me) -> take_idle(me, p);
                        if
                        :: p == NONE -> goto sleep
                        :: else
                        fi
                };
again:          become_spinning(me);
                goto top
        fi;

found:  /* find_runnable returns a goroutine */
        if
        :: spinning ->
                /* wf_spin_found: the last one to stop looking makes
                 * sure that somebody looks for the rest */
                atomic { DRAINED(me) -> nspin--; spinning = false; seen = (nspin == 0) };
#ifdef MUT_LAST_SILENT
                seen = false;
#endif
                if
                :: seen -> seen = false; wake_one(me, q)
                :: else
                fi
        :: else
        fi;
        run_goroutine(me);
        goto top
}

/* At rest: all that was submitted has run. */
proctype Check() {
        timeout -> assert(done == made && nspin == 0)
}

init {
        atomic {
                idle = 2; holder[0] = 0; made = 1;
                run M(0); run M(1);
#if NM > 2
                run M(2);
#endif
               
#ifndef RETURNER
                run Outside();
#endif
                run Memory(); run Check()
        }
}
