/* SPDX-License-Identifier: MIT */
/* mark.h: see mark.c. */
#ifndef WF_TESTS_MARK_H
#define WF_TESTS_MARK_H

void mark_add(char *in_data, char *in_bss); /* once from each of the two marks */

#endif
