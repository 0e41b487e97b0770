/* poll.pml: a descriptor that goroutines wait for.
 *
 * The kernel reports each change once.  A reader reads the count of reports,
 * tries, and waits only if the count is still the same; an event, a close and
 * its scope (a deadline or a cancel) may wake it, and one of them does.  The
 * last use of a closed descriptor closes it, so its number means the same
 * file from the begin of a use to its end; after that the number comes again
 * for another file, while a report of the first one may still be on its way.
 *
 * Memory is sequentially consistent here: the words are changed under the
 * record's lock or by a compare-and-swap, and the count is published with
 * release and read with acquire before the system call.
 *
 * Build flags: -DCFG=n chooses the parties (see init), -DMUT_xxx plants one
 * error (see README.md).
 */

#ifndef CFG
#define CFG 1
#endif
#define NR 2            /* readers */

mtype = { RUNNING, WAITING, RUNNABLE, IN_LINE, DONE };
mtype = { PENDING, AGAIN, CANCELLED, GIVEN };

/* The kernel's: what the number means, and what it will report. */
byte  file = 1;                         /* 0: the number is free */
byte  bytes;                            /* that nobody has read yet */
byte  watched = 1;                      /* the generation in its reports, 0: none */
chan  report = [3] of { byte, byte };   /* generation; ghost: the file */

/* struct wf_fd */
bool  lock_held;
byte  generation = 1;
byte  count;
byte  waiters;
bool  linked[NR];
byte  number[NR];       /* of the wait that is linked, 0: it is in no scope */
mtype result[NR] = PENDING;
/* its word `use` */
bool  ours = true, closing, busy, line;
byte  uses, use_gen = 1;
chan  turns = [NR] of { byte };

/* struct wf_g */
mtype status[NR] = DONE;
byte  num[NR];          /* the claim's word: number, and whether it is open */
bool  open[NR];
byte  readied[NR];      /* ghost: ready calls for this wait */
bool  scoped[NR];
bool  flagged;          /* the scope is cancelled, or its deadline has passed */

byte  got;              /* ghost: bytes that were read */
byte  closes;           /* ghost: calls of close(2) */

#define lock() atomic { !lock_held -> lock_held = true }
#define unlock() lock_held = false

/* wf_claim */
#ifdef MUT_PARK_CLAIM_NO_CAS
#define claim(g, n, won) \
        won = (open[g] && num[g] == (n)); \
        if :: won -> open[g] = false :: else fi
#else
#define claim(g, n, won) \
        d_step { won = (open[g] && num[g] == (n)); \
                 if :: won -> open[g] = false :: else fi }
#endif

/* wf_ready */
inline ready(g) {
        atomic {
                readied[g]++;
                assert(readied[g] == 1);        /* one of all wakers wins */
                assert(status[g] == WAITING);
                status[g] = RUNNABLE
        }
}

/* The kernel, in one step: something has come for this file, if it is still open. */
inline arrive(f) {
        atomic {
                if
                :: file == f -> bytes++; tell()
                :: else
                fi
        }
}

/* One report at a time stands for all that has come. */
inline tell() {
        if
        :: watched != 0 && !report??[eval(watched), eval(file)] -> report!watched, file
        :: else
        fi
}

/* wake_line, lock held: hit[i] are to be readied when it is dropped. */
inline wake_line(what) {
        i = 0;
        do
        :: i < NR && linked[i] ->
                atomic { linked[i] = false; waiters--; n = number[i] };
                won = true;
                if :: n != 0 -> claim(i, n, won) :: else fi;
                if :: won -> result[i] = what; hit[i] = true :: else fi;
                i++
        :: i < NR && !linked[i] -> i++
        :: else -> break
        od;
        atomic { i = 0; n = 0; won = false }
}

inline ready_all() {
        do
        :: i < NR -> if :: hit[i] -> ready(i); hit[i] = false :: else fi; i++
        :: else -> break
        od;
        i = 0
}

