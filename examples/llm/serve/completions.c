/* SPDX-License-Identifier: MIT */
#include "completions.h"

#include "../http/reply.h"
#include "../steps/monotonic.h"
#include "answer_logprobs.h"
#include "completion_answer.h"
#include "completion_request.h"
#include "prompt_tokens.h"

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
    RETRY_CLOSED_S = 3, /* a job that is started again answers by then */
    CHANGED_AT_ONCE = 64,
};

/* A request that the queue has accepted. */
struct completion {
    struct completions *all;
    struct completion *next;
    struct ticket *ticket;
    struct http_reply *reply;
    struct answer_head head;
    bool is_stream, wants_usage, is_begun;
    struct evbuffer *text; /* an answer that is sent whole */
    bool wants_logprobs;
    json_t *logprobs; /* those that are not sent yet, or NULL */
    uint64_t offset;  /* the characters of the tokens that have them */
    uint32_t tokens;
    int64_t put_ns, last_ns;
};

struct completions {
    struct completions_config config;
    struct event *changed;
    struct completion *first;
    uint64_t next_id;
};

static void completion_free(struct completion *c)
{
    struct completion **at = &c->all->first;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    if (c->text)
        evbuffer_free(c->text);
    json_decref(c->logprobs);
    free(c);
}

/* Takes the first one off the list; NULL: it is empty. */
static struct completion *completion_take(struct completions *all)
{
    struct completion *c = all->first;

    if (c)
        all->first = c->next;
    return c;
}

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

static void completion_on_gone(void *arg)
{
    struct completion *c = arg;

    c->all->config.metrics->left++;
    queue_leave(c->all->config.queue, c->ticket);
    completion_free(c);
}

/* Moves the texts and numbers of a request into a new ticket; NULL: no memory. */
static struct ticket *ticket_make(const struct completion_request *r, int32_t *tokens,
                                  uint32_t count, uint32_t most)
{
    struct ticket *t = ticket_create();

    if (!t) {
        free(tokens);
        return NULL;
    }
    t->order.prompt = tokens;
    t->order.prompt_count = count;
    t->order.tokens_most = most;
    t->order.sampling = r->sampling;
    t->order.seed = r->seed;
    t->order.has_reports = r->has_logprobs;
    t->order.reports_best = r->logprobs_best;
    if (!r->has_seed && getrandom(&t->order.seed, sizeof(t->order.seed), 0) < 0)
        t->order.seed = (uint64_t)monotonic_ns();
    t->order.stops = calloc(COMPLETION_STOPS_MOST, sizeof(char *));
    for (uint32_t i = 0; t->order.stops && i < r->stop_count; i++) {
        t->order.stops[i] = strdup(r->stops[i]);
        if (t->order.stops[i])
            t->order.stop_count = i + 1;
        else
            break;
    }
    if (t->order.stop_count == r->stop_count)
        return t;
    ticket_free(t);
    return NULL;
}

static void completion_start(struct completions *all, struct evhttp_request *request,
                             const struct completion_request *r, struct ticket *ticket)
{
    struct completion *c = calloc(1, sizeof(*c));
    enum queue_refusal refusal;
    char reason[QUEUE_REASON_ROOM];

    if (!c)
        goto no_memory;
    c->all = all;
    c->text = evbuffer_new();
    if (!c->text)
        goto no_memory;
    c->ticket = ticket;
    c->is_stream = r->stream;
    c->wants_usage = r->include_usage;
    c->wants_logprobs = r->has_logprobs;
    c->head = (struct answer_head){r->is_chat, all->next_id++, time(NULL), all->config.model,
                                   ticket->order.prompt_count};
    c->put_ns = monotonic_ns();
    ticket->owner = c;
    refusal = queue_put(all->config.queue, ticket);
    if (refusal) {
        queue_reason(all->config.queue, reason);
        ticket_free(ticket);
        completion_free(c);
        if (refusal == QUEUE_FULL)
            refuse(all, request, 429, "the server is busy: its queue is full; try again later",
                   NULL, retry_seconds(all));
        else
            refuse(all, request, 503, reason, NULL, RETRY_CLOSED_S);
        return;
    }
    c->reply = reply_open(all->config.base, request, completion_on_gone, c);
    if (!c->reply) {
        queue_leave(all->config.queue, ticket);
        completion_free(c);
        refuse(all, request, 500, "out of memory", NULL, 0);
        return;
    }
    c->next = all->first;
    all->first = c;
    return;
no_memory:
    ticket_free(ticket);
    if (c)
        completion_free(c);
    refuse(all, request, 500, "out of memory", NULL, 0);
}

