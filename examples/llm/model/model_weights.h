/* SPDX-License-Identifier: MIT */
/*
 * model_weights.h: one rank's part of the weights, where it lies in the mapped file.
 *
 * Whole groups of heads, whole blocks of the feed-forward networks and rows of the vocabulary are
 * divided among the ranks. A part of a matrix's rows is one piece of the file; a part of its
 * columns is a piece of each row. So nothing is copied or converted.
 *
 *     q, k, v         rows: the heads of this rank's groups
 *     out             columns: the same
 *     gate, up        rows of this rank's part of the inner numbers
 *     down            columns: the same
 *     head            rows: this rank's part of the vocabulary
 *     embedding       all of it; a step reads one row for each token
 */
#ifndef LLM_MODEL_MODEL_WEIGHTS_H
#define LLM_MODEL_MODEL_WEIGHTS_H

#include "model_shape.h"
#include "share.h"

/* A matrix, or a part of one, as it lies in the file: y = W x, where x has `columns` numbers and y
 * `rows`. */
struct llm_matrix {
    const uint8_t *data;
    size_t stride; /* bytes from one row to the next */
    uint32_t rows;
    uint32_t columns; /* whole blocks of the type */
    enum gguf_type type;
};

/* Vectors that the model has not are NULL. */
struct model_layer {
    const float *attention_norm, *inner_norm; /* width */
    const float *q_norm, *k_norm;             /* head_size */
    const float *q_bias, *k_bias, *v_bias;    /* this rank's rows */
    struct llm_matrix q, k, v, out, gate, up, down;
};

struct model_weights {
    struct share groups, inner, vocabulary; /* this rank's */
    struct llm_matrix embedding, head;
    const float *norm;         /* width */
    const float *rope_divisor; /* head_size / 2: of each pair's angle; or NULL */
    struct model_layer *layers;
};

/* The weights of `rank` of `ranks`. They point into g, which must stay open. 0, or -1 and a
 * sentence in error: a tensor is missing, unknown, or not as the shape says; or there are more
 * ranks than the model can be divided among. model_weights_close frees what w points to, but not
 * w. */
int model_weights_open(struct model_weights *w, const struct gguf *g, const struct model_shape *s,
                       uint32_t rank, uint32_t ranks, char *error, size_t size);
void model_weights_close(struct model_weights *w);

/* The bytes of weights that this rank reads for each token. */
uint64_t model_weights_bytes(const struct model_weights *w, const struct model_shape *s);

/* Calls visit for each matrix that this rank reads for each token. */
void model_weights_visit(const struct model_weights *w, const struct model_shape *s,
                         void (*visit)(const struct llm_matrix *m, void *data), void *data);

#endif
