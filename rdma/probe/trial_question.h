/* SPDX-License-Identifier: MIT */
/*
 * trial_question.h: what the launcher asks mlaunch-probe to try (doc/protocol.md, "Wires"), kept as
 * structs. It holds what all hosts have answered about their ports, so members that are missing or
 * of the wrong type are read as absent.
 */
#ifndef RDMA_PROBE_TRIAL_QUESTION_H
#define RDMA_PROBE_TRIAL_QUESTION_H

#include "rdma/verbs/gid.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A port, of any host, that can send datagrams. */
struct trial_port {
    int host;
    uint32_t id;        /* the same on all hosts */
    const char *device; /* the question's */
    int number, mtu;
    bool is_ethernet;
    uint16_t lid;
    uint32_t queue_pair;
    struct gid gids[GID_MOST];
    int gid_count;
};

struct trial_host {
    struct trial_port *ports;
    int count;
};

struct trial_question {
    json_t *root;
    int host; /* which of the hosts was asked; -1: none of them */
    struct trial_host *hosts;
    int host_count;
    const json_t *wiring;     /* [host][host]: list of names or null; NULL: not stated */
    int port, gid_index, mtu; /* the user's choice; 0, -1, 0: none */
    int wait_ms;
    uint64_t tag; /* in this trial's datagrams */
};

/* Takes over `root`, which may be NULL. */
void trial_question_read(struct trial_question *q, json_t *root);
void trial_question_clear(struct trial_question *q);

/* For how long datagrams may be tried. */
int trial_question_wait_ms(const json_t *root);

#endif
