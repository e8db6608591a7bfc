/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_clean.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/text_json.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/queries/answer_clean_files.h"
#include "launcher/agent/queries/job_survey.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PASS_MS = 50, /* between two passes over /proc */
};

/* Stores in `id` the dead job that the process was left by. False: there is none, or the process
 * must not be touched. */
static bool is_left_over(const struct job_survey *s, const struct answer_question *q, size_t i,
                         char id[AUTH_JOB])
{
    const struct job_survey_owner *o = &s->owners[i];
    uid_t user;

    if (s->processes.list[i].has_ended)
        return false;
    if (o->job >= 0 && s->jobs[o->job].state == JOB_SURVEY_STALE &&
        s->jobs[o->job].user == geteuid())
        snprintf(id, AUTH_JOB, "%s", s->jobs[o->job].file.job);
    else if (o->is_orphan && o->mark)
        job_survey_id(o->mark, id);
    else
        return false;
    return job_survey_is_asked_id(s, id, q->job) && process_user(s->processes.list[i].pid, &user) &&
           user == geteuid();
}

/* Processes that must not be touched: this one and its ancestors, and the agents of live jobs with
 * their ancestors and descendants. (An agent's parent may be the mlaunch of a job that was started
 * from within a dead one.) */
static bool is_protected(const struct job_survey *s, const struct process *p)
{
    for (size_t i = 0; i < s->processes.count; i++) {
        const struct process *other = &s->processes.list[i];

        if (other->pid == getpid() && job_survey_is_below(s, other, p->pid))
            return true;
        if (s->owners[i].is_agent &&
            (job_survey_is_below(s, other, p->pid) || job_survey_is_below(s, p, other->pid)))
            return true;
    }
    return false;
}

struct left_over {
    const struct process *process;
    char job[AUTH_JOB];
};

/* The caller frees *out. */
static int processes_collect(const struct job_survey *s, const struct answer_question *q,
                             struct left_over **out, size_t *count, struct fault *why)
{
    struct left_over *list = calloc(s->processes.count + 1, sizeof(*list));

    if (!list)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *count = 0;
    for (size_t i = 0; i < s->processes.count; i++) {
        struct left_over *l = &list[*count];

        if (is_left_over(s, q, i, l->job) && !is_protected(s, &s->processes.list[i])) {
            l->process = &s->processes.list[i];
            (*count)++;
        }
    }
    *out = list;
    return 0;
}

static json_t *process_report(const struct left_over *l, const char *text)
{
    json_t *one = json_pack("{ss si}", "kind", "process", "pid", (int)l->process->pid);

    json_object_set_new(one, "job", text_json(l->job));
    json_object_set_new(one, "name", text_json(l->process->name));
    json_object_set_new(one, "text", text_json(text));
    return one;
}

static bool is_reported(const json_t *list, const struct process *p)
{
    size_t i;
    const json_t *one;

    json_array_foreach(list, i, one)
    {
        if (json_integer_value(json_object_get(one, "pid")) == p->pid)
            return true;
    }
    return false;
}

/* Waits until one of them ends, at most until the next pass. */
static void process_wait_short(const struct process *p)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, p->pid, 0), .events = POLLIN};

    poll(&end, 1, PASS_MS);
    if (end.fd >= 0)
        close(end.fd);
}

/* One pass over /proc: signals the processes that are left over. *more: another pass is needed. */
static int processes_pass(const struct answer_question *q, int64_t past_ms, bool *more,
                          json_t *removed, json_t *left, struct fault *why)
{
    struct left_over *list = NULL;
    struct job_survey *s;
    size_t count = 0;
    int rc = job_survey_open(&s, q->base, why);

    if (!rc)
        rc = processes_collect(s, q, &list, &count, why);
    for (size_t i = 0; i < count; i++) {
        const struct process *p = list[i].process;
        char text[160];

        if (past_ms >= CLEAN_KILLED_MS) {
            descendants_describe(p, text, sizeof(text));
            json_array_append_new(left, process_report(&list[i], text));
            continue;
        }
        if (!is_reported(removed, p))
            json_array_append_new(removed, process_report(&list[i], ""));
        else if (past_ms < ORPHANS_GRACE_MS)
            continue; /* it has been sent SIGTERM */
        if (q->dry_run)
            continue;
        process_signal(p, past_ms >= ORPHANS_GRACE_MS ? SIGKILL : SIGTERM);
        if (past_ms < ORPHANS_GRACE_MS)
            process_signal(p, SIGCONT); /* a stopped process handles no signal */
    }
    *more = count > 0 && !q->dry_run && past_ms < CLEAN_KILLED_MS;
    if (*more)
        process_wait_short(list[0].process);
    free(list);
    job_survey_close(s);
    return rc;
}

/* Repeats passes, because some processes fork while they are ended. */
static int processes_end(const struct answer_question *q, json_t *removed, json_t *left,
                         struct fault *why)
{
    int64_t begin = clock_ms();
    bool more = true;
    int rc = 0;

    while (more && !rc)
        rc = processes_pass(q, clock_ms() - begin, &more, removed, left, why);
    return rc;
}

/* Drops from `removed` the processes that could not be ended. */
static void survivors_sort_out(json_t *removed, const json_t *left)
{
    const json_t *one;
    size_t i, k;

    json_array_foreach(left, i, one)
    {
        json_t *pid = json_object_get(one, "pid");

        for (k = json_array_size(removed); k-- > 0;) {
            if (json_equal(json_object_get(json_array_get(removed, k), "pid"), pid))
                json_array_remove(removed, k);
        }
    }
}

int answer_clean_run(const struct answer_question *q, json_t *out, struct fault *why)
{
    json_t *removed = json_array(), *left = json_array();
    struct job_survey *s;
    int rc = processes_end(q, removed, left, why);

    survivors_sort_out(removed, left);
    if (!rc && !(rc = job_survey_open(&s, q->base, why))) {
        answer_clean_files_sweep(s, q, removed, left);
        job_survey_close(s);
    }
    json_object_set_new(out, "removed", removed);
    json_object_set_new(out, "left", left);
    return rc;
}
