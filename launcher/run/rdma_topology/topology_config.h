/* SPDX-License-Identifier: MIT */
/* topology_config.h: between which hosts a wiring is wanted, and what the user says about it. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CONFIG_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CONFIG_H

#include "common/rdma_choice.h"

#include <jansson.h>
#include <stdbool.h>

/* All is kept by reference; of `stated` a reference is taken. */
struct topology_config {
    const char *const *names; /* the hosts' */
    int count;
    const char *source; /* where `stated` is from: "hostfile h.json" */
    json_t *stated;     /* [host][host]: list of devices ("x", "x:2") or null; NULL: not stated */
    bool local_net;     /* ranks of one host also meet over a device */
    struct rdma_choice rdma;
};

#endif
