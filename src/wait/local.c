/* SPDX-License-Identifier: MIT */
/*
 * local.c: goroutine-locals. Each key has a number, each goroutine or plain thread an array of
 * blocks by that number; a goroutine that uses none costs nothing.
 *
 * LOCAL-1: a table belongs to one goroutine or thread; only that one touches it, so no lock, and
 *          no need to enter the runtime.
 */
#include "wait/local.h"
#include "base/check.h"
#include "sched/handoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wf_locals {
	uint32_t n;
	struct {
		void *block;
		size_t bytes;
	} slot[];
};

static wf_a32 keys; /* numbers given out */

static uint32_t
index_of(struct weft_local_key *k)
{
	wf_a32 *index = (wf_a32 *)&k->index_;
	uint32_t i = at_load_acq(index), none = 0; /* acq: nothing but the number */

	if (likely(i != 0))
		return i - 1;
	i = at_add_rlx(&keys, 1) + 1; /* rlx: only unique; a lost race wastes a number */
	return at_cas_acqrel(index, &none, i) ? i - 1 : none - 1; /* acqrel: first one wins */
}

void
wf_locals_free(struct wf_locals *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		free(l->slot[i].block);
	free(l);
}

int
wf_locals_copy(struct wf_locals *from, struct wf_locals **to)
{
	struct wf_locals *l = calloc(1, sizeof(*l) + from->n * sizeof(l->slot[0]));

	if (!l)
		return -ENOMEM;
	l->n = from->n;
	for (uint32_t i = 0; i < from->n; i++) {
		if (!from->slot[i].block)
			continue;
		l->slot[i].block = malloc(from->slot[i].bytes);
		if (!l->slot[i].block) {
			wf_locals_free(l);
			return -ENOMEM;
		}
		l->slot[i].bytes = from->slot[i].bytes;
		memcpy(l->slot[i].block, from->slot[i].block, from->slot[i].bytes);
	}
	*to = l;
	return 0;
}

static struct wf_locals *
grown(struct wf_locals *old, uint32_t n)
{
	struct wf_locals *l = realloc(old, sizeof(*l) + n * sizeof(l->slot[0]));
	uint32_t had = old ? l->n : 0;

	if (!l)
		return NULL;
	memset(&l->slot[had], 0, (n - had) * sizeof(l->slot[0]));
	l->n = n;
	return l;
}

static WF_NORETURN void
no_memory(const struct weft_local_key *k)
{
	wf_fatal("out of memory for a goroutine-local of %zu bytes", k->bytes);
}

/* This goroutine's table, or this thread's. */
static struct wf_locals **
my_table(void)
{
	struct wf_m *m = wf_m();

	if (m == &wf_m_unknown) {
		m = wf_m_attach();
		wf_leave(m);
	}
	return m->g ? &m->g->locals : &m->locals; /* LOCAL-1 */
}

WF_EXPORT void *
weft_local_get(struct weft_local_key *k)
{
	struct wf_locals **table = my_table(), *l = *table;
	uint32_t i = index_of(k);

	if (unlikely(!l || i >= l->n)) {
		l = grown(l, i + 1);
		if (!l)
			no_memory(k);
		*table = l;
	}
	if (unlikely(!l->slot[i].block)) {
		l->slot[i].block = calloc(1, k->bytes ? k->bytes : 1);
		l->slot[i].bytes = k->bytes;
		if (!l->slot[i].block)
			no_memory(k);
	}
	return l->slot[i].block;
}
