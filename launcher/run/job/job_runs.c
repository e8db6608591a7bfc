/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job_runs.h"

#include "common/build_id.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/process/mpir.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/run/change/job_changes.h"
#include "launcher/run/elastic/restarts.h"
#include "launcher/run/job/chaos_clock.h"
#include "launcher/run/job/job_end.h"
#include "launcher/run/job/job_hub.h"
#include "launcher/run/job/job_presence.h"
#include "launcher/run/job/soft_stop.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/state/escalation.h"
#include "launcher/run/state/round_pause.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/channel/channel.h"

#include <limits.h>
#include <stdio.h>

static bool on_host_lost(int host, const char *why, void *arg)
{
    struct job *j = arg;

    return spare_hosts_replace(&j->runs.spares, j->runs.round, host, why);
}

/* At the first start alone: otherwise no restart could succeed. */
static void chaos_begin(struct job *j)
{
    const struct chaos_job job = {j->id, j->plan->where->size, &j->runs.round, j->output,
                                  j->events};
    struct fault why;

    if (!j->plan->chaos || j->chaos)
        return;
    if (chaos_clock_start(&j->chaos, j->base, j->plan->chaos, &job, &why))
        log_error("--chaos: %s", why.text);
}

/* The ranks were held, and mlaunch is stopped while the debugger takes them over: the agents expect
 * its silence until then. */
static void on_debugger_ready(void *arg)
{
    const struct job *j = arg;

    mpir_show();
    if (j->runs.round)
        round_pause_end(j->runs.round);
}

/* Shows the ranks to debuggers of parallel programs. */
static void ranks_show(struct job *j)
{
    const struct plan *p = j->plan;
    struct fault why;

    if (mpir_begin(p->where->size, &why)) {
        log_warn("%s", why.text);
        return;
    }
    for (int r = 0; r < p->where->size; r++)
        mpir_set(r, plan_host(p, p->where->ranks[r].host)->name,
                 p->apps[p->where->ranks[r].app].argv[0],
                 (int)job_round_rank_pid(j->runs.round, r));
    if (mpir_is_debugged())
        round_pause_begin(j->runs.round, on_debugger_ready, j);
    else
        mpir_show();
}

static void on_round_started(void *arg)
{
    struct job *j = arg;

    j->runs.have_begun = true;
    job_presence_set(j->presence, REGISTER_RUNNING, j->runs.restart);
    ranks_show(j);
    chaos_begin(j);
    soft_stop_started(j->soft_stop, j->runs.round);
    if (j->config.on_started)
        j->config.on_started(j->config.arg);
}

static void on_rank_changed(void *arg)
{
    job_changes_on_rank(((struct job *)arg)->changes);
}

static void on_hosts_came(int first, const char *why, void *arg)
{
    job_changes_on_hosts(((struct job *)arg)->changes, first, why);
}

static void on_round_end(void *arg)
{
    ((struct job *)arg)->runs.has_ended = true;
}

/* Waits until all output has been written, however slow its reader is, unless the user or --timeout
 * asks for the end meanwhile, or has done so before and nothing is read. */
void job_runs_drain(struct job *j)
{
    int asked = j->end.signals;
    bool was_late = j->end.cause == STOP_TIMEOUT;

    output_finish(j->output);
    while (!output_is_idle(j->output) && !j->end.is_in_a_hurry) {
        event_base_loop(j->base, EVLOOP_ONCE);
        j->end.is_in_a_hurry |=
            j->end.signals != asked || was_late != (j->end.cause == STOP_TIMEOUT);
    }
    event_base_loop(j->base, EVLOOP_NONBLOCK); /* the last write may have failed */
}

static void finished_write(struct job *j, const struct job_round_result *result)
{
    json_t *event = json_pack("{s:i}", "status", result->status);

    if (j->plan->job.elastic)
        json_object_update_new(event,
                               json_pack("{s:I, s:i}", "membership", (json_int_t)result->membership,
                                         "members", result->members));
    events_file_write(j->events, "finished", j->id, event);
}

static int job_run_once(struct job *j, const struct job_round_config *config,
                        struct job_round_result *result)
{
    struct fault why;

    j->runs.has_ended = false;
    if (job_round_start(&j->runs.round, config, &why)) {
        log_error("%s", why.text);
        return -1;
    }
    /* While the agents start, so that the job starts as early as without it. */
    job_presence_set(j->presence, j->runs.restart ? REGISTER_RESTARTING : REGISTER_STARTING,
                     j->runs.restart);
    while (!j->runs.has_ended)
        event_base_loop(j->base, EVLOOP_ONCE);
    job_runs_drain(j);
    job_round_report(j->runs.round);
    /* What the ranks wrote since has hidden it. */
    if (j->end.by[0] && output_ends_with(j->output, -1) == 0)
        output_say(j->output, "%s", j->end.by);
    job_round_result(j->runs.round, result);
    soft_stop_end(j->soft_stop, j->end.cause == STOP_NONE && result->status == 0);
    if (result->has_failed && result->has_run)
        mpir_abort("the job has failed");
    finished_write(j, result);
    j->runs.have_met |= result->has_run;
    if (result->has_run)
        j->runs.spares.newcomer = -1;
    j->runs.is_mended = config->restart > 0 && result->has_failed && !result->has_run &&
                        spare_hosts_replace_lost(&j->runs.spares, j->runs.round, result);
    job_round_destroy(j->runs.round);
    j->runs.round = NULL;
    return 0;
}

static void on_pause_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    ((struct job *)arg)->runs.is_pausing = false;
}

