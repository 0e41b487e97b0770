/* netpoll.pml: who sleeps in the kernel for descriptors and timers, how that
 * sleep is broken, and when nobody can ever run again.
 *
 * One M without work attends: it sleeps in the kernel until the earliest
 * timer.  Who arms an earlier one breaks that sleep.  The monitor may be in
 * the kernel as well, from a time when nobody attended, and get the report
 * or the break instead.  When all Ms sleep, and nothing is left that could
 * make somebody run, a deadlock is reported; the monitor is no M, so what it
 * has in its hands must count for something.
 *
 * How a submitted goroutine finds an M is idle.pml's matter: here an M looks
 * at the queue under sched.lock before it sleeps, and a submitter wakes one
 * that sleeps.  Words are sequentially consistent; the missing fence of a
 * mutant is the look that comes before the store.
 *
 * Goroutine 0 reads from a descriptor, goroutine 1 sleeps.  Build flags:
 * -DCFG=n chooses the parties (see init), -DMUT_xxx plants one error (see
 * README.md).
 */

#ifndef CFG
#define CFG 1
#endif
#define NM 2
#define NG 2
#define NONE 7
/* attend_until */
#define NOBODY 0
#define AWAKE  1
#define NEAR   2        /* this time comes */
#define FAR    3        /* this one does not */
#define NEVER  4

/* The kernel's, and the clock. */
bool  event;            /* a report that nobody has collected */
bool  broken;           /* the same, of a break */
bool  now;              /* NEAR has come */

/* struct wf_sched, the heaps, the poller */
bool  sched_lock;
byte  attend_until;
byte  attending = NONE;
byte  nmidle;
byte  idle_seq;
byte  firing;
byte  waiters;
bool  far;              /* a timer that is far away */
bool  near[NG + 1];     /* armed for NEAR: by goroutine 1, by a thread */
bool  idle[NM];         /* on the list of idle Ms */
bool  note[NM];

/* goroutines */
bool  runnable[NG];
bool  linked;           /* 0 is in the descriptor's line */
bool  thread_linked;    /* a plain thread is */
bool  counted;          /* the count of events has changed */
bool  asleep;           /* 1 waits for its timer */
byte  live;
bool  stuck[NG];        /* ghost: waits for what never comes */
bool  stays;            /* who has got what it waited for gets stuck */
bool  reported;
bool  thread_fired;

#define any_runnable (runnable[0] || runnable[1])
#define nearest (near[1] || near[2] -> NEAR : (far -> FAR : NEVER))
#define due (now && nearest == NEAR)
#define lock() atomic { !sched_lock -> sched_lock = true }
#define unlock() sched_lock = false

/* wf_wake_one, with an M that sleeps on its note */
inline wake_one() {
        lock();
        atomic {
                if
                :: idle[0] -> idle[0] = false; nmidle--; idle_seq = 1 - idle_seq; assert(!note[0]); note[0] = true
                :: !idle[0] && idle[1] ->
                        idle[1] = false; nmidle--; idle_seq = 1 - idle_seq; assert(!note[1]); note[1] = true
                :: else
                fi
        };
        unlock()
}

inline submit(g) {
        atomic { assert(!runnable[g]); runnable[g] = true };
        wake_one()
}

/* wf_attend_break */
inline attend_break(when) {
#ifndef MUT_ATTEND_NO_BREAK
        atomic {
                if
                :: attend_until > AWAKE && attend_until > when -> attend_until = AWAKE; took = true
                :: else
                fi
        };
        if
        :: took ->
                lock();
                atomic {
                        assert(attending != NONE);      /* ATT-1 */
                        assert(!note[attending]);       /* NOTE-1 */
                        note[attending] = true;
                        took = false
                };
                unlock();
                broken = true
        :: else
        fi
#else
        skip
#endif
}

/* wf_poll_deliver, of one report that was collected; wf_ready_all */
inline deliver() {
        atomic {
                counted = true;
                if
                :: linked -> linked = false; waiters--; hit = true
                :: else
                fi;
                if
                :: thread_linked -> thread_linked = false; waiters--
                :: else
                fi
        };
        if :: hit -> hit = false; submit(0) :: else fi
}

/* run: what is due is taken from the heap, then done */
inline run_due() {
        atomic {
                if
                :: now && near[1] -> near[1] = false; hit = true
                :: else
                fi;
                if
                :: now && near[2] -> near[2] = false; thread_fired = true
                :: else
                fi
        };
        if
        :: hit -> hit = false; atomic { assert(asleep); asleep = false }; submit(1)
        :: else
        fi
}

/* nothing_comes, word for word; sched.lock held */
inline look_for_deadlock() {
        maybe = (nmidle == NM && live > 0 && waiters == 0);
        if :: maybe -> maybe = (nearest == NEVER) :: else fi;
#ifndef MUT_DEAD_NO_FIRING
        if :: maybe -> maybe = (firing == 0) :: else fi;
#endif
        if :: maybe -> maybe = !any_runnable :: else fi
}

/* wf_m_unlock_and_check, wf_deadlock_report */
inline unlock_and_check() {
        look_for_deadlock();
        atomic { seq = idle_seq; unlock() };
        if
        :: maybe ->
                lock();
                look_for_deadlock();
                atomic {
                        if
                        :: maybe && seq == idle_seq ->
                                reported = true;
                                /* DEAD-1: nobody is on the way to anywhere */
                                assert((stuck[0] -> 1 : 0) + (stuck[1] -> 1 : 0) == live)
                        :: else
                        fi;
                        maybe = false
                };
                unlock()
        :: else
        fi;
        seq = 0
}

