/* SPDX-License-Identifier: MIT */
/* server_events.h: what the coordinator's service reports to the agent that it runs in. */
#ifndef COORDINATOR_SERVER_EVENTS_H
#define COORDINATOR_SERVER_EVENTS_H

/* Called on the loop's thread. A text is valid during the call only. Each may be NULL. */
struct server_events {
    void (*on_abort)(int rank, int status, const char *why, void *arg); /* a rank called ml_abort */
    void (*on_stall)(const char *text, void *arg); /* a call waits too long; once for each stall */
    /* A connection was refused, or a rank or agent was cut off for a malformed message. */
    void (*on_refused)(const char *text, void *arg);
    void *arg;
};

#endif
