/* timer.pml: a timer that fires while it is stopped, set anew, or waited for.
 *
 * CFG 1 to 3, wait/time.c: a timer of the program sends to a channel of one.
 * Fired means taken from the heap under the heap's lock; the value is sent
 * later, under the channel's.  Stop and reset hold the channel's lock, take
 * the heap's inside it, void what is still on its way, and take back what
 * nobody has received.  Several threads run the heap.
 *
 * CFG 4, core/timer.c: the one timer of a goroutine, which is moved to an
 * earlier time only.  The goroutine opens its claim and then looks whether
 * it is still armed; the timer is marked as not armed, then looks at the
 * claim, then at the time the goroutine wants.
 *
 * Memory is sequentially consistent; where a mutant lacks the ordering of a
 * read-modify-write, the load comes before the store.
 *
 * Build flags: -DCFG=n chooses the parties, -DMUT_xxx plants one error (see
 * README.md).
 */

#ifndef CFG
#define CFG 1
#endif

#define acquire(l) atomic { !l -> l = true }
#define release(l) l = false

#if CFG < 4

#if CFG == 3
#define PERIODIC true
#define LAST 3          /* fires */
#else
#define PERIODIC false
#define LAST 4
#endif

bool heap_lock, chan_lock;
bool armed;
byte arming;            /* ghost: how often it was armed */
byte fires;             /* it has fired so often */
byte void_to;
bool filled;              /* the channel has a value: */
byte value;             /* the number of its fire */
bool receiver_waits;
byte handed;            /* what a receiver that waits was given, 0: nothing */

byte fire_of[LAST + 1];      /* ghost: which arming a fire was for */
byte received[LAST + 1];/* ghost: per fire */
bool voided[LAST + 1];  /* ghost: armings for which a stop or reset has said 1 */
bool late[LAST + 1];    /* ghost: armings at which a stop or reset has said 0 */
byte newest;            /* ghost: the last fire that was received */

inline receive(n) {
        received[n]++;
        assert(received[n] == 1);
        assert(!voided[fire_of[n]]);                    /* TIME-1 */
        assert(!late[fire_of[n]]);
        assert(n > newest);                             /* TIME-2 */
        newest = n
}

/* wf_heap_run, then deliver: by any thread */
proctype Runs() {
        byte n;

end_run:
        do
        :: atomic { armed && fires < LAST && !heap_lock -> heap_lock = true };
                atomic {
                        if
                        :: armed && fires < LAST ->
                                fires++; n = fires; fire_of[n] = arming; armed = PERIODIC
                        :: else
                        fi;
                        release(heap_lock)
                };
                if
                :: n != 0 ->
                        acquire(chan_lock);
                        atomic {
                                if
#ifdef MUT_TIME_NO_VOID
                                :: true ->
#else
                                :: n > void_to ->
#endif
#ifndef MUT_TIME_UNORDERED
                                        void_to = n;
#endif
                                        if
                                        :: receiver_waits -> receiver_waits = false; handed = n; receive(n)
                                        :: !receiver_waits && !filled -> filled = true; value = n
                                        :: !receiver_waits && filled
                                        fi
#ifndef MUT_TIME_NO_VOID
                                :: else
#endif
                                fi;
                                n = 0;
                                release(chan_lock)
                        }
                :: else
                fi
        od
}

/* stop: chan_lock held */
inline stop() {
        acquire(heap_lock);
        atomic { was = armed; armed = false; f = fires; release(heap_lock) };
        atomic {
                was = was || f > void_to;
#ifndef MUT_TIME_NO_VOID
                void_to = f;
#endif
#ifndef MUT_TIME_NO_TAKE_BACK
                if
                :: filled -> filled = false; value = 0; was = true
                :: else
                fi;
#endif
                f = 0;
                /* From here on: 1, and nothing of it is received; 0, and it was. */
                if
                :: was -> voided[arming] = true
                :: else -> late[arming] = true
                fi
        }
}

proctype Stops() {
        bool was;
        byte f;

        acquire(chan_lock);
        stop();
        release(chan_lock)
}

proctype Resets() {
        bool was;
        byte f;

        acquire(chan_lock);
        stop();
        atomic { !heap_lock -> arming++; armed = true };
        release(chan_lock)
}

proctype Receives(byte n) {
end_receive:
        do
        :: n > 0 ->
                n--;
                acquire(chan_lock);
                if
                :: filled -> atomic { filled = false; receive(value); value = 0; release(chan_lock) }
                :: !filled ->
                        atomic { receiver_waits = true; release(chan_lock) };
end_asleep:             atomic { handed != 0 -> handed = 0 }
                fi
        :: else -> break
        od
}

