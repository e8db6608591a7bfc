/* SPDX-License-Identifier: MIT */
/* profile_check.h: what the sections of a profile may not say together. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_CHECK_H
#define RDMA_STANDIN_PROFILE_PROFILE_CHECK_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* Finds what the names mean, and gives each port of InfiniBand that has none an address, a LID and
 * the LID of the subnet manager. ML_ERR_ARGUMENT: a contradiction; the sentence names file, line
 * and section. */
int profile_check(struct profile *p, struct fault *why);

#endif
