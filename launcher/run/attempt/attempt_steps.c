/* SPDX-License-Identifier: MIT */
#include "launcher/run/attempt/attempt_steps.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/input/plan/wiring_stated.h"
#include "launcher/run/attempt/attempt_ladder.h"
#include "launcher/run/attempt/attempt_state.h"
#include "launcher/run/attempt/hang_watch.h"
#include "launcher/run/attempt/job_request.h"
#include "launcher/run/rdma_topology/wiring_survey.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAVE_MS = 3000,  /* how long agents may take to go after BYE or end of file */
    LIMIT_LEAST = 10, /* seconds for a step before the start, however short --init-timeout is */
};

void attempt_steps_set_deadline(struct attempt *a, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(a->deadline, &t);
}

/* Seconds that a host has for one step before the start. */
static int step_limit_s(const struct attempt *a)
{
    return a->plan->init_timeout_s > LIMIT_LEAST ? a->plan->init_timeout_s : LIMIT_LEAST;
}

/* For READY, which comes after the prolog. */
static int prepare_limit_s(const struct attempt *a)
{
    return step_limit_s(a) + (a->plan->prolog ? HOOK_LIMIT_S : 0);
}

/* For DONE, which comes after the epilog. */
static int done_limit_ms(const struct attempt *a, int grace_ms)
{
    return grace_ms + ATTEMPT_STOP_MARGIN_MS + (a->plan->epilog ? HOOK_LIMIT_S * 1000 : 0);
}

void attempt_steps_fail_late(struct attempt *a, struct attempt_member *m)
{
    char text[160];

    if (a->state == ATTEMPT_RUNNING)
        snprintf(text, sizeof(text),
                 "its ranks have ended, but its agent has not said within %d s that nothing of the "
                 "job is left",
                 done_limit_ms(a, a->plan->grace_ms) / 1000);
    else
        snprintf(text, sizeof(text), "its agent has not %s within %d s",
                 a->state == ATTEMPT_PREPARING ? "prepared the job"
                                               : "answered about its RDMA devices",
                 a->state == ATTEMPT_PREPARING ? prepare_limit_s(a) : step_limit_s(a));
    agent_channel_fail(m->channel, text);
}

void attempt_steps_await_done(struct attempt *a)
{
    attempt_steps_set_deadline(a, done_limit_ms(a, a->plan->grace_ms));
}

void attempt_steps_await_ready(struct attempt *a)
{
    attempt_steps_set_deadline(a, prepare_limit_s(a) * 1000);
}

static int survey_open(struct attempt *a, struct fault *why)
{
    const struct plan *p = a->plan;
    struct wiring_config config = {.count = p->host_count,
                                   .source = p->rdma_device ? "--rdma-device" : p->list->source,
                                   .stated = a->wiring,
                                   .local_net = p->local_net,
                                   .rdma = p->rdma};

    a->names = calloc((size_t)p->host_count, sizeof(*a->names));
    if (!a->names)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < p->host_count; i++)
        a->names[i] = a->members[i].host->name;
    config.names = a->names;
    return wiring_survey_create(&a->survey, &config, why);
}

static void survey_ask(struct attempt *a, enum wiring_round round)
{
    for (int i = 0; i < a->plan->host_count && a->survey; i++)
        agent_channel_send_json(a->members[i].channel, LAUNCH_QUERY,
                                wiring_survey_question(a->survey, i, round));
    if (a->survey)
        attempt_steps_set_deadline(a, step_limit_s(a) * 1000);
}

/* Bad wiring is thus reported before anything runs, and links that no hostfile states are found. */
void attempt_steps_look(struct attempt *a)
{
    const struct plan *p = a->plan;
    struct fault why;

    progress_line_stop(a->progress);
    a->progress = NULL;
    a->wiring = wiring_stated(p);
    if (strcmp(p->backend, "rdma") != 0 || (p->host_count == 1 && !p->local_net))
        return;
    log_debug("job %s: asking the hosts for their RDMA devices", a->identity.id);
    if (survey_open(a, &why)) {
        log_error("%s", why.text);
        a->stop_wanted = true;
    }
    survey_ask(a, WIRING_LOOK);
}

void attempt_steps_try(struct attempt *a)
{
    survey_ask(a, WIRING_TRY);
}

void attempt_steps_prepare(struct attempt *a)
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

        rc = job_request_create(&text, a->plan, &a->identity, i, addresses, a->wiring,
                                a->config.stdin_mode, &why);
        if (!rc)
            log_debug("host %s: sending its JOB, %zu bytes", a->members[i].host->name,
                      strlen(text));
        if (!rc)
            agent_channel_send(a->members[i].channel, LAUNCH_JOB, text, strlen(text));
        job_request_destroy(text);
    }
    free(addresses);
    attempt_steps_await_ready(a);
    if (rc) {
        log_error("%s", why.text);
        a->stop_wanted = true;
    }
}

