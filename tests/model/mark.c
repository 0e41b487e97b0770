/* SPDX-License-Identifier: MIT */
/*
 * mark.c: linked before and after the library's files, it tells where their variables lie: the
 * linker keeps the order of its command line. See t_world.c.
 */
#include "mark.h"

static char in_data[64] __attribute__((aligned(64), used)) = {1};
static char in_bss[64] __attribute__((aligned(64), used));

__attribute__((constructor)) static void
mark(void)
{
	mark_add(in_data, in_bss);
}
