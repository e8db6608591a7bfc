/* SPDX-License-Identifier: MIT */
#include "completions.h"

#include "../http/reply.h"
#include "../steps/monotonic.h"
#include "completion.h"

#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

enum {
    TOKENS_OF_TEXT = 16, /* for a completion that names no number, as OpenAI's */
    RETRY_MOST_S = 60,
    CHANGED_AT_ONCE = 64,
};

struct completions {
    struct completions_config config;
    struct completion_list list;
    struct event *changed;
    uint64_t next_id;
};

/* Answers a request that was not accepted. `text` is freed. */
static void refuse_with(struct completions *all, struct evhttp_request *request, int status,
                        char *text, int retry_s)
{
    metrics_answered(all->config.metrics, status);
    reply_send(request, status, "application/json", text, text ? strlen(text) : 0, retry_s);
    free(text);
}

static void refuse(struct completions *all, struct evhttp_request *request, int status,
                   const char *sentence, const char *param, int retry_s)
{
    refuse_with(all, request, status, answer_error(status, sentence, param), retry_s);
}

/* Whether its type is JSON, with or without parameters. A page of another site cannot send it here
 * unasked, as it could a form. */
static bool is_json(struct evhttp_request *request)
{
    const char *type =
        evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
    size_t length = strlen("application/json");

    return type && strncasecmp(type, "application/json", length) == 0 &&
           (!type[length] || strchr("; \t", type[length]));
}

/* When a client that found the queue full may come again: when about one request will be done. */
static int retry_seconds(const struct completions *all)
{
    double seconds = ceil(all->config.metrics->request_s / all->config.slots);

    if (seconds < 1)
        return 1;
    return seconds > RETRY_MOST_S ? RETRY_MOST_S : (int)seconds;
}

/* A ticket for one choice of a prompt; NULL: no memory. */
static struct ticket *ticket_make(const struct completion_request *r, const int32_t *tokens,
                                  uint32_t count, uint32_t most, uint64_t seed)
{
    struct ticket *t = ticket_create();

    if (!t)
        return NULL;
    t->order.prompt = calloc(count, sizeof(*tokens));
    t->order.stops = calloc(COMPLETION_STOPS_MOST, sizeof(char *));
    if (!t->order.prompt || !t->order.stops)
        goto fail;
    memcpy(t->order.prompt, tokens, count * sizeof(*tokens));
    t->order.prompt_count = count;
    t->order.tokens_most = most;
    t->order.sampling = r->sampling;
    t->order.seed = seed;
    t->order.is_json = r->is_json;
    t->order.has_reports = r->has_logprobs;
    t->order.reports_best = r->logprobs_best;
    for (; t->order.stop_count < r->stop_count; t->order.stop_count++) {
        t->order.stops[t->order.stop_count] = strdup(r->stops[t->order.stop_count]);
        if (!t->order.stops[t->order.stop_count])
            goto fail;
    }
    return t;
fail:
    ticket_free(t);
    return NULL;
}

/* The request as tickets, one for each choice of each prompt. */
struct ticket_batch {
    struct ticket *tickets[COMPLETION_CHOICES_MOST];
    uint32_t count;
    uint32_t prompt_count; /* tokens, of all prompts */
};

static void tickets_free(struct ticket_batch *o)
{
    for (uint32_t i = 0; i < o->count; i++)
        ticket_free(o->tickets[i]);
    o->count = 0;
}

/* Those of a prompt. False: no memory. With a seed, each choice has one of its own. */
static bool tickets_add(struct ticket_batch *o, const struct completion_request *r,
                        const int32_t *tokens, uint32_t count, uint32_t context)
{
    uint32_t most = r->tokens_most;

    if (!most)
        most = r->is_chat ? context : TOKENS_OF_TEXT;
    if (most > context - count)
        most = context - count;
    o->prompt_count += count;
    for (uint32_t i = 0; i < r->choices; i++) {
        uint64_t seed = r->seed + i;
        struct ticket *t;

        if (!r->has_seed && getrandom(&seed, sizeof(seed), 0) < 0)
            seed = (uint64_t)monotonic_ns() + i;
        t = ticket_make(r, tokens, count, most, seed);
        if (!t)
            return false;
        o->tickets[o->count++] = t;
    }
    return true;
}

