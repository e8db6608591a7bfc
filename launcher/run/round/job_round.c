/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/run/elastic/keeper_order.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/record/divergence.h"
#include "launcher/run/round/host_arrival.h"
#include "launcher/run/round/host_reach.h"
#include "launcher/run/round/independent.h"
#include "launcher/run/round/job_round_frames.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/round/together.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/state/escalation.h"
#include "launcher/run/state/hang_watch.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/run/state/round_pause.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/channel/question_door.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READER_GONE_GRACE_MS = 1000 };

static void host_open(struct job_round *r, int host)
{
    struct job_round_host *h = &r->hosts[host];

    h->opened_ms = clock_ms();
    h->channel = agent_session_renew(r->session, host, h->host);
    if (!h->channel)
        h->channel = agent_session_reach(r->session, host, h->host);
}

static int copy_open(struct job_round *r, struct fault *why)
{
    const struct env_copy_config config = {.base = r->config.base,
                                           .directory = r->plan->stage_env,
                                           .hosts = r->plan->where->host_count,
                                           .stall_ms = r->plan->job.stall_ms,
                                           .on_copied = job_round_frames_on_copied,
                                           .arg = r};

    return r->plan->stage_env ? env_copy_open(&r->copy, &config, why) : 0;
}

/* The hosts and ranks, as the plan has them. */
static int lives_create(struct job_round *r, struct fault *why)
{
    const struct plan *p = r->plan;

    r->hosts_room = plan_host_places(p);
    r->hosts = calloc((size_t)r->hosts_room, sizeof(*r->hosts));
    r->ranks = calloc((size_t)plan_places(p), sizeof(*r->ranks));
    r->lives = (struct lives){.least = p->job.elastic,
                              .restarts = p->job.restarts,
                              .goes_on = p->options->on_failure == FAILURE_CONTINUE,
                              .hosts = calloc((size_t)r->hosts_room, sizeof(*r->lives.hosts)),
                              .ranks = calloc((size_t)plan_places(p), sizeof(*r->lives.ranks)),
                              .host_count = p->where->host_count,
                              .size = p->where->size,
                              .left = p->where->size,
                              .coordinator_host = p->where->ranks[0].host};
    if (!r->hosts || !r->ranks || !r->lives.hosts || !r->lives.ranks)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < r->hosts_room; i++)
        r->hosts[i] =
            (struct job_round_host){.round = r, .facts = &r->lives.hosts[i], .status = STATUS_OURS};
    for (int i = 0; i < p->where->host_count; i++) {
        r->hosts[i].host = plan_host(p, i);
        r->lives.hosts[i].joins = r->hosts[i].host->launch_method == LAUNCH_METHOD_JOIN;
    }
    for (int i = 0; i < p->where->size; i++)
        r->lives.ranks[i].host = p->where->ranks[i].host;
    r->ranks_began = p->where->size;
    r->hosts[r->lives.coordinator_host].had_coordinator = true;
    return 0;
}

static int job_round_prepare(struct job_round *r, struct fault *why)
{
    struct event_base *base = r->config.base;
    const struct agent_session_events events = {.on_hello = job_round_frames_on_hello,
                                                .on_answer = job_round_frames_on_answer,
                                                .on_frame = job_round_frames_on_frame,
                                                .on_pong = job_round_frames_on_pong,
                                                .on_end = job_round_frames_on_end,
                                                .on_pulse = job_round_frames_on_pulse,
                                                .on_rounds_end = job_round_frames_on_surveyed,
                                                .arg = r};
    int rc = job_identity_make(&r->identity, r->config.job, r->config.restart, why);

    if (!rc)
        rc = call_log_create(&r->calls, plan_places(r->plan), why);
    if (!rc)
        rc = copy_open(r, why); /* before any agent waits for a sign of life */
    if (rc)
        return rc;
    rc = lives_create(r, why);
    if (rc)
        return rc;
    r->deadline = evtimer_new(base, job_round_phases_on_deadline, r);
    r->stop.escalation = evtimer_new(base, escalation_on_step, r);
    r->world.cut_limit = evtimer_new(base, host_reach_on_cut_limit, r);
    r->world.broken_limit = evtimer_new(base, host_reach_on_broken_limit, r);
    r->world.replace_timer = evtimer_new(base, round_elastic_on_replace, r);
    if (!r->deadline || !r->stop.escalation || !r->world.cut_limit || !r->world.broken_limit ||
        !r->world.replace_timer)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (r->config.staying && *r->config.staying) {
        r->session = *r->config.staying;
        *r->config.staying = NULL;
        agent_session_resume(r->session, &events);
    } else {
        rc = agent_session_open(&r->session, base, r->hosts_room, r->config.channel, &events, why);
    }
    if (!rc)
        rc = hang_watch_create(&r->hang, r, why);
    if (rc)
        return rc;
    question_door_serve(r->config.door, r->session, r->plan->where->host_count);
    return 0;
}

