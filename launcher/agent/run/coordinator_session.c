/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/coordinator_session.h"

#include "common/log.h"
#include "common/net/address.h"
#include "common/net/host_table.h"
#include "common/text/text_json.h"
#include "coordinator/host/agent_client.h"
#include "coordinator/host/host_relay.h"
#include "coordinator/names.h"
#include "coordinator/service/server.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/base/machine/process_linux.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANCESTORS_MOST = 64 };

struct coordinator_session {
    struct agent *agent;
    struct server *server;
    struct agent_client *client;
    struct host_relay *relay; /* for this host's ranks; NULL: they connect to the coordinator */
    struct coordinator_session_events events;
    struct names names;         /* for a single host that has no server */
    char address[ADDRESS_TEXT]; /* the coordinator's, if it is on another host */
};

static void on_abort(int rank, int status, const char *why, void *arg)
{
    struct coordinator_session *c = arg;

    frame_stream_send_json(
        c->agent->launcher.channel, AGENT_ABORTED,
        json_pack("{si si so}", "rank", rank, "status", status, "why", text_json(why ? why : "")));
}

static void on_stall(const char *text, void *arg)
{
    struct coordinator_session *c = arg;

    frame_stream_send_json(c->agent->launcher.channel, AGENT_NOTE,
                           json_pack("{ss so sb sb}", "level", "warn", "text", text_json(text),
                                     "names_host", 1, "stall", 1));
}

static void on_refused(const char *text, void *arg)
{
    struct coordinator_session *c = arg;

    job_report_note(c->agent, "warn", text);
}

/* Once this host's ranks have ended, the agent needs the coordinator no longer. */
static void on_lost(const char *text, void *arg)
{
    struct coordinator_session *c = arg;

    if (c->relay)
        host_relay_lost(c->relay);
    if (c->agent->run.state == AGENT_IS_RUNNING &&
        c->agent->run.ranks.ended < c->agent->run.job->rank_count)
        job_report_cut_off(c->agent, c->address, text);
}

static void on_unreached(int rank, int peer, struct server_membership of, const char *text,
                         void *arg)
{
    struct coordinator_session *c = arg;

    frame_stream_send_json(c->agent->launcher.channel, AGENT_UNREACHED,
                           json_pack("{si si sI sI so}", "rank", rank, "peer", peer, "generation",
                                     (json_int_t)of.generation, "membership", (json_int_t)of.number,
                                     "text", text_json(text)));
}

static void on_alone(int rank, const char *text, void *arg)
{
    struct coordinator_session *c = arg;

    frame_stream_send_json(c->agent->launcher.channel, AGENT_ALONE,
                           json_pack("{si so}", "rank", rank, "text", text_json(text)));
}

static void on_exchanged(uint32_t number, const void *bytes, size_t size, void *arg)
{
    struct coordinator_session *c = arg;

    c->events.on_exchanged(c->agent, number, bytes, size);
}

static void on_named(int ask, bool is_done, const char *port, void *arg)
{
    struct coordinator_session *c = arg;

    c->events.on_named(c->agent, ask, is_done, port);
}

static void on_absent(int rank, void *arg)
{
    struct coordinator_session *c = arg;

    c->events.on_absent(c->agent, rank);
}

static void on_passed(int host, const void *bytes, size_t size, void *arg)
{
    struct coordinator_session *c = arg;

    c->events.on_passed(c->agent, host, bytes, size);
}

static void on_to_ranks(const uint8_t *channels, uint32_t count, uint8_t type, const void *payload,
                        size_t size, void *arg)
{
    struct coordinator_session *c = arg;

    if (c->relay)
        host_relay_to_ranks(c->relay, channels, count, type, payload, size);
}

static void on_rank_dropped(uint32_t channel, void *arg)
{
    struct coordinator_session *c = arg;

    if (c->relay)
        host_relay_rank_dropped(c->relay, channel);
}

static void on_drained(void *arg)
{
    struct coordinator_session *c = arg;

    if (c->relay)
        host_relay_drained(c->relay);
}

static void on_met(void *arg)
{
    struct coordinator_session *c = arg;

    if (c->agent->run.job->options.elastic)
        frame_stream_send(c->agent->launcher.channel, AGENT_MET, NULL, 0);
}

static void on_unmet(void *arg)
{
    struct coordinator_session *c = arg;

    if (c->agent->run.job->options.elastic)
        frame_stream_send(c->agent->launcher.channel, AGENT_UNMET, NULL, 0);
}

static void on_repaired(struct server_membership now, const int *ranks, int count, void *arg)
{
    struct coordinator_session *c = arg;

    frame_stream_send_json(c->agent->launcher.channel, AGENT_REPAIRED,
                           json_pack("{sI sI si so}", "generation", (json_int_t)now.generation,
                                     "membership", (json_int_t)now.number, "count", count,
                                     "members", host_table_write_numbers(ranks, count)));
}

