/* SPDX-License-Identifier: MIT */
/*
 * llm: a language model whose weights are divided among the ranks. README.md says how to use it.
 *
 * Rank 0 has all state of all requests. The other ranks carry out the steps that it sends, so a
 * client that leaves, or a request that is cancelled, never concerns them.
 */
#include "llm_bench.h"
#include "llm_generate.h"
#include "llm_serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

struct llm_word {
    const char *name, *help;
    int (*run)(int argc, char **argv);
};

static const struct llm_word words[] = {
    {"bench", "how fast the model answers here", llm_bench},
    {"generate", "continue a text", llm_generate},
    {"serve", "answer over HTTP, as OpenAI's servers do", llm_serve},
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static void words_print(FILE *to)
{
    fprintf(to, "usage: mlaunch -n RANKS -- %s WORD [OPTION]...\n\n",
            program_invocation_short_name);
    for (int i = 0; i < WORDS; i++)
        fprintf(to, "  %-9s %s\n", words[i].name, words[i].help);
    fprintf(to, "\n`%s WORD --help` lists the options of a word.\n", program_invocation_short_name);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        words_print(stdout);
        return 0;
    }
    if (argc < 2) {
        words_print(stderr);
        return EXIT_USAGE;
    }
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(argv[1], words[i].name) == 0)
            return words[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "llm: unknown command `%s`; the commands are bench, generate and serve\n",
            argv[1]);
    return EXIT_USAGE;
}
