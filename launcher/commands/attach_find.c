/* SPDX-License-Identifier: MIT */
#include "launcher/commands/attach_find.h"

#include "common/log.h"
#include "common/text/object_field.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000 };

struct wanted {
    const char *job;
    int rank;
};

static json_t *question_make(void *arg, int host, int round)
{
    const struct wanted *w = arg;

    (void)host, (void)round;
    return json_pack("{ss ss si}", "what", "find", "job", w->job, "rank", w->rank);
}

static int answer_take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    (void)arg, (void)host, (void)round;
    return json_is_string(json_object_get(said, "found"))
               ? 0
               : fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER");
}

static int place_take(struct attach_place *out, int host, json_t *said, struct fault *why)
{
    json_int_t pid = json_integer_value(json_object_get(said, "pid"));
    int rc;

    if (pid < 2 || pid > INT_MAX)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER");
    out->host = host;
    out->pid = (int)pid;
    out->has_gdb = json_is_true(json_object_get(said, "gdb"));
    rc = string_copy(&out->cwd, object_field_text(said, "cwd"), why);
    return rc ? rc : string_copy(&out->shell, object_field_text(said, "shell"), why);
}

/* Why there is nothing to attach to. */
static int absence_explain(const struct query_answer *answers, int count, const struct wanted *w,
                           struct fault *why)
{
    const char *here = count == 1 ? "on this host" : "on these hosts";
    char job[TEXT_SHOWN];
    bool has_job = false;

    text_show(job, w->job);
    for (int i = 0; i < count; i++) {
        const char *found = object_field_text(answers[i].said, "found");
        const char *text = object_field_text(answers[i].said, "text");

        if (!answers[i].said)
            log_warn("host %s: %s", answers[i].host->name, answers[i].error);
        if (*text)
            return fault_set(why, ML_ERR_ARGUMENT, "job %s on host %s: %.300s", job,
                             answers[i].host->name, text);
        has_job |= strcmp(found, "job") == 0;
    }
    if (has_job)
        return fault_set(why, ML_ERR_ARGUMENT, "no rank %d of job %s runs %s", w->rank, job, here);
    return fault_set(why, ML_ERR_STATE,
                     "no job %s of yours runs %s; mlaunch ps shows the jobs, and -H or --hostfile "
                     "name a job's hosts",
                     job, here);
}

int attach_find(struct attach_place *out, const struct plan *p, const struct options *o,
                const char *job, int rank, struct fault *why)
{
    struct wanted w = {job, rank};
    const struct query_rounds rounds = {
        .count = 1, .question = question_make, .take = answer_take, .arg = &w};
    struct query_answer *answers = NULL;
    const struct query_limits limits = {.timeout_ms = TIMEOUT_MS};
    struct query_channel channel;
    int count = p->list->count, host = 0;
    int rc = query_command_channel(&channel, o, p, why);

    *out = (struct attach_place){0};
    if (!rc)
        rc = query_run(&answers, p->list, &channel.config, &rounds, &limits, why);
    if (rc)
        return rc;
    while (host < count && strcmp(object_field_text(answers[host].said, "found"), "rank") != 0)
        host++;
    rc = host < count ? place_take(out, host, answers[host].said, why)
                      : absence_explain(answers, count, &w, why);
    query_free(answers, count);
    return rc;
}

void attach_place_clear(struct attach_place *place)
{
    free(place->cwd);
    free(place->shell);
    *place = (struct attach_place){0};
}
