/* chan.pml: channels, select, close and cancel.
 *
 * What a goroutine leaves in a wait queue lies on its stack, and what wakes it
 * may be any of several: a value on one of the channels of a select, a close,
 * a cancel.  Two things have to come out right: one waker wins, and nobody
 * looks at a channel or at a waiter that is gone.  A receiver that frees the
 * channel as soon as it has the value is normal here (SYNC-1), and so is a
 * frame that goes as soon as its owner is readied (WAIT-1, WAIT-3).
 *
 * Goroutines are processes; how one M leaves one for another is the subject
 * of park.pml.  What matters here is that the commit of a park is executed by
 * somebody else (the arriving context), so it is a process of its own and may
 * still be at work when the sleeper has been woken and runs.  A plain call outside
 * the group has no commit: it unlocks before it leaves its stack, and its waker
 * waits until it has (PARK-4).
 *
 * Memory is sequentially consistent: a channel is touched under its lock,
 * except for the state word; claims are read-modify-writes; and the accesses
 * whose order a store buffer could turn round (the flag of a cancel against
 * the claim) have a mutant for either side.
 *
 * A step is as large as it can be without hiding anything from others: what
 * is done under the lock needs none of its own, unless it is a claim, or the
 * owner of a waiter can see it without the lock (linked).
 *
 * Build flags: -DCFG=n selects the goroutines (below), -DCAP=0|1 the buffer,
 * -DDEEP more of them, -DMUT_xxx plants one error (see README.md).
 */

#ifndef CAP
#define CAP  0
#endif
#define NG   3          /* goroutines */
#define NC   2          /* channels */
#define A    0
#define B    1
#define NW   6          /* waiters: goroutine g has 2g and 2g + 1, one per case */
#define NV   6
#define NONE 15

#define RECV 0
#define SEND 1

/* results */
#define PENDING 0
#define OK      1
#define CLOSED  2       /* a receive gets 0, a send -EPIPE */

/* The state word.  Bits and fill change only by the store that unlocks. */
#define W_LOCKED 1
#define W_CLOSED 2
#define W_RECV   4
#define W_SEND   8
#define W_FILL   16
byte  word[NC];

/* Under the lock. */
bool  closed[NC];
byte  fill[NC];
byte  ring[NC];
chan  queue[4] = [4] of { byte };   /* 2c: receivers of c, 2c + 1: senders */

/* Waiter records. */
bool  linked[NW];
byte  place[NW];                    /* the queue it is made for */
byte  number[NW];                   /* 0: who finds it is its only waker */
byte  elem[NW];
byte  result[NW];

mtype = { RUNNING, PARKING, WAITING, RUNNABLE, DONE };
mtype status[NG] = DONE;

/* The claim word. */
byte  num[NG];
bool  open[NG];
bool  obeys[NG];                    /* its SCOPED bit */

/* The group that the scoped goroutines are in. */
bool  scoped[NG];
bool  shielded[NG];                 /* in the group, but the flag is not for it */
bool  member[NG];                   /* linked into the tree at the first park */
bool  tree_lock;
bool  cancelled;
#define verdict(x) (scoped[x] && cancelled && !shielded[x])

/* ghosts */
bool  freed[NC];
bool  grace[NC * NG];               /* g was in the runtime when c was freed, and still is */
bool  saved[NG];                    /* the context is complete */
bool  inside[NG];                   /* the frame with the waiters exists */
byte  frame[NG];                    /* which frame that is */
bool  sent[NV];                     /* what became of each value */
byte  got[NV];

byte  variant;                      /* which of its forms a configuration takes */

/* Every access to a channel; one by a waiter on its way out, when the channel
 * may be freed but its memory is still there; every access to a waiter. */
#define touch(c)  assert(!freed[c])
#ifdef MUT_CHAN_NO_GRACE
#define touch_late(c) touch(c)
#else
#define touch_late(c) assert(!freed[c] || grace[(c) * NG + g])
#endif
#define visit(w)  assert(inside[(w) / 2])

