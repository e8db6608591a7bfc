/* SPDX-License-Identifier: MIT */
/*
 * completion_request.h: the bodies of POST /v1/chat/completions and /v1/completions, as OpenAI's
 * clients send them, checked. Members that would change the answer and that this server cannot
 * honour are refused; other unknown ones are ignored, as OpenAI's servers do.
 */
#ifndef LLM_SERVE_COMPLETION_REQUEST_H
#define LLM_SERVE_COMPLETION_REQUEST_H

#include "../steps/sampler.h"
#include "queue.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COMPLETION_MESSAGES_MOST = 4096,
    COMPLETION_STOPS_MOST = 16,
    COMPLETION_STOP_BYTES_MOST = 256,
    COMPLETION_CHOICES_MOST = 128, /* the prompts, each as often as n says */
};

enum completion_thinking { THINKING_UNSAID, THINKING_OFF, THINKING_ON };

struct completion_message {
    const char *role;
    char *content;
};

/* What a completion continues: a text, or the numbers of tokens. */
struct completion_prompt {
    const char *text;     /* NULL: there are tokens */
    const json_t *tokens; /* a list of numbers, each of which an int32_t can hold */
};

struct completion_request {
    bool is_chat;
    struct completion_message *messages; /* a chat's; at least one */
    uint32_t message_count;
    struct completion_prompt *prompts; /* a completion's */
    uint32_t prompt_count;             /* a chat has 1 */
    uint32_t choices;                  /* answers to each prompt; at least 1 */
    bool stream, include_usage, has_seed;
    uint64_t seed;
    uint32_t tokens_most; /* 0: not said */
    struct sampler_settings sampling;
    const char *stops[COMPLETION_STOPS_MOST];
    uint32_t stop_count;
    bool has_logprobs;
    uint32_t logprobs_best; /* at most TOKEN_BEST_MOST */
    bool is_json;           /* the answer is to be one JSON object */
    enum completion_thinking thinking;
    json_t *root; /* texts lie in it */
};

/* What is wrong with a body: a sentence, and the member's name, or NULL. */
struct completion_problem {
    char text[256];
    const char *param;
};

/* Returns 0; then *out is freed by completion_request_free. Or -1, and *problem says why. */
int completion_request_read(struct completion_request *out, bool is_chat, const char *body,
                            size_t size, struct completion_problem *problem);
void completion_request_free(struct completion_request *r);

#endif
