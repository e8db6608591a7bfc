/* SPDX-License-Identifier: MIT */
/*
 * window_batch.h: short puts to one rank that are sent together (FRAME_PUTS, doc/protocol.md),
 * since a message for each would take a system call at both ends.
 */
#ifndef RUNTIME_WINDOW_WINDOW_BATCH_H
#define RUNTIME_WINDOW_WINDOW_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_ROOM = 4096, BATCH_PUT_MOST = 256 /* bytes of one put */ };

struct window_batch {
    size_t size; /* used in `bytes` */
    unsigned char bytes[BATCH_ROOM];
};

/* False: there is no room. `size` is 1 to BATCH_PUT_MOST. */
bool window_batch_add(struct window_batch *b, const void *from, size_t size, uint64_t offset);

/* Carries out the puts that came as `size` bytes in a part of `part_size` bytes. False: they make
 * no sense; some may have been carried out. */
bool window_batch_apply(const unsigned char *bytes, size_t size, unsigned char *part,
                        size_t part_size);

#endif
