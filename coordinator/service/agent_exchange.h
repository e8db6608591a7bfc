/* SPDX-License-Identifier: MIT */
/* agent_exchange.h: what agents have for each other, namely exchanges of bytes between all hosts,
 * bytes that are passed to one of them, and names. */
#ifndef COORDINATOR_SERVICE_AGENT_EXCHANGE_H
#define COORDINATOR_SERVICE_AGENT_EXCHANGE_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "coordinator/server_state.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* That host shares in the exchange of that number. Once all have, on_exchanged follows, perhaps
 * within the call. ML_ERR_REFUSED: it has come before, or is too large; ML_ERR_MEMORY. */
int agent_exchange_add(struct server *s, int host, uint32_t number, const uint8_t *bytes,
                       size_t size, struct fault *why);
/* Passes bytes, at least one, to another host's agent, once that has connected. ML_ERR_ARGUMENT:
 * there is no such host; ML_ERR_REFUSED: too much waits; ML_ERR_MEMORY. */
int agent_exchange_pass(struct server *s, int from, uint32_t to, const uint8_t *bytes, size_t size,
                        struct fault *why);

/* receive.h */
int agent_exchange_receive(struct connection *c, const struct frame *f, struct fault *why);
int agent_exchange_receive_pass(struct connection *c, const struct frame *f, struct fault *why);
int agent_exchange_receive_name(struct connection *c, json_t *message, struct fault *why);

void agent_exchange_on_agent(struct connection *c); /* it is admitted, and gets what waits for it */
void agent_exchange_on_exited(struct server *s);    /* a rank has ended */
void agent_exchange_clear(struct server *s);        /* frees all that is under way */

#endif
