/* SPDX-License-Identifier: MIT */
#include "launcher/attempt.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/agent_protocol.h"
#include "launcher/attempt_state.h"
#include "launcher/job_message.h"
#include "launcher/wiring_stated.h"

#include <event2/event.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STOP_MARGIN_MS = 10000, /* beyond the grace, for an agent to say that it is done */
    LEAVE_MS = 3000,        /* for agents to go once they have been told */
    PAUSE_MS = 1000,        /* for agents to confirm a pause */
    GAP_MS = 3000,          /* a heartbeat that much late: we were stopped, or the machine slept */
    READER_GONE_GRACE_MS = 1000,
};

/*
 *                      all said HELLO,         all said READY
 *                      and whom they reach
 *   CONNECTING ───────────────────▶ PREPARING ─────────────▶ RUNNING ─────────┐
 *       │                               │                       │ a failure,    │ all said DONE
 *       │ all answered, some badly;     │                       │ a stop        │ or are lost
 *       │ or a stop                     │                       ▼               │
 *       │                               │                    STOPPING           │
 *       │                               │     all DONE or lost; │               │
 *       │                               │     or too late       │               │
 *       └───────────────────────────────┴─────────▶ LEAVING ◀───┴───────────────┘
 *                                                      │ all channels have ended; or too late
 *                                                      ▼
 *                                                    ENDED
 *
 * Between CONNECTING and PREPARING lie LOOKING and TRYING, which are passed at once unless the backend is rdma.
 */
enum attempt_event {
    EVENT_NONE,
    EVENT_WELL,  /* all hosts have taken the step */
    EVENT_BADLY, /* all hosts have answered, some have failed */
    EVENT_STOP,  /* the run shall end */
    EVENT_DONE,  /* no host has anything left that runs */
    EVENT_GONE,  /* no channel is left */
    EVENT_LATE,  /* the deadline */
};

static void send_look(struct attempt *a);
static void send_try(struct attempt *a);
static void send_jobs(struct attempt *a);
static void send_start(struct attempt *a);
static void send_stop(struct attempt *a);
static void send_bye(struct attempt *a);
static void report_failures(struct attempt *a);
static void abandon(struct attempt *a);
static void give_up(struct attempt *a);
static void end(struct attempt *a);

static const struct transition {
    enum attempt_state state;
    enum attempt_event event;
    enum attempt_state next;
    void (*action)(struct attempt *a);
} transitions[] = {
    {ATTEMPT_CONNECTING, EVENT_WELL, ATTEMPT_LOOKING, send_look},
    {ATTEMPT_CONNECTING, EVENT_BADLY, ATTEMPT_LEAVING, report_failures},
    {ATTEMPT_CONNECTING, EVENT_STOP, ATTEMPT_LEAVING, abandon},
    {ATTEMPT_LOOKING, EVENT_WELL, ATTEMPT_TRYING, send_try},
    {ATTEMPT_LOOKING, EVENT_BADLY, ATTEMPT_LEAVING, report_failures},
    {ATTEMPT_LOOKING, EVENT_STOP, ATTEMPT_LEAVING, abandon},
    {ATTEMPT_TRYING, EVENT_WELL, ATTEMPT_PREPARING, send_jobs},
    {ATTEMPT_TRYING, EVENT_BADLY, ATTEMPT_LEAVING, report_failures},
    {ATTEMPT_TRYING, EVENT_STOP, ATTEMPT_LEAVING, abandon},
    {ATTEMPT_PREPARING, EVENT_WELL, ATTEMPT_RUNNING, send_start},
    {ATTEMPT_PREPARING, EVENT_BADLY, ATTEMPT_LEAVING, report_failures},
    {ATTEMPT_PREPARING, EVENT_STOP, ATTEMPT_LEAVING, abandon},
    {ATTEMPT_RUNNING, EVENT_STOP, ATTEMPT_STOPPING, send_stop},
    {ATTEMPT_RUNNING, EVENT_DONE, ATTEMPT_LEAVING, send_bye},
    {ATTEMPT_STOPPING, EVENT_DONE, ATTEMPT_LEAVING, send_bye},
    {ATTEMPT_STOPPING, EVENT_LATE, ATTEMPT_LEAVING, give_up},
    {ATTEMPT_LEAVING, EVENT_GONE, ATTEMPT_ENDED, end},
    {ATTEMPT_LEAVING, EVENT_LATE, ATTEMPT_ENDED, end},
};