/* Puts them into the queue. */
static void order_put(struct completions *all, struct evhttp_request *request,
                      const struct completion_request *r, struct ticket_batch *o)
{
    const struct answer_head head = {r->is_chat, all->next_id++, time(NULL), all->config.model,
                                     o->prompt_count};
    struct completion *c = completion_new(&all->list, r, &head, o->tickets, o->count);
    char reason[QUEUE_REASON_ROOM];
    enum queue_refusal refusal;

    if (!c) {
        tickets_free(o);
        refuse(all, request, 500, "out of memory", NULL, 0);
        return;
    }
    refusal = queue_put(all->config.queue, o->tickets, o->count);
    if (!refusal && completion_open(c, request))
        return;
    completion_close(c, !refusal);
    if (refusal == QUEUE_FULL) {
        refuse(all, request, 429, "the server is busy: its queue is full; try again later", NULL,
               retry_seconds(all));
    } else if (refusal) {
        queue_reason(all->config.queue, reason);
        refuse(all, request, 503, reason, NULL, COMPLETION_RETRY_S);
    } else {
        refuse(all, request, 500, "out of memory", NULL, 0);
    }
}

/* The tickets of all prompts, with tokens as room for one of them. NULL, or the text of an error
 * and its status. */
static char *order_make(struct completions *all, const struct completion_request *r,
                        int32_t *tokens, struct ticket_batch *o, int *status)
{
    struct completion_problem problem = {0};
    uint32_t count, context = all->config.context;

    *status = 400;
    for (uint32_t i = 0; i < r->prompt_count; i++) {
        if (prompt_tokens_make(&all->config.prompts, r, i, tokens, context, &count, &problem))
            return answer_error(400, problem.text, problem.param);
        if (count >= context)
            return answer_too_long(count, context, r->is_chat ? "messages" : "prompt");
        if (!tickets_add(o, r, tokens, count, context)) {
            *status = 500;
            return answer_error(500, "out of memory", NULL);
        }
    }
    return NULL;
}

/* Checks the length of a request that was read, and starts it. */
static void completion_accept(struct completions *all, struct evhttp_request *request,
                              const struct completion_request *r)
{
    uint32_t room = queue_most(all->config.queue) + all->config.slots;
    struct ticket_batch order = {.count = 0};
    int32_t *tokens;
    char sentence[128], *error;
    int status;

    if (r->prompt_count * r->choices > room) {
        snprintf(sentence, sizeof(sentence),
                 "the request asks for %u answers; this server takes %u at most at a time",
                 r->prompt_count * r->choices, room);
        refuse(all, request, 400, sentence, r->choices > 1 ? "n" : "prompt", 0);
        return;
    }
    tokens = calloc(all->config.context, sizeof(*tokens));
    if (!tokens) {
        refuse(all, request, 500, "out of memory", NULL, 0);
        return;
    }
    error = order_make(all, r, tokens, &order, &status);
    free(tokens);
    if (error) {
        tickets_free(&order);
        refuse_with(all, request, status, error, 0);
        return;
    }
    order_put(all, request, r, &order);
}

void completions_request(struct completions *all, struct evhttp_request *request, bool is_chat)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(body);
    struct completion_problem problem = {0};
    struct completion_request r;
    const char *text;

    if (!is_json(request)) {
        refuse(all, request, 415, "the body must be JSON: send Content-Type: application/json",
               NULL, 0);
        return;
    }
    text = (const char *)evbuffer_pullup(body, -1);
    if (completion_request_read(&r, is_chat, text ? text : "", size, &problem)) {
        refuse(all, request, 400, problem.text, problem.param, 0);
        return;
    }
    completion_accept(all, request, &r);
    completion_request_free(&r);
}

static void completions_on_changed(evutil_socket_t fd, short what, void *arg)
{
    struct completions *all = arg;
    struct ticket *t = NULL;

    (void)fd;
    (void)what;
    for (int i = 0; i < CHANGED_AT_ONCE && (t = queue_changed(all->config.queue)); i++)
        completion_news(t);
    if (!t && queue_is_closed(all->config.queue)) {
        event_del(all->changed);
        all->config.on_closed(all->config.arg);
    }
}

struct completions *completions_open(const struct completions_config *config)
{
    struct completions *all = calloc(1, sizeof(*all));

    if (!all)
        return NULL;
    all->config = *config;
    all->list = (struct completion_list){.base = config->base,
                                         .queue = config->queue,
                                         .metrics = config->metrics,
                                         .tokenizer = config->prompts.tokenizer};
    if (getrandom(&all->next_id, sizeof(all->next_id), 0) < 0)
        all->next_id = (uint64_t)monotonic_ns();
    all->changed = event_new(config->base, queue_fd(config->queue), EV_READ | EV_PERSIST,
                             completions_on_changed, all);
    if (!all->changed || event_add(all->changed, NULL)) {
        completions_close(all);
        return NULL;
    }
    return all;
}

void completions_close(struct completions *all)
{
    if (!all)
        return;
    while (all->list.first)
        completion_close(all->list.first, true);
    if (all->changed)
        event_free(all->changed);
    free(all);
}

void completions_fail(struct completions *all)
{
    while (all->list.first)
        completion_fail(all->list.first, false);
}

json_t *completions_list(const struct completions *all)
{
    return completion_list_json(&all->list);
}