inline take(c) {
        word[c] = word[c] | W_LOCKED;
        nlocks++
}

inline drop(c) {
        assert(word[c] & W_LOCKED);
        word[c] = (closed[c] -> W_CLOSED : 0) + (len(queue[2 * (c)]) > 0 -> W_RECV : 0) +
                (len(queue[2 * (c) + 1]) > 0 -> W_SEND : 0) + fill[c] * W_FILL;
        nlocks--
}

/* wf_chan_lock, wf_chan_unlock */
inline lock(c) {
        atomic { !(word[c] & W_LOCKED) -> touch(c); take(c) }
}

inline unlock(c) {
        atomic { touch(c); drop(c) };
#ifdef MUT_CHAN_TOUCH_UNLOCKED
        touch(c);
#endif
}

/* wf_claim */
#ifdef MUT_CHAN_CLAIM_NO_CAS
#define claim(x, n, won) \
        won = (open[x] && num[x] == (n)); \
        if :: won -> open[x] = false :: else fi
#elif defined(MUT_CHAN_CLAIM_NO_SEQ)
#define claim(x, n, won) \
        d_step { won = open[x]; if :: won -> open[x] = false :: else fi }
#else
#define claim(x, n, won) \
        d_step { won = (open[x] && num[x] == (n)); \
                 if :: won -> open[x] = false :: else fi }
#endif

/* wf_ready */
inline ready(x) {
#ifndef MUT_CHAN_READY_EARLY
        status[x] != PARKING;                   /* wf_let_leave */
#endif
        d_step {
                assert(nlocks == 0);            /* never under a lock */
                assert(status[x] == WAITING);   /* once per wait */
                assert(saved[x]);               /* never before it was saved */
                status[x] = RUNNABLE
        }
}

/* First half of wf_waiter_pop: the first waiter leaves the queue.  From here
 * on its owner may return, unless the claim that follows is won. */
inline unlink_first(q) {
        queue[q]?w;
        visit(w);
        linked[w] = false;
        claimed = number[w]
}

/* weft_chan_free by g.  The waiters of those that somebody else has woken are
 * taken out, so that their owners do not come back to the channel; an owner
 * that is on its way may, as long as it stays in the runtime (limbo.h).  To
 * free a channel for which somebody sleeps is an error of the program. */
inline free(c) {
        lock(c);
        atomic {
                k = 2 * (c);
                do
                :: nempty(queue[k]) ->
                        queue[k]?w;
                        visit(w);
                        assert(number[w] != 0 && !open[w / 2]);
#ifndef MUT_CHAN_FREE_LEAVES
                        linked[w] = false
#endif
                :: empty(queue[k]) && k % 2 == 0 -> k++
                :: empty(queue[k]) && k % 2 == 1 -> break
                od;
                k = 0;
                do
                :: k < NG ->
                        grace[(c) * NG + k] =
                                ((status[k] == RUNNING || status[k] == PARKING) && inside[k]);
                        k++
                :: else -> break
                od;
                k = 0; w = 0;
                drop(c);
                freed[c] = true
        }
}

/* What a look at the state word without the lock says about a case. */
#define looks_ready(d, s) \
        ((s & W_CLOSED) || (d == SEND && ((s & W_RECV) || s / W_FILL < CAP)) || \
         (d == RECV && ((s & W_SEND) || s / W_FILL > 0)))

/* The commit of a park, by the arriving context.  c1 is NONE when there is
 * one channel.  mine: the frame it may read as long as a channel is locked. */
