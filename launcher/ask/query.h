/* SPDX-License-Identifier: MIT */
/*
 * query.h: one question to the agents of several hosts, all at once, over the same channels as a
 * job's (doc/protocol.md, "Questions").
 */
#ifndef LAUNCHER_ASK_QUERY_H
#define LAUNCHER_ASK_QUERY_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel.h"

#include <jansson.h>
#include <stdbool.h>

/* The answer of one host. */
struct query_answer {
    const struct host *host;
    char address[64]; /* where SSH reached the host, or "" */
    char guess[64];   /* where others may reach it, if SSH did not */
    json_t *said;     /* the object that it sent last; NULL: it failed */
    char error[768];  /* why it failed, a sentence */
};

/* What to ask. The next round begins once all hosts have answered the last or failed. */
struct query_rounds {
    int count;
    bool goes_on; /* with the other hosts if one has failed; else the last round was this */
    /* The question for a host, which the query takes over. */
    json_t *(*question)(void *arg, int host, int round);
    /* Called with a host's answer, which stays the query's. A failure makes the host fail. */
    int (*take)(void *arg, int host, int round, const json_t *said, struct fault *why);
    void *arg;
};

/* Asks all of `hosts`; *out has an answer for each, in their order, and is freed with query_free().
 * A host that cannot be reached has an answer, too: its `error`. Each host has at most `timeout_ms`
 * to answer once it is reached. Blocks until all have answered or failed; call it with no other
 * event loop running. ML_ERR_MEMORY. */
int query_run(struct query_answer **out, const struct host_list *hosts,
              const struct channel_config *config, const struct query_rounds *rounds,
              int timeout_ms, struct fault *why);
void query_free(struct query_answer *answers, int count); /* takes NULL */

#endif
