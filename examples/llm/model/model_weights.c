/* SPDX-License-Identifier: MIT */
#include "model_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 7 };

struct weights_reader {
    struct model_weights *weights;
    const struct gguf *gguf;
    const struct model_shape *shape;
    char name[GGUF_NAME_ROOM]; /* the tensor that was looked up last */
    const struct gguf_tensor *all;
    size_t count;
    bool *is_used; /* for each tensor, whether it belongs to the model */
    char *error;
    size_t size;
};

static int weights_missing(struct weights_reader *r)
{
    snprintf(r->error, r->size, "%s: the tensor %s is missing", gguf_path(r->gguf), r->name);
    return -1;
}

/* "blk.3.attn_q.weight"; layer -1: `what` alone. NULL: there is none. */
static const struct gguf_tensor *weights_find(struct weights_reader *r, int layer, const char *what)
{
    const struct gguf_tensor *t;

    if (layer < 0)
        snprintf(r->name, sizeof(r->name), "%s", what);
    else
        snprintf(r->name, sizeof(r->name), "blk.%d.%s", layer, what);
    t = gguf_tensor(r->gguf, r->name);
    if (t)
        r->is_used[t - r->all] = true;
    return t;
}

/* A vector of `count` float32, of which *out is set to number `first`. */
static int weights_vector(struct weights_reader *r, int layer, const char *what, uint32_t count,
                          uint32_t first, const float **out)
{
    const struct gguf_tensor *t = weights_find(r, layer, what);

    if (!t)
        return weights_missing(r);
    if (t->n_dims != 1 || t->dims[0] != count || t->type != GGUF_F32 ||
        (uintptr_t)t->data % sizeof(float)) {
        snprintf(r->error, r->size,
                 "%s: the tensor %s has %" PRIu32 " dimensions, the first of %" PRIu64
                 ", of type %s; %" PRIu32 " numbers of type F32 are expected",
                 gguf_path(r->gguf), r->name, t->n_dims, t->dims[0], gguf_type_name(t->type),
                 count);
        return -1;
    }
    *out = (const float *)t->data + first;
    return 0;
}

static int weights_optional_vector(struct weights_reader *r, int layer, const char *what,
                                   uint32_t count, uint32_t first, const float **out)
{
    *out = NULL;
    return weights_find(r, layer, what) ? weights_vector(r, layer, what, count, first, out) : 0;
}

/* A whole matrix. */
static int weights_matrix(struct weights_reader *r, int layer, const char *what, uint32_t columns,
                          uint32_t rows, struct llm_matrix *out)
{
    const struct gguf_tensor *t = weights_find(r, layer, what);
    struct gguf_block block;

    if (!t)
        return weights_missing(r);
    if (!gguf_type_block(t->type, &block) || t->n_dims != 2 || t->dims[0] != columns ||
        t->dims[1] != rows || columns % block.values) {
        snprintf(r->error, r->size,
                 "%s: the tensor %s has %" PRIu32 " dimensions, the first two of %" PRIu64
                 " and %" PRIu64 ", of type %s; a matrix of %" PRIu32 " and %" PRIu32
                 " is expected",
                 gguf_path(r->gguf), r->name, t->n_dims, t->dims[0], t->dims[1],
                 gguf_type_name(t->type), columns, rows);
        return -1;
    }
    *out = (struct llm_matrix){t->data, (size_t)columns / block.values * block.bytes, rows, columns,
                               t->type};
    return 0;
}

static void matrix_keep_rows(struct llm_matrix *m, uint32_t first, uint32_t count)
{
    m->data += m->stride * first;
    m->rows = count;
}

static void matrix_keep_columns(struct llm_matrix *m, uint32_t first, uint32_t count)
{
    struct gguf_block block = {1, 1};

    gguf_type_block(m->type, &block);
    m->data += (size_t)first / block.values * block.bytes;
    m->columns = count;
}

static int layer_read_vectors(struct weights_reader *r, int i, struct model_layer *l)
{
    const struct model_shape *s = r->shape;
    bool has_norms = s->architecture == MODEL_QWEN3;

    if (weights_vector(r, i, "attn_norm.weight", s->width, 0, &l->attention_norm) ||
        weights_vector(r, i, "ffn_norm.weight", s->width, 0, &l->inner_norm))
        return -1;
    if (has_norms && (weights_vector(r, i, "attn_q_norm.weight", s->head_size, 0, &l->q_norm) ||
                      weights_vector(r, i, "attn_k_norm.weight", s->head_size, 0, &l->k_norm)))
        return -1;
    return 0;
}

