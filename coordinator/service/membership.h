/* SPDX-License-Identifier: MIT */
/* membership.h: REPAIR, after which ranks have a new world, AGREE, on what they do before that, and
 * newcomers. What becomes of a repair is next_world.h's to decide. */
#ifndef COORDINATOR_SERVICE_MEMBERSHIP_H
#define COORDINATOR_SERVICE_MEMBERSHIP_H

#include "common/fault.h"
#include "coordinator/server_group.h"

#include <jansson.h>
#include <stdint.h>

struct connection;

/* receive.h */
int membership_receive_repair(struct connection *c, json_t *message, struct fault *why);
int membership_receive_agree(struct server_group *p, struct server_seat *seat, json_t *message,
                             struct fault *why);
/* A process that takes a dead rank's place has joined, the one of that number (server_rank's
 * `replaced`). May free generations. */
void membership_receive_newcomer(struct connection *c, int64_t pid, int replaces);

/* What is known of a rank has changed, perhaps because it has died or left: whoever waited for it
 * in ml_repair or ml_agree goes on. */
void membership_look(struct generation *g);
/* A rank or a newcomer has died: it may get a successor, which is waited for anew. */
void membership_lose(struct generation *g);

#endif
