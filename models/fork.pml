/* fork.pml: a goroutine's thread calls fork.
 *
 * The child has this one thread; all words are as the others left them, in
 * the middle of whatever they did: the monitor may have asked for the lease
 * or taken the P, somebody may hold sched.lock.  Nobody will ever finish it.
 * The handler that runs first in the child says FORKED, and from then on
 * every call of weft must return at once, without a P and without a wait.
 *
 * The fork is one step that sets `child`.  The others are gone then, wherever
 * they are (`unless`).
 *
 * Build flags: -DMUT_xxx plants one error (see README.md).
 */

#define CALLS 2         /* before the fork, and after it */

mtype = { HELD, ASKED, URGED, TAKEN, OFFERED, FORKED };

bool  child;
bool  ending;           /* phase is not UP */
mtype lease = HELD;
bool  in_rt, blocking;
bool  lease_lock, sched_lock;
byte  answered;         /* calls in the child that have returned -ENOTSUP */
byte  inside;           /* ghost: those that went in */
byte  spare_p;          /* Ps that wf_rejoin finds */

/* One who asks for the lease and takes the P; the steps are those of lease.pml, in short. */
proctype Monitor() {
        bool won;

        {
                atomic { !lease_lock -> lease_lock = true };
                atomic { if :: lease == HELD -> lease = ASKED; won = true :: else fi };
                if
                :: won ->
                        atomic {
                                if
                                :: lease == ASKED && !in_rt -> lease = TAKEN; spare_p++
                                :: lease == ASKED && in_rt -> lease = HELD
                                :: else
                                fi
                        }
                :: else
                fi;
                lease_lock = false
        } unless { child }
}

/* A submitter without an idle P finds the offer. */
proctype Taker() {
        { atomic { lease == OFFERED -> lease = TAKEN; spare_p++ } } unless { child }
}

/* Somebody is between lock and unlock of sched.lock, now and then. */
proctype Other() {
        {
                do
                :: atomic { !sched_lock -> sched_lock = true };
                        sched_lock = false
                od
        } unless { child }
}

inline leave() {
        if
        :: blocking -> atomic { if :: lease == HELD || lease == FORKED -> lease = OFFERED :: else fi }
        :: else
        fi;
        in_rt = false
}

/* wf_enter of a call that may wait, its body, wf_leave */
inline call() {
        in_rt = true;
        do
        :: lease == HELD ->
                inside++;
                break
        :: atomic { lease == ASKED -> lease = URGED }
        :: lease == URGED ->            /* give_way */
                atomic { !sched_lock -> sched_lock = true };
                atomic { lease = HELD; sched_lock = false }
        :: atomic { lease == OFFERED -> lease = HELD }
        :: lease == TAKEN ->            /* wf_rejoin: a P, or a wait for one */
                atomic { !sched_lock -> sched_lock = true };
                atomic { spare_p > 0 -> spare_p--; lease = HELD };
                sched_lock = false
        :: lease == FORKED ->
                answered++;
                break
        od;
        assert(!child || inside == 0);  /* no call goes in where nobody is */
        inside = 0;
        leave()
}

proctype Owner() {
        byte n;

        do
        :: n < CALLS -> n++; call()
        :: break
        od;
        /* weft_blocking_enter, or not */
        if
        :: call(); blocking = true; atomic { if :: lease == HELD -> lease = OFFERED :: else fi }
        :: skip
        fi;
        /* fork, in user code; the handler: in_forked_child */
        child = true;
        ending = true;
        sched_lock = false;
#ifndef MUT_LEASE_FORK
        lease = FORKED;
#endif
#ifndef MUT_FORK_OFFERS
        blocking = false;
#endif
        n = 0;
        do
        :: n < CALLS -> n++; call()
        :: else -> break
        od;
        assert(answered == CALLS && !in_rt)
}

init {
        atomic { run Owner(); run Monitor(); run Taker(); run Other() }
}
