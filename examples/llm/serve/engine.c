/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include "../steps/link_speed.h"
#include "../steps/partial_json.h"
#include "../text/text_out.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_TOKEN = -1 };

/* A part of the model's memory, and the ticket that uses it. */
struct engine_slot {
    struct ticket *ticket; /* NULL: free */
    int32_t *held;         /* the tokens whose positions were computed */
    uint32_t held_count;
    uint32_t planned;  /* rows in the step that is being made */
    uint32_t answered; /* tokens */
    int32_t next;      /* the token to be computed, once the prompt is */
    uint64_t used;     /* the time of its last ticket, in tickets */
    struct sampler_random random;
    uint32_t *counts;         /* how often the answer has each token; NULL: no penalty asks */
    struct partial_json json; /* the answer, if it is to be JSON */
    struct text_out *out;
};

struct engine {
    struct engine_config config;
    pthread_t thread;
    atomic_bool is_ready;
    int error;
    char reason[QUEUE_REASON_ROOM]; /* the error in words */
    uint32_t slot_count;
    struct engine_slot *slots;
    uint64_t tickets;
    struct llm_row rows[LLM_MOST_ROWS];
    struct candidates found[LLM_MOST_ROWS];
};

static void slot_free(struct engine *e, struct engine_slot *s, enum ticket_end end)
{
    queue_end(e->config.queue, s->ticket, end);
    s->ticket = NULL;
    text_out_free(s->out);
    s->out = NULL;
    free(s->counts);
    s->counts = NULL;
}

/* How many tokens of the prompt the slot has already; never all, because the last one's row says
 * what follows. */
static uint32_t slot_common(const struct engine_slot *s, const struct order *o)
{
    uint32_t n = 0;

    while (n < s->held_count && n + 1 < o->prompt_count && s->held[n] == o->prompt[n])
        n++;
    return n;
}

/* How much of the prompt the slot is worth keeping for: what it has in common, if that is half of
 * one of the two. Less is only how the template begins, and a free slot may have another
 * conversation that continues. */
static uint32_t slot_worth(const struct engine_slot *s, const struct order *o)
{
    uint32_t common = slot_common(s, o);
    uint32_t least = s->held_count < o->prompt_count ? s->held_count : o->prompt_count;

    return 2 * common >= least ? common : 0;
}

/* The free slot with most of this prompt; of equals the one that has been free for longest. */
static struct engine_slot *slot_choose(struct engine *e, const struct order *o)
{
    struct engine_slot *best = NULL;
    uint32_t most = 0;

    for (uint32_t i = 0; i < e->slot_count; i++) {
        struct engine_slot *s = &e->slots[i];
        uint32_t worth = s->ticket ? 0 : slot_worth(s, o);

        if (s->ticket || (best && (worth < most || (worth == most && s->used >= best->used))))
            continue;
        best = s;
        most = worth;
    }
    return best;
}

static void slot_begin(struct engine *e, struct ticket *t)
{
    struct engine_slot *s = slot_choose(e, &t->order);

    s->ticket = t;
    s->used = ++e->tickets;
    s->held_count = slot_common(s, &t->order);
    s->answered = 0;
    partial_json_begin(&s->json);
    sampler_seed(&s->random, t->order.seed);
    s->out = text_out_new((const char *const *)t->order.stops, t->order.stop_count);
    if (sampler_has_penalties(&t->order.sampling))
        s->counts = calloc(lead_vocabulary(e->config.lead), sizeof(*s->counts));
    queue_begin(e->config.queue, t, s->held_count);
    if (!s->out || (sampler_has_penalties(&t->order.sampling) && !s->counts))
        slot_free(e, s, TICKET_FAILED);
}

static uint32_t slots_running(const struct engine *e)
{
    uint32_t running = 0;

    for (uint32_t i = 0; i < e->slot_count; i++)
        running += e->slots[i].ticket != NULL;
    return running;
}

