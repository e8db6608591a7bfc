/* SPDX-License-Identifier: MIT */
#include "llm_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 24, OPTIONS = 13, FIRST = 256 /* getopt_long's first value */ };

struct llm_option {
    const char *name, *argument, *help;
    unsigned words;
    int (*set)(struct llm_options *o, const char *name, const char *value);
};

bool llm_options_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    /* strtoll() also takes blanks and signs. */
    if (!isdigit((unsigned char)*text) || *end || errno || value < least || value > most)
        return false;
    *out = value;
    return true;
}

static int number_set(const char *name, const char *value, int64_t least, int64_t most,
                      int64_t *out)
{
    if (llm_options_number(value, least, most, out))
        return 0;
    fprintf(stderr, "llm: --%s: '%s' is not a whole number from %lld to %lld\n", name, value,
            (long long)least, (long long)most);
    return -1;
}

static int real_set(const char *name, const char *value, double least, double most, double *out)
{
    char *end;
    double x;

    errno = 0;
    x = strtod(value, &end);
    if (end != value && !*end && x >= least && x <= most) {
        *out = x;
        return 0;
    }
    fprintf(stderr, "llm: --%s: '%s' is not a number from %g to %g\n", name, value, least, most);
    return -1;
}

static int set_model(struct llm_options *o, const char *name, const char *value)
{
    (void)name;
    o->model = value;
    return 0;
}

static int set_prompt(struct llm_options *o, const char *name, const char *value)
{
    (void)name;
    o->prompt = value;
    return 0;
}

static int set_prompt_file(struct llm_options *o, const char *name, const char *value)
{
    (void)name;
    o->prompt_file = value;
    return 0;
}

static int set_prompt_tokens(struct llm_options *o, const char *name, const char *value)
{
    size_t room = strlen(value) / 2 + 1;
    int32_t *tokens = calloc(room, sizeof(*tokens));
    char *copy = strdup(value), *rest = NULL;
    int rc = tokens && copy ? 0 : -1;
    size_t n = 0;

    for (char *t = rc ? NULL : strtok_r(copy, ",", &rest); t && !rc;
         t = strtok_r(NULL, ",", &rest)) {
        int64_t token;

        rc = number_set(name, t, 0, INT32_MAX, &token);
        if (!rc)
            tokens[n++] = (int32_t)token;
    }
    free(copy);
    if (rc || !n) {
        free(tokens);
        if (!rc)
            fprintf(stderr, "llm: --%s: there is no token in '%s'\n", name, value);
        return -1;
    }
    free(o->prompt_tokens);
    o->prompt_tokens = tokens;
    o->prompt_count = n;
    return 0;
}

/* bench: how many tokens, which ones is all the same. */
static int set_prompt_size(struct llm_options *o, const char *name, const char *value)
{
    int64_t n;

    if (number_set(name, value, 1, MOST_TOKENS, &n))
        return -1;
    o->prompt_count = (size_t)n;
    return 0;
}

static int set_tokens(struct llm_options *o, const char *name, const char *value)
{
    int64_t n;

    if (number_set(name, value, 1, MOST_TOKENS, &n))
        return -1;
    o->tokens = (uint32_t)n;
    return 0;
}

static int set_context(struct llm_options *o, const char *name, const char *value)
{
    int64_t n;

    if (number_set(name, value, 1, MOST_TOKENS, &n))
        return -1;
    o->context = (uint32_t)n;
    return 0;
}

static int set_temperature(struct llm_options *o, const char *name, const char *value)
{
    return real_set(name, value, 0, 100, &o->sampler.temperature);
}

static int set_top_p(struct llm_options *o, const char *name, const char *value)
{
    return real_set(name, value, 0, 1, &o->sampler.top_p);
}

static int set_top_k(struct llm_options *o, const char *name, const char *value)
{
    int64_t n;

    if (number_set(name, value, 0, INT32_MAX, &n))
        return -1;
    o->sampler.top_k = (uint32_t)n;
    return 0;
}

static int set_seed(struct llm_options *o, const char *name, const char *value)
{
    int64_t n;

    if (number_set(name, value, 0, INT64_MAX, &n))
        return -1;
    o->seed = (uint64_t)n;
    return 0;
}

static int set_score(struct llm_options *o, const char *name, const char *value)
{
    (void)name;
    (void)value;
    o->is_scored = true;
    return 0;
}

static int set_json(struct llm_options *o, const char *name, const char *value)
{
    (void)name;
    (void)value;
    o->is_json = true;
    return 0;
}

