/* SPDX-License-Identifier: MIT */
/* keep_state.h: what a world remembers of what its ranks keep: the course of versions, and what
 * ml_kept has found. */
#ifndef RUNTIME_KEEP_KEEP_STATE_H
#define RUNTIME_KEEP_KEEP_STATE_H

#include "runtime/group/world.h"
#include "runtime/keep/keep_slot.h"

/* The version of a name that all have, as the last ml_kept has found it. */
struct keep_agreed {
    struct keep_agreed *next;
    char name[KEPT_NAME];
    bool is_there; /* false: there is none */
    struct keep_stamp stamp;
};

/* The world's, NULL before the first call. */
struct keep_state {
    uint64_t course;
    struct keep_agreed *agreed;
    struct kept_stream *copies; /* keep_copy.h's; NULL: there is no connection */
    bool is_alone;              /* … and none will be tried */
};
/* The world's, which is made if it has none. NULL: out of memory. */
struct keep_state *keep_state_of(struct world *w);
void keep_state_free(struct keep_state *s); /* takes NULL */

/* The course of what this rank keeps now. Before the first ml_kept it depends on the job's run, so
 * what ranks have kept in an earlier run is older. */
uint64_t keep_course(const struct world *w);

#endif
