/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_find.h"

#include "common/text/text_json.h"
#include "launcher/agent/queries/job_survey.h"
#include "launcher/base/text/program_path.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void found_set(json_t *out, const char *found, const char *text)
{
    json_object_set_new(out, "found", json_string(found));
    json_object_set_new(out, "text", text_json(text));
}

static const char *shell_find(void)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *own = getenv("SHELL");

    if (own && own[0] == '/')
        return own;
    return user && user->pw_shell && user->pw_shell[0] ? user->pw_shell : "/bin/sh";
}

static void rank_describe(json_t *out, pid_t pid)
{
    char path[64], cwd[PATH_MAX], *gdb = NULL;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    length = readlink(path, cwd, sizeof(cwd) - 1);
    if (length < 0) {
        snprintf(cwd, sizeof(cwd), "cannot look at its process %d: %s", (int)pid, strerror(errno));
        found_set(out, "job", cwd);
        return;
    }
    cwd[length] = '\0';
    found_set(out, "rank", "");
    json_object_set_new(out, "pid", json_integer(pid));
    json_object_set_new(out, "cwd", text_json(cwd));
    json_object_set_new(out, "shell", text_json(shell_find()));
    json_object_set_new(out, "gdb", json_boolean(program_path_find(&gdb, "gdb", NULL) == 0));
    free(gdb);
}

static int job_search(const struct job_survey *s, int job, int rank, json_t *out, struct fault *why)
{
    struct job_survey_rank *ranks = NULL;
    int count = 0, rc = job_survey_ranks(s, job, &ranks, &count, why);

    if (rc)
        return rc;
    found_set(out, "job", "");
    for (int i = 0; i < count; i++) {
        if (ranks[i].rank == rank && ranks[i].lives)
            rank_describe(out, ranks[i].pid);
    }
    free(ranks);
    return 0;
}

/* Only what is this user's own and runs here is looked into. */
int answer_find_run(const struct answer_question *q, json_t *out, struct fault *why)
{
    int rank = (int)json_integer_value(json_object_get(q->question, "rank")), rc;
    bool is_found = false;
    struct job_survey *s;

    rc = job_survey_open(&s, q->base, why);
    if (rc)
        return rc;
    found_set(out, "no", "");
    for (int i = 0; i < s->job_count && !rc && !is_found; i++) {
        const struct job_survey_job *j = &s->jobs[i];

        if (!*q->job || !job_survey_is_asked(j, q->job))
            continue;
        if (j->user != geteuid())
            found_set(out, "stranger", "it belongs to another user, who alone may attach to it");
        else if (j->state == JOB_SURVEY_LIVE)
            rc = job_search(s, i, rank, out, why);
        is_found = strcmp(json_string_value(json_object_get(out, "found")), "rank") == 0;
    }
    job_survey_close(s);
    return rc;
}
