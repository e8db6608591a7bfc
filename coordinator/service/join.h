/* SPDX-License-Identifier: MIT */
/* join.h: JOIN, which a rank sends in ml_init. */
#ifndef COORDINATOR_SERVICE_JOIN_H
#define COORDINATOR_SERVICE_JOIN_H

#include "common/fault.h"

#include <jansson.h>

struct connection;

int join_receive(struct connection *c, json_t *message, struct fault *why); /* receive.h */

#endif
