/* SPDX-License-Identifier: MIT */
#include "gguf_value.h"

#include <endian.h>
#include <string.h>

static const uint8_t sizes[GGUF_KINDS] = {
    [GGUF_KIND_U8] = 1,   [GGUF_KIND_I8] = 1,  [GGUF_KIND_U16] = 2, [GGUF_KIND_I16] = 2,
    [GGUF_KIND_U32] = 4,  [GGUF_KIND_I32] = 4, [GGUF_KIND_F32] = 4, [GGUF_KIND_BOOL] = 1,
    [GGUF_KIND_TEXT] = 0, [GGUF_KIND_U64] = 8, [GGUF_KIND_I64] = 8, [GGUF_KIND_F64] = 8,
};

static uint16_t u16_at(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static uint32_t u32_at(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

static uint64_t bytes_left(const struct gguf_cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

bool gguf_cursor_u32(struct gguf_cursor *c, uint32_t *out)
{
    if (bytes_left(c) < sizeof(*out))
        return false;
    *out = u32_at(c->at);
    c->at += sizeof(*out);
    return true;
}

bool gguf_cursor_u64(struct gguf_cursor *c, uint64_t *out)
{
    if (bytes_left(c) < sizeof(*out))
        return false;
    *out = u64_at(c->at);
    c->at += sizeof(*out);
    return true;
}

bool gguf_cursor_text(struct gguf_cursor *c, struct gguf_text *out)
{
    uint64_t length;

    if (bytes_left(c) < sizeof(length))
        return false;
    length = u64_at(c->at);
    if (length > bytes_left(c) - sizeof(length))
        return false;
    out->bytes = (const char *)c->at + sizeof(length);
    out->length = (size_t)length;
    c->at += sizeof(length) + length;
    return true;
}

static const char *array_skip(struct gguf_cursor *c)
{
    struct gguf_text text;
    uint64_t count;
    uint32_t kind;

    if (!gguf_cursor_u32(c, &kind) || !gguf_cursor_u64(c, &count))
        return "ends beyond the file";
    if (kind == GGUF_KIND_ARRAY)
        return "is an array of arrays";
    if (kind >= GGUF_KINDS)
        return "is an array of a kind that GGUF does not have";
    if (kind != GGUF_KIND_TEXT) {
        if (count > bytes_left(c) / sizes[kind])
            return "ends beyond the file";
        c->at += count * sizes[kind];
        return NULL;
    }
    if (count > GGUF_TEXTS_MOST - c->texts)
        return "has, with those before it, more than 8388608 texts";
    c->texts += count;
    for (uint64_t i = 0; i < count; i++) {
        if (!gguf_cursor_text(c, &text))
            return "ends beyond the file";
    }
    return NULL;
}

const char *gguf_value_skip(struct gguf_cursor *c, uint32_t kind)
{
    struct gguf_text text;

    if (kind >= GGUF_KINDS)
        return "is of a kind that GGUF does not have";
    if (kind == GGUF_KIND_ARRAY)
        return array_skip(c);
    if (kind == GGUF_KIND_TEXT)
        return gguf_cursor_text(c, &text) ? NULL : "ends beyond the file";
    if (bytes_left(c) < sizes[kind])
        return "ends beyond the file";
    c->at += sizes[kind];
    return NULL;
}

static bool integer_at(const uint8_t *at, uint32_t kind, int64_t *out)
{
    uint64_t large;

    switch (kind) {
    case GGUF_KIND_U8:
        *out = *at;
        return true;
    case GGUF_KIND_BOOL:
        *out = *at != 0;
        return true;
    case GGUF_KIND_I8:
        *out = *at < 0x80 ? *at : *at - 0x100;
        return true;
    case GGUF_KIND_U16:
        *out = u16_at(at);
        return true;
    case GGUF_KIND_I16:
        *out = (int16_t)u16_at(at);
        return true;
    case GGUF_KIND_U32:
        *out = u32_at(at);
        return true;
    case GGUF_KIND_I32:
        *out = (int32_t)u32_at(at);
        return true;
    case GGUF_KIND_I64:
        *out = (int64_t)u64_at(at);
        return true;
    case GGUF_KIND_U64:
        large = u64_at(at);
        if (large > INT64_MAX)
            return false;
        *out = (int64_t)large;
        return true;
    default:
        return false;
    }
}

static bool real_at(const uint8_t *at, uint32_t kind, double *out)
{
    uint64_t wide;
    uint32_t narrow;
    int64_t integer;
    float value;

    switch (kind) {
    case GGUF_KIND_F32:
        narrow = u32_at(at);
        memcpy(&value, &narrow, sizeof(value));
        *out = value;
        return true;
    case GGUF_KIND_F64:
        wide = u64_at(at);
        memcpy(out, &wide, sizeof(*out));
        return true;
    default:
        if (!integer_at(at, kind, &integer))
            return false;
        *out = (double)integer;
        return true;
    }
}

bool gguf_value_number(const uint8_t *at, uint32_t kind, uint64_t *out)
{
    int64_t value;

    if (kind == GGUF_KIND_U64) {
        *out = u64_at(at);
        return true;
    }
    if (!integer_at(at, kind, &value) || value < 0)
        return false;
    *out = (uint64_t)value;
    return true;
}

bool gguf_value_real(const uint8_t *at, uint32_t kind, double *out)
{
    return real_at(at, kind, out);
}

bool gguf_value_array(const uint8_t *at, const uint8_t *end, struct gguf_array *out)
{
    struct gguf_cursor c = {.at = at, .end = end};

    if (!gguf_cursor_u32(&c, &out->kind) || !gguf_cursor_u64(&c, &out->count))
        return false;
    out->begin = out->at = c.at;
    out->end = end;
    out->next = 0;
    return true;
}

bool gguf_array_integer(const struct gguf_array *a, uint64_t i, int64_t *out)
{
    return i < a->count && a->kind != GGUF_KIND_TEXT &&
           integer_at(a->begin + i * sizes[a->kind], a->kind, out);
}

bool gguf_array_real(const struct gguf_array *a, uint64_t i, double *out)
{
    return i < a->count && a->kind != GGUF_KIND_TEXT &&
           real_at(a->begin + i * sizes[a->kind], a->kind, out);
}

bool gguf_array_text(struct gguf_array *a, uint64_t i, struct gguf_text *out)
{
    struct gguf_cursor c;

    if (i >= a->count || a->kind != GGUF_KIND_TEXT)
        return false;
    if (i < a->next) {
        a->at = a->begin;
        a->next = 0;
    }
    for (c = (struct gguf_cursor){.at = a->at, .end = a->end}; a->next <= i; a->next++) {
        if (!gguf_cursor_text(&c, out))
            return false;
        a->at = c.at;
    }
    return true;
}
