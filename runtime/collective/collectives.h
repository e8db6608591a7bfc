/* SPDX-License-Identifier: MIT */
/*
 * collectives.h: the collective algorithms, on top of transfer.h. Arguments have been checked by api.c and
 * call_begin has been called; in and out are equal or don't overlap, but for all_gather's and gather's
 * in == out + rank * size. size == 1 groups and count == 0 come here too, and work.
 */
#ifndef RUNTIME_COLLECTIVE_COLLECTIVES_H
#define RUNTIME_COLLECTIVE_COLLECTIVES_H

#include "runtime/group/group.h"

int all_reduce_run(struct group *g, const void *in, void *out, size_t count, ml_type type, ml_op op,
                   struct fault *why);
int reduce_scatter_run(struct group *g, const void *in, void *out, size_t count, ml_type type,
                       ml_op op, struct fault *why);
int reduce_run(struct group *g, const void *in, void *out, size_t count, ml_type type, ml_op op,
               int root, struct fault *why);
int all_gather_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_to_all_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int broadcast_run(struct group *g, void *buf, size_t size, int root, struct fault *why);
int gather_run(struct group *g, const void *in, void *out, size_t size, int root,
               struct fault *why);
int scatter_run(struct group *g, const void *in, void *out, size_t size, int root,
                struct fault *why);
int barrier_run(struct group *g, struct fault *why);

#endif