/* False: the end of the job was asked for meanwhile. */
static bool job_pause(struct job *j, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    j->runs.is_pausing = true;
    evtimer_add(j->runs.pause, &t);
    while (j->runs.is_pausing && j->end.cause == STOP_NONE)
        event_base_loop(j->base, EVLOOP_ONCE);
    evtimer_del(j->runs.pause);
    j->runs.is_pausing = false;
    return j->end.cause == STOP_NONE;
}

/* What is wrong with the command line, the program or a key would be so again. Nor does a host
 * become one of the job's that has never been one, unless it just was not reached. */
static bool is_worth_a_restart(const struct job *j, const struct job_round_result *result)
{
    if (j->end.cause != STOP_NONE || j->end.is_late || soft_stop_is_asked(j->soft_stop) ||
        !result->has_failed)
        return false;
    if (j->runs.is_mended || result->outlook == CHANNEL_MAY_RETURN)
        return true;
    return result->outlook == CHANNEL_MAY_NOT_RETURN && j->runs.have_met;
}

static void restart_say(struct job *j, const struct restarts *r, int pause_ms)
{
    char when[32] = "";

    if (pause_ms)
        snprintf(when, sizeof(when), " in %d s", pause_ms / 1000);
    output_say(j->output, "starting the job again%s (restart %d of %d)", when, r->used, r->most);
    events_file_write(j->events, "restarted", j->id,
                      json_pack("{s:i, s:i}", "restart", r->count, "of", r->most));
}

static bool is_stopped(void *arg)
{
    return ((struct job *)arg)->end.cause != STOP_NONE;
}

/* Before each run. False: none may begin. *status: mlaunch's exit status then. */
static bool hosts_check(struct job *j, int *status)
{
    if (j->plan->options->check == FITNESS_NONE || !j->config.check)
        return true;
    j->runs.is_pausing = true; /* there is a job that a signal ends */
    *status = STATUS_OURS;
    if (!spare_hosts_check(&j->runs.spares, j->config.check, j->base, is_stopped, j))
        return false;
    j->runs.is_pausing = false;
    *status = escalation_status(j->end.cause, j->end.signal);
    return j->end.cause == STOP_NONE;
}

/* One run after the other. Returns mlaunch's exit status. */
static int job_run_runs(struct job *j, const struct channel_config *channel)
{
    struct job_round_config config = {
        .base = j->base,
        .plan = j->plan,
        .job = j->id,
        .channel = channel,
        .output = j->output,
        .input = j->input,
        .stdin_mode = input_mode(j->plan),
        .events = j->events,
        .results = j->config.results,
        .summary = j->summary,
        .recording = j->recording,
        .door = job_presence_door(j->presence),
        .staying = job_options_agents_stay(&j->plan->job) ? &j->runs.staying : NULL,
        .on_started = on_round_started,
        .on_host_lost = on_host_lost,
        .on_hosts_came = on_hosts_came,
        .on_asked = job_end_on_asked,
        .on_rank_changed = on_rank_changed,
        .on_end = on_round_end,
        .arg = j};
    struct job_round_result result = {.status = STATUS_OURS};
    /* With --elastic ranks are started again, one by one, within the run. */
    struct restarts restarts = {.most = j->plan->job.elastic ? 0 : j->plan->job.restarts};
    int pause_ms, status;

    plan_spares_renew(j->plan);
    if (!hosts_check(j, &status))
        return status;
    while (job_run_once(j, &config, &result) == 0 && is_worth_a_restart(j, &result)) {
        if (j->runs.is_mended) { /* still the same try */
            output_restart(j->output);
            continue;
        }
        if (!restarts_take(&restarts, result.ran_ms, result.host_failed, &pause_ms))
            break;
        config.restart = j->runs.restart = restarts.count;
        job_presence_set(j->presence, REGISTER_RESTARTING, j->runs.restart);
        plan_spares_renew(j->plan);
        restart_say(j, &restarts, pause_ms);
        output_restart(j->output);
        if (!job_pause(j, pause_ms))
            return escalation_status(j->end.cause, j->end.signal);
        if (j->plan->options->evict_slow && result.has_run)
            spare_hosts_evict(&j->runs.spares, j->summary);
        if (!hosts_check(j, &status))
            return status;
    }
    return result.status;
}

int job_runs_open(struct job *j, struct fault *why)
{
    j->runs.spares = (struct spare_hosts){
        .plan = j->plan, .job = j->id, .output = j->output, .events = j->events, .newcomer = -1};
    j->runs.pause = evtimer_new(j->base, on_pause_end, j);
    return j->runs.pause ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

void job_runs_close(struct job *j)
{
    chaos_clock_stop(j->chaos);
    if (j->runs.pause)
        event_free(j->runs.pause);
}

int job_runs_all(struct job *j)
{
    char agent[PATH_MAX];
    struct channel_config channel = {.ssh_config = j->plan->options->ssh_config,
                                     .connect_timeout_ms =
                                         j->plan->options->ssh_connect_timeout_s * 1000,
                                     .agent = j->plan->options->agent,
                                     .local_agent = agent,
                                     .build = build_id,
                                     .command = j->plan->agent_command,
                                     .with_copier = j->plan->stage_env != NULL,
                                     .with_entry = j->plan->job.container != NULL,
                                     .hub = job_hub_uplinks(j->hub)};
    struct fault why;
    int status;

    if (install_path_find(agent, INSTALL_AGENT, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    status = job_run_runs(j, &channel);
    agent_session_part(j->runs.staying, AGENT_LEAVES_MS);
    return status;
}
