/* SPDX-License-Identifier: MIT */
/* model_shape.h: what kind of model a file holds, and its sizes, read from the file's keys. */
#ifndef LLM_MODEL_MODEL_SHAPE_H
#define LLM_MODEL_MODEL_SHAPE_H

#include "gguf.h"

enum model_architecture { MODEL_LLAMA, MODEL_QWEN2, MODEL_QWEN3 };

struct model_shape {
    enum model_architecture architecture;
    uint32_t layers;
    uint32_t width;      /* numbers that a token is between layers */
    uint32_t inner;      /* numbers inside of a feed-forward network */
    uint32_t heads;      /* a multiple of groups */
    uint32_t groups;     /* heads of keys and values; each serves heads / groups heads */
    uint32_t head_size;  /* even; heads * head_size need not be the width */
    uint32_t vocabulary; /* tokens */
    uint32_t context;    /* positions that the model was trained for */
    float epsilon;       /* for the norms */
    float rope_base;
    float rope_factor;  /* positions are divided by it */
    bool is_rope_split; /* numbers i and i + head_size / 2 are a pair, else 2 i and 2 i + 1 */
};

/* Reads the keys and checks that their values are possible, and that the model needs nothing that
 * this program has not. 0, or -1 and a sentence in error that begins with the file's path. */
int model_shape_read(struct model_shape *s, const struct gguf *g, char *error, size_t size);

const char *model_architecture_name(enum model_architecture a);

#endif
