/* SPDX-License-Identifier: MIT */
/*
 * lintlock.c: a goroutine stops running while its thread holds a pthread lock. With libweft-lint.so
 * loaded the thread's locks are known; a goroutine whose thread has some carries WF_SAVE_LOCKS in
 * g->save, so that those that have none pay nothing when they switch.
 *
 * The locks go with the goroutine: they leave the thread's list here, and come back on the thread
 * where it goes on.
 *
 * Who parks may hold locks of ours: so nothing is written here but a finding, which the monitor
 * prints at its next look, or who ends the process.
 *
 *   FREE -> FILLING   the goroutine that stops      FILLING -> READY   the same
 *   READY -> PRINTING, PRINTING -> FREE             the monitor, or the way down
 *
 * LINT-2: the fields of a finding are of who made it FILLING or PRINTING.
 */
#define _GNU_SOURCE 1
#include "core/stack.h"
#include "obs/lint.h"
#include "obs/lintlib.h"
#include "obs/obs.h"
#include "obs/symbols.h"
#include "sched/save.h"
#include "sched/sched.h"

#include <dlfcn.h>
#include <string.h>

enum { FINDINGS = 8 }; /* between two looks of the monitor; more are left for another time */
enum { PATIENCE_MS = 500 };
enum { FREE, FILLING, READY, PRINTING };

static struct finding {
	wf_a32 state;
	/* LINT-2 */
	struct wf_who who;
	struct weft_lint_lock lock;
	int locks;
	const char *does;
	uint8_t reason;
	int n;
	uintptr_t pc[WF_LINT_FRAMES];
} findings[FINDINGS];

static struct {
	void (*attach)(void (*holds)(int n));
	int (*take)(struct weft_lint_lock *locks);
	void (*give)(const struct weft_lint_lock *locks, int n);
} lib;

/* On a thread that runs a goroutine, in user code, called by the library. */
static void
holds(int n)
{
	struct wf_g *g = wf_m()->g;

	if (!g)
		return;
	if (n > 0)
		g->save |= WF_SAVE_LOCKS;
	else
		g->save &= (uint8_t)~WF_SAVE_LOCKS;
}

/* ---- the goroutine's side */

static struct finding *
take_free(void)
{
	for (int i = 0; i < FINDINGS; i++) {
		uint32_t is = FREE;

		if (at_cas_acqrel(&findings[i].state, &is, FILLING)) /* acqrel: LINT-2 */
			return &findings[i];
	}
	return NULL;
}

/* The address that the newest public function on the stack returns to tells places apart: the frames
   below it are the library's. Here any of them does, so the stack is hashed as a whole. */
