/* SPDX-License-Identifier: MIT */
/* deadlock.c: when nobody can go on, and after misuse, a program ends with status 2. */
#define CONFORM_MAIN
#include "common.h"

#include <sys/wait.h>

static weft_chan(int) ch, off;
static struct weft_mutex m;
static struct weft_rwmutex rw;
static struct weft_wg wg;
static struct weft_cond c;

static int
holder(void)
{
	weft_lock(&m);
	weft_wg_done(&wg);
	return weft_send(ch, 1);
}

/* The mutex is held by one who waits at the channel for one who waits for the mutex. */
static int
circle(void)
{
	weft_wg_add(&wg, 1);
	weft_go(holder);
	weft_wg_wait(&wg);
	weft_lock(&m);
	return weft_recv(ch, NULL);
}

struct relay {
	weft_chan(int) in, out;
};

static int
relay(struct relay *a)
{
	int v;

	weft_recv(a->in, &v);
	return weft_send(a->out, v);
}

static int
chain(void)
{
	weft_chan(int) other = weft_make(int, 0);

	weft_go(relay, ch, other);
	return weft_recv(other, NULL);
}

static int
leaves(void)
{
	weft_go(relay, ch, ch);
	settle(1);
	return 3;
}

static const char *const kinds[] = {
    "receive", "send",        "receive, nil", "send, nil", "select, no case", "select",
    "mutex",   "rwmutex",     "wait group",   "cond",      "circle",          "chain",
    "unlock",  "read unlock", "write unlock", "negative",  "main returns",
};

struct run_kind {
	int kind;
};

static int
run_kind(struct run_kind *a)
{
	ch = weft_make(int, 0);
	/* clang-format off */
	switch (a->kind) { /* a line for each */
	case 0: return weft_recv(ch, NULL);
	case 1: return weft_send(ch, 1);
	case 2: return weft_recv(off, NULL);
	case 3: return weft_send(off, 1);
	case 4: return weft_select();
	case 5: return weft_select(WEFT_RECV(ch, NULL), WEFT_SEND(ch, 1), WEFT_RECV(off, NULL));
	case 6: return weft_lock(&m) + weft_lock(&m);
	case 7: return weft_rlock(&rw) + weft_wlock(&rw);
	case 8: weft_wg_add(&wg, 1); return weft_wg_wait(&wg);
	case 9: weft_lock(&m); return weft_wait(&c, &m);
	case 10: return circle();
	case 11: return chain();
	case 12: weft_unlock(&m); return 0;
	case 13: weft_runlock(&rw); return 0;
	case 14: weft_wunlock(&rw); return 0;
	case 15: weft_wg_done(&wg); return 0;
	default: return leaves();
	}
	/* clang-format on */
}

int
main(int argc, char **argv)
{
	uint64_t r = seeded(argc, argv);

	for (int i = 0; i < (int)(sizeof(kinds) / sizeof(kinds[0])); i++) {
		int status = 0;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(99);
			_exit(weft_run(run_kind, i));
		}
		waitpid(child, &status, 0);
		printf("%s %d\n", kinds[i], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
	fflush(stdout);
	return weft_run(run_kind, below(&r, 12));
}
