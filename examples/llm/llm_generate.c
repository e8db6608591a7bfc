/* SPDX-License-Identifier: MIT */
#include "examples/llm/llm_generate.h"

#include "examples/llm/llm_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 128 };

static void report_print(json_t *report)
{
    json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(report);
}

/* --score: what the model expects after each token. */
static int generate_score(struct lead *l, const struct llm_options *o)
{
    struct candidates last, *each = calloc(o->prompt_count, sizeof(*each));
    json_t *best = json_array(), *probabilities = json_array();
    int rc = each ? llm_run_prompt(l, o->prompt_tokens, o->prompt_count, 0, &last, each)
                  : ML_ERR_MEMORY;

    for (size_t i = 0; i < o->prompt_count && !rc; i++) {
        double probability = candidates_probability(&each[i], 0);

        if (!o->is_json)
            printf("%d %d %.6f\n", o->prompt_tokens[i], each[i].best[0].token, probability);
        json_array_append_new(best, json_integer(each[i].best[0].token));
        json_array_append_new(probabilities, json_real(probability));
    }
    free(each);
    if (!rc && o->is_json) {
        report_print(json_pack("{s:o, s:o}", "best", best, "probabilities", probabilities));
    } else {
        json_decref(best);
        json_decref(probabilities);
    }
    return rc ? llm_run_lost(rc) : 0;
}

static int generate_tokens(struct lead *l, const struct llm_options *o)
{
    uint32_t most = o->tokens ? o->tokens : TOKENS, position = (uint32_t)o->prompt_count;
    json_t *tokens = json_array(), *probabilities = json_array();
    struct sampler_random random;
    struct candidates c;
    int rc = llm_run_prompt(l, o->prompt_tokens, o->prompt_count, 0, &c, NULL);

    sampler_seed(&random, o->seed);
    for (uint32_t n = 0; !rc && n < most; n++) {
        int32_t token = sampler_pick(&o->sampler, &random, &c);

        json_array_append_new(tokens, json_integer(token));
        json_array_append_new(probabilities, json_real(candidates_probability(&c, 0)));
        if (!o->is_json) {
            printf(n ? " %d" : "%d", token);
            fflush(stdout);
        }
        if (n + 1 == most || position == lead_context(l))
            break;
        rc = llm_run_prompt(l, &token, 1, position++, &c, NULL);
    }
    if (!rc && o->is_json) {
        report_print(json_pack("{s:o, s:o}", "tokens", tokens, "probabilities", probabilities));
    } else {
        json_decref(tokens);
        json_decref(probabilities);
        if (!o->is_json)
            putchar('\n');
    }
    return rc ? llm_run_lost(rc) : 0;
}

static int generate_lead(struct lead *l, const struct llm_options *o)
{
    return o->is_scored ? generate_score(l, o) : generate_tokens(l, o);
}

int llm_generate(int argc, char **argv)
{
    struct llm_options o;
    int rc = llm_options_read(&o, LLM_GENERATE, argc, argv);

    if (rc)
        return rc < 0 ? LLM_EXIT_USAGE : 0;
    rc = llm_run(&o, o.context, generate_lead);
    llm_options_free(&o);
    return rc;
}
