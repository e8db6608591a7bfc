/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_steps.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/net/wiring_table.h"
#include "common/text/text_json.h"
#include "launcher/input/plan/topology_stated.h"
#include "launcher/run/elastic/keeper_order.h"
#include "launcher/run/identity/job_spec_encode.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/state/escalation.h"
#include "launcher/run/state/hang_watch.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/job_spec.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_LEAST = 10, /* seconds for a step before the start, however short --init-timeout is */
};

void job_round_steps_set_deadline(struct job_round *r, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(r->deadline, &t);
}

/* Seconds that a host has for one step before the start. */
static int step_limit_s(const struct job_round *r)
{
    int asked_s = r->plan->job.init_timeout_ms / 1000;

    return asked_s > LIMIT_LEAST ? asked_s : LIMIT_LEAST;
}

/* For READY, which comes after the prolog. */
static int prepare_limit_s(const struct job_round *r)
{
    return step_limit_s(r) + (r->plan->job.prolog ? HOOK_LIMIT_S : 0);
}

/* For DONE, which comes after the epilog. */
static int done_limit_ms(const struct job_round *r, int grace_ms)
{
    return grace_ms + JOB_ROUND_STOP_MARGIN_MS + (r->plan->job.epilog ? HOOK_LIMIT_S * 1000 : 0);
}

void job_round_steps_fail_late(struct job_round *r, struct job_round_host *h)
{
    char text[160];

    if (lives_host_takes_part(h->facts->life))
        snprintf(text, sizeof(text),
                 "its ranks have ended, but its agent has not said within %d s that nothing of the "
                 "job is left",
                 done_limit_ms(r, r->plan->job.grace_ms) / 1000);
    else
        snprintf(text, sizeof(text), "its agent has not %s within %d s",
                 r->state == JOB_ROUND_SURVEYING ? "answered about its RDMA devices"
                                                 : "prepared the job",
                 r->state == JOB_ROUND_SURVEYING ? step_limit_s(r) : prepare_limit_s(r));
    agent_channel_fail(h->channel, text);
}

void job_round_steps_await_done(struct job_round *r)
{
    job_round_steps_set_deadline(r, done_limit_ms(r, r->plan->job.grace_ms));
}

void job_round_steps_await_ready(struct job_round *r)
{
    job_round_steps_set_deadline(r, prepare_limit_s(r) * 1000);
}

static int survey_open(struct job_round *r, struct fault *why)
{
    const struct plan *p = r->plan;
    struct topology_config config = {.count = p->where->host_count,
                                     .source = p->options->rdma_device ? "--rdma-device"
                                                                       : p->list->source,
                                     .stated = r->wiring.table,
                                     .local_net = p->job.local_net,
                                     .rdma = p->job.rdma};

    r->wiring.names = calloc((size_t)p->where->host_count, sizeof(*r->wiring.names));
    if (!r->wiring.names)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < p->where->host_count; i++)
        r->wiring.names[i] = r->hosts[i].host->name;
    config.names = r->wiring.names;
    return topology_survey_create(&r->wiring.survey, &config, why);
}

/* Each round of questions has its time. */
static json_t *survey_question(void *arg, int host, int round)
{
    struct job_round *r = arg;

    job_round_steps_set_deadline(r, step_limit_s(r) * 1000);
    return topology_survey_question(r->wiring.survey, host, round);
}

static int survey_answer(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    struct job_round *r = arg;

    return topology_survey_answer(r->wiring.survey, host, round, said, why);
}

/* Bad wiring is thus reported before anything runs, and links that no hostfile states are found. */
void job_round_steps_survey(struct job_round *r)
{
    const struct plan *p = r->plan;
    const struct query_rounds rounds = {
        .count = TOPOLOGY_ROUNDS, .question = survey_question, .take = survey_answer, .arg = r};
    struct fault why;

    progress_line_stop(r->progress);
    r->progress = NULL;
    r->wiring.table = topology_stated(p);
    if (strcmp(p->backend, "rdma") != 0 || (p->where->host_count == 1 && !p->job.local_net))
        return;
    log_debug("job %s: asking the hosts for their RDMA devices", r->identity.id);
    if (survey_open(r, &why)) {
        log_error("%s", why.text);
        r->stop.is_wanted = true;
        return;
    }
    agent_session_ask_rounds(r->session, &rounds);
}

