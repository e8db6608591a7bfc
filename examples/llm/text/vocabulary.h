/* SPDX-License-Identifier: MIT */
/* vocabulary.h: the tokens of a model's file: their texts, found by number and by text, and what
 * each adds to the output. */
#ifndef LLM_TEXT_VOCABULARY_H
#define LLM_TEXT_VOCABULARY_H

#include "../model/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the file numbers them. */
enum token_type {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER = 4, /* is recognised in any text, and shown */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6, /* "<0x0A>" */
};

struct vocabulary_token {
    const char *text; /* as stored, in the mapped file */
    const char *piece;
    uint32_t length, piece_length;
    float score;
    uint8_t type;
    bool is_end;
};

struct vocabulary {
    struct vocabulary_token *tokens;
    int32_t count;
    uint32_t longest; /* bytes of the longest text */
    char *pieces;
    int32_t *slots; /* a hash table of numbers; -1: empty */
    uint64_t slot_mask, multiplier;
    int32_t begin, end; /* -1: none */
};

/* `is_byte_level`: the texts are those of byte-level BPE. `v` begins as {0}. False: `error` has a
 * sentence; vocabulary_free() is due all the same. */
bool vocabulary_load(struct vocabulary *v, const struct gguf *g, bool is_byte_level, char *error,
                     size_t size);
void vocabulary_free(struct vocabulary *v);

/* How many tokens a text of `length` bytes has at least. */
static inline size_t vocabulary_least(const struct vocabulary *v, size_t length)
{
    return length / (v->longest + 1UL);
}

/* The number of this text; -1: it is no token. */
int32_t vocabulary_find(const struct vocabulary *v, const char *text, size_t length);

/* An odd number that nobody outside can know, for the hash tables: otherwise a file could be made
 * whose texts all meet in one place. */
uint64_t vocabulary_multiplier(void);

#endif
