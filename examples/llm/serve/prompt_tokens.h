/* SPDX-License-Identifier: MIT */
/* prompt_tokens.h: the tokens that a request begins with: its messages as the model's template
 * writes them, one of its texts, or the numbers of tokens themselves. */
#ifndef LLM_SERVE_PROMPT_TOKENS_H
#define LLM_SERVE_PROMPT_TOKENS_H

#include "../model/gguf.h"
#include "../text/tokenizer.h"
#include "completion_request.h"

/* What prompts are made for. */
struct prompt_model {
    const struct gguf *gguf;
    const struct tokenizer *tokenizer;
    uint32_t vocabulary; /* tokens that the model can compute */
};

/* The request's prompt i: stores the tokens that fit into `room`, and in *count how many there are,
 * at least one; a number that is more than `room` may be too small. Returns 0, or -1 and
 * *problem. */
int prompt_tokens_make(const struct prompt_model *model, const struct completion_request *request,
                       uint32_t i, int32_t *tokens, uint32_t room, uint32_t *count,
                       struct completion_problem *problem);

#endif
