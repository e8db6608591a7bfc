/* SPDX-License-Identifier: MIT */
/*
 * sync_chains.h: gives hosts, whose channels are open, the files of a source: makes chains of those
 * that can be reached, sends the stream, and begins a new round with those that are left when a
 * chain breaks.
 */
#ifndef LAUNCHER_RUN_SPREAD_SYNC_CHAINS_H
#define LAUNCHER_RUN_SPREAD_SYNC_CHAINS_H

#include "common/rdma_choice.h"
#include "launcher/run/spread/sync_host.h"
#include "launcher/run/spread/sync_source.h"

#include <jansson.h>
#include <stdbool.h>

struct event_base;
struct sync_chains;

struct sync_settings {
    bool is_comparing; /* --check and --dry-run: nothing is written */
    bool is_checksum, is_delete, is_git, shows_progress;
    int stall_ms;         /* after which a host that does not go on is named */
    char *const *exclude; /* ends with NULL */
    json_t *wiring;       /* [host][host]: list of RDMA ports or null, by `place`; or NULL */
    struct rdma_choice rdma;
};

/* Borrowed: all must outlive the chains. The hosts were opened. */
struct sync_chains_config {
    struct sync_host *hosts;
    int count;
    const struct sync_source *source;
    const struct sync_settings *settings;
    /* Called once: each host is DONE (LOOKED if only compared, WAITING with git) or LOST. From then
     * on nothing may be begun, taken or lost. */
    void (*on_over)(void *arg);
    void *arg;
};

/* ML_ERR_MEMORY. */
int sync_chains_open(struct sync_chains **out, struct event_base *base,
                     const struct sync_chains_config *config, struct fault *why);
void sync_chains_close(struct sync_chains *s); /* takes NULL */

/* The host's channel is open, and its agent has said HELLO; it is to listen on `ip`. The chains are
 * made once all hosts that are not LOST were begun and have answered. */
void sync_chains_begin(struct sync_chains *s, int host, const char *ip);
/* Takes an AGENT_SYNC of a host that was begun. ML_ERR_REFUSED: malformed; ML_ERR_PEER: the host
 * cannot be reached by any other; ML_ERR_MEMORY. */
int sync_chains_take(struct sync_chains *s, int host, const struct frame *f, struct fault *why);
/* The host is lost, and the others go on without it. */
void sync_chains_lose(struct sync_chains *s, int host);

/* Call it every second or so: shows how far they are, and names who does not go on. */
void sync_chains_pulse(struct sync_chains *s);
/* Call it before anything is printed. */
void sync_chains_hide(struct sync_chains *s);

uint64_t sync_chains_lost(const struct sync_chains *s); /* files that could not be read here */

#endif
