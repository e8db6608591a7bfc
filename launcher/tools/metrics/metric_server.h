/* SPDX-License-Identifier: MIT */
/*
 * metric_server.h: GET /metrics over HTTP/1.1, a connection for each request. It reads no bodies
 * and knows no other page, so it is small enough to need no library.
 */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_SERVER_H
#define LAUNCHER_TOOLS_METRICS_METRIC_SERVER_H

#include "common/fault.h"

#include <event2/event.h>

enum {
    METRIC_SERVER_CLIENTS = 64,   /* one more pushes out the oldest of the silent ones */
    METRIC_SERVER_HEAD = 8 << 10, /* bytes of a request */
    METRIC_SERVER_HEAD_S = 5,     /* from a client's connection to the end of its request */
    METRIC_SERVER_CLIENT_S = 60,  /* from there to its end */
};

struct metric_server;

/* Asks for a page within `patience_ms`, or INT_MAX, which metric_server_give() answers later. */
typedef void metric_server_on_wanted(int patience_ms, void *arg);

/* Listens where metric_listen_open() says. ML_ERR_ARGUMENT: `where` is no address; ML_ERR_SYSTEM,
 * ML_ERR_MEMORY. */
int metric_server_open(struct metric_server **out, struct event_base *base, const char *where,
                       metric_server_on_wanted *on_wanted, void *arg, struct fault *why);
void metric_server_close(struct metric_server *s); /* takes NULL and half-open ones */

/* The page that was wanted, for all clients that have come since. NULL: out of memory. */
void metric_server_give(struct metric_server *s, const char *page);

/* "127.0.0.1:9764": where it listens. */
const char *metric_server_address(const struct metric_server *s);

#endif
