/* SPDX-License-Identifier: MIT */
/*
 * service.h: the server's life in rank 0.
 *
 *     listens ──▶ loading ──weights read──▶ ready ──SIGTERM, SIGINT──▶ stopping ─┐
 *                    │                        │                                  │ the engine ended
 *                    └───── a rank is lost ───┴──▶ everyone is told ──▶ flushed ◀┘──▶ the end
 */
#ifndef LLM_SERVE_SERVICE_H
#define LLM_SERVE_SERVICE_H

#include "../steps/lead.h"
#include "../steps/link_speed.h"

#include <stdint.h>

struct service_config {
    struct lead *lead;
    const char *path;               /* the model's */
    const struct link_speed *links; /* by id (ml_id) */
    const char *host;
    uint16_t port;
    uint32_t queue_most;
    const char *api_key_file; /* or NULL */
};

enum { SERVICE_MOVED = 3 };

/* Serves until the end. Returns 0 after a signal, 1 if a rank was lost, which stderr says, 2 if it
 * cannot begin: then `error` has a sentence; SERVICE_MOVED: rank 0 has come back, and serves. */
int service_run(const struct service_config *config, char *error, size_t size);

#endif