int job_round_start(struct job_round **out, const struct job_round_config *config,
                    struct fault *why)
{
    struct job_round *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->config = *config;
    r->plan = config->plan;
    r->at.began_ns = clock_ns();
    r->status = STATUS_OURS;
    r->driver = config->results ? &independent_driver : &together_driver;
    rc = job_round_prepare(r, why);
    if (!rc)
        rc = r->driver->begin(r, why);
    if (rc) {
        job_round_destroy(r);
        return rc;
    }
    *out = r;
    for (int i = 0; i < r->plan->where->host_count; i++)
        host_open(r, i);
    job_round_phases_advance(r);
    return 0;
}

static void session_leave(struct job_round *r)
{
    bool is_needed = false;

    for (int i = 0; r->hosts && i < r->plan->where->host_count; i++) {
        bool stays = r->lives.hosts[i].life == HOST_STAYS;

        if (stays)
            agent_session_stay(r->session, i);
        is_needed |= stays;
    }
    if (is_needed) {
        agent_session_hold(r->session);
        *r->config.staying = r->session;
    } else {
        agent_session_close(r->session);
    }
}

void job_round_destroy(struct job_round *r)
{
    if (!r)
        return;
    plan_growth_clear(&r->growth.wanted);
    for (int i = 0; r->hosts && i < r->hosts_room; i++) {
        file_feed_destroy(r->hosts[i].feed);
        env_copy_close(r->hosts[i].copy);
        free(r->hosts[i].advice);
        if (r->hosts[i].arrival)
            event_free(r->hosts[i].arrival);
        if (r->hosts[i].again)
            event_free(r->hosts[i].again);
    }
    question_door_serve(r->config.door, NULL, 0);
    session_leave(r);
    hang_watch_destroy(r->hang);
    call_log_destroy(r->calls);
    topology_survey_destroy(r->wiring.survey);
    env_copy_close(r->copy);
    keeper_order_destroy(r->world.keepers);
    json_decref(r->wiring.table);
    free(r->wiring.names);
    progress_line_stop(r->progress);
    if (r->deadline)
        event_free(r->deadline);
    if (r->world.cut_limit)
        event_free(r->world.cut_limit);
    if (r->world.broken_limit)
        event_free(r->world.broken_limit);
    broken_pairs_clear(&r->world.broken);
    if (r->world.replace_timer)
        event_free(r->world.replace_timer);
    if (r->stop.escalation)
        event_free(r->stop.escalation);
    job_identity_wipe(&r->identity);
    free(r->hosts);
    free(r->ranks);
    free(r->lives.hosts);
    free(r->lives.ranks);
    free(r);
}

/* The worst of all hosts that failed before the start. */
static enum channel_outlook outlook_of(const struct job_round *r)
{
    enum channel_outlook worst = CHANNEL_MAY_RETURN;
    int failed = 0;

    if (r->at.start_ms)
        return r->failure.is_hopeless ? CHANNEL_STAYS_WRONG : CHANNEL_MAY_RETURN;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        const struct job_round_host *h = &r->hosts[i];

        if (!lives_host_has_failed(h->facts->life))
            continue;
        failed++;
        if (h->outlook > worst)
            worst = h->outlook;
    }
    return failed ? worst : CHANNEL_MAY_NOT_RETURN;
}

