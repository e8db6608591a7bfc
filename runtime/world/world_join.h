/* SPDX-License-Identifier: MIT */
/* world_join.h: how this process takes its rank and joins the job's other ranks, and how it leaves
 * them. */
#ifndef RUNTIME_WORLD_JOIN_H
#define RUNTIME_WORLD_JOIN_H

#include "runtime/group/world.h"

struct fault;

/* Joins and leaves; calls are counted, and the last world_join_finalize leaves. `eager`: as
 * init_eager in api_table.h. Both are thread-safe. In error there is no world, and `why` says
 * why. */
int world_join_init(struct world **out, bool eager, struct fault *why);
int world_join_finalize(struct fault *why);

/* Around ml_repair: only one thread at a time changes or ends the present world. ML_ERR_STATE:
 * another one does. `call` is a constant. world_join_finalize does it itself. */
int world_join_change_begin(const char *call, struct fault *why);
void world_join_change_end(void);

/* Gives the world another group, which ml_init returns from now on; takes over the lists of
 * `change`. */
void world_join_set_group(struct world *w, struct group *g, const struct world_change *change);

/* The world if there is one, else NULL; for ml_abort. Thread-safe. */
struct world *world_join_current(void);

#endif