/* The biases of this rank's rows. */
static int layer_read_biases(struct weights_reader *r, int i, struct model_layer *l)
{
    const struct model_shape *s = r->shape;
    uint32_t first = r->weights->groups.first * s->head_size;
    uint32_t all = s->groups * s->head_size, each = s->heads / s->groups;
    int (*read)(struct weights_reader *, int, const char *, uint32_t, uint32_t, const float **) =
        s->architecture == MODEL_QWEN2 ? weights_vector : weights_optional_vector;

    if (read(r, i, "attn_q.bias", all * each, first * each, &l->q_bias) ||
        read(r, i, "attn_k.bias", all, first, &l->k_bias) ||
        read(r, i, "attn_v.bias", all, first, &l->v_bias))
        return -1;
    return 0;
}

static int layer_read_matrices(struct weights_reader *r, int i, struct model_layer *l)
{
    const struct model_shape *s = r->shape;
    uint32_t keys = s->groups * s->head_size, all = s->heads * s->head_size;

    if (weights_matrix(r, i, "attn_q.weight", s->width, all, &l->q) ||
        weights_matrix(r, i, "attn_k.weight", s->width, keys, &l->k) ||
        weights_matrix(r, i, "attn_v.weight", s->width, keys, &l->v) ||
        weights_matrix(r, i, "attn_output.weight", all, s->width, &l->out) ||
        weights_matrix(r, i, "ffn_gate.weight", s->width, s->inner, &l->gate) ||
        weights_matrix(r, i, "ffn_up.weight", s->width, s->inner, &l->up) ||
        weights_matrix(r, i, "ffn_down.weight", s->inner, s->width, &l->down))
        return -1;
    return 0;
}

static void layer_keep_part(const struct model_weights *w, const struct model_shape *s,
                            struct model_layer *l)
{
    uint32_t each = s->heads / s->groups * s->head_size;

    matrix_keep_rows(&l->q, w->groups.first * each, w->groups.count * each);
    matrix_keep_rows(&l->k, w->groups.first * s->head_size, w->groups.count * s->head_size);
    matrix_keep_rows(&l->v, w->groups.first * s->head_size, w->groups.count * s->head_size);
    matrix_keep_columns(&l->out, w->groups.first * each, w->groups.count * each);
    matrix_keep_rows(&l->gate, w->inner.first, w->inner.count);
    matrix_keep_rows(&l->up, w->inner.first, w->inner.count);
    matrix_keep_columns(&l->down, w->inner.first, w->inner.count);
}

static uint32_t matrix_block(const struct llm_matrix *m)
{
    struct gguf_block block = {1, 1};

    gguf_type_block(m->type, &block);
    return block.values;
}

/* Sets who has what. The largest block of any layer decides, so that all layers are divided
 * alike; the sizes of blocks divide each other. */
static int weights_divide(struct weights_reader *r, uint32_t rank, uint32_t ranks)
{
    const struct model_shape *s = r->shape;
    struct model_weights *w = r->weights;
    uint32_t out = 1, down = 1, unit;

    for (uint32_t i = 0; i < s->layers; i++) {
        uint32_t a = matrix_block(&w->layers[i].out), b = matrix_block(&w->layers[i].down);

        out = a > out ? a : out;
        down = b > down ? b : down;
    }
    unit = share_unit(s->heads / s->groups * s->head_size, out);
    if (ranks > s->groups / unit) {
        snprintf(r->error, r->size,
                 "%s: at most %" PRIu32 " ranks can share this model, not %" PRIu32
                 ": it has %" PRIu32 " key/value heads, and a rank takes %" PRIu32 " at a time",
                 gguf_path(r->gguf), s->groups / unit, ranks, s->groups, unit);
        return -1;
    }
    w->groups = share_of(s->groups / unit, rank, ranks);
    w->groups = (struct share){w->groups.first * unit, w->groups.count * unit};
    w->inner = share_of(s->inner / down, rank, ranks);
    w->inner = (struct share){w->inner.first * down, w->inner.count * down};
    w->vocabulary = share_of(s->vocabulary, rank, ranks);
    return 0;
}