/* finish: the last use has ended. */
inline finish(g) {
        atomic {
                closes++;
                assert(closes == 1);
                file = 0; bytes = 0; watched = 0;
                do :: report?_, _ :: empty(report) -> break od
        };
        atomic {
#ifdef MUT_POLL_FINISH_BLIND
                ours = false; closing = false
#else
                if
                :: ours && closing && use_gen == g -> ours = false; closing = false
                :: else
                fi
#endif
        }
}

/* wf_poll_collect, wf_poll_deliver */
proctype Poller() {
        byte g, f, i, n;
        bool won, hit[NR];

end_in_kernel:
        do
        :: report?g, f;
                lock();
                if
#ifdef MUT_POLL_NO_GENERATION
                :: true ->
#else
                :: g == generation ->
#endif
                        /* what it says is of this file (POLL-3): `seen` is sticky */
                        assert(f == file);
                        count++;
                        wake_line(AGAIN)
#ifndef MUT_POLL_NO_GENERATION
                :: else
#endif
                fi;
                unlock();
                ready_all();
                atomic { g = 0; f = 0 }
        od
}

/* The commit of the wait: the sleeper's context is saved. */
proctype Commit(byte g, n) {
        bool ends, won;

#ifdef MUT_CHAN_FLAG_EARLY
        ends = (n != 0 && flagged);
#endif
        atomic { if :: n != 0 -> num[g] = n; open[g] = true :: else fi };
#ifndef MUT_CHAN_FLAG_EARLY
        ends = (n != 0 && flagged);
#endif
        unlock();
        if
        :: ends -> claim(g, n, won); if :: won -> ready(g) :: else fi
        :: else
        fi
}

/* wf_io_call with a read of one byte, `calls` times. */
proctype Reader(byte me, calls) {
        byte c, gen, n, i;
        byte began;             /* ghost: the file at the begin of the use */
        bool got_it;

call:   atomic {
                if
                :: calls == 0 -> status[me] = DONE; goto stop
                :: else -> calls--; status[me] = RUNNING
                fi
        };
        /* wf_io_begin */
begin:  atomic {
                if
                :: !ours || closing -> goto call        /* -EBADF */
                :: ours && !closing && busy -> goto stand_in_line
                :: else -> busy = true; uses++
                fi
        };
begun:  atomic { gen = use_gen; began = file };

        /* wf_io_do */
try:    c = count;
        atomic {
                assert(file == began);          /* FD-1 */
                if
                :: bytes > 0 -> bytes--; got++; got_it = true
                :: else
                fi
        };
        if :: got_it -> got_it = false; goto end :: else fi;
#ifdef MUT_POLL_COUNT_LATE
        c = count;
#endif

        /* wait_for_event */
        lock();
        if
#ifndef MUT_POLL_STALE_WAIT
        :: generation != gen -> unlock(); goto end      /* -ECANCELED */
#endif
#ifndef MUT_POLL_NO_RECHECK
        :: generation == gen && count != c -> unlock(); goto try
#endif
        :: else
        fi;
        atomic {
                n = (scoped[me] -> num[me] + 1 : 0);
                number[me] = n;
                result[me] = PENDING;
                linked[me] = true;
                waiters++;
                readied[me] = 0;
                status[me] = WAITING;
                run Commit(me, n)
        };
end_asleep:
        atomic {
                status[me] == RUNNABLE ->
                status[me] = RUNNING;
                assert(!open[me])
        };
        if
        :: result[me] == AGAIN -> goto try
        :: result[me] == CANCELLED -> goto end
        :: result[me] == PENDING -> assert(flagged)
        fi;
#ifndef MUT_POLL_STAYS
        atomic {                                        /* WAIT-1 */
                !lock_held ->
                if :: linked[me] -> linked[me] = false; waiters-- :: else fi
        };
#endif

        /* wf_io_end */
end:    assert(!linked[me]);
again:  if
#ifndef MUT_POLL_TURN_LOST
        :: line -> /* hand_over, under the bucket's lock */
                atomic {
                        if
                        :: turns?i -> result[i] = GIVEN; status[i] = RUNNABLE; i = 0; goto call
                        :: empty(turns) -> line = false; goto again
                        fi
                }
#endif
        :: atomic {
#ifndef MUT_POLL_TURN_LOST
                !line ->
#endif
                assert(file == began && uses > 0);      /* FD-1 */
                busy = false;
                uses--;
                if
                :: closing && uses == 0 -> skip
                :: else -> goto call
                fi
           };
           finish(gen);
           goto call
        fi;

stand_in_line:
        atomic {
                if
                :: ours && !closing && busy ->
                        line = true;
                        turns!me;
                        result[me] = PENDING;
                        status[me] = IN_LINE
                :: else -> goto begin
                fi
        };
end_in_line:
        atomic { status[me] == RUNNABLE -> status[me] = RUNNING };
        if
        :: result[me] == GIVEN -> goto begun
        :: else -> goto call                            /* -ECANCELED */
        fi;
stop:   skip
}

