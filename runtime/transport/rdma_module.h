/* SPDX-License-Identifier: MIT */
/* rdma_module.h: mlaunch-rdma.so, opened when the first job with --backend rdma needs it. */
#ifndef RUNTIME_TRANSPORT_RDMA_MODULE_H
#define RUNTIME_TRANSPORT_RDMA_MODULE_H

#include "rdma/rdma_table.h"

/* Opens the module unless it is open; it stays open. Thread-safe. ML_ERR_DEVICE if it or libibverbs
 * is missing or of another build. */
int rdma_module_open(const struct endpoint_table **out, struct fault *why);

#endif
