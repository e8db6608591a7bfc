/* SPDX-License-Identifier: MIT */
/*
 * creation.h: ranks that are in ml_group_create, and those that they have named and wait for. A
 * creation belongs to its generation, until all have come or it fails. All functions are called on
 * the loop's thread.
 */
#ifndef COORDINATOR_CREATION_H
#define COORDINATOR_CREATION_H

#include "coordinator/generation_state.h"
#include "coordinator/limit.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct creation {
    struct generation *generation;
    uint32_t parent;
    uint64_t tag;
    int count, come;
    int *ranks;     /* world ranks, in the order of the new group */
    bool *has_come; /* the same */
    struct limit limit;
    struct server_meeting meeting;
    struct creation *next;
};

int creation_place(const struct creation *c, int rank); /* where it is among them; -1: nowhere */
/* Answers one that has come, which is not among those that wait. */
void creation_refuse(const struct generation_rank *one, json_int_t parent, int code,
                     const char *text);
void creation_fail(struct creation *c, int code, const char *text); /* answers all; frees it */
void creation_free(struct creation *c);                             /* answers nobody */
/* All creations of the generation fail; code 0: nobody is told. */
void creation_end_all(struct generation *g, int code, const char *text);
/* Those fail that have named this rank, which has died or left. */
void creation_on_lost(struct generation *g, int rank, const char *text);

#endif
