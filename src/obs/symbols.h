/* SPDX-License-Identifier: MIT */
/* symbols.h: the names of functions, static ones too. */
#ifndef WF_OBS_SYMBOLS_H
#define WF_OBS_SYMBOLS_H

#include "base/compiler.h"

enum { WF_SYMBOL_BYTES = 256 }; /* a longer name is cut */

/* The function that pc is in, and how far; false: not known. Any thread. */
bool wf_symbol_of(uintptr_t pc, char name[WF_SYMBOL_BYTES], uintptr_t *offset);

#endif
