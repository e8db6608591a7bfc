/* SPDX-License-Identifier: MIT */
#include "launcher/run/attempt/attempt.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/run/attempt/attempt_frames.h"
#include "launcher/run/attempt/attempt_ladder.h"
#include "launcher/run/attempt/attempt_phases.h"
#include "launcher/run/attempt/attempt_pulse.h"
#include "launcher/run/attempt/attempt_state.h"
#include "launcher/run/attempt/attempt_steps.h"
#include "launcher/run/attempt/file_feed.h"
#include "launcher/run/attempt/hang_watch.h"
#include "launcher/run/rdma_topology/wiring_survey.h"
#include "launcher/run/record/divergence.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READER_GONE_GRACE_MS = 1000 };

static void member_open(struct attempt *a, int host)
{
    const struct agent_channel_events events = {attempt_frames_on_frame, attempt_frames_on_end, a};
    struct attempt_member *m = &a->members[host];
    struct fault why;
    int rc;

    m->attempt = a;
    m->host = plan_host(a->plan, host);
    m->status = STATUS_OURS;
    rc = agent_channel_open(&m->channel, a->config.base, host, m->host, a->config.channel, &events,
                            &why);
    if (rc)
        attempt_frames_on_end(host, why.text, a);
}

/* For the hang watch. */
static bool member_ask(int host, json_t *question, void *arg)
{
    struct attempt *a = arg;
    struct attempt_member *m = &a->members[host];

    if (m->state != MEMBER_STARTED) {
        json_decref(question);
        return false;
    }
    agent_channel_send_json(m->channel, LAUNCH_QUERY, question);
    return true;
}

static int attempt_prepare(struct attempt *a, struct fault *why)
{
    const struct timeval beat = {AGENT_HEARTBEAT_MS / 1000, AGENT_HEARTBEAT_MS % 1000 * 1000};
    struct event_base *base = a->config.base;
    const struct hang_watch_config hang = {
        base, a->plan, a->config.job, a->config.output, a->config.events, member_ask, a};
    int rc = job_identity_make(&a->identity, a->config.job, a->config.restart, why);

    if (!rc)
        rc = call_log_create(&a->calls, a->plan->size, why);
    if (rc)
        return rc;
    a->members = calloc((size_t)a->plan->host_count, sizeof(*a->members));
    a->ranks = calloc((size_t)a->plan->size, sizeof(*a->ranks));
    a->heartbeat = event_new(base, -1, EV_PERSIST, attempt_pulse_on_heartbeat, a);
    a->deadline = evtimer_new(base, attempt_phases_on_deadline, a);
    a->pause_limit = evtimer_new(base, attempt_pulse_on_pause_limit, a);
    a->ladder = evtimer_new(base, attempt_ladder_on_step, a);
    if (!a->members || !a->ranks || !a->heartbeat || !a->deadline || !a->pause_limit ||
        !a->ladder || evtimer_add(a->heartbeat, &beat))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = hang_watch_create(&a->hang, &hang, why);
    if (rc)
        return rc;
    return progress_line_start(&a->progress, base, a->config.output, a->plan->host_count, why);
}

int attempt_start(struct attempt **out, const struct attempt_config *config, struct fault *why)
{
    struct attempt *a = calloc(1, sizeof(*a));
    int rc;

    if (!a)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    a->config = *config;
    a->plan = config->plan;
    a->ranks_left = a->plan->size;
    a->beat_ms = clock_ms();
    a->began_ns = clock_ns();
    a->status = STATUS_OURS;
    rc = attempt_prepare(a, why);
    if (rc) {
        attempt_destroy(a);
        return rc;
    }
    *out = a;
    for (int i = 0; i < a->plan->host_count; i++)
        member_open(a, i);
    attempt_phases_advance(a);
    return 0;
}

