/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/host_arrival.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/wiring_table.h"
#include "common/status.h"
#include "launcher/input/plan/topology_stated.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdlib.h>

/* What the processes before have written is whole; others write to the same streams. */
static void streams_end(struct job_round *r, int host)
{
    for (int i = 0; i < r->plan->where->size; i++)
        for (int k = 0;
             k < 2 && r->lives.ranks[i].host == host && r->lives.ranks[i].life != RANK_OVER; k++) {
            if (!r->ranks[i].is_closed[k])
                output_write(r->config.output, host, i, k + 1, NULL, 0);
            r->ranks[i].is_closed[k] = true;
        }
}

void host_arrival_expect(struct job_round *r, struct job_round_host *h, const struct host *host,
                         int placed)
{
    file_feed_destroy(h->feed);
    env_copy_close(h->copy);
    free(h->advice);
    *h->facts = (struct live_host){.life = HOST_OPENING,
                                   .is_coming = true,
                                   .joins = host->launch_method == LAUNCH_METHOD_JOIN};
    *h = (struct job_round_host){.round = r,
                                 .facts = h->facts,
                                 .host = host,
                                 .placed = placed,
                                 .opened_ms = clock_ms(),
                                 .arrival = h->arrival,
                                 .again = h->again,
                                 .status = STATUS_OURS};
}

static void arrival_open(struct job_round *r, int host)
{
    struct job_round_host *h = &r->hosts[host];

    if (!job_round_state_is_running(r)) {
        round_lives_host(h, HOST_EVENT_END);
        return;
    }
    streams_end(r, host);
    host_arrival_expect(r, h, plan_host(r->plan, host), h->placed + 1);
    h->channel = agent_session_reach(r->session, host, h->host);
}

static void on_arrival(evutil_socket_t fd, short what, void *arg)
{
    struct job_round_host *h = arg;

    (void)fd, (void)what;
    arrival_open(h->round, (int)(h - h->round->hosts));
    job_round_phases_advance(h->round);
}

bool host_arrival_set(struct job_round *r, struct job_round_host *h, int ms)
{
    const struct timeval time = {ms / 1000, ms % 1000 * 1000};

    if (!h->arrival)
        h->arrival = evtimer_new(r->config.base, on_arrival, h);
    if (!h->arrival || evtimer_add(h->arrival, &time) != 0)
        return false;
    h->host = plan_host(r->plan, (int)(h - r->hosts));
    h->facts->joins = h->host->launch_method == LAUNCH_METHOD_JOIN;
    round_lives_host(h, HOST_EVENT_COME);
    return true;
}

bool host_arrival_know(const struct job_round *r, int rank)
{
    for (int i = 0; i < r->plan->where->host_count; i++) {
        const struct job_round_host *h = &r->hosts[i];

        if (lives_host_takes_part(h->facts->life) && h->ranks_known <= rank)
            return false;
    }
    return true;
}

void host_arrival_tell(struct job_round *r, struct job_round_host *to, int host, json_t *wiring)
{
    const struct job_round_host *h = &r->hosts[host];

    agent_channel_send_json(to->channel, LAUNCH_PLACED,
                            json_pack("{s:i, s:s, s:s, s:O*}", "host", host, "name", h->host->name,
                                      "address", h->host->ips[0] ? h->host->ips[0] : h->address,
                                      "wiring", wiring));
}

/* What the host's RDMA devices are. Those of the others were tried when the job began. */
static void on_devices(json_t *said, void *arg)
{
    struct job_round_host *h = arg;
    struct job_round *r = said ? h->round : NULL;
    const int host = said ? (int)(h - r->hosts) : -1;
    struct fault why;
    int rc;

    if (!said || h->facts->life != HOST_CONNECTED)
        return;
    rc = agent_session_check_error(said, &why);
    if (!rc)
        rc = topology_survey_admit(r->wiring.survey, host, said, &why);
    if (!rc)
        rc = job_round_steps_prepare_host(r, host, &why);
    if (rc)
        agent_channel_fail(h->channel, why.text);
}

