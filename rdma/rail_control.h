/* SPDX-License-Identifier: MIT */
/*
 * rail_control.h: what one side tells the other of a rail, by another way than the rail: that it is dropped;
 * over UC, a waiter also asks how far the other has sent, so that what was sent last can't be lost
 * unnoticed.
 */
#ifndef RDMA_RAIL_CONTROL_H
#define RDMA_RAIL_CONTROL_H

#include <stdint.h>

enum rail_control_kind { RAIL_CONTROL_DROPPED, RAIL_CONTROL_QUERY, RAIL_CONTROL_SENT };
struct rail_control {
    int kind, rail;
    uint64_t count; /* DROPPED: chunks that came over it; SENT: chunks that went into it */
    uint64_t out;   /* DROPPED: chunks this side has sent so far, over all rails */
};

#endif
