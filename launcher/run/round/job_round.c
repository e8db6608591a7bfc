/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/run/hosts/keeper_order.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/record/divergence.h"
#include "launcher/run/round/escalation.h"
#include "launcher/run/round/hang_watch.h"
#include "launcher/run/round/host_result.h"
#include "launcher/run/round/job_round_frames.h"
#include "launcher/run/round/job_round_hosts.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_state.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/round_pause.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
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

static void member_open(struct job_round *r, int host)
{
    struct job_round_member *m = &r->members[host];

    m->round = r;
    m->host = plan_host(r->plan, host);
    m->status = STATUS_OURS;
    m->channel = agent_session_renew(r->session, host, m->host);
    if (!m->channel)
        m->channel = agent_session_reach(r->session, host, m->host);
}

static int copy_open(struct job_round *r, struct fault *why)
{
    const struct env_copy_config config = {.base = r->config.base,
                                           .directory = r->plan->stage_env,
                                           .hosts = r->plan->host_count,
                                           .stall_ms = r->plan->job.stall_ms,
                                           .on_copied = job_round_frames_on_copied,
                                           .arg = r};

    return r->plan->stage_env ? env_copy_open(&r->copy, &config, why) : 0;
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
    r->members_room = plan_host_places(r->plan);
    r->members = calloc((size_t)r->members_room, sizeof(*r->members));
    r->ranks = calloc((size_t)plan_places(r->plan), sizeof(*r->ranks));
    r->deadline = evtimer_new(base, job_round_phases_on_deadline, r);
    r->escalation = evtimer_new(base, escalation_on_step, r);
    r->cut_limit = evtimer_new(base, job_round_hosts_on_cut_limit, r);
    r->broken_limit = evtimer_new(base, job_round_hosts_on_broken_limit, r);
    if (!r->members || !r->ranks || !r->deadline || !r->escalation || !r->cut_limit ||
        !r->broken_limit)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (r->config.staying && *r->config.staying) {
        r->session = *r->config.staying;
        *r->config.staying = NULL;
        agent_session_resume(r->session, &events);
    } else {
        rc =
            agent_session_open(&r->session, base, r->members_room, r->config.channel, &events, why);
    }
    if (!rc)
        rc = hang_watch_create(&r->hang, r, why);
    if (rc)
        return rc;
    question_door_serve(r->config.door, r->session, r->plan->host_count);
    if (r->config.results) {
        r->state = JOB_ROUND_RUNNING; /* each host by itself */
        return 0;
    }
    return progress_line_start(&r->progress, base, r->config.output, r->plan->host_count, why);
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
    r->ranks_left = r->plan->size;
    r->coordinator_host = r->plan->ranks[0].host;
    r->began_ns = clock_ns();
    r->status = STATUS_OURS;
    rc = job_round_prepare(r, why);
    if (rc) {
        job_round_destroy(r);
        return rc;
    }
    r->members[r->coordinator_host].had_coordinator = true;
    *out = r;
    if (r->state == JOB_ROUND_RUNNING)
        job_round_steps_begin(r);
    for (int i = 0; i < r->plan->host_count; i++)
        member_open(r, i);
    job_round_phases_advance(r);
    return 0;
}

