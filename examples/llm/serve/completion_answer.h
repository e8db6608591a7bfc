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
    uint32_t prompt_count; /* tokens */
};

/* `logprobs`, which these take, are those of the tokens in it (answer_logprobs.h), or NULL. */
char *answer_whole(const struct answer_head *head, const char *text, size_t length,
                   json_t *logprobs, const struct ticket_news *news);

/* The chunks of a stream, in this order: the first (of a chat alone), those with text, the last
 * one, and if the client asked for it, one with the usage. */
char *answer_first(const struct answer_head *head);
char *answer_chunk(const struct answer_head *head, const char *text, size_t length,
                   json_t *logprobs);
char *answer_last(const struct answer_head *head, json_t *logprobs, const struct ticket_news *news);
char *answer_usage(const struct answer_head *head, const struct ticket_news *news);

/* {"error": {…}}; the type follows from the HTTP status. param: the member at fault, or NULL. */
char *answer_error(int status, const char *message, const char *param);
/* 400: this many tokens do not fit into a slot of `context`. */
char *answer_too_long(uint32_t prompt_count, uint32_t context, const char *param);

#endif
