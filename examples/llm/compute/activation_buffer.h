/* SPDX-License-Identifier: MIT */
/* activation_buffer.h: the memory of vectors that matrices are multiplied with. */
#ifndef LLM_COMPUTE_ACTIVATION_BUFFER_H
#define LLM_COMPUTE_ACTIVATION_BUFFER_H

#include "llm_kernels.h"

/* Room for `count` vectors of up to `columns` numbers. 0, or -1: out of memory. */
int activation_buffer_open(struct activation *a, uint32_t count, uint32_t columns);
void activation_buffer_close(struct activation *a);

/* From here on, a stands for `count` vectors at x, each `columns` behind the other. They are
 * quantized when a matrix first needs it. */
void activation_buffer_set(struct activation *a, const float *x, uint32_t count, uint32_t columns);

/* y[v] = m times vector v; y has the vectors of m->rows numbers `stride` behind each other. */
void activation_buffer_multiply(struct activation *a, const struct llm_kernels *k,
                                const struct llm_matrix *m, float *y, size_t stride);

#endif
