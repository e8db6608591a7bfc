/* SPDX-License-Identifier: MIT */
/* endpoint_module.h: opens mlaunch-rdma.so. Part of each program that uses it, not of the module.
 */
#ifndef RDMA_ENDPOINT_MODULE_H
#define RDMA_ENDPOINT_MODULE_H

#include "rdma/rdma_table.h"

#define ENDPOINT_MODULE "mlaunch-rdma.so"

/* Opens the module at `path`; its table is valid until the process ends. ML_ERR_DEVICE: it cannot
 * be opened, or is not of this build. */
int endpoint_module_open(const struct endpoint_table **out, const char *path, struct fault *why);

#endif
