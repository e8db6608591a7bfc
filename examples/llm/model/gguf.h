/* SPDX-License-Identifier: MIT */
/*
 * gguf.h: a model in one file, mapped read-only: keys with values, and tensors.
 *
 * The format is ggml's GGUF, versions 2 and 3 (its description: docs/gguf.md in ggml's repository).
 * gguf_open() checks everything but the values of keys and the numbers in tensors: each text, each
 * array and each tensor lies inside the file. What the getters return points into the mapped file,
 * is valid until gguf_close(), and may be unaligned, except a tensor's data, which begins at a
 * multiple of the file's alignment. gguf_value.h reads the
 * elements of arrays.
 *
 * After gguf_open(), any thread may call anything here. Nobody may shorten the file meanwhile:
 * reading beyond its new end kills the process (SIGBUS).
 */
#ifndef LLM_MODEL_GGUF_H
#define LLM_MODEL_GGUF_H

#include "gguf_type.h"
#include "gguf_value.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGUF_DIMS_MOST = 4, GGUF_NAME_ROOM = 65 };

struct gguf;

/* dims[0] is the fastest: of the matrix y = W x it is the length of x. The unused dims are 1. */
struct gguf_tensor {
    char name[GGUF_NAME_ROOM];
    uint32_t n_dims;
    uint64_t dims[GGUF_DIMS_MOST];
    uint32_t type; /* enum gguf_type */
    const void *data;
    uint64_t size; /* in bytes */
};

/* What all ranks must agree about: equal for files of equal size with equal keys and tensor
 * tables. The numbers in the tensors are not read for it. */
struct gguf_fingerprint {
    uint64_t size;
    uint64_t hash;
};

/* NULL: `error` has a sentence (gguf_sentence). */
struct gguf *gguf_open(const char *path, char *error, size_t size);
void gguf_close(struct gguf *g); /* takes NULL */

/* The path as gguf_open() was given it. */
const char *gguf_path(const struct gguf *g);
struct gguf_fingerprint gguf_fingerprint(const struct gguf *g);

/* Writes the file's name and, behind it, the sentence of a failure, in which all that is not
 * printable ASCII becomes '?': it may hold names out of the file, and goes to a terminal. */
void gguf_sentence(char *error, size_t size, const char *path, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* The value of a key. False: there is no such key, or it is of another kind; then *out is
 * unchanged. A number is any integer that is not negative, or a boolean; a real is any number. */
bool gguf_has(const struct gguf *g, const char *key);
bool gguf_number(const struct gguf *g, const char *key, uint64_t *out);
bool gguf_real(const struct gguf *g, const char *key, double *out);
bool gguf_text(const struct gguf *g, const char *key, struct gguf_text *out);
bool gguf_array(const struct gguf *g, const char *key, struct gguf_array *out);

/* The tensor of this name; NULL: there is none. */
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);
/* All tensors, ordered by name. */
const struct gguf_tensor *gguf_tensors(const struct gguf *g, size_t *count);

#endif
