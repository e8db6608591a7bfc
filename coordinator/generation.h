/* SPDX-License-Identifier: MIT */
/*
 * generation.h: the ranks' n-th claims, which meet each other: what is made for them, what all of
 * them are told, and who of them is alive. All functions are called on the loop's thread.
 */
#ifndef COORDINATOR_GENERATION_H
#define COORDINATOR_GENERATION_H

#include "coordinator/generation_state.h"
#include "coordinator/server_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct generation *generation_find(struct server *s, uint32_t number); /* NULL: there is none */
/* The server keeps it until generation_release() or generation_destroy(). NULL: out of memory. */
struct generation *generation_create(struct server *s, uint32_t number);
void generation_release(struct generation *g); /* frees it if no rank is left in it */
void generation_destroy(struct generation *g); /* with its groups; nobody is told */

/* All that have joined get FAILED, as will those that join later. Only the first failure counts. */
void generation_fail(struct generation *g, int code, const char *text);
void generation_refuse(struct connection *c, int code, const char *text); /* FAILED, to one */
json_t *generation_welcome(const struct server *s); /* WELCOME; NULL: out of memory */
/* To all ranks but `except` and those that have left. Takes over `message`; NULL: out of memory. */
void generation_send(struct generation *g, uint8_t type, json_t *message, int except);

/* What next_world_decide() has to know of the rank. */
struct next_world_rank generation_facts(const struct generation_rank *one);
/* ml_repair: the rank may still come; it has come; it may and has not. */
bool generation_is_alive(const struct generation_rank *one);
bool generation_is_ready(const struct generation_rank *one);
bool generation_awaits(const struct generation_rank *one);

#endif
