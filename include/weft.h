/* SPDX-License-Identifier: MIT */
/*
 * weft.h: goroutines for C. Plain blocking C functions, millions of them, on all cores.
 *
 * Every call returns 0 or a positive result, or -errno; errno itself is never used.
 * Calls marked N never block, never switch and never change thread: they are safe with pthread
 * locks held. Calls marked B may block, and may return on another thread.
 */
#ifndef WEFT_H
#define WEFT_H

#include <weft/core.h>
#include <weft/chan.h>
#include <weft/io.h>
#include <weft/scope.h>
#include <weft/sync.h>
#include <weft/time.h>

#endif
