/* SPDX-License-Identifier: MIT */
/*
 * completions.h: the requests that are under way, in the loop: from their body to the queue, and
 * what the engine says back to their clients.
 */
#ifndef LLM_SERVE_COMPLETIONS_H
#define LLM_SERVE_COMPLETIONS_H

#include "metrics.h"
#include "prompt_tokens.h"
#include "queue.h"

#include <event2/event.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct completions;

struct completions_config {
    struct event_base *base;
    struct queue *queue;
    struct prompt_model prompts;
    const char *model; /* its name for clients */
    uint32_t context, slots;
    struct metrics *metrics;
    void (*on_closed)(void *arg); /* the engine has ended, and everyone was told */
    void *arg;
};

/* NULL: no memory. */
struct completions *completions_open(const struct completions_config *config);
/* Those under way are dropped without a word; takes NULL. */
void completions_close(struct completions *c);

/* Takes the request, and answers it now or later. */
void completions_request(struct completions *c, struct evhttp_request *request, bool is_chat);

/* All of them fail, with queue_reason(). */
void completions_fail(struct completions *c);

/* A list of those under way, for the dashboard. NULL: no memory. */
json_t *completions_list(const struct completions *c);

#endif