static void set_deadline(struct attempt *a, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(a->deadline, &t);
}

/* All members are at least in `state`, or have failed. */
static enum attempt_event step_event(const struct attempt *a, enum member_state state)
{
    bool failed = false;

    for (int i = 0; i < a->plan->host_count; i++) {
        const struct member *m = &a->members[i];

        if (!m->failed && m->state < state)
            return EVENT_NONE;
        failed = failed || m->failed;
    }
    return failed ? EVENT_BADLY : EVENT_WELL;
}

/* All members have answered that many rounds of questions, or have failed. */
static enum attempt_event survey_event(const struct attempt *a, int rounds)
{
    bool failed = false;

    for (int i = 0; i < a->plan->host_count; i++) {
        const struct member *m = &a->members[i];

        if (a->survey && !m->failed && m->rounds < rounds)
            return EVENT_NONE;
        failed = failed || m->failed;
    }
    return failed ? EVENT_BADLY : EVENT_WELL;
}

static bool all_are(const struct attempt *a, enum member_state state)
{
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < state)
            return false;
    }
    return true;
}

static enum attempt_event current_event(const struct attempt *a)
{
    switch (a->state) {
    case ATTEMPT_CONNECTING:
        return a->stop_wanted ? EVENT_STOP : step_event(a, MEMBER_CONNECTED);
    case ATTEMPT_LOOKING:
        return a->stop_wanted ? EVENT_STOP : survey_event(a, 1);
    case ATTEMPT_TRYING:
        return a->stop_wanted ? EVENT_STOP : survey_event(a, 2);
    case ATTEMPT_PREPARING:
        return a->stop_wanted ? EVENT_STOP : step_event(a, MEMBER_PREPARED);
    case ATTEMPT_RUNNING:
        if (all_are(a, MEMBER_DONE))
            return EVENT_DONE;
        return a->stop_wanted ? EVENT_STOP : EVENT_NONE;
    case ATTEMPT_STOPPING:
        return all_are(a, MEMBER_DONE) ? EVENT_DONE : EVENT_NONE;
    case ATTEMPT_LEAVING:
        return all_are(a, MEMBER_GONE) ? EVENT_GONE : EVENT_NONE;
    default:
        return EVENT_NONE;
    }
}

static bool take(struct attempt *a, enum attempt_event event)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
        const struct transition *t = &transitions[i];

        if (t->state == a->state && t->event == event) {
            a->state = t->next;
            evtimer_del(a->deadline);
            t->action(a);
            return true;
        }
    }
    return false;
}

void attempt_advance(struct attempt *a)
{
    enum attempt_event event;

    /* A send may find that the channel has ended and come back here: the loop below goes on. */
    if (a->is_advancing)
        return;
    a->is_advancing = true;
    while ((event = current_event(a)) != EVENT_NONE && take(a, event))
        ;
    a->is_advancing = false;
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;

    (void)fd;
    (void)what;
    /* While the reader takes nothing, agents keep what ranks have written, and are not done: that says nothing
     * about the ranks. */
    if (a->state == ATTEMPT_STOPPING && !a->is_hurried && !output_is_idle(a->config.output)) {
        set_deadline(a, STOP_MARGIN_MS);
        return;
    }
    take(a, EVENT_LATE);
    attempt_advance(a);
}

/* Actions. */

