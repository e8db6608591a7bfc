/* SPDX-License-Identifier: MIT */
/* profile_default.h: what holds where a profile says nothing. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_DEFAULT_H
#define RDMA_STANDIN_PROFILE_PROFILE_DEFAULT_H

#include "rdma/standin/profile/profile.h"

/* A device of Soft-RoCE (drivers/infiniband/sw/rxe/rxe_param.h of Linux 6), but for the verbs that
 * the stand-in has not: memory windows and multicast. */
void profile_default_kind(struct profile_kind *k);

/* A device of such a kind: `number` from 0 on tells it from all others. */
void profile_default_device(struct profile_device *d, int number);

#endif
