/* SPDX-License-Identifier: MIT */
#include "model_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_ROOM = 96,
    MOST_LAYERS = 1024,
    MOST_HEADS = 1024,
    MOST_HEAD_SIZE = 1024,
    MOST_WIDTH = 1 << 16,
    MOST_INNER = 1 << 20,
    MOST_VOCABULARY = 1 << 22,
    MOST_CONTEXT = 1 << 24
};

static const struct {
    const char *name;
    bool is_rope_split;
} architectures[] = {
    [MODEL_LLAMA] = {"llama", false},
    [MODEL_QWEN2] = {"qwen2", true},
    [MODEL_QWEN3] = {"qwen3", true},
};
enum { ARCHITECTURES = sizeof(architectures) / sizeof(architectures[0]) };

const char *model_architecture_name(enum model_architecture a)
{
    return architectures[a].name;
}

/* What the functions below work on. */
struct shape_reader {
    struct model_shape *shape;
    const struct gguf *gguf;
    char key[KEY_ROOM]; /* "llama.block_count": the one that was made last */
    char *error;
    size_t size;
};

static const char *shape_key(struct shape_reader *r, const char *name)
{
    snprintf(r->key, sizeof(r->key), "%s.%s", architectures[r->shape->architecture].name, name);
    return r->key;
}

/* A number from 1 to `most`; or `absent`, if that is not 0 and there is no such key. */
static int shape_number(struct shape_reader *r, const char *name, uint32_t most, uint32_t absent,
                        uint32_t *out)
{
    uint64_t value;

    if (absent && !gguf_has(r->gguf, shape_key(r, name))) {
        *out = absent;
        return 0;
    }
    if (!gguf_number(r->gguf, shape_key(r, name), &value)) {
        snprintf(r->error, r->size, "%s: %s is missing, or not one whole number",
                 gguf_path(r->gguf), r->key);
        return -1;
    }
    if (value < 1 || value > most) {
        snprintf(r->error, r->size, "%s: %s is %" PRIu64 "; llm reads models with 1 to %" PRIu32,
                 gguf_path(r->gguf), r->key, value, most);
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}

/* A number above 0 and at most `most`; or `absent`, if that is not 0 and there is no such key. */
static int shape_real(struct shape_reader *r, const char *name, double most, float absent,
                      float *out)
{
    double value;

    if (absent > 0 && !gguf_has(r->gguf, shape_key(r, name))) {
        *out = absent;
        return 0;
    }
    if (!gguf_real(r->gguf, shape_key(r, name), &value)) {
        snprintf(r->error, r->size, "%s: %s is missing, or not one number", gguf_path(r->gguf),
                 r->key);
        return -1;
    }
    if (!(value > 0 && value <= most)) {
        snprintf(r->error, r->size, "%s: %s is %g; llm reads models with more than 0, up to %g",
                 gguf_path(r->gguf), r->key, value, most);
        return -1;
    }
    *out = (float)value;
    return 0;
}

static int shape_read_architecture(struct shape_reader *r)
{
    struct gguf_text name = {"", 0};

    if (!gguf_text(r->gguf, "general.architecture", &name)) {
        snprintf(r->error, r->size, "%s: general.architecture is missing, or not a text",
                 gguf_path(r->gguf));
        return -1;
    }
    for (int i = 0; i < ARCHITECTURES; i++) {
        if (name.length == strlen(architectures[i].name) &&
            memcmp(name.bytes, architectures[i].name, name.length) == 0) {
            r->shape->architecture = i;
            r->shape->is_rope_split = architectures[i].is_rope_split;
            return 0;
        }
    }
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] < '!' || name.bytes[i] > '~')
            name.length = i;
    snprintf(r->error, r->size,
             "%s: the model's architecture is \"%.*s\"; llm reads llama, qwen2 and qwen3",
             gguf_path(r->gguf), name.length < 40 ? (int)name.length : 40, name.bytes);
    return -1;
}