proctype M(byte me) {
        byte until, seq;
        bool hit, took, maybe, ev;

top:    do
        :: atomic { runnable[0] -> runnable[0] = false };
                /* reads: tries, and waits only if the count is the same */
                atomic {
                        if
                        :: counted && stays -> stuck[0] = true
                        :: counted && !stays -> live--
                        :: !counted -> linked = true; waiters++
                        fi
                }
        :: atomic { runnable[1] -> runnable[1] = false };
                if
                :: !now ->
                        /* wf_sleep_until: armed by the commit, then wf_timers_sleep_by */
                        atomic { asleep = true; near[1] = true };
                        attend_break(NEAR)
                :: now -> atomic { if :: stays -> stuck[1] = true :: else -> live-- fi }
                fi
        :: due -> run_due()
        :: !any_runnable -> break
        od;

        /* wf_m_stop */
        lock();
        if
        :: any_runnable -> unlock(); goto top
        :: !any_runnable && attending == NONE && (nearest != NEVER || waiters > 0) ->
                atomic { attending = me; nmidle++; attend_until = AWAKE };
                unlock_and_check();
                goto attend
        :: else -> atomic { idle[me] = true; nmidle++ }
        fi;
        unlock_and_check();
        /* wf_attend_recheck */
        until = nearest;
        if :: until != NEVER -> attend_break(until) :: else fi;
        until = 0;
end_idle:
        do
        :: note[me] -> note[me] = false; goto top
        :: atomic { idle[me] && !sched_lock && !reported && nmidle == NM && live > 0 && waiters == 0 &&
                    nearest == NEVER && firing == 0 && !any_runnable ->
                    sched_lock = true };
                unlock_and_check()      /* it looks again after a while */
        od;

        /* wf_attend: sleep_until, back_to_work */
attend: until = nearest;
        if
        :: (until == NEVER && waiters == 0) || (until == NEAR && now) -> goto back
        :: else
        fi;
#ifdef MUT_ATTEND_NO_FENCE
        took = (nearest >= until);
        attend_until = until;
        if :: took -> took = false :: else -> goto awake fi;
#else
        attend_until = until;
#ifndef MUT_ATTEND_NO_RECHECK
        if :: nearest >= until -> skip :: else -> goto awake fi;
#endif
#endif
end_in_kernel:
        atomic {
                event || broken || (until == NEAR && now) ->
                ev = event;
                event = false;
                broken = false
        };
awake:  atomic {
                if
                :: attend_until == AWAKE -> skip
                :: else -> attend_until = AWAKE; goto back
                fi
        };
        /* somebody has broken the sleep, and is about to say so: ATT-3 */
end_note:
        atomic { note[me] -> note[me] = false };
back:   firing++;
        lock();
        atomic {
                assert(attending == me);
                attending = NONE; nmidle--; idle_seq = 1 - idle_seq; attend_until = NOBODY
        };
        unlock();
        if :: ev -> ev = false; deliver() :: else fi;
        run_due();
        atomic { firing--; until = 0 };
        goto top
}

/* wf_netpoll_nap: it returns after a while, if nothing comes. */
proctype Monitor() {
        byte naps;
        bool ev, br, hit;

end_nap:
        do
        :: atomic { naps < 2 && waiters > 0 && attend_until == NOBODY -> naps++ };
                atomic { ev = event; br = broken; event = false; broken = false };
                firing++;
                if :: ev -> ev = false; deliver() :: else fi;
                firing--;
                if
#ifndef MUT_POLL_NO_FORWARD
                :: br && attend_until != NOBODY -> broken = true        /* NETP-2 */
#endif
                :: else
                fi;
                br = false
        od
}

/* A plain thread arms a timer and goes on: wf_timers_armed. */
proctype Arms() {
        bool took;

        near[2] = true;
        if
        :: attend_until != NOBODY -> attend_break(NEAR)
        :: else -> wake_one()
        fi
}

/* A plain thread waits for the descriptor: its commit, wf_netpoll_joined. */
proctype Joins() {
        atomic {
                if
                :: counted -> goto out
                :: else -> thread_linked = true; waiters++
                fi
        };
#ifndef MUT_POLL_JOIN_SILENT
        if
        :: attend_until == NOBODY -> wake_one()
        :: else
        fi;
#endif
out:    skip
}

proctype Arrive() {
        event = true
}

proctype Clock() {
        now = true
}

/* At rest. */
proctype Check() {
        timeout;
        d_step {
                assert(!sched_lock && firing == 0 && !any_runnable);
                assert(!event || waiters == 0);         /* NETP-1: somebody is there to hear it */
                assert(!now || nearest != NEAR);        /* ATT-2 */
                assert(waiters == (linked -> 1 : 0) + (thread_linked -> 1 : 0));
                if
                :: live > 0 && waiters == 0 && nearest == NEVER -> assert(reported)
                :: else -> assert(!reported)
                fi
        }
}

init {
        atomic {
#if CFG == 1 || CFG == 4        /* descriptors and timers; one is far away */
                far = true;
                run Arms();
                run Monitor();
#elif CFG == 2          /* all get stuck after they have run: a deadlock at the end, and not before */
                stays = true;
                run Monitor();
#else                   /* a plain thread waits for the descriptor too */
                run Joins();
                run Monitor();
#endif
#if CFG != 3
                runnable[0] = true; live++;
#endif
#if CFG == 2 || CFG == 4
                runnable[1] = true; live++;
#endif
                run Clock();
                run Arrive();
                run M(0); run M(1);
                run Check()
        }
}
