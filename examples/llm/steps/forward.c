/* SPDX-License-Identifier: MIT */
#include "forward.h"

#include "monotonic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_CONTEXT = 4096, MOST_SLOTS = 1024 };

/* --- open and close ----------------------------------------------------------------------------
 */

static float *floats(size_t count)
{
    return calloc(count + 1, sizeof(float));
}

static int forward_allocate(struct forward *f)
{
    const struct model_shape *s = &f->shape;
    const struct model_weights *w = &f->weights;
    size_t rows = LLM_MOST_ROWS, keys = (size_t)w->groups.count * s->head_size;
    size_t all = keys * (s->heads / s->groups);
    size_t widest = s->width > all ? s->width : all;
    void *part;

    widest = w->inner.count > widest ? w->inner.count : widest;
    if (activation_buffer_open(&f->activation, LLM_MOST_ROWS, (uint32_t)widest) ||
        rope_open(&f->rope, s, w->rope_divisor) || ml_alloc(rows * s->width * sizeof(float), &part))
        return -1;
    f->part = part;
    f->x = floats(rows * s->width);
    f->y = floats(rows * s->width);
    f->q = floats(rows * all);
    f->z = floats(rows * all);
    f->k = floats(rows * keys);
    f->v = floats(rows * keys);
    f->gate = floats(rows * w->inner.count);
    f->up = floats(rows * w->inner.count);
    f->cosines = floats(rows * s->head_size / 2);
    f->sines = floats(rows * s->head_size / 2);
    f->scores = floats(f->cache.context);
    f->logits = floats((size_t)FORWARD_HEAD_ROWS * w->vocabulary.count);
    return f->x && f->y && f->q && f->z && f->k && f->v && f->gate && f->up && f->cosines &&
                   f->sines && f->scores && f->logits
               ? 0
               : -1;
}

/* Frees this rank's part. */
static void forward_undivide(struct forward *f)
{
    float **all[] = {&f->x,    &f->y,  &f->q,       &f->z,     &f->k,      &f->v,
                     &f->gate, &f->up, &f->cosines, &f->sines, &f->scores, &f->logits};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
    ml_free(f->part);
    f->part = NULL;
    rope_close(&f->rope);
    activation_buffer_close(&f->activation);
    attention_close(&f->cache);
    model_weights_close(&f->weights);
}

int forward_divide(struct forward *f, ml_group *group, char *error, size_t size)
{
    forward_undivide(f);
    f->group = group;
    f->ranks = (uint32_t)ml_size(group);
    if (model_weights_open(&f->weights, f->gguf, &f->shape, (uint32_t)ml_rank(group), f->ranks,
                           error, size))
        return -1;
    if (attention_open(&f->cache, &f->shape, f->weights.groups.count, f->slots, f->context) ||
        forward_allocate(f)) {
        snprintf(error, size, "%s: there is not enough memory for %u slots of %u positions",
                 gguf_path(f->gguf), f->slots, f->context);
        return -1;
    }
    return 0;
}

int forward_open(struct forward *f, ml_group *group, const char *path,
                 const struct lead_options *options, char *error, size_t size)
{
    memset(f, 0, sizeof(*f));
    f->slots = options->slots ? options->slots : 1;
    f->context = options->context;
    f->kernels = llm_kernels_best();
    f->gguf = gguf_open(path, error, size);
    if (!f->gguf || model_shape_read(&f->shape, f->gguf, error, size))
        goto fail;
    if (!f->context)
        f->context = f->shape.context < DEFAULT_CONTEXT ? f->shape.context : DEFAULT_CONTEXT;
    if (f->context > f->shape.context || f->slots > MOST_SLOTS) {
        snprintf(error, size,
                 "%s: a context of %u and %u slots were asked for; at most %u, as the model was "
                 "trained for, and %d are possible",
                 path, f->context, f->slots, f->shape.context, MOST_SLOTS);
        goto fail;
    }
    if (forward_divide(f, group, error, size) == 0)
        return 0;
fail:
    forward_close(f);
    return -1;
}

void forward_close(struct forward *f)
{
    forward_undivide(f);
    gguf_close(f->gguf);
    memset(f, 0, sizeof(*f));
}

/* --- a step ------------------------------------------------------------------------------------
 */

/* y = x / its root mean square * weights; y may be x. */
static void norm(const float *x, const float *weights, uint32_t count, float epsilon, float *y)
{
    float squares = 0, factor;

#pragma omp simd reduction(+ : squares)
    for (uint32_t i = 0; i < count; i++)
        squares += x[i] * x[i];
    factor = 1 / sqrtf(squares / (float)count + epsilon);
#pragma omp simd
    for (uint32_t i = 0; i < count; i++)
        y[i] = x[i] * factor * weights[i];
}

static void vector_add(float *x, const float *more, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        x[i] += more[i];
}

static void rows_norm(const struct forward *f, const float *weights, uint32_t n)
{
    uint32_t width = f->shape.width;

    for (size_t i = 0; i < n; i++)
        norm(f->x + i * width, weights, width, f->shape.epsilon, f->y + i * width);
}

static void forward_multiply(struct forward *f, const struct llm_matrix *m, float *y)
{
    activation_buffer_multiply(&f->activation, f->kernels, m, y, m->rows);
}

/* x += the sum of all ranks' parts. */
static int forward_sum(struct forward *f, uint32_t n)
{
    size_t count = (size_t)n * f->shape.width;

    if (f->ranks > 1) {
        double begin = monotonic_s();
        int rc = ml_all_reduce(f->group, f->part, f->part, count, ML_FLOAT32, ML_SUM);

        f->times.collectives_s += monotonic_s() - begin;
        if (rc)
            return rc;
    }
    vector_add(f->x, f->part, count);
    return 0;
}