proctype Commit(byte g, n, c0, c1, mine) {
        byte nlocks = (c1 == NONE -> 1 : 2);
        bool flag, won;

#ifdef MUT_CHAN_FLAG_EARLY
        flag = verdict(g);
#endif
        d_step {
                assert(status[g] == RUNNING);
                status[g] = WAITING;
                if
                :: n != 0 ->
                        assert(!open[g]);
                        num[g] = n;
                        open[g] = true;
                        obeys[g] = scoped[g]
                :: else
                fi
        };
#ifndef MUT_CHAN_FLAG_EARLY
#ifndef MUT_CHAN_FLAG_LATE
        /* WAIT-4.  The scope records lie on the sleeper's stack too. */
        d_step { assert(!scoped[g] || frame[g] == mine); flag = verdict(g) };
#endif
#endif
#ifdef MUT_CHAN_SELF_LOCKED
        if :: flag -> flag = false; claim(g, n, won) :: else fi;
        if :: won -> ready(g) :: else fi;
#endif
        if
        :: c1 != NONE -> assert(frame[g] == mine); unlock(c0); unlock(c1)
        :: else -> assert(frame[g] == mine); unlock(c0)
        fi;
#ifdef MUT_CHAN_COMMIT_READS_LATE
        assert(frame[g] == mine);
#endif
#ifdef MUT_CHAN_FLAG_LATE
        d_step { assert(!scoped[g] || frame[g] == mine); flag = verdict(g) };
#endif
        if :: flag -> claim(g, n, won) :: else fi;
        if :: won -> ready(g) :: else fi
}

/* The arriving context of one that was PARKING. */
proctype Left(byte g) {
        d_step { assert(status[g] == PARKING); status[g] = WAITING }
}

/* The goroutines of each configuration: op sets up the next call.  frees:
 * the channel is freed as soon as this call has got a value. */
#define plain(d, c, v)            n = 1; dir[0] = d; ch[0] = c; elem[2 * g] = v
#define both(d, c, v, e, f, x)    plain(d, c, v); n = 2; dir[1] = e; ch[1] = f; elem[2 * g + 1] = x
#define OTHER  (1 - ch[fired])

#ifndef CFG
#define CFG 1
#endif
#if CFG == 1
/* Plain calls, nobody in a scope: the lock of the queue decides alone.  The
 * receiver frees the channel with the last value. */
#define op() if \
        :: g == 0 && pc == 0 -> plain(SEND, A, 1) \
        :: g == 0 && pc == 1 -> plain(SEND, A, 2) \
        :: g == 1 && pc == 0 -> plain(SEND, A, 3) \
        :: g == 2 && pc < 3  -> plain(RECV, A, 0); frees = (pc == 2) \
        :: else -> n = 0 \
        fi
#elif CFG == 2
/* A select that sends, then sends on the other channel; each receiver frees.
 * A buffer is full at the start. */
#define op() if \
        :: g == 0 && pc == 0 -> both(SEND, A, 1, SEND, B, 2) \
        :: g == 0 && pc == 1 -> plain(SEND, OTHER, 3) \
        :: g == 1 && pc <= CAP -> plain(RECV, A, 0); frees = (pc == CAP) \
        :: g == 2 && pc <= CAP -> plain(RECV, B, 0); frees = (pc == CAP) \
        :: else -> n = 0 \
        fi
#elif CFG == 3
/* A select that receives and frees the channel it received from. */
#define op() if \
        :: g == 0 && pc == 0 -> both(RECV, A, 0, RECV, B, 0); frees = true \
        :: g == 0 && pc == 1 -> plain(RECV, OTHER, 0); frees = true \
        :: g == 1 && pc == 0 -> plain(SEND, A, 1) \
        :: g == 2 && pc == 0 -> plain(SEND, B, 2) \
        :: else -> n = 0 \
        fi
#elif CFG == 4
/* Two selects that face each other, with the cases the other way round, and
 * a third that may find either of them; one or two of them in the group. */
#define op() if \
        :: g == 0 && pc == 0 -> both(SEND, A, 1, RECV, B, 0) \
        :: g == 1 && pc == 0 -> both(SEND, B, 2, RECV, A, 0) \
        :: g == 2 && pc == 0 && variant == 0 -> plain(RECV, A, 0) \
        :: g == 2 && pc == 0 && variant == 1 -> plain(SEND, A, 3) \
        :: g == 2 && pc == 0 && variant == 2 -> both(RECV, A, 0, RECV, B, 0); tries = true \
        :: else -> n = 0 \
        fi