static uint64_t
hash_frames(const uintptr_t *pc, int n)
{
	uint64_t h = 0;

	for (int i = 0; i < n; i++)
		h = (h ^ pc[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return h;
}

static void
note(const struct wf_m *m, const struct wf_g *g, const struct weft_lint_lock *locks, int n)
{
	uintptr_t lo = (uintptr_t)g->stack, hi = lo + wf_stack_bytes(g->stack_class);
	uintptr_t pc[WF_LINT_FRAMES];
	int frames = wf_frames((uintptr_t)__builtin_frame_address(0), lo, hi, pc, WF_LINT_FRAMES);
	struct finding *f;

	if (wf_lint_said(WF_LINT_LOCK, locks[n - 1].where, hash_frames(pc, frames)) ||
	    !(f = take_free()))
		return;
	f->who = wf_who(g);
	f->lock = locks[n - 1];
	f->locks = n;
	f->reason = m->pending == WF_PEND_PARK || m->pending == WF_PEND_PARKING ? g->reason : 0;
	f->does = f->reason ? "waits" : m->pending == WF_PEND_NONE ? "ends" : "gives way";
	f->n = frames;
	memcpy(f->pc, pc, sizeof(pc));
	at_store_rel(&f->state, READY); /* rel: the fields, LINT-2 */
}

/* The running goroutine leaves its thread, or ends: then m->pending says nothing yet. */
static void
leave(struct wf_g *g, struct wf_saved *s)
{
	struct weft_lint_lock locks[WEFT_LINT_LOCKS];
	const struct wf_m *m = wf_m();
	int n = lib.take(locks);

	_Static_assert(sizeof(locks) <= sizeof(s->locks), "they fit");
	if (n > 0)
		note(m, g, locks, n);
	memcpy(s->locks, locks, (size_t)n * sizeof(locks[0]));
	s->n_locks = n;
	if (m->pending == WF_PEND_NONE)
		g->save &= (uint8_t)~WF_SAVE_LOCKS;
}

static void
arrive(const struct wf_saved *s)
{
	lib.give((const struct weft_lint_lock *)s->locks, s->n_locks);
}

/* ---- the monitor's side */

/* The first frame that is a public function of ours: what is below it is not the program's. */
static int
first_public(const struct finding *f)
{
	char name[WF_SYMBOL_BYTES];
	uintptr_t offset;

	for (int i = 0; i < f->n; i++)
		if (wf_symbol_of(f->pc[i], name, &offset) && strncmp(name, "weft_", 5) == 0)
			return i;
	return 0;
}

static void
print(const struct finding *f)
{
	char buf[WF_LINT_BYTES];
	struct wf_sink o;

	if (!wf_lint_first(WF_LINT_LOCK, f->lock.where, hash_frames(f->pc, f->n)))
		return;
	wf_lint_begin(&o, buf, &f->who);
	wf_sink_say(&o, "%s%s%s%s while its thread holds %s at %p, locked at", f->does,
		    f->reason ? " (" : "", f->reason ? wf_reason_name(f->reason) : "",
		    f->reason ? ")" : "",
		    f->locks > 1 ? "pthread locks, the newest" : "a pthread lock", f->lock.lock);
	wf_sink_frame(&o, (uintptr_t)f->lock.where);
	wf_sink_no_more_frames(&o);
	wf_sink_say(&o, "and %s at", f->does);
	for (int i = first_public(f); i < f->n; i++)
		wf_sink_frame(&o, f->pc[i]);
	wf_lint_end(&o, &f->who,
		    "unlock before the call, or use weft_mutex: a goroutine may go on on another "
		    "thread, which must not unlock it, and who wants the lock stops a thread");
}

/* True if one is in the hands of another. */
static bool
print_all(void)
{
	bool others = false;

	for (int i = 0; i < FINDINGS; i++) {
		uint32_t is = at_load_rlx(&findings[i].state); /* rlx: the CAS decides */

		if (is == READY &&
		    at_cas_acqrel(&findings[i].state, &is, PRINTING)) { /* acqrel: LINT-2 */
			print(&findings[i]);
			at_store_rel(&findings[i].state, FREE); /* rel: LINT-2 */
		} else if (is != FREE) {
			others = true;
		}
	}
	return others;
}

/* The monitor. */
void
wf_lint_print_locks(void)
{
	print_all();
}

/* The process ends: what another is about to say is waited for, but not for ever: it may be us. */
void
wf_lint_last_words(void)
{
	for (int i = 0; i < PATIENCE_MS && print_all(); i++)
		os_sleep_ns(1000000);
}

void
wf_lint_start_locks(void)
{
	*(void **)&lib.attach = dlsym(RTLD_DEFAULT, "weft_lint_attach");
	*(void **)&lib.take = dlsym(RTLD_DEFAULT, "weft_lint_take");
	*(void **)&lib.give = dlsym(RTLD_DEFAULT, "weft_lint_give");
	if (!lib.attach || !lib.take || !lib.give)
		return;
	wf_save_locks_hook = leave;
	wf_restore_locks_hook = arrive;
	lib.attach(holds);
}

/* The run is over: no goroutine is there to be marked. */
void
wf_lint_stop_locks(void)
{
	if (lib.attach)
		lib.attach(NULL);
	wf_lint_print_locks();
}
