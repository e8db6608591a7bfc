/* SPDX-License-Identifier: MIT */
#include "llm_bench.h"

#include "llm_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 128, PROMPT = 32, WARM_UP = 3 };

/* What was measured. "Collectives" is the time in the library's calls on rank 0, in which it also
 * waits for the ranks that are slower than itself. */
struct llm_measures {
    int ranks;
    size_t prompt_tokens;
    uint32_t tokens;
    struct lead_times prefill, decode;
    uint64_t bytes; /* the weights' that all ranks read for a token */
    double read_s;  /* that reading them takes, and nothing else */
    double calls_s; /* that the calls of a token take, when no rank waits for another's computing */
};

static double per_second(const struct lead_times *t)
{
    return t->total_s > 0 ? (double)t->rows / t->total_s : 0;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void result_print(const struct llm_measures *r, const char *model)
{
    const struct lead_times *d = &r->decode, *p = &r->prefill;

    printf("==========\n");
    printf("model=%s world_size=%d prompt_tokens=%zu gen_tokens=%u tokens_per_sec=%.2f\n", model,
           r->ranks, r->prompt_tokens, r->tokens, per_second(d));
    printf("prefill      %9.2f tokens/s, %.1f us a token in collectives (%.2f %%)\n", per_second(p),
           p->collectives_s / (double)p->rows * 1e6, percent(p->collectives_s, p->total_s));
    printf("decode       %9.2f tokens/s, %.1f us a token in collectives (%.2f %%)\n", per_second(d),
           d->collectives_s / (double)d->rows * 1e6, percent(d->collectives_s, d->total_s));
    if (r->ranks > 1)
        printf("calls alone  %9.1f us a token (%.2f %%); the rest is waiting for other ranks\n",
               r->calls_s * 1e6, percent(r->calls_s * (double)d->rows, d->total_s));
    printf("memory bound %9.2f tokens/s: %.1f MB a token at %.2f GB/s; decode reaches %.1f %%\n",
           1 / r->read_s, (double)r->bytes / 1e6, (double)r->bytes / r->read_s / 1e9,
           percent(r->read_s * (double)d->rows, d->total_s));
}

static json_t *times_json(const struct lead_times *t)
{
    return json_pack("{s:f, s:f, s:f}", "tokens_per_sec", per_second(t), "collectives_us_per_token",
                     t->collectives_s / (double)t->rows * 1e6, "collectives_percent",
                     percent(t->collectives_s, t->total_s));
}

static void result_print_json(const struct llm_measures *r, const char *model)
{
    const struct lead_times *d = &r->decode;
    json_t *report =
        json_pack("{s:s, s:i, s:I, s:I, s:f, s:o, s:o, s:f, s:{s:I, s:f, s:f, s:f}}", "model",
                  model, "world_size", r->ranks, "prompt_tokens", (json_int_t)r->prompt_tokens,
                  "gen_tokens", (json_int_t)r->tokens, "tokens_per_sec", per_second(d), "prefill",
                  times_json(&r->prefill), "decode", times_json(d), "calls_alone_us_per_token",
                  r->calls_s * 1e6, "memory_bound", "bytes_per_token", (json_int_t)r->bytes,
                  "bytes_per_sec", (double)r->bytes / r->read_s, "tokens_per_sec", 1 / r->read_s,
                  "reached_percent", percent(r->read_s * (double)d->rows, d->total_s));

    if (report)
        json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(report);
}

/* A prompt that says nothing, then greedily what follows. */
static int bench_measure(struct lead *l, const int32_t *prompt, struct llm_measures *r)
{
    static const struct sampler_settings greedy = {.temperature = 0};
    struct sampler_random random = {{0}}; /* not used without a temperature */
    struct candidates c;
    int32_t token = 0;
    int rc = llm_run_prompt(l, prompt, r->prompt_tokens, 0, &c, NULL);

    for (uint32_t n = 0; n < WARM_UP && !rc; n++)
        rc = llm_run_prompt(l, &token, 1, (uint32_t)r->prompt_tokens, &c, NULL);
    if (!rc)
        rc = lead_read(l, &r->bytes, &r->read_s);
    if (!rc)
        rc = lead_calls(l, &r->calls_s);
    lead_times_clear(l);
    if (!rc)
        rc = llm_run_prompt(l, prompt, r->prompt_tokens, 0, &c, NULL);
    r->prefill = *lead_times(l);
    lead_times_clear(l);
    for (uint32_t n = 0; n < r->tokens && !rc; n++) {
        token = sampler_pick(&greedy, &random, &c);
        rc = llm_run_prompt(l, &token, 1, (uint32_t)r->prompt_tokens + n, &c, NULL);
    }
    r->decode = *lead_times(l);
    return rc;
}

static int bench_lead(struct lead *l, const struct llm_options *o)
{
    struct llm_measures r = {.ranks = lead_ranks(l),
                             .prompt_tokens = o->prompt_count ? o->prompt_count : PROMPT,
                             .tokens = o->tokens ? o->tokens : TOKENS};
    int32_t *prompt = calloc(r.prompt_tokens, sizeof(*prompt));
    int rc = prompt ? 0 : ML_ERR_MEMORY;

    for (size_t i = 0; i < r.prompt_tokens && prompt; i++)
        prompt[i] = (int32_t)(i * 7919 % lead_vocabulary(l));
    if (!rc)
        rc = bench_measure(l, prompt, &r);
    free(prompt);
    if (rc)
        return llm_run_lost(rc);
    (o->is_json ? result_print_json : result_print)(&r, o->model);
    return 0;
}

int llm_bench(int argc, char **argv)
{
    struct llm_options o;
    uint32_t context;
    int rc = llm_options_read(&o, LLM_BENCH, argc, argv);

    if (rc)
        return rc < 0 ? LLM_EXIT_USAGE : 0;
    context =
        (uint32_t)(o.prompt_count ? o.prompt_count : PROMPT) + (o.tokens ? o.tokens : TOKENS) + 1;
    rc = llm_run(&o, o.context ? o.context : context, bench_lead);
    llm_options_free(&o);
    return rc;
}
