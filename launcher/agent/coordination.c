/* SPDX-License-Identifier: MIT */
#include "launcher/agent/coordination.h"

#include "common/address.h"
#include "common/text/text_json.h"
#include "coordinator/agent_link.h"
#include "coordinator/server.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/report.h"
#include "launcher/protocol/agent_protocol.h"

#include <stdlib.h>
#include <string.h>

struct coordination {
    struct agent *agent;
    struct server *server;
    struct agent_link *link;
};

static void on_abort(int rank, int status, const char *why, void *arg)
{
    struct coordination *c = arg;

    frame_stream_send_json(
        c->agent->channel, AGENT_ABORTED,
        json_pack("{si si so}", "rank", rank, "status", status, "why", text_json(why ? why : "")));
}

static void on_stall(const char *text, void *arg)
{
    struct coordination *c = arg;

    frame_stream_send_json(
        c->agent->channel, AGENT_NOTE,
        json_pack("{ss so sb}", "level", "warn", "text", text_json(text), "names_host", 1));
}

static void on_refused(const char *text, void *arg)
{
    struct coordination *c = arg;

    report_note(c->agent, "warn", text);
}

/* Once this host's ranks have ended, the agent needs the coordinator no longer. */
static void on_lost(const char *text, void *arg)
{
    struct coordination *c = arg;

    if (c->agent->state == AGENT_IS_RUNNING && c->agent->ended < c->agent->job->rank_count)
        report_cut_off(c->agent, text);
}

static int service_open(struct coordination *c, char *address, struct fault *why)
{
    const struct job_message *job = c->agent->job;
    struct server_config config = {.job = job->job,
                                   .secret = job->secret,
                                   .size = job->size,
                                   .hosts = job->hosts,
                                   .host_of = job->host_of,
                                   .host_names = job->host_names,
                                   .stall_ms = job->stall_ms,
                                   .bind_ip = c->agent->bind_ip,
                                   .port = (uint16_t)job->port};
    struct server_events events = {on_abort, on_stall, on_refused, c};
    int rc = server_open(&c->server, c->agent->base, &config, &events, why);

    if (!rc)
        address_format(server_address(c->server), address);
    return rc;
}

int coordination_open(struct coordination **out, struct agent *a, char *address, struct fault *why)
{
    const struct job_message *job = a->job;
    struct coordination *c = calloc(1, sizeof(*c));
    int rc = 0;

    address[0] = '\0';
    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->agent = a;
    if (job->host_of[0] == job->host && strcmp(job->backend, "none") != 0)
        rc = service_open(c, address, why);
    if (rc) {
        coordination_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

int coordination_connect(struct coordination *c, const char *address, struct fault *why)
{
    const struct job_message *job = c->agent->job;

    if (c->server || !address[0])
        return 0;
    return agent_link_open(&c->link, c->agent->base, address, job->job, job->secret, job->host,
                           job->init_timeout_ms, on_lost, c, why);
}

void coordination_rank_exited(struct coordination *c, int rank, pid_t pid, const char *text)
{
    if (c->server)
        server_rank_exited(c->server, rank, pid, text);
    else if (c->link)
        agent_link_exited(c->link, rank, pid, text);
}

void coordination_tell_waits(struct coordination *c)
{
    if (c && c->server)
        server_tell_waits(c->server);
}

void coordination_close(struct coordination *c)
{
    if (!c)
        return;
    server_close(c->server);
    agent_link_close(c->link);
    free(c);
}
