/* SPDX-License-Identifier: MIT */
/*
 * mutant.h: the seeded bugs that the model tests must catch. WF_MUTANT(id) is false, and the
 * code behind it gone, outside the explorer's build.
 */
#ifndef WF_BASE_MUTANT_H
#define WF_BASE_MUTANT_H

enum wf_mutant_id {
	MUT_NONE,
	MUT_RUNQ_TAIL_RELAXED,    /* the slot may become visible after the tail that covers it */
	MUT_RUNQ_GET_NO_CAS,      /* the owner takes from the head without asking the thieves */
	MUT_RUNQ_STEAL_NO_CAS,    /* a thief does not claim what it copied */
	MUT_RUNQ_NEXT_NO_CAS,     /* runnext taken by load and store */
	MUT_RUNQ_NEXT_RELAXED,    /* runnext looks empty before what it kicked out is in the ring */
	MUT_DOOR_NO_MEMBARRIER,   /* a thief opens a door without a barrier */
	MUT_DOOR_NO_LOOK,         /* ... and does not wait for the owner inside */
	MUT_DOOR_SHUT_IN,         /* the owner shuts the door with a thief inside */
	MUT_DOOR_NO_NUMBER,       /* a door that was shut meanwhile is taken for the same */
	MUT_CALM_NO_MEMBARRIER,   /* who waits for a mutex ends the calm without a barrier */
	MUT_CALM_NO_LOOK,         /* an unlock in the calm does not look whether it still lasts */
	MUT_CALM_EARLY,           /* the calm is back while somebody waits */
	MUT_MTX_LATE_NO_FLAG,     /* an unlock that came late leaves the others in line unsaid */
	MUT_MTX_LATE_LINE,        /* ... and takes whoever waits at its address */
	MUT_FORKQ_POP_NO_FENCE,   /* bottom lowered, top read without a fence */
	MUT_FORKQ_STEAL_NO_CAS,   /* a thief does not claim what it read */
	MUT_IDLE_SUBMIT_NO_FENCE, /* work published, spinners read without a fence */
	MUT_IDLE_PARK_NO_FENCE,   /* spinning left, queues read without a fence */
	MUT_IDLE_NO_RECHECK,      /* no second look after leaving spinning */
	MUT_IDLE_NO_NEED_SPINNING, /* a P dropped without looking at need_spinning */
	MUT_IDLE_NO_URGENT,        /* the second look forgets the urgent queue */
	MUT_IDLE_BATCH_MUTE,       /* a batch from the global queue is told of to nobody */
	MUT_IDLE_BESIDE_NOBODY,    /* who is put alone is taken to stand beside others */
	MUT_IDLE_LAST_NO_WAKE,     /* the last spinner finds work and wakes nobody */
	MUT_GLOBQ_MOVE_EARLY,      /* Gs on the move are in neither queue's size */
	MUT_PARK_COMMIT_EARLY,     /* the departing side commits before its context is saved */
	MUT_PARK_UNSAID,           /* who unlocks before it leaves its stack has not said so */
	MUT_PARK_READY_EARLY,      /* its waker does not wait until it has left */
	MUT_PARK_TRAMPOLINE,       /* the first-run trampoline forgets the pending commit */
	MUT_PARK_CLAIM_NO_CAS,     /* a waker claims by load and store */
	MUT_LEASE_NO_MEMBARRIER,   /* the requester trusts an in_rt it may not have seen */
	MUT_LEASE_CLEARS_TAKEN,    /* the requester, not the owner, ends TAKEN */
	MUT_LEASE_UNSERIALISED,    /* two requesters at once */
	MUT_LEASE_AT_ONCE,         /* the short way in does not look at the lease */
	MUT_LEASE_STAYS_IN,        /* the short way in, given up, leaves in_rt set */
	MUT_LEASE_STALE_M,         /* in_rt cleared on the M that was entered, not the one left */
	MUT_LEASE_P_BEFORE_ASK,    /* the P is read before the ask, and believed */
	MUT_LEASE_FORK,            /* a forked child keeps the lease that its parent had */
	MUT_FORK_OFFERS,           /* a forked child goes on to offer a P */
	MUT_OFFER_NO_ID,           /* a taker believes that the offer is for the P it has in mind */
	MUT_OFFER_BACK_BLIND,      /* the owner ends its offer by a store */
	MUT_OFFER_HINT_LOST,       /* a hint is cleared, the lease not looked at again */
	MUT_OFFER_UNSAID,       /* a plain offer of a P that others do not know yet whose it is */
	MUT_OFFER_NO_DOOR,      /* who looks for an offer does not open the door */
	MUT_OFFER_TAKE_OUTSIDE, /* ... nor does who takes it */
	MUT_LEASE_NO_DOOR,      /* ... nor who asks for the lease */
	MUT_TIMER_NO_DOOR,      /* another looks into a heap without opening its door */
	MUT_OFFER_NO_RECHECK,   /* work that came while the offer was made is not looked for */
	MUT_LEASE_URGED_TWICE,  /* the owner was faster to note the request: counted twice */
	MUT_HANDOFF_MUTE,       /* who attends is not told of what was armed at a P that goes */
	MUT_REGAIN_UNCOUNTED,   /* who takes an idle P counts as one without on */
	MUT_END_NO_FENCE,       /* a call without a P enters unseen by the end of the run */
	MUT_CHAN_NO_RECHECK,    /* a select enqueues without a second look, under the locks */
	MUT_CHAN_READY_LOCKED,  /* the peer is readied before the channel is unlocked */
	MUT_CHAN_LOSER_STAYS,   /* a select leaves its other waiters in their queues */
	MUT_CHAN_RESULT_LATE, /* hand to hand, at once: the other is readied before it has its result */
	MUT_CHAN_TOUCH_READIED,  /* a waiter is touched after it was readied */
	MUT_CHAN_FLAG_EARLY,     /* the cancelled flag is read before the claim is open */
	MUT_CHAN_TOUCH_UNLOCKED, /* the channel is touched after it was unlocked */
	MUT_CHAN_NO_MEMBARRIER,  /* the bias is taken without making the owner's stores visible */
	MUT_SLEEP_LEAVES,        /* a sleeper goes on while its commit looks at its scopes */
	MUT_CHAN_COMMIT_LATE,    /* a select's commit reads its frame after the last unlock */
	MUT_NOTE_UNSAID,         /* a sleeper goes to the kernel without having said so */
	MUT_PIN_DIRECT,          /* a pinned M switches to another goroutine */
	MUT_PIN_QUEUED,          /* a pinned goroutine goes to the queue that all Ms read */
	MUT_PIN_P_LATE,          /* a pinned M is woken before its P is written */
	MUT_PIN_STILL_IDLE,      /* a pinned M that was handed a P still counts as idle */
	MUT_PIN_NO_WAKE,         /* a pinned goroutine is queued, and nobody woken */
	MUT_PIN_KEEPS_P,         /* a pinned M sleeps with its P */
	MUT_PIN_NO_END,          /* the end of the run leaves pinned Ms asleep */
	MUT_WAITER_READ_LATE,    /* who unlinks a waiter reads its G and number after that */
	MUT_WAITER_NEXT_LATE,    /* a free reads what follows a waiter after it has unlinked it */
	MUT_LIMBO_SKIPPED,       /* a freed channel is given back at once */
	MUT_LIMBO_NO_FENCE,      /* a thread that woke inside looks at things, and seems at rest */
	MUT_LEASE_NESTED,        /* a second enter inside the runtime; its leave ends both */
	MUT_PROCS_UNCHECKED,     /* nobody looks for a deadlock after the monitor's stop */
	MUT_PROCS_STALE,         /* the monitor resizes though a number was named meanwhile */
	MUT_TIMER_CLAIM_READ,    /* a timer that fires reads the claim by a load */
	MUT_ATTEND_NO_FENCE,     /* the sleep is announced, the heaps read without a fence */
	MUT_ATTEND_NO_RECHECK,   /* no second look at the heaps */
	MUT_TIME_NO_VOID,        /* what a stopped timer had on its way is delivered */
	MUT_TIME_UNORDERED,      /* a fire that is delivered does not void those before it */
	MUT_TIME_NO_TAKE_BACK,   /* a stop leaves in the channel what nobody has received */
	MUT_ATTEND_NO_BREAK,     /* a timer is armed, and the sleep that is too long goes on */
	MUT_POLL_NO_GENERATION,  /* an event of a descriptor that had the number before counts */
	MUT_POLL_COUNT_LATE,     /* the count of events is read after the kernel was asked */
	MUT_POLL_NO_RECHECK,     /* a waiter stands in line without a look at the count */
	MUT_POLL_NO_FORWARD,     /* a break that another poller received is not passed on */
	MUT_POLL_TURN_LOST,      /* the end of a turn does not look for who came meanwhile */
	MUT_POLL_STALE_WAIT,     /* a waiter does not see that the descriptor is another's */
	MUT_POLL_STAYS,          /* who was woken by its scope stays in the descriptor's line */
	MUT_POLL_CLOSE_EARLY,    /* a descriptor is closed while it is in use */
	MUT_POLL_FINISH_BLIND, /* the end of a descriptor does not see that its number came again */
	MUT_POLL_JOIN_SILENT,  /* a thread stands in line, and nobody goes to look */
	MUT_GATHER_SILENT,     /* goroutines are laid down, and need_spinning is not set */
	MUT_GATHER_BLIND,      /* a spinner leaves without a look at what others have */
	MUT_GATHER_PARTS_MUTE, /* who has kept its work shares it again and tells nobody */
	MUT_GATHER_OVER_MUTE,  /* who keeps its work has too much, and tells nobody */
	MUT_GATHER_THIEF_KEEPS, /* who takes from another keeps what it took for itself */
	MUT_GATHER_ON_OFFER,    /* goroutines are laid down for a P whose holder blocks */
	MUT_DEAD_NO_FIRING,     /* the deadlock check forgets what is in somebody's hands */
};

#endif
