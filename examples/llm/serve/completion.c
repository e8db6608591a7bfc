/* SPDX-License-Identifier: MIT */
#include "completion.h"

#include "../http/reply.h"
#include "../steps/monotonic.h"
#include "answer_logprobs.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choice {
    struct completion *of;
    struct ticket *ticket;    /* NULL once it has ended */
    uint32_t prompt_count;    /* tokens */
    bool is_begun;            /* in a stream */
    struct evbuffer *text;    /* an answer that is sent whole */
    json_t *logprobs;         /* those that are not sent yet, or NULL */
    uint64_t offset;          /* the characters of the tokens that have them */
    int64_t last_ns;          /* the time of the last token that the metrics have */
    struct ticket_news heard; /* the last ones, without text and reports */
};

struct completion {
    struct completion_list *list;
    struct completion *next;
    struct http_reply *reply; /* NULL before it is open */
    struct answer_head head;
    bool is_stream, wants_usage, wants_logprobs, is_begun;
    int64_t put_ns;
    uint32_t of_prompt; /* choices that a prompt has */
    uint32_t count, running;
    struct choice choices[];
};

struct completion *completion_new(struct completion_list *list, const struct completion_request *r,
                                  const struct answer_head *head, struct ticket *const *tickets,
                                  uint32_t count)
{
    struct completion *c = calloc(1, sizeof(*c) + count * sizeof(c->choices[0]));
    bool has_memory = c;

    for (uint32_t i = 0; i < count && has_memory; i++) {
        c->choices[i].text = evbuffer_new();
        has_memory = c->choices[i].text;
        c->count = i + 1;
    }
    if (!has_memory) {
        if (c)
            completion_close(c, false);
        return NULL;
    }
    c->list = list;
    c->head = *head;
    c->is_stream = r->stream;
    c->wants_usage = r->include_usage;
    c->wants_logprobs = r->has_logprobs;
    c->of_prompt = r->choices;
    c->put_ns = monotonic_ns();
    c->running = count;
    for (uint32_t i = 0; i < count; i++) {
        c->choices[i].of = c;
        c->choices[i].ticket = tickets[i];
        c->choices[i].prompt_count = tickets[i]->order.prompt_count;
        tickets[i]->owner = &c->choices[i];
    }
    return c;
}

static void completion_unlist(struct completion *c)
{
    struct completion **at = &c->list->first;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
}

void completion_close(struct completion *c, bool is_put)
{
    for (uint32_t i = 0; i < c->count; i++) {
        struct choice *k = &c->choices[i];

        if (k->ticket && is_put)
            queue_leave(c->list->queue, k->ticket);
        else
            ticket_free(k->ticket);
        if (k->text)
            evbuffer_free(k->text);
        json_decref(k->logprobs);
    }
    if (c->reply)
        reply_drop(c->reply);
    if (c->list)
        completion_unlist(c);
    free(c);
}

/* The reply has ended. */
static void completion_end(struct completion *c)
{
    c->reply = NULL;
    completion_close(c, true);
}

static void completion_on_gone(void *arg)
{
    struct completion *c = arg;

    c->list->metrics->left++;
    completion_end(c);
}

