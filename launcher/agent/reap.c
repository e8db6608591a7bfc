/* SPDX-License-Identifier: MIT */
#include "launcher/agent/reap.h"

#include "launcher/agent/agent.h"
#include "launcher/agent/coordination.h"
#include "launcher/agent/core_file.h"
#include "launcher/agent/descendants_linux.h"
#include "launcher/agent/worker.h"
#include "launcher/agent_protocol.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void rank_epitaph(const struct rank *r, char *text, size_t size)
{
    const char *host = r->agent->job->host_name;
    int signal = WTERMSIG(r->status);

    if (WIFEXITED(r->status))
        snprintf(text, size, "exited with status %d on host %s (pid %d)", WEXITSTATUS(r->status),
                 host, (int)r->pid);
    else
        snprintf(text, size, "was killed by signal %d (%s) on host %s (pid %d)", signal,
                 strsignal(signal), host, (int)r->pid);
}

static void exited_send(struct rank *r)
{
    bool has_exited = WIFEXITED(r->status);
    char core[1024];
    json_t *said = json_pack("{si si si sb sb sb}", "rank", r->job->rank, "pid", (int)r->pid,
                             has_exited ? "status" : "signal",
                             has_exited ? WEXITSTATUS(r->status) : WTERMSIG(r->status), "core",
                             !has_exited && WCOREDUMP(r->status), "consequence", (int)r->is_broken,
                             "ended_by_us", (int)r->is_signalled);

    if (!has_exited && WCOREDUMP(r->status) &&
        core_file_find(core, sizeof(core), r->pid, WTERMSIG(r->status),
                       r->agent->cwds[r->job->app]))
        json_object_set_new(said, "core_file", json_string(core));
    if (r->lost[0])
        json_object_set_new(said, "lost", json_string(r->lost)); /* no UTF-8: left out */
    r->state = RANK_REPORTED;
    stream_send_json(r->agent->stream, AGENT_EXITED, said);
}

void rank_on_output(struct rank *r)
{
    if (r->state == RANK_ENDED && !output_has_due(r))
        exited_send(r);
    rank_check_done(r->agent);
}

/* The other ranks hear at once; mlaunch after the rank's last words. */
static void rank_on_end(struct rank *r, int status)
{
    char text[256];

    r->state = RANK_ENDED;
    r->status = status;
    r->agent->ended++;
    r->is_broken =
        job_directory_rank_is_broken(r->agent->dir, r->job->rank, r->lost, sizeof(r->lost));
    rank_epitaph(r, text, sizeof(text));
    coordination_rank_exited(r->agent->coordination, r->job->rank, r->pid, text);
    input_close(r);
    output_rank_ended(r);
    if (!output_has_due(r))
        exited_send(r);
}

void rank_on_failure(struct rank *r, int status, const struct fault *why)
{
    char text[sizeof(why->text) + 300];

    snprintf(text, sizeof(text), "could not be started on host %s: %s", r->agent->job->host_name,
             why->text);
    r->agent->ended++;
    coordination_rank_exited(r->agent->coordination, r->job->rank, 0, text);
    input_close(r);
    r->state = RANK_REPORTED;
    stream_send_json(r->agent->stream, AGENT_EXITED,
                     json_pack("{si si si sb sb sb ss}", "rank", r->job->rank, "pid", 0, "status",
                               status, "core", 0, "consequence", 0, "ended_by_us", 0, "error",
                               why->text));
}

static struct rank *rank_of_pid(struct agent *a, pid_t pid)
{
    for (int i = 0; i < a->spawned; i++) {
        if (a->ranks[i].state == RANK_RUNNING && a->ranks[i].pid == pid)
            return &a->ranks[i];
    }
    return NULL;
}

void reap_all(struct agent *a)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct rank *r = rank_of_pid(a, pid);

        if (r)
            rank_on_end(r, status);
    }
}

static json_t *survivors_describe(struct agent *a)
{
    struct process_list found = {0};
    json_t *list = json_array();

    if (descendants_find(&found, a->dir[0] ? a->dir : NULL, a->guard_fd >= 0 ? a->guard : 0, NULL))
        return list;
    for (size_t i = 0; i < found.count; i++) {
        char text[160];

        descendant_describe(&found.list[i], text, sizeof(text));
        json_array_append_new(list,
                              json_pack("{si ss}", "pid", (int)found.list[i].pid, "text", text));
    }
    process_list_free(&found);
    return list;
}

/* Ranks that outlive SIGKILL are as ended as they get. */
static void ranks_give_up(struct agent *a)
{
    char text[128];
    size_t dropped;

    for (int i = 0; i < a->spawned; i++) {
        struct rank *r = &a->ranks[i];

        if (r->state == RANK_RUNNING) {
            r->status = SIGKILL;
            r->state = RANK_ENDED;
            input_close(r);
        }
    }
    dropped = output_close_all(a);
    if (dropped) {
        snprintf(text, sizeof(text),
                 "%zu bytes that ranks have written, and nobody has taken, are dropped", dropped);
        worker_note(a, "warn", text);
    }
    for (int i = 0; i < a->spawned; i++) {
        if (a->ranks[i].state == RANK_ENDED)
            exited_send(&a->ranks[i]);
    }
}

void rank_check_done(struct agent *a)
{
    json_t *survivors;

    if (a->state == AGENT_IS_DONE || !a->job)
        return;
    /* Ranks that have not been started never will be, once it is being stopped. */
    if (a->ended < (a->stop.is_active ? a->spawned : a->job->rank_count) && !a->stop.has_given_up)
        return;
    if (descendants_exist() && !a->stop.has_given_up) {
        if (!a->stop.is_active)
            stop_start(a, SIGTERM, a->job->grace_ms);
        return;
    }
    if (!a->stop.has_given_up && !output_finish(a))
        return; /* rank_on_output comes back here */
    survivors = a->stop.has_given_up ? survivors_describe(a) : json_array();
    if (a->stop.has_given_up)
        ranks_give_up(a);
    worker_done(a, survivors);
}
