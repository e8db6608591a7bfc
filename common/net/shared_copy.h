/* SPDX-License-Identifier: MIT */
/*
 * shared_copy.h: one copy of bytes for several processes of a host: an agent writes it into a file
 * in /dev/shm, and ranks map it. The last one that does removes the file; what ranks that died have
 * left there goes with the segments of the job's directory. All functions are thread-safe.
 */
#ifndef COMMON_NET_SHARED_COPY_H
#define COMMON_NET_SHARED_COPY_H

#include "common/fault.h"

#include <stddef.h>
#include <stdint.h>

/* For fewer bytes it is cheaper to send each process its own. */
enum { SHARED_COPY_LEAST = 65536 };

struct shared_copy {
    const uint8_t *bytes; /* `size` of them, to be read only; other ranks may see them change */
    size_t size;
    void *map; /* NULL: there is none */
};

/* Writes the copy for `readers` processes that have the job directory `dir`. `number` tells it from
 * the writer's others. ML_ERR_SYSTEM: /dev/shm takes no file, or has no room. */
int shared_copy_write(const char *dir, uint32_t number, int readers, const void *bytes, size_t size,
                      struct fault *why);

/* Maps it, once in each reader. ML_ERR_SYSTEM; ML_ERR_REFUSED: the file is another one. */
int shared_copy_map(struct shared_copy *out, const char *dir, uint32_t number, struct fault *why);
void shared_copy_unmap(struct shared_copy *copy); /* takes one without a map */

#endif