static int shared_encode(char **out, struct job_round *r, const struct plan *p,
                         const char *const *addresses, struct fault *why)
{
    struct job_staged staged = {.path = p->stage_env};
    json_t *hosts = job_spec_encode_hosts(p, addresses);
    json_t *wiring = r->wiring.table ? wiring_table_write(r->wiring.table) : NULL;
    int rc = 0;

    if (r->wiring.table && !wiring)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (r->copy) {
        staged.name = env_copy_name(r->copy);
        staged.mib = (int)(env_copy_size(r->copy) >> 20) + 1;
        staged.cache = p->options->stage_cache;
        staged.version = staged.cache ? env_copy_version(r->copy) : NULL;
    }
    if (!rc)
        rc = job_spec_encode_shared(out, p, &r->identity, hosts, wiring, r->config.stdin_mode,
                                    &staged, why);
    json_decref(hosts);
    json_decref(wiring);
    return rc;
}

/* Sends SHARED and JOB to the hosts from `first` on. */
static int jobs_send(struct job_round *r, const struct plan *p, int first, int count,
                     struct fault *why)
{
    const char **addresses = calloc((size_t)p->where->host_count, sizeof(*addresses));
    char *shared = NULL;
    int rc = addresses ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int i = 0; addresses && i < p->where->host_count; i++)
        addresses[i] = r->hosts[i].address;
    if (!rc)
        rc = shared_encode(&shared, r, p, addresses, why);
    for (int i = first; i < first + count && !rc; i++) {
        struct agent_channel *c = r->hosts[i].channel;
        char *text = NULL;

        rc = job_spec_encode(&text, p, i, addresses, why);
        if (rc)
            break;
        log_debug("host %s: sending its JOB, %zu bytes, and %zu that all hosts get",
                  r->hosts[i].host->name, strlen(text), strlen(shared));
        agent_channel_send(c, LAUNCH_SHARED, shared, strlen(shared));
        agent_channel_send(c, LAUNCH_JOB, text, strlen(text));
        agent_channel_flush(c);
        r->hosts[i].ranks_known = p->where->size;
        free(text);
    }
    job_spec_encode_destroy(shared);
    free(addresses);
    return rc;
}

int job_round_steps_prepare_host(struct job_round *r, int host, struct fault *why)
{
    job_round_steps_await_ready(r);
    return jobs_send(r, r->plan, host, 1, why);
}

int job_round_steps_prepare_new(struct job_round *r, const struct plan *p, struct fault *why)
{
    job_round_steps_await_ready(r);
    return jobs_send(r, p, r->plan->where->host_count,
                     p->where->host_count - r->plan->where->host_count, why);
}

void job_round_steps_prepare(struct job_round *r)
{
    struct fault why;
    int rc = jobs_send(r, r->plan, 0, r->plan->where->host_count, &why);

    job_round_steps_await_ready(r);
    if (rc) {
        log_error("%s", why.text);
        r->stop.is_wanted = true;
    }
}

/* An agent whose processes have both been stopped cannot end its ranks by itself. The one on this
 * machine is sent SIGCONT when its channel is closed. */
static void advice_give(struct job_round *r, int host)
{
    struct job_round_host *h = &r->hosts[host];

    if (h->host->launch_method != LAUNCH_METHOD_LOCAL &&
        asprintf(&h->advice,
                 "; if the agent has been stopped, mlaunch kill %s -H %s ends its ranks",
                 r->identity.id, h->host->name) >= 0)
        agent_session_advise(r->session, host, h->advice);
}

/* The index of the first port that {port} may be on all hosts. */
static int free_port(const struct job_round *r)
{
    int index = 0;

    while (r->agreed.ports_taken >> index & 1)
        index++;
    return index;
}

/* For each rank of the host the number of the process that takes its place; 0: none does. NULL: out
 * of memory. */
static json_t *places_json(const struct job_round *r, int host)
{
    int *numbers = calloc((size_t)r->plan->where->size, sizeof(*numbers)), count = 0;
    json_t *list;

    for (int i = 0; numbers && i < r->plan->where->size; i++)
        if (r->lives.ranks[i].host == host)
            numbers[count++] = r->lives.ranks[i].life == RANK_OVER
                                   ? 0
                                   : r->lives.ranks[i].restarts + (i >= r->ranks_began);
    list = numbers ? host_table_write_numbers(numbers, count) : NULL;
    free(numbers);
    return list;
}

