/* SPDX-License-Identifier: MIT */
/*
 * keep_copy.h: copies of what this rank keeps on the next host of the job (--keep 2). The keeper of
 * that host's agent holds them, in files like the slots with the same names. ml_keep sends a copy,
 * and ml_kept fetches one that this host lacks into the slot.
 *
 * If the next host does not answer, the rank goes on without copies until the agent names another
 * one in job.json (--elastic). That one gets both slots.
 *
 * One thread at a time, that which uses the world.
 */
#ifndef RUNTIME_KEEP_KEEP_COPY_H
#define RUNTIME_KEEP_KEEP_COPY_H

#include "runtime/keep/keep_slot.h"

struct world;

/* A version that is being kept, on its way to the next host. */
struct keep_copy {
    struct world *world;
    const struct keep_owner *owner;
    int slot;
    uint64_t size; /* bytes; the rest is zeros at first */
    bool has_begun;
    struct kept_stream *stream; /* NULL: there is no keeper, or none any more, or it refuses */
    int error;                  /* its errno, or 0 */
};

/* Sends all of its bytes, one piece after the other. */
void keep_copy_add(struct keep_copy *c, const void *piece, size_t size);
/* Sends the head, and waits until the copy is whole. ML_ERR_SYSTEM: that host has no room for it. 0
 * also if there is no keeper. */
int keep_copy_end(struct keep_copy *c, const struct keep_head *head, struct fault *why);
/* Instead: the version has not become whole here, so its copy must not be. */
void keep_copy_drop(struct keep_copy *c);

/* Which copies of the slots a keeper has: the next host's, or if that has none, the one of a host
 * that had been next before. */
void keep_copy_look(struct world *w, const struct keep_owner *o, struct keep_slots *out);
/* Fetches a copy that the last look has found into the slot. True: all is there, and has the hash
 * that was kept with it. */
bool keep_copy_fetch(struct world *w, const struct keep_owner *o, int slot);

#endif