/* Fills free slots; waits for a ticket if none is running. Returns how many are. */
static uint32_t slots_fill(struct engine *e, int wait_ms)
{
    uint32_t running;

    for (uint32_t i = 0; i < e->slot_count; i++) {
        if (e->slots[i].ticket && ticket_is_left(e->config.queue, e->slots[i].ticket))
            slot_free(e, &e->slots[i], TICKET_FAILED);
    }
    while ((running = slots_running(e)) < e->slot_count) {
        struct ticket *t = queue_take(e->config.queue, running ? 0 : wait_ms);

        if (!t)
            break;
        slot_begin(e, t);
    }
    return running;
}

static void row_add(struct engine *e, uint32_t *n, struct engine_slot *s, int32_t token, bool want)
{
    e->rows[(*n)++] = (struct llm_row){
        .token = token,
        .slot = (uint16_t)(s - e->slots),
        .want = want,
        .position = (int32_t)(s->held_count + s->planned),
    };
    s->held[s->held_count + s->planned++] = token;
}

/* Those that answer first, one row each; then prompts, beginning with the one that came first. */
static uint32_t rows_plan(struct engine *e)
{
    struct engine_slot *s, *oldest;
    const struct order *o;
    uint32_t n = 0;

    for (s = e->slots; s < e->slots + e->slot_count; s++) {
        s->planned = 0;
        if (s->ticket && s->held_count >= s->ticket->order.prompt_count)
            row_add(e, &n, s, s->next, true);
    }
    while (n < LLM_MOST_ROWS) {
        oldest = NULL;
        for (s = e->slots; s < e->slots + e->slot_count; s++) {
            if (s->ticket && s->held_count + s->planned < s->ticket->order.prompt_count &&
                (!oldest || s->used < oldest->used))
                oldest = s;
        }
        if (!oldest)
            break;
        o = &oldest->ticket->order;
        while (n < LLM_MOST_ROWS && oldest->held_count + oldest->planned < o->prompt_count) {
            uint32_t at = oldest->held_count + oldest->planned;

            row_add(e, &n, oldest, o->prompt[at], at + 1 == o->prompt_count);
        }
    }
    return n;
}

/* Sends what is certain of the text; false: no memory. */
static bool text_send(struct engine *e, struct engine_slot *s, const char *text, size_t length)
{
    return !text_out_has_failed(s->out) && queue_add(e->config.queue, s->ticket, text, length);
}

/* No more tokens follow; what was held back is certain now. */
static void slot_end(struct engine *e, struct engine_slot *s, enum ticket_end end)
{
    const char *text;
    size_t length;

    text_out_end(s->out, &text, &length);
    slot_free(e, s, text_send(e, s, text, length) ? end : TICKET_FAILED);
}

/* What the model itself expected, without penalties. */
static void report_make(struct token_report *r, const struct candidates *c, int32_t token,
                        uint32_t best)
{
    double total = log(c->total);

    *r = (struct token_report){.token = token, .logprob = -INFINITY};
    for (uint32_t i = 0; i < c->count; i++) {
        float logprob = (float)((double)c->best[i].logit - c->maximum - total);

        if (c->best[i].token == token)
            r->logprob = logprob;
        if (i < best) {
            r->best[i].token = c->best[i].token;
            r->best[i].logprob = logprob;
            r->count = i + 1;
        }
    }
}

/* The model has said a token, or NO_TOKEN: it cannot continue. `report`: how likely the token was,
 * or NULL. */
