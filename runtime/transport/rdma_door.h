/* SPDX-License-Identifier: MIT */
/*
 * rdma_door.h: where a process hears of peers that want queue pairs to it (door.h). It has no
 * address: they speak through the coordinator, and whichever thread waits reads it.
 */
#ifndef RUNTIME_TRANSPORT_RDMA_DOOR_H
#define RUNTIME_TRANSPORT_RDMA_DOOR_H

#include "runtime/group/door.h"
#include "runtime/group/group.h"

struct json_t;

/* A group as the door knows it; the first member of its owner. */
struct rdma_entry {
    struct group *group;
    /* `peer` (rank in the group) has said `word`. True: the thread that uses the group should look.
     * Called under the door's lock, in any thread. */
    bool (*hear)(struct rdma_entry *e, int peer, const struct json_t *word);
    struct rdma_entry *next;
};

/* ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int rdma_door_open(struct door **out, const struct world *w, struct fault *why);

/* From rdma_door_add to rdma_door_remove the group hears. */
void rdma_door_add(struct door *d, struct rdma_entry *e);
void rdma_door_remove(struct door *d, struct rdma_entry *e);

/* Around what an owner shares with its `hear`. */
void rdma_door_lock(struct door *d);
void rdma_door_unlock(struct door *d);

#endif
