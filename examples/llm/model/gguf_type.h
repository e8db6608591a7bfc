/* SPDX-License-Identifier: MIT */
/* gguf_type.h: how the numbers of a tensor are stored, in blocks with a number of values and of
 * bytes. */
#ifndef LLM_MODEL_GGUF_TYPE_H
#define LLM_MODEL_GGUF_TYPE_H

#include <stdbool.h>
#include <stdint.h>

/* Those that llm reads, by ggml's numbers. */
enum gguf_type {
    GGUF_F32 = 0,
    GGUF_F16 = 1,
    GGUF_Q4_0 = 2,
    GGUF_Q8_0 = 8,
    GGUF_Q4_K = 12,
    GGUF_Q6_K = 14,
    GGUF_BF16 = 30,
};

struct gguf_block {
    uint32_t values;
    uint32_t bytes;
};

/* False: llm does not read this type. */
bool gguf_type_block(uint32_t type, struct gguf_block *out);

/* "Q8_0"; also of types that llm does not read. NULL: ggml has no such type. */
const char *gguf_type_name(uint32_t type);

#endif
