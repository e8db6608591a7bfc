/* SPDX-License-Identifier: MIT */
/*
 * rail_control.h: control messages about a rail, which travel by another way than the rail (the
 * coordinator relays them): one side has dropped the rail; or, over UC, a waiting side asks how
 * much the other has sent, because the loss of the last chunks would otherwise go unnoticed.
 */
#ifndef RDMA_RAIL_CONTROL_H
#define RDMA_RAIL_CONTROL_H

#include <stdint.h>

enum rail_control_kind {
    RAIL_CONTROL_DROPPED, /* the sender has dropped the rail */
    RAIL_CONTROL_QUERY,   /* how many chunks has the receiver sent over it? */
    RAIL_CONTROL_SENT,    /* the answer */
};
struct rail_control {
    int kind, rail;
    uint64_t count; /* DROPPED: chunks that arrived over the rail; SENT: chunks sent over it */
    uint64_t out;   /* DROPPED: chunks that its sender has sent so far, over all rails */
};

#endif