/* Turns the heads of one row, after the norm and the bias that the model may have. */
static void row_place(const struct forward *f, const float *bias, const float *weights, size_t row,
                      uint32_t heads, float *x)
{
    const struct model_shape *s = &f->shape;

    if (bias)
        vector_add(x, bias, (size_t)heads * s->head_size);
    if (weights)
        for (uint32_t h = 0; h < heads; h++)
            norm(x + (size_t)h * s->head_size, weights, s->head_size, s->epsilon,
                 x + (size_t)h * s->head_size);
    rope_turn(&f->rope, f->cosines + row * f->rope.pairs, f->sines + row * f->rope.pairs, x, heads);
}

static int layer_attention(struct forward *f, uint32_t layer, const struct llm_row *rows,
                           uint32_t n)
{
    const struct model_layer *l = &f->weights.layers[layer];
    struct attention_cache *c = &f->cache;
    size_t keys = (size_t)c->groups * c->head_size, all = keys * c->heads_per_group;

    rows_norm(f, l->attention_norm, n);
    activation_buffer_set(&f->activation, f->y, n, f->shape.width);
    forward_multiply(f, &l->q, f->q);
    forward_multiply(f, &l->k, f->k);
    forward_multiply(f, &l->v, f->v);
    for (size_t i = 0; i < n; i++) {
        row_place(f, l->q_bias, l->q_norm, i, c->groups * c->heads_per_group, f->q + i * all);
        row_place(f, l->k_bias, l->k_norm, i, c->groups, f->k + i * keys);
        if (l->v_bias)
            vector_add(f->v + i * keys, l->v_bias, keys);
        attention_store(c, f->kernels, layer, rows[i].slot, (uint32_t)rows[i].position,
                        f->k + i * keys, f->v + i * keys);
    }
    for (size_t i = 0; i < n; i++)
        attention_mix(c, f->kernels, layer, rows[i].slot, (uint32_t)rows[i].position,
                      f->q + i * all, f->scores, f->z + i * all);
    activation_buffer_set(&f->activation, f->z, n, (uint32_t)all);
    forward_multiply(f, &l->out, f->part);
    return forward_sum(f, n);
}

static int layer_inner(struct forward *f, uint32_t layer, uint32_t n)
{
    const struct model_layer *l = &f->weights.layers[layer];
    uint32_t inner = f->weights.inner.count;

    rows_norm(f, l->inner_norm, n);
    activation_buffer_set(&f->activation, f->y, n, f->shape.width);
    forward_multiply(f, &l->gate, f->gate);
    forward_multiply(f, &l->up, f->up);
    f->kernels->gate(f->gate, f->up, n * inner);
    activation_buffer_set(&f->activation, f->gate, n, inner);
    forward_multiply(f, &l->down, f->part);
    return forward_sum(f, n);
}

/* The candidates of the rows that want them; returns how many. */
static int forward_head(struct forward *f, const struct llm_row *rows, uint32_t n,
                        struct candidates *parts)
{
    uint32_t width = f->shape.width, wanted = 0, vocabulary = f->weights.vocabulary.count;

    for (size_t i = 0; i < n; i++)
        if (rows[i].want)
            norm(f->x + i * width, f->weights.norm, width, f->shape.epsilon,
                 f->y + (size_t)wanted++ * width);
    for (uint32_t i = 0; i < wanted; i += FORWARD_HEAD_ROWS) {
        uint32_t some = wanted - i < FORWARD_HEAD_ROWS ? wanted - i : FORWARD_HEAD_ROWS;

        activation_buffer_set(&f->activation, f->y + (size_t)i * width, some, width);
        forward_multiply(f, &f->weights.head, f->logits);
        for (uint32_t k = 0; k < some; k++)
            candidates_find(&parts[i + k], f->logits + (size_t)k * vocabulary, vocabulary,
                            (int32_t)f->weights.vocabulary.first);
    }
    return (int)wanted;
}

int forward_rows(struct forward *f, const struct llm_row *rows, uint32_t n,
                 struct candidates *parts)
{
    const struct llm_matrix *e = &f->weights.embedding;
    int rc;

    for (size_t i = 0; i < n; i++) {
        block_values_row(e->type, e->data + (size_t)rows[i].token * e->stride, e->columns,
                         f->x + i * e->columns);
        rope_angles(&f->rope, rows[i].position, f->cosines + i * f->rope.pairs,
                    f->sines + i * f->rope.pairs);
    }
    for (uint32_t layer = 0; layer < f->shape.layers; layer++) {
        rc = layer_attention(f, layer, rows, n);
        if (!rc)
            rc = layer_inner(f, layer, n);
        if (rc)
            return rc;
    }
    return forward_head(f, rows, n, parts);
}

/* --- how fast memory is ------------------------------------------------------------------------
 */

static void matrix_read(const struct llm_matrix *m, void *data)
{
    struct gguf_block block = {1, 1};
    uint64_t *total = data;

    gguf_type_block(m->type, &block);
    for (size_t r = 0; r < m->rows; r++) {
        const uint8_t *row = m->data + r * m->stride;
        size_t words = m->columns / block.values * (size_t)block.bytes / sizeof(uint64_t);
        uint64_t sum = 0;

#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < words; i++) {
            uint64_t word;

            memcpy(&word, row + i * sizeof(word), sizeof(word));
            sum += word;
        }
        *total += sum;
    }
}

double forward_read(struct forward *f)
{
    static volatile uint64_t result; /* so that the reading isn't optimised away */
    double begin = monotonic_s();
    uint64_t total = 0;

    model_weights_visit(&f->weights, &f->shape, matrix_read, &total);
    result = total;
    (void)result;
    return monotonic_s() - begin;
}
