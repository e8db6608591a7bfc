/* SPDX-License-Identifier: MIT */
/*
 * zero_copy.h: long messages between memory of ml_alloc or of GPUs. A receiver announces in advance
 * where a message should be written, by an RDMA write into the sender's announcements (rail.h).
 * Chunks that the sender posts after it has seen the announcement go straight there. Otherwise they
 * are like all other chunks: numbered, striped over the rails, and freed by the receiver. A sender
 * lets the device read the chunks from such memory.
 *
 * Nothing waits for an announcement: one that is late or lost costs a copy. The messages of each
 * direction are numbered, so that one cannot be mistaken for another.
 */
#ifndef RDMA_ZERO_COPY_H
#define RDMA_ZERO_COPY_H

#include "common/fault.h"
#include "rdma/rail.h"
#include "rdma/verbs/region_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZERO_COPY_LEAST = 128 * 1024, /* bytes: below, an announcement costs more than a copy */
    /* Bytes of a chunk: whole pages, and whole packets of any path MTU. */
    ZERO_COPY_PART = 64 * 1024,
};

struct zero_copy {
    struct rail *const *rails; /* owned by the endpoint */
    int rail_count;
    struct fault trouble; /* why memory could not be registered */
    bool is_reported;
    /* the message that is being sent */
    uint32_t serial;
    const unsigned char *bytes; /* from `begin` to `end` */
    size_t size, begin, end;
    bool is_read[RDMA_RAILS]; /* the rail's device reads it where it lies */
    uint32_t keys[RDMA_RAILS];
    const struct rail_announcement *announced; /* NULL: not yet */
};

/* True if the devices of all rails reach these bytes of a GPU, so that a long message can go from
 * or to them: *way is then the worst way of any. from: it goes from them, so another rail may have
 * to read them again. False: `why` has the reason, but no code if the bytes are so few that they
 * are copied in any case. */
bool zero_copy_reaches(const struct zero_copy *z, const void *at, size_t size, bool from,
                       enum region_way *way, struct fault *why);

/* Announces to the peer that message `serial` should be written to `at`; `over` is the rail to use.
 * False: try again later. True also if that memory cannot be announced. */
bool zero_copy_announce(struct zero_copy *z, struct rail *over, uint32_t serial, void *at,
                        size_t size);

/* Begins to send message `serial`. True: its header must be sent in a chunk of its own. */
bool zero_copy_begin(struct zero_copy *z, uint32_t serial, const void *bytes, size_t size);

/* The message's bytes from `begin` to `end` are at `bytes`, and only they are sent until the next
 * such call. */
void zero_copy_turn(struct zero_copy *z, const void *bytes, size_t begin, size_t end);

/* Source and destination of the message's chunk at `offset` when it is sent over that rail. */
struct rail_way zero_copy_way(struct zero_copy *z, const struct rail *over, size_t offset);

#endif
