/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/rank_command.h"

#include "common/text/argument_words.h"
#include "common/text/text_gaps.h"
#include "launcher/agent/host/taken_port.h"
#include "launcher/agent/rank/framework_variables.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_TEXT = 16 };

/* What the words stand for, for one rank. */
struct word_values {
    char numbers[ARGUMENT_WORDS][NUMBER_TEXT];
    char head[256];
    const char *of[ARGUMENT_WORDS];
};

static void number_set(struct word_values *v, enum argument_word word, int number)
{
    snprintf(v->numbers[word], NUMBER_TEXT, "%d", number);
    v->of[word] = v->numbers[word];
}

static void values_fill(struct word_values *v, const struct job_spec *job,
                        const struct job_rank *rank, const char *coordinator, int port)
{
    number_set(v, WORD_RANK, rank->rank);
    number_set(v, WORD_HOST_RANK, job->host);
    number_set(v, WORD_LOCAL_RANK, rank->local_rank);
    number_set(v, WORD_SIZE, job->size);
    number_set(v, WORD_HOSTS, job->hosts);
    number_set(v, WORD_PORT, port);
    framework_head(v->head, sizeof(v->head), job, coordinator);
    v->of[WORD_HEAD] = v->head;
    v->of[WORD_HOST] = job->host_name;
    v->of[WORD_BRACE] = "{";
}

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

bool rank_command_is_own(const struct job_spec *job, const struct job_rank *rank)
{
    return rank->wrap >= 0 || job->apps[rank->app].has_words;
}

char **rank_command_create(const struct job_spec *job, const struct job_rank *rank,
                           const char *program, const char *cwd, const char *coordinator, int port)
{
    static const char *const none[] = {NULL};
    const struct job_app *app = &job->apps[rank->app];
    const char *const *wrap = rank->wrap < 0 ? none : (const char *const *)job->wraps[rank->wrap];
    const char *const *args = (const char *const *)app->argv + 1;
    size_t count = words_count(wrap) + words_count(args) + 2, at = 0;
    char **argv = calloc(count + 1, sizeof(*argv));
    struct word_values values;
    const struct text_gap gaps[] = {
        {"{rank}", values.numbers[WORD_RANK]}, {"{host}", job->host_name}, {NULL, NULL}};

    if (!argv)
        return NULL;
    values_fill(&values, job, rank, coordinator, port);
    for (; *wrap; wrap++)
        argv[at++] = text_gaps_fill(*wrap, gaps);
    if (rank->wrap >= 0 && needs_python(program, cwd))
        argv[at++] = strdup("python3");
    argv[at++] = strdup(program);
    for (; *args; args++)
        argv[at++] = app->has_words ? argument_words_fill(*args, values.of) : strdup(*args);
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

void rank_command_destroy(char **argv)
{
    for (char **word = argv; word && *word; word++)
        free(*word);
    free(argv);
}

int rank_command_port(const struct job_spec *job, int index)
{
    return framework_port(job, FRAMEWORK_PORTS - 1 - index);
}

static bool needs_port(const struct job_app *app)
{
    for (const char **arg = app->argv + 1; app->has_words && app->argv[0] && *arg; arg++)
        if (strstr(*arg, argument_word_names[WORD_PORT]))
            return true;
    return false;
}

unsigned rank_command_ports_taken(const struct job_spec *job)
{
    unsigned taken = 0;
    int app = 0;

    while (app < job->app_count && !needs_port(&job->apps[app]))
        app++;
    for (int i = 0; i < JOB_PORTS && app < job->app_count; i++)
        if (port_is_taken(rank_command_port(job, i)))
            taken |= 1U << i;
    return taken;
}
