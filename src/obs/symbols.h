/* SPDX-License-Identifier: MIT */
/* symbols.h: the names of functions, static ones too. */
#ifndef WF_OBS_SYMBOLS_H
#define WF_OBS_SYMBOLS_H

#include "base/compiler.h"

/* The function that pc is in, and how far; false: not known. The name stays valid. */
bool wf_symbol_of(uintptr_t pc, const char **name, uintptr_t *offset);

#endif
