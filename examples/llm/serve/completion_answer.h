/* SPDX-License-Identifier: MIT */
/*
 * completion_answer.h: answers as OpenAI's clients read them, as JSON texts: whole ones, the chunks
 * of a stream, and errors. Each function returns a text that the caller frees, or NULL: no memory.
 */
#ifndef LLM_SERVE_COMPLETION_ANSWER_H
#define LLM_SERVE_COMPLETION_ANSWER_H

#include "queue.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A JSON string. Each byte that is not UTF-8 becomes U+FFFD: a model may say such, and a sentence
 * that was cut may end with some. NULL: no memory. */
json_t *answer_text(const char *text, size_t length);

/* What all JSON texts of one answer say. */
struct answer_head {
    bool is_chat;
    uint64_t id;
    int64_t created;       /* seconds since 1970 */
    const char *model;     /* UTF-8 */
    uint32_t prompt_count; /* tokens, of all prompts */
};

/* One of the choices of an answer that is sent whole. */
struct answer_choice {
    const char *text;
    size_t length;
    json_t *logprobs; /* those of its tokens (answer_logprobs.h), which are taken; or NULL */
    enum ticket_end end;
};

/* `all`: the numbers and times of all choices together. */
char *answer_whole(const struct answer_head *head, const struct answer_choice *choices,
                   uint32_t count, const struct ticket_news *all);

/* The chunks of a stream. Each choice, whose place is `index`, has them in this order: the first
 * (in a chat alone), those with text, the last one. `logprobs` as in struct answer_choice. Behind
 * all choices, if the client asked for it, there is one with the usage. */
char *answer_first(const struct answer_head *head, uint32_t index);
char *answer_chunk(const struct answer_head *head, uint32_t index, const char *text, size_t length,
                   json_t *logprobs);
char *answer_last(const struct answer_head *head, uint32_t index, json_t *logprobs,
                  const struct ticket_news *news);
char *answer_usage(const struct answer_head *head, const struct ticket_news *all);

/* {"error": {…}}; the type follows from the HTTP status. param: the member at fault, or NULL. */
char *answer_error(int status, const char *message, const char *param);
/* 400: this many tokens do not fit into a slot of `context`; if they are more than that, there may
 * be still more. */
char *answer_too_long(uint32_t prompt_count, uint32_t context, const char *param);

#endif
