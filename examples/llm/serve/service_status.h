/* SPDX-License-Identifier: MIT */
/* service_status.h: the pages that say how the server is: /health, /queue, /v1/models, /metrics,
 * and /status.json for the dashboard. Each is a text that the caller frees; NULL: no memory. */
#ifndef LLM_SERVE_SERVICE_STATUS_H
#define LLM_SERVE_SERVICE_STATUS_H

#include "../http/api_keys.h"
#include "../http/http.h"
#include "../steps/link_speed.h"
#include "completions.h"
#include "engine.h"
#include "metrics.h"
#include "queue.h"

struct service_facts {
    const char *model; /* UTF-8 */
    const struct lead *lead;
    uint32_t slots, context;
    int64_t started;                /* seconds since 1970 */
    const struct link_speed *links; /* by id (ml_id) */
    struct api_keys *keys;          /* NULL: everybody may ask */
    struct queue *queue;
    struct engine *engine;
    struct http *http;
    struct completions *completions;
    struct metrics metrics;
};

/* *status: 200, or 503 while the server does not answer requests. */
char *service_status_health(const struct service_facts *f, int *status);
char *service_status_queue(const struct service_facts *f);
char *service_status_models(const struct service_facts *f);
char *service_status_model(const struct service_facts *f); /* one of /v1/models */
char *service_status_metrics(const struct service_facts *f);
char *service_status_all(const struct service_facts *f);

#endif