void attempt_destroy(struct attempt *a)
{
    if (!a)
        return;
    for (int i = 0; a->members && i < a->plan->host_count; i++) {
        file_feed_destroy(a->members[i].feed);
        agent_channel_close(a->members[i].channel);
    }
    hang_watch_destroy(a->hang);
    call_log_destroy(a->calls);
    wiring_survey_destroy(a->survey);
    json_decref(a->wiring);
    free(a->names);
    progress_line_stop(a->progress);
    if (a->heartbeat)
        event_free(a->heartbeat);
    if (a->deadline)
        event_free(a->deadline);
    if (a->pause_limit)
        event_free(a->pause_limit);
    if (a->ladder)
        event_free(a->ladder);
    job_identity_wipe(&a->identity);
    free(a->members);
    free(a->ranks);
    free(a);
}

int attempt_stop_status(enum stop_cause cause, int signal)
{
    static const int statuses[] = {[STOP_TIMEOUT] = STATUS_TIMEOUT,
                                   [STOP_READER_GONE] = STATUS_SIGNAL + SIGPIPE,
                                   [STOP_OUTPUT_FAILED] = STATUS_OURS};

    return cause == STOP_SIGNAL ? STATUS_SIGNAL + signal : statuses[cause];
}

void attempt_result(const struct attempt *a, struct attempt_result *out)
{
    if (a->cause != STOP_NONE)
        out->status = attempt_stop_status(a->cause, a->stop_signal);
    else
        out->status = a->has_run ? a->failure.status : a->status;
    out->has_run = a->has_run;
    out->ran_ms = a->has_run ? clock_ms() - a->start_ms : 0;
    out->host_failed = !a->has_run || a->failure.rank < 0;
    out->has_failed = a->cause == STOP_NONE && !a->failure.is_killed &&
                      (!a->has_run || a->failure.blame != BLAME_NONE);
}

bool attempt_host_failed(const struct attempt *a, int index)
{
    return !a->has_run && a->members[index].failed;
}

bool attempt_wiring_failed(const struct attempt *a)
{
    return a->wiring_failed;
}

/* Says where the ranks' calls have parted, if they have and the job has failed or took too long. */
static void divergence_report(const struct attempt *a)
{
    struct divergence d;
    bool has_failed = a->cause == STOP_TIMEOUT || (a->cause == STOP_NONE && !a->failure.is_killed &&
                                                   a->failure.blame >= BLAME_CONSEQUENCE);

    if (!has_failed || !divergence_find(&d, a->calls))
        return;
    output_say(a->config.output, "%s", d.text);
    events_file_write(a->config.events, "diverged", a->identity.id,
                      json_pack("{s:s, s:I, s:I, s:O}", "text", d.text, "group",
                                (json_int_t)d.group, "call", (json_int_t)d.call, "ranks", d.ranks));
    divergence_clear(&d);
}

void attempt_report(const struct attempt *a)
{
    struct output *o = a->config.output;
    char words[1024] = "";
    const char *file = NULL;
    bool are_above = false;

    divergence_report(a);
    if (a->cause != STOP_NONE || a->failure.blame == BLAME_NONE)
        return;
    if (a->plan->leaves_exit && a->failure.rank >= 0 && a->failure.status < STATUS_OURS)
        return;
    if (a->failure.is_killed && output_ends_with(o, -1) > 0)
        return; /* said before, and still to be seen */
    if (a->failure.rank >= 0) {
        file = output_last_words(o, a->failure.rank, words, sizeof(words));
        are_above = a->plan->size == 1 || output_ends_with(o, a->failure.rank) >= strlen(words);
    }
    output_say(o, "%s", a->failure.text);
    if (file && !words[0])
        output_say(o, "%s is empty", file);
    else if (file)
        output_say(o, "the end of %s:\n%s", file, words);
    else if (words[0] && !are_above)
        output_say(o, "its last words on standard error:\n%s", words);
}

void attempt_stop(struct attempt *a, enum stop_cause cause, int signal)
{
    int grace_ms = a->plan->grace_ms;

    if (a->stop_wanted)
        return;
    if (cause == STOP_READER_GONE && grace_ms > READER_GONE_GRACE_MS)
        grace_ms = READER_GONE_GRACE_MS; /* the user of `mlaunch … | head` is waiting for us */
    a->cause = cause;
    attempt_phases_want_stop(a, signal, grace_ms);
    attempt_phases_advance(a);
}

