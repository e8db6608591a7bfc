/* SPDX-License-Identifier: MIT */
/* rail_end.h: what each side publishes of a rail, so that the other side can connect to it. */
#ifndef RDMA_VERBS_RAIL_END_H
#define RDMA_VERBS_RAIL_END_H

#include "rdma/verbs/gid.h"
#include "rdma/verbs/port.h"
#include "rdma/verbs/queue_pair.h"

#include <stdbool.h>
#include <stdint.h>

/* Integers are in the host's byte order: both sides run the same build. */
struct rail_end {
    struct queue_pair_end pair;
    uint64_t address;  /* the rail's memory (memory.h) */
    uint32_t key;      /* the remote key of that memory */
    int32_t gid_index; /* chosen by the user, or -1 */
    uint8_t link_layer;
    uint8_t is_near; /* beside a GPU of its rank */
    int32_t gid_count;
    struct gid gids[GID_MOST];
    char device[PORT_DEVICE]; /* "": there is no such rail, and all else is 0 */
    int32_t port;
};

static inline bool rail_end_is_there(const struct rail_end *e)
{
    return e->device[0] != '\0';
}

#endif
