/* SPDX-License-Identifier: MIT */
/*
 * query.h: one question to the agents of several hosts, all at once, over the same channels as a
 * job's (doc/protocol.md, "Questions").
 */
#ifndef LAUNCHER_QUERY_QUERY_H
#define LAUNCHER_QUERY_QUERY_H

#include "launcher/channel/channel.h"
#include "launcher/hosts/host_list.h"

#include <jansson.h>

/* Of one host. */
struct query_answer {
    const struct host *host;
    char address[64]; /* where it was reached, or "" */
    json_t *said;     /* an object, another host's last words; NULL: it failed */
    char error[768];  /* why */
};

/* What to ask; round 2 comes once all have answered round 1, and only if all could. */
struct query_rounds {
    int count;
    json_t *(*question)(void *arg, int host, int round); /* taken over */
    /* What a host said; an error is that host's. */
    int (*take)(void *arg, int host, int round, const json_t *said, struct fault *why);
    void *arg;
};

/* Asks all of `hosts`; *out has an answer for each, in their order. A host that can't be reached is
 * an answer too; returns non-zero only if nobody could be asked. No host has more than `timeout_ms`
 * for its answer, once it is reached. */
int query_run(struct query_answer **out, const struct host_list *hosts,
              const struct channel_config *config, const struct query_rounds *rounds,
              int timeout_ms, struct fault *why);
void query_free(struct query_answer *answers, int count); /* takes NULL */

#endif
