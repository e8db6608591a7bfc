/* SPDX-License-Identifier: MIT */
/* liveness.h: ranks that die or leave, and which ranks are told. */
#ifndef COORDINATOR_SERVICE_LIVENESS_H
#define COORDINATOR_SERVICE_LIVENESS_H

#include "common/fault.h"
#include "coordinator/generation_state.h"
#include "coordinator/server_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* That process of the rank has ended, or, `is_lost`, its host is lost or it is taken out of the
 * job. The text says how, and is copied. Whoever waits for the rank is told. May free
 * generations. */
void liveness_rank_exited(struct server *s, int rank, int64_t pid, const char *text, bool is_lost);
void liveness_lose_host(struct server *s, int host); /* so are all ranks of the host */
/* Fails the generation because `rank` has ended without joining it. */
void liveness_fail_join(struct generation *g, int rank);
/* That connection, which `was` a rank's or an agent's, has ended. May free generations. */
void liveness_on_closed(struct connection *c, enum connection_state was);
void liveness_send_left(struct connection *c); /* the answer to LEAVE or ABORT */

/* receive.h */
void liveness_receive_leave(struct generation_rank *one);
int liveness_receive_unreached(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_alone(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_abort(struct connection *c, json_t *message, struct fault *why);
int liveness_receive_exited(struct connection *c, json_t *message, struct fault *why);

#endif