/* At rest: what a stop has said is what has happened. */
proctype Check() {
        byte i, a, n;

        timeout;
        d_step {
                assert(!heap_lock && !chan_lock);
                assert(!filled || !receiver_waits);
                a = 1;
                do
                :: a <= arming ->
                        i = 1; n = 0;
                        do
                        :: i <= LAST ->
                                if :: fire_of[i] == a -> n = n + received[i] + (filled && value == i -> 1 : 0) :: else fi;
                                i++
                        :: else -> break
                        od;
                        if
                        :: !PERIODIC && voided[a] -> assert(n == 0)
                        :: !PERIODIC && !voided[a] && late[a] -> assert(n == 1)
                        :: !PERIODIC && !voided[a] && !late[a] -> assert(n <= 1 && (armed || n == 1))
                        :: PERIODIC && voided[a] -> assert(!filled || fire_of[value] != a)
                        :: else
                        fi;
                        a++
                :: else -> break
                od;
                i = 0; a = 0; n = 0
        }
}

init {
        atomic {
                arming = 1;
                armed = true;
                run Runs(); run Runs();
#if CFG == 1            /* stop, and one receiver or none */
                if :: run Receives(1) :: skip fi;
                run Stops();
#elif CFG == 2          /* reset, perhaps stop */
                run Receives(2);
                run Resets();
                if :: run Stops() :: skip fi;
#else                   /* it ticks */
                run Receives(2);
                if :: run Stops() :: run Resets() :: skip fi;
#endif
                run Check()
        }
}

#else /* CFG 4 */

#define ROUNDS 2
#define NEVER 9

mtype = { RUNNING, WAITING, RUNNABLE, DONE };
mtype = { NONE, VALUE, TIME };

bool  heap_lock;
byte  now = 1;
byte  when;             /* armed for this time, 0: not */
byte  wake_at;
byte  num;              /* the claim: the number of the wait, and whether it is open */
bool  open;
mtype status = RUNNING;
byte  readied;          /* ghost */
bool  linked;           /* in the queue of the value */
byte  linked_num;
bool  queue_lock;

#ifdef MUT_PARK_CLAIM_NO_CAS
#define claim(n, won) \
        won = (open && num == (n)); \
        if :: won -> open = false :: else fi
#else
#define claim(n, won) \
        d_step { won = (open && num == (n)); if :: won -> open = false :: else fi }
#endif
#define or_never(t) ((t) == 0 -> NEVER : (t))

inline ready() {
        atomic {
                readied++;
                assert(readied == 1 && status == WAITING);
                status = RUNNABLE
        }
}

proctype Commit(byte n) {
        bool ends, won;

#ifdef MUT_CHAN_FLAG_EARLY
        ends = or_never(when) > or_never(wake_at);
#endif
        atomic { num = n; open = true };
#ifndef MUT_CHAN_FLAG_EARLY
        ends = or_never(when) > or_never(wake_at);
#endif
        release(queue_lock);
        if
        :: ends -> claim(n, won); if :: won -> ready() :: else fi
        :: else
        fi
}

/* Two waits in a row, with a deadline each: the second may be later or earlier. */
proctype Goroutine() {
        byte n, deadline;

        do
        :: n < ROUNDS ->
                n++;
                acquire(queue_lock);
                /* wf_wait_by */
                atomic { if :: deadline = 2 :: deadline = 3 fi; wake_at = deadline };
                if
                :: or_never(when) > deadline && now < deadline ->
                        acquire(heap_lock);
                        atomic { if :: or_never(when) > deadline -> when = deadline :: else fi; release(heap_lock) }
                :: else
                fi;
                atomic {
                        linked = true; linked_num = n; readied = 0; status = WAITING;
                        run Commit(n)
                };
end_asleep:
                atomic { status == RUNNABLE -> status = RUNNING; assert(!open) };
                wake_at = 0;
                atomic { !queue_lock -> linked = false };
                /* woken by time, by a value, or for nothing (an old timer never does that) */
                deadline = 0
        :: else -> break
        od;
        status = DONE
}

/* fire, fire_g: under the heap's lock */
proctype Runs() {
        byte n, want;
        bool won;

end_run:
        do
        :: atomic { when != 0 && when <= now && !heap_lock -> heap_lock = true };
                if
                :: when == 0 || when > now -> release(heap_lock)
                :: else ->
#ifdef MUT_TIMER_CLAIM_READ
                        n = (open -> num : 0);
                        when = 0;
#else
                        when = 0;
                        n = (open -> num : 0);
#endif
                        want = or_never(wake_at);
                        if
                        :: want > now -> if :: want < NEVER -> when = want :: else fi
                        :: want <= now && n != 0 -> claim(n, won)
                        :: else
                        fi;
                        release(heap_lock);
                        if :: won -> won = false; ready() :: else fi
                fi;
                atomic { n = 0; want = 0 }
        od
}

/* A value comes once, or not at all. */
proctype Value() {
        bool won;
        byte n;

        acquire(queue_lock);
        if
        :: linked -> atomic { linked = false; n = linked_num }; claim(n, won)
        :: else
        fi;
        release(queue_lock);
        if :: won -> ready() :: else fi
}

proctype Clock() {
        now = 2;
        now = 3
}

proctype Check() {
        timeout;
        assert(status == DONE);         /* every wait had a deadline, and it is past */
        assert(!heap_lock && !queue_lock && !open)
}

init {
        atomic {
                run Goroutine();
                run Runs(); run Runs();
                run Clock();
                if :: run Value() :: skip fi;
                run Check()
        }
}
#endif