static void session_leave(struct job_round *r)
{
    bool is_needed = false;

    for (int i = 0; r->members && i < r->plan->host_count; i++) {
        if (r->members[i].stays)
            agent_session_stay(r->session, i);
        is_needed |= r->members[i].stays;
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
    for (int i = 0; r->members && i < r->members_room; i++) {
        file_feed_destroy(r->members[i].feed);
        env_copy_close(r->members[i].copy);
        free(r->members[i].advice);
        if (r->members[i].arrival)
            event_free(r->members[i].arrival);
        if (r->members[i].again)
            event_free(r->members[i].again);
    }
    question_door_serve(r->config.door, NULL, 0);
    session_leave(r);
    hang_watch_destroy(r->hang);
    call_log_destroy(r->calls);
    topology_survey_destroy(r->survey);
    env_copy_close(r->copy);
    keeper_order_destroy(r->keepers);
    json_decref(r->wiring);
    free(r->names);
    progress_line_stop(r->progress);
    if (r->deadline)
        event_free(r->deadline);
    if (r->cut_limit)
        event_free(r->cut_limit);
    if (r->broken_limit)
        event_free(r->broken_limit);
    broken_pairs_clear(&r->broken);
    if (r->escalation)
        event_free(r->escalation);
    job_identity_wipe(&r->identity);
    free(r->members);
    free(r->ranks);
    free(r);
}

/* The worst of all hosts that failed before the start. */
static enum channel_outlook outlook_of(const struct job_round *r)
{
    enum channel_outlook worst = CHANNEL_MAY_RETURN;
    int failed = 0;

    if (r->has_run)
        return r->failure.is_hopeless ? CHANNEL_STAYS_WRONG : CHANNEL_MAY_RETURN;
    for (int i = 0; i < r->plan->host_count; i++) {
        const struct job_round_member *m = &r->members[i];

        failed += m->failed;
        if (m->failed && m->outlook > worst)
            worst = m->outlook;
    }
    return failed ? worst : CHANNEL_MAY_NOT_RETURN;
}

void job_round_result(const struct job_round *r, struct job_round_result *out)
{
    if (r->cause != STOP_NONE)
        out->status = escalation_status(r->cause, r->stop_signal);
    else
        out->status = r->has_run ? r->failure.status : r->status;
    out->has_run = r->has_run;
    out->membership = r->membership;
    out->members = job_round_losses_members(r);
    out->topology_failed = r->topology_failed;
    out->outlook = outlook_of(r);
    out->ran_ms = r->has_run ? clock_ms() - r->start_ms : 0;
    out->host_failed = !r->has_run || r->failure.rank < 0;
    out->has_failed = r->cause == STOP_NONE && !r->failure.is_killed &&
                      (!r->has_run || r->failure.blame != BLAME_NONE);
}

bool job_round_host_failed(const struct job_round *r, int index)
{
    return !r->has_run && r->members[index].failed;
}

/* Says where the ranks' calls have parted, if they have and the job has failed or took too long. */
static void divergence_report(const struct job_round *r)
{
    struct divergence d;
    bool has_failed = r->cause == STOP_TIMEOUT || (r->cause == STOP_NONE && !r->failure.is_killed &&
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

    for (int i = 0; i < r->plan->host_count && r->config.results; i++)
        host_result_fail(r, &r->members[i], STATUS_OURS, NULL); /* the agent has said nothing */
    divergence_report(r);
    if (r->cause == STOP_NONE && r->failure.blame == BLAME_NONE)
        job_round_losses_report(r);
    if (r->cause != STOP_NONE || r->failure.blame == BLAME_NONE)
        return;
    if (r->plan->leaves_exit && r->failure.rank >= 0 && r->failure.status < STATUS_OURS)
        return;
    if (r->failure.is_killed && output_ends_with(o, -1) > 0)
        return; /* said before, and still to be seen */
    if (r->failure.rank >= 0) {
        file = output_last_words(o, r->failure.rank, words, sizeof(words));
        are_above = r->plan->size == 1 || output_ends_with(o, r->failure.rank) >= strlen(words);
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

    if (r->stop_wanted)
        return;
    if (cause == STOP_READER_GONE && grace_ms > READER_GONE_GRACE_MS)
        grace_ms = READER_GONE_GRACE_MS; /* the user of `mlaunch … | head` is waiting for us */
    r->cause = cause;
    job_round_phases_want_stop(r, signal, grace_ms);
    job_round_phases_advance(r);
}

bool job_round_is_ended_by_slurm(const struct job_round *r)
{
    return r->cause == STOP_SLURM;
}

void job_round_report_stacks(struct job_round *r, void (*done)(void *arg), void *arg)
{
    if (r->state == JOB_ROUND_RUNNING && !r->paused)
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
    for (int i = 0; i < r->plan->host_count; i++) {
        if (r->members[i].state < MEMBER_DONE)
            agent_channel_send(r->members[i].channel, LAUNCH_KILL, NULL, 0);
    }
    r->is_hurried = true;
    job_round_steps_set_deadline(r, JOB_ROUND_STOP_MARGIN_MS);
}

void job_round_drop_output(struct job_round *r)
{
    if (r->state != JOB_ROUND_STOPPING)
        return;
    log_debug("job %s: nobody reads its output, which is dropped", r->identity.id);
    for (int i = 0; i < r->plan->host_count; i++) {
        if (r->members[i].state < MEMBER_DONE)
            agent_channel_send(r->members[i].channel, LAUNCH_DROP, NULL, 0);
    }
    r->is_hurried = true;
}

void job_round_give_up(struct job_round *r)
{
    job_round_phases_expire(r);
}

static bool member_is_running(const struct job_round_member *m)
{
    return m->state == MEMBER_STARTED;
}

void job_round_signal(struct job_round *r, int signal)
{
    const uint32_t word = (uint32_t)signal;

    for (int i = 0; i < r->plan->host_count; i++) {
        if (member_is_running(&r->members[i]))
            agent_channel_send_words(r->members[i].channel, LAUNCH_SIGNAL, &word, 1);
    }
}

void job_round_ask_stop(struct job_round *r)
{
    r->is_asked = true;
    for (int i = 0; i < r->plan->host_count; i++) {
        if (member_is_running(&r->members[i]))
            agent_channel_send(r->members[i].channel, LAUNCH_ASK, NULL, 0);
    }
}

bool job_round_is_running(const struct job_round *r)
{
    return job_round_state_is_running(r);
}

bool job_round_signal_rank(struct job_round *r, int rank, int signal)
{
    const uint32_t words[2] = {(uint32_t)signal, (uint32_t)rank};
    struct job_round_member *m = &r->members[r->plan->ranks[rank].host];

    if (!r->ranks[rank].pid || r->ranks[rank].ended || !member_is_running(m))
        return false;
    agent_channel_send_words(m->channel, LAUNCH_SIGNAL, words, 2);
    return true;
}

int64_t job_round_rank_pid(const struct job_round *r, int rank)
{
    return r->ranks[rank].pid;
}

bool job_round_rank_comes(const struct job_round *r, int rank)
{
    return r->ranks[rank].is_coming;
}

/* NULL: no host of that name runs ranks. */
static struct job_round_member *member_find(const struct job_round *r, const char *host)
{
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *m = &r->members[i];

        if (strcmp(m->host->name, host) == 0 && member_is_running(m))
            return m;
    }
    return NULL;
}

bool job_round_has_host(const struct job_round *r, const char *host)
{
    return member_find(r, host) != NULL;
}

void job_round_cut(struct job_round *r, const char *host, const char *why)
{
    struct job_round_member *m = member_find(r, host);

    if (m)
        agent_channel_cut(m->channel, why);
}

void job_round_on_stdin(struct job_round *r, int rank, const void *bytes, size_t size)
{
    int host = rank == INPUT_ALL ? 0 : r->plan->ranks[rank].host;
    int last = rank == INPUT_ALL ? r->plan->host_count - 1 : host;
    uint32_t word = rank == INPUT_ALL ? AGENT_STDIN_ALL : (uint32_t)rank;

    for (; host <= last; host++)
        if (member_is_running(&r->members[host]))
            agent_channel_send_tagged(r->members[host].channel, LAUNCH_STDIN, word, bytes, size);
}

void job_round_on_resize(struct job_round *r, struct terminal_size size)
{
    struct job_round_member *m = &r->members[r->plan->ranks[r->plan->options->pty_rank].host];
    const uint32_t words[] = {size.rows, size.columns};

    if (member_is_running(m))
        agent_channel_send_words(m->channel, LAUNCH_RESIZE, words, 2);
}

void job_round_on_credit(struct job_round *r, int host, uint32_t bytes)
{
    struct job_round_member *m = &r->members[host];

    /* What an earlier run of the job has left to be written is no credit for this one. */
    if (bytes > m->unacknowledged)
        bytes = (uint32_t)m->unacknowledged;
    m->unacknowledged -= bytes;
    if (bytes && m->state < MEMBER_GONE)
        agent_channel_send_words(m->channel, LAUNCH_CREDIT, &bytes, 1);
}
