/* SPDX-License-Identifier: MIT */
/* llm_options.h: the options of `llm generate` and `llm bench`. */
#ifndef LLM_LLM_OPTIONS_H
#define LLM_LLM_OPTIONS_H

#include "steps/sampler.h"

#include <stdbool.h>
#include <stddef.h>

/* Which of the words has an option. */
enum llm_word_set { LLM_GENERATE = 1, LLM_BENCH = 2 };

struct llm_options {
    const char *model;
    const char *prompt, *prompt_file; /* at most one is not NULL */
    int32_t *prompt_tokens;           /* NULL, or owned */
    size_t prompt_count;
    uint32_t tokens;  /* to generate; 0: not given */
    uint32_t context; /* 0: not given */
    struct sampler_settings sampler;
    uint64_t seed;
    bool is_scored; /* generate --score */
    bool is_json;
};

enum { LLM_EXIT_LOST = 1, LLM_EXIT_USAGE = 2 };

/* Reads the command line of one word, or prints its help. Returns 0, 1 after --help, or -1 after an
 * error, which it prints. llm_options_free frees what o points to. */
int llm_options_read(struct llm_options *o, enum llm_word_set word, int argc, char **argv);
void llm_options_free(struct llm_options *o);

/* Says what is wrong with the word behind which getopt_long has stopped with c: ':', its value is
 * missing, if the short options begin with ':', or '?', there is none of that name. */
void llm_options_say(int c, char **argv);

/* Reads a text that is one whole number from `least`, which is not negative, to `most`. False: it
 * is not, and *out is unchanged. */
bool llm_options_number(const char *text, int64_t least, int64_t most, int64_t *out);

#endif