void job_round_steps_start_host(struct job_round *r, int host)
{
    struct job_round_host *h = &r->hosts[host];
    char keepers[KEEPERS_TEXT];
    json_t *start;

    keeper_order_find(r->world.keepers, host, keepers);
    start = json_pack("{s:s, s:s, s:b, s:b, s:i}", "coordinator", r->agreed.coordinator, "keeper",
                      keepers, "pmix", r->agreed.pmix != PMIX_IS_ABSENT, "needs_pmix",
                      r->agreed.pmix == PMIX_IS_NEEDED, "port", free_port(r));
    round_lives_host(h, HOST_EVENT_START);
    advice_give(r, host);
    if (h->facts->is_coming)
        json_object_update_new(
            start, json_pack("{s:o, s:i}", "places", places_json(r, host), "placed", h->placed));
    agent_channel_send_json(h->channel, LAUNCH_START, start);
    if (h->facts->is_coming && r->is_asked)
        agent_channel_send(h->channel, LAUNCH_ASK, NULL, 0);
    agent_channel_flush(h->channel);
}

void job_round_steps_begin(struct job_round *r)
{
    const char *name = r->plan->job.name;
    char command[256];

    r->at.start_ms = clock_ms();
    job_spec_encode_command_line(command, sizeof(command), r->plan);
    log_info("job %s%s%s%s: %d rank%s on %d host%s: %s", r->identity.id, name ? " (" : "",
             name ? name : "", name ? ")" : "", r->plan->where->size,
             r->plan->where->size == 1 ? "" : "s", r->plan->where->host_count,
             r->plan->where->host_count == 1 ? "" : "s", command);
    events_file_write(r->config.events, "launched", r->identity.id,
                      json_pack("{s:i, s:i, s:s}", "ranks", r->plan->where->size, "hosts",
                                r->plan->where->host_count, "command", command));
    log_info("MPI programs: %s", plan_mpi_text(r->plan, r->agreed.pmix != PMIX_IS_ABSENT));
    input_start(r->config.input);
    hang_watch_begin(r->hang);
}

void job_round_steps_start(struct job_round *r)
{
    log_debug("job %s: starting the ranks; their coordinator is at %s", r->identity.id,
              r->agreed.coordinator);
    for (int i = 0; i < r->plan->where->host_count; i++)
        job_round_steps_start_host(r, i);
    job_round_steps_begin(r);
}

static void stop_words_send(struct job_round *r, struct job_round_host *h, int signal, int grace_ms)
{
    const uint32_t words[] = {(uint32_t)signal, (uint32_t)grace_ms, r->stop.cause == STOP_TIMEOUT,
                              r->stop.cause == STOP_SLURM};

    agent_channel_send_words(h->channel, LAUNCH_STOP, words, 4);
}

void job_round_steps_stop_host(struct job_round *r, struct job_round_host *h)
{
    if (lives_host_runs(h->facts->life))
        stop_words_send(r, h, SIGTERM, r->plan->job.grace_ms);
}

/* An independent host, or one that comes while the others run. */
static void stop_opening(struct job_round_host *h)
{
    if (h->arrival && evtimer_pending(h->arrival, NULL)) {
        evtimer_del(h->arrival);
        round_lives_host(h, HOST_EVENT_END);
    } else if (lives_host_is_starting(h->facts->life)) {
        round_lives_host(h, HOST_EVENT_FAIL);
        agent_channel_shut(h->channel);
    }
}

void job_round_steps_stop(struct job_round *r)
{
    hang_watch_end(r->hang);
    log_info("stopping the job: signal %d, SIGKILL after %d ms", r->stop.signal, r->stop.grace_ms);
    events_file_write(
        r->config.events, "stopped", r->identity.id,
        json_pack("{s:i, s:i}", "signal", r->stop.signal, "grace_ms", r->stop.grace_ms));
    for (int i = 0; i < job_round_state_hosts(r); i++) {
        struct job_round_host *h = &r->hosts[i];

        if (lives_host_runs(h->facts->life))
            stop_words_send(r, h, r->stop.signal, r->stop.grace_ms);
        else
            stop_opening(h);
    }
    escalation_start(r);
    if (r->stop.cause == STOP_NONE)
        output_fold_others(r->config.output, r->failure.rank);
    job_round_steps_set_deadline(r, done_limit_ms(r, r->stop.grace_ms));
}

/* A run may follow, for which the agents need not be started again, and that finds what ranks have
 * kept (ml_keep). */
