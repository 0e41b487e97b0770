/* SPDX-License-Identifier: MIT */
/* rand.h: the one source of randomness; each M has its own stream, all from one seed. */
#ifndef WF_BASE_RAND_H
#define WF_BASE_RAND_H

#include "base/compiler.h"

struct wf_rand {
	uint64_t s;
};

/* splitmix64's step: any seed, zero too, gives a full-period stream. */
static inline uint64_t
wf_rand64(struct wf_rand *r)
{
	uint64_t z = (r->s += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform enough in [0, n), n > 0; multiply instead of divide. */
static inline uint32_t
wf_rand_below(struct wf_rand *r, uint32_t n)
{
	return (uint32_t)(((wf_rand64(r) >> 32) * n) >> 32);
}

#endif
