/* SPDX-License-Identifier: MIT */
#include "activation_buffer.h"

#include "block_values.h"

#include <stdlib.h>
#include <string.h>

int activation_buffer_open(struct activation *a, uint32_t count, uint32_t columns)
{
    size_t blocks = (size_t)count * (columns / BLOCK_VALUES + 1);

    memset(a, 0, sizeof(*a));
    a->q = malloc(blocks * BLOCK_VALUES);
    a->scale = malloc(blocks * sizeof(*a->scale));
    a->sum = malloc(blocks * sizeof(*a->sum));
    a->fours = malloc(blocks * (BLOCK_VALUES / 4) * sizeof(*a->fours));
    if (a->q && a->scale && a->sum && a->fours)
        return 0;
    activation_buffer_close(a);
    return -1;
}

void activation_buffer_close(struct activation *a)
{
    free(a->q);
    free(a->scale);
    free(a->sum);
    free(a->fours);
    memset(a, 0, sizeof(*a));
}

void activation_buffer_set(struct activation *a, const float *x, uint32_t count, uint32_t columns)
{
    a->x = x;
    a->stride = columns;
    a->count = count;
    a->columns = columns;
    a->is_quantized = false;
}

void activation_buffer_multiply(struct activation *a, const struct llm_kernels *k,
                                const struct llm_matrix *m, float *y, size_t stride)
{
    struct gguf_block block = {1, 1};

    gguf_type_block(m->type, &block);
    if (block.values > 1 && !a->is_quantized) {
        k->quantize(a);
        a->is_quantized = true;
    }
    k->multiply(m, a, y, stride);
}