static int survey_open(struct attempt *a, struct fault *why)
{
    const struct plan *p = a->plan;
    struct wiring_survey_config config = {.count = p->host_count,
                                          .source =
                                              p->rdma_device ? "--rdma-device" : p->list->source,
                                          .stated = a->wiring,
                                          .local_net = p->local_net,
                                          .port = p->rdma_port,
                                          .gid_index = p->gid_index,
                                          .mtu = p->mtu,
                                          .qp = p->qp};

    a->names = calloc((size_t)p->host_count, sizeof(*a->names));
    if (!a->names)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < p->host_count; i++)
        a->names[i] = a->members[i].host->name;
    config.names = a->names;
    randombytes_buf(&config.tag, sizeof(config.tag));
    config.tag &= INT64_MAX; /* it travels as JSON */
    return wiring_survey_create(&a->survey, &config, why);
}

static void ask_all(struct attempt *a, enum wiring_round round)
{
    for (int i = 0; i < a->plan->host_count && a->survey; i++)
        agent_channel_send_json(a->members[i].stream, LAUNCH_QUERY,
                                wiring_survey_question(a->survey, i, round));
}

/* Bad wiring is said before anything runs; what is not stated is found. */
static void send_look(struct attempt *a)
{
    const struct plan *p = a->plan;
    struct fault why;

    progress_stop(a->progress);
    a->progress = NULL;
    a->wiring = wiring_stated(p);
    if (strcmp(p->backend, "rdma") != 0 || (p->host_count == 1 && !p->local_net))
        return;
    if (survey_open(a, &why)) {
        log_error("%s", why.text);
        a->stop_wanted = true;
    }
    ask_all(a, WIRING_LOOK);
}

static void send_try(struct attempt *a)
{
    ask_all(a, WIRING_TRY);
}

static void send_jobs(struct attempt *a)
{
    const char **addresses = calloc((size_t)a->plan->host_count, sizeof(*addresses));
    struct fault why = {0};
    int rc = 0;

    if (!addresses)
        rc = fault_set(&why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < a->plan->host_count && !rc; i++)
        addresses[i] = a->members[i].address;
    for (int i = 0; i < a->plan->host_count && !rc; i++) {
        char *text = NULL;

        rc = job_message_create(&text, a->plan, &a->identity, i, addresses, a->wiring,
                                a->config.stdin_mode, &why);
        if (!rc)
            agent_channel_send(a->members[i].stream, LAUNCH_JOB, text, strlen(text));
        job_message_destroy(text);
    }
    free(addresses);
    if (rc) {
        log_error("%s", why.text);
        a->stop_wanted = true;
    }
}

static void send_start(struct attempt *a)
{
    char command[256];

    a->has_run = true;
    job_command_line(command, sizeof(command), a->plan);
    log_info("job %s: %d rank%s on %d host%s: %s", a->identity.id, a->plan->size,
             a->plan->size == 1 ? "" : "s", a->plan->host_count,
             a->plan->host_count == 1 ? "" : "s", command);
    events_file_write(a->config.events, "launched", a->identity.id,
                      json_pack("{s:i, s:i, s:s}", "ranks", a->plan->size, "hosts",
                                a->plan->host_count, "command", command));
    for (int i = 0; i < a->plan->host_count; i++) {
        a->members[i].state = MEMBER_STARTED;
        agent_channel_send_json(a->members[i].stream, LAUNCH_START,
                                json_pack("{s:s}", "coordinator", a->coordinator));
    }
    input_start(a->config.input);
}

static void send_stop(struct attempt *a)
{
    const uint32_t words[] = {(uint32_t)a->stop_signal, (uint32_t)a->stop_grace_ms};

    log_info("stopping the job: signal %d, SIGKILL after %d ms", a->stop_signal, a->stop_grace_ms);
    events_file_write(
        a->config.events, "stopped", a->identity.id,
        json_pack("{s:i, s:i}", "signal", a->stop_signal, "grace_ms", a->stop_grace_ms));
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            agent_channel_send_words(a->members[i].stream, LAUNCH_STOP, words, 2);
    }
    set_deadline(a, a->stop_grace_ms + STOP_MARGIN_MS);
}

