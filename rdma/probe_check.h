/* SPDX-License-Identifier: MIT */
/* probe_check.h: whether a device that the user named can be used. */
#ifndef RDMA_PROBE_CHECK_H
#define RDMA_PROBE_CHECK_H

#include <jansson.h>
#include <stdbool.h>

struct probe_choice {
    bool is_check, is_wires;
    int port, gid_index; /* 0, -1: any */
};

/* As ml_init will open it: the same refusals, in the same words. {"port", "gids"} or {"error"}. */
json_t *probe_check(const char *device, const struct probe_choice *c);

#endif
