/* SPDX-License-Identifier: MIT */
/* token_list.h: the caller's room for tokens. Where there is none, tokens are only counted; in all
 * other cases whoever adds them may stop behind the first one that has no room. */
#ifndef LLM_TEXT_TOKEN_LIST_H
#define LLM_TEXT_TOKEN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_list {
    int32_t *tokens;
    size_t room;
    int64_t count; /* may be more than the room */
};

/* Whether these tokens and `more` are too many for the room; then that is what they stay. */
static inline bool token_list_is_over(struct token_list *l, size_t more)
{
    if (!l->room || (uint64_t)l->count + more <= l->room)
        return false;
    l->count = (int64_t)l->room + 1;
    return true;
}

/* How many there are; the room and one more if they are too many. */
static inline int64_t token_list_count(struct token_list *l)
{
    token_list_is_over(l, 0);
    return l->count;
}

static inline void token_list_add(struct token_list *l, int32_t token)
{
    if ((uint64_t)l->count < l->room)
        l->tokens[l->count] = token;
    l->count++;
}

#endif
