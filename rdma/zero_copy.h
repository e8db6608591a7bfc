/* SPDX-License-Identifier: MIT */
/*
 * zero_copy.h: long messages between memory of ml_alloc. Who is going to receive one announces, before it
 * comes, where it is to lie, by a write into the sender's announcements (rail.h); chunks that the sender
 * has not sent until then go straight there, and are otherwise chunks like all others: numbered, striped
 * over the rails, freed by the receiver. And who sends from such memory lets the device read it there.
 *
 * Nothing waits for an announcement: one that is late or lost costs a copy. Messages are counted in each
 * direction, so that one can't be taken for another's.
 */
#ifndef RDMA_ZERO_COPY_H
#define RDMA_ZERO_COPY_H

#include "common/fault.h"
#include "rdma/rail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZERO_COPY_LEAST = 128 * 1024, /* bytes: below, to announce costs more than to copy */
    ZERO_COPY_PART =
        64 * 1024, /* bytes of a chunk: whole pages, and whole packets of any path MTU */
};

struct zero_copy {
    struct rail *const *rails; /* the endpoint's */
    int rail_count;
    struct fault trouble; /* what couldn't be registered */
    bool is_reported;
    /* the message that is being sent */
    uint32_t serial;
    const unsigned char *bytes;
    size_t size;
    bool is_read[RAILS_MOST]; /* by the device, where it lies */
    uint32_t keys[RAILS_MOST];
    const struct rail_announcement *announced; /* NULL: not yet */
};

/* Message `serial` to this side is to lie at `at`. False: not now, to be tried again; true also if that
 * memory can't be announced. `over`: one of the rails. */
bool zero_copy_announce(struct zero_copy *z, struct rail *over, uint32_t serial, void *at,
                        size_t size);

/* Message `serial` to the peer begins. True: its header goes in a chunk of its own. */
bool zero_copy_begin(struct zero_copy *z, uint32_t serial, const void *bytes, size_t size);

/* How the chunk at `offset` of it goes over the rail. */
struct rail_way zero_copy_way(struct zero_copy *z, const struct rail *over, size_t offset);

#endif