static int shape_read_sizes(struct shape_reader *r)
{
    struct model_shape *s = r->shape;
    uint32_t value_length;

    if (shape_number(r, "block_count", MOST_LAYERS, 0, &s->layers) ||
        shape_number(r, "embedding_length", MOST_WIDTH, 0, &s->width) ||
        shape_number(r, "feed_forward_length", MOST_INNER, 0, &s->inner) ||
        shape_number(r, "context_length", MOST_CONTEXT, 0, &s->context) ||
        shape_number(r, "attention.head_count", MOST_HEADS, 0, &s->heads) ||
        shape_number(r, "attention.head_count_kv", s->heads, s->heads, &s->groups))
        return -1;
    if (s->heads % s->groups) {
        snprintf(r->error, r->size, "%s: %" PRIu32 " heads cannot share %" PRIu32 " of keys",
                 gguf_path(r->gguf), s->heads, s->groups);
        return -1;
    }
    if (shape_number(r, "attention.key_length", MOST_HEAD_SIZE,
                     s->width / s->heads ? s->width / s->heads : 1, &s->head_size) ||
        shape_number(r, "attention.value_length", MOST_HEAD_SIZE, s->head_size, &value_length))
        return -1;
    if (s->head_size % 2 || s->head_size > MOST_HEAD_SIZE || value_length != s->head_size) {
        snprintf(r->error, r->size,
                 "%s: keys of %" PRIu32 " numbers and values of %" PRIu32
                 "; llm reads models where both are equal, even, and at most %d",
                 gguf_path(r->gguf), s->head_size, value_length, MOST_HEAD_SIZE);
        return -1;
    }
    return 0;
}

static int shape_read_rope(struct shape_reader *r)
{
    struct model_shape *s = r->shape;
    struct gguf_text type = {"none", 4};
    uint32_t turned;

    if (shape_real(r, "rope.freq_base", 1e12, 10000, &s->rope_base) ||
        shape_real(r, "rope.scale_linear", 1e6, 1, &s->rope_factor) ||
        shape_number(r, "rope.dimension_count", MOST_HEAD_SIZE, s->head_size, &turned))
        return -1;
    if (turned != s->head_size) {
        snprintf(r->error, r->size,
                 "%s: %s is %" PRIu32 ", but heads have %" PRIu32
                 " numbers; llm reads models where all of them are turned",
                 gguf_path(r->gguf), r->key, turned, s->head_size);
        return -1;
    }
    if (gguf_has(r->gguf, shape_key(r, "rope.scaling.type")) && !gguf_text(r->gguf, r->key, &type))
        type = (struct gguf_text){"?", 1};
    if (type.length == 4 && memcmp(type.bytes, "none", 4) == 0)
        return 0;
    if (type.length == 6 && memcmp(type.bytes, "linear", 6) == 0)
        return shape_real(r, "rope.scaling.factor", 1e6, 1, &s->rope_factor);
    snprintf(r->error, r->size,
             "%s: %s is neither none nor linear; llm has no other way to stretch positions (YaRN, "
             "for instance)",
             gguf_path(r->gguf), r->key);
    return -1;
}

/* What this program has not, and would compute wrongly if it read on. */
static int shape_refuse(struct shape_reader *r)
{
    uint64_t value = 0;

    if (gguf_number(r->gguf, shape_key(r, "expert_count"), &value) && value) {
        snprintf(r->error, r->size,
                 "%s: a mixture of %" PRIu64 " experts; llm reads dense models alone",
                 gguf_path(r->gguf), value);
        return -1;
    }
    if (gguf_number(r->gguf, shape_key(r, "attention.sliding_window"), &value) && value &&
        value < r->shape->context) {
        snprintf(r->error, r->size,
                 "%s: the model sees the last %" PRIu64 " of %" PRIu32
                 " positions; llm has no sliding window",
                 gguf_path(r->gguf), value, r->shape->context);
        return -1;
    }
    return 0;
}

static int shape_read_vocabulary(struct shape_reader *r)
{
    const struct gguf_tensor *t = gguf_tensor(r->gguf, "token_embd.weight");
    uint32_t expected;

    if (!t || t->n_dims != 2 || t->dims[1] < 1 || t->dims[1] > MOST_VOCABULARY) {
        snprintf(r->error, r->size,
                 "%s: the tensor token_embd.weight is missing, or is no matrix of 1 to %d rows",
                 gguf_path(r->gguf), MOST_VOCABULARY);
        return -1;
    }
    r->shape->vocabulary = (uint32_t)t->dims[1];
    if (shape_number(r, "vocab_size", MOST_VOCABULARY, r->shape->vocabulary, &expected))
        return -1;
    if (expected != r->shape->vocabulary) {
        snprintf(r->error, r->size,
                 "%s: %s is %" PRIu32 ", but token_embd.weight has %" PRIu32 " rows",
                 gguf_path(r->gguf), r->key, expected, r->shape->vocabulary);
        return -1;
    }
    return 0;
}

int model_shape_read(struct model_shape *s, const struct gguf *g, char *error, size_t size)
{
    struct shape_reader r = {.shape = s, .gguf = g, .error = error, .size = size};

    memset(s, 0, sizeof(*s));
    if (shape_read_architecture(&r) || shape_read_sizes(&r) ||
        shape_real(&r, "attention.layer_norm_rms_epsilon", 1, 0, &s->epsilon) ||
        shape_read_rope(&r) || shape_refuse(&r) || shape_read_vocabulary(&r))
        return -1;
    return 0;
}