static bool agents_may_stay(const struct job_round *r)
{
    return r->config.staying && r->stop.cause == STOP_NONE && !r->failure.is_killed &&
           !r->failure.is_hopeless;
}

/* The hosts were sent JOB, or questions before it. */
static bool have_been_asked(const struct job_round *r)
{
    return r->wiring.survey || r->hosts[0].ranks_known > 0;
}

/* The same before the start, when another host has failed. An agent that has run a prolog owes the
 * epilog. */
static bool agent_may_wait(const struct job_round *r, const struct job_round_host *h)
{
    if (!agents_may_stay(r))
        return false;
    if (!have_been_asked(r))
        return h->facts->life == HOST_CONNECTED;
    return h->facts->life == HOST_PREPARED && !r->plan->job.epilog && !r->copy;
}

void job_round_steps_bye(struct job_round *r)
{
    bool may_stay = agents_may_stay(r) && r->failure.blame != BLAME_NONE;

    for (int i = 0; i < r->plan->where->host_count; i++) {
        struct job_round_host *h = &r->hosts[i];

        if (may_stay && h->facts->life == HOST_DONE && !h->is_littered)
            round_lives_host(h, HOST_EVENT_STAY);
        /* The only one needs no BYE, unless it waits for another run. */
        if (h->facts->life < HOST_STAYS && (r->plan->where->host_count > 1 || r->config.staying))
            agent_channel_send(h->channel, LAUNCH_BYE, NULL, 0);
    }
    for (int i = r->plan->where->host_count; i < job_round_state_hosts(r); i++)
        stop_opening(&r->hosts[i]);
    job_round_steps_set_deadline(r, AGENT_LEAVES_MS);
}

void job_round_steps_abandon(struct job_round *r)
{
    progress_line_stop(r->progress);
    r->progress = NULL;
    job_round_steps_set_deadline(r, AGENT_LEAVES_MS);
    for (int i = 0; i < job_round_state_hosts(r); i++) {
        if (r->lives.hosts[i].life < HOST_STAYS)
            agent_channel_shut(r->hosts[i].channel);
    }
}

void job_round_steps_report(struct job_round *r)
{
    int failed = 0;

    progress_line_stop(r->progress);
    r->progress = NULL;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        struct job_round_host *h = &r->hosts[i];

        if (agent_may_wait(r, h))
            round_lives_host(h, HOST_EVENT_STAY);
        if (!lives_host_has_failed(h->facts->life))
            continue;
        if (failed++ == 0)
            r->status = h->status;
        output_say(r->config.output, "host %s: %s", h->host->name, h->reason);
        events_file_write(
            r->config.events, "lost", r->identity.id,
            json_pack("{s:s, s:o}", "host", h->host->name, "text", text_json(h->reason)));
    }
    if (r->plan->where->host_count > 1)
        output_say(r->config.output, "%d of %d hosts failed; nothing was started", failed,
                   r->plan->where->host_count);
    job_round_steps_abandon(r);
}

void job_round_steps_report_rdma(struct job_round *r)
{
    job_round_steps_report(r);
    if (r->wiring.survey)
        output_say(r->config.output, "--backend tcp runs the job without RDMA");
}

void job_round_steps_give_up(struct job_round *r)
{
    for (int i = 0; i < r->plan->where->host_count; i++) {
        if (r->lives.hosts[i].life < HOST_DONE)
            log_error("host %s: its agent has not ended the ranks in time; processes of job %s "
                      "may be left there",
                      r->hosts[i].host->name, r->identity.id);
    }
    job_round_steps_abandon(r);
}

/* A job that is slow because of that looks as if it were slow by itself. */
static void crowding_hint(const struct job_round *r)
{
    const struct done_report *c = &r->crowd.report;

    if (c->threads && log_level() >= LOG_WARN)
        output_say(
            r->config.output,
            "on host %s, %d rank%s had up to %d threads at work on %d processor%s: --threads "
            "auto starts no more than each rank's share of them",
            r->crowd.host, c->ranks, c->ranks == 1 ? "" : "s", c->threads, c->processors,
            c->processors == 1 ? "" : "s");
}

void job_round_steps_end(struct job_round *r)
{
    crowding_hint(r);
    hang_watch_end(r->hang);
    evtimer_del(r->world.cut_limit);
    evtimer_del(r->world.broken_limit);
    evtimer_del(r->world.replace_timer);
    evtimer_del(r->stop.escalation);
    r->config.on_end(r->config.arg);
}
