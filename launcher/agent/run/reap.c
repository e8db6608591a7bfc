/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/reap.h"

#include "common/clock.h"
#include "common/text/signal_text.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/rank/framework_error.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_mpi.h"
#include "launcher/agent/run/rank_output.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* "was killed by signal 9 (Killed) on host b (pid 4711)". */
static void end_describe(const struct agent_rank *r, char *text, size_t size)
{
    const char *host = r->agent->run.job->host_name;
    char killed[SIGNAL_TEXT];

    if (WIFEXITED(r->status))
        snprintf(text, size, "exited with status %d on host %s (pid %d)", WEXITSTATUS(r->status),
                 host, (int)r->pid);
    else
        snprintf(text, size, "%s on host %s (pid %d)",
                 signal_text_killed(killed, WTERMSIG(r->status)), host, (int)r->pid);
}

static bool has_succeeded(const struct agent_rank *r)
{
    return WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0;
}

/* The coordinator, and by it the other ranks, is told at once; mlaunch after the last output. */
static void rank_tell(struct agent_rank *r)
{
    char text[256];

    r->state = RANK_ENDED;
    r->agent->run.ranks.ended++;
    r->agent->run.ranks.unreported++;
    r->is_broken = job_directory_rank_is_broken(r->agent->directory.path, r->job->rank, r->lost,
                                                sizeof(r->lost));
    framework_error_read(r->message, sizeof(r->message), r->agent->directory.path, r->job->rank);
    end_describe(r, text, sizeof(text));
    rank_mpi_ended(r, has_succeeded(r));
    coordinator_session_rank_exited(r->agent->run.coordinator_session, r->job->rank, r->pid, text);
    rank_input_close(r);
    rank_output_rank_ended(r);
    if (!rank_output_has_due(r))
        job_report_exited(r);
    agent_check_soon(r->agent);
}

static void held_tell(struct agent *a)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].state == RANK_HELD)
            rank_tell(&a->run.ranks.all[i]);
    }
}

static void rank_end(struct agent_rank *r, int status, const struct rusage *usage)
{
    struct agent *a = r->agent;

    r->state = RANK_HELD;
    r->status = status;
    r->usage = *usage;
    r->elapsed_ms = clock_ms() - r->started_ms;
    if (a->run.place.container)
        container_rank_ended(a->run.place.container, (int)(r - a->run.ranks.all), status,
                             !r->is_signalled && !a->run.stop.is_active, r->unstarted,
                             sizeof(r->unstarted));
    if (has_succeeded(r) || a->run.stop.is_active || !rank_mpi_hold(a, held_tell))
        rank_tell(r);
}

void reap_failed_start(struct agent_rank *r, int status, const struct fault *why)
{
    char text[sizeof(why->text) + 300];

    snprintf(text, sizeof(text), "could not be started on host %s: %s",
             r->agent->run.job->host_name, why->text);
    if (r->agent->run.place.container)
        container_rank_ended(r->agent->run.place.container, (int)(r - r->agent->run.ranks.all), -1,
                             true, r->unstarted, sizeof(r->unstarted));
    r->agent->run.ranks.ended++;
    rank_mpi_ended(r, false);
    coordinator_session_rank_exited(r->agent->run.coordinator_session, r->job->rank, 0, text);
    rank_input_close(r);
    job_report_failed(r, status, why);
    agent_check_soon(r->agent);
}

static struct agent_rank *rank_of_pid(struct agent *a, pid_t pid)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].state == RANK_RUNNING && a->run.ranks.all[i].pid == pid)
            return &a->run.ranks.all[i];
    }
    return NULL;
}

void reap_all(struct agent *a)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        struct agent_rank *r = rank_of_pid(a, pid);

        if (r)
            rank_end(r, status, &usage);
        else if (pid == a->run.keeper.pid)
            job_keeper_again(a, status);
        else if (!hook_reaped(a->run.hook, pid, status))
            rank_mpi_reaped(a, pid, status);
    }
}