static void slot_take(struct engine *e, struct engine_slot *s, int32_t token,
                      const struct token_report *report)
{
    const char *text;
    size_t length;
    bool is_stopped, is_whole;

    if (token == NO_TOKEN || tokenizer_is_end(e->config.tokenizer, token)) {
        slot_end(e, s, token == NO_TOKEN ? TICKET_LENGTH : TICKET_STOP);
        return;
    }
    s->answered++;
    s->next = token;
    if (s->counts)
        s->counts[token]++;
    queue_count(e->config.queue, s->ticket);
    tokenizer_piece(e->config.tokenizer, token, &text, &length);
    is_whole = s->ticket->order.is_json && partial_json_add(&s->json, text, length) &&
               partial_json_is_whole(&s->json);
    is_stopped = text_out_add(s->out, text, length, &text, &length);
    if ((report && !queue_report(e->config.queue, s->ticket, report)) ||
        !text_send(e, s, text, length))
        slot_free(e, s, TICKET_FAILED);
    else if (is_stopped)
        slot_free(e, s, TICKET_STOP);
    else if (is_whole)
        slot_end(e, s, TICKET_STOP);
    else if (s->answered == s->ticket->order.tokens_most)
        slot_end(e, s, TICKET_LENGTH);
}

static bool is_json_with(const struct engine *e, const struct engine_slot *s, int32_t token)
{
    struct partial_json json = s->json;
    const char *text;
    size_t length;

    tokenizer_piece(e->config.tokenizer, token, &text, &length);
    return length && !tokenizer_is_end(e->config.tokenizer, token) &&
           partial_json_add(&json, text, length);
}

/* The token of that byte alone, or NO_TOKEN. */
static int32_t byte_token(const struct engine *e, char byte)
{
    int32_t count = (int32_t)lead_vocabulary(e->config.lead);
    const char *text;
    size_t length;

    for (int32_t token = 0; token < count; token++) {
        tokenizer_piece(e->config.tokenizer, token, &text, &length);
        if (length == 1 && text[0] == byte && !tokenizer_is_end(e->config.tokenizer, token))
            return token;
    }
    return NO_TOKEN;
}

/* A token with which the answer is still the beginning of a JSON object, or NO_TOKEN: the model's
 * vocabulary has none. */
static int32_t json_pick(const struct engine *e, struct engine_slot *s, struct candidates *c)
{
    bool keep[CANDIDATES_MOST];

    for (uint32_t i = 0; i < c->count; i++)
        keep[i] = is_json_with(e, s, c->best[i].token);
    candidates_keep(c, keep);
    return c->count ? sampler_pick(&s->ticket->order.sampling, &s->random, c)
                    : byte_token(e, partial_json_next(&s->json));
}

/* The token after a row that wanted one. */
static void slot_pick(struct engine *e, struct engine_slot *s, const struct candidates *c)
{
    const struct order *o = &s->ticket->order;
    struct candidates changed = *c;
    struct token_report report;
    int32_t token;

    if (s->counts)
        sampler_penalize(&o->sampling, s->counts, &changed);
    token =
        o->is_json ? json_pick(e, s, &changed) : sampler_pick(&o->sampling, &s->random, &changed);
    if (o->has_reports && token != NO_TOKEN)
        report_make(&report, c, token, o->reports_best);
    slot_take(e, s, token, o->has_reports && token != NO_TOKEN ? &report : NULL);
}

static int step_make(struct engine *e)
{
    uint32_t n = rows_plan(e), found = 0;
    int rc = lead_rows(e->config.lead, e->rows, n, e->found);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < e->slot_count; i++)
        e->slots[i].held_count += e->slots[i].planned;
    for (uint32_t i = 0; i < n; i++) {
        struct engine_slot *s = &e->slots[e->rows[i].slot];

        if (e->rows[i].want)
            slot_pick(e, s, &e->found[found++]);
    }
    return 0;
}

/* Reads all weights once, from the disk perhaps. */
static int weights_read(struct engine *e)
{
    e->rows[0] = (struct llm_row){.want = 1};
    return lead_rows(e->config.lead, e->rows, 1, e->found);
}

/* Until a call fails. */
static int steps_make(struct engine *e)
{
    bool is_idle = false;
    int rc = weights_read(e);

    atomic_store(&e->is_ready, true);
    while (!rc && !queue_is_stopping(e->config.queue)) {
        if (slots_fill(e, is_idle ? lead_idle_ms() : 0)) {
            rc = step_make(e);
            is_idle = false;
        } else {
            rc = lead_idle(e->config.lead);
            is_idle = true;
        }
    }
    return rc ? rc : lead_end(e->config.lead);
}