/* Names what is to blame, once it is certain: a cause has been found, or nothing else will come. */
static void tell_failure(struct attempt *a, bool is_certain)
{
    char words[1024] = "";
    const char *file = NULL;

    if (a->failure_told || a->cause != STOP_NONE || a->failure.blame == BLAME_NONE ||
        (a->failure.blame < BLAME_CAUSE && !is_certain))
        return;
    a->failure_told = true;
    if (a->failure.rank >= 0)
        file = output_last_words(a->config.output, a->failure.rank, words, sizeof(words));
    output_say(a->config.output, "%s", a->failure.text);
    if (file && !words[0])
        output_say(a->config.output, "%s is empty", file);
    else if (file)
        output_say(a->config.output, "the end of %s:\n%s", file, words);
    else if (words[0] && a->plan->size > 1) /* of a single rank they stand above the sentence */
        output_say(a->config.output, "its last words on standard error:\n%s", words);
}

static void send_bye(struct attempt *a)
{
    tell_failure(a, true);
    for (int i = 0; i < a->plan->host_count; i++)
        agent_channel_send(a->members[i].stream, LAUNCH_BYE, NULL, 0);
    set_deadline(a, LEAVE_MS);
}

static void shut_all(struct attempt *a)
{
    progress_stop(a->progress);
    a->progress = NULL;
    set_deadline(a, LEAVE_MS);
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_GONE)
            agent_channel_shut(a->members[i].stream);
    }
}

/* Before the start: every host that failed, each with its own reason, in one go. */
static void report_failures(struct attempt *a)
{
    int failed = 0;

    progress_stop(a->progress);
    a->progress = NULL;
    for (int i = 0; i < a->plan->host_count; i++) {
        const struct member *m = &a->members[i];

        if (!m->failed)
            continue;
        if (failed++ == 0)
            a->status = m->status;
        output_say(a->config.output, "host %s: %s", m->host->name, m->reason);
        events_file_write(a->config.events, "lost", a->identity.id,
                          json_pack("{s:s, s:s}", "host", m->host->name, "text", m->reason));
    }
    if (a->plan->host_count > 1)
        output_say(a->config.output, "%d of %d hosts failed; nothing was started", failed,
                   a->plan->host_count);
    shut_all(a);
}

static void abandon(struct attempt *a)
{
    shut_all(a);
}

static void give_up(struct attempt *a)
{
    tell_failure(a, true);
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            log_error("host %s: its agent has not ended the ranks in time; processes of job %s "
                      "may be left there",
                      a->members[i].host->name, a->identity.id);
    }
    shut_all(a);
}

static void end(struct attempt *a)
{
    evtimer_del(a->heartbeat);
    evtimer_del(a->pause_limit);
    a->config.on_end(a->config.arg);
}

/* Heartbeats. */

static void on_heartbeat(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    int64_t now = clock_ms();
    bool gap = now - a->beat_ms > AGENT_HEARTBEAT_MS + GAP_MS;

    (void)fd;
    (void)what;
    a->beat_ms = now;
    for (int i = 0; i < a->plan->host_count; i++) {
        struct member *m = &a->members[i];

        if (!m->stream || m->state == MEMBER_GONE)
            continue;
        if (gap || a->paused)
            agent_channel_reset_silence(m->stream);
        agent_channel_check_silence(m->stream);
        if (m->state >= MEMBER_CONNECTED && m->state < MEMBER_GONE) {
            m->pings++;
            agent_channel_send(m->stream, LAUNCH_PING, NULL, 0);
        }
    }
}

void attempt_reset_silence(struct attempt *a)
{
    a->beat_ms = clock_ms();
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].stream)
            agent_channel_reset_silence(a->members[i].stream);
    }
}

