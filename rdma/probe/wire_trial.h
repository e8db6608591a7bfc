/* SPDX-License-Identifier: MIT */
/*
 * wire_trial.h: tries which ports of other hosts a device's ports reach, before any rank starts.
 * Each port has one queue pair for datagrams (UD). It sends every target short datagrams and
 * datagrams of the whole path MTU, and reports in them which of the target's own have arrived,
 * until both ends know whether the link works:
 *
 *     0       8      16     20     24            28            32           36
 *     ├───────┼───────┼──────┼──────┼─────────────┼─────────────┼────────────┼────────────
 *     │ magic │ tag   │ from │ to   │ heard short │ heard long  │ this is a  │ zeros, up to
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
    int port;          /* our end, its number */
    uint32_t from, to; /* both ends, by ids that are the same on all hosts */
    bool is_ethernet;
    struct gid gid, peer_gid; /* Ethernet */
    uint16_t lid;             /* InfiniBand */
    uint32_t number;          /* its queue pair's */
    int mtu;                  /* bytes, the smaller of both ports' */
    int group;                /* one linked member is enough; < 0: nobody waits for this target */
    int host, row;            /* the caller's */

    /* The results. */
    bool is_asked; /* the kernel, for its address */
    struct ibv_ah *handle;
    int error;                     /* errno: no datagram could be sent */
    bool heard[2], peer_heard[2];  /* short datagrams, long ones */
    int64_t sent_ms, linked_at_ms; /* 0: not yet */
};

struct wire_trial;

/* Keeps `context` and `device`, its name, by reference. ML_ERR_MEMORY, or what explain() finds. */
int wire_trial_open(struct wire_trial **out, struct ibv_context *context, const char *device,
                    struct fault *why);
void wire_trial_close(struct wire_trial *w); /* takes NULL */

/* *number: that of the port's queue pair, which the other hosts must know. */
int wire_trial_add_port(struct wire_trial *w, int port, uint32_t *number, struct fault *why);

/* Both ends have heard each other. */
bool wire_trial_is_linked(const struct wire_trial_target *t);
/* The same with the longest datagrams as well. */
bool wire_trial_is_whole(const struct wire_trial_target *t);

/*
 * Sends and receives until all that is waited for is known, wait_ms have passed or stop_fd is
 * readable; *targets then hold the results. May be called again with the same targets, with wait_ms
 * < 0 (no limit) to help those of the other ends that are still trying. Threads that look up
 * addresses may still write to *targets afterwards, until the process ends.
 */
void wire_trial_run(struct wire_trial *w, struct wire_trial_target *targets, int count,
                    uint64_t tag, int wait_ms, int stop_fd);

#endif
