/* SPDX-License-Identifier: MIT */
/* written_gguf.h: a small GGUF file that a test writes, right or wrong. */
#ifndef TESTS_WRITTEN_GGUF_H
#define TESTS_WRITTEN_GGUF_H

#include "examples/llm/model/gguf.h"

#include <stddef.h>
#include <stdint.h>

struct written_gguf {
    uint8_t bytes[1 << 18];
    size_t size;
};

/* Begins anew, with the file's first 24 bytes. */
void written_head(struct written_gguf *w, uint32_t version, uint64_t tensors, uint64_t keys);

/* Append. A key's value follows it. */
void written_raw(struct written_gguf *w, const void *bytes, size_t size);
void written_u32(struct written_gguf *w, uint32_t value);
void written_u64(struct written_gguf *w, uint64_t value);
void written_text(struct written_gguf *w, const char *text);
void written_key(struct written_gguf *w, const char *name, uint32_t kind);
void written_array(struct written_gguf *w, const char *name, uint32_t kind, uint64_t count);
void written_tensor(struct written_gguf *w, const char *name, uint64_t columns, uint64_t rows,
                    uint32_t type, uint64_t offset);
/* Zeros up to a multiple of 32, and `size` more. */
void written_data(struct written_gguf *w, size_t size);

/* Opens it as a file, which is gone afterwards. `path` gets its name. */
struct gguf *written_open(const struct written_gguf *w, char path[64], char error[512]);

#endif
