/* SPDX-License-Identifier: MIT */
/* server_exchange.h: EXCHANGE, in which every member of a group sends blobs, and gets those that
 * are meant for it. */
#ifndef COORDINATOR_SERVICE_SERVER_EXCHANGE_H
#define COORDINATOR_SERVICE_SERVER_EXCHANGE_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "coordinator/server_group.h"

#include <jansson.h>
#include <stdbool.h>

/* The group that the frame names. False: it is malformed. */
bool server_exchange_group(const struct frame *f, json_int_t *id);
/* receive.h; after server_exchange_group(). */
int server_exchange_receive(struct server_group *p, struct server_seat *seat, const struct frame *f,
                            struct fault *why);

#endif
