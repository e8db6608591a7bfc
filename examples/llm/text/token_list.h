/* SPDX-License-Identifier: MIT */
/* token_list.h: the caller's room for tokens, which are counted also where there is no more. */
#ifndef LLM_TEXT_TOKEN_LIST_H
#define LLM_TEXT_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>

struct token_list {
    int32_t *tokens;
    size_t room;
    int64_t count; /* may be more than the room */
};

static inline void token_list_add(struct token_list *l, int32_t token)
{
    if ((uint64_t)l->count < l->room)
        l->tokens[l->count] = token;
    l->count++;
}

#endif
