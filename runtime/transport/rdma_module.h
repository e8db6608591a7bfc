/* SPDX-License-Identifier: MIT */
/* rdma_module.h: mlaunch-rdma.so, opened when the first job with backend rdma needs it. */
#ifndef RUNTIME_TRANSPORT_RDMA_MODULE_H
#define RUNTIME_TRANSPORT_RDMA_MODULE_H

#include "rdma/rdma_table.h"

/* Thread-safe; the module stays open. ML_ERR_DEVICE in words if it or libibverbs is not there. */
int rdma_module_open(const struct endpoint_table **out, struct fault *why);

#endif
