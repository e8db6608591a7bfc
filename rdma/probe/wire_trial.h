/* SPDX-License-Identifier: MIT */
/*
 * wire_trial.h: tries which ports of other hosts a device's ports reach, before any rank starts. Each port
 * gets one queue pair of datagrams, and over it says to each candidate, short and as long as the path's
 * MTU allows, whom it has heard, until both know:
 *
 *     0       8      16     20     24            28            32           36
 *     ├───────┼───────┼──────┼──────┼─────────────┼─────────────┼────────────┼────────────
 *     │ magic │ tag   │ from │ to   │ heard short │ heard long  │ this is the│ nothing, up to
 *     │       │       │      │      │ ones of you │ ones of you │ long one   │ the MTU
 *     └───────┴───────┴──────┴──────┴─────────────┴─────────────┴────────────┴────────────
 *      u64     u64     u32    u32    u32           u32           u32           the hosts' order
 */
#ifndef RDMA_PROBE_WIRE_TRIAL_H
#define RDMA_PROBE_WIRE_TRIAL_H

#include "common/fault.h"
#include "rdma/verbs/gid.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { WIRE_TRIAL_PORTS = 8 };

/* A port of another host that may be at the other end. */
struct wire_trial_target {
    int port;          /* ours, its number */
    uint32_t from, to; /* what the ports are called on all hosts */
    bool is_ethernet;
    struct gid gid, peer_gid; /* Ethernet */
    uint16_t lid;             /* InfiniBand */
    uint32_t number;          /* of its queue pair */
    int mtu;                  /* bytes, the smaller of both ports' */
    int group;                /* one of its members is enough; < 0: nobody waits for it */
    int host, row;            /* the caller's */

    /* What came of it. */
    bool is_asked; /* for its address */
    struct ibv_ah *handle;
    int error;                     /* errno: no datagram could be sent */
    bool heard[2], peer_heard[2];  /* short ones, long ones */
    int64_t sent_ms, linked_at_ms; /* 0: not yet */
};

struct wire_trial;

int wire_trial_open(struct wire_trial **out, struct ibv_context *context, const char *device,
                    struct fault *why);
void wire_trial_close(struct wire_trial *w); /* takes NULL */

/* *number: the queue pair's, for the other hosts. */
int wire_trial_add_port(struct wire_trial *w, int port, uint32_t *number, struct fault *why);

bool wire_trial_is_linked(const struct wire_trial_target *t); /* both have heard each other */
bool wire_trial_is_whole(const struct wire_trial_target *t);  /* with the longest datagrams, too */

/* Says and hears, until all that is waited for is known or wait_ms have passed; then *targets hold
 * what came of it. May be called again: to help the other ends, which are not through yet. `stop_fd`: readable
 * ends it. */
void wire_trial_run(struct wire_trial *w, struct wire_trial_target *targets, int count,
                    uint64_t tag, int wait_ms, int stop_fd);

#endif
