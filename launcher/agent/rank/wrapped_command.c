/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/wrapped_command.h"

#include "common/text/text_gaps.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without --wrap the agent runs it by python3 (spawn.h); other commands cannot. */
static bool needs_python(const char *program, const char *cwd)
{
    size_t length = strlen(program);
    char path[PATH_MAX];

    if (length <= 3 || strcmp(program + length - 3, ".py") != 0 || program[0] == '-')
        return false;
    snprintf(path, sizeof(path), "%s%s%s", program[0] == '/' ? "" : cwd,
             program[0] == '/' ? "" : "/", program);
    return access(path, R_OK) == 0 && access(path, X_OK) != 0;
}

static size_t words_count(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

char **wrapped_command_create(const struct job_spec *job, const struct job_rank *rank,
                              const char *program, const char *cwd)
{
    const char *const *words = (const char *const *)job->wraps[rank->wrap];
    const char *const *args = (const char *const *)job->apps[rank->app].argv + 1;
    size_t count = words_count(words) + words_count(args) + 2, at = 0;
    char **argv = calloc(count + 1, sizeof(*argv)), number[16];
    const struct text_gap gaps[] = {{"{rank}", number}, {"{host}", job->host_name}, {NULL, NULL}};

    if (!argv)
        return NULL;
    snprintf(number, sizeof(number), "%d", rank->rank);
    for (; *words; words++)
        argv[at++] = text_gaps_fill(*words, gaps);
    if (needs_python(program, cwd))
        argv[at++] = strdup("python3");
    argv[at++] = strdup(program);
    for (; *args; args++)
        argv[at++] = strdup(*args);
    for (size_t i = 0; i < at; i++) {
        if (argv[i])
            continue;
        for (size_t k = 0; k < at; k++)
            free(argv[k]);
        free(argv);
        return NULL;
    }
    return argv;
}

void wrapped_command_destroy(char **argv)
{
    for (char **word = argv; word && *word; word++)
        free(*word);
    free(argv);
}
