/* SPDX-License-Identifier: MIT */
/*
 * query.h: one question to the agents of several hosts, all at once, over the same channels as a
 * job's (doc/protocol.md, "Questions").
 */
#ifndef LAUNCHER_ASK_QUERY_H
#define LAUNCHER_ASK_QUERY_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/agent_session.h"

#include <jansson.h>

/* The answer of one host. */
struct query_answer {
    const struct host *host;
    char address[64]; /* where SSH reached the host, or "" */
    char guess[64];   /* where others may reach it, if SSH did not */
    json_t *said;     /* the object that it sent last; NULL: it failed */
    char error[768];  /* why it failed, a sentence */
};

/* How long hosts are waited for. */
struct query_limits {
    int timeout_ms; /* for a host's answer, once it is reached */
    int guests;     /* that many hosts at the end of the list have, all together, … */
    int guests_ms;  /* … so long to be reached and to answer */
};

/* Asks all of `hosts`; *out has an answer for each, in their order, and is freed with query_free().
 * A host that cannot be reached also has an answer: its `error`. Blocks until all have answered or
 * failed; call it with no other event loop running. ML_ERR_MEMORY. */
int query_run(struct query_answer **out, const struct host_list *hosts,
              const struct channel_config *config, const struct query_rounds *rounds,
              const struct query_limits *limits, struct fault *why);
void query_free(struct query_answer *answers, int count); /* takes NULL */

#endif
