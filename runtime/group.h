/* SPDX-License-Identifier: MIT */
/* group.h: a set of ranks, this rank's links to them, and whether it still works. */
#ifndef RUNTIME_GROUP_H
#define RUNTIME_GROUP_H

#include "runtime/link.h"

struct world;

struct group {
    struct world *world;
    uint32_t id;           /* the coordinator's number; COORD_WORLD for the world */
    int rank, size;        /* in this group */
    int *members;          /* world rank of each */
    struct link **links;   /* per rank of the group, its own included */
    struct call call;      /* the call under way */
    const char *call_name; /* "all_reduce" */
    uint32_t calls;        /* collective calls so far */
    struct fault broken;   /* code != 0: what every call returns from now on */
    void *scratch;         /* for collectives; grows */
    size_t scratch_size;
    int bell[2];           /* a pipe or FIFO [read, write]: wakes this group's sleeper */
    const int *host_of;    /* host index of each rank of the group: hierarchy */
};

/* Begins a call: sets g->call (seq counted for collectives), resets stall accounting. Fails with
 * g->broken if the group is broken. */
int call_begin(struct group *g, enum call_kind kind, const char *name, uint64_t count, int type,
               int op, int root, struct fault *why);
/* Ends it: takes the call's code, breaks the group (and tells the coordinator) on PEER, MISMATCH,
 * LINK and DEVICE; returns the code. */
int call_end(struct group *g, int code, struct fault *why);

/* At least `size` bytes, 64-byte aligned, valid until the next group_scratch. NULL: out of memory. */
void *group_scratch(struct group *g, size_t size);

#endif