static int weights_read_ends(struct weights_reader *r)
{
    const struct model_shape *s = r->shape;
    struct model_weights *w = r->weights;

    if (weights_matrix(r, -1, "token_embd.weight", s->width, s->vocabulary, &w->embedding) ||
        weights_vector(r, -1, "output_norm.weight", s->width, 0, &w->norm) ||
        weights_optional_vector(r, -1, "rope_freqs.weight", s->head_size / 2, 0, &w->rope_divisor))
        return -1;
    w->head = w->embedding;
    if (gguf_tensor(r->gguf, "output.weight") &&
        weights_matrix(r, -1, "output.weight", s->width, s->vocabulary, &w->head))
        return -1;
    return 0;
}

/* A tensor that was not asked for would be left out of the arithmetic. */
static int weights_refuse_unknown(struct weights_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->is_used[i])
            continue;
        snprintf(r->error, r->size,
                 "%s: the tensor %s is not one that llm knows of %s with %" PRIu32 " layers",
                 gguf_path(r->gguf), r->all[i].name,
                 model_architecture_name(r->shape->architecture), r->shape->layers);
        return -1;
    }
    return 0;
}

static int weights_read(struct weights_reader *r, uint32_t rank, uint32_t ranks)
{
    const struct model_shape *s = r->shape;
    struct model_weights *w = r->weights;

    if (weights_read_ends(r))
        return -1;
    for (uint32_t i = 0; i < s->layers; i++)
        if (layer_read_matrices(r, (int)i, &w->layers[i]))
            return -1;
    if (weights_divide(r, rank, ranks))
        return -1;
    matrix_keep_rows(&w->head, w->vocabulary.first, w->vocabulary.count);
    for (uint32_t i = 0; i < s->layers; i++) {
        layer_keep_part(w, s, &w->layers[i]);
        if (layer_read_vectors(r, (int)i, &w->layers[i]) ||
            layer_read_biases(r, (int)i, &w->layers[i]))
            return -1;
    }
    return weights_refuse_unknown(r);
}

int model_weights_open(struct model_weights *w, const struct gguf *g, const struct model_shape *s,
                       uint32_t rank, uint32_t ranks, char *error, size_t size)
{
    struct weights_reader r = {.weights = w, .gguf = g, .shape = s, .error = error, .size = size};
    int rc = -1;

    memset(w, 0, sizeof(*w));
    r.all = gguf_tensors(g, &r.count);
    r.is_used = calloc(r.count + 1, sizeof(*r.is_used));
    w->layers = calloc(s->layers, sizeof(*w->layers));
    if (!r.is_used || !w->layers)
        snprintf(error, size, "%s: out of memory", gguf_path(g));
    else
        rc = weights_read(&r, rank, ranks);
    free(r.is_used);
    if (rc)
        model_weights_close(w);
    return rc;
}

void model_weights_close(struct model_weights *w)
{
    free(w->layers);
    w->layers = NULL;
}

void model_weights_visit(const struct model_weights *w, const struct model_shape *s,
                         void (*visit)(const struct llm_matrix *m, void *data), void *data)
{
    for (uint32_t i = 0; i < s->layers; i++) {
        const struct model_layer *l = &w->layers[i];
        const struct llm_matrix *all[MATRICES] = {&l->q,    &l->k,  &l->v,   &l->out,
                                                  &l->gate, &l->up, &l->down};

        for (int k = 0; k < MATRICES; k++)
            visit(all[k], data);
    }
    visit(&w->head, data);
}

static void matrix_add_bytes(const struct llm_matrix *m, void *data)
{
    struct gguf_block block = {1, 1};
    uint64_t *sum = data;

    gguf_type_block(m->type, &block);
    *sum += (uint64_t)m->rows * (m->columns / block.values) * block.bytes;
}

uint64_t model_weights_bytes(const struct model_weights *w, const struct model_shape *s)
{
    uint64_t sum = 0;

    model_weights_visit(w, s, matrix_add_bytes, &sum);
    return sum;
}