/* weft_close_fd */
proctype Close() {
        byte g, i, n;
        bool won, hit[NR];

        atomic { assert(ours && !closing); closing = true; uses++; g = use_gen };
        /* send_away */
        atomic {
                do
                :: turns?i -> result[i] = CANCELLED; status[i] = RUNNABLE
                :: empty(turns) -> break
                od;
                i = 0
        };
        lock();
        generation++;
        wake_line(CANCELLED);
        unlock();
        ready_all();
        /* drop */
        atomic {
                uses--;
                if
#ifndef MUT_POLL_CLOSE_EARLY
                :: uses > 0 -> goto left                /* the last use closes */
#endif
                :: else
                fi
        };
        finish(g);
left:   skip
}

/* Another file is opened and gets the number: wf_fd_make. */
proctype Reuse() {
        byte g, i, n;
        bool won, hit[NR];

        atomic { file == 0 -> file = 2 };
        lock();
        generation++;
        g = generation;
        wake_line(CANCELLED);
        unlock();
        ready_all();
        atomic { ours = true; closing = false; busy = false; line = false; uses = 0; use_gen = g };
        atomic { watched = g; if :: bytes > 0 -> tell() :: else fi };
        arrive(2)
}

/* weft_cancel, or the timer of a deadline: wf_claim_scoped. */
proctype Scope() {
        byte n;
        bool won;

        flagged = true;
        d_step { n = (open[0] -> num[0] : 0) };
        if
        :: n != 0 -> claim(0, n, won); if :: won -> ready(0) :: else fi
        :: else
        fi
}

proctype Arrive() {
        arrive(1)
}

/* At rest: who still waits has nothing to wake it, and all counts are right. */
proctype Check() {
        byte i, n, u;

        timeout;
        d_step {
                assert(!lock_held && empty(report));
                do
                :: i < NR ->
                        assert(status[i] == DONE || status[i] == WAITING || status[i] == IN_LINE);
                        if
                        :: status[i] == WAITING ->
                                assert(linked[i] && bytes == 0 && ours && !closing);
                                assert(generation == use_gen);
                                assert(!scoped[i] || !flagged);
                                n++; u++
                        :: status[i] == IN_LINE ->
                                assert(ours && !closing && busy && line)
                        :: else -> assert(!linked[i])
                        fi;
                        i++
                :: else -> break
                od;
                assert(waiters == n);                   /* POLL-4 */
                assert(!ours || uses == u);
#if CFG == 2
                assert(closes == 1 && file == 2 && ours);
#endif
                i = 0; n = 0; u = 0
        }
}

init {
        atomic {
#if CFG == 1            /* three wakers, one sleeper; each is there or not */
                scoped[0] = true;
                if :: run Arrive() :: skip fi;
                if :: run Close() :: skip fi;
                if :: run Scope() :: skip fi;
                run Reader(0, 1);
#elif CFG == 2          /* the number comes again */
                if :: scoped[0] = true; run Scope() :: skip fi;
                run Arrive();
                run Close();
                run Reuse();
                run Reader(0, 2);
#else                   /* two readers take turns; it is closed or not */
                if :: run Close() :: skip fi;
                run Arrive();
                run Arrive();
                run Reader(0, 1);
                run Reader(1, 1);
#endif
                run Poller();
                run Check()
        }
}
