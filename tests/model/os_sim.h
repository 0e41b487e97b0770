/* SPDX-License-Identifier: MIT */
/* os_sim.h: what a scenario must know of os_sim.c. */
#ifndef WF_TESTS_OS_SIM_H
#define WF_TESTS_OS_SIM_H

#include <stdint.h>

/* In setup: a new kernel for this execution. Clock, threads and all reserved memory start over. */
void os_sim_reset(void);
/* From now on the affinity mask has n CPUs; two at first. */
void os_sim_cpus(int n);

/* The kernel reports an event of a watched descriptor. */
void os_sim_event(uint64_t data, uint32_t events);

#endif