void job_round_result(const struct job_round *r, struct job_round_result *out)
{
    if (r->stop.cause != STOP_NONE)
        out->status = escalation_status(r->stop.cause, r->stop.signal);
    else
        out->status = r->at.start_ms ? r->failure.status : r->status;
    out->has_run = r->at.start_ms != 0;
    out->membership = r->world.membership;
    out->members = round_elastic_members(r);
    out->topology_failed = r->wiring.has_failed;
    out->outlook = outlook_of(r);
    out->ran_ms = r->at.start_ms ? clock_ms() - r->at.start_ms : 0;
    out->host_failed = !r->at.start_ms || r->failure.rank < 0;
    out->has_failed = r->stop.cause == STOP_NONE && !r->failure.is_killed &&
                      (!r->at.start_ms || r->failure.blame != BLAME_NONE);
}

bool job_round_host_failed(const struct job_round *r, int index)
{
    return !r->at.start_ms && lives_host_has_failed(r->lives.hosts[index].life);
}

/* Says where the ranks' calls have parted, if they have and the job has failed or took too long. */
static void divergence_report(const struct job_round *r)
{
    struct divergence d;
    bool has_failed =
        r->stop.cause == STOP_TIMEOUT || (r->stop.cause == STOP_NONE && !r->failure.is_killed &&
                                          r->failure.blame >= BLAME_CONSEQUENCE);

    if (!has_failed || !divergence_find(&d, r->calls))
        return;
    output_say(r->config.output, "%s", d.text);
    events_file_write(r->config.events, "diverged", r->identity.id,
                      json_pack("{s:s, s:I, s:I, s:O}", "text", d.text, "group",
                                (json_int_t)d.group, "call", (json_int_t)d.call, "ranks", d.ranks));
    divergence_clear(&d);
}

void job_round_report(const struct job_round *r)
{
    struct output *o = r->config.output;
    char words[1024] = "";
    const char *file = NULL;
    bool are_above = false;

    divergence_report(r);
    r->driver->report(r);
    if (r->stop.cause != STOP_NONE || r->failure.blame == BLAME_NONE)
        return;
    if (r->plan->leaves_exit && r->failure.rank >= 0 && r->failure.status < STATUS_OURS)
        return;
    if (r->failure.is_killed && output_ends_with(o, -1) > 0)
        return; /* said before, and still to be seen */
    if (r->failure.rank >= 0) {
        file = output_last_words(o, r->failure.rank, words, sizeof(words));
        are_above =
            r->plan->where->size == 1 || output_ends_with(o, r->failure.rank) >= strlen(words);
    }
    output_say(o, "%s", r->failure.text);
    if (file && !words[0])
        output_say(o, "%s is empty", file);
    else if (file)
        output_say(o, "the end of %s:\n%s", file, words);
    else if (words[0] && !are_above)
        output_say(o, "end of its standard error:\n%s", words);
}

void job_round_stop(struct job_round *r, enum stop_cause cause, int signal)
{
    int grace_ms = r->plan->job.grace_ms;

    if (r->stop.is_wanted)
        return;
    if (cause == STOP_READER_GONE && grace_ms > READER_GONE_GRACE_MS)
        grace_ms = READER_GONE_GRACE_MS; /* the user of `mlaunch … | head` is waiting for us */
    r->stop.cause = cause;
    round_elastic_stop(r, signal, grace_ms);
    job_round_phases_advance(r);
}

bool job_round_is_ended_by_slurm(const struct job_round *r)
{
    return r->stop.cause == STOP_SLURM;
}

void job_round_report_stacks(struct job_round *r, void (*done)(void *arg), void *arg)
{
    if (r->state == JOB_ROUND_RUNNING && !r->at.paused_ms)
        hang_watch_report(r->hang, done, arg);
    else
        done(arg);
}

void job_round_reset_silence(struct job_round *r)
{
    agent_session_reset_silence(r->session);
}

void job_round_kill(struct job_round *r)
{
    if (r->state != JOB_ROUND_STOPPING)
        return;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        if (r->lives.hosts[i].life < HOST_DONE)
            agent_channel_send(r->hosts[i].channel, LAUNCH_KILL, NULL, 0);
    }
    r->stop.step = STOP_IS_HURRIED;
    job_round_steps_set_deadline(r, JOB_ROUND_STOP_MARGIN_MS);
}

