/* SPDX-License-Identifier: MIT */
#include "completions.h"

#include "../http/aside.h"
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
    READ_AT_ONCE = 16 << 10, /* bytes of a body that is read in the loop */
    CHANGED_AT_ONCE = 64,
};

struct completions {
    struct completions_config config;
    struct completion_list list;
    struct event *changed;
    struct aside *aside; /* reads the other bodies */
    struct reading *readings;
    bool is_told;   /* on_closed() was called, or is of no use any more */
    bool is_closed; /* who waits gets no answer */
    uint64_t next_id;
};

/* The request as tickets, one for each choice of each prompt. */
struct ticket_batch {
    struct ticket *tickets[COMPLETION_CHOICES_MOST];
    uint32_t count;
    uint32_t prompt_count; /* tokens, of all prompts */
};

/* A request whose body is read: in the loop, or beside it, where nothing else of `all` is used but
 * what never changes. */
struct reading {
    struct aside_piece piece;
    struct completions *all;
    struct reading *next;
    struct http_reply *reply; /* NULL: its client has gone */
    char *body;
    size_t size;
    bool is_chat;
    struct completion_request request;
    struct ticket_batch order;
    char *error; /* why it is refused, with its status; NULL: it is not */
    int status;
};

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

/* Answers a request that is not accepted. `text` is freed. */
static void refuse(struct reading *r, int status, char *text, int retry_s)
{
    metrics_answered(r->all->config.metrics, status);
    reply_finish(r->reply, status, text, text ? strlen(text) : 0, retry_s);
    r->reply = NULL;
    free(text);
}

/* Puts its tickets into the queue. */
static void order_put(struct reading *r)
{
    struct completions *all = r->all;
    const struct answer_head head = {r->is_chat, all->next_id++, time(NULL), all->config.model,
                                     r->order.prompt_count};
    struct completion *c =
        completion_new(&all->list, &r->request, &head, r->order.tickets, r->order.count);
    char reason[QUEUE_REASON_ROOM];
    enum queue_refusal refusal;

    if (!c) {
        refuse(r, 500, answer_error(500, "out of memory", NULL), 0);
        return;
    }
    refusal = queue_put(all->config.queue, r->order.tickets, r->order.count);
    r->order.count = 0; /* they are the completion's */
    if (!refusal) {
        completion_open(c, r->reply);
        r->reply = NULL;
        return;
    }
    completion_close(c, false);
    if (refusal == QUEUE_FULL) {
        refuse(r, 429,
               answer_error(429, "the server is busy: its queue is full; try again later", NULL),
               retry_seconds(all));
    } else {
        queue_reason(all->config.queue, reason);
        refuse(r, 503, answer_error(503, reason, NULL), COMPLETION_RETRY_S);
    }
}

static void error_set(struct reading *r, int status, const char *sentence, const char *param)
{
    r->status = status;
    r->error = answer_error(status, sentence, param);
}

/* Makes the tickets of all prompts, with tokens as room for one of them. */
static void order_make(struct reading *r, int32_t *tokens)
{
    const struct completions_config *config = &r->all->config;
    struct completion_problem problem = {0};
    uint32_t count;

    for (uint32_t i = 0; i < r->request.prompt_count && !r->status; i++) {
        if (prompt_tokens_make(&config->prompts, &r->request, i, tokens, config->context, &count,
                               &problem)) {
            error_set(r, 400, problem.text, problem.param);
        } else if (count >= config->context) {
            r->status = 400;
            r->error = answer_too_long(count, config->context, r->is_chat ? "messages" : "prompt");
        } else if (!tickets_add(&r->order, &r->request, tokens, count, config->context)) {
            error_set(r, 500, "out of memory", NULL);
        }
    }
}

/* Checks a request that was read, and makes its tickets. */
static void request_divide(struct reading *r)
{
    const struct completions_config *config = &r->all->config;
    uint32_t room = queue_most(config->queue) + config->slots;
    uint32_t answers = r->request.prompt_count * r->request.choices;
    int32_t *tokens;
    char sentence[128];

    if (answers > room) {
        snprintf(sentence, sizeof(sentence),
                 "the request asks for %u answers; this server takes %u at most at a time", answers,
                 room);
        error_set(r, 400, sentence, r->request.choices > 1 ? "n" : "prompt");
        return;
    }
    tokens = calloc(config->context, sizeof(*tokens));
    if (tokens)
        order_make(r, tokens);
    else
        error_set(r, 500, "out of memory", NULL);
    free(tokens);
}