#elif CFG == 5
/* Scoped plain calls and a cancel: which calls fit together is open. */
#define op() if \
        :: g == 0 && pc < 2  -> plain(SEND, A, 1 + pc) \
        :: g == 1 && pc == 0 -> plain(RECV, A, 0) \
        :: g == 2 && pc == 0 && variant == 0 -> plain(RECV, A, 0) \
        :: g == 2 && pc == 0 && variant == 1 -> plain(SEND, A, 3) \
        :: g == 2 && pc == 0 && variant == 2 -> plain(RECV, A, 0); tries = true \
        :: else -> n = 0 \
        fi
#elif CFG == 6
/* A select, a plain receive and a send on a channel that is closed. */
#define op() if \
        :: g == 0 && pc == 0 -> both(RECV, A, 0, RECV, B, 0) \
        :: g == 1 && pc == 0 -> plain(RECV, A, 0) \
        :: g == 2 && pc == 0 && variant == 0 -> plain(SEND, A, 1) \
        :: g == 2 && pc == 0 && variant == 1 -> both(SEND, B, 1, SEND, A, 2) \
        :: g == 2 && pc == 0 && variant == 2 -> both(RECV, B, 0, RECV, A, 0) \
        :: else -> n = 0 \
        fi
#elif CFG == 7
/* The same channel in both cases. */
#define op() if \
        :: g == 0 && pc == 0 && variant < 2  -> both(SEND, A, 1, RECV, A, 0) \
        :: g == 0 && pc == 0 && variant == 2 -> both(SEND, A, 1, SEND, A, 2) \
        :: g == 0 && pc == 0 && variant == 3 -> both(RECV, A, 0, RECV, A, 0) \
        :: g == 1 && pc == 0 && variant == 0 -> plain(RECV, A, 0); frees = true \
        :: g == 1 && pc == 0 && variant == 1 -> both(RECV, A, 0, SEND, A, 3) \
        :: g == 1 && pc <= CAP && variant == 2 -> plain(RECV, A, 0); frees = (pc == CAP) \
        :: g == 1 && pc == 0 && variant == 3 -> plain(SEND, A, 3) \
        :: else -> n = 0 \
        fi
#elif CFG == 9
/* Who gets the value of a select frees the other channel of it, too. */
#define op() if \
        :: g == 0 && pc == 0 && variant == 0 -> both(SEND, A, 1, RECV, B, 0) \
        :: g == 0 && pc == 0 && variant == 1 -> both(RECV, B, 0, SEND, A, 1) \
        :: g == 1 && pc <= CAP -> plain(RECV, A, 0); frees = (pc == CAP); quits = frees \
        :: else -> n = 0 \
        fi
#else
/* A scoped select that receives twice, or then waits for the channel that
 * fired; two senders, close and cancel. */
#define op() if \
        :: g == 0 && pc < 2 && (pc == 0 || variant == 0) -> both(RECV, A, 0, RECV, B, 0) \
        :: g == 0 && pc == 1 && variant == 1 -> plain(RECV, ch[fired], 0) \
        :: g == 1 && pc <= CAP -> plain(SEND, A, 1 + 2 * pc) \
        :: g == 2 && pc == 0 -> plain(SEND, B, 2) \
        :: else -> n = 0 \
        fi
#endif

