/* SPDX-License-Identifier: MIT */
#include "llm_generate.h"

#include "llm_run.h"
#include "text/text_out.h"
#include "text/tokenizer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 128, SENTENCE = 512, MOST_PROMPT = 4 << 20 };

struct text_generation {
    struct lead *lead;
    const struct llm_options *options;
    struct tokenizer *tokenizer; /* NULL: the prompt was given as tokens, and so is the answer */
    struct text_out *out;
    int32_t *prompt; /* owned */
    size_t count;
    json_t *tokens, *probabilities, *text;
};

/* --- the prompt --------------------------------------------------------------------------------
 */

static char *file_read(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(MOST_PROMPT + 1) : NULL;

    if (!f || !text) {
        fprintf(stderr, "llm: cannot read %s: %s\n", path, strerror(f ? ENOMEM : errno));
    } else {
        *length = fread(text, 1, MOST_PROMPT + 1, f);
        if (ferror(f) || *length > MOST_PROMPT) {
            fprintf(stderr, "llm: cannot read %s: %s\n", path,
                    ferror(f) ? strerror(errno) : "it has more than 4 MiB");
            free(text);
            text = NULL;
        }
    }
    if (f)
        fclose(f);
    return text;
}

static int prompt_encode(struct text_generation *g, const char *text, size_t length)
{
    struct prompt p = {0};
    int64_t count, again = -1;

    prompt_add_typed(&p, text, length);
    count = p.failed ? -1 : tokenizer_encode_prompt(g->tokenizer, &p, NULL, 0);
    if (count > 0) {
        g->prompt = calloc((size_t)count, sizeof(*g->prompt));
        if (g->prompt)
            again = tokenizer_encode_prompt(g->tokenizer, &p, g->prompt, (size_t)count);
    }
    prompt_free(&p);
    if (count > 0 && again == count) {
        g->count = (size_t)count;
        return 0;
    }
    fprintf(stderr, "llm: %s\n",
            count ? "there is not enough memory for the prompt's tokens" : "the prompt is empty");
    return LLM_EXIT_USAGE;
}

static int prompt_read(struct text_generation *g)
{
    const struct llm_options *o = g->options;
    char error[SENTENCE], *text;
    size_t length = 0;
    int rc;

    if (o->prompt_tokens) {
        g->count = o->prompt_count;
        g->prompt = calloc(g->count, sizeof(*g->prompt));
        if (!g->prompt)
            return LLM_EXIT_LOST;
        memcpy(g->prompt, o->prompt_tokens, g->count * sizeof(*g->prompt));
        return 0;
    }
    g->tokenizer = tokenizer_new(lead_gguf(g->lead), error, sizeof(error));
    if (!g->tokenizer) {
        fprintf(stderr, "llm: %s\n", error);
        return LLM_EXIT_USAGE;
    }
    if (o->prompt)
        return prompt_encode(g, o->prompt, strlen(o->prompt));
    text = file_read(o->prompt_file, &length);
    rc = text ? prompt_encode(g, text, length) : LLM_EXIT_USAGE;
    free(text);
    return rc;
}

/* --- the answer --------------------------------------------------------------------------------
 */

/* A piece of text that is certain: printed, or kept for the report. */
static void text_write(struct text_generation *g, const char *bytes, size_t length)
{
    if (g->options->is_json) {
        if (length)
            json_array_append_new(g->text, json_stringn(bytes, length));
    } else {
        fwrite(bytes, 1, length, stdout);
        fflush(stdout);
    }
}

static void token_write(struct text_generation *g, int32_t token)
{
    const char *bytes, *ready;
    size_t length;

    json_array_append_new(g->tokens, json_integer(token));
    if (g->tokenizer) {
        tokenizer_piece(g->tokenizer, token, &bytes, &length);
        text_out_add(g->out, bytes, length, &ready, &length);
        text_write(g, ready, length);
    } else if (!g->options->is_json) {
        printf(json_array_size(g->tokens) > 1 ? " %d" : "%d", token);
        fflush(stdout);
    }
}

