/* SPDX-License-Identifier: MIT */
/* standin_ah.h: address handles, which datagrams are sent by. */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_AH_H
#define RDMA_STANDIN_OBJECTS_STANDIN_AH_H

#include "rdma/standin/objects/standin_rule.h"

struct standin_ah {
    struct ibv_ah verbs; /* first */
    struct standin_object object;
    struct ibv_ah_attr attr;
};

/* 0 or an errno: the port is there, and the GID that the address is sent by. */
int standin_ah_check(const struct standin_context *c, const struct ibv_ah_attr *ah,
                     const char *who);

#endif
