/* SPDX-License-Identifier: MIT */
/*
 * tcp_door.h: the listener of a process, open for as long as it holds its rank (door.h). What
 * connects proves who it is (common/net/auth.h, purpose "mesh") and for which group it comes, and
 * is then handed to that group (tcp_mesh.h). A stranger may not disturb: it is dropped.
 */
#ifndef RUNTIME_TCP_TCP_DOOR_H
#define RUNTIME_TCP_TCP_DOOR_H

#include "runtime/group/door.h"
#include "runtime/group/group.h"
#include "runtime/tcp/tcp_wire.h"

struct tcp_door;

/* A group as the door knows it; the first member of its owner. */
struct tcp_entry {
    struct group *group;
    /* `peer` (rank in the group) has proved itself over `w`. Takes over w->fd, which becomes -1,
     * and is true; or is false: that connection is not wanted. Called under the door's lock, in
     * any thread. */
    bool (*admit)(struct tcp_entry *e, int peer, struct tcp_wire *w);
    struct tcp_entry *next;
};

/* Listens. ML_ERR_SYSTEM, ML_ERR_MEMORY. tcp_door_close takes NULL. */
int tcp_door_open(struct door **out, const struct world *w, struct fault *why);
void tcp_door_close(struct door *d);

/* "addr:port" */
const char *tcp_door_where(const struct door *d);

/* From tcp_door_add to tcp_door_remove those who come for the group are admitted. */
void tcp_door_add(struct door *d, struct tcp_entry *e);
void tcp_door_remove(struct door *d, struct tcp_entry *e);

/* Around what an owner shares with its `admit`. */
void tcp_door_lock(struct door *d);
void tcp_door_unlock(struct door *d);

#endif
