/* SPDX-License-Identifier: MIT */
/*
 * queue.h: what clients ask for on its way from the loop, which talks with them, to the engine,
 * which computes, and the text on its way back.
 *
 *     loop                                                             engine
 *     ticket_create, queue_put ──▶ waiting, bounded ──▶ queue_take ──▶ one slot
 *     queue_changed, queue_news ◀── text, the end ◀──── queue_add, queue_end
 *     queue_leave: the client needs it no more ──────▶ ticket_is_left
 *
 * Each side is one thread. Both hold a ticket; it is freed when the loop has left it and the engine
 * has ended it.
 */
#ifndef LLM_SERVE_QUEUE_H
#define LLM_SERVE_QUEUE_H

#include "../steps/sampler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUEUE_REASON_ROOM = 512, TOKEN_BEST_MOST = 20 };

/* How likely a token of the answer was, by the logarithms of probabilities, and the likeliest ones
 * in its place. */
struct token_report {
    int32_t token;
    float logprob;
    uint32_t count; /* length of best */
    struct {
        int32_t token;
        float logprob;
    } best[TOKEN_BEST_MOST];
};

/* What to do. The ticket owns it; nobody changes it after queue_put(). */
struct order {
    int32_t *prompt;
    uint32_t prompt_count; /* at least 1 */
    uint32_t tokens_most;  /* at least 1; together with the prompt at most a slot's context */
    char **stops;          /* texts that end the answer; each of at least one byte */
    uint32_t stop_count;
    struct sampler_settings sampling;
    uint64_t seed;
    bool is_json;          /* the answer is one JSON object, unless a limit cuts it */
    bool has_reports;      /* each token is reported, */
    uint32_t reports_best; /* and this many likeliest ones with it */
};

struct ticket {
    struct order order;
    void *owner; /* the loop's, to find what it belongs to */
    struct ticket_state *state;
};

enum ticket_end {
    TICKET_RUNS,   /* it waits, or is being answered */
    TICKET_STOP,   /* the model ended its answer, or a stop text came */
    TICKET_LENGTH, /* tokens_most were generated */
    TICKET_FAILED, /* nothing more will come: queue_reason() says why */
    TICKET_LOST    /* nothing more will come: queue_loss() says which rank was lost */
};

/* What the loop has not been told yet, and the state of the ticket. */
struct ticket_news {
    char *text; /* the caller frees it; NULL: none */
    size_t length;
    struct token_report *reports; /* the caller frees them, too */
    uint32_t report_count;
    enum ticket_end end;
    uint32_t tokens;                             /* generated, up to now */
    uint32_t reused;                             /* tokens of the prompt that needed no computing */
    int64_t put_ns, taken_ns, first_ns, last_ns; /* monotonic_ns(); 0: not yet; last: of tokens */
};

enum queue_refusal { QUEUE_ACCEPTED, QUEUE_FULL, QUEUE_CLOSED };

struct queue;

/* most: this many may wait besides those in the engine's slots. NULL: no memory or descriptors. */
struct queue *queue_open(uint32_t most, uint32_t slots);
void queue_free(struct queue *q); /* after the engine's end; takes NULL */

/* The loop's. ticket_free is for one that queue_put has not accepted. queue_put accepts all of the
 * tickets or none. */
struct ticket *ticket_create(void);
void ticket_free(struct ticket *t);
enum queue_refusal queue_put(struct queue *q, struct ticket *const *tickets, uint32_t count);
int queue_fd(const struct queue *q); /* readable: there are changed ones, or the engine ended */
struct ticket *
queue_changed(struct queue *q); /* a ticket with news, which is left by nobody; NULL */
void queue_news(struct queue *q, struct ticket *t, struct ticket_news *out);
void queue_leave(struct queue *q, struct ticket *t); /* t is not the caller's any more */
/* Nothing is accepted from now on, and the engine ends; what runs may go on for grace_ms. */
void queue_stop(struct queue *q, int grace_ms);

/* Either's. */
uint32_t queue_size(struct queue *q); /* how many wait for a slot */
uint32_t queue_most(const struct queue *q);
uint32_t queue_running(struct queue *q);
bool queue_is_closed(struct queue *q); /* the engine has ended */
/* Why nothing is accepted; empty if it is. */
void queue_reason(struct queue *q, char reason[QUEUE_REASON_ROOM]);

/* Which rank was lost last, a sentence. */
void queue_loss(struct queue *q, char loss[QUEUE_REASON_ROOM]);

/* The engine's. queue_take waits up to wait_ms for a ticket; NULL: none came. */
struct ticket *queue_take(struct queue *q, int wait_ms);
bool ticket_is_left(struct queue *q, const struct ticket *t);
void queue_begin(struct queue *q, struct ticket *t, uint32_t reused);
void queue_count(struct queue *q, struct ticket *t); /* one more token, whose text may follow */
/* How likely that token was. False: no memory. */
bool queue_report(struct queue *q, struct ticket *t, const struct token_report *report);
/* More text. False: no memory. */
bool queue_add(struct queue *q, struct ticket *t, const char *text, size_t length);
void queue_end(struct queue *q, struct ticket *t, enum ticket_end end);
bool queue_is_stopping(struct queue *q); /* the grace of queue_stop is over, or nothing runs */
/* Nothing is accepted from now on, and queue_reason() says this; before the first ticket fails. */
void queue_refuse(struct queue *q, const char *reason);
/* queue_loss() says this; before the first ticket that is lost ends. */
void queue_lose(struct queue *q, const char *loss);
void queue_close(struct queue *q); /* the engine has ended: all that wait have failed */

#endif
