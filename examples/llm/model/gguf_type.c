/* SPDX-License-Identifier: MIT */
#include "gguf_type.h"

#include <stddef.h>

enum { TYPES = 41 };

/* ggml's numbers; those without a name have been withdrawn. */
static const char *const names[TYPES] = {
    [0] = "F32",     [1] = "F16",      [2] = "Q4_0",   [3] = "Q4_1",    [6] = "Q5_0",
    [7] = "Q5_1",    [8] = "Q8_0",     [9] = "Q8_1",   [10] = "Q2_K",   [11] = "Q3_K",
    [12] = "Q4_K",   [13] = "Q5_K",    [14] = "Q6_K",  [15] = "Q8_K",   [16] = "IQ2_XXS",
    [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S", [20] = "IQ4_NL", [21] = "IQ3_S",
    [22] = "IQ2_S",  [23] = "IQ4_XS",  [24] = "I8",    [25] = "I16",    [26] = "I32",
    [27] = "I64",    [28] = "F64",     [29] = "IQ1_M", [30] = "BF16",   [34] = "TQ1_0",
    [35] = "TQ2_0",  [39] = "MXFP4",   [40] = "NVFP4",
};

static const struct gguf_block blocks[TYPES] = {
    [GGUF_F32] = {1, 4},    [GGUF_F16] = {1, 2},      [GGUF_Q4_0] = {32, 18},
    [GGUF_Q8_0] = {32, 34}, [GGUF_Q4_K] = {256, 144}, [GGUF_Q6_K] = {256, 210},
    [GGUF_BF16] = {1, 2},
};

bool gguf_type_block(uint32_t type, struct gguf_block *out)
{
    if (type >= TYPES || blocks[type].values == 0)
        return false;
    *out = blocks[type];
    return true;
}

const char *gguf_type_name(uint32_t type)
{
    return type < TYPES ? names[type] : NULL;
}
