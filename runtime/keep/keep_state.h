/* SPDX-License-Identifier: MIT */
/* keep_state.h: what a world remembers of what its ranks keep: the course of versions, and what
 * ml_kept has found. */
#ifndef RUNTIME_KEEP_KEEP_STATE_H
#define RUNTIME_KEEP_KEEP_STATE_H

#include "runtime/group/world.h"
#include "runtime/keep/keep_slot.h"

#include <sys/stat.h>

/* What is known of a name. */
struct keep_name {
    struct keep_name *next;
    char name[KEPT_NAME];
    bool is_there;           /* there is a version that all have, as the last ml_kept has found */
    struct keep_stamp stamp; /* … and this is it */
    bool is_copied;          /* the next host has what was kept before (keep_copy.h) */
};

/* The world's, NULL before the first call. */
struct keep_state {
    uint64_t course;
    struct keep_name *names;
    struct kept_stream *copies; /* keep_copy.h's; NULL: there is no connection */
    int keeper;                 /* to which of those that job.json names */
    bool is_alone;              /* none to the first one will be tried */
    struct fault alone;         /* why */
    enum { KEEP_UNKNOWN, KEEP_ALONE, KEEP_ON_TWO } said; /* what mlaunch knows of the copies */
    struct stat job_file;                                /* job.json, when it was read last */
};
/* The world's, which is made if it has none. NULL: out of memory. */
struct keep_state *keep_state_of(struct world *w);
void keep_state_free(struct keep_state *s); /* takes NULL */

/* NULL: there is none. */
struct keep_name *keep_state_find(const struct keep_state *s, const char *name);
/* The name's, which is made if there is none. NULL: out of memory. keep_check has bounded it. */
struct keep_name *keep_state_name(struct keep_state *s, const char *name);

/* The course of what this rank keeps now. Before the first ml_kept it depends on the job's run
 * and on the world's generation, so what ranks have kept in earlier ones is older. */
uint64_t keep_course(const struct world *w);

#endif
