/* SPDX-License-Identifier: MIT */
#include "tests/unit/examples/llm/serve/fake_model.h"

#include "examples/llm/steps/link_speed.h"
#include "examples/llm/text/chat.h"
#include "examples/llm/text/tokenizer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake fake;

static struct {
    atomic_uint steps, rows, most_slots, ends;
} done;

/* Tokens of each slot's positions, and how many are valid. */
static int32_t cache[FAKE_SLOTS_MOST][FAKE_CONTEXT_MOST];
static uint32_t filled[FAKE_SLOTS_MOST];
static char bytes_all[FAKE_END];
static const char letters[] = "abcdefghijklmnopqrstuvwxyz      ";

unsigned fake_steps(void)
{
    return done.steps;
}

unsigned fake_rows(void)
{
    return done.rows;
}

unsigned fake_most_slots(void)
{
    return done.most_slots;
}

unsigned fake_ends(void)
{
    return done.ends;
}

void fake_clear(void)
{
    done.steps = done.rows = done.most_slots = done.ends = 0;
    memset(filled, 0, sizeof(filled));
    for (int i = 0; i < FAKE_END; i++)
        bytes_all[i] = (char)i;
}

struct lead *fake_lead(void)
{
    return (struct lead *)cache;
}

static int32_t follower(const int32_t *tokens, uint32_t count)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)tokens[i]) * 16777619u;
    return letters[(hash >> 8) % (sizeof(letters) - 1)];
}

void fake_answer(const char *prompt, uint32_t count, char *out)
{
    int32_t tokens[FAKE_CONTEXT_MOST];
    uint32_t n = (uint32_t)strlen(prompt);

    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (unsigned char)prompt[i];
    for (uint32_t i = 0; i < count; i++, n++) {
        tokens[n] = follower(tokens, n);
        out[i] = (char)tokens[n];
    }
    out[count] = '\0';
}

int link_speed_measure(ml_group *world, struct link_speed *speeds)
{
    (void)world;
    (void)speeds;
    return 0;
}

int lead_repair(struct lead *l, bool *has_come, char *error, size_t size)
{
    (void)l;
    *has_come = true;
    memset(filled, 0, sizeof(filled));
    snprintf(error, size, "this job does not go on without a rank");
    return fake.is_elastic ? 0 : ML_ERR_STATE;
}

ml_group *lead_group(const struct lead *l)
{
    return (ml_group *)(uintptr_t)l;
}

int lead_ranks(const struct lead *l)
{
    (void)l;
    return 2;
}

int lead_idle_ms(void)
{
    return 10000;
}

int lead_rows(struct lead *l, const struct llm_row *rows, uint32_t n, struct candidates *out)
{
    unsigned slots = 0, seen = 0;

    (void)l;
    if (++done.steps == fake.fail_at_step)
        return ML_ERR_PEER;
    done.rows += n;
    if (!n || n > LLM_MOST_ROWS)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = rows[i].slot, at = (uint32_t)rows[i].position;

        if (slot >= fake.slots || at >= fake.context || at > filled[slot])
            abort(); /* a row needs all positions before it */
        cache[slot][at] = rows[i].token;
        filled[slot] = at + 1;
        slots += !(seen & 1u << slot);
        seen |= 1u << slot;
        if (rows[i].want) {
            bool is_end = fake.end_after && at + 1 >= fake.end_after;

            *out = (struct candidates){.count = 1, .total = 1};
            out->best[0].token = is_end ? FAKE_END : follower(cache[slot], at + 1);
            out++;
        }
    }
    if (slots > done.most_slots)
        done.most_slots = slots;
    if (fake.step_us)
        usleep((useconds_t)fake.step_us);
    return 0;
}

int lead_idle(struct lead *l)
{
    (void)l;
    return 0;
}

int lead_end(struct lead *l)
{
    (void)l;
    done.ends++;
    return 0;
}

uint32_t lead_slots(const struct lead *l)
{
    (void)l;
    return fake.slots;
}

uint32_t lead_context(const struct lead *l)
{
    (void)l;
    return fake.context;
}

uint32_t lead_vocabulary(const struct lead *l)
{
    (void)l;
    return FAKE_END + 1;
}

const struct gguf *lead_gguf(const struct lead *l)
{
    return (const struct gguf *)l;
}

struct tokenizer *tokenizer_new(const struct gguf *g, char *error, size_t size)
{
    (void)error;
    (void)size;
    return (struct tokenizer *)(uintptr_t)g;
}

void tokenizer_free(struct tokenizer *t)
{
    (void)t;
}

int64_t tokenizer_encode_prompt(const struct tokenizer *t, const struct prompt *p, int32_t *tokens,
                                size_t room)
{
    (void)t;
    for (size_t i = 0; i < p->length && i < room; i++)
        tokens[i] = (unsigned char)p->text[i];
    return (int64_t)(room && p->length > room ? room + 1 : p->length);
}

void tokenizer_piece(const struct tokenizer *t, int32_t token, const char **bytes, size_t *length)
{
    (void)t;
    *bytes = &bytes_all[token % FAKE_END];
    *length = token < FAKE_END;
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t token)
{
    (void)t;
    return token == FAKE_END;
}

bool chat_render(const struct gguf *g, const struct chat_message *messages, size_t count,
                 const struct chat_options *options, struct prompt *out, char *error, size_t size)
{
    (void)g;
    (void)options;
    if (strcmp(messages[0].content, "unrenderable") == 0) {
        snprintf(error, size, "no template");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        prompt_add(out, messages[i].role);
        prompt_add(out, ":");
        prompt_add_typed(out, messages[i].content, messages[i].length);
        prompt_add(out, "\n");
    }
    return true;
}

int ml_rank(const ml_group *g)
{
    (void)g;
    return 0;
}

int ml_id(const ml_group *g, int rank)
{
    (void)g;
    return rank;
}

int ml_size(const ml_group *g)
{
    (void)g;
    return 2;
}

const char *ml_host(const ml_group *g, int rank)
{
    (void)g;
    return rank ? "b" : "a";
}

const char *ml_error(void)
{
    return "rank 1 on host b was killed by SIGKILL";
}
