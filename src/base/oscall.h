/* SPDX-License-Identifier: MIT */
/* oscall.h: how the os files call the kernel: faults on order, -errno, interrupted calls. */
#ifndef WF_BASE_OSCALL_H
#define WF_BASE_OSCALL_H

#include "base/os.h"

#include <errno.h>
#include <sys/types.h>

#ifdef WF_FAULT
#define fault(name) os_fault(name)
#else
#define fault(name) false
#endif

static inline ssize_t
result(ssize_t rc)
{
	return rc < 0 ? -errno : rc;
}

#define RETRY(call)                                                                                \
	__extension__({                                                                            \
		ssize_t rc_;                                                                       \
		do                                                                                 \
			rc_ = fault("eintr") ? -EINTR : result(call);                              \
		while (rc_ == -EINTR);                                                             \
		rc_;                                                                               \
	})

#endif