void attempt_look(struct attempt *a, void (*done)(void *arg), void *arg)
{
    if (a->state == ATTEMPT_RUNNING && !a->paused)
        hang_watch_report(a->hang, done, arg);
    else
        done(arg);
}

void attempt_kill(struct attempt *a)
{
    if (a->state != ATTEMPT_STOPPING)
        return;
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            agent_channel_send(a->members[i].channel, LAUNCH_KILL, NULL, 0);
    }
    a->is_hurried = true;
    attempt_steps_set_deadline(a, ATTEMPT_STOP_MARGIN_MS);
}

void attempt_drop_output(struct attempt *a)
{
    if (a->state != ATTEMPT_STOPPING)
        return;
    log_debug("job %s: nobody reads its output, which is dropped", a->identity.id);
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            agent_channel_send(a->members[i].channel, LAUNCH_DROP, NULL, 0);
    }
    a->is_hurried = true;
}

void attempt_give_up(struct attempt *a)
{
    attempt_phases_expire(a);
}

static bool member_is_running(const struct attempt_member *m)
{
    return m->state == MEMBER_STARTED;
}

void attempt_signal(struct attempt *a, int signal)
{
    const uint32_t word = (uint32_t)signal;

    for (int i = 0; i < a->plan->host_count; i++) {
        if (member_is_running(&a->members[i]))
            agent_channel_send_words(a->members[i].channel, LAUNCH_SIGNAL, &word, 1);
    }
}

bool attempt_signal_rank(struct attempt *a, int rank, int signal)
{
    const uint32_t words[2] = {(uint32_t)signal, (uint32_t)rank};
    struct attempt_member *m = &a->members[a->plan->ranks[rank].host];

    if (!a->ranks[rank].pid || a->ranks[rank].ended || !member_is_running(m))
        return false;
    agent_channel_send_words(m->channel, LAUNCH_SIGNAL, words, 2);
    return true;
}

int64_t attempt_rank_pid(const struct attempt *a, int rank)
{
    return a->ranks[rank].pid;
}

/* NULL: no host of that name runs ranks. */
static struct attempt_member *member_find(const struct attempt *a, const char *host)
{
    for (int i = 0; i < a->plan->host_count; i++) {
        struct attempt_member *m = &a->members[i];

        if (strcmp(m->host->name, host) == 0 && member_is_running(m))
            return m;
    }
    return NULL;
}

bool attempt_has_host(const struct attempt *a, const char *host)
{
    return member_find(a, host) != NULL;
}

void attempt_cut(struct attempt *a, const char *host, const char *why)
{
    struct attempt_member *m = member_find(a, host);

    if (m)
        agent_channel_cut(m->channel, why);
}

void attempt_on_stdin(struct attempt *a, int rank, const void *bytes, size_t size)
{
    struct attempt_member *m = &a->members[a->plan->ranks[rank].host];

    if (member_is_running(m))
        agent_channel_send_tagged(m->channel, LAUNCH_STDIN, (uint32_t)rank, bytes, size);
}

void attempt_on_resize(struct attempt *a, struct terminal_size size)
{
    struct attempt_member *m = &a->members[a->plan->ranks[a->plan->pty_rank].host];
    const uint32_t words[] = {size.rows, size.columns};

    if (member_is_running(m))
        agent_channel_send_words(m->channel, LAUNCH_RESIZE, words, 2);
}

void attempt_on_credit(struct attempt *a, int host, uint32_t bytes)
{
    struct attempt_member *m = &a->members[host];

    /* What an earlier run of the job has left to be written is no credit for this one. */
    if (bytes > m->unacknowledged)
        bytes = (uint32_t)m->unacknowledged;
    m->unacknowledged -= bytes;
    if (bytes && m->state < MEMBER_GONE)
        agent_channel_send_words(m->channel, LAUNCH_CREDIT, &bytes, 1);
}
