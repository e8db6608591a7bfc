/* SPDX-License-Identifier: MIT */
/* probe_check.h: whether a device that the user has named can be used. */
#ifndef RDMA_PROBE_PROBE_CHECK_H
#define RDMA_PROBE_PROBE_CHECK_H

#include <jansson.h>
#include <stdbool.h>

struct probe_choice {
    bool is_check, is_trial; /* --check, --wires */
    int port, gid_index;     /* 0, -1: any */
};

/* Opens a device, or a port of it ("mlx5_0:2"), as ml_init will, with the same refusals in the same
 * words. {"port", "gids"} or {"error"}; the caller's. */
json_t *probe_check(const char *name, const struct probe_choice *c);

#endif
