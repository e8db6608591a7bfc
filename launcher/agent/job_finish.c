/* SPDX-License-Identifier: MIT */
#include "launcher/agent/job_finish.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/agent/children/copier_child.h"
#include "launcher/agent/children/stack_child.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/job_prepare.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_place.h"
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
    for (int i = 0; i < a->spawned && a->unreported > 0; i++) {
        if (a->ranks[i].state == RANK_ENDED && !rank_output_has_due(&a->ranks[i]))
            job_report_exited(&a->ranks[i]);
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
    if (a->left_until == 0)
        a->left_until = clock_ms() + LEFT_MS;
    rest.tv_usec = clock_left_ms(a->left_until) * 1000;
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

    for (int i = 0; i < a->spawned; i++) {
        struct agent_rank *r = &a->ranks[i];

        if (r->state == RANK_RUNNING || r->state == RANK_HELD) {
            if (r->state == RANK_RUNNING)
                r->status = SIGKILL;
            r->state = RANK_ENDED;
            a->unreported++;
            rank_input_close(r);
        }
    }
    dropped = rank_output_close_all(a);
    if (dropped) {
        snprintf(text, sizeof(text),
                 "%zu bytes that ranks have written, and nobody has read, are dropped", dropped);
        job_report_note(a, "warn", text);
    }
    for (int i = 0; i < a->spawned; i++) {
        if (a->ranks[i].state == RANK_ENDED)
            job_report_exited(&a->ranks[i]);
    }
}

bool job_finish_is_over(const struct agent *a)
{
    return a->state == AGENT_IS_DONE && a->job &&
           ((a->job->hosts == 1 && !job_options_agents_stay(&a->job->options)) || a->is_leaving) &&
           frame_stream_kept(a->channel) == 0;
}

/* Removing the directory takes longer than all else here, because file systems wait for the disk,
 * and others may have filled /dev/shm with names: the guard does both meanwhile. */
static void directory_leave(struct agent *a)
{
    if (job_options_agents_stay(&a->job->options))
        return; /* what ranks have kept stays until BYE, or for the next run */
    a->is_guard_removing = a->guard_fd >= 0;
    if (a->is_guard_removing) {
        guard_tell_end(a->guard_fd);
    } else if (a->dir[0]) {
        job_directory_sweep_shm(a->dir, false);
        job_directory_remove(a->dir);
    }
}

/* How many threads had how few processors; NULL: all had enough. */
static json_t *crowding(const struct agent *a)
{
    return crowding_is_lasting(&a->crowding)
               ? json_pack("{si si si}", "threads", a->crowding.threads, "ranks", a->crowding.ranks,
                           "processors", a->crowding.processors)
               : NULL;
}

/* Cleans up and sends DONE. Takes over `survivors`. */
static void job_end(struct agent *a, json_t *survivors)
{
    a->state = AGENT_IS_DONE;
    event_del(a->stop.timer);
    rank_output_close_all(a);
    directory_leave(a);
    cgroup_remove(a->cgroup, CGROUP_WAIT_MS);
    a->cgroup[0] = '\0';
    frame_stream_send_json(a->channel, AGENT_DONE,
                           json_pack("{so so*}", "survivors", survivors, "crowded", crowding(a)));
    frame_stream_flush(a->channel);
    if (frame_stream_has_ended(a->channel) || job_finish_is_over(a))
        event_base_loopbreak(a->base);
}

static void on_epilog_end(const struct fault *failed, const char *output, void *arg)
{
    struct agent *a = arg;

    if (failed || output[0])
        job_report_note(a, failed ? "warn" : "info", failed ? failed->text : output);
    hook_close(a->hook);
    a->hook = NULL;
    a->in_epilog = false;
    agent_check_soon(a);
}

/* Starts the epilog if it is to run. True: it runs now; what it leaves is ended afterwards. */
static bool epilog_start(struct agent *a)
{
    /* Linux kills what is born into a group once its cgroup.kill was used. */
    struct hook_config epilog = {
        .name = "epilog", .command = a->job->options.epilog, .cgroup = -1, .on_end = on_epilog_end};
    struct fault why;

    if (!a->owes_epilog || a->stop.has_given_up)
        return false;
    a->owes_epilog = false;
    ranks_stop_end(a);
    a->in_epilog = job_prepare_hook(a, &epilog, &why) == 0;
    if (!a->in_epilog)
        job_report_note(a, "warn", why.text);
    return a->in_epilog;
}

static void job_check(struct agent *a)
{
    json_t *survivors;

    if (a->state == AGENT_IS_DONE || !a->job)
        return;
    if (a->hook && !a->stop.has_given_up)
        return; /* its end leads here again */
    /* Once the job is being stopped, no more ranks are started. */
    if (a->ended < (a->stop.is_active ? a->spawned : a->job->rank_count) && !a->stop.has_given_up)
        return;
    if (a->undecided > 0 && !a->stop.is_active && !a->stop.has_given_up)
        return;
    rank_mpi_finish(a);
    job_keeper_close(a);
    if (descendants_exist() && !a->stop.has_given_up) {
        if (!a->stop.is_active && !left_wait(a))
            ranks_stop_begin(a, SIGTERM, a->job->options.grace_ms);
        return;
    }
    if (!a->stop.has_given_up && !a->drops_output && !rank_output_finish(a))
        return; /* more output is read first, which calls agent_check_soon again */
    if (!a->stop.has_given_up && !job_report_calls(a))
        return; /* on_written (worker.c) leads here again */
    if (epilog_start(a))
        return;
    survivors = a->stop.has_given_up ? survivors_describe() : json_array();
    if (a->stop.has_given_up || a->drops_output)
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
    struct agent next = {.base = a->base,
                         .channel = a->channel,
                         .guard_fd = a->guard_fd,
                         .guard = a->guard,
                         .cgroup_fd = -1,
                         .limits = a->limits,
                         .child_event = a->child_event,
                         .tick_event = a->tick_event,
                         .guard_event = a->guard_event,
                         .term_event = a->term_event,
                         .warn_events = {a->warn_events[0], a->warn_events[1]},
                         .check_event = a->check_event,
                         .stop.timer = a->stop.timer};

    cgroup_remove(a->cgroup, CGROUP_WAIT_MS); /* there is one if no rank was started */
    memcpy(next.dir, a->dir, sizeof(next.dir));
    memcpy(next.locks, a->locks, sizeof(next.locks));
    a->dir[0] = '\0'; /* so it is not removed */
    job_prepare_release(a);
    if (next.dir[0])
        job_directory_empty(next.dir);
    probe_run_close(&a->probe);
    copier_child_close(a->copier);
    stack_child_close(a->stack_child);
    if (a->spawn_event)
        event_free(a->spawn_event);
    *a = next;
    job_place_ahead(a);
}