/* Begin and end. */

static void pause_over(struct attempt *a)
{
    void (*on_paused)(void *arg) = a->on_paused;

    evtimer_del(a->pause_limit);
    a->on_paused = NULL;
    if (on_paused)
        on_paused(a->paused_arg);
}

static void on_pause_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pause_over(arg);
}

static void member_open(struct attempt *a, int host)
{
    const struct agent_channel_events events = {attempt_on_frame, attempt_on_stream_end, a};
    struct member *m = &a->members[host];
    struct fault why;
    int rc;

    m->attempt = a;
    m->host = &a->plan->list->hosts[a->plan->hosts[host]];
    m->status = 125;
    rc = agent_channel_open(&m->stream, a->config.base, host, m->host, a->config.channel, &events,
                            &why);
    if (rc)
        attempt_on_stream_end(host, why.text, a);
}

static int attempt_prepare(struct attempt *a, struct fault *why)
{
    const struct timeval beat = {AGENT_HEARTBEAT_MS / 1000, AGENT_HEARTBEAT_MS % 1000 * 1000};
    struct event_base *base = a->config.base;
    int rc = job_identity_make(&a->identity, why);

    if (rc)
        return rc;
    a->members = calloc((size_t)a->plan->host_count, sizeof(*a->members));
    a->ranks = calloc((size_t)a->plan->size, sizeof(*a->ranks));
    a->heartbeat = event_new(base, -1, EV_PERSIST, on_heartbeat, a);
    a->deadline = evtimer_new(base, on_deadline, a);
    a->pause_limit = evtimer_new(base, on_pause_limit, a);
    if (!a->members || !a->ranks || !a->heartbeat || !a->deadline || !a->pause_limit ||
        evtimer_add(a->heartbeat, &beat))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return progress_start(&a->progress, base, a->config.output, a->plan->host_count, why);
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
    a->status = 125;
    rc = attempt_prepare(a, why);
    if (rc) {
        attempt_destroy(a);
        return rc;
    }
    *out = a;
    for (int i = 0; i < a->plan->host_count; i++)
        member_open(a, i);
    attempt_advance(a);
    return 0;
}

void attempt_destroy(struct attempt *a)
{
    if (!a)
        return;
    for (int i = 0; a->members && i < a->plan->host_count; i++) {
        agent_channel_close(a->members[i].stream);
    }
    wiring_survey_destroy(a->survey);
    json_decref(a->wiring);
    free(a->names);
    progress_stop(a->progress);
    if (a->heartbeat)
        event_free(a->heartbeat);
    if (a->deadline)
        event_free(a->deadline);
    if (a->pause_limit)
        event_free(a->pause_limit);
    job_identity_wipe(&a->identity);
    free(a->members);
    free(a->ranks);
    free(a);
}

void attempt_result(const struct attempt *a, struct attempt_result *out)
{
    static const int statuses[] = {
        [STOP_TIMEOUT] = 124, [STOP_READER_GONE] = 128 + SIGPIPE, [STOP_OUTPUT_FAILED] = 125};

    out->has_run = a->has_run;
    memcpy(out->job, a->identity.id, sizeof(out->job));
    if (a->cause == STOP_SIGNAL)
        out->status = 128 + a->stop_signal;
    else if (a->cause != STOP_NONE)
        out->status = statuses[a->cause];
    else
        out->status = a->has_run ? a->failure.status : a->status;
    out->is_worth_a_restart = a->has_run && a->cause == STOP_NONE &&
                              a->failure.blame != BLAME_NONE && !a->failure.is_killed;
}

/* Stopping. */

static void want_stop(struct attempt *a, int signal, int grace_ms)
{
    a->stop_wanted = true;
    a->stop_signal = signal;
    a->stop_grace_ms = grace_ms;
}