/* The rank whose first process is the process or one of its ancestors. A daemon has none. */
static int rank_of_process(pid_t pid, void *arg)
{
    const struct coordinator_session *c = arg;
    const struct agent *a = c->agent;
    struct process p = {.pid = pid};

    for (int depth = 0; depth < ANCESTORS_MOST && process_read(&p, p.pid); depth++) {
        for (int i = 0; i < a->run.ranks.spawned; i++) {
            if (a->run.ranks.all[i].pid == p.pid && a->run.ranks.all[i].state == RANK_RUNNING)
                return a->run.ranks.all[i].job->rank;
        }
        p.pid = p.parent;
    }
    return -1;
}

static int service_open(struct coordinator_session *c, const struct coordinator_past *past,
                        char *address, struct fault *why)
{
    const struct job_spec *job = c->agent->run.job;
    struct server_config config = {.takes_over = past != NULL,
                                   .is_unmet = past && !past->has_met,
                                   .membership = past ? past->membership : 0,
                                   .job = job->job,
                                   .secret = job->secret,
                                   .size = job->size,
                                   .most = job->most,
                                   .hosts = job->hosts,
                                   .host_of = job->host_of,
                                   .host_names = job->host_names,
                                   .directory = c->agent->directory.path,
                                   .stall_ms = job->options.stall_ms,
                                   .replaces = job->options.elastic && job->options.restarts,
                                   .replace_ms = job->options.replace_wait_ms,
                                   .bind_ip = c->agent->run.place.bind_ip,
                                   .port = (uint16_t)job->options.port};
    struct server_events events = {on_abort,  on_stall,  on_refused,   on_exchanged,
                                   on_absent, on_passed, on_unreached, on_alone,
                                   on_met,    on_unmet,  on_repaired,  c};
    int rc = server_open(&c->server, c->agent->base, &config, &events, why);

    if (!rc && c->agent->launcher.is_paused)
        server_pause(c->server);
    if (!rc)
        address_format(server_address(c->server), address);
    return rc;
}

int coordinator_session_open(struct coordinator_session **out, struct agent *a,
                             const struct coordinator_session_events *events, char *address,
                             struct fault *why)
{
    const struct job_spec *job = a->run.job;
    struct coordinator_session *c = calloc(1, sizeof(*c));
    int rc = 0;

