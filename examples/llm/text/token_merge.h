/* SPDX-License-Identifier: MIT */
/* token_merge.h: joins neighbours, always those first that a rule puts first, and of equals the
 * leftmost; what both kinds of tokenizers do with a text that was cut into characters. */
#ifndef LLM_TEXT_TOKEN_MERGE_H
#define LLM_TEXT_TOKEN_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_part {
    const char *text;
    uint32_t length;    /* 0: was joined to the part before */
    int32_t token;      /* -1: this text is no token */
    int32_t prev, next; /* -1: none */
};

/* True: these two may be joined, to *token; the lowest `order` comes first. */
typedef bool merge_rule(const void *of, const struct merge_part *left,
                        const struct merge_part *right, double *order, int32_t *token);

/* Memory that is used again from text to text; begins as {0}. */
struct token_merge {
    struct merge_part *parts;
    size_t count, part_room;
    struct merge_pair *heap;
    size_t heap_count, heap_room;
};

/* Adds a part behind the others. False: out of memory. */
bool token_merge_add(struct token_merge *m, const char *text, size_t length, int32_t token);

/* Joins what the rule allows; follow `next` from part 0. False: out of memory. */
bool token_merge_run(struct token_merge *m, merge_rule *rule, const void *of);

void token_merge_free(struct token_merge *m);

#endif
