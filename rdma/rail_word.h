/* SPDX-License-Identifier: MIT */
/*
 * rail_word.h: what one side tells the other of a rail, by another way than the rail: that it is dropped;
 * over UC, a waiter also asks how far the other has sent, so that what was sent last can't be lost
 * unnoticed.
 */
#ifndef RDMA_RAIL_WORD_H
#define RDMA_RAIL_WORD_H

#include <stdint.h>

enum rail_word_kind { RAIL_WORD_DROPPED, RAIL_WORD_ASKS, RAIL_WORD_SENT };
struct rail_word {
    int kind, rail;
    uint64_t count; /* DROPPED: chunks that came over it; SENT: chunks that went into it */
    uint64_t out;   /* DROPPED: chunks this side has sent so far, over all rails */
};

#endif
