/* SPDX-License-Identifier: MIT */
/*
 * collectives.h: the collective calls. task.c has checked the arguments and called call_begin; in
 * and out are equal or don't overlap, except that all_gather and gather allow in == out + rank *
 * size. Groups of one rank and empty buffers come here too, and work.
 *
 * Each function sends and receives with message_op.h and returns 0 or an error of it, or
 * ML_ERR_MEMORY; then the caller breaks the group. Only the thread that the group belongs to may
 * call them. `size` is in bytes, of one rank's share where there are shares. What a reduction does
 * with them is in g->call.
 */
#ifndef RUNTIME_COLLECTIVE_COLLECTIVES_H
#define RUNTIME_COLLECTIVE_COLLECTIVES_H

#include "runtime/group/group.h"

int all_reduce_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int reduce_scatter_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int reduce_run(struct group *g, const void *in, void *out, size_t size, int root,
               struct fault *why);
int scan_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int exclusive_scan_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_gather_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
int all_to_all_run(struct group *g, const void *in, void *out, size_t size, struct fault *why);
/* Shares of different sizes, as mlaunch.h describes them; offsets may be NULL. */
int all_gather_v_run(struct group *g, const void *in, void *out, const size_t *sizes,
                     const size_t *offsets, struct fault *why);
int all_to_all_v_run(struct group *g, const void *in, const size_t *in_sizes,
                     const size_t *in_offsets, void *out, const size_t *out_sizes,
                     const size_t *out_offsets, struct fault *why);
int broadcast_run(struct group *g, void *buf, size_t size, int root, struct fault *why);
int gather_run(struct group *g, const void *in, void *out, size_t size, int root,
               struct fault *why);
int scatter_run(struct group *g, const void *in, void *out, size_t size, int root,
                struct fault *why);
int barrier_run(struct group *g, struct fault *why);

#endif