proctype Go(byte g) {
        byte pc, n, k, w, me, from, claimed, fired, nlocks, s0, s1;
        byte dir[2], ch[2];
        bool won, all, again, frees, quits, tries;

call:   atomic {
                frees = false; quits = false; tries = false;
                op();
                fired = 0;
                if
                :: n == 0 -> status[g] = DONE; goto done
                :: else ->
                        pc++;
                        inside[g] = true;
                        result[2 * g] = PENDING;
                        result[2 * g + 1] = PENDING
                fi;
                if
                :: n == 1 && !tries -> goto lock_all
                :: else -> goto pass
                fi
        };

        /* Step 1 of a select, and the try forms: no lock while nothing can be done. */
pass:   atomic {
                touch(ch[0]);
                s0 = word[ch[0]];
                s0 = looks_ready(dir[0], s0)
        };
        atomic {
                if
                :: n == 2 ->
                        touch(ch[1]);
                        s1 = word[ch[1]];
                        s1 = looks_ready(dir[1], s1)
                :: else
                fi;
                if
                :: s0 -> k = 0
                :: s1 -> k = 1
                :: !s0 && !s1 ->
                        if
                        :: tries -> fired = NONE; goto finish
                        :: else -> goto lock_all
                        fi
                fi;
                s0 = 0; s1 = 0;
                lock(ch[k]);
                goto attempt
        };

        /* Step 2, and a plain call: everything locked, in the order of the addresses. */
lock_all:
        atomic {
                if
                :: n == 2 && ch[0] != ch[1] -> lock(A); lock(B)
                :: else -> lock(ch[0])
                fi;
                all = true;
                again = (n == 2);
                if :: k = 0 :: n == 2 -> k = 1 fi;
#ifdef MUT_CHAN_NO_RECHECK
                if :: n == 2 -> goto enqueue :: else fi;
#endif
                goto attempt
        };

        /* Case k, under the lock of its channel. */
attempt:
        atomic {
                me = 2 * g + k;
                if
                :: dir[k] == SEND && closed[ch[k]] -> result[me] = CLOSED; w = NONE; goto complete
                :: dir[k] == SEND && !closed[ch[k]] -> from = 2 * ch[k] + RECV
                :: dir[k] == RECV ->
                        from = 2 * ch[k] + SEND;
                        if
                        :: fill[ch[k]] > 0 ->
                                elem[me] = ring[ch[k]];
                                ring[ch[k]] = 0;
                                fill[ch[k]]--;
                                result[me] = OK
                        :: else
                        fi
                fi;
                goto next
        };
next:   atomic {
                if
                :: empty(queue[from]) -> goto alone
                :: nempty(queue[from]) ->
                        unlink_first(from);
                        if
                        :: claimed == 0 -> goto given
                        :: else -> goto contested
                        fi
                fi
        };
contested:
        skip;           /* not part of the step before */
        claim(w / 2, claimed, won);
        atomic {
#ifdef MUT_CHAN_LINKED_EARLY
                visit(w);       /* the loser, too, looks at the waiter once more */
#endif
                if
                :: won -> won = false; goto given
                :: else ->
#ifdef MUT_CHAN_POP_ONE
                        goto alone
#else
                        goto next
#endif
                fi
        };
given:  atomic {
                visit(w);
                if
                :: dir[k] == SEND -> elem[w] = elem[me]
                :: dir[k] == RECV && result[me] == OK -> ring[ch[k]] = elem[w]; fill[ch[k]]++
                :: dir[k] == RECV && result[me] != OK -> elem[me] = elem[w]
                fi;
                result[w] = OK;
                result[me] = OK;
                goto complete
        };
alone:  atomic {
                w = NONE;
                if
                :: dir[k] == SEND && fill[ch[k]] < CAP ->
                        ring[ch[k]] = elem[me];
                        fill[ch[k]]++;
                        result[me] = OK;
                        goto complete
                :: dir[k] == RECV && result[me] == OK -> goto complete
                :: dir[k] == RECV && result[me] != OK && closed[ch[k]] ->
                        result[me] = CLOSED;
                        goto complete
                :: else
                fi;
                /* not ready, whatever it looked like */
                if
                :: all && again ->
#ifdef MUT_CHAN_ONE_LOOK
                        /* chooses by the state word, and sleeps when the choice fails */
                        if :: looks_ready(dir[k], word[ch[k]]) -> goto enqueue :: else fi;
#endif
                        again = false;
                        k = 1 - k;
                        goto attempt
                :: all && !again -> goto enqueue
                :: else
                fi
        };
        atomic { unlock(ch[k]); goto pass };

        /* Done without a wait; w: whom to ready. */
complete:
        fired = k;
#ifdef MUT_CHAN_READY_LOCKED
        if :: w != NONE -> ready(w / 2) :: else fi;
#endif
        if
        :: nlocks == 2 -> unlock(A); unlock(B)
        :: else -> unlock(ch[k])
        fi;
#ifndef MUT_CHAN_READY_LOCKED
        if
        :: w != NONE ->
                visit(w);
                ready(w / 2);
#ifdef MUT_CHAN_TOUCH_READIED
                visit(w);
#endif
        :: else
        fi;
#endif
        goto finish;

        /* Step 3: a waiter for each case, then wf_park.  From here me is the
         * number of the wait. */
enqueue:
        atomic {
                if
                :: scoped[g] && !member[g] -> !tree_lock -> member[g] = true
                :: else
                fi;
                me = 0;
                if
#ifdef MUT_CHAN_NO_NUMBER
                :: n == 2 -> skip               /* a select whose wakers do not claim */
#else
                :: n == 2 || scoped[g] -> me = num[g] + 1
#endif
                :: else
                fi;
                k = 0;
                do
                :: k < n ->
                        w = 2 * g + k;
                        number[w] = me;
                        place[w] = 2 * ch[k] + dir[k];
                        queue[place[w]]!w;
                        linked[w] = true;
                        k++
                :: else -> break
                od;
                k = 0; w = 0; from = 0; claimed = 0; all = false; again = false;
                if
                :: n == 1 && me == 0 ->
#ifndef MUT_CHAN_UNSAID
                        status[g] = PARKING;
#endif
                        goto park
                :: else
                fi;
#ifndef MUT_CHAN_UNLOCK_EARLY
                saved[g] = true;
#endif
                nlocks = 0;
                grace[A * NG + g] = false;
                grace[B * NG + g] = false;
                if
                :: n == 2 && ch[0] != ch[1] -> run Commit(g, me, A, B, frame[g])
                :: else -> run Commit(g, me, ch[0], NONE, frame[g])
                fi
        };
#ifdef MUT_CHAN_UNLOCK_EARLY
        saved[g] = true;
#endif
        goto asleep;
park:   unlock(ch[0]);
        atomic {
                status[g] = PARKING;
                saved[g] = true;
                grace[A * NG + g] = false;
                grace[B * NG + g] = false;
                run Left(g)
        };
asleep: skip;
end_asleep:
        d_step {
                status[g] == RUNNABLE ->
                assert(saved[g]);
                assert(!open[g]);
                saved[g] = false;
                status[g] = RUNNING;
                fired = NONE;
                if
                :: result[2 * g] != PENDING -> fired = 0
                :: else
                fi;
                if
                :: n == 2 && result[2 * g + 1] != PENDING ->
                        assert(fired == NONE);          /* one case fires */
                        fired = 1
                :: else
                fi;
                me = 0
        };
#ifdef MUT_CHAN_WOKEN_LOCKS
        /* sees itself unlinked under the lock, though it has its result */
        if :: fired != NONE -> lock(ch[fired]); unlock(ch[fired]) :: else fi;
#endif

        /* Step 4: what has no result may still be linked.  If it is not, the
         * channel may be gone. */
        do
        :: k < n && k == fired -> k++
        :: k < n && k != fired && !linked[2 * g + k] -> k++
        :: k < n && k != fired && linked[2 * g + k] ->
#ifdef MUT_CHAN_LOSER_STAYS
                if :: fired != NONE -> break :: else fi;
#endif
                atomic {
                        !(word[ch[k]] & W_LOCKED) ->
                        touch_late(ch[k]);
                        take(ch[k]);
                        if
                        :: linked[2 * g + k] ->
                                queue[place[2 * g + k]]??eval(2 * g + k);
                                linked[2 * g + k] = false
                        :: else
                        fi
                };
                atomic { touch_late(ch[k]); drop(ch[k]) };
                k++
        :: k == n -> break
        od;
        /* Nothing delivered and no verdict: it was woken for nothing. */
        if
        :: fired == NONE && !verdict(g) ->
                assert(scoped[g] && cancelled);
                k = 0; fired = 0;
                if
                :: n == 1 -> goto lock_all
                :: else -> goto pass
                fi
        :: else
        fi;

        /* The call returns: its frame is gone. */
finish: atomic {
                assert(nlocks == 0);
#ifndef MUT_CHAN_LOSER_STAYS
                assert(!linked[2 * g] && !linked[2 * g + 1]);
#endif
                if
                :: fired == NONE -> frees = false; quits = false; fired = 0
                :: fired != NONE && result[2 * g + fired] == OK ->
                        if
                        :: dir[fired] == SEND -> sent[elem[2 * g + fired]] = true; frees = false
                        :: else ->
                                got[elem[2 * g + fired]]++;
                                assert(elem[2 * g + fired] != 0);
                                assert(got[elem[2 * g + fired]] == 1)   /* no value twice */
                        fi
                :: else -> frees = false
                fi;
                k = 2 * g;
                do
                :: k < 2 * g + 2 ->
                        elem[k] = 0; result[k] = 0; number[k] = 0; place[k] = 0;
                        k++
                :: else -> break
                od;
                k = 0; w = 0; me = 0; from = 0; claimed = 0; s0 = 0; s1 = 0;
                all = false; again = false;
                grace[A * NG + g] = false;
                grace[B * NG + g] = false;
                inside[g] = false;
                frame[g]++
        };
        if :: frees -> free(ch[fired]) :: else fi;
        if :: quits -> free(B) :: else fi;
        goto call;
done:   skip
}