/* Frees all that lies in the body's JSON, which may take long too. */
static void body_forget(struct reading *r)
{
    struct completion_request kept = r->request;

    completion_request_free(&r->request);
    r->request = kept;
    r->request.messages = NULL;
    r->request.prompts = NULL;
    r->request.root = NULL;
    r->request.message_count = r->request.prompt_count = r->request.stop_count = 0;
}

/* What may take long. */
static void reading_work(struct aside_piece *p)
{
    struct reading *r = (struct reading *)p;
    struct completion_problem problem = {0};

    if (completion_request_read(&r->request, r->is_chat, r->body, r->size, &problem)) {
        error_set(r, 400, problem.text, problem.param);
        return;
    }
    request_divide(r);
    body_forget(r);
}

static void reading_unlist(struct reading *r)
{
    struct reading **at = &r->all->readings;

    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
}

static void reading_free(struct reading *r)
{
    tickets_free(&r->order);
    free(r->error);
    free(r->body);
    free(r);
}

static void closed_check(struct completions *all)
{
    if (!all->is_told && !all->readings && queue_is_closed(all->config.queue)) {
        all->is_told = true;
        event_del(all->changed);
        all->config.on_closed(all->config.arg);
    }
}

static void reading_done(struct aside_piece *p)
{
    struct reading *r = (struct reading *)p;
    struct completions *all = r->all;

    reading_unlist(r);
    if (r->reply && all->is_closed) {
        reply_drop(r->reply);
    } else if (r->reply && r->status) {
        refuse(r, r->status, r->error, 0);
        r->error = NULL;
    } else if (r->reply) {
        order_put(r);
    }
    reading_free(r);
    closed_check(all);
}

static void reading_on_gone(void *arg)
{
    struct reading *r = arg;

    r->reply = NULL;
    r->all->config.metrics->left++;
}

/* NULL: no memory. The body is the reading's, and the request waits for its reply. */
static struct reading *reading_new(struct completions *all, struct evhttp_request *request,
                                   bool is_chat)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    struct reading *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->piece = (struct aside_piece){.work = reading_work, .done = reading_done};
    r->all = all;
    r->is_chat = is_chat;
    r->size = evbuffer_get_length(body);
    r->body = malloc(r->size + 1);
    if (r->body)
        r->reply = reply_open(all->config.base, request, reading_on_gone, r);
    if (!r->reply) {
        reading_free(r);
        return NULL;
    }
    evbuffer_remove(body, r->body, r->size);
    r->next = all->readings;
    all->readings = r;
    return r;
}

static void refuse_at_once(struct completions *all, struct evhttp_request *request, int status,
                           const char *sentence)
{
    char *text = answer_error(status, sentence, NULL);

    metrics_answered(all->config.metrics, status);
    reply_send(request, status, "application/json", text, text ? strlen(text) : 0, 0);
    free(text);
}

void completions_request(struct completions *all, struct evhttp_request *request, bool is_chat)
{
    struct reading *r;

    if (!is_json(request)) {
        refuse_at_once(all, request, 415,
                       "the body must be JSON: send Content-Type: application/json");
        return;
    }
    r = reading_new(all, request, is_chat);
    if (!r) {
        refuse_at_once(all, request, 500, "out of memory");
    } else if (r->size > READ_AT_ONCE) {
        aside_put(all->aside, &r->piece);
    } else {
        reading_work(&r->piece);
        reading_done(&r->piece);
    }
}

static void completions_on_changed(evutil_socket_t fd, short what, void *arg)
{
    struct completions *all = arg;
    struct ticket *t = NULL;

    (void)fd;
    (void)what;
    for (int i = 0; i < CHANGED_AT_ONCE && (t = queue_changed(all->config.queue)); i++)
        completion_news(t);
    if (!t)
        closed_check(all);
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
    all->aside = aside_open(config->base);
    if (!all->aside || !all->changed || event_add(all->changed, NULL)) {
        completions_close(all);
        return NULL;
    }
    return all;
}

void completions_close(struct completions *all)
{
    if (!all)
        return;
    all->is_told = all->is_closed = true;
    aside_close(all->aside);
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
