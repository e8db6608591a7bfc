/* SPDX-License-Identifier: MIT */
/* fork_support.h: whether the kernel copies, for a child, pages that a device knows. */
#ifndef RDMA_VERBS_FORK_SUPPORT_H
#define RDMA_VERBS_FORK_SUPPORT_H

#include <stdbool.h>

/* False before Linux 5.12, and where libibverbs is too old (rdma-core before 35) to know. */
bool fork_support_is_given(void);

#endif
