/* SPDX-License-Identifier: MIT */
#include "launcher/agent/job_finish.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/agent/agent_run.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/job_prepare.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_mpi.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/ranks_stop.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CGROUP_WAIT_MS = 200,
    LEFT_MS = 200, /* in which what ranks have left may end by itself: Python's helpers do */
    LEFT_NAMED = 3,
};

/* EXITED is sent only after the rank's last output. */
static void ranks_report(struct agent *a)
{
    for (int i = 0; i < a->run.ranks.spawned && a->run.ranks.unreported > 0; i++) {
        if (a->run.ranks.all[i].state == RANK_ENDED && !rank_output_has_due(&a->run.ranks.all[i]))
            job_report_exited(&a->run.ranks.all[i]);
    }
}

/* The rank to which it belongs, as its environment says; -1: it does not say. */
static int rank_of_process(pid_t pid)
{
    static const char name[] = "MLAUNCH_RANK=";
    char **variables = process_variables(pid);
    int rank = -1;

    for (char **v = variables; v && *v; v++) {
        if (strncmp(*v, name, sizeof(name) - 1) == 0)
            rank = atoi(*v + sizeof(name) - 1);
    }
    process_variables_free(variables);
    return rank;
}

/* Names a process that a rank has left, and that is ended with the job. */
static void left_name(struct agent *a, const struct process *p)
{
    char text[256], who[32] = "a rank";
    int rank = rank_of_process(p->pid);

    if (rank >= 0)
        snprintf(who, sizeof(who), "rank %d", rank);
    snprintf(
        text, sizeof(text),
        "%s has ended before pid %d (%s), which it had started, and which is ended now: a rank "
        "must end last",
        who, (int)p->pid, p->name);
    job_report_note(a, "warn", text);
}

/* Drops the agent's own helpers. */
static void left_find(struct process_list *left)
{
    size_t kept = 0;

    if (descendants_find(left, NULL))
        *left = (struct process_list){0};
    for (size_t i = 0; i < left->count; i++) {
        if (strncmp(left->list[i].name, "mlaunch-", 8) != 0)
            left->list[kept++] = left->list[i];
    }
    left->count = kept;
}

static void on_left_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    agent_check_soon(arg);
}

/* All ranks have ended, and processes are left. True: they have more time to end by themselves. */
static bool left_wait(struct agent *a)
{
    struct timeval rest = {0};
    struct process_list left;
    bool waits;

    left_find(&left);
    if (a->run.left_until == 0)
        a->run.left_until = clock_ms() + LEFT_MS;
    rest.tv_usec = clock_left_ms(a->run.left_until) * 1000;
    waits = left.count > 0 && rest.tv_usec > 0 &&
            event_base_once(a->base, -1, EV_TIMEOUT, on_left_limit, a, &rest) == 0;
    for (size_t i = 0; !waits && i < left.count && i < LEFT_NAMED; i++)
        left_name(a, &left.list[i]);
    process_list_free(&left);
    return waits;
}

static json_t *survivors_describe(void)
{
    struct process_list found = {0};
    json_t *list = json_array();

    if (descendants_find(&found, NULL))
        return list;
    for (size_t i = 0; i < found.count; i++) {
        char text[160];

        descendants_describe(&found.list[i], text, sizeof(text));
        json_array_append_new(
            list, json_pack("{si so}", "pid", (int)found.list[i].pid, "text", text_json(text)));
    }
    process_list_free(&found);
    return list;
}

/* Treats ranks that outlive SIGKILL as ended by it. */
static void ranks_give_up(struct agent *a)
{
    char text[128];
    size_t dropped;

    for (int i = 0; i < a->run.ranks.spawned; i++) {
        struct agent_rank *r = &a->run.ranks.all[i];

        if (r->state == RANK_RUNNING || r->state == RANK_HELD) {
            if (r->state == RANK_RUNNING)
                r->status = SIGKILL;
            r->state = RANK_ENDED;
            a->run.ranks.unreported++;
            rank_input_close(r);
        }
    }
    dropped = rank_output_close_all(a);
    if (dropped) {
        snprintf(text, sizeof(text),
                 "%zu bytes that ranks have written, and nobody has read, are dropped", dropped);
        job_report_note(a, "warn", text);
    }
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].state == RANK_ENDED)
            job_report_exited(&a->run.ranks.all[i]);
    }
}

bool job_finish_is_over(const struct agent *a)
{
    return a->run.state == AGENT_IS_DONE && a->run.job &&
           ((a->run.job->hosts == 1 && !job_options_agents_stay(&a->run.job->options)) ||
            a->run.is_leaving) &&
           frame_stream_kept(a->launcher.channel) == 0;
}

/* Removing the directory takes longer than all else here, because file systems wait for the disk,
 * and others may have filled /dev/shm with names: the guard does both meanwhile. */
static void directory_leave(struct agent *a)
{
    if (job_options_agents_stay(&a->run.job->options))
        return; /* what ranks have kept stays until BYE, or for the next run */
    a->directory.is_guard_removing = a->guard_fd >= 0;
    if (a->directory.is_guard_removing) {
        guard_tell_end(a->guard_fd);
    } else if (a->directory.path[0]) {
        job_directory_sweep_shm(a->directory.path, false);
        job_directory_remove(a->directory.path);
    }
}

/* How many threads had how few processors; NULL: all had enough. */
static json_t *crowding(const struct agent *a)
{
    return crowding_is_lasting(&a->run.report.crowding)
               ? json_pack("{si si si}", "threads", a->run.report.crowding.threads, "ranks",
                           a->run.report.crowding.ranks, "processors",
                           a->run.report.crowding.processors)
               : NULL;
}

