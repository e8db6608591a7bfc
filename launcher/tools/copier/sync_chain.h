/* SPDX-License-Identifier: MIT */
/* sync_chain.h: connections from host to host, on which both ends prove that they know the run's
 * secret. Where the order names RDMA ports, and they work, the stream goes over these. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_CHAIN_H
#define LAUNCHER_TOOLS_COPIER_SYNC_CHAIN_H

#include "common/net/address.h"
#include "common/net/stranger_limits.h"
#include "launcher/tools/copier/sync_control.h"
#include "launcher/tools/copier/sync_guest.h"
#include "launcher/tools/copier/sync_rdma.h"

struct sync_chain {
    int listener;                /* or -1 */
    int previous, next;          /* sockets, non-blocking, or -1 */
    struct sync_rdma *from, *to; /* beside them; NULL: the stream goes over TCP */
    struct fault over_tcp;       /* code != 0: why `from` is NULL although ports are named */
    bool is_next;                /* the last failure is one of the way to the next host */
    int early; /* or -1: from a host that has heard of a new chain before this one has */
    struct auth_identity early_peer;
    struct sync_guest host; /* the next one, until it is `next` */
    struct sync_guest guests[STRANGERS_SYNC];
    struct strangers strangers; /* those of them that are not free */
};

/* Listens on order->ip and stores where. ML_ERR_SYSTEM; ML_ERR_ARGUMENT. */
int sync_chain_open(struct sync_chain *chain, const struct sync_order *order,
                    char address[ADDRESS_TEXT], struct fault *why);

/* What these functions return: ML_ERR_LINK, ML_ERR_DEVICE: RDMA has failed, while TCP may work; any
 * other ML_ERR_*: the connection has failed. l->is_next says which of the two ways it was. 1, or
 * from sync_chain_read() no byte: another place has come. */

/* Closes the connections and makes those of c->place, both at once: the next host is connected to,
 * and the previous one is waited for, however long it takes. */
int sync_chain_make(struct sync_chain *chain, struct sync_control *c,
                    const struct sync_order *order, struct fault *why);

/* Reads from the previous host or mlaunch, as many bytes as there are, at least one; *count is 0 if
 * another place has come, or nothing until deadline_ms (clock_ms; -1: never). */
int sync_chain_read(struct sync_chain *chain, struct sync_control *c, void *bytes, size_t size,
                    int64_t deadline_ms, size_t *count, struct fault *why);
/* Sends all to the next host, if there is one. */
int sync_chain_write(struct sync_chain *chain, struct sync_control *c, const void *bytes,
                     size_t size, struct fault *why);
/* Waits for another place, while what was sent is on its way. */
int sync_chain_idle(struct sync_chain *chain, struct sync_control *c, struct fault *why);

#endif