void completion_open(struct completion *c, struct http_reply *reply)
{
    c->reply = reply;
    reply_pass(reply, completion_on_gone, c);
    c->next = c->list->first;
    c->list->first = c;
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

/* False: the completion is gone. */
static bool stream_begin(struct choice *k)
{
    struct completion *c = k->of;

    if (!c->is_begun) {
        c->is_begun = true;
        metrics_answered(c->list->metrics, 200);
        reply_stream(c->reply);
    }
    if (k->is_begun)
        return true;
    k->is_begun = true;
    return !c->head.is_chat || event_send(c, answer_first(&c->head, (uint32_t)(k - c->choices)));
}

/* An answer's status, and its text, which is freed. */
static void completion_answer(struct completion *c, int status, char *text, int retry_s)
{
    metrics_answered(c->list->metrics, status);
    reply_finish(c->reply, status, text, text ? strlen(text) : 0, retry_s);
    free(text);
    completion_end(c);
}

void completion_fail(struct completion *c, bool is_lost)
{
    char reason[QUEUE_REASON_ROOM] = "";
    int status = 503, retry_s = COMPLETION_RETRY_S;
    char *text;

    if (is_lost)
        queue_loss(c->list->queue, reason);
    else
        queue_reason(c->list->queue, reason);
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
static json_t *logprobs_take(struct choice *k)
{
    json_t *all = k->logprobs;

    k->logprobs = NULL;
    return all;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* The numbers and times of all choices together. */
static struct ticket_news news_sum(const struct completion *c)
{
    struct ticket_news sum = {0};

    for (uint32_t i = 0; i < c->count; i++) {
        const struct ticket_news *n = &c->choices[i].heard;

        sum.tokens += n->tokens;
        sum.reused += i % c->of_prompt ? 0 : n->reused;
        sum.put_ns = earlier(sum.put_ns, n->put_ns);
        sum.taken_ns = earlier(sum.taken_ns, n->taken_ns);
        sum.first_ns = earlier(sum.first_ns, n->first_ns);
        sum.last_ns = n->last_ns > sum.last_ns ? n->last_ns : sum.last_ns;
    }
    return sum;
}

/* The choice has ended. True: so have all others. */
static bool choice_end(struct choice *k)
{
    queue_leave(k->of->list->queue, k->ticket);
    k->ticket = NULL;
    return --k->of->running == 0;
}

static void stream_end(struct completion *c)
{
    struct ticket_news sum = news_sum(c);

    if ((c->wants_usage && !event_send(c, answer_usage(&c->head, &sum))) ||
        !event_send(c, strdup("[DONE]")))
        return;
    reply_stream_end(c->reply);
    completion_end(c);
}

static void stream_news(struct choice *k, const struct ticket_news *news)
{
    struct completion *c = k->of;
    uint32_t index = (uint32_t)(k - c->choices);

    if (news->length &&
        (!stream_begin(k) ||
         !event_send(c, answer_chunk(&c->head, index, news->text, news->length, logprobs_take(k)))))
        return;
    if (news->end == TICKET_RUNS)
        return;
    if (stream_begin(k) && event_send(c, answer_last(&c->head, index, logprobs_take(k), news)) &&
        choice_end(k))
        stream_end(c);
}

static void whole_end(struct completion *c)
{
    struct answer_choice *choices = calloc(c->count, sizeof(*choices));
    struct ticket_news sum = news_sum(c);
    char *text = NULL;

    for (uint32_t i = 0; choices && i < c->count; i++) {
        struct choice *k = &c->choices[i];
        size_t length = evbuffer_get_length(k->text);

        choices[i] = (struct answer_choice){(char *)evbuffer_pullup(k->text, -1), length,
                                            logprobs_take(k), k->heard.end};
    }
    if (choices)
        text = answer_whole(&c->head, choices, c->count, &sum);
    free(choices);
    completion_answer(c, text ? 200 : 500, text ? text : answer_error(500, "out of memory", NULL),
                      0);
}

static void whole_news(struct choice *k, const struct ticket_news *news)
{
    if (news->length && evbuffer_add(k->text, news->text, news->length))
        completion_answer(k->of, 500, answer_error(500, "out of memory", NULL), 0);
    else if (news->end != TICKET_RUNS && choice_end(k))
        whole_end(k->of);
}

static void news_report(struct choice *k, const struct ticket_news *news)
{
    struct completion *c = k->of;

    if (!c->wants_logprobs)
        return;
    if (!k->logprobs && (news->report_count || !c->is_stream))
        k->logprobs = answer_logprobs_new(c->head.is_chat);
    answer_logprobs_add(k->logprobs, c->head.is_chat, c->list->tokenizer, news->reports,
                        news->report_count, &k->offset);
}

static void news_count(struct choice *k, const struct ticket_news *news)
{
    struct metrics *m = k->of->list->metrics;
    uint32_t more = news->tokens - k->heard.tokens;
    double all_s = (double)(monotonic_ns() - news->put_ns) / 1e9;

    m->answer_tokens += more;
    if (!k->heard.tokens && news->tokens) {
        m->prompt_tokens += k->prompt_count;
        m->reused_tokens += news->reused;
        histogram_add(&m->first_token_s, (double)(news->first_ns - news->put_ns) / 1e9, 1);
        k->last_ns = news->first_ns;
        more--;
    }
    if (more)
        histogram_add(&m->token_s, (double)(news->last_ns - k->last_ns) / 1e9 / more, more);
    k->last_ns = news->last_ns;
    k->heard = *news;
    k->heard.text = NULL;
    k->heard.reports = NULL;
    if (news->end == TICKET_STOP || news->end == TICKET_LENGTH)
        m->request_s = m->request_s > 0 ? 0.8 * m->request_s + 0.2 * all_s : all_s;
}

void completion_news(struct ticket *ticket)
{
    struct choice *k = ticket->owner;
    struct ticket_news news;

    queue_news(k->of->list->queue, ticket, &news);
    news_count(k, &news);
    news_report(k, &news);
    if (news.end == TICKET_FAILED || news.end == TICKET_LOST)
        completion_fail(k->of, news.end == TICKET_LOST);
    else if (k->of->is_stream)
        stream_news(k, &news);
    else
        whole_news(k, &news);
    free(news.text);
    free(news.reports);
}

json_t *completion_list_json(const struct completion_list *list)
{
    json_t *all = json_array();

    for (const struct completion *c = list->first; c; c = c->next) {
        struct ticket_news sum = news_sum(c);

        json_array_append_new(all,
                              json_pack("{s:f, s:I, s:I, s:b}", "age_s",
                                        (double)(monotonic_ns() - c->put_ns) / 1e9, "prompt_tokens",
                                        (json_int_t)c->head.prompt_count, "answer_tokens",
                                        (json_int_t)sum.tokens, "stream", c->is_stream));
    }
    return all;
}
