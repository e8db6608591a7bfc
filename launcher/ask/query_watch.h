/* SPDX-License-Identifier: MIT */
/*
 * query_watch.h: a question to the agents of several hosts again and again, over channels that
 * stay open. A host that is slow or lost holds up none of the others, and is asked again.
 */
#ifndef LAUNCHER_ASK_QUERY_WATCH_H
#define LAUNCHER_ASK_QUERY_WATCH_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel.h"

#include <jansson.h>

struct event_base;
struct query_watch;

/* Called from the loop, and from query_watch_ask(); the watch must not be closed within them. */
struct query_watch_events {
    /* What to ask a host, which the watch takes over. */
    json_t *(*question)(int host, void *arg);
    /* `said` is the watch's. A failure makes the host fail. */
    int (*on_answer)(int host, json_t *said, void *arg, struct fault *why);
    void (*on_failure)(int host, const char *text, void *arg); /* a sentence, without the host */
    void *arg;
};

/* `hosts` and `config` must outlive it. Nothing is asked yet. ML_ERR_MEMORY. */
int query_watch_open(struct query_watch **out, struct event_base *base,
                     const struct host_list *hosts, const struct channel_config *config,
                     const struct query_watch_events *events, struct fault *why);
void query_watch_close(struct query_watch *w); /* takes NULL; the agents end by themselves */

/* Asks the hosts that have answered the last time. Those that have failed are reached anew, at most
 * every few seconds. */
void query_watch_ask(struct query_watch *w);

#endif