/* The host has its copy of --stage-env. */
static void on_copied(uint64_t lost, void *arg)
{
    struct job_round_host *h = arg;
    struct job_round *r = h->round;

    if (h->facts->life != HOST_CONNECTED)
        return;
    if (lost > 0) {
        agent_channel_fail(
            h->channel, "--stage-env: files have changed there since the job began, or cannot be "
                        "read, so that it would have another copy than the other hosts");
        return;
    }
    env_copy_report(h->copy, (int)(h - r->hosts));
    agent_channel_send(h->channel, LAUNCH_STAGED, NULL, 0);
    job_round_steps_await_ready(r);
}

int host_arrival_copy(struct job_round *r, struct job_round_host *h, struct fault *why)
{
    return r->copy ? env_copy_open_later(&h->copy, r->copy, (int)(h - r->hosts), on_copied, h, why)
                   : 0;
}

int host_arrival_on_hello(struct job_round *r, struct job_round_host *h, struct fault *why)
{
    int host = (int)(h - r->hosts);

    if (host_arrival_copy(r, h, why))
        return why->code;
    /* One that joins again has the place that it had. */
    if (r->wiring.table && h->host->launch_method != LAUNCH_METHOD_JOIN)
        topology_stated_move(r->wiring.table, r->plan, host);
    if (!r->wiring.survey)
        return job_round_steps_prepare_host(r, host, why);
    r->wiring.names[host] = h->host->name;
    topology_survey_lose(r->wiring.survey, host); /* what another one has said that came here */
    topology_survey_restate(r->wiring.survey, r->wiring.table);
    agent_session_ask_for(r->session, host,
                          topology_survey_question(r->wiring.survey, host, TOPOLOGY_DESCRIBE),
                          on_devices, h);
    job_round_steps_await_ready(r);
    return 0;
}

static bool is_known(const struct job_round *r, const struct job_round_host *h)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (job_round_state_is_on(r, i, h) && r->lives.ranks[i].life == RANK_ADDED &&
            !host_arrival_know(r, i))
            return false;
    return true;
}

/* Its agent owes a WIRED. */
static bool is_unwired(const struct job_round_host *h)
{
    enum host_life life = h->facts->life;

    return h->unwired > 0 &&
           (life == HOST_PREPARED || life == HOST_ANNOUNCED || lives_host_runs(life));
}

/* Starts the ranks of hosts that have come, once all that have a say know of these hosts, and there
 * is a coordinator. */
void host_arrival_start(struct job_round *r)
{
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (is_unwired(&r->hosts[i]))
            return;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        struct job_round_host *h = &r->hosts[i];

        if (h->facts->life != HOST_ANNOUNCED || r->lives.coordinator == COORDINATOR_MOVES ||
            r->stop.is_wanted || !is_known(r, h))
            continue;
        log_info("host %s: its ranks are started, and wait for ml_repair", h->host->name);
        for (int k = 0; k < r->plan->where->size; k++)
            if (job_round_state_is_on(r, k, h))
                round_lives_rank(r, k, RANK_EVENT_KNOWN);
        job_round_steps_start_host(r, i);
        h->facts->is_coming = false;
    }
}

/* Says to the others who has come, and with which wiring to all of them. */
void host_arrival_announce(struct job_round *r, struct job_round_host *h)
{
    json_t *wiring = r->wiring.table ? wiring_table_write(r->wiring.table) : NULL;

    if (r->wiring.table && !wiring) {
        agent_channel_fail(h->channel, "mlaunch is out of memory");
        return;
    }
    round_lives_host(h, HOST_EVENT_ANNOUNCE);
    /* All are awaited before the first is told: a send may find the end of its channel. */
    for (int i = 0; i < r->plan->where->host_count && wiring; i++)
        if (lives_host_runs(r->hosts[i].facts->life) || &r->hosts[i] == h)
            r->hosts[i].unwired++;
    for (int i = 0; i < r->plan->where->host_count; i++) {
        struct job_round_host *other = &r->hosts[i];

        if (lives_host_takes_part(other->facts->life) || (other == h && wiring))
            host_arrival_tell(r, other, (int)(h - r->hosts), wiring);
    }
    json_decref(wiring);
    host_arrival_start(r);
}

int host_arrival_on_wired(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why)
{
    (void)f;
    if (h->unwired == 0 && h->facts->life != HOST_DONE)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected WIRED");
    h->unwired -= h->unwired > 0;
    host_arrival_start(r);
    return 0;
}