/* Cleans up and sends DONE. Takes over `survivors`. */
static void job_end(struct agent *a, json_t *survivors)
{
    a->run.state = AGENT_IS_DONE;
    event_del(a->stop_timer);
    rank_output_close_all(a);
    directory_leave(a);
    cgroup_remove(a->run.place.cgroup, CGROUP_WAIT_MS);
    a->run.place.cgroup[0] = '\0';
    frame_stream_send_json(a->launcher.channel, AGENT_DONE,
                           json_pack("{so so*}", "survivors", survivors, "crowded", crowding(a)));
    frame_stream_flush(a->launcher.channel);
    if (frame_stream_has_ended(a->launcher.channel) || job_finish_is_over(a))
        event_base_loopbreak(a->base);
}

static void on_epilog_end(const struct fault *failed, const char *output, void *arg)
{
    struct agent *a = arg;

    if (failed || output[0])
        job_report_note(a, failed ? "warn" : "info", failed ? failed->text : output);
    hook_close(a->run.hook);
    a->run.hook = NULL;
    a->run.in_epilog = false;
    agent_check_soon(a);
}

/* --- the steps to DONE ------------------------------------------------------------------------ */

static bool hook_has_ended(struct agent *a)
{
    return !a->run.hook;
}

/* Once the job is being stopped, no more ranks are started. */
static bool ranks_have_ended(struct agent *a)
{
    const struct agent_ranks *ranks = &a->run.ranks;

    return ranks->ended >= (a->run.stop.is_active ? ranks->spawned : a->run.job->rank_count);
}

static bool ranks_are_decided(struct agent *a)
{
    return a->run.ranks.undecided == 0 || a->run.stop.is_active;
}

static bool helpers_have_ended(struct agent *a)
{
    return rank_mpi_has_finished(a) && !a->run.keeper.pid;
}

static void helpers_end(struct agent *a)
{
    rank_mpi_finish(a);
    job_keeper_close(a);
}

static bool left_has_ended(struct agent *a)
{
    (void)a;
    return !descendants_exist();
}

static void left_end(struct agent *a)
{
    if (!a->run.stop.is_active && !left_wait(a))
        ranks_stop_begin(a, SIGTERM, a->run.job->options.grace_ms);
}

static bool output_is_sent(struct agent *a)
{
    return a->run.output.is_dropped || rank_output_finish(a);
}

static bool epilog_has_run(struct agent *a)
{
    return !a->run.owes_epilog && !a->run.hook;
}

static void epilog_start(struct agent *a)
{
    /* Linux kills what is born into a group once its cgroup.kill was used. */
    struct hook_config epilog = {.name = "epilog",
                                 .command = a->run.job->options.epilog,
                                 .cgroup = -1,
                                 .on_end = on_epilog_end};
    struct fault why;

    a->run.owes_epilog = false;
    ranks_stop_end(a);
    a->run.in_epilog = job_prepare_hook(a, &epilog, &why) == 0;
    if (!a->run.in_epilog)
        job_report_note(a, "warn", why.text);
}

/*
 * The end of a job, in this order. All steps are looked at again whenever something has ended: what
 * the epilog has left is ended as what the ranks have left. One that is not done is begun, and as
 * long as it then is not done, no later one is looked at; what it waits for calls agent_check_soon.
 * Once the agent has given up, steps that may take time are passed over.
 */
static const struct finish_step {
    const char *name;
    bool (*is_done)(struct agent *a);
    void (*begin)(struct agent *a); /* NULL: it comes about by itself */
    bool is_instant;
} steps[] = {
    {"the prolog or epilog has ended", hook_has_ended, NULL, false},
    {"all ranks have ended", ranks_have_ended, NULL, false},
    {"mlaunch has decided on all ranks", ranks_are_decided, NULL, false},
    {"mlaunch-pmix and the keeper have ended", helpers_have_ended, helpers_end, true},
    {"what ranks have left has ended", left_has_ended, left_end, false},
    {"all output is sent", output_is_sent, NULL, false},
    {"all calls are sent", job_report_calls, NULL, false},
    {"the epilog has run", epilog_has_run, epilog_start, false},
};

/* The first step that is not done and is waited for; or NULL. */
static const struct finish_step *step_awaited(struct agent *a)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct finish_step *s = &steps[i];

        if ((a->run.stop.has_given_up && !s->is_instant) || s->is_done(a))
            continue;
        if (s->begin)
            s->begin(a);
        if (!s->begin || !s->is_done(a))
            return s;
    }
    return NULL;
}

static void job_check(struct agent *a)
{
    const struct finish_step *awaited;
    json_t *survivors;

    if (a->run.state == AGENT_IS_DONE || !a->run.job)
        return;
    awaited = step_awaited(a);
    if (awaited) {
        log_debug("the job ends here once %s", awaited->name);
        return;
    }
    survivors = a->run.stop.has_given_up ? survivors_describe() : json_array();
    if (a->run.stop.has_given_up || a->run.output.is_dropped)
        ranks_give_up(a);
    job_end(a, survivors);
}

static void on_check(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    ranks_report(a);
    job_check(a);
}

int job_finish_open(struct agent *a, struct fault *why)
{
    a->check_event = event_new(a->base, -1, 0, on_check, a);
    return a->check_event ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory for an event");
}

void job_finish_forget(struct agent *a)
{
    struct job_place_directory *d = &a->directory;

    cgroup_remove(a->run.place.cgroup, CGROUP_WAIT_MS); /* there is one if no rank was started */
    agent_run_close(a);
    if (d->path[0])
        job_directory_empty(d->path);
    d->is_guard_removing = false;
    a->launcher = (struct agent_launcher){.channel = a->launcher.channel};
    a->exit_status = 0;
    agent_run_open(a);
}
