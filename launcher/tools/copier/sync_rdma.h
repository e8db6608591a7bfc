/* SPDX-License-Identifier: MIT */
/*
 * sync_rdma.h: the stream over RDMA between two hosts of a chain. Their TCP connection stays beside
 * it: over it they agree, speak of rails that fail, and see each other's end.
 *
 *     receiver                            sender
 *        │──────────── ENDS ────────────────▶│ opens its ports before, connects
 *        │◀─────────── ENDS ─────────────────│
 *        │ connects                          │
 *        │──────────── CONNECTED ───────────▶│
 *        │◀══════════ a check both ways ════▶│ over RDMA
 *        │──────────── CHECKED ─────────────▶│
 *        │◀─────────── CHECKED ──────────────│
 *
 * The receiver speaks first, since the sender is the first to know that the handshake has ended. If
 * one of them cannot continue, it says NOT and why, and ignores what comes until the other one has
 * also said NOT. Then the stream goes over the TCP connection.
 */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_RDMA_H
#define LAUNCHER_TOOLS_COPIER_SYNC_RDMA_H

#include "launcher/tools/copier/sync_order.h"

#include <poll.h>

struct sync_rdma;

enum sync_rdma_state { SYNC_RDMA_AGREEING, SYNC_RDMA_AGREED, SYNC_RDMA_REFUSED };

struct sync_rdma_config {
    const struct sync_order *order;
    const struct sync_rails *rails; /* outlives it */
    uint32_t round;
    int peer; /* host */
    bool is_receiver;
};

/* Begins to agree on the connection `fd`, which stays the caller's. That RDMA cannot be used is no
 * failure. ML_ERR_MEMORY; ML_ERR_PEER. */
int sync_rdma_open(struct sync_rdma **out, const struct sync_rdma_config *config, int fd,
                   struct fault *why);
void sync_rdma_close(struct sync_rdma *r); /* takes NULL */

enum sync_rdma_state sync_rdma_state(const struct sync_rdma *r);
/* Why it was REFUSED. */
const char *sync_rdma_reason(const struct sync_rdma *r);

/*
 * To wait, even with nothing to send, call sync_rdma_arm() to fill the poll set, then poll(), then
 * sync_rdma_handle(). is_full: the caller waits until there is room to send. *deadline_ms
 * (clock_ms; -1: never) becomes earlier if that is necessary. sync_rdma_arm() is false if there is
 * something to do at once. sync_rdma_handle(): ML_ERR_LINK or ML_ERR_DEVICE: RDMA has failed;
 * ML_ERR_PEER: the connection has ended.
 */
enum { SYNC_RDMA_POLLS = 2 };
bool sync_rdma_arm(struct sync_rdma *r, bool is_full, struct pollfd polls[SYNC_RDMA_POLLS],
                   int64_t *deadline_ms);
int sync_rdma_handle(struct sync_rdma *r, const struct pollfd polls[SYNC_RDMA_POLLS],
                     struct fault *why);

/* Once AGREED. Move what is there or what there is room for; return how many bytes. `size` of a
 * read is at least SYNC_RDMA_CHUNK. */
enum { SYNC_RDMA_CHUNK = 128 << 10 };
size_t sync_rdma_read(struct sync_rdma *r, void *bytes, size_t size);
size_t sync_rdma_write(struct sync_rdma *r, const void *bytes, size_t size);

#endif