static void generation_end(struct text_generation *g)
{
    const char *ready;
    size_t length;

    if (g->tokenizer) {
        text_out_end(g->out, &ready, &length);
        text_write(g, ready, length);
    }
    if (!g->options->is_json)
        putchar('\n');
}

static int generation_run(struct text_generation *g)
{
    const struct llm_options *o = g->options;
    uint32_t most = o->tokens ? o->tokens : TOKENS, position = (uint32_t)g->count;
    struct sampler_random random;
    struct candidates c;
    int rc = llm_run_prompt(g->lead, g->prompt, g->count, 0, &c, NULL);

    sampler_seed(&random, o->seed);
    for (uint32_t n = 1; !rc; n++) {
        int32_t token = sampler_pick(&o->sampler, &random, &c);

        if (g->tokenizer && tokenizer_is_end(g->tokenizer, token))
            break;
        json_array_append_new(g->probabilities, json_real(candidates_probability(&c, 0)));
        token_write(g, token);
        if (n == most || position == lead_context(g->lead))
            break;
        rc = llm_run_prompt(g->lead, &token, 1, position++, &c, NULL);
    }
    generation_end(g);
    return rc;
}

/* --score: what the model expects after each token. */
static int generation_score(struct text_generation *g)
{
    struct candidates last, *each = calloc(g->count, sizeof(*each));
    int rc = each ? llm_run_prompt(g->lead, g->prompt, g->count, 0, &last, each) : ML_ERR_MEMORY;

    for (size_t i = 0; i < g->count && !rc; i++) {
        double probability = candidates_probability(&each[i], 0);

        if (!g->options->is_json)
            printf("%d %d %.6f\n", g->prompt[i], each[i].best[0].token, probability);
        json_array_append_new(g->tokens, json_integer(each[i].best[0].token));
        json_array_append_new(g->probabilities, json_real(probability));
    }
    free(each);
    return rc;
}

static void report_print(const struct text_generation *g)
{
    json_t *report =
        json_pack("{s:O, s:O}", "tokens", g->tokens, "probabilities", g->probabilities);
    char *text = NULL;
    size_t length = 0;

    if (g->tokenizer && !g->options->is_scored) {
        FILE *joined = open_memstream(&text, &length);

        for (size_t i = 0; joined && i < json_array_size(g->text); i++)
            fputs(json_string_value(json_array_get(g->text, i)), joined);
        if (joined)
            fclose(joined);
        json_object_set_new(report, "text", json_stringn(text ? text : "", length));
        free(text);
    }
    json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(report);
}

/* Says what is wrong with the prompt for this model. */
static int prompt_check(const struct text_generation *g)
{
    uint32_t vocabulary = lead_vocabulary(g->lead), context = lead_context(g->lead);

    if (g->count > context) {
        fprintf(stderr, "llm: the prompt has %zu tokens, and the context is %u\n", g->count,
                context);
        return LLM_EXIT_USAGE;
    }
    for (size_t i = 0; i < g->count; i++) {
        if ((uint32_t)g->prompt[i] >= vocabulary) {
            fprintf(stderr, "llm: token %d is not in the vocabulary of %u tokens\n", g->prompt[i],
                    vocabulary);
            return LLM_EXIT_USAGE;
        }
    }
    return 0;
}

static int generate_lead(struct lead *l, const struct llm_options *o)
{
    struct text_generation g = {.lead = l, .options = o};
    int rc, status = prompt_read(&g);

    g.tokens = json_array();
    g.probabilities = json_array();
    g.text = json_array();
    g.out = text_out_new(NULL, 0);
    if (!status)
        status = prompt_check(&g);
    if (!status && !g.out)
        status = LLM_EXIT_LOST;
    if (!status) {
        rc = o->is_scored ? generation_score(&g) : generation_run(&g);
        if (rc)
            status = llm_run_lost(rc);
        else if (o->is_json)
            report_print(&g);
    }
    text_out_free(g.out);
    tokenizer_free(g.tokenizer);
    json_decref(g.tokens);
    json_decref(g.probabilities);
    json_decref(g.text);
    free(g.prompt);
    return status;
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
