/* SPDX-License-Identifier: MIT */
/* server_events.h: what the coordinator's service reports to the agent that it runs in. */
#ifndef COORDINATOR_SERVER_EVENTS_H
#define COORDINATOR_SERVER_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* What ranks are members of: of their n-th claims, how often the members have changed. */
struct server_membership {
    uint32_t generation, number;
};

/* Called on the loop's thread. A text is valid during the call only. Each may be NULL. */
struct server_events {
    void (*on_abort)(int rank, int status, const char *why, void *arg); /* a rank called ml_abort */
    void (*on_stall)(const char *text, void *arg); /* a call waits too long; once for each stall */
    /* A connection was refused, or a rank or agent was cut off for a malformed message. */
    void (*on_refused)(const char *text, void *arg);
    /* All hosts have shared in the exchange of that number: their bytes, in the hosts' order. */
    void (*on_exchanged)(uint32_t number, const void *bytes, size_t size, void *arg);
    /* This rank has ended, and its host has not shared in an exchange that others wait for. */
    void (*on_absent)(int rank, void *arg);
    /* Bytes from the agent of that host. */
    void (*on_passed)(int host, const void *bytes, size_t size, void *arg);
    /* A rank cannot reach a peer of that membership, and says why. */
    void (*on_unreached)(int rank, int peer, struct server_membership of, const char *text,
                         void *arg);
    /* What that rank keeps is on its host alone, and why (--keep 2); "": not any more. */
    void (*on_alone)(int rank, const char *text, void *arg);
    void (*on_met)(void *arg); /* all ranks have met in ml_init, perhaps again */
    /* ml_init has failed on those that have called it, and will on all: they have never met. */
    void (*on_unmet)(void *arg);
    /* Those ranks, in ascending order, are the members from now on (ml_repair). */
    void (*on_repaired)(struct server_membership now, const int *ranks, int count, void *arg);
    void *arg;
};

#endif
