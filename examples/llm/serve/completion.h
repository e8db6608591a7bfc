/* SPDX-License-Identifier: MIT */
/*
 * completion.h: a request on its way back to its client. Each of its choices has a ticket; what the
 * engine says to them becomes events of a stream, or one whole answer. A completion ends with the
 * last of its choices, when one of them fails, or when its client leaves.
 *
 *     completion_new ──▶ queue_put ──▶ completion_open ──▶ completion_news … ──▶ the end
 *           │ no memory     │ refused
 *           └───────────────┴──▶ completion_close
 */
#ifndef LLM_SERVE_COMPLETION_H
#define LLM_SERVE_COMPLETION_H

#include "../http/reply.h"
#include "completion_answer.h"
#include "completion_request.h"
#include "metrics.h"

#include <event2/event.h>
#include <event2/http.h>

enum { COMPLETION_RETRY_S = 3 }; /* a job that is started again answers by then */

struct completion;

/* Those that are open, and what all of them use. */
struct completion_list {
    struct completion *first;
    struct event_base *base;
    struct queue *queue;
    struct metrics *metrics;
    const struct tokenizer *tokenizer;
};

/* The completion to r, which owns the tickets from now on: first the choices of the first prompt,
 * r->choices of them, then those of the next. NULL: no memory, and the tickets are the caller's. */
struct completion *completion_new(struct completion_list *list, const struct completion_request *r,
                                  const struct answer_head *head, struct ticket *const *tickets,
                                  uint32_t count);

/* The queue has accepted the tickets; the reply is the completion's from now on. */
void completion_open(struct completion *c, struct http_reply *reply);

/* Says nothing to the client; of one that was not opened, `is_put` says whether its tickets are in
 * the queue. */
void completion_close(struct completion *c, bool is_put);

/* Takes the news of a ticket that a completion owns. */
void completion_news(struct ticket *ticket);

/* Tells the client why nothing more comes: queue_loss() or queue_reason(). */
void completion_fail(struct completion *c, bool is_lost);

/* What the dashboard shows of them. NULL: no memory. */
json_t *completion_list_json(const struct completion_list *list);

#endif
