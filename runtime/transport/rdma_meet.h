/* SPDX-License-Identifier: MIT */
/*
 * rdma_meet.h: how two members of a group that talk over RDMA connect when one first sends the
 * other a message. They agree on queue pairs through the coordinator: a COORD_RELAY to the other
 * one has a rank's ends (what endpoint_connect needs), which of its rails are connected to the
 * other's, or both. A rank says each once, so it does not matter whether one or both begin:
 *
 *     NONE ── something is to be sent: opens devices, says its ends ──▶ ASKED
 *      │ the peer's ends:                                                │ the peer's ends:
 *      │ opens devices, connects, says its ends and rails                │ connects, says its rails
 *      └──────────────────────────────▶ CONNECTED ◀──────────────────────┘
 *                                           │ the peer's rails: sends a check over each rail that
 *                                           ▼ is connected at both ends
 *                                        AGREED ── the link has the endpoint ──▶ UP
 *
 * A rail of which one side has no working end is left out, with a warning, as one that fails later
 * is dropped. If none is left, or what the peer said makes no sense, the way is LOST, and the group
 * is broken: the thread that notices it may be in a call of another group.
 *
 * What is not connected costs no look and no device. A peer whose process makes no call answers
 * nobody, and is waited for as every late peer is. From AGREED on the devices answer by themselves:
 * a rail over which nothing comes fails as it does later. While it is not said otherwise the thread
 * that uses the group calls these functions.
 */
#ifndef RUNTIME_TRANSPORT_RDMA_MEET_H
#define RUNTIME_TRANSPORT_RDMA_MEET_H

#include "rdma/rdma_table.h"
#include "runtime/group/group.h"

struct json_t;
struct rdma_meet;

/* Begins for the members of g for which needed[rank] is true: opens the process's door if need be.
 * They may ask from then on. ML_ERR_DEVICE, ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int rdma_meet_open(struct rdma_meet **out, struct group *g, const bool *needed, struct fault *why);
void rdma_meet_close(struct rdma_meet *m); /* takes NULL; after the links were closed */

/* For the link to `peer`. Returns 1: *out is connected, its checks are under way (endpoint_check),
 * and the caller owns it; its descriptors are in the fork guard. 0: not yet; asks the peer if
 * something is to be sent (`sends`). As endpoint_open: it can't be. */
int rdma_meet_join(struct rdma_meet *m, int peer, bool sends, struct endpoint **out,
                   struct fault *why);
/* Why the peer can't be connected to: the coordinator may know better. NULL: nothing has failed. */
const struct fault *rdma_meet_reason(const struct rdma_meet *m, int peer);
const struct endpoint_table *rdma_meet_table(const struct rdma_meet *m);

/* `peer` has said `word`. True: rdma_meet_join will return something else than before. Called under
 * the door's lock, in any thread. */
bool rdma_meet_hear(struct rdma_meet *m, int peer, const struct json_t *word);

#endif
