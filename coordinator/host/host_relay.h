/* SPDX-License-Identifier: MIT */
/*
 * host_relay.h: the ranks of a host that talk to the coordinator through their agent, so that the
 * coordinator has one connection a host, and what it sends to several ranks of a host comes once:
 *
 *     rank 2 ──▶┐ socket in the      ┌────────────┐  agent_client   ┌─────────────┐
 *     rank 3 ──▶┴ job directory ────▶│ host_relay │ ═══════════════▶│ coordinator │
 *                                    └────────────┘                 └─────────────┘
 *
 * A rank proves itself to the agent as it would to the coordinator, and its frames pass unread,
 * except UNREACHED.
 */
#ifndef COORDINATOR_HOST_HOST_RELAY_H
#define COORDINATOR_HOST_HOST_RELAY_H

#include "common/fault.h"
#include "common/net/auth.h"
#include "coordinator/host/agent_client.h"
#include "coordinator/server_events.h"

#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct host_relay;

struct host_relay_config {
    const char *job;               /* copied */
    const uint8_t *secret;         /* AUTH_SECRET bytes, copied */
    int size, most;                /* number of ranks, and that there may ever be (server.h) */
    int hosts;                     /* number of hosts */
    const int *host_of;            /* for each rank the index of its host; copied */
    const char *const *host_names; /* copied */
    int host;                      /* this one */
    const char *directory;         /* the job's, where the socket is made */
    size_t unread_most; /* bytes that a rank may leave unread until it is cut off; 0: 192 MiB */
    /* The rank that a process of this host belongs to; -1: that is unknown. */
    int (*rank_of_process)(pid_t pid, void *arg);
    void (*on_refused)(const char *text, void *arg); /* as server_events has it */
    void (*on_unreached)(int rank, int peer, struct server_membership of, const char *text,
                         void *arg);                         /* the same */
    void (*on_alone)(int rank, const char *text, void *arg); /* the same */
    void *arg;
};

/* Listens. `client`, which must live as long, has the relay's functions below as its events.
 * ML_ERR_ARGUMENT: the directory's name is too long for a socket; ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int host_relay_open(struct host_relay **out, struct event_base *base, struct agent_client *client,
                    const struct host_relay_config *config, struct fault *why);
void host_relay_close(struct host_relay *r);                             /* takes NULL */
void host_relay_place(struct host_relay *r, int host, const char *name); /* server_host_place() */
void host_relay_grow(struct host_relay *r, int host);                    /* server_grow() */

/* The events of `client`. */
void host_relay_to_ranks(struct host_relay *r, const uint8_t *channels, uint32_t count,
                         uint8_t type, const void *payload, size_t size);
void host_relay_rank_dropped(struct host_relay *r, uint32_t channel);
void host_relay_drained(struct host_relay *r);
/* The coordinator is lost: closes the connections of all ranks, which see it by that. */
void host_relay_lost(struct host_relay *r);

#endif