/* weft_chan_close */
proctype Close(byte c) {
        byte w, k, claimed, nlocks;
        bool won;
        chan list = [4] of { byte };

        atomic { lock(c); closed[c] = true; k = 2 * c };
        do
        :: atomic { nempty(queue[k]) -> unlink_first(k); won = (claimed == 0) };
                if
                :: claimed != 0 -> claim(w / 2, claimed, won)
                :: else
                fi;
                atomic {
                        if
                        :: won -> visit(w); result[w] = CLOSED; list!w
                        :: else
                        fi;
                        won = false; claimed = 0; w = 0
                }
        :: empty(queue[k]) && k % 2 == 0 -> k++
        :: empty(queue[k]) && k % 2 == 1 -> break
        od;
        unlock(c);
        do
        :: nempty(list) ->
                list?w;
                visit(w);               /* reads next before it readies */
                ready(w / 2);
#ifdef MUT_CHAN_TOUCH_READIED
                visit(w);
#endif
                w = 0
        :: empty(list) -> break
        od
}

/* weft_cancel.  The flag is set by a read-modify-write, so that it is seen
 * before the claims are looked at. */
proctype Cancel() {
        byte i, n, nlocks;
        bool won, hit[NG];

        atomic { !tree_lock -> tree_lock = true; nlocks++ };
#ifndef MUT_CHAN_FLAG_BUFFERED
        cancelled = true;
#endif
        do
        :: i < NG && !scoped[i] -> i++
        :: i < NG && scoped[i] ->
                /* wf_claim_scoped */
                d_step { n = (member[i] && open[i] && obeys[i] -> num[i] : 0) };
                if
                :: n != 0 -> claim(i, n, won); hit[i] = won; won = false
                :: else
                fi;
                i++
        :: else -> break
        od;
#ifdef MUT_CHAN_FLAG_BUFFERED
        cancelled = true;
#endif
        atomic { tree_lock = false; nlocks--; n = 0; i = 0 };
        do
        :: i < NG -> if :: hit[i] -> ready(i) :: else fi; i++
        :: else -> break
        od
}

