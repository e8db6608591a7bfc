/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_kill.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/job_file.h"
#include "common/text/text_json.h"
#include "launcher/agent/queries/job_survey.h"
#include "launcher/base/process/signal_sender.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* False: it has not ended by the deadline. */
static bool process_await(const struct process *p, int64_t deadline_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    struct process now;
    int ready;

    if (fd < 0)
        return errno == ESRCH;
    if (!process_read(&now, p->pid) || now.start_time != p->start_time) {
        close(fd);
        return true;
    }
    do
        ready = poll(&end, 1, clock_left_ms(deadline_ms));
    while (ready < 0 && errno == EINTR);
    close(fd);
    return ready > 0;
}

static void killer_note(const struct job_survey_job *j)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "", text[512];

    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "by %.100s on host %s", user ? user->pw_name : "its user", host);
    job_file_put(j->dir, JOB_DIRECTORY_KILLED, text, NULL);
}

/* The worker ends its ranks as it would for the launcher, which it tells. A worker that hangs is
 * killed, and the guard ends the rest. */
static bool job_end(const struct job_survey *s, const struct job_survey_job *j)
{
    const struct process *worker =
        j->worker_lives ? process_list_find(&s->processes, (pid_t)j->file.agent_pid) : NULL;
    const struct process *guard =
        j->guard_lives ? process_list_find(&s->processes, (pid_t)j->file.guard_pid) : NULL;
    int64_t deadline_ms = clock_ms() + j->file.grace_ms + KILL_MARGIN_MS;

    killer_note(j);
    if (guard)
        process_signal(guard, SIGCONT); /* it may have been stopped */
    if (worker) {
        process_signal(worker, SIGTERM);
        process_signal(worker, SIGCONT);
        if (!process_await(worker, deadline_ms))
            process_signal(worker, SIGKILL);
        if (!process_await(worker, clock_ms() + KILL_GUARD_MS))
            return false;
    }
    return !guard || process_await(guard, clock_ms() + KILL_GUARD_MS);
}

static void answer_set(json_t *out, const char *found, const char *text)
{
    json_object_set_new(out, "found", json_string(found));
    json_object_set_new(out, "text", json_string(text));
}

/* False: nobody is there who could tell the ranks. */
static bool job_ask(const struct job_survey *s, const struct job_survey_job *j)
{
    const struct process *worker =
        j->worker_lives ? process_list_find(&s->processes, (pid_t)j->file.agent_pid) : NULL;

    if (worker)
        process_signal_value(worker, SIGUSR1, SIGNAL_SENDER_ASKS_STOP);
    return worker;
}

static void job_kill(const struct job_survey *s, const struct job_survey_job *j, bool soft,
                     json_t *out)
{
    if (j->user != geteuid())
        answer_set(out, "stranger", "it belongs to another user, who alone may kill it");
    else if (j->state == JOB_SURVEY_ELSEWHERE)
        answer_set(out, "elsewhere",
                   "it runs in another container or on another machine: kill it there");
    else if (j->state != JOB_SURVEY_LIVE)
        answer_set(out, "stale", "it has already ended; mlaunch clean removes its remains");
    else if (soft && job_ask(s, j))
        answer_set(out, "asked", "it has been asked to stop");
    else if (soft)
        answer_set(out, "refused", "its agent's worker is gone: it cannot be asked any more");
    else if (job_end(s, j))
        answer_set(out, "killed", "it has been ended");
    else
        answer_set(out, "refused", "its agent has not ended; mlaunch ps shows what is left");
}

int answer_kill_run(const struct answer_question *q, json_t *out, struct fault *why)
{
    json_t *live = json_array();
    bool is_found = false, is_own_found = false;
    struct job_survey *s;
    int rc = job_survey_open(&s, q->base, why);

    if (rc) {
        json_decref(live);
        return rc;
    }
    answer_set(out, "no", "");
    for (int i = 0; i < s->job_count; i++) {
        const struct job_survey_job *j = &s->jobs[i];
        bool is_own = j->user == geteuid();

        if (j->state == JOB_SURVEY_LIVE && is_own)
            json_array_append_new(live, text_json(j->file.job));
        if (!*q->job || !job_survey_is_asked(j, q->job) || j->state == JOB_SURVEY_UNREADABLE)
            continue;
        /* Agents of several hosts may share this machine: each is ended. What another user has
         * under the same id, perhaps to mislead, is the answer only if there is nothing else. */
        if (!is_found || (is_own && (!is_own_found || j->state == JOB_SURVEY_LIVE)))
            job_kill(s, j, q->soft, out);
        is_found = true;
        is_own_found = is_own_found || is_own;
    }
    json_object_set_new(out, "live", live);
    job_survey_close(s);
    return 0;
}
