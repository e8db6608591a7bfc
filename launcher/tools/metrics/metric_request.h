/* SPDX-License-Identifier: MIT */
/* metric_request.h: the head of a client's request, which may be any bytes. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_REQUEST_H
#define LAUNCHER_TOOLS_METRICS_METRIC_REQUEST_H

#include <stdbool.h>

struct metric_listen;

struct metric_request {
    bool is_http, is_host_ours;
    bool is_get, is_head;
    const char *path; /* without "?…"; within what was read */
    int patience_ms;  /* X-Prometheus-Scrape-Timeout-Seconds; INT_MAX: it does not say so */
};

/* Reads `head`, the request up to its empty line, and changes it. A program may leave Host out; no
 * browser does. */
void metric_request_read(struct metric_request *out, char *head, const struct metric_listen *at);

#endif
