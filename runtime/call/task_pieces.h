/* SPDX-License-Identifier: MIT */
/*
 * task_pieces.h: long collective calls whose buffers are on GPUs, cut into pieces: while one is
 * carried out in host memory, the next is copied there, and the one before back to the GPU. Results
 * have the same bits as those of the whole call. All ranks of a call must cut it, or none, so they
 * ask each other first; that costs a message of one byte, and only in jobs with GPUs.
 */
#ifndef RUNTIME_CALL_TASK_PIECES_H
#define RUNTIME_CALL_TASK_PIECES_H

#include "runtime/call/task.h"

/* True if the ranks ask each other before this call, which was checked: the same on all. */
bool task_pieces_fit(const struct group *g, const struct task *t);

/* Carries out such a call, which was begun, by `carry_out`: in pieces if all ranks have all buffers
 * on GPUs (t->in_gpu, t->out_gpu: late, and no hash is wanted); else as a whole, for which what is
 * on a GPU is staged; then t->out_gpu has a room whose bytes are to be written (gpu_buffer_write).
 * Errors as from carry_out, or ML_ERR_DEVICE, ML_ERR_MEMORY. */
typedef int task_pieces_fn(struct group *g, const struct task *t, struct fault *why);
int task_pieces_run(struct group *g, const struct task *t, task_pieces_fn *carry_out,
                    struct fault *why);

#endif