/* In the order of --help. */
static const struct llm_option options[OPTIONS] = {
    {"model", "FILE", "the model, a GGUF file, at the same path on every host",
     LLM_GENERATE | LLM_BENCH, set_model},
    {"prompt", "TEXT", "the text to continue", LLM_GENERATE, set_prompt},
    {"prompt-file", "FILE", "a file with the text to continue", LLM_GENERATE, set_prompt_file},
    {"prompt-tokens", "N,…", "the tokens to continue; what follows is printed so, too",
     LLM_GENERATE, set_prompt_tokens},
    {"prompt-size", "N", "tokens that the measured prompt has (default 32)", LLM_BENCH,
     set_prompt_size},
    {"tokens", "N", "how many tokens to generate at most (default 128)", LLM_GENERATE | LLM_BENCH,
     set_tokens},
    {"temperature", "X", "how freely tokens are drawn (default 0.7); 0: always the likeliest",
     LLM_GENERATE, set_temperature},
    {"top-k", "N", "draw from the N likeliest (default 40; 0 and above 64: 64)", LLM_GENERATE,
     set_top_k},
    {"top-p", "X", "draw from the likeliest that have probability X together (default 0.95)",
     LLM_GENERATE, set_top_p},
    {"seed", "N", "where random numbers begin (default 0); the same seed gives the same text",
     LLM_GENERATE, set_seed},
    {"context", "N", "positions to keep (default: what the model was trained for, at most 4096)",
     LLM_GENERATE | LLM_BENCH, set_context},
    {"score", NULL, "only say what the model expects after each token of the prompt", LLM_GENERATE,
     set_score},
    {"json", NULL, "print one JSON object", LLM_GENERATE | LLM_BENCH, set_json},
};

static void help_print(enum llm_word_set word)
{
    printf("usage: mlaunch -n RANKS -- %s %s --model FILE [OPTION]...\n\n",
           program_invocation_short_name, word == LLM_BENCH ? "bench" : "generate");
    for (int i = 0; i < OPTIONS; i++) {
        const char *argument = options[i].argument ? options[i].argument : "";

        if (options[i].words & word)
            printf("  --%s %s%*s%s\n", options[i].name, argument,
                   (int)(19 - strlen(options[i].name) -
                         (strstr(argument, "…") ? 3 : strlen(argument))),
                   "", options[i].help);
    }
}

static int options_check(const struct llm_options *o, enum llm_word_set word)
{
    int prompts = (o->prompt != NULL) + (o->prompt_file != NULL) + (o->prompt_tokens != NULL);

    if (!o->model)
        fprintf(stderr, "llm: --model FILE is needed, a GGUF file\n");
    else if (word == LLM_GENERATE && prompts != 1)
        fprintf(stderr, "llm: one of --prompt, --prompt-file and --prompt-tokens is needed\n");
    else
        return 0;
    return -1;
}

void llm_options_say(int c, char **argv)
{
    const char *word = argv[optind - 1];
    const char letter[] = {'-', (char)optopt, '\0'};

    if (optopt && strncmp(word, "--", 2) != 0)
        word = letter;
    if (c == ':')
        fprintf(stderr, "llm %s: %s needs a value; llm %s --help says which\n", argv[0], word,
                argv[0]);
    else
        fprintf(stderr, "llm %s: there is no option %s; llm %s --help lists them\n", argv[0], word,
                argv[0]);
}

int llm_options_read(struct llm_options *o, enum llm_word_set word, int argc, char **argv)
{
    struct option known[OPTIONS + 2] = {{0}};
    int c, n = 0, rc = 0;

    *o = (struct llm_options){.sampler = {.temperature = 0.7, .top_p = 0.95, .top_k = 40}};
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].words & word)
            known[n++] = (struct option){options[i].name,
                                         options[i].argument ? required_argument : no_argument,
                                         NULL, FIRST + i};
    known[n] = (struct option){"help", no_argument, NULL, 'h'};
    optind = 1;
    opterr = 0;
    while (!rc && (c = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
        if (c == 'h') {
            help_print(word);
            rc = 1;
        } else if (c < FIRST) {
            llm_options_say(c, argv);
            rc = -1;
        } else {
            rc = options[c - FIRST].set(o, options[c - FIRST].name, optarg);
        }
    }
    if (!rc && optind < argc) {
        fprintf(stderr, "llm: '%s' is no option of `llm %s`\n", argv[optind], argv[0]);
        rc = -1;
    }
    if (!rc)
        rc = options_check(o, word);
    if (rc)
        llm_options_free(o);
    return rc;
}

void llm_options_free(struct llm_options *o)
{
    free(o->prompt_tokens);
    o->prompt_tokens = NULL;
}
