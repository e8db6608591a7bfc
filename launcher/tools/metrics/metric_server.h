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

/* Listens where metric_listen_open() says, and runs argv, which must stay, for the page of each
 * request; requests that come meanwhile get the same page. ML_ERR_ARGUMENT: `where` is no address;
 * ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int metric_server_open(struct metric_server **out, struct event_base *base, const char *where,
                       char *const argv[], struct fault *why);
void metric_server_close(struct metric_server *s); /* takes NULL and half-open ones */

/* "127.0.0.1:9764": where it listens. */
const char *metric_server_address(const struct metric_server *s);

#endif