/* Those that have come in dead ones' places have their links measured (llm_serve.c). */
static int newcomers_meet(const struct engine *e)
{
    ml_group *group = lead_group(e->config.lead);
    struct link_speed *ignored;
    int rc;

    if (ml_rank(group) > 0)
        return ENGINE_MOVED;
    ignored = calloc((size_t)ml_id(group, ml_size(group) - 1) + 1, sizeof(*ignored));
    rc = ignored ? link_speed_measure(group, ignored) : ML_ERR_MEMORY;
    free(ignored);
    return rc;
}

/* What the slots answer is lost with a rank; those that wait are answered by the ranks that live.
 * False: this job does not go on without a rank, or another one serves now. */
static bool engine_repair(struct engine *e)
{
    char error[QUEUE_REASON_ROOM];
    bool has_come;
    int rc;

    atomic_store(&e->is_ready, false);
    do {
        rc = lead_repair(e->config.lead, &has_come, error, sizeof(error));
        if (!rc && has_come)
            rc = newcomers_meet(e);
    } while (rc == ML_ERR_PEER);
    if (rc == ENGINE_MOVED)
        snprintf(error, sizeof(error), "rank 0 has another process, which serves from now on");
    if (rc && rc != ML_ERR_STATE)
        memcpy(e->reason, error, sizeof(error));
    if (rc == ENGINE_MOVED)
        e->error = rc;
    if (rc)
        return false;
    fprintf(stderr, "llm: %s; %d rank%s go on\n", e->reason, lead_ranks(e->config.lead),
            lead_ranks(e->config.lead) == 1 ? "" : "s");
    queue_lose(e->config.queue, e->reason);
    for (struct engine_slot *s = e->slots; s < e->slots + e->slot_count; s++) {
        if (s->ticket)
            slot_free(e, s, TICKET_LOST);
        s->held_count = 0;
    }
    return true;
}

static void *engine_run(void *arg)
{
    struct engine *e = arg;

    do {
        e->error = steps_make(e);
        snprintf(e->reason, sizeof(e->reason), "%s",
                 e->error ? ml_error() : "the server is stopping");
    } while (e->error == ML_ERR_PEER && engine_repair(e));
    queue_refuse(e->config.queue, e->reason);
    for (uint32_t i = 0; i < e->slot_count; i++) {
        if (e->slots[i].ticket)
            slot_free(e, &e->slots[i], TICKET_FAILED);
    }
    queue_close(e->config.queue);
    return NULL;
}

static void engine_free(struct engine *e)
{
    if (e && e->slots) {
        for (uint32_t i = 0; i < e->slot_count; i++)
            free(e->slots[i].held);
        free(e->slots);
    }
    free(e);
}

struct engine *engine_start(const struct engine_config *config)
{
    struct engine *e = calloc(1, sizeof(*e));
    uint32_t context = lead_context(config->lead);
    sigset_t all, before;
    int rc;

    if (!e)
        return NULL;
    e->config = *config;
    e->slot_count = lead_slots(config->lead);
    e->slots = calloc(e->slot_count, sizeof(*e->slots));
    if (!e->slots)
        goto fail;
    for (uint32_t i = 0; i < e->slot_count; i++) {
        e->slots[i].held = calloc(context, sizeof(int32_t));
        if (!e->slots[i].held)
            goto fail;
    }
    /* A thread begins with its creator's mask, and signals are for the loop's thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&e->thread, NULL, engine_run, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        goto fail;
    return e;
fail:
    engine_free(e);
    return NULL;
}

bool engine_is_ready(const struct engine *e)
{
    return atomic_load(&e->is_ready);
}

int engine_join(struct engine *e)
{
    int error;

    if (!e)
        return 0;
    pthread_join(e->thread, NULL);
    error = e->error;
    engine_free(e);
    return error;
}
