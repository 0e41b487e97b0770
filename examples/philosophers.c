/*
 * philosophers.c: five philosophers, five forks, and nobody starves.
 *
 * Each needs the fork on the left and the one on the right. If all took the left one first, all
 * could hold one fork and wait for ever; weft would say so and stop. Here everyone takes the fork
 * with the lower number first. A circle of waiting would need somebody who holds a higher fork
 * and waits for a lower one, and there is nobody like that.
 */
#include <stdio.h>
#include <weft.h>

enum {
	SEATS = 5,
	MEALS = 20000,
};

static const char *const names[SEATS] = {"Hypatia", "Socrates", "Laozi", "Ibn Rushd", "Arendt"};

struct table {
	struct weft_mutex forks[SEATS]; /* zero is an unlocked mutex */
	int eating[SEATS];
	int together; /* philosophers who eat at this moment */
	int most;     /* ... and the most there were, as far as those who ate noticed */
	int clashes; /* meals during which a neighbour ate too: never, or a fork was in two hands */
};

struct philosopher {
	int seat;
	struct table *table;
	int *waits; /* times a fork was not free at once */
};

static void
take(struct weft_mutex *fork, int *waits)
{
	if (!weft_try_lock(fork)) {
		++*waits;
		weft_lock(fork);
	}
}

static void
eat(struct table *t, int seat)
{
	int left = (seat + SEATS - 1) % SEATS, right = (seat + 1) % SEATS;
	int n = __atomic_add_fetch(&t->together, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&t->eating[seat], 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->eating[left], __ATOMIC_SEQ_CST) ||
	    __atomic_load_n(&t->eating[right], __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&t->clashes, 1, __ATOMIC_RELAXED);
	if (n > __atomic_load_n(&t->most, __ATOMIC_RELAXED))
		__atomic_store_n(&t->most, n, __ATOMIC_RELAXED);
	weft_yield(); /* the others run now, while both forks are in our hands */
	__atomic_store_n(&t->eating[seat], 0, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&t->together, 1, __ATOMIC_RELAXED);
}

static int
philosopher(struct philosopher *a)
{
	int left = a->seat, right = (a->seat + 1) % SEATS;
	struct weft_mutex *low = &a->table->forks[left < right ? left : right];
	struct weft_mutex *high = &a->table->forks[left < right ? right : left];

	for (int meal = 0; meal < MEALS; meal++) {
		take(low, a->waits);
		take(high, a->waits);
		eat(a->table, a->seat);
		weft_unlock(high);
		weft_unlock(low);
		weft_yield(); /* thinks; a mutex goes to whoever asks next, and that would be us */
	}
	return 0;
}

static int
dinner(void)
{
	struct table t = {0};
	int waits[SEATS] = {0};

	weft_group(g, NULL) {
		for (int seat = 0; seat < SEATS; seat++)
			weft_go_in(g, philosopher, seat, &t, &waits[seat]);
	}
	for (int seat = 0; seat < SEATS; seat++)
		printf("%-10s ate %d times and waited for a fork %d times\n", names[seat], MEALS,
		       waits[seat]);
	printf("at most %d ate together; %d clashes\n", t.most, t.clashes);
	return t.clashes == 0 && t.most <= SEATS / 2 ? 0 : 1;
}

int
main(void)
{
	return weft_run(dinner);
}