/* Checks the length of a request that was read, and starts it. */
static void completion_accept(struct completions *all, struct evhttp_request *request,
                              const struct completion_request *r)
{
    struct completion_problem problem = {0};
    uint32_t count, context = all->config.context, most = r->tokens_most;
    int32_t *tokens = calloc(context, sizeof(*tokens));
    struct ticket *ticket;

    if (!tokens) {
        refuse(all, request, 500, "out of memory", NULL, 0);
        return;
    }
    if (prompt_tokens_make(all->config.gguf, all->config.tokenizer, r, tokens, context, &count,
                           &problem)) {
        free(tokens);
        refuse(all, request, 400, problem.text, problem.param, 0);
        return;
    }
    if (count >= context) {
        free(tokens);
        refuse_with(all, request, 400,
                    answer_too_long(count, context, r->is_chat ? "messages" : "prompt"), 0);
        return;
    }
    if (!most)
        most = r->is_chat ? context : TOKENS_OF_TEXT;
    if (most > context - count)
        most = context - count;
    ticket = ticket_make(r, tokens, count, most);
    if (ticket)
        completion_start(all, request, r, ticket);
    else
        refuse(all, request, 500, "out of memory", NULL, 0);
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

/* Sends one event of a stream; text is freed. False: the completion is gone. */
static bool event_send(struct completion *c, char *text)
{
    bool is_sent = true;
    char *event = NULL;
    int length = text ? asprintf(&event, "data: %s\n\n", text) : -1;

    if (length >= 0) {
        is_sent = reply_event(c->reply, event, (size_t)length);
        free(event);
    }
    free(text);
    if (!is_sent)
        completion_on_gone(c);
    return is_sent;
}

static bool stream_begin(struct completion *c)
{
    if (c->is_begun)
        return true;
    c->is_begun = true;
    metrics_answered(c->all->config.metrics, 200);
    reply_stream(c->reply);
    return !c->head.is_chat || event_send(c, answer_first(&c->head));
}

static void completion_end(struct completion *c)
{
    queue_leave(c->all->config.queue, c->ticket);
    completion_free(c);
}

/* An answer's status, and its text, which is freed. */
static void completion_answer(struct completion *c, int status, char *text, int retry_s)
{
    metrics_answered(c->all->config.metrics, status);
    reply_finish(c->reply, status, text, text ? strlen(text) : 0, retry_s);
    free(text);
    completion_end(c);
}

static void completion_fail(struct completion *c)
{
    char reason[QUEUE_REASON_ROOM] = "";
    int status = 503, retry_s = RETRY_CLOSED_S;
    char *text;

    queue_reason(c->all->config.queue, reason);
    if (!reason[0]) {
        strcpy(reason, "out of memory");
        status = 500;
        retry_s = 0;
    }
    text = answer_error(status, reason, NULL);
    if (!c->is_begun) {
        completion_answer(c, status, text, retry_s);
    } else if (event_send(c, text)) {
        reply_stream_end(c->reply);
        completion_end(c);
    }
}

/* The caller's; NULL: there are none. */
static json_t *logprobs_take(struct completion *c)
{
    json_t *all = c->logprobs;

    c->logprobs = NULL;
    return all;
}

static void stream_news(struct completion *c, const struct ticket_news *news)
{
    if (news->length &&
        (!stream_begin(c) ||
         !event_send(c, answer_chunk(&c->head, news->text, news->length, logprobs_take(c)))))
        return;
    if (news->end == TICKET_RUNS)
        return;
    if (!stream_begin(c) || !event_send(c, answer_last(&c->head, logprobs_take(c), news)) ||
        (c->wants_usage && !event_send(c, answer_usage(&c->head, news))) ||
        !event_send(c, strdup("[DONE]")))
        return;
    reply_stream_end(c->reply);
    completion_end(c);
}

static void whole_news(struct completion *c, const struct ticket_news *news)
{
    size_t length;

    if (news->length && evbuffer_add(c->text, news->text, news->length)) {
        completion_answer(c, 500, answer_error(500, "out of memory", NULL), 0);
        return;
    }
    if (news->end == TICKET_RUNS)
        return;
    length = evbuffer_get_length(c->text);
    completion_answer(c, 200,
                      answer_whole(&c->head, (char *)evbuffer_pullup(c->text, -1), length,
                                   logprobs_take(c), news),
                      0);
}

static void news_report(struct completion *c, const struct ticket_news *news)
{
    if (!c->wants_logprobs)
        return;
    if (!c->logprobs && (news->report_count || !c->is_stream))
        c->logprobs = answer_logprobs_new(c->head.is_chat);
    answer_logprobs_add(c->logprobs, c->head.is_chat, c->all->config.tokenizer, news->reports,
                        news->report_count, &c->offset);
}

static void news_count(struct completion *c, const struct ticket_news *news)
{
    struct metrics *m = c->all->config.metrics;
    uint32_t more = news->tokens - c->tokens;
    double all_s = (double)(monotonic_ns() - news->put_ns) / 1e9;

    m->answer_tokens += more;
    if (!c->tokens && news->tokens) {
        m->prompt_tokens += c->head.prompt_count;
        m->reused_tokens += news->reused;
        histogram_add(&m->first_token_s, (double)(news->first_ns - news->put_ns) / 1e9, 1);
        c->last_ns = news->first_ns;
        more--;
    }
    if (more)
        histogram_add(&m->token_s, (double)(news->last_ns - c->last_ns) / 1e9 / more, more);
    c->last_ns = news->last_ns;
    c->tokens = news->tokens;
    if (news->end == TICKET_STOP || news->end == TICKET_LENGTH)
        m->request_s = m->request_s > 0 ? 0.8 * m->request_s + 0.2 * all_s : all_s;
}

static void completions_on_changed(evutil_socket_t fd, short what, void *arg)
{
    struct completions *all = arg;
    struct ticket_news news;
    struct ticket *t = NULL;

    (void)fd;
    (void)what;
    for (int i = 0; i < CHANGED_AT_ONCE && (t = queue_changed(all->config.queue)); i++) {
        struct completion *c = t->owner;

        queue_news(all->config.queue, t, &news);
        news_count(c, &news);
        news_report(c, &news);
        if (news.end == TICKET_FAILED)
            completion_fail(c);
        else if (c->is_stream)
            stream_news(c, &news);
        else
            whole_news(c, &news);
        free(news.text);
        free(news.reports);
    }
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
    struct completion *c;

    if (!all)
        return;
    while ((c = completion_take(all))) {
        reply_drop(c->reply);
        completion_end(c);
    }
    if (all->changed)
        event_free(all->changed);
    free(all);
}

void completions_fail(struct completions *all)
{
    struct completion *c;

    while ((c = completion_take(all)))
        completion_fail(c);
}

json_t *completions_list(const struct completions *all)
{
    json_t *list = json_array();

    for (const struct completion *c = all->first; c; c = c->next)
        json_array_append_new(list,
                              json_pack("{s:f, s:I, s:I, s:b}", "age_s",
                                        (double)(monotonic_ns() - c->put_ns) / 1e9, "prompt_tokens",
                                        (json_int_t)c->head.prompt_count, "answer_tokens",
                                        (json_int_t)c->tokens, "stream", c->is_stream));
    return list;
}