/* At rest: whoever still waits has nobody to wake it, and the values add up. */
proctype Check() {
        byte i, c;

        timeout;
        d_step {
                assert(!tree_lock);
                c = 0;
                do
                :: c < NC ->
                        assert(!(word[c] & W_LOCKED));
                        if
                        :: fill[c] > 0 -> assert(got[ring[c]] == 0); got[ring[c]]++
                        :: else
                        fi;
                        c++
                :: else -> break
                od;
                i = 0;
                do
                :: i < NG ->
                        assert(status[i] == DONE || status[i] == WAITING);
                        if
                        :: status[i] == WAITING ->
                                assert(linked[2 * i] || linked[2 * i + 1]);
                                assert(number[2 * i] == 0 || open[i]);
                                assert(!verdict(i))
                        :: else -> assert(!linked[2 * i] && !linked[2 * i + 1])
                        fi;
                        i++
                :: else -> break
                od;
                i = 0;
                do
                :: i < NW ->
                        if
                        :: linked[i] ->
                                c = place[i] / 2;
                                assert(!closed[c] && !freed[c]);
                                if
                                :: place[i] % 2 == SEND -> assert(fill[c] == CAP)
                                :: else -> assert(fill[c] == 0)
                                fi;
                                /* no partner asleep on the other side of the channel */
                                c = 0;
                                do
                                :: c < NW ->
                                        assert(!(linked[c] && c / 2 != i / 2 &&
                                                 place[c] == (place[i] ^ 1)));
                                        c++
                                :: else -> break
                                od
                        :: else
                        fi;
                        i++
                :: else -> break
                od;
                i = 1;
                do
                :: i < NV -> assert(got[i] == sent[i]); i++
                :: else -> break
                od
        }
}