void attempt_steps_start(struct attempt *a)
{
    const char *name = a->plan->name;
    char command[256];

    a->has_run = true;
    a->start_ms = clock_ms();
    job_request_command_line(command, sizeof(command), a->plan);
    log_info("job %s%s%s%s: %d rank%s on %d host%s: %s", a->identity.id, name ? " (" : "",
             name ? name : "", name ? ")" : "", a->plan->size, a->plan->size == 1 ? "" : "s",
             a->plan->host_count, a->plan->host_count == 1 ? "" : "s", command);
    events_file_write(a->config.events, "launched", a->identity.id,
                      json_pack("{s:i, s:i, s:s}", "ranks", a->plan->size, "hosts",
                                a->plan->host_count, "command", command));
    log_debug("job %s: starting the ranks; their coordinator is at %s", a->identity.id,
              a->coordinator);
    for (int i = 0; i < a->plan->host_count; i++) {
        a->members[i].state = MEMBER_STARTED;
        agent_channel_send_json(
            a->members[i].channel, LAUNCH_START,
            json_pack("{s:s, s:b}", "coordinator", a->coordinator, "pmix", (int)a->is_pmix));
    }
    input_start(a->config.input);
    hang_watch_begin(a->hang);
}

void attempt_steps_stop(struct attempt *a)
{
    const uint32_t words[] = {(uint32_t)a->stop_signal, (uint32_t)a->stop_grace_ms,
                              a->cause == STOP_TIMEOUT};

    hang_watch_end(a->hang);
    log_info("stopping the job: signal %d, SIGKILL after %d ms", a->stop_signal, a->stop_grace_ms);
    events_file_write(
        a->config.events, "stopped", a->identity.id,
        json_pack("{s:i, s:i}", "signal", a->stop_signal, "grace_ms", a->stop_grace_ms));
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            agent_channel_send_words(a->members[i].channel, LAUNCH_STOP, words, 3);
    }
    attempt_ladder_start(a);
    if (a->cause == STOP_NONE)
        output_fold_others(a->config.output, a->failure.rank);
    attempt_steps_set_deadline(a, done_limit_ms(a, a->stop_grace_ms));
}

void attempt_steps_bye(struct attempt *a)
{
    for (int i = 0; i < a->plan->host_count; i++)
        agent_channel_send(a->members[i].channel, LAUNCH_BYE, NULL, 0);
    attempt_steps_set_deadline(a, LEAVE_MS);
}

static void channels_shut(struct attempt *a)
{
    progress_line_stop(a->progress);
    a->progress = NULL;
    attempt_steps_set_deadline(a, LEAVE_MS);
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_GONE)
            agent_channel_shut(a->members[i].channel);
    }
}

void attempt_steps_report(struct attempt *a)
{
    int failed = 0;

    progress_line_stop(a->progress);
    a->progress = NULL;
    for (int i = 0; i < a->plan->host_count; i++) {
        const struct attempt_member *m = &a->members[i];

        if (!m->failed)
            continue;
        if (failed++ == 0)
            a->status = m->status;
        output_say(a->config.output, "host %s: %s", m->host->name, m->reason);
        events_file_write(
            a->config.events, "lost", a->identity.id,
            json_pack("{s:s, s:o}", "host", m->host->name, "text", text_json(m->reason)));
    }
    if (a->plan->host_count > 1)
        output_say(a->config.output, "%d of %d hosts failed; nothing was started", failed,
                   a->plan->host_count);
    channels_shut(a);
}

void attempt_steps_report_rdma(struct attempt *a)
{
    attempt_steps_report(a);
    if (a->survey)
        output_say(a->config.output, "--backend tcp runs the job without RDMA");
}

void attempt_steps_abandon(struct attempt *a)
{
    channels_shut(a);
}

void attempt_steps_give_up(struct attempt *a)
{
    for (int i = 0; i < a->plan->host_count; i++) {
        if (a->members[i].state < MEMBER_DONE)
            log_error("host %s: its agent has not ended the ranks in time; processes of job %s "
                      "may be left there",
                      a->members[i].host->name, a->identity.id);
    }
    channels_shut(a);
}

void attempt_steps_end(struct attempt *a)
{
    hang_watch_end(a->hang);
    evtimer_del(a->heartbeat);
    evtimer_del(a->pause_limit);
    evtimer_del(a->ladder);
    a->config.on_end(a->config.arg);
}