void attempt_stop(struct attempt *a, enum stop_cause cause, int signal)
{
    int grace_ms = a->plan->grace_ms;

    if (a->stop_wanted)
        return;
    if (cause == STOP_READER_GONE && grace_ms > READER_GONE_GRACE_MS)
        grace_ms = READER_GONE_GRACE_MS; /* whoever pipes into `head` waits for us */
    a->cause = cause;
    want_stop(a, signal, grace_ms);
    attempt_advance(a);
}

void attempt_failed(struct attempt *a, bool others_may_go_on)
{
    bool go_on = others_may_go_on && a->plan->continue_on_failure;

    if (a->state == ATTEMPT_RUNNING && a->failure.blame != BLAME_NONE && !go_on && !a->stop_wanted)
        want_stop(a, SIGTERM, a->plan->grace_ms);
    tell_failure(a, a->ranks_left == 0);
}

void attempt_kill(struct attempt *a)
{
    if (a->state != ATTEMPT_STOPPING)
        return;
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            agent_channel_send(a->members[i].stream, LAUNCH_KILL, NULL, 0);
    }
    a->is_hurried = true;
    set_deadline(a, STOP_MARGIN_MS);
}

void attempt_give_up(struct attempt *a)
{
    if (a->state != ATTEMPT_ENDED)
        take(a, EVENT_LATE);
    attempt_advance(a);
}

/* Signals, pauses, stdin, credit. */

/* Before it has its job, an agent takes nothing but PING. */
static bool has_job(const struct member *m)
{
    return m->attempt->state >= ATTEMPT_PREPARING && m->state < MEMBER_GONE && !m->failed;
}

static bool is_running(const struct member *m)
{
    return m->state == MEMBER_STARTED;
}

void attempt_signal(struct attempt *a, int signal)
{
    const uint32_t word = (uint32_t)signal;

    for (int i = 0; i < a->plan->host_count; i++) {
        if (is_running(&a->members[i]))
            agent_channel_send_words(a->members[i].stream, LAUNCH_SIGNAL, &word, 1);
    }
}

void attempt_check_paused(struct attempt *a)
{
    for (int i = 0; a->on_paused && i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_GONE && a->members[i].pings > 0)
            return;
    }
    pause_over(a);
}

void attempt_pause(struct attempt *a, void (*on_paused)(void *arg), void *arg)
{
    const struct timeval limit = {PAUSE_MS / 1000, 0};

    if (a->paused)
        return;
    a->paused = true;
    a->on_paused = on_paused;
    a->paused_arg = arg;
    evtimer_add(a->pause_limit, &limit);
    for (int i = 0; i < a->plan->host_count; i++) {
        struct member *m = &a->members[i];

        /* The PONG says that the PAUSE has arrived: an SSH channel is carried by a thread of ours,
         * which stops with us. */
        if (!has_job(m))
            continue;
        m->pings++;
        agent_channel_send(m->stream, LAUNCH_PAUSE, NULL, 0);
        agent_channel_send(m->stream, LAUNCH_PING, NULL, 0);
    }
    attempt_check_paused(a);
}

void attempt_resume(struct attempt *a)
{
    attempt_reset_silence(a);
    if (!a->paused)
        return;
    a->paused = false;
    for (int i = 0; i < a->plan->host_count; i++) {
        if (has_job(&a->members[i]))
            agent_channel_send(a->members[i].stream, LAUNCH_RESUME, NULL, 0);
    }
}

void attempt_on_stdin(struct attempt *a, int rank, const void *bytes, size_t size)
{
    struct member *m = &a->members[a->plan->ranks[rank].host];

    if (is_running(m))
        agent_channel_send_tagged(m->stream, LAUNCH_STDIN, (uint32_t)rank, bytes, size);
}

void attempt_on_credit(struct attempt *a, int host, uint32_t bytes)
{
    if (a->members[host].state < MEMBER_GONE)
        agent_channel_send_words(a->members[host].stream, LAUNCH_CREDIT, &bytes, 1);
}