/* With a buffer: a value that is there from the start. */
#if CAP > 0
#define prefill(c, v) fill[c] = 1; ring[c] = v; word[c] = W_FILL; sent[v] = true
#else
#define prefill(c, v) skip
#endif
/* One of its forms; -DVARIANT=n: only this one. */
#ifdef VARIANT
#define choose(n) variant = VARIANT
#else
#define choose(n) if \
        :: variant = 0 \
        :: n > 1 -> variant = 1 \
        :: n > 2 -> variant = 2 \
        :: n > 3 -> variant = 3 \
        fi
#endif
#define start(x) status[x] = RUNNING; run Go(x)

init {
        atomic {
                /* A cancel or a close is there or not: with all always there,
                 * a wake lost by one would be repaired by the next. */
#if CFG == 2 || CFG == 9
                prefill(A, 4);
#endif
#if CFG == 2
                prefill(B, 5);
#endif
#if CFG == 4
                choose(3);
                if
                :: skip
#ifdef DEEP
                :: scoped[0] = true; run Cancel()
                :: scoped[0] = true; scoped[1] = true; run Cancel()
#else
                :: variant < 2 -> scoped[0] = true; run Cancel()
#endif
                fi;
#elif CFG == 5
                choose(3);
                scoped[1] = true;
                if
                :: scoped[0] = true; run Cancel()
                :: variant == 0 -> shielded[1] = true; run Cancel()
                :: run Close(A)
#ifdef DEEP
                :: run Cancel(); run Close(A)
#endif
                fi;
#elif CFG == 6
                choose(3);
                if
                :: run Close(A)
#ifndef DEEP
                :: variant == 0 ->
#else
                ::
#endif
                        scoped[0] = true; run Close(A); run Cancel()
                fi;
#elif CFG == 7
                choose(4);
                if :: variant == 2 -> prefill(A, 4) :: else fi;
                if
                :: skip
                :: scoped[0] = true; run Cancel()
                :: variant % 2 == 1 -> run Close(A)
                fi;
#elif CFG == 9
                choose(2);
                if :: skip :: scoped[0] = true; shielded[0] = true; run Cancel() fi;
#elif CFG == 8
                choose(2);
                scoped[0] = true;
                if
                :: skip
                :: variant == 0 -> run Close(A)
#if CAP == 0 || defined(DEEP)
                :: variant == 0 -> run Cancel()
                :: variant == 0 -> shielded[0] = true; run Cancel()
#endif
#ifdef DEEP
                :: variant == 0 -> run Close(A); run Cancel()
                :: variant == 0 -> run Close(A); run Close(B)
#endif
                fi;
#endif
                start(0); start(1); start(2); run Check()
        }
}
