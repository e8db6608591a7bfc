/* SPDX-License-Identifier: MIT */
/* names_gid_type.c: a GID's type as sysfs tells it, for ibv_devinfo, which uses a private name. */
#include "rdma/standin/names/names_say.h"

#include <errno.h>
#include <infiniband/verbs.h>

/* rdma-core's enum ibv_gid_type_sysfs: sysfs has one word for InfiniBand and RoCE v1. */
enum { GID_TYPE_IB_OR_ROCE_V1, GID_TYPE_ROCE_V2 };

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned *type);

/* Returns 0, or -1 with errno set. An empty entry has the first type, as in rdma-core. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned *type)
{
    int found = IBV_GID_TYPE_IB;
    int err = standin_gid_type(context, port, index, &found);

    if (err && err != ENODATA) {
        errno = err;
        return -1;
    }
    *type = !err && found == IBV_GID_TYPE_ROCE_V2 ? GID_TYPE_ROCE_V2 : GID_TYPE_IB_OR_ROCE_V1;
    return 0;
}
