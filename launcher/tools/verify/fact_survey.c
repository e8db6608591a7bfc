/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/fact_survey.h"

#include "common/text/text_json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int fact_survey_open(struct fact_survey *s, struct fault *why)
{
    size_t count = (size_t)s->c->hosts->count;

    s->opened_at = now_s();
    s->hosts = calloc(count, sizeof(*s->hosts));
    s->clock_ahead = calloc(count, sizeof(*s->clock_ahead));
    s->asked_at = calloc(count, sizeof(*s->asked_at));
    if (!s->hosts || !s->clock_ahead || !s->asked_at)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

void fact_survey_close(struct fact_survey *s)
{
    for (int i = 0; s->hosts && i < s->c->hosts->count; i++)
        host_facts_clear(&s->hosts[i]);
    free(s->hosts);
    free(s->clock_ahead);
    free(s->asked_at);
}

/* The program, with all by which a job would find it there. */
static void program_add(json_t *question, const struct fact_survey *s, const struct host *h)
{
    json_object_set_new(question, "files", json_pack("[o]", text_json(s->program)));
    json_object_set_new(question, "cwd", text_json(s->cwd));
    json_object_set_new(question, "host_cwd", text_json(h->cwd ? h->cwd : ""));
    for (char **entry = h->env; entry && *entry; entry++)
        if (strncmp(*entry, "PATH=", strlen("PATH=")) == 0)
            json_object_set_new(question, "path", text_json(*entry + strlen("PATH=")));
}

json_t *fact_survey_question(void *survey, int host, int round)
{
    const struct fact_survey *s = survey;
    json_t *question = json_pack("{ss sb sb}", "what", "facts", "jobs", (int)s->with_jobs, "try",
                                 (int)s->with_files);
    char root[4096];

    (void)round;
    s->asked_at[host] = now_s();
    if (s->sysfs) {
        snprintf(root, sizeof(root), "%s/%s", s->sysfs, s->c->hosts->hosts[host].name);
        json_object_set_new(question, "root", text_json(root));
    }
    if (s->modules && s->modules->count > 0) {
        json_t *modules = json_array();

        for (size_t i = 0; i < s->modules->count; i++)
            json_array_append_new(modules, text_json(s->modules->items[i]));
        json_object_set_new(question, "modules", modules);
    }
    if (s->program)
        program_add(question, s, &s->c->hosts->hosts[host]);
    return question;
}

/* The host's clock was read at some moment between the question and its answer. */
static double clock_ahead(double asked, double answered, double read)
{
    return read > answered ? read - answered : read < asked ? read - asked : 0;
}

int fact_survey_take(void *survey, int host, int round, const json_t *said, struct fault *why)
{
    const struct fact_survey *s = survey;
    struct host_facts *h = &s->hosts[host];
    int rc = host_facts_read(h, (json_t *)(uintptr_t)said, why);

    (void)round;
    if (!rc && h->time > 0)
        s->clock_ahead[host] = clock_ahead(s->asked_at[host], now_s(), h->time);
    return rc;
}

int fact_survey_ask(struct fact_survey *s, struct fault *why)
{
    const struct query_rounds rounds = {
        .count = 1, .question = fact_survey_question, .take = fact_survey_take, .arg = s};

    for (int i = 0; i < s->c->hosts->count; i++)
        host_facts_clear(&s->hosts[i]);
    return query_command_ask_rounds(s->c, &rounds, why);
}
