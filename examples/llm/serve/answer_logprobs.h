/* SPDX-License-Identifier: MIT */
/* answer_logprobs.h: the probabilities of an answer's tokens, as OpenAI's clients read them: in one
 * form in chats, in another one in completions. */
#ifndef LLM_SERVE_ANSWER_LOGPROBS_H
#define LLM_SERVE_ANSWER_LOGPROBS_H

#include "../text/tokenizer.h"
#include "queue.h"

#include <jansson.h>
#include <stdbool.h>

/* Those of no token. NULL: no memory. */
json_t *answer_logprobs_new(bool is_chat);

/* Adds those of `count` more tokens. *offset: the characters of the answer before them, and then
 * with them. */
void answer_logprobs_add(json_t *to, bool is_chat, const struct tokenizer *tokenizer,
                         const struct token_report *reports, uint32_t count, uint64_t *offset);

#endif
