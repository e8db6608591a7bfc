/* SPDX-License-Identifier: MIT */
/* device.h: RDMA devices by name. */
#ifndef RDMA_VERBS_DEVICE_H
#define RDMA_VERBS_DEVICE_H

#include "common/fault.h"

#include <infiniband/verbs.h>

/* Opens the device called `name`. ML_ERR_DEVICE; if there is no such device, the sentence lists
 * those that exist. */
int device_open(struct ibv_context **out, const char *name, struct fault *why);
void device_close(struct ibv_context *context); /* takes NULL */

#endif
