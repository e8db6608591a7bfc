/* SPDX-License-Identifier: MIT */
/* server_split.h: SPLIT and CREATE, which make new groups. Both are handled as receive.h says. */
#ifndef COORDINATOR_SERVICE_SERVER_SPLIT_H
#define COORDINATOR_SERVICE_SERVER_SPLIT_H

#include "common/fault.h"
#include "coordinator/server_group.h"

#include <jansson.h>

int server_split_receive(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why);
/* `one` is the sender, which need not be in a group with all those that it names. */
int server_split_receive_create(struct generation_rank *one, json_t *message, struct fault *why);

#endif
