/* SPDX-License-Identifier: MIT */
/* gguf_value.h: the values of a GGUF file's keys, read where they lie: little-endian, without
 * padding, each behind the one before. */
#ifndef LLM_MODEL_GGUF_VALUE_H
#define LLM_MODEL_GGUF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As stored. */
enum gguf_kind {
    GGUF_KIND_U8,
    GGUF_KIND_I8,
    GGUF_KIND_U16,
    GGUF_KIND_I16,
    GGUF_KIND_U32,
    GGUF_KIND_I32,
    GGUF_KIND_F32,
    GGUF_KIND_BOOL, /* one byte */
    GGUF_KIND_TEXT,
    GGUF_KIND_ARRAY,
    GGUF_KIND_U64,
    GGUF_KIND_I64,
    GGUF_KIND_F64,
    GGUF_KINDS
};

/* Not terminated; any bytes. */
struct gguf_text {
    const char *bytes;
    size_t length;
};

/* The elements are all of one kind, and none is an array. */
struct gguf_array {
    uint32_t kind;
    uint64_t count;
    const uint8_t *begin, *end; /* as stored */
    uint64_t next;              /* only for gguf_array_text(): the element that lies at `at` */
    const uint8_t *at;
};

/* Reads from `at`; nothing beyond `end`. */
struct gguf_cursor {
    const uint8_t *at, *end;
    uint64_t texts; /* how many it has gone past in arrays, at most GGUF_TEXTS_MOST */
};

/* The largest vocabularies have less than a tenth of it. Empty texts cost a file that has holes
 * nothing, and would cost its reader minutes. */
enum { GGUF_TEXTS_MOST = 1 << 23 };

/* False: fewer bytes are left; then nothing is changed. */
bool gguf_cursor_u32(struct gguf_cursor *c, uint32_t *out);
bool gguf_cursor_u64(struct gguf_cursor *c, uint64_t *out);
bool gguf_cursor_text(struct gguf_cursor *c, struct gguf_text *out);

/* Goes past a value of this kind. NULL, or what is wrong with it: "ends beyond the file". */
const char *gguf_value_skip(struct gguf_cursor *c, uint32_t kind);

/* Read a value that gguf_value_skip() has gone past. False: it is of another kind, or an integer is
 * negative; then *out is unchanged. */
bool gguf_value_number(const uint8_t *at, uint32_t kind, uint64_t *out);
bool gguf_value_real(const uint8_t *at, uint32_t kind, double *out);
bool gguf_value_array(const uint8_t *at, const uint8_t *end, struct gguf_array *out);

/* One element, as above; also false: i is not below count. gguf_array_text() takes constant time
 * for the element behind the one that it returned last, and reads from the beginning for one
 * before it. */
bool gguf_array_integer(const struct gguf_array *a, uint64_t i, int64_t *out);
bool gguf_array_real(const struct gguf_array *a, uint64_t i, double *out);
bool gguf_array_text(struct gguf_array *a, uint64_t i, struct gguf_text *out);

#endif
