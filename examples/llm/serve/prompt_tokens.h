/* SPDX-License-Identifier: MIT */
/* prompt_tokens.h: the tokens that a request begins with: its messages as the model's template
 * writes them, or its text. */
#ifndef LLM_SERVE_PROMPT_TOKENS_H
#define LLM_SERVE_PROMPT_TOKENS_H

#include "../model/gguf.h"
#include "../text/tokenizer.h"
#include "completion_request.h"

/* Stores those that fit into `room`, and in *count how many there are, at least one. Returns 0, or
 * -1 and *problem. */
int prompt_tokens_make(const struct gguf *gguf, const struct tokenizer *tokenizer,
                       const struct completion_request *request, int32_t *tokens, uint32_t room,
                       uint32_t *count, struct completion_problem *problem);

#endif