void job_round_drop_output(struct job_round *r)
{
    if (r->state != JOB_ROUND_STOPPING)
        return;
    log_debug("job %s: nobody reads its output, which is dropped", r->identity.id);
    for (int i = 0; i < r->plan->where->host_count; i++) {
        if (r->lives.hosts[i].life < HOST_DONE)
            agent_channel_send(r->hosts[i].channel, LAUNCH_DROP, NULL, 0);
    }
    r->stop.step = STOP_IS_HURRIED;
}

void job_round_give_up(struct job_round *r)
{
    job_round_phases_expire(r);
}

static bool host_is_running(const struct job_round_host *h)
{
    return lives_host_runs(h->facts->life);
}

void job_round_signal(struct job_round *r, int signal)
{
    const uint32_t word = (uint32_t)signal;

    for (int i = 0; i < r->plan->where->host_count; i++) {
        if (host_is_running(&r->hosts[i]))
            agent_channel_send_words(r->hosts[i].channel, LAUNCH_SIGNAL, &word, 1);
    }
}

void job_round_ask_stop(struct job_round *r)
{
    r->is_asked = true;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        if (host_is_running(&r->hosts[i]))
            agent_channel_send(r->hosts[i].channel, LAUNCH_ASK, NULL, 0);
    }
}

bool job_round_is_running(const struct job_round *r)
{
    return job_round_state_is_running(r);
}

bool job_round_signal_rank(struct job_round *r, int rank, int signal)
{
    const uint32_t words[2] = {(uint32_t)signal, (uint32_t)rank};
    struct job_round_host *h = &r->hosts[r->lives.ranks[rank].host];

    if (!r->ranks[rank].pid || r->lives.ranks[rank].life == RANK_OVER || !host_is_running(h))
        return false;
    agent_channel_send_words(h->channel, LAUNCH_SIGNAL, words, 2);
    return true;
}

int64_t job_round_rank_pid(const struct job_round *r, int rank)
{
    return r->ranks[rank].pid;
}

bool job_round_rank_comes(const struct job_round *r, int rank)
{
    return lives_rank_is_coming(r->lives.ranks[rank].life);
}

/* NULL: no host of that name runs ranks. */
static struct job_round_host *host_find(const struct job_round *r, const char *host)
{
    for (int i = 0; i < r->plan->where->host_count; i++) {
        struct job_round_host *h = &r->hosts[i];

        if (strcmp(h->host->name, host) == 0 && host_is_running(h))
            return h;
    }
    return NULL;
}

bool job_round_has_host(const struct job_round *r, const char *host)
{
    return host_find(r, host) != NULL;
}

void job_round_cut(struct job_round *r, const char *host, const char *why)
{
    struct job_round_host *h = host_find(r, host);

    if (h)
        agent_channel_cut(h->channel, why);
}

void job_round_on_stdin(struct job_round *r, int rank, const void *bytes, size_t size)
{
    int host = rank == INPUT_ALL ? 0 : r->lives.ranks[rank].host;
    int last = rank == INPUT_ALL ? r->plan->where->host_count - 1 : host;
    uint32_t word = rank == INPUT_ALL ? AGENT_STDIN_ALL : (uint32_t)rank;

    for (; host <= last; host++)
        if (host_is_running(&r->hosts[host]))
            agent_channel_send_tagged(r->hosts[host].channel, LAUNCH_STDIN, word, bytes, size);
}

void job_round_on_resize(struct job_round *r, struct terminal_size size)
{
    struct job_round_host *h = &r->hosts[r->lives.ranks[r->plan->options->pty_rank].host];
    const uint32_t words[] = {size.rows, size.columns};

    if (host_is_running(h))
        agent_channel_send_words(h->channel, LAUNCH_RESIZE, words, 2);
}

void job_round_on_credit(struct job_round *r, int host, uint32_t bytes)
{
    struct job_round_host *h = &r->hosts[host];

    /* What an earlier run of the job has left to be written is no credit for this one. */
    if (bytes > h->unacknowledged)
        bytes = (uint32_t)h->unacknowledged;
    h->unacknowledged -= bytes;
    if (bytes && h->facts->life < HOST_GONE)
        agent_channel_send_words(h->channel, LAUNCH_CREDIT, &bytes, 1);
}