    address[0] = '\0';
    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->agent = a;
    c->events = *events;
    if (job->host_of[0] == job->host && strcmp(job->backend, "none") != 0)
        rc = service_open(c, NULL, address, why);
    else if (job->host_of[0] == job->host && job->hosts > 1 && job->options.mpi != MPI_NONE)
        service_open(c, NULL, address, why); /* if this fails, the first exchange does */
    if (rc) {
        coordinator_session_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

static int coordinator_session_join(struct coordinator_session *c, struct fault *why)
{
    const struct agent_client_events events = {on_lost,     on_exchanged,    on_named,   on_passed,
                                               on_to_ranks, on_rank_dropped, on_drained, c};
    const struct job_spec *job = c->agent->run.job;

    if (c->server || c->client || !c->address[0])
        return 0;
    return agent_client_open(&c->client, c->agent->base, c->address, job->job, job->secret,
                             job->host, c->agent->run.placed, job->options.init_timeout_ms, &events,
                             why);
}

/* Without it, ranks connect to the coordinator themselves. */
static void relay_open(struct coordinator_session *c)
{
    const struct job_spec *job = c->agent->run.job;
    const struct host_relay_config config = {.job = job->job,
                                             .secret = job->secret,
                                             .size = job->size,
                                             .most = job->most,
                                             .hosts = job->hosts,
                                             .host_of = job->host_of,
                                             .host_names = job->host_names,
                                             .host = job->host,
                                             .directory = c->agent->directory.path,
                                             .rank_of_process = rank_of_process,
                                             .on_refused = on_refused,
                                             .on_unreached = on_unreached,
                                             .on_alone = on_alone,
                                             .arg = c};
    struct fault why;

    if (host_relay_open(&c->relay, c->agent->base, c->client, &config, &why))
        log_info("ranks connect to the coordinator themselves: %s", why.text);
}

int coordinator_session_connect(struct coordinator_session *c, const char *address,
                                struct fault *why)
{
    const struct job_spec *job = c->agent->run.job;
    char own[ADDRESS_TEXT] = "";
    int rc;

    if (c->server)
        address_format(server_address(c->server), own);
    if (strcmp(address, own) != 0) { /* rank 0's host alone has a server, while it is that host */
        server_close(c->server);
        c->server = NULL;
        snprintf(c->address, sizeof(c->address), "%s", address);
        address_take_scope(c->address, c->agent->run.place.bind_ip);
    }
    if (strcmp(job->backend, "none") == 0)
        return 0;
    rc = coordinator_session_join(c, why);
    if (!rc && c->client)
        relay_open(c);
    return rc;
}

/* Sees to it that an exchange with other hosts is possible. */
static int coordinator_session_need(struct coordinator_session *c, struct fault *why)
{
    if (!c->server && !c->client && !c->address[0])
        return fault_set(why, ML_ERR_SYSTEM,
                         "the hosts cannot exchange anything: the agent of "
                         "rank 0 could not listen for the others");
    return coordinator_session_join(c, why);
}

int coordinator_session_exchange(struct coordinator_session *c, uint32_t number, const void *bytes,
                                 size_t size, struct fault *why)
{
    int rc = coordinator_session_need(c, why);

    if (rc)
        return rc;
    if (c->server)
        return server_share(c->server, number, bytes, size, why);
    agent_client_share(c->client, number, bytes, size);
    return 0;
}

int coordinator_session_pass(struct coordinator_session *c, int host, const void *bytes,
                             size_t size, struct fault *why)
{
    int rc = coordinator_session_need(c, why);

    if (rc)
        return rc;
    if (c->server)
        return server_pass(c->server, host, bytes, size, why);
    agent_client_pass(c->client, host, bytes, size);
    return 0;
}

int coordinator_session_name(struct coordinator_session *c, int ask, const char *what,
                             const char *service, const char *port, struct fault *why)
{
    bool is_alone = c->agent->run.job->hosts == 1 && !c->server, is_done;
    int rc = is_alone ? 0 : coordinator_session_need(c, why);

    if (rc)
        return rc;
    if (c->client) {
        agent_client_name(c->client, ask, what, service, port);
        return 0;
    }
    is_done = is_alone ? names_take(&c->names, what, service, &port)
                       : server_name(c->server, what, service, &port);
    c->events.on_named(c->agent, ask, is_done, is_done && port ? port : "");
    return 0;
}

void coordinator_session_rank_exited(struct coordinator_session *c, int rank, pid_t pid,
                                     const char *text)
{
    if (c->server)
        server_rank_exited(c->server, rank, pid, text);
    else if (c->client)
        agent_client_exited(c->client, rank, pid, text);
}

static void own_ends_tell(struct coordinator_session *c)
{
    const struct agent *a = c->agent;

    for (int i = 0; i < a->run.job->rank_count; i++)
        if (a->run.ranks.all[i].state >= RANK_ENDED)
            coordinator_session_rank_exited(c, a->run.ranks.all[i].job->rank,
                                            a->run.ranks.all[i].pid, "has ended before");
}

static void coordinator_forget(struct coordinator_session *c)
{
    server_close(c->server);
    host_relay_close(c->relay);
    agent_client_close(c->client);
    c->server = NULL;
    c->relay = NULL;
    c->client = NULL;
}

int coordinator_session_take_over(struct coordinator_session *c,
                                  const struct coordinator_past *past, char *address,
                                  struct fault *why)
{
    int rc;

    coordinator_forget(c);
    rc = service_open(c, past, address, why);
    for (int i = 0; i < past->count && !rc; i++)
        server_rank_exited(c->server, past->ended[i], 0, "has ended before");
    if (!rc)
        own_ends_tell(c);
    return rc;
}

int coordinator_session_follow(struct coordinator_session *c, const char *address,
                               struct fault *why)
{
    int rc;

    coordinator_forget(c);
    rc = coordinator_session_connect(c, address, why);
    if (!rc)
        own_ends_tell(c);
    return rc;
}

void coordinator_session_host_gone(struct coordinator_session *c, int host, uint32_t placed)
{
    if (c && c->server)
        server_host_gone(c->server, host, placed);
}

void coordinator_session_place(struct coordinator_session *c, int host, const char *name)
{
    if (c && c->server)
        server_host_place(c->server, host, name);
    if (c && c->relay)
        host_relay_place(c->relay, host, name);
}

void coordinator_session_vacant(struct coordinator_session *c, int rank)
{
    if (c && c->server)
        server_rank_vacant(c->server, rank);
}

void coordinator_session_leaves(struct coordinator_session *c, int rank)
{
    if (c && c->server)
        server_rank_leaves(c->server, rank);
}

void coordinator_session_grow(struct coordinator_session *c, int host)
{
    if (c && c->server)
        server_grow(c->server, host);
    if (c && c->relay)
        host_relay_grow(c->relay, host);
}

void coordinator_session_pause(struct coordinator_session *c)
{
    if (c && c->server)
        server_pause(c->server);
}

void coordinator_session_resume(struct coordinator_session *c)
{
    if (c && c->server)
        server_resume(c->server);
}

void coordinator_session_tell_waits(struct coordinator_session *c)
{
    if (c && c->server)
        server_tell_waits(c->server);
}

void coordinator_session_close(struct coordinator_session *c)
{
    if (!c)
        return;
    server_close(c->server);
    host_relay_close(c->relay);
    agent_client_close(c->client);
    names_clear(&c->names);
    free(c);
}
